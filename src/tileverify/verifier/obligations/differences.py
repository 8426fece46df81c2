"""Contradictions between bounds and differences, found without a solver.

Every comparison is read as ``u - v <= w`` with terms u and v that are taken as they come, and a number w; u or v may
be nothing.  What follows from a chain of them contradicts itself where it ends where it began:

    t1 - t2 <= w1, t2 - t3 <= w2, ..., tn - t1 <= wn   and   w1 + ... + wn < 0

In-bounds checks are of this kind: ``tiles <= bid.x`` against ``bid.x < grid.x`` and ``grid.x <= tiles``.  Bounds of
sums come from those of their summands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from math import gcd
from typing import Final, NamedTuple

from ...contract import terms as t
from ...contract.terms import Term, TermKind

MOST_EDGES: Final = 120
"""Comparisons up to which a question is looked at here."""
ROUNDS: Final = 4
"""Passes over all comparisons; bounds that lower each other step by step would take for ever."""
MOST_CASES: Final = 8
"""Combinations of alternatives that are tried."""


class _Edge(NamedTuple):
    """``left - right <= most``; zero stands for nothing."""

    left: Term
    right: Term
    most: int


class Differences:
    """Facts, as far as they are bounds and differences, and what they refute."""

    def __init__(self, facts: Iterable[Term]) -> None:
        self._about: dict[Term, dict[_Edge, None]] = {}
        self._unread = list(facts)
        self._edges: dict[Term, list[_Edge]] = {}  # of comparisons that were asked about

    def assume(self, facts: Iterable[Term]) -> None:
        self._unread += facts

    def _read(self) -> None:
        for fact in self._unread:
            for edge in _edges(fact):
                for node in edge[:2]:
                    for part in (node, *_summands(node)):
                        if part is not t.ZERO:
                            self._about.setdefault(part, {})[edge] = None
        self._unread.clear()

    def copy(self) -> Differences:
        """The same, for further facts of their own."""
        other = Differences(self._unread)
        other._about = {node: dict(edges) for node, edges in self._about.items()}
        other._edges = self._edges
        return other

    def _edges_of(self, condition: Term) -> list[_Edge]:
        found = self._edges.get(condition)
        if found is None:
            found = self._edges[condition] = list(_edges(condition))
        return found

    def refute(self, conditions: Iterable[Term]) -> bool:
        """Whether the conditions contradict the facts, or each other; False means "not seen"."""
        parts = t.conjuncts(*conditions)
        plain = [edge for part in parts for edge in self._edges_of(part)]
        choices: list[list[list[_Edge]]] = []
        cases = 1
        for ways in filter(None, map(_alternatives, sorted(parts, key=lambda part: part.kind is not TermKind.OR))):
            if cases * len(ways) <= MOST_CASES:
                cases *= len(ways)
                choices.append([self._edges_of(way) for way in ways])
        return all(self._contradict([*plain, *(edge for way in case for edge in way)]) for case in product(*choices))

    def _contradict(self, asked: list[_Edge]) -> bool:
        edges = self._with_facts(asked)
        if len(edges) > MOST_EDGES:
            return False
        bounds = _Bounds(edges)
        return bounds.contradict() or _cycle([*edges, *bounds.edges()])

    def _with_facts(self, asked: Iterable[_Edge]) -> list[_Edge]:
        """What is asked, and the facts that have to do with it."""
        self._read()
        found = dict.fromkeys(asked)
        reached: set[Term] = set()
        queue = list(found)
        while queue and len(found) <= MOST_EDGES:
            edge = queue.pop()
            for node in edge[:2]:
                for part in (node, *_summands(node)):
                    if part is not t.ZERO and part not in reached:
                        reached.add(part)
                        fresh = [each for each in self._about.get(part, ()) if each not in found]
                        found.update(dict.fromkeys(fresh))
                        queue += fresh
        return list(found)


def _alternatives(condition: Term) -> tuple[Term, ...]:
    """Conditions of which one holds, if ``condition`` is a choice, as that of a size is: ``0 if N == 0 else 4*N``."""
    if condition.kind is TermKind.OR:
        return condition.args
    chosen = next((side for side in condition.args if side.kind is TermKind.ITE), None)
    if chosen is None or condition.kind not in (TermKind.LT, TermKind.LE):
        return ()
    compare = t.lt if condition.kind is TermKind.LT else t.le
    decides, *ways = chosen.args
    then, otherwise = (compare(*(way if side is chosen else side for side in condition.args)) for way in ways)
    return t.and_(decides, then), t.and_(t.not_(decides), otherwise)


def equations(conditions: Iterable[Term]) -> Iterator[Term]:
    """What follows from two opposite comparisons: bytes of two elements overlap where their places are equal.

        4*x < 4*y + 4  and  4*y < 4*x + 4   iff   x = y

    That is, ``u - v <= w`` and ``v - u <= -w`` with all coefficients divided by what divides them.
    """
    edges = dict.fromkeys(edge for condition in conditions for edge in _edges(condition))
    for left, right, most in edges:
        if left < right and _Edge(right, left, -most) in edges:
            yield t.eq(left, t.add(right, t.const(most)))


def _edges(condition: Term) -> Iterator[_Edge]:
    match condition.kind:
        case TermKind.AND:
            for part in condition.args:
                yield from _edges(part)
        case TermKind.LE | TermKind.LT:
            a, b = condition.args
            yield from _difference(a, b, -1 if condition.kind is TermKind.LT else 0)
        case TermKind.EQ:
            a, b = condition.args
            yield from _difference(a, b, 0)
            yield from _difference(b, a, 0)


def _difference(a: Term, b: Term, most: int) -> Iterator[_Edge]:
    """``a - b <= most``, divided by what divides all coefficients."""
    constant, parts = t.linear_parts(t.sub(a, b))
    if parts:
        divisor = gcd(*(c for c, _ in parts))
        left = t.from_linear(0, {term: c // divisor for c, term in parts if c > 0})
        right = t.from_linear(0, {term: -c // divisor for c, term in parts if c < 0})
        yield _Edge(left, right, (most - constant) // divisor)


def _summands(node: Term) -> tuple[Term, ...]:
    return node.args if node.kind is TermKind.SUM else ()


class _Bounds:
    """The least and largest values of the terms in some comparisons."""

    def __init__(self, edges: list[_Edge]) -> None:
        self._edges = edges
        nodes = dict.fromkeys(part for edge in edges for node in edge[:2] for part in (*_summands(node), node))
        self._low: dict[Term, int | None] = {node: node.low for node in nodes}
        self._high: dict[Term, int | None] = {node: node.high for node in nodes}
        self._low[t.ZERO] = self._high[t.ZERO] = 0
        self._sums = [node for node in nodes if node.kind is TermKind.SUM]
        self._impossible = False
        for _ in range(ROUNDS):
            if self._impossible or not self._spread():
                break

    def contradict(self) -> bool:
        """Whether a term has no value left."""
        return self._impossible

    def edges(self) -> Iterator[_Edge]:
        """The bounds as comparisons."""
        for node, high in self._high.items():
            if high is not None and node is not t.ZERO:
                yield _Edge(node, t.ZERO, high)
        for node, low in self._low.items():
            if low is not None and node is not t.ZERO:
                yield _Edge(t.ZERO, node, -low)

    def _spread(self) -> bool:
        changed = False
        for left, right, most in self._edges:
            high, low = self._high[right], self._low[left]
            if high is not None:
                changed |= self._at_most(left, high + most)
            if low is not None:
                changed |= self._at_least(right, low - most)
        for node in self._sums:
            constant, coefficients = node.payload
            least: int | None = constant
            largest: int | None = constant
            for c, part in zip(coefficients, node.args, strict=True):
                lows, highs = (self._low, self._high) if c > 0 else (self._high, self._low)
                first, second = lows[part], highs[part]
                least = None if least is None or first is None else least + c * first
                largest = None if largest is None or second is None else largest + c * second
            if largest is not None:
                changed |= self._at_most(node, largest)
            if least is not None:
                changed |= self._at_least(node, least)
        return changed

    def _at_most(self, node: Term, value: int) -> bool:
        known, low = self._high[node], self._low[node]
        if known is not None and known <= value:
            return False
        self._high[node] = value
        self._impossible |= low is not None and value < low
        return True

    def _at_least(self, node: Term, value: int) -> bool:
        known, high = self._low[node], self._high[node]
        if known is not None and known >= value:
            return False
        self._low[node] = value
        self._impossible |= high is not None and high < value
        return True


def _cycle(edges: list[_Edge]) -> bool:
    """Whether differences add up to less than nothing around a cycle (Bellman and Ford)."""
    distance = {node: 0 for edge in edges for node in edge[:2]}
    for _ in range(len(distance)):
        changed = False
        for left, right, most in edges:
            if distance[right] + most < distance[left]:
                distance[left] = distance[right] + most
                changed = True
        if not changed:
            return False
    return bool(distance)
