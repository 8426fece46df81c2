"""A process of its own for the caller's reference: trusted code, but called with sizes that a submission has a say in.

``FILE.py::FUNCTION`` is called with the arguments of the launch that it names (all, if it takes ``**names``): arrays of
NumPy or, if it is written in torch, tensors, which it may change, and numbers.  It returns what is in the arguments
after the launch: a table by name, or one array for the one that it does not take, or nothing if it changed its arrays
in place.

Messages (`sandbox`): a `ReferenceRequest` loads it or has it compared, a `ReferenceAnswer` says what came of it.  What
the reference takes beyond its memory, or its time, costs one submission its answer and no run its end.
"""

from __future__ import annotations

import inspect
import os
import resource
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...backend.interpreter import InterpreterStop
from ...backend.numbers.array_files import Array, numbers
from ...equality.answer_text import difference, fields
from ...equality.deciding import Decision, ExactAnswer, LaunchTally, Other, SeenPoints, note
from ...equality.field import NearTie
from ...equality.kernel_runs import NoPoints, SentEnd, SentGap, SentPoint, arguments_at, messages, received
from ...equality.launch_outcomes import ArrayError, NarrowSum, RoundingSeen, UnequalElement, arrays_of, outcome
from ...equality.points import SEARCHING, TrialPoint, sizes_text
from ...equality.reference_code import uses_torch
from ...equality.reference_runs import loaded, other_of
from ...equality.rounding_runs import errors_at, rounding_seen
from ...system.errors import TileVerifyError, UsageError
from ..gated import Reason
from ..sandbox.sandbox import BrokenFrame, read_frame, write_frame
from .comparing import NotComparable, Reference, disagreements
from .job_messages import ReferenceAnswer, ReferenceRequest, Tried, read_trial, whole
from .trial_contents import SPECIAL, ZEROS

LARGEST_PAYLOAD: Final = 1 << 30
_LONGEST: Final = 500
"""Characters of what a reference's error says."""


def main(parent: int, memory: int) -> None:
    """Serve until stdin ends.  ``memory``: bytes of address space beyond what this process has when it starts."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)  # a reference may print
    reference: Reference | None = None
    while True:
        try:
            asked = read_frame(requests, LARGEST_PAYLOAD, ReferenceRequest)
        except BrokenFrame:
            return
        if asked is None:
            return
        request, payload = asked
        if request.load is not None:
            try:
                reference = loaded(request.load)
                write_frame(answers, ReferenceAnswer())
            except TileVerifyError as error:
                write_frame(answers, ReferenceAnswer(usage=whole(error.message)))
            _limit_memory(memory)
        else:
            assert reference is not None
            write_frame(
                answers, _exactly(reference, payload) if request.exact else _compared(_of_arrays(reference), payload)
            )


def _end_with(parent: int) -> None:
    """Whatever the reference does: when nobody waits for it any more, this process ends."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _limit_memory(more: int) -> None:
    """From now on: loading a reference may load large libraries."""
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = taken + more
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def _of_arrays(reference: Reference) -> Reference:
    """A reference of torch as one of NumPy: tensors share the memory of arrays, so that what it changes is seen."""
    if not uses_torch(reference):
        return reference
    import torch

    def tensor(value: object) -> object:
        if not isinstance(value, np.ndarray):
            return value
        if type(value) is not np.ndarray:
            raise TypeError("torch takes plain arrays alone")
        return torch.from_numpy(value)

    def array(value: object) -> object:
        if not isinstance(value, torch.Tensor):
            return value
        plain = value.detach().float() if value.dtype == torch.bfloat16 else value.detach()  # NumPy has no bf16
        return plain.numpy()

    @wraps(reference)
    def called(**named: object) -> object:
        with torch.no_grad():
            result = reference(**{name: tensor(value) for name, value in named.items()})
        return {name: array(value) for name, value in result.items()} if isinstance(result, Mapping) else array(result)

    return called


def _compared(reference: Reference, payload: bytes) -> ReferenceAnswer:
    try:
        trial = read_trial(payload)
        if trial.launches:
            _look_at_parameters(reference, trial.launches[0])
    except MemoryError:
        return ReferenceAnswer(failed="the results of its trial take too much memory")
    except UsageError as error:
        return ReferenceAnswer(usage=whole(error.message))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ReferenceAnswer(unreadable=True)
    try:
        undefined = _undefined(trial.launches, reference)
        defined = (each for number, each in enumerate(trial.launches) if number not in undefined)
        ended = [each for each in defined if each.stopped is None]
        reasons = list(disagreements(ended, reference, _called)) if ended else []
    except (NotComparable, MemoryError) as error:
        return ReferenceAnswer(failed=whole(str(error)) or "the reference took more memory than it may")
    return ReferenceAnswer(reasons=tuple(reasons), undefined=undefined)


def _undefined(launches: Sequence[Tried], reference: Reference) -> tuple[int, ...]:
    """Launches with a scalar of 0, and those of zeros or with NaN that did not run to their end, at which the reference
    divides by 0 or makes an integer of what is none: no spec can say that a scale is positive."""
    found = []
    for number, each in enumerate(launches):
        by_zero = each.filling == ZEROS and any(value == 0.0 for value in each.others.values())
        if not by_zero and (each.stopped is None or each.filling not in (ZEROS, SPECIAL)):
            continue
        arrays = {name: np.array(numbers(held.before, held.dtype)) for name, held in each.arguments.items()}
        try:
            with np.errstate(divide="raise", invalid="raise"):
                reference(**_taken(reference, {**each.others, **each.values, **arrays}))
        except FloatingPointError:
            found.append(number)
        except (Exception, SystemExit):
            continue  # which is told by whoever compares
    return tuple(found)


def _exactly(reference: Reference, payload: bytes) -> ReferenceAnswer:
    try:
        found = answer_to(payload, reference)
    except MemoryError:
        return ReferenceAnswer(failed="the reference took more memory than it may")
    except (NoPoints, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ReferenceAnswer(unreadable=True)
    reasons = () if found.difference is None else (Reason("different", whole(difference(found.difference))),)
    return ReferenceAnswer(reasons=reasons, equal=fields(found))


def _parameters(reference: Reference) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(reference).parameters.values())


def _look_at_parameters(reference: Reference, tried: Tried) -> None:
    given = {**tried.others, **tried.values, **tried.arguments}
    for parameter in _parameters(reference):
        needed = parameter.kind is parameter.POSITIONAL_OR_KEYWORD and parameter.default is parameter.empty
        if needed and parameter.name not in given:
            there = ", ".join(given)
            raise UsageError(f"the reference takes '{parameter.name}', which the launch lacks (there are: {there})")


def _called(reference: Reference, given: Mapping[str, Array], tried: Tried) -> tuple[dict[str, Array], frozenset[str]]:
    """Every argument after the launch, as the reference has it, and those that it leaves alone."""
    arrays = {name: np.array(array, subok=True) for name, array in given.items()}
    named = {**tried.others, **tried.values, **arrays}
    try:
        with np.errstate(all="ignore", invalid="warn"):
            result = reference(**_taken(reference, named))
    except (Exception, SystemExit) as error:
        said = " ".join(str(error).split())[:_LONGEST]
        raise NotComparable(f"the reference failed ({tried.where}): {type(error).__name__}: {said}") from None
    parameters = {parameter.name for parameter in _parameters(reference)}
    unnamed = [name for name in arrays if name not in parameters]
    table = _table(result, [] if _takes_all(reference) else unnamed)
    strange = [name for name in table if name not in arrays]
    if strange:
        raise NotComparable(f"the reference returns '{strange[0]}', which is no array of the launch")
    try:
        new = {name: np.broadcast_to(np.asarray(array), arrays[name].shape) for name, array in table.items()}
        for array in new.values():
            array.astype(np.float64)
    except (ValueError, TypeError) as error:
        raise NotComparable(f"the reference returns an array of another shape ({tried.where}): {error}") from None
    kept = (name for name in arrays if name not in new and arrays[name].tobytes() == given[name].tobytes())
    return {**arrays, **new}, frozenset(kept)


def _takes_all(reference: Reference) -> bool:
    return any(each.kind is inspect.Parameter.VAR_KEYWORD for each in _parameters(reference))


def _taken(reference: Reference, named: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments that it asks for."""
    return (
        named if _takes_all(reference) else {p.name: named[p.name] for p in _parameters(reference) if p.name in named}
    )


def _table(result: object, unnamed: list[str]) -> Mapping[str, object]:
    if result is None:
        return {}
    if isinstance(result, Mapping):
        return result
    if len(unnamed) != 1:
        raise NotComparable("the reference returns one array, but takes not all arrays but one; return a table by name")
    return {unnamed[0]: result}


# --------------------------------------------------------------------------------------------------------- sent answers
# A reference's half of a comparison: what was sent of a kernel, held against the function, point by point.


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
