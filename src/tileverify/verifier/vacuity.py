"""Contracts that nobody can keep, and the smallest set of the user's own lines by which that is so (TV004)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from ..contract import terms as t
from ..contract.arguments import print_description
from ..contract.as_terms import build_contract
from ..contract.contract import Contract, array_layout
from ..contract.data_facts import print_data_fact
from ..contract.expressions import print_expression
from ..contract.launch import Apply, Argument, ArrayArgument, LaunchSpec, Name, Number, TupleArgument
from ..contract.terms import Term
from ..frontend.symbolic.summary import AccessSummary, Origin
from ..system.errors import SpecError
from .budgets import WORK_LIMITS
from .obligations.answers import Answer, Limits
from .obligations.consistency import elements, promises
from .obligations.fact_use import FactUse
from .obligations.footprint_overlap import PreparedSite, does_something
from .obligations.prepare import Preparer, launch_facts
from .smt import Solver, SolverContext

FEW_SUBSETS: Final = 60
"""So many sets of one or two lines are tried before lines are left out one by one."""


@dataclass(frozen=True, slots=True)
class ContractLine:
    """Something that the user wrote: ``kind`` is ``requires``, ``data``, ``grid`` or ``args``, ``place`` says which."""

    kind: str
    place: int
    text: str


def lines_of(launch: LaunchSpec) -> list[ContractLine]:
    """All of the launch that can contradict something."""
    texts = launch.requires_text if len(launch.requires_text) == len(launch.requires) else ()
    found = [ContractLine("data", i, fact.text or print_data_fact(fact)) for i, fact in enumerate(launch.data)]
    found += [
        ContractLine("requires", i, texts[i] if texts else print_expression(clause))
        for i, clause in enumerate(launch.requires)
    ]
    if launch.grid is not None:
        axes = launch.grid_text or tuple(map(print_expression, launch.grid))
        found.append(ContractLine("grid", 0, f"grid = ({', '.join(axes)})"))
    for i, array in enumerate(launch.arrays()):
        found.append(ContractLine("args", i, f"{array.name} = {print_description(array)}"))
    return found


def only(launch: LaunchSpec, lines: Sequence[ContractLine]) -> LaunchSpec:
    """The launch with nothing but these lines; the names of strides of other arrays stay, and promise nothing."""
    kept = {(line.kind, line.place) for line in lines}
    promised = {array.name for i, array in enumerate(launch.arrays()) if ("args", i) in kept}
    texts = launch.requires_text if len(launch.requires_text) == len(launch.requires) else ()
    return replace(
        launch,
        arguments=tuple(_relaxed(argument, promised) for argument in launch.arguments),
        grid=launch.grid if ("grid", 0) in kept else None,
        grid_text=launch.grid_text if ("grid", 0) in kept else (),
        requires=tuple(clause for i, clause in enumerate(launch.requires) if ("requires", i) in kept),
        requires_text=tuple(text for i, text in enumerate(texts) if ("requires", i) in kept),
        data=tuple(fact for i, fact in enumerate(launch.data) if ("data", i) in kept),
    )


def _relaxed(argument: Argument, promised: set[str]) -> Argument:
    if isinstance(argument, TupleArgument):
        return replace(argument, items=tuple(_relaxed(item, promised) for item in argument.items))
    if not isinstance(argument, ArrayArgument) or argument.name in promised:
        return argument
    strides = argument.strides
    if strides is not None:
        # An expression says what a stride is; only a bare name is a promise.
        strides = tuple(Apply("+", (each, Number(0))) if isinstance(each, Name) else each for each in strides)
    return replace(argument, strides=strides, index_bits=64)


def smallest(
    lines: Sequence[ContractLine], contradict: Callable[[Sequence[ContractLine]], bool]
) -> tuple[ContractLine, ...]:
    """As few of the lines as ``contradict``, which all of them together do; none of them can be left out."""
    few = [*combinations(lines, 0), *combinations(lines, 1), *combinations(lines, 2)]
    for tried in few[:FEW_SUBSETS]:
        if contradict(tried):
            return tried
    kept = list(lines)
    for line in reversed(lines):
        rest = [each for each in kept if each is not line]
        if contradict(rest):
            kept = rest
    return tuple(kept)


# ---------------------------------------------------------------------------------------- no launch at all
def contradictory(launch: LaunchSpec, solver_context: SolverContext) -> bool:
    """Whether no numbers and contents satisfy the contract."""
    asked = _Asked.of(launch, solver_context)
    return asked is not None and asked.impossible()


def no_launch(launch: LaunchSpec, solver_context: SolverContext) -> str:
    """Why no launch satisfies a contradictory contract, in the user's words."""
    found = smallest(lines_of(launch), lambda lines: contradictory(only(launch, lines), solver_context))
    return f"the launch contract contradicts itself: {_words(found)}"


@dataclass(frozen=True, slots=True)
class _Asked:
    """A contract and who answers questions about it."""

    contract: Contract
    solver: Solver

    @classmethod
    def of(cls, launch: LaunchSpec, solver_context: SolverContext) -> _Asked | None:
        try:
            contract = build_contract(launch)
        except SpecError:  # a name without what gave it its meaning: nothing can be said
            return None
        return cls(contract, Solver(launch_facts(contract), Limits(), solver_context=solver_context))

    def impossible(self, *more: Term) -> bool:
        asked = (*promises(self.contract), *more)
        return self.solver.decide(asked).answer is Answer.UNSATISFIABLE

    def empties(self, array: str) -> bool:
        """Whether the array has no element in any launch."""
        size = elements(self.contract).get(array)
        size = t.product(array_layout(self.contract.arrays[array])[0]) if size is None else size
        return self.impossible(t.le(t.ONE, t.substitute(size, self.contract.values)))


def _words(found: Sequence[ContractLine]) -> str:
    if not found:
        return "no launch satisfies it, whatever its clauses say: sizes, strides or scalars do not fit what passes them"
    told = " and ".join(f"`{line.text}`" for line in found)
    if len(found) == 1:
        return f"no launch satisfies {told}, as sizes and strides are not negative and fit what passes them"
    return f"no launch satisfies {told} together"


# -------------------------------------------------------------------------------------- nothing left to do
def emptied(launch: LaunchSpec, solver_context: SolverContext) -> str | None:
    """Why an array that facts speak of is empty in every launch; ``None`` if it is not, or is described so."""
    asked = _Asked.of(launch, solver_context)
    for name in () if asked is None else elements(asked.contract):
        assert asked is not None
        if not asked.empties(name):
            continue

        def empties(lines: Sequence[ContractLine], name: str = name) -> bool:
            rest = _Asked.of(only(launch, lines), solver_context)
            return rest is not None and rest.empties(name)

        found = smallest(lines_of(launch), empties)
        if found:
            told = " and ".join(f"`{line.text}`" for line in found)
            return f"the launch contract leaves nothing to do: `{name}` is empty in every launch that satisfies {told}"
    return None


def idle(sites: Sequence[PreparedSite], use: FactUse, origins: Mapping[str, Origin], solver: Solver) -> bool:
    """Whether no block of any launch gets to an access that writes (to any, where none does)."""
    promised = promises(use.contract)

    def unreached(site: PreparedSite) -> bool:
        conditions = (site.guard, does_something(site), *promised)
        asked = (*conditions, *use.known(conditions, origins))
        return solver.decide(asked, limits=WORK_LIMITS).answer is Answer.UNSATISFIABLE

    at_stake = [site for site in sites if site.site.writes] or list(sites)
    return bool(at_stake) and all(map(unreached, at_stake))


def no_work(summary: AccessSummary, launch: LaunchSpec, solver_context: SolverContext) -> str | None:
    """The user's facts that leave no block of an idle contract anything to do; ``None`` if it has nothing without them.

    A launch that describes empty arrays and says no more is as it is meant.
    """

    def left_idle(lines: Sequence[ContractLine]) -> bool:
        try:
            contract = build_contract(only(launch, [*lines, *others]))
        except SpecError:
            return False
        solver, use = Solver(launch_facts(contract), WORK_LIMITS, solver_context=solver_context), FactUse(contract)
        preparer = Preparer(summary, contract, solver, use=use)
        return idle([preparer.site(site) for site in summary.sites], use, preparer.origins, solver)

    lines = lines_of(launch)
    others = [line for line in lines if line.kind in ("grid", "args")]
    said = [line for line in lines if line not in others]
    if not said or left_idle(()):
        return None
    told = " and ".join(f"`{line.text}`" for line in smallest(said, left_idle))
    return f"the launch contract leaves no block anything to do: only launches without work satisfy {told}"
