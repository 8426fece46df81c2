"""A kernel's half of a comparison, where the reference must not be: its launches on exact numbers, one message each.

The launches are those of `deciding` in a smaller budget, so small siblings of theirs come first.  What a near tie costs
the reference is one point: here nobody can draw another one for it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from ..backend.interpreter import Budget, BudgetSpent, InterpreterStop
from ..backend.numbers.conditions import ContractInNumbers
from ..backend.numbers.extents import extent
from ..backend.numbers.small_launches import siblings
from ..backend.numbers.trial_launches import Constants, constants_of
from ..contract.launch import KernelUnit
from ..system.errors import UsageError
from .deciding import (
    TRIES,
    SearchedPlace,
    at_turns,
    beyond_masks,
    constants_among,
    searched_places,
    worth_searching,
)
from .field import Array
from .influence import Idle, idle_of
from .narrow_sums import narrow_sums
from .planned_launches import Options, planned, words
from .points import SCALARS, TrialPoint, drawn_point
from .primitives import is_numbers
from .rounding_runs import points_in_formats, run_in_formats
from .running import ExactKernel, run_exactly
from .sent_points import Sent, SentEnd, SentGap, sent
from .undecided import NearTie

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
            stopped = f"{stop} ({words(values)})"
            break
    spent = options.steps - made.budget.left
    if taken and not stopped:
        made = replace(made, budget=Budget(options.steps))
        chosen = worth_searching(contract, taken, options.steps)
        for place in searched_places(plan, contract, known, chosen, launches[0]):
            yield from made.searching(0 if place[1] == SCALARS else launches.index(chosen), place)
        yield from made.in_formats(launches[0])
    unseen = (words(values) for values in plan.launches if values not in launches)
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
