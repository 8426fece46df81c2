"""Clauses: which may be added, how they are worded in the language of specs, and which of them the others imply.

Two kinds so far: an obligation that speaks of the launch alone (``assume div_by`` on a size, an index that is an
argument), and the grid of a launch for which the user gave none (``grid.y == 1`` for an axis that the kernel
does not read, ``grid.x <= tiles`` for an axis that is a tile index).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from ...contract import terms as t
from ...contract.as_terms import build_contract
from ...contract.expression_parser import parse_condition
from ...contract.expressions import OPERATORS, constant_value, free_names, print_expression, substitute
from ...contract.launch import Apply, Expression, LaunchSpec, Name, Number, SameArray, ScalarArgument
from ...contract.terms import Scope, Sort, Term, TermKind
from ...contract.terms.evaluate import evaluate
from ...contract.terms.rendering import unsigned_reading
from ...contract.variables import BID, GRID
from ...frontend.symbolic.summary import OriginKind, Site, ViewFootprint
from ...results.codes import TV
from ...system.errors import SpecError
from ..obligations.answers import Answer, SolverProtocol
from ..obligations.fact_use import FactUse, for_every_array
from ..obligations.footprint_overlap import PRIME, CopyLevel, PreparedSite, PrimedCopy
from ..obligations.obligations import Obligation
from ..smt.decide import Solver

LAST_BLOCK = {bid: t.sub(axis, t.ONE) for bid, axis in zip(BID, GRID, strict=True)}
"""The block ids of a grid's last block."""

LONGEST = 200
"""Characters of a clause that people can still read."""
_WRAPPED = re.compile(r"% 2 \*\* (32|64)\b")


@dataclass(frozen=True, slots=True)
class Clause:
    """``condition`` over launch variables and its text in the spec's language."""

    condition: Term
    text: str


def launch_clause(obligation: Obligation, conditions: tuple[Term, ...], use: FactUse) -> Iterator[Clause]:
    """An obligation that speaks of the launch alone is itself the clause, path condition included (never hoisted
    out of it: that would reject launches that are fine).  So is what the compiler was promised of the arrays of a
    list."""
    if conditions and all(map(launch_only, conditions)):
        yield from spoken(t.not_(t.and_(*conditions)))
    elif obligation.code == TV.ASSUME_PROMISE:
        of_each = for_every_array(conditions, use.contract, list(use.of_arrays(conditions)))
        yield from () if of_each is None else spoken(of_each)


def index_space_clauses(obligation: Obligation) -> Iterator[Clause]:
    """No more blocks than tiles, along an axis of the grid that is a tile index."""
    site = obligation.first
    if obligation.code == TV.TILE_OUT_OF_INDEX_SPACE and site is not None and isinstance(site.footprint, ViewFootprint):
        for index, space in zip(site.footprint.index, site.footprint.index_space, strict=True):
            if index in BID and space is not None:
                yield from spoken(t.le(GRID[BID.index(index)], space))


def ignored_axes(read: frozenset[int]) -> Iterator[Clause]:
    """``grid.y == 1`` where the kernel does not read the number of a block along y: two blocks that differ in it alone
    do the same thing, so that whatever one of them writes, the other writes as well."""
    yield from (_single(axis) for axis in (2, 1, 0) if axis not in read)


def writes_for_all(sites: Iterable[PreparedSite]) -> bool:
    """Whether the kernel writes what other blocks can see, and not by atomics, which several blocks may do."""
    return any(each.site.writes and not each.site.atomic and is_seen(each.site) for each in sites)


def is_seen(site: Site) -> bool:
    """Whether other blocks, or whoever launched the kernel, can see what the access does."""
    return site.origin.kind not in (OriginKind.LOCAL, OriginKind.SHARED_LOCAL)


def fitting_clauses(terms: Iterable[Term]) -> Iterator[Clause]:
    """What the kernel computes from the launch alone, number of tiles and the like, does not leave its integer type."""
    seen: set[Term] = set()
    for term in terms:
        for sub in t.postorder(term):
            if sub.kind is TermKind.WRAP and sub not in seen and launch_only(sub):
                seen.add(sub)
                half = t.const(1 << (sub.payload - 1))
                yield from spoken(t.and_(t.le(t.neg(half), sub.args[0]), t.lt(sub.args[0], half)))


def last_block_clauses(sites: Iterable[PreparedSite]) -> Iterator[Clause]:
    """What every block does, the last one does within its index space (TV301): necessary, and often enough."""
    for each in sites:
        footprint = each.site.footprint
        if isinstance(footprint, ViewFootprint) and each.guard is t.TRUE:
            for index, space in zip(footprint.index, footprint.index_space, strict=True):
                if space is not None:
                    inside = t.lt(t.substitute(index, LAST_BLOCK), space)
                    if launch_only(inside):
                        yield from spoken(inside)


def spoken(condition: Term) -> Iterator[Clause]:
    """The clause, unless it says nothing, or nobody could check it at a launch, or it speaks of how integers wrap: a
    launch that keeps such a clause may be any."""
    text = None if condition is t.TRUE else clause_text(condition)
    if text is not None and len(text) <= LONGEST and not _WRAPPED.search(text):
        yield Clause(condition, text)


def _single(axis: int) -> Clause:
    return Clause(t.eq(GRID[axis], t.ONE), f"grid.{'xyz'[axis]} == 1")


def as_equalities(chosen: Sequence[Term]) -> list[Term]:
    """The conditions with one in place of two:  ``a <= b`` and ``b <= a``  iff  ``a == b``."""
    found: dict[Term, None] = {}
    for term in chosen:
        both = term.kind is TermKind.LE and t.le(term.args[1], term.args[0]) in chosen
        found[t.eq(*term.args) if both else term] = None
    return list(found)


def fixed(clause: Clause) -> Iterator[tuple[Term, Term]]:
    """What a clause makes a constant: an axis of one block, and the number of that block in both copies."""
    for bid, axis in zip(BID, GRID, strict=True):
        if clause.condition is t.eq(axis, t.ONE):
            yield axis, t.ONE
            yield bid, t.ZERO
            yield PrimedCopy(CopyLevel.BLOCK, PRIME)(bid), t.ZERO


def launch_only(term: Term) -> bool:
    return all(leaf.payload.scope is Scope.LAUNCH for leaf in term.free)


# -------------------------------------------------------------------------------------------------------------- wording
# Launch-only conditions in the language of launch specs (``docs/specs.md``): ``grid.x <= cdiv(N, 128)``.


class _Unspeakable(Exception):
    """A term that no expression of a launch spec can stand for."""


def clause_text(condition: Term) -> str | None:
    """``condition`` as a ``requires`` entry that a user could have written.

    ``None`` where the language has no words for it: a bit operation that the prover left uninterpreted, contents of
    an array, anything that a launcher does not know.  Addresses appear as ``x.address``, which only a launcher knows;
    machine wraps and unsigned readings are spelled out.
    """
    try:
        return print_expression(_expression(t.transform(condition, _tidy)))
    except _Unspeakable:
        return None


def can_be_said(term: Term) -> bool:
    """Whether the term speaks of nothing but sizes, strides, scalars and the grid."""
    return all(leaf.kind is TermKind.VAR and leaf.symbol.scope is Scope.LAUNCH and _named(leaf) for leaf in term.free)


def _named(variable: Term) -> bool:
    """Whether a launch spec can name it; the distance of two arrays, for one, it cannot."""
    return _NAME.fullmatch(variable.symbol.name) is not None


_NAME = re.compile(r"[A-Za-z_][\w.\[\]]*")


def _tidy(term: Term) -> Term | None:
    """Push comparisons into choices, where intervals decide most branches (unsigned readings of scalars)."""
    if term.kind in (TermKind.LT, TermKind.LE, TermKind.EQ):
        for position, side in enumerate(term.args):
            if side.kind is TermKind.ITE:
                other = term.args[1 - position]
                pairs = [(b, other) if position == 0 else (other, b) for b in side.args[1:]]
                then, otherwise = (t.rebuild(term, pair) for pair in pairs)
                return t.ite(side.args[0], then, otherwise)
        return _positive_quotient(term)
    return None


def _positive_quotient(term: Term) -> Term | None:
    """``0 < (n + c - 1) // c`` says ``0 < n``."""
    low, quotient = term.args[0], term.args[1]
    if term.kind is TermKind.LT and low is t.ZERO and quotient.kind is TermKind.DIV:
        numerator = _rounded_up(quotient)
        if numerator is not None:
            return t.lt(t.ZERO, numerator)
    return None


def _rounded_up(quotient: Term) -> Term | None:
    """``n`` if the quotient is ``(n + c - 1) // c``."""
    numerator, divisor = quotient.args
    if divisor.kind is TermKind.CONST and divisor.value > 1:
        inner = t.sub(numerator, t.const(divisor.value - 1))
        if t.linear_parts(inner)[0] == 0:
            return inner
    return None


def _expression(term: Term) -> Expression:  # noqa: C901  one case per kind of term
    if (reading := unsigned_reading(term)) is not None:
        bits, signed = reading
        return Apply("%", (_expression(signed), _number(2**bits)))
    match term.kind:
        case TermKind.CONST:
            return _number(term.value)
        case TermKind.VAR if can_be_said(term):
            return Name(term.symbol.name)
        case TermKind.DIV | TermKind.MOD if term.args[1] is t.ZERO:
            raise _Unspeakable
        case TermKind.TRUE | TermKind.FALSE:
            return Apply("==", (Number(1), Number(int(term is t.TRUE))))
        case TermKind.SUM:
            return _sum(term)
        case TermKind.DIV:
            numerator = _rounded_up(term)
            if numerator is not None:
                return Apply("cdiv", (_expression(numerator), _expression(term.args[1])))
        case TermKind.WRAP:
            half = 2 ** (term.payload - 1)
            return _expression(t.sub(t.floormod(t.add(term.args[0], t.const(half)), t.const(2 * half)), t.const(half)))
        case TermKind.NOT if term.args[0].kind is TermKind.EQ:
            return _comparison("!=", *term.args[0].args)
        case TermKind.NOT if term.args[0].kind is TermKind.IFF:
            a, b = term.args[0].args
            return _alike(a, t.not_(b))
        case TermKind.IFF:
            return _alike(*term.args)
        case TermKind.ITE if term.sort is Sort.BOOL:
            c, a, b = term.args
            return _expression(t.and_(t.or_(t.not_(c), a), t.or_(c, b)))
        case TermKind.LT if term.args[0].kind is TermKind.CONST:
            return Apply(">=", (_expression(term.args[1]), _number(term.args[0].value + 1)))
        case TermKind.LE if term.args[0].kind is TermKind.CONST:
            return Apply(">=", (_expression(term.args[1]), _number(term.args[0].value)))
        case TermKind.LT | TermKind.LE if term.args[1].kind is TermKind.CONST:
            return _at_most(term.args[0], term.args[1].value - (term.kind is TermKind.LT))
        case TermKind.EQ:
            return _comparison("==", *term.args)
        case TermKind.PRODUCT:
            return reduce(lambda x, y: Apply("*", (x, y)), map(_expression, _by_name(term.args)))
    if term.kind not in _OPERATORS:
        raise _Unspeakable
    args = _by_name(term.args) if term.kind in _COMMUTATIVE else term.args
    return Apply(_OPERATORS[term.kind], tuple(map(_expression, args)))


def _number(value: int) -> Expression:
    """Large numbers close to a power of two as people write them: ``2**31 - 1``."""
    size = abs(value)
    for off, op in ((0, ""), (1, "-"), (-1, "+")):
        power = size + off
        if power >= _LARGE and power & (power - 1) == 0 and (value > 0 or not off):
            number: Expression = Apply("**", (Number(2), Number(power.bit_length() - 1)))
            if value < 0:
                return Apply("neg", (number,))
            return Apply(op, (number, Number(1))) if off else number
    return Number(value)


_LARGE = 1 << 16


def _at_most(term: Term, limit: int) -> Expression:
    """``n == 0`` for the least that something can be, ``n < 2**31``, or ``n <= 5``."""
    if term.low == limit:
        return Apply("==", (_expression(term), _number(limit)))
    after = limit + 1
    if after >= _LARGE and after & (after - 1) == 0:
        return Apply("<", (_expression(term), _number(after)))
    return Apply("<=", (_expression(term), _number(limit)))


def _by_name(args: tuple[Term, ...]) -> list[Term]:
    """Terms order commuting arguments by digest; people prefer the alphabet."""
    return sorted(args, key=t.render)


_COMMUTATIVE = (TermKind.MIN, TermKind.MAX, TermKind.AND, TermKind.OR)


_OPERATORS = {
    TermKind.DIV: "//",
    TermKind.MOD: "%",
    TermKind.MIN: "min",
    TermKind.MAX: "max",
    TermKind.NOT: "not",
    TermKind.AND: "and",
    TermKind.OR: "or",
    TermKind.LT: "<",
    TermKind.LE: "<=",
}


def _comparison(op: str, a: Term, b: Term) -> Expression:
    """Constants stand on the right."""
    if a.kind is TermKind.CONST or (b.kind is not TermKind.CONST and t.render(b) < t.render(a)):
        a, b = b, a
    return Apply(op, (_expression(a), _expression(b)))


def _alike(a: Term, b: Term) -> Expression:
    """Both or neither; conditions cannot be compared in a launch spec."""
    both = Apply("and", (_expression(a), _expression(b)))
    return Apply("or", (both, Apply("and", (_expression(t.not_(a)), _expression(t.not_(b))))))


def _sum(term: Term) -> Expression:
    """Positive summands first, the constant last."""
    constant, parts = t.linear_parts(term)
    ordered = sorted(parts, key=lambda part: (part[0] < 0, t.render(part[1])))
    pieces = [*ordered, *([(constant, t.ONE)] if constant else [])]
    (first, summand), *rest = pieces
    result = _scaled(abs(first), summand)
    if first < 0:
        result = Apply("neg", (result,))
    for c, s in rest:
        result = Apply("-" if c < 0 else "+", (result, _scaled(abs(c), s)))
    return result


def _scaled(factor: int, summand: Term) -> Expression:
    if summand is t.ONE:
        return _number(factor)
    return _expression(summand) if factor == 1 else Apply("*", (_number(factor), _expression(summand)))


# -------------------------------------------------------------------------------------------------------------- implied
# Which clauses of a contract say nothing that the others do not say.


def without_implied(
    clauses: Sequence[Clause], facts: Sequence[Term], solver: SolverProtocol, own: Mapping[Term, int]
) -> list[Clause]:
    """The clauses without those that follow from the rest; ``solver`` knows ``facts``, and only them.

    ``own``: a launch that satisfies everything, if one is known.  Most clauses are broken, and nothing else, by a
    launch that differs from it in one number, for which no solver is needed.
    """
    kept = list(clauses)
    near_own = _Neighbours([clause.condition for clause in clauses], facts, own)
    for clause in clauses:
        if near_own.break_only(clause.condition):
            continue
        others = [other for other in kept if other is not clause]
        question = [other.condition for other in related(others, [clause.condition], facts)]
        if question and solver.decide([*question, t.not_(clause.condition)]).answer is Answer.UNSATISFIABLE:
            kept = others
    return kept


def joined(clauses: Sequence[Clause]) -> list[Clause]:
    """The clauses with one in place of two:  a <= b and a != b  iff  a < b."""
    found = {clause.condition: clause for clause in clauses}
    for condition in found:
        for a, b in _different(condition):
            less = list(spoken(t.lt(a, b)))
            for no_more in (t.le(a, b), t.lt(t.sub(a, t.ONE), b)):
                if less and no_more in found:
                    found[no_more] = less[0]
                    del found[condition]
                    return joined(list(found.values()))
    return list(found.values())


def _different(condition: Term) -> Iterator[tuple[Term, Term]]:
    """``a`` and ``b``, both ways round, of the condition ``a != b``."""
    if condition.kind is TermKind.NOT and condition.args[0].kind is TermKind.EQ:
        a, b = condition.args[0].args
        yield from ((a, b), (b, a))


def related(clauses: Sequence[Clause], conditions: Iterable[Term], facts: Iterable[Term]) -> list[Clause]:
    """Those of ``clauses`` that may have to do with ``conditions``: joined to them by variables, facts and clauses."""
    if not clauses:
        return []
    reached, before = frozenset[object]().union(*map(_symbols, conditions)), frozenset[object]()
    apart = [_symbols(term) for term in (*facts, *(clause.condition for clause in clauses))]
    while reached != before:
        before = reached
        reached = reached.union(*(symbols for symbols in apart if symbols & reached))
        apart = [symbols for symbols in apart if not symbols <= reached]
    return [clause for clause in clauses if _symbols(clause.condition) & reached]


def _symbols(term: Term) -> frozenset[object]:
    """Variables, and the functions that are applied: equal arguments join what shares no variable."""
    return frozenset(leaf.payload for leaf in term.free)


class _Neighbours:
    """Launches that differ from a known one in the value of one variable, and of those that equal it by a clause."""

    def __init__(self, clauses: Sequence[Term], facts: Iterable[Term], own: Mapping[Term, int]) -> None:
        self._clauses, self._own = clauses, own
        self._about: dict[Term, list[Term]] = {}
        for condition in (*clauses, *facts):
            for leaf in condition.free:
                self._about.setdefault(leaf, []).append(condition)

    def break_only(self, clause: Term) -> bool:
        """Whether one of them breaks ``clause`` and keeps all other clauses and the facts."""
        for variable in sorted(clause.free, key=t.render):
            if variable not in self._own:
                continue
            equal = self._equal(variable, clause)
            touched = dict.fromkeys(condition for leaf in equal for condition in self._about[leaf])
            for value in _near(self._own[variable]):
                if all(_allows(leaf, value) for leaf in equal):
                    launch = _Launch(self._own, dict.fromkeys(equal, value))
                    if not launch.keeps(clause) and all(map(launch.keeps, (c for c in touched if c is not clause))):
                        return True
        return False

    def _equal(self, variable: Term, apart_from: Term) -> list[Term]:
        pairs = [c.args for c in self._clauses if c.kind is TermKind.EQ and c is not apart_from]
        found = [variable]
        for leaf in found:
            for a, b in (each for pair in pairs for each in (pair, pair[::-1])):
                if a is leaf and b.kind is TermKind.VAR and b not in found:
                    found.append(b)
        return found


def _near(value: int) -> Iterator[int]:
    yield from (value - 1, value + 1, 1, 0, 2 * value, 2**31 - 1, -1)


def _allows(variable: Term, value: int) -> bool:
    return (variable.low is None or variable.low <= value) and (variable.high is None or value <= variable.high)


class _Launch:
    """Values of a launch as `evaluate` asks for them; blocks and what else no launch decides are the first."""

    def __init__(self, own: Mapping[Term, int], changed: Mapping[Term, int]) -> None:
        self._own, self._changed = own, changed

    def __getitem__(self, variable: Term) -> int | bool:
        if variable in self._changed:
            return self._changed[variable]
        if variable.sort is Sort.INT and variable.symbol.scope is not Scope.LAUNCH:
            return max(0, variable.low or 0)
        return self._own[variable]

    def keeps(self, condition: Term) -> bool:
        """Whether the condition holds; not if it speaks of what is not known."""
        try:
            return bool(evaluate(condition, self))
        except (KeyError, ZeroDivisionError):
            return False


# ------------------------------------------------------------------------------------------------------ implied clauses
# Clauses of reports compared by the solver: which of two proofs is about more launches.


_GRID: Final = frozenset({"grid.x", "grid.y", "grid.z"})


def implied(clause: str, given: Sequence[str]) -> bool:
    """Whether ``clause`` is proved to hold wherever all of ``given`` do, whatever integers their names stand for.

    Lines of ``given`` that are no conditions say nothing.
    """
    if clause in given:
        return True
    conclusion = _condition(clause)
    premises = [each for each in map(_condition, given) if each is not None]
    if conclusion is None or not _has_value(conclusion):
        return False
    try:
        facts = build_contract(_launch([*premises, Apply("not", (conclusion,))])).facts
    except SpecError:
        return False
    return Solver(facts).decide(()).answer is Answer.UNSATISFIABLE


def _condition(text: str) -> Expression | None:
    try:
        condition = parse_condition(text)
    except SpecError:
        return None
    return None if isinstance(condition, SameArray) else condition


def _has_value(expression: Expression) -> bool:
    """Whether it has a value for all integers: it divides by numbers alone."""
    if not isinstance(expression, Apply) or constant_value(expression) is not None:
        return True
    divides = expression.op == "**" or (OPERATORS[expression.op].divides and not constant_value(expression.args[1]))
    return not divides and all(map(_has_value, expression.args))


def _launch(conditions: Sequence[Expression]) -> LaunchSpec:
    """A launch of these conditions alone: every name but those of the grid is an integer of any sign."""
    names = sorted(set().union(*map(free_names, conditions)) - _GRID)
    new = {name: f"n{number}" for number, name in enumerate(names)}
    spelled = {name: Name(other) for name, other in new.items()}
    return LaunchSpec(
        kernel="",
        name="",
        arguments=tuple(ScalarArgument(each, "i64") for each in new.values()),
        requires=tuple(substitute(each, spelled) for each in conditions),
    )
