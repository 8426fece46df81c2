"""Which clauses of a contract say nothing that the others do not say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...contract import terms as t
from ...contract.terms import Scope, Sort, Term, TermKind
from ...contract.terms.evaluate import evaluate
from ..obligations.answers import Answer, Decides
from .clauses import Clause, spoken


def without_implied(
    clauses: Sequence[Clause], facts: Sequence[Term], solver: Decides, own: Mapping[Term, int]
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
