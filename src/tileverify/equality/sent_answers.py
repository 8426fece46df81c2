"""A reference's half of a comparison: what was sent of a kernel, held against the function, point by point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..backend.interpreter import InterpreterStop
from ..system.errors import UsageError
from .deciding import Decision, ExactAnswer, SeenPoints, UnequalElement, arrays_of, note, outcome, words
from .named import other_of
from .sent_points import NoPoints, SentEnd, SentGap, SentPoint, arguments_at, messages, received
from .undecided import NearTie


@dataclass(slots=True)
class _Launch:
    values: Mapping[str, int]
    seen: SeenPoints = field(default_factory=SeenPoints)
    reason: str = ""
    """Why it was left out."""


def answer_to(data: bytes, function: Callable[..., Any]) -> ExactAnswer:
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
        point, after = received(message)
        launch = launches.setdefault(message.number, _Launch(message.values))
        before = dict(arrays_of(point, {**point.inputs.memory, **point.contents}))
        try:
            with np.errstate(all="ignore"):
                found = outcome(point, after, other(point, before, arguments_at(message, point)))
        except NearTie as stop:
            launch.seen.opened.append(f"{stop} (contents: {point.filling})")
            continue
        except (InterpreterStop, UsageError) as stop:
            reason = stop.message if isinstance(stop, UsageError) else str(stop)
            return ExactAnswer(Decision.NOT_DECIDED, reason=f"{reason} ({words(message.values)})", steps=end.steps)
        if isinstance(found, UnequalElement):
            return ExactAnswer(Decision.DIFFERENT, difference=found, points=1, steps=end.steps)
        note(launch.seen, found, point.filling)
    for gap in (each for each in every if isinstance(each, SentGap)):
        launch = launches.setdefault(gap.number, _Launch(gap.values))
        if gap.left_out:
            launch.reason = gap.reason
        else:
            launch.seen.opened.append(gap.reason)
    if end.stopped:
        return ExactAnswer(Decision.NOT_DECIDED, reason=end.stopped, steps=end.steps)
    return _summed([launches[number] for number in sorted(launches)], end)


def _summed(launches: Iterable[_Launch], end: SentEnd) -> ExactAnswer:
    done: list[Mapping[str, int]] = []
    points, bits, left_out, reasons, refused = 0, float("inf"), list(end.left_out), [], []
    for launch in launches:
        if launch.reason:
            left_out.append(f"{words(launch.values)} ({launch.reason})")
            refused.append(launch.reason)
        elif not launch.seen.equal:
            reasons.append(f"{'; '.join(launch.seen.opened) or 'nothing was compared'} ({words(launch.values)})")
        else:
            left_out += [f"{words(launch.values)}: {reason}" for reason in launch.seen.opened]
            done.append(launch.values)
            points, bits = points + launch.seen.equal, min(bits, launch.seen.bits)
    if reasons or not done:
        reason = next(iter((*reasons, *refused)), "no launch was small enough")
        return ExactAnswer(Decision.NOT_DECIDED, tuple(done), points, 0.0, reason, None, tuple(left_out), end.steps)
    return ExactAnswer(Decision.EQUAL, tuple(done), points, bits, left_out=tuple(left_out), steps=end.steps)


def _written(points: Iterable[SentPoint]) -> list[str]:
    """The arrays that the kernel changed at some point, in the order of its parameters."""
    points = list(points)
    changed = {name for point in points for name in point.after}
    return [name for name, array in points[0].arrays.items() if array.allocation in changed] if points else []
