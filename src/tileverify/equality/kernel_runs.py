"""A kernel's half of a comparison, where the reference must not be: its launches on exact numbers, one message each.

The launches are those of `deciding` in a smaller budget, so small siblings of theirs come first.  What a near tie costs
the reference is one point: here nobody can draw another one for it.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Final, TypeAlias

import msgspec
import numpy as np

from ..backend.interpreter import Budget, BudgetSpent, InterpreterStop
from ..backend.numbers.array_files import rounded, storage_type
from ..backend.numbers.choose import ContractInNumbers, extent
from ..backend.numbers.inputs import Inputs
from ..backend.numbers.trial_launches import Constants, constants_of, siblings
from ..contract.launch import ConcreteArray, ConcreteLaunch, KernelUnit
from ..system.errors import UsageError
from .deciding import TRIES, SearchedPlace, at_turns, beyond_masks, constants_among, searched_places, worth_searching
from .exact import NUMBER
from .exact_arrays import presented
from .field import Array, NearTie
from .influence import Idle, idle_of
from .launch_outcomes import narrow_sums
from .op_rules import ExactKernel, run_exactly
from .points import SCALARS, Options, TrialPoint, drawn_point, planned, sizes_text
from .primitives import is_numbers
from .rounding_runs import points_in_formats, run_in_formats

MOST_ELEMENTS: Final = 1 << 16
"""Of all arrays of a launch: an element takes 58 bytes on the way."""
ALL_ELEMENTS: Final = 1 << 20
"""Of all points together."""
_SHARES: Final = 3
"""A launch takes no more than one of so many parts of the budget."""


@dataclass(slots=True)
class _Runs:
    unit: KernelUnit
    kernel: ExactKernel
    contract: ContractInNumbers
    known: Constants
    options: Options
    budget: Budget
    elements: int = field(default=ALL_ELEMENTS)

    def launch(self, number: int, values: Mapping[str, int], wanted: Sequence[str]) -> Generator[Sent, None, bool]:
        """A message for each point, of the contents that are ``wanted``, and whether there was one at which the kernel
        ran to its end.

        :raises InterpreterStop: the kernel cannot be run on numbers.
        """
        looked_at = False
        fillings = [*wanted]
        for filling in fillings:
            try:
                found = self.at(values, filling)
            except BudgetSpent:
                if not looked_at:
                    yield SentGap(number=number, values=dict(values), reason="beyond the budget", left_out=True)
                return looked_at
            except UsageError as error:
                if not looked_at:
                    yield SentGap(number=number, values=dict(values), reason=error.message, left_out=True)
                return looked_at
            except NearTie as stop:
                yield SentGap(number=number, values=dict(values), reason=f"{stop} (contents: {filling})")
                continue
            looked_at = True
            point, after = found
            if filling == "normal" and any(map(_holds_nan, after.values())):
                fillings.append("positive")
            yield sent(number, point, after, constants_among(self.unit))
        return looked_at

    def searching(self, number: int, place: SearchedPlace) -> Iterator[Sent]:
        """A point that may show a difference, and counts for nothing else."""
        try:
            point, after = self.at(*place)
        except (InterpreterStop, UsageError):
            return
        yield sent(number, point, after, constants_among(self.unit))

    def in_formats(self, values: Mapping[str, int]) -> Iterator[Sent]:
        """What rounding does, where the kernel turns out to be equal."""
        if extent(self.contract, values)[0] > MOST_ELEMENTS:
            return
        try:
            for point in points_in_formats(self.kernel, self.contract, values, self.options):
                with np.errstate(all="ignore"):
                    after = run_in_formats(self.kernel, point.inputs, self.budget.part(self.options.steps // _SHARES))
                yield sent(0, point, after, constants_among(self.unit), stored=True)
        except (InterpreterStop, UsageError):
            return  # nothing of the answer depends on it

    def at(
        self, values: Mapping[str, int], filling: str, given: Mapping[str, float] | None = None
    ) -> tuple[TrialPoint, dict[str, Array]]:
        """Another point where two numbers are too close to be compared, a few times."""
        elements, _ = extent(self.contract, values)
        self.elements -= elements
        if elements > MOST_ELEMENTS or self.elements < 0:
            raise BudgetSpent("too many elements")
        last = NearTie("nothing was tried")
        for attempt in range(TRIES):
            seed = self.options.seed * 64 + attempt
            point = drawn_point(self.contract, values, filling, self.known, seed, None, given)
            try:
                with np.errstate(all="ignore"):
                    budget = self.budget.part(max(1, self.options.steps // _SHARES))
                    return point, run_exactly(self.kernel, point.inputs, point.contents, point.floats, budget)
            except NearTie as stop:
                last = stop
        raise last


def _holds_nan(memory: Array) -> bool:
    return is_numbers(memory) and bool(np.isnan(memory["s"]).any())


def runs(unit: KernelUnit, kernel: ExactKernel, contract: ContractInNumbers, options: Options) -> Iterator[Sent]:
    """Everything that the kernel does, the last message is a `SentEnd`."""
    known = constants_of(kernel.entry)
    plan = planned(contract, known, options)
    launches = [*plan.launches[:1], *siblings(contract, plan.launches), *plan.launches[1:]][: options.launches]
    known = at_turns(kernel, contract, launches, known, search=False)  # what the trial of floats did
    made = _Runs(unit, kernel, contract, known, options, Budget(options.steps))
    stopped = ""
    taken: list[tuple[int, Mapping[str, int]]] = []
    for number, values in enumerate(launches):
        before, fillings = made.budget.left, plan.fillings(number, values)
        try:
            if (yield from made.launch(number, values, fillings)):
                taken.append(((before - made.budget.left) // len(fillings), values))
                if number == 0:
                    launches[:] = plan.with_beyond(contract, launches, taken[0][0], options.steps)
        except InterpreterStop as stop:
            stopped = f"{stop} ({sizes_text(values)})"
            break
    spent = options.steps - made.budget.left
    if taken and not stopped:
        made = replace(made, budget=Budget(options.steps))
        chosen = worth_searching(contract, taken, options.steps)
        for place in searched_places(plan, contract, known, chosen, launches[0]):
            yield from made.searching(0 if place[1] == SCALARS else launches.index(chosen), place)
        yield from made.in_formats(launches[0])
    unseen = (sizes_text(values) for values in plan.launches if values not in launches)
    idle = Idle() if stopped else idle_of(kernel, contract, taken, known, options)
    left_out = [*beyond_masks(known), *plan.left_out, *unseen, *idle.left_out()]
    narrow = tuple((each.op, each.format, each.line, each.widened) for each in narrow_sums(kernel.entry))
    one_way, tried = tuple(kernel.ways.one_way()), tuple(sorted(kernel.ways.stepped))
    yield SentEnd(
        stopped=stopped,
        left_out=tuple(left_out),
        steps=spent,
        one_way=one_way,
        narrow=narrow,
        tried=tried,
        idle=idle.lines,
    )


# ---------------------------------------------------------------------------------------------------------- sent points
# Launches on exact numbers as bytes: what one process ran, for another one that has the reference.
#
# A message is the length of a line and the line, in MessagePack.  Whoever reads it trusts nothing of it: every array
# has to lie in its memory.


_LENGTH: Final = struct.Struct(">Q")
_MOST_AXES: Final = 32


class SentArray(msgspec.Struct, frozen=True):
    """``shape`` and ``strides`` in elements of the memory ``allocation``."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    allocation: str


class SentPoint(msgspec.Struct, frozen=True, kw_only=True, tag="point"):
    """One point at the launch ``number``.  ``exact``: the allocations that hold numbers; ``after``: those that the
    kernel changed; ``constants``: arguments of the launch that are constants; ``stored``: the kernel ran in its own
    formats, and ``after`` holds stored elements."""

    number: int
    filling: str
    grid: tuple[int, int, int]
    arrays: dict[str, SentArray]
    lists: dict[str, tuple[SentArray, ...]]
    values: dict[str, int]
    scalars: dict[str, int]
    constants: dict[str, bool | int | float]
    floats: dict[str, bytes]
    exact: tuple[str, ...]
    before: dict[str, bytes]
    after: dict[str, bytes]
    stored: bool = False


class SentGap(msgspec.Struct, frozen=True, kw_only=True, tag="gap"):
    """A launch, or contents of it, without an answer of the kernel; ``left_out``: it does not count against equality,
    nothing of the launch was looked at."""

    number: int
    values: dict[str, int]
    reason: str
    left_out: bool = False


class SentEnd(msgspec.Struct, frozen=True, kw_only=True, tag="end"):
    """The last message.  ``stopped``: why the kernel cannot be run on numbers; ``left_out``: launches beyond those that
    were chosen; ``one_way``: comparisons that came out in one way alone, in words;
    ``narrow``: sums in narrow formats, each as a `NarrowSum` has it; ``tried``, ``idle``: as in `ExactAnswer`."""

    stopped: str = ""
    left_out: tuple[str, ...] = ()
    steps: int = 0
    one_way: tuple[str, ...] = ()
    narrow: tuple[tuple[str, str, int | None, bool], ...] = ()
    tried: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()


Sent: TypeAlias = SentPoint | SentGap | SentEnd


class NoPoints(Exception):
    """The bytes are not those of launches."""


def framed(message: Sent) -> bytes:
    line = msgspec.msgpack.encode(message)
    return _LENGTH.pack(len(line)) + line


def messages(data: bytes) -> Iterator[Sent]:
    """Raises `NoPoints` for other bytes than those of `framed`."""
    decoder = msgspec.msgpack.Decoder(Sent)
    place, view = 0, memoryview(data)
    try:
        while place < len(view):
            (length,) = _LENGTH.unpack_from(view, place)
            place += _LENGTH.size + length
            if place > len(view):
                raise NoPoints("a message is cut off")
            yield decoder.decode(view[place - length : place])
    except (struct.error, msgspec.DecodeError, RecursionError) as error:
        raise NoPoints(str(error)) from None


# ------------------------------------------------------------------------------------------------- writing
def sent(
    number: int,
    point: TrialPoint,
    after: Mapping[str, Array],
    constants: Mapping[str, int | float],
    *,
    stored: bool = False,
) -> SentPoint:
    """``after``: the memory that the kernel left, by allocation; ``stored``: in its own formats."""
    launch = point.inputs.launch
    before = {**point.inputs.memory, **point.contents}
    was = point.inputs.memory if stored else before
    return SentPoint(
        number=number,
        filling=point.filling,
        grid=launch.grid,
        arrays={name: _array(each) for name, each in launch.arrays.items()},
        lists={name: tuple(map(_array, each)) for name, each in launch.lists.items()},
        values=dict(point.inputs.values),
        scalars=dict(launch.scalars),
        constants=dict(constants),
        floats={name: value.tobytes() for name, value in point.floats.items()},
        exact=tuple(point.contents),
        before={name: array.tobytes() for name, array in before.items()},
        after={name: array.tobytes() for name, array in after.items() if _changed(array, was[name])},
        stored=stored,
    )


def _changed(after: Array, before: Array) -> bool:
    return after.tobytes() != before.tobytes()


def _array(array: ConcreteArray) -> SentArray:
    return SentArray(array.dtype, tuple(array.shape), tuple(array.strides), array.allocation)


# ------------------------------------------------------------------------------------------------- reading
def received(message: SentPoint) -> tuple[TrialPoint, dict[str, Array]]:
    """The point, and the memory after the launch.

    :raises NoPoints: an array does not lie in its memory.
    """
    try:
        return _received(message)
    except (ValueError, KeyError, TypeError) as error:
        raise NoPoints(str(error)) from None


def _received(message: SentPoint) -> tuple[TrialPoint, dict[str, Array]]:
    arrays = {name: _concrete(each) for name, each in message.arrays.items()}
    lists = {name: tuple(map(_concrete, each)) for name, each in message.lists.items()}
    floats = {name: _numbers(held, 1).reshape(()) for name, held in message.floats.items()}
    launch = ConcreteLaunch(message.grid, arrays, message.scalars, lists, dict.fromkeys(floats, 0.0))
    types = {each.allocation: each.dtype for _, each in launch.named_arrays()}
    kinds = {name: NUMBER if name in message.exact else storage_type(dtype) for name, dtype in types.items()}
    before = {name: np.frombuffer(message.before[name], kind).copy() for name, kind in kinds.items()}
    left = {name: storage_type(dtype) for name, dtype in types.items()} if message.stored else kinds
    was = {name: _as_stored(held, types[name]) for name, held in before.items()} if message.stored else before
    after = {
        name: np.frombuffer(message.after[name], kind).copy() if name in message.after else was[name]
        for name, kind in left.items()
    }
    for _, each in launch.named_arrays():
        _check_place(each, min(len(before[each.allocation]), len(after[each.allocation])))
    memory = was if message.stored else {name: held for name, held in before.items() if name not in message.exact}
    contents = {name: array for name, array in before.items() if name in message.exact}
    inputs = Inputs(launch, memory, message.values, ())
    return TrialPoint(message.filling, inputs, contents, floats), after


def _as_stored(held: Array, dtype: str) -> Array:
    return rounded(held["s"].copy(), dtype) if held.dtype == NUMBER else held


def _concrete(array: SentArray) -> ConcreteArray:
    return ConcreteArray(array.dtype, array.shape, array.strides, allocation=array.allocation)


def _numbers(held: bytes, count: int) -> Array:
    found = np.frombuffer(held, NUMBER)
    if len(found) != count:
        raise ValueError("a scalar is no number")
    return found


def _check_place(array: ConcreteArray, size: int) -> None:
    """A view of memory is made of these numbers, which nobody else looks at."""
    axes = list(zip(array.shape, array.strides, strict=True))
    if len(axes) > _MOST_AXES or any(length < 0 or stride < 0 for length, stride in axes):
        raise ValueError("an array has no place")
    if prod(array.shape) and sum((length - 1) * stride for length, stride in axes) >= size:
        raise ValueError("an array leaves its memory")


def arguments_at(message: SentPoint, point: TrialPoint) -> dict[str, object]:
    """Everything that a reference may ask for beside the arrays."""
    floats = {name: presented(value) for name, value in point.floats.items()}
    return {**message.constants, **message.values, **message.scalars, **floats}
