"""A reference's half of a comparison: what was sent of a kernel, held against the function, point by point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ..backend.interpreter import InterpreterStop
from ..system.errors import UsageError
from .deciding import Decision, ExactAnswer, LaunchTally, Other, SeenPoints, note
from .field import NearTie
from .kernel_runs import NoPoints, SentEnd, SentGap, SentPoint, arguments_at, messages, received
from .launch_outcomes import ArrayError, NarrowSum, RoundingSeen, UnequalElement, arrays_of, outcome
from .points import SEARCHING, TrialPoint, sizes_text
from .reference_runs import other_of
from .rounding_runs import errors_at, rounding_seen


@dataclass(slots=True)
class _Launch:
    values: Mapping[str, int]
    seen: SeenPoints = field(default_factory=SeenPoints)
    reason: str = ""
    """Why it was left out."""
    ties: int = 0
    """Points at which the reference compared what is too close: here nobody can draw others for it."""


def answer_to(data: bytes, function: Callable[..., object]) -> ExactAnswer:
    """Whether ``function`` computes what the kernel did; the difference is one at the smallest launch that has one.

    :raises NoPoints: the bytes are none of `kernel_runs.runs`.
    """
    every = list(messages(data))
    if not every or not isinstance(end := every.pop(), SentEnd):
        raise NoPoints("there is no last message")
    points = [each for each in every if isinstance(each, SentPoint)]
    other = other_of(function, _written(points))
    launches: dict[int, _Launch] = {}
    # Smaller launches first: the first difference is the one to tell.
    for message in sorted(points, key=lambda each: (sum(map(len, each.before.values())), each.number)):
        if not message.stored:
            launch = launches.setdefault(message.number, _Launch(message.values))
            decided = _looked_at(message, other, launch)
            if decided is not None:
                return replace(decided, steps=end.steps)
    for gap in (each for each in every if isinstance(each, SentGap)):
        launch = launches.setdefault(gap.number, _Launch(gap.values))
        if gap.left_out:
            launch.reason = gap.reason
        else:
            launch.seen.opened.append(gap.reason)
    if end.stopped:
        return ExactAnswer(Decision.NOT_DECIDED, reason=end.stopped, steps=end.steps)
    found = _summed([launches[number] for number in sorted(launches)], end)
    if found.answer is not Decision.EQUAL:
        return found
    one_way, tried = (*end.one_way, *other.one_way()), tuple(sorted({*end.tried, *other.stepped()}))
    rounding = _rounding([each for each in points if each.stored], other, end)
    compared = tuple(other.compared())
    return replace(found, one_way=one_way, tried=tried, compared=compared, rounding=rounding, idle=end.idle)


def _looked_at(message: SentPoint, other: Other, launch: _Launch) -> ExactAnswer | None:
    """The answer that one point gives, if it does; else it is noted, unless it was to find differences."""
    point, after = received(message)
    searching = point.filling in SEARCHING
    before = dict(arrays_of(point, {**point.inputs.memory, **point.contents}))
    try:
        with np.errstate(all="ignore"):
            found = outcome(point, after, other(point, before, arguments_at(message, point)))
    except (InterpreterStop, UsageError) as stop:
        reason = stop.message if isinstance(stop, UsageError) else str(stop)
        if not searching and not isinstance(stop, NearTie):
            return ExactAnswer(Decision.NOT_DECIDED, reason=f"{reason} ({sizes_text(message.values)})")
        if not searching:
            launch.seen.opened.append(f"{reason} (contents: {point.filling})")
            launch.ties += 1
        return None
    if not isinstance(found, UnequalElement):
        if not searching:
            note(launch.seen, found, point.filling)
        return None
    shown = found.where_finite() if searching else found
    return None if shown is None else ExactAnswer(Decision.DIFFERENT, difference=shown, points=1)


def _rounding(points: Iterable[SentPoint], other: Other, end: SentEnd) -> RoundingSeen:
    read = [(message, *received(message)) for message in points]
    known = {id(point): (message, after) for message, point, after in read}

    def errors(point: TrialPoint) -> Iterator[ArrayError]:
        message, after = known[id(point)]
        return errors_at(point, after, other, arguments_at(message, point))

    narrow = tuple(NarrowSum(*each) for each in end.narrow)
    return rounding_seen(errors, [point for _, point, _ in read], narrow)


def _summed(launches: Iterable[_Launch], end: SentEnd) -> ExactAnswer:
    tally = LaunchTally([*end.left_out])
    for launch in launches:
        if launch.reason:
            tally.refuse(launch.values, launch.reason)
        elif launch.ties and launch.ties == len(launch.seen.opened) and not launch.seen.equal:
            tally.refuse(launch.values, launch.seen.opened[0])
        else:
            tally.take(launch.values, launch.seen)
    return tally.answer(end.steps)


def _written(points: Iterable[SentPoint]) -> list[str]:
    """The arrays that the kernel changed at some point, in the order of its parameters."""
    points = list(points)
    changed = {name for point in points for name in point.after}
    return [name for name, array in points[0].arrays.items() if array.allocation in changed] if points else []
