"""Whether every element of what a kernel writes is written (TV711): asked for by ``complete`` of a launch spec, or by
``--complete``, where it is no part of `proved`.

An array A is *written whole* if in every launch of the contract that comes to its end

    for all e with 0 <= e[d] < A.shape[d]:  there are a write to A, a block, iterations and lanes such that
        the write happens there (its guard holds, the lane is live)  and  its footprint is element e.

What there is, is named: `inverse` reads a candidate off the footprint, a term of e and of the launch for every
variable of the block.  With it put in, the question has no "there is" any more, and the solver is asked for a launch
and an element that none of the candidates (one for each write) gets to.  Without such a launch, A is written whole;
everything else proves nothing, and is not claimed.

Guards are used the other way round than in obligations: there they may let too much through, here they must not.
They are exact but for loops that end by a ``break``, so kernels with such a loop claim nothing, nor do those that
leave a loop by ``return``, or are trusted to stop at an assertion.  What a write depends on must be the same in every
block: no loaded value of a block's own.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from math import gcd
from typing import TypeAlias

from ..contract import terms as t
from ..contract.as_terms import build_contract
from ..contract.contract import Contract, array_layout
from ..contract.launch import LaunchSpec
from ..contract.terms import ZERO, Scope, Term, TermKind
from ..contract.variables import BID, GRID
from ..frontend.bytecode.model import Block, Entry
from ..frontend.symbolic.summary import Access, AccessSummary, Origin, OriginKind, Site, ViewFootprint
from .budgets import COVERAGE_LIMITS
from .obligations.answers import Answer
from .obligations.footprint_overlap import PreparedSite, touches
from .obligations.layout import IndexFootprint
from .obligations.limits import clause_terms
from .obligations.prepare import Preparer, launch_facts
from .smt import Solver


@dataclass(frozen=True, slots=True)
class Unproved:
    """An array of which it is not shown that it is written whole.

    ``sites``: that write it.  ``left_out``: what holds of an element that none of the candidates gets to.  ``exact``:
    whether guards say when writes happen.
    """

    name: str
    sites: tuple[PreparedSite, ...]
    left_out: tuple[Term, ...]
    exact: bool


@dataclass(frozen=True, slots=True)
class Coverage:
    """Arrays that are written ``whole``, and the ``others``, of the launches that the solver knows."""

    whole: tuple[str, ...]
    others: tuple[Unproved, ...]
    contract: Contract
    origins: Mapping[str, Origin]
    solver: Solver

    @classmethod
    def of(
        cls,
        summary: AccessSummary,
        entry: Entry,
        launch: LaunchSpec,
        requires: Sequence[str],
        names: Sequence[str] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> Coverage:
        """Of the arrays with these names, or of all that a kernel writes which is proved under ``launch`` and the
        clauses ``requires``.

        ``timeout_s``: after so many seconds nothing more is shown.  Raises `SpecError` for a clause that speaks of
        nothing a launch decides.
        """
        contract = build_contract(launch)
        facts = (*launch_facts(contract), *clause_terms(requires, summary, launch))
        solver = Solver(facts, COVERAGE_LIMITS, None if timeout_s is None else time.monotonic() + timeout_s)
        preparer = Preparer(summary, contract, solver)
        exact = not _leaves_loops(entry.body) and not summary.assertions
        whole, others = [], []
        for name in (
            dict.fromkeys(site.origin.name for site in summary.sites if _counts(site)) if names is None else names
        ):
            left = _left_of(name, summary, preparer, solver, exact=exact)
            if left is None:
                whole.append(name)
            else:
                others.append(left)
        return cls(tuple(whole), tuple(others), contract, preparer.origins, solver)


def _left_of(name: str, summary: AccessSummary, preparer: Preparer, solver: Solver, *, exact: bool) -> Unproved | None:
    """What is not known of the array; ``None`` if every element is written."""
    array = _Array.of(preparer.origins[name], preparer)
    writing = [site for site in summary.sites if site.origin.name == name and _counts(site)]
    sites = tuple(map(preparer.site, writing))
    if array is None or not exact:
        return Unproved(name, sites, (), exact=False)
    left_out = _Coverage(array, preparer, solver).left_out([each for each in sites if _tells(each.site)])
    return None if left_out is None else Unproved(name, sites, left_out, exact=True)


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
    solver: Solver

    def left_out(self, sites: Sequence[PreparedSite]) -> tuple[Term, ...] | None:
        """What holds of an element that no candidate gets to; ``None`` where one of ``sites`` writes every element."""
        if any(fact is t.FALSE for fact in self.array.inside):
            return None  # it has no elements
        missed = []
        for prepared in sites:
            conditions = self._reached(prepared)
            if conditions is None:
                continue
            left = [each for each in conditions if not self._follows(each)]
            if not left:
                return None
            missed.append(t.not_(t.and_(*left)))
        return None if len(missed) > 1 and self._contradict(missed) else (*self.array.inside, *missed)

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
                    if self.solver.decide([guard, wanted]).answer is Answer.UNSATISFIABLE:
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
        return self.solver.decide([*self.array.inside, *conditions]).answer is Answer.UNSATISFIABLE


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


# -------------------------------------------------------------------------------------------------------------- inverse
# Which block, iteration and lane touch a given element: candidates, read off the form of a footprint's coordinates.
#
# Coordinates are mostly numbers in a mixed radix.  Where
#
#     c_0*a_0 + c_1*a_1 + ... = target,   0 <= a_i < n_i,   c_(i+1) = c_i * n_i   (say lane + 64*block),
#
# the digits are ``a_i = target mod c_(i+1) div c_i``, and the last one ``target div c_n``.  A digit may be a variable,
# or a quotient or remainder of one:
#
#     x div K = q  and  x mod K = r                            give  x = q*K + r;
#     x div P = q, (x mod P) div K = n  and  x mod K = r       give  (x mod P) mod K = (r - q*P) mod K, and so on.
#
# A candidate proves nothing: whoever uses one has to show that it does what it is meant to.


Equation: TypeAlias = tuple[Term, Term]
"""What a footprint says, in unknown variables, and what it has to be, in known ones."""


def candidate(
    equations: Iterable[Equation], guard: Term, unknowns: Mapping[Term, Term | None]
) -> dict[Term, Term] | None:
    """A value for each of ``unknowns`` that may solve ``equations``; ``None`` if they have no form that is known here.

    ``unknowns`` gives the number of values of each variable, from 0 on, where one is known.  What occurs in no equation
    is what an equality of ``guard`` makes it, or else 0.
    """
    solver = _Solver(unknowns, list(equations))
    if not solver.solve():
        return None
    for part in guard.args if guard.kind is TermKind.AND else (guard,):
        if part.kind is TermKind.EQ:
            solver.take_up(part.args)
    return {variable: solver.values.get(variable, ZERO) for variable in unknowns}


@dataclass(frozen=True, slots=True)
class _Digit:
    """``factor * weight * atom``: the weight is known and, as far as anybody can tell, positive."""

    factor: int
    weight: Term
    atom: Term

    @property
    def size(self) -> Term:
        return t.scale(abs(self.factor), self.weight)

    @property
    def order(self) -> tuple[int, int]:
        parts = self.weight.args if self.weight.kind is TermKind.PRODUCT else (self.weight,)
        return (0 if self.weight is t.ONE else len(parts), abs(self.factor))


@dataclass
class _Solver:
    unknowns: Mapping[Term, Term | None]
    open: list[Equation]
    values: dict[Term, Term] = field(default_factory=dict)
    parts: dict[Term, Term] = field(default_factory=dict)  # quotients and remainders of unknowns, and their values
    settled: dict[Term, Term] = field(default_factory=dict)  # all of them, also those that were used up

    def solve(self) -> bool:
        while self.open or self.parts:
            if not (self._step() or self._join()):
                return False
        return True

    def take_up(self, sides: Sequence[Term]) -> None:
        """Use an equality for an unknown that is still open, if it says just what that is."""
        left = t.sub(*(t.substitute(side, self.values) for side in sides))
        digits = self._digits(left)
        if digits is not None and len(digits[0]) == 1 and digits[0][0].atom in self.unknowns:
            self.open.append((left, ZERO))
            self._step()

    # ------------------------------------------------------------------------------------------ equations
    def _step(self) -> bool:
        """Solve one equation."""
        for number, (left, right) in enumerate(self.open):
            found = self._digits(left)
            if found is None:
                continue
            digits, rest = found
            del self.open[number]
            for atom, value in list(self._solved(digits, t.sub(right, rest))):
                self._settle(atom, value)
            return True
        return False

    def _unknown(self, term: Term) -> bool:
        return any(leaf in self.unknowns and leaf not in self.values for leaf in term.free)

    def _digits(self, left: Term) -> tuple[list[_Digit], Term] | None:
        """The digits of a sum and the rest of it, which is known."""
        constant, summands = t.linear_parts(left)
        digits: list[_Digit] = []
        rest = t.const(constant)
        for factor, summand in summands:
            if not self._unknown(summand):
                rest = t.add(rest, t.scale(factor, summand))
                continue
            factors = summand.args if summand.kind is TermKind.PRODUCT else (summand,)
            atoms = [each for each in factors if self._unknown(each)]
            if len(atoms) != 1 or not (atoms[0] in self.unknowns or atoms[0].kind in (TermKind.DIV, TermKind.MOD)):
                return None
            digits.append(_Digit(factor, t.product(each for each in factors if each is not atoms[0]), atoms[0]))
        return digits, rest

    def _count(self, atom: Term) -> Term | None:
        return atom.args[1] if atom.kind is TermKind.MOD else self.unknowns.get(atom)

    def _solved(self, digits: list[_Digit], target: Term) -> Iterable[tuple[Term, Term]]:
        """Each atom with its value, those of the greatest weight first."""
        if digits and all(digit.factor < 0 for digit in digits):
            target, digits = t.neg(target), [_Digit(-d.factor, d.weight, d.atom) for d in digits]
        mirrored: dict[Term, Term] = {}
        for digit in digits:
            count = self._count(digit.atom)
            if digit.factor < 0 and count is not None:
                # c*a = c*(n - 1) - c*(n - 1 - a)
                mirrored[digit.atom] = last = t.sub(count, t.ONE)
                target = t.add(target, t.mul(digit.size, last))
        chain = self._chain(digits)
        for digit, above in reversed(list(zip_longest(chain, chain[1:]))):
            within = target if above is None else t.floormod(target, above.size)
            value = t.floordiv(within, digit.size) if digit.size is not t.ONE else within
            last_value = mirrored.get(digit.atom)
            yield digit.atom, value if last_value is None else t.sub(last_value, value)

    def _chain(self, digits: list[_Digit]) -> list[_Digit]:
        """The digits, each followed by the one that counts its overflows, as far as that shows."""
        left, chain = sorted(digits, key=lambda digit: digit.order), list[_Digit]()
        while left:
            following = None
            count = self._count(chain[-1].atom) if chain else None
            if count is not None:
                size = t.mul(chain[-1].size, count)
                following = next((digit for digit in left if digit.size is size), None)
            chain.append(following or left[0])
            left.remove(chain[-1])
        return chain

    def _settle(self, atom: Term, value: Term) -> None:
        atom = self._rewritten_inside(atom)
        if atom in self.unknowns:
            self.values[atom] = value
        else:
            self.parts[atom] = value
        self.settled[atom] = value
        put = self.settled.get
        self.open = [(t.transform(left, put), right) for left, right in self.open]
        rewritten = {self._rewritten_inside(part): known for part, known in self.parts.items()}
        # What holds no unknown any more is for the proof to confirm.
        self.parts = {part: known for part, known in rewritten.items() if self._unknown(part)}

    def _rewritten_inside(self, part: Term) -> Term:
        """A quotient, remainder or variable, with what is known put in for its parts, but not for itself."""
        return t.rebuild(part, tuple(t.transform(arg, self.settled.get) for arg in part.args))

    # ---------------------------------------------------------------------------- quotients and remainders
    def _join(self) -> bool:
        """One equation from what is known of quotients and remainders: both of one number first."""
        quotients = [part for part in self.parts if part.kind is TermKind.DIV]
        remainders = [part for part in self.parts if part.kind is TermKind.MOD]
        for quotient in quotients:
            for remainder in remainders:
                if quotient.args == remainder.args:
                    scaled = t.mul(self.parts.pop(quotient), quotient.args[1])
                    self.open.append((quotient.args[0], t.add(scaled, self.parts.pop(remainder))))
                    return True
        for remainder in remainders:
            number, modulus = remainder.args
            for outer in quotients:
                inner = t.floormod(number, outer.args[1])
                if outer.args[0] is number and t.floordiv(inner, modulus) in self.parts:
                    rest = t.sub(self.parts.pop(remainder), t.mul(self.parts[outer], outer.args[1]))
                    self.parts[t.floormod(inner, modulus)] = t.floormod(rest, modulus)
                    return True
        if self.open or not self.parts:
            return False
        part = (remainders or quotients)[0]
        value = self.parts.pop(part)
        self.open.append((part.args[0], value if part.kind is TermKind.MOD else t.mul(value, part.args[1])))
        return True
