"""Is a kernel its reference?  Launches at tile borders, a few points at each, and the first difference made small."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from math import isfinite
from typing import Final, Protocol, TypeAlias, TypedDict, runtime_checkable

import numpy as np

from ..backend.interpreter import Budget, BudgetSpent, InterpreterStop
from ..backend.numbers.array_files import numbers
from ..backend.numbers.choose import ContractInNumbers, cost, extent
from ..backend.numbers.inputs import view
from ..backend.numbers.trial_launches import Constants, constants_of, smallest
from ..backend.numbers.turning_contents import with_turning_points
from ..contract.launch import ConstantArgument, KernelUnit, flat
from ..system.errors import UsageError
from .exact_arrays import presented
from .field import Array, NearTie
from .influence import idle_of
from .launch_outcomes import Compared, RoundingSeen, UnequalElement, arrays_of, outcome
from .op_rules import ExactKernel, run_exactly
from .points import (
    FILLINGS,
    GIVEN,
    SCALARS,
    WHOLE,
    Options,
    PlannedLaunches,
    TrialPoint,
    drawn_point,
    given_point,
    other_float_scalars,
    planned,
    sizes_text,
    to_search,
)
from .primitives import is_numbers

Other: TypeAlias = Callable[[TrialPoint, Mapping[str, Array], Mapping[str, object]], Mapping[str, Array]]
"""(point, arrays by name before the launch, all other arguments) -> arrays that change, by name."""


@runtime_checkable
class KnownOther(Protocol):
    """What is known of an `Other` besides."""

    def numbers(self) -> Iterable[float]:
        """Those that it holds, which may be borders of what it does."""

    def one_way(self) -> Iterable[str]:
        """Its comparisons that came out in one way alone, in words."""

    def stepped(self) -> Iterable[str]:
        """The arrays that it changes, if it rounded something to an integer."""

    def compared(self) -> Iterable[str]:
        """The arrays that it gave, or changed: of others it says that they stay as they were."""


SHARE: Final = 1 << 24
"""Of these, what a point of one of several launches may take; of more steps, half."""
MOST_ELEMENTS: Final = 1 << 19
"""Of all arrays of a launch: an element takes 58 bytes in each of several copies."""
TRIES: Final = 3
ENOUGH_BITS: Final = 30.0
"""A launch whose points have fewer is looked at with further contents; with less than half of that it is not equal."""
_SEARCHED: Final = 16


class Decision(Enum):
    EQUAL = "equal"
    DIFFERENT = "different"
    NOT_DECIDED = "not decided"


@dataclass(frozen=True, slots=True)
class ExactAnswer:
    """``bits``: a kernel that is not the reference at the worst of these launches is called equal with a chance below
    2**-bits.  ``left_out``: launches beyond the budget, and contents that gave no answer, in words.  ``rounding``: of
    what is equal over the real numbers, how far the formats are from it at a few inputs; None where nobody looked."""

    answer: Decision
    launches: tuple[Mapping[str, int], ...] = ()
    points: int = 0
    bits: float = 0.0
    reason: str = ""
    difference: UnequalElement | None = None
    left_out: tuple[str, ...] = ()
    steps: int = 0
    rounding: RoundingSeen | None = None
    compared: tuple[str, ...] = ()
    """The arrays that the reference gave, or changed; all others stayed as they were."""
    one_way: tuple[str, ...] = ()
    """Comparisons of either side that came out in one way alone: of the other branch nothing is said."""
    tried: tuple[str, ...] = ()
    """Arrays that hold what a rounding, a cast to integers or integers of arrays decide: they were equal at the points,
    and ``bits`` says nothing of them."""
    idle: tuple[str, ...] = ()
    """Of what is equal: lines of the kernel whose ops could give anything without a change of any result."""


@dataclass(slots=True)
class SeenPoints:
    """Of one launch: points at which all was equal, and why others gave no answer."""

    equal: int = 0
    bits: float = 0.0
    opened: list[str] = field(default_factory=list)

    def shortfall(self) -> str:
        """Why these points do not make the launch equal, empty if they do."""
        if not self.equal:
            return "; ".join(self.opened) or "nothing was compared"
        if self.bits < ENOUGH_BITS / 2:
            return f"with so many logarithms in one element a wrong yes is as likely as 2^-{self.bits:.0f}"
        return ""


@dataclass(slots=True)
class LaunchTally:
    """What launches gave that were compared one after the other; ``left_out``: those that were not, in words."""

    left_out: list[str]
    done: list[Mapping[str, int]] = field(default_factory=list)
    points: int = 0
    bits: float = float("inf")
    reasons: list[str] = field(default_factory=list)
    """Why the kernel is not known to be equal."""
    refused: list[str] = field(default_factory=list)
    """Why launches were left out, where that is all that there is to say."""

    def leave(self, values: Mapping[str, int], reason: str) -> None:
        self.left_out.append(f"{sizes_text(values)} ({reason})")

    def refuse(self, values: Mapping[str, int], reason: str) -> None:
        self.leave(values, reason)
        self.refused.append(reason)

    def take(self, values: Mapping[str, int], seen: SeenPoints) -> bool:
        """Count the launch in, if its points make it equal; tells whether they do."""
        if shortfall := seen.shortfall():
            self.reasons.append(f"{shortfall} ({sizes_text(values)})")
            return False
        self.left_out += [f"{sizes_text(values)}: {reason}" for reason in seen.opened]
        self.done.append(values)
        self.points, self.bits = self.points + seen.equal, min(self.bits, seen.bits)
        return True

    def answer(self, steps: int) -> ExactAnswer:
        """Equal, or not decided."""
        done, left_out = tuple(self.done), tuple(self.left_out)
        if self.reasons or not done:
            reason = next(iter((*self.reasons, *self.refused)), "no launch was small enough")
            return ExactAnswer(Decision.NOT_DECIDED, done, self.points, 0.0, reason, None, left_out, steps)
        return ExactAnswer(Decision.EQUAL, done, self.points, self.bits, left_out=left_out, steps=steps)


def decide(
    unit: KernelUnit, kernel: ExactKernel, contract: ContractInNumbers, other: Other, options: Options
) -> ExactAnswer:
    """Whether ``other`` computes what the kernel does."""
    known = constants_of(kernel.entry)
    plan = planned(contract, known, options)
    launches = [*plan.launches]
    share = options.steps if len(launches) == 1 else max(min(SHARE, options.steps), options.steps // 2)
    known = at_turns(kernel, contract, launches, _with_numbers(known, other))
    tally = LaunchTally([*plan.left_out, *beyond_masks(known)])
    trial = _Trial(unit, kernel, contract, other, known, Budget(options.steps), share, options)
    taken: list[tuple[int, Mapping[str, int]]] = []
    for number, values in enumerate(launches, 0 if options.values is None else -1):
        seen, before = SeenPoints(), trial.steps()
        try:
            found = trial.launch(number, values, plan.fillings(number, values), seen)
        except BudgetSpent:
            found = None
            if not seen.equal:
                tally.leave(values, "beyond the budget")
                continue
        except UsageError as error:
            tally.refuse(values, error.message)
            continue
        except InterpreterStop as stop:
            reason = f"{stop} ({sizes_text(values)})"
            return ExactAnswer(Decision.NOT_DECIDED, tuple(tally.done), tally.points, reason=reason)
        if found is not None:
            return _different(trial, found, launches)
        if tally.take(values, seen):
            taken.append(((trial.steps() - before) // seen.equal, values))
            if number == 0:
                launches[:] = plan.with_beyond(contract, launches, taken[0][0], options.steps)
    answer = tally.answer(trial.steps())
    if answer.answer is not Decision.EQUAL:
        return answer
    if options.inputs is None:
        searched = replace(trial, budget=Budget(options.steps))
        found = searched.everywhere(plan, worth_searching(contract, taken, options.steps), launches[0])
        if found is not None:
            return _different(trial, found, launches)
    idle = idle_of(kernel, contract, taken, known, options)
    left_out = (*answer.left_out, *idle.left_out())
    return replace(answer, left_out=left_out, idle=idle.lines, **_of_ways(kernel, other))


def _of_ways(kernel: ExactKernel, other: Other) -> WaysOfBoth:
    known = other if isinstance(other, KnownOther) else None
    one_way, stepped = [*kernel.ways.one_way()], {*kernel.ways.stepped}
    if known is not None:
        one_way += known.one_way()
        stepped |= {*known.stepped()}
    compared = () if known is None else tuple(known.compared())
    return {"one_way": tuple(one_way), "tried": tuple(sorted(stepped)), "compared": compared}


class WaysOfBoth(TypedDict):
    """Fields of `ExactAnswer`."""

    one_way: tuple[str, ...]
    tried: tuple[str, ...]
    compared: tuple[str, ...]


def at_turns(
    kernel: ExactKernel, contract: ContractInNumbers, launches: Sequence[Mapping[str, int]], known: Constants,
    *, search: bool = True,
) -> Constants:  # fmt: skip
    """``known`` with the numbers at which the kernel turns at the usual launch."""
    if not launches:
        return known
    module, entry = kernel.module, kernel.entry
    return with_turning_points(module, entry, kernel.parameters, contract, launches[0], known, search=search)


def beyond_masks(known: Constants) -> list[str]:
    """Contents that nobody looks at, in words: a mask is no mask beside what is as large."""
    return [] if known.largest == float("inf") else [f"numbers above {known.largest:.3g}, as it masks with large ones"]


def _with_numbers(known: Constants, other: Other) -> Constants:
    """The numbers of both: contents are drawn beside all of them."""
    if not isinstance(other, KnownOther):
        return known
    there = {abs(number) for number in (*known.floats, *known.integers)}
    return replace(known, floats=(*known.floats, *(each for each in other.numbers() if abs(each) not in there)))


def worth_searching(
    contract: ContractInNumbers, taken: Sequence[tuple[int, Mapping[str, int]]], steps: int
) -> Mapping[str, int]:
    """Of launches with the steps of a point the largest that takes a small part of ``steps``, or the shortest."""
    small = [values for each, values in taken if each * _SEARCHED <= steps]
    return max(small, key=lambda values: cost(contract, values)) if small else min(taken, key=_steps)[1]


SearchedPlace: TypeAlias = tuple[Mapping[str, int], str, Mapping[str, float] | None]
"""A launch, a kind of contents, and float scalars that are constants."""


def searched_places(
    plan: PlannedLaunches,
    contract: ContractInNumbers,
    known: Constants,
    chosen: Mapping[str, int],
    usual: Mapping[str, int],
) -> Iterator[SearchedPlace]:
    """Where a difference is looked for alone: contents of the launch ``chosen``, then other scalars."""
    yield from ((chosen, filling, None) for filling in to_search(contract))
    yield from ((values, SCALARS, None) for values in plan.scalars_at(contract, known))
    yield from ((usual, SCALARS, given) for given in other_float_scalars(contract, known))


def _steps(launch: tuple[int, Mapping[str, int]]) -> int:
    return launch[0]


def note(seen: SeenPoints, found: Compared, filling: str) -> None:
    if found.open:
        seen.opened.append(f"{found.open} (contents: {filling})")
    else:
        seen.equal += 1
        seen.bits += found.bits if np.isfinite(found.bits) else 128.0


@dataclass(slots=True)
class _Trial:
    unit: KernelUnit
    kernel: ExactKernel
    contract: ContractInNumbers
    other: Other
    known: Constants
    budget: Budget
    share: int
    options: Options

    def steps(self) -> int:
        return self.options.steps - self.budget.left

    def launch(
        self, number: int, values: Mapping[str, int], wanted: Sequence[str], seen: SeenPoints
    ) -> UnequalElement | None:
        """All points of a launch, which are noted in ``seen``: the ``wanted`` contents; of the usual launch,
        number 0, all if that leaves most of the budget; one point with inputs that are given."""
        if self.options.inputs is not None:
            found = self.at_point(given_point(self.contract, values, self.options.inputs))
            if not isinstance(found, UnequalElement):
                note(seen, found, GIVEN)
                return None
            return replace(found, inputs=self.options.inputs)
        fillings = [*wanted]
        for place, filling in enumerate(FILLINGS):
            cheap = number == 0 and place and self.steps() * 5 < self.options.steps
            if filling not in fillings and not cheap and not (seen.equal and seen.bits < ENOUGH_BITS):
                continue
            found = self.at(values, filling)
            if isinstance(found, UnequalElement):
                return found
            note(seen, found, filling)
            if filling == "normal" and found.undefined:
                fillings.append("positive")
        return None

    def everywhere(
        self, plan: PlannedLaunches, chosen: Mapping[str, int], usual: Mapping[str, int]
    ) -> UnequalElement | None:
        """A difference at points which make nothing equal: of finite numbers, or it may be one of limits."""
        for place in searched_places(plan, self.contract, self.known, chosen, usual):
            try:
                found = self.at(*place)
            except (InterpreterStop, UsageError):
                continue
            if isinstance(found, UnequalElement) and (finite := found.where_finite()) is not None:
                return finite
        return None

    def at(
        self, values: Mapping[str, int], filling: str, given: Mapping[str, float] | None = None
    ) -> Compared | UnequalElement:
        """Another point where two numbers are too close to be compared."""
        if extent(self.contract, values)[0] > MOST_ELEMENTS:
            raise BudgetSpent(f"arrays of more than {MOST_ELEMENTS} elements")
        last: NearTie | None = None
        for attempt in range(TRIES):
            try:
                seed = self.options.seed * 64 + attempt
                point = drawn_point(self.contract, values, filling, self.known, seed, self.options.held, given)
                return self.at_point(point)
            except NearTie as stop:
                last = stop
        return Compared(open=str(last))

    def at_point(self, point: TrialPoint) -> Compared | UnequalElement:
        with np.errstate(all="ignore"):
            budget = self.budget.part(self.share)
            after = run_exactly(self.kernel, point.inputs, point.contents, point.floats, budget)
            before = dict(arrays_of(point, {**point.inputs.memory, **point.contents}))
            expected = self.other(point, before, arguments_of(self.unit, self.contract, point))
            return outcome(point, after, expected)


def arguments_of(unit: KernelUnit, contract: ContractInNumbers, point: TrialPoint) -> dict[str, object]:
    """Everything that a reference may ask for beside the arrays: sizes, scalars and constants."""
    floats = {name: presented(value) for name, value in point.floats.items()}
    return {**constants_among(unit), **point.inputs.values, **point.inputs.launch.scalars, **floats}


def constants_among(unit: KernelUnit) -> dict[str, bool | int | float]:
    """The arguments that are constants and numbers."""
    return {
        each.name: each.value
        for each in flat(unit.launch.arguments)
        if isinstance(each, ConstantArgument) and isinstance(each.value, int | float)
    }


def _different(trial: _Trial, found: UnequalElement, launches: Sequence[Mapping[str, int]]) -> ExactAnswer:
    """The same as small as it is found: first at the smallest launch that shows it, of a few."""
    seen = found
    sizes = sorted(launches, key=lambda values: cost(trial.contract, values))
    most = cost(trial.contract, found.point.inputs.values)
    for values in [values for values in sizes if cost(trial.contract, values) < most][:TRIES]:
        try:
            smaller = trial.at(values, found.point.filling)
        except (InterpreterStop, UsageError):
            continue
        if isinstance(smaller, UnequalElement):
            seen = smaller
            break
    if trial.options.inputs is None and seen.point.filling not in (WHOLE, SCALARS):
        steps = trial.options.steps // 2
        again = replace(trial, budget=Budget(steps), share=steps)
        small = shrunk(seen, trial.contract, _where_unequal(again.at), _where_unequal(again.at_point))
        assert isinstance(small.found, UnequalElement)
        seen = replace(small.found, inputs=small.inputs)
    return ExactAnswer(Decision.DIFFERENT, difference=seen, points=1, steps=trial.steps())


def _where_unequal(ask: Callable[..., Compared | UnequalElement]) -> Callable[..., UnequalElement | None]:
    def seen(*place: object) -> UnequalElement | None:
        found = ask(*place)
        return found if isinstance(found, UnequalElement) else None

    return seen


# ------------------------------------------------------------------------------------------------------------ shrinking
# A difference made small: the sizes of its launch first, then contents, 0 and 1 where that still shows it.


SIZE_TRIES: Final = 24
CONTENT_TRIES: Final = 96
MOST_ELEMENTS_CHANGED: Final = 1 << 12
"""Of all arrays, beyond which contents stay as they were drawn."""


class ShownDifference(Protocol):
    """What is known of a difference: an element with two values, and the point."""

    @property
    def array(self) -> str: ...

    @property
    def kernel(self) -> float: ...

    @property
    def reference(self) -> float: ...

    @property
    def point(self) -> TrialPoint: ...


Seen = Callable[[TrialPoint], ShownDifference | None]


@dataclass(slots=True)
class Shrunk:
    """``inputs``: arrays and scalars by name, which show the difference; ``None``: those of the point do."""

    found: ShownDifference
    inputs: Mapping[str, Array] | None


def shrunk(
    found: ShownDifference,
    contract: ContractInNumbers,
    at: Callable[[Mapping[str, int], str], ShownDifference | None],
    at_point: Seen,
) -> Shrunk:
    """``at``: the difference at a launch with contents of a kind; ``at_point``: at one point.

    A difference of finite numbers stays one: infinities and NaN that a smaller input makes are another thing.
    """
    found = _small_launch(found, contract, at)
    inputs = inputs_of(found.point)
    if sum(np.size(array) for array in inputs.values()) > MOST_ELEMENTS_CHANGED:
        return Shrunk(found, None)
    search = _Contents(found, contract, at_point, inputs)
    if not search.keeps(inputs):
        return Shrunk(found, None)
    search.run()
    return Shrunk(search.found, search.inputs)


def _small_launch(
    found: ShownDifference, contract: ContractInNumbers, at: Callable[[Mapping[str, int], str], ShownDifference | None]
) -> ShownDifference:
    tries, filling = SIZE_TRIES, found.point.filling

    def seen_at(values: Mapping[str, int]) -> ShownDifference | None:
        return _asked(lambda: at(values, filling))

    while True:
        for values in smallest(contract, found.point.inputs.values):
            if not tries:
                return found
            tries -= 1
            again = seen_at(values)
            if again is not None and _alike(again, found):
                found = again
                break
        else:
            return found


def _asked(ask: Callable[[], ShownDifference | None]) -> ShownDifference | None:
    try:
        return ask()
    except (InterpreterStop, UsageError):
        return None


def _alike(again: ShownDifference, found: ShownDifference) -> bool:
    finite = [isfinite(each.kernel) and isfinite(each.reference) for each in (found, again)]
    return again.array == found.array and (finite[1] or not finite[0])


def inputs_of(point: TrialPoint) -> dict[str, Array]:
    """What the arrays hold in float64, or as integers, and the float scalars."""
    memory: dict[str, Array] = {**point.inputs.memory, **point.contents}
    result: dict[str, Array] = {}
    for name, array in point.inputs.launch.named_arrays():
        held = view(memory[array.allocation], array.shape, array.strides)
        result[name] = held["s"].copy() if is_numbers(held) else numbers(held, array.dtype).copy()
    return {**result, **{name: np.asarray(value["s"]) for name, value in point.floats.items()}}


@dataclass(slots=True)
class _Contents:
    found: ShownDifference
    contract: ContractInNumbers
    at_point: Seen
    inputs: dict[str, Array]
    tries: int = field(default=CONTENT_TRIES)
    done: list[tuple[str, slice]] = field(default_factory=list)

    def keeps(self, inputs: dict[str, Array]) -> bool:
        """Whether the difference shows with these inputs, which are then the ones to go on from."""
        self.tries -= 1
        values = self.found.point.inputs.values
        again = _asked(lambda: self.at_point(given_point(self.contract, values, inputs)))
        if again is None or not _alike(again, self.found):
            return False
        self.found, self.inputs = again, inputs
        return True

    def run(self) -> None:
        names = [name for name, array in self.inputs.items() if array.dtype.kind == "f"]
        whole = {name: np.round(array, 1) if name in names else array for name, array in self.inputs.items()}
        self.keeps(whole)
        for name in names:
            for part in self._parts(self.inputs[name].size, name):
                if self.tries <= 0:
                    return
                if any(self._keeps_with(name, part, value) for value in (0.0, 1.0)):
                    self.done.append((name, part))

    def _parts(self, size: int, name: str) -> Iterator[slice]:
        """The whole array, its halves, and so on; nothing inside of a part that is done."""
        width = size
        while width:
            for start in range(0, size, width):
                part = slice(start, min(start + width, size))
                if not any(n == name and p.start <= part.start and part.stop <= p.stop for n, p in self.done):
                    yield part
            width = 0 if width == 1 else -(-width // 2)

    def _keeps_with(self, name: str, part: slice, value: float) -> bool:
        array = self.inputs[name].copy()
        flat = array.reshape(-1)
        if (flat[part] == value).all():
            return True
        flat[part] = value
        return self.keeps({**self.inputs, name: flat.reshape(array.shape)})
