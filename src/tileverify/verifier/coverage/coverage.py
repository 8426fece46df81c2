"""Whether every element of what a kernel writes is written, in every launch of a contract.

An array A is *written whole* if in every launch of the contract that comes to its end

    for all e with 0 <= e[d] < A.shape[d]:  there are a write to A, a block, iterations and lanes such that
        the write happens there (its guard holds, the lane is live)  and  its footprint is element e.

What there is, is named: `inverse` reads a candidate off the footprint, a term of e and of the launch for every variable
of the block.  With it put in, the question has no "there is" any more, and the solver is asked for a launch and an
element that none of the candidates (one for each write) gets to.  Without such a launch, A is written whole; everything
else proves nothing, and is not claimed.

Guards are used the other way round than in obligations: there they may let too much through, here they must not.  They
are exact but for loops that end by a ``break``, so kernels with such a loop claim nothing, nor do those that leave a
loop by ``return``, or are trusted to stop at an assertion.  What a write depends on must be the same in every block: no
loaded value of a block's own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd

from ...contract import terms as t
from ...contract.as_terms import build_contract
from ...contract.contract import array_layout
from ...contract.launch import LaunchSpec
from ...contract.terms import Scope, Term, TermKind
from ...contract.variables import BID, GRID
from ...frontend.bytecode.model import Block, Entry
from ...frontend.symbolic.summary import Access, AccessSummary, Origin, OriginKind, Site, ViewFootprint
from ...results import WrittenArrays
from ..budgets import COVERAGE_LIMITS
from ..obligations.answers import Answer
from ..obligations.footprint_overlap import PreparedSite, touches
from ..obligations.layout import IndexFootprint
from ..obligations.limits import clause_terms
from ..obligations.prepare import Preparer, launch_facts
from ..smt import Decider
from .inverse import candidate


def written_arrays(
    summary: AccessSummary,
    entry: Entry,
    launch: LaunchSpec,
    requires: Sequence[str],
    *,
    timeout_s: float | None = None,
) -> WrittenArrays:
    """The arrays that a kernel writes which is proved under ``launch`` and the clauses ``requires``.

    ``timeout_s``: after so many seconds nothing more is shown.  Raises `SpecError` for a clause that speaks of nothing
    a launch decides.
    """
    contract = build_contract(launch)
    facts = (*launch_facts(contract), *clause_terms(requires, summary, launch))
    decider = Decider(facts, COVERAGE_LIMITS, None if timeout_s is None else time.monotonic() + timeout_s)
    preparer = Preparer(summary, contract, decider)
    names = dict.fromkeys(site.origin.name for site in summary.sites if _counts(site))
    exact = not _leaves_loops(entry.body) and not summary.assertions
    whole = []
    for name in names if exact else ():
        array = _Array.of(preparer.origins[name], preparer)
        if array is not None:
            sites = (site for site in summary.sites if site.origin.name == name and _tells(site))
            if _Coverage(array, preparer, decider).holds([preparer.site(site) for site in sites]):
                whole.append(name)
    return WrittenArrays(tuple(whole), tuple(name for name in names if name not in whole))


def _counts(site: Site) -> bool:
    return site.writes and site.origin.kind is OriginKind.PARAMETER


def _tells(site: Site) -> bool:
    """Writes whose footprint is one whole element, whatever is in memory: no compare-and-swap, no half of a byte."""
    footprint = site.footprint
    if site.access is Access.READ or site.mode == "cas" or site.op.startswith("multimem"):
        return False
    return not (isinstance(footprint, ViewFootprint) and footprint.packed)


def _leaves_loops(block: Block, *, inside: bool = False) -> bool:
    """Whether a loop may end before its count says so."""
    for op in block.ops:
        if op.name == "loop" or (inside and op.name == "return"):
            return True
        for region in op.regions:
            if any(_leaves_loops(each, inside=inside or op.name == "for") for each in region.blocks):
                return True
    return False


@dataclass(frozen=True, slots=True)
class _Array:
    """``element``: the coordinates of any one element, as variables; ``inside``: that it is one of the array."""

    origin: Origin
    shape: tuple[Term, ...]
    strides: tuple[Term, ...]
    element: tuple[Term, ...]
    inside: tuple[Term, ...]

    @classmethod
    def of(cls, origin: Origin, preparer: Preparer) -> _Array | None:
        shape, strides = origin.shape, origin.strides
        if not shape and origin.name in preparer.contract.arrays:
            # A raw pointer, whose layout only the contract tells.
            shape, strides = (tuple(map(preparer.term, p)) for p in array_layout(preparer.contract.arrays[origin.name]))
        if not shape:
            return None
        element = tuple(
            t.var(f"element({origin.name})[{d}]", Scope.LAUNCH, 0, None if size.high is None else max(size.high - 1, 0))
            for d, size in enumerate(shape)
        )
        inside = tuple(t.lt(e, size) for e, size in zip(element, shape, strict=True))
        return cls(origin, shape, strides, element, inside)

    def equations(self, prepared: PreparedSite) -> list[tuple[Term, Term]] | None:
        """When a lane of the access touches the element, and nothing else."""
        place, size = prepared.place, self.origin.element_bytes
        if isinstance(place, IndexFootprint):
            return list(zip(place.coordinates, self.element, strict=True))
        if place.size != size:
            return None
        return [(place.offset, t.scale(size, t.add(*map(t.mul, self.element, self.strides))))]


@dataclass(frozen=True, slots=True)
class _Coverage:
    array: _Array
    preparer: Preparer
    decider: Decider

    def holds(self, sites: Sequence[PreparedSite]) -> bool:
        """Whether every element of the array is written by one of ``sites``."""
        if any(fact is t.FALSE for fact in self.array.inside):
            return True  # it has no elements
        missed = []
        for prepared in sites:
            conditions = self._reached(prepared)
            if conditions is None:
                continue
            left = [each for each in conditions if not self._follows(each)]
            if not left:
                return True
            missed.append(t.not_(t.and_(*left)))
        return len(missed) > 1 and self._contradict(missed)

    def _reached(self, prepared: PreparedSite) -> list[Term] | None:
        """What makes the write touch the element in the block, iterations and lanes of a candidate."""
        equations = self.array.equations(prepared)
        if equations is None:
            return None
        counts = dict(self._counts(prepared.site))
        chosen = [(self._chosen(left, prepared.guard), right) for left, right in equations]
        found = candidate(map(_divided, chosen), prepared.guard, counts)
        if found is None:
            return None
        conditions = [t.substitute(each, found) for each in (prepared.guard, touches(prepared.place))]
        conditions += [t.eq(t.substitute(left, found), t.substitute(right, found)) for left, right in equations]
        for variable, value in found.items():
            conditions += _within(variable, value)
            count = counts[variable]
            conditions += () if count is None else (t.lt(value, count),)
        parts = [part for each in conditions for part in (each.args if each.kind is TermKind.AND else (each,))]
        if not all(map(_same_in_every_block, parts)):
            return None
        return [part for part in dict.fromkeys(parts) if part is not t.TRUE]

    def _chosen(self, term: Term, guard: Term) -> Term:
        """``term`` without the choices that every block of every launch makes in the same way."""

        def choose(sub: Term) -> Term | None:
            if sub.kind is TermKind.ITE and sub.sort is t.Sort.INT:
                condition, chosen, other = sub.args
                for wanted, branch in ((condition, other), (t.not_(condition), chosen)):
                    if self.decider.decide([guard, wanted]).answer is Answer.UNSATISFIABLE:
                        return branch
            return None

        return t.transform(term, choose)

    def _counts(self, site: Site) -> Iterator[tuple[Term, Term | None]]:
        """The variables of a block, and how many values each has where its number is known."""
        for bid, grid in zip(BID, GRID, strict=True):
            if self.preparer.term(bid) is bid:
                yield bid, self.preparer.term(grid)
        for loop in site.loops:
            yield loop.iteration, None
        for lane in site.lanes:
            yield lane.variable, t.const(lane.size)

    def _follows(self, condition: Term) -> bool:
        return self._contradict([t.not_(condition)])

    def _contradict(self, conditions: Sequence[Term]) -> bool:
        return self.decider.decide([*self.array.inside, *conditions]).answer is Answer.UNSATISFIABLE


def _within(variable: Term, value: Term) -> Iterator[Term]:
    """That ``value`` is one that ``variable`` can have, which terms with the variable take for granted."""
    low, high = variable.low, variable.high
    if low is not None:
        yield t.le(t.const(low), value)
    if high is not None:
        yield t.le(value, t.const(high))


def _divided(equation: tuple[Term, Term]) -> tuple[Term, Term]:
    """Without a common factor of both sides."""
    left, right = equation
    (a, x), (b, y) = map(t.linear_parts, equation)
    common = gcd(a, b, *(c for c, _ in x), *(c for c, _ in y))
    if common <= 1:
        return equation
    left = t.add(t.const(a // common), *(t.scale(c // common, s) for c, s in x))
    right = t.add(t.const(b // common), *(t.scale(c // common, s) for c, s in y))
    return left, right


def _same_in_every_block(condition: Term) -> bool:
    """Whether it speaks of the launch alone: a value of a block's own would be taken for that of another block."""
    return all(
        (leaf.symbol if leaf.kind is TermKind.VAR else leaf.function).scope is Scope.LAUNCH for leaf in condition.free
    )
