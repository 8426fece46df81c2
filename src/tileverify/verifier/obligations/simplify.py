"""The structural tier: questions that need no solver.

Most race questions die here: the tile index *is* the block id.  From ``bid.x = bid.x'`` the copies are unified, and
``bid != bid'`` becomes false.  Nothing is assumed: replacing a variable by one it must equal keeps the solutions, and
so does taking an equation apart, or putting two together (`equations`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...contract import terms as t
from ...contract.terms import Scope, Term, TermKind
from .equations import joined, known_ranges, split
from .two_blocks import OTHER


@dataclass(frozen=True, slots=True)
class Simplified:
    """Equivalent conditions on fewer variables; ``eliminated`` says which variable each missing one is equal to.
    ``joined``: numbers were put together from their digits."""

    conditions: tuple[Term, ...]
    eliminated: Mapping[Term, Term]
    joined: bool = False


def simplify(conditions: Iterable[Term], facts: frozenset[Term] = frozenset()) -> Simplified | None:
    """Equivalent conditions on fewer variables; ``None`` when they contradict each other or a fact outright."""
    current = t.and_(*conditions)
    eliminated: dict[Term, Term] = {}
    of_facts, from_digits = known_ranges(facts), False
    while current is not t.FALSE:
        parts = t.conjuncts(current)
        found = next((pair for pair in map(_unifiable, parts) if pair), None)
        if found is not None:
            eliminated[found[0]] = found[1]
            current = t.substitute(current, {found[0]: found[1]})
            continue
        own = known_ranges(frozenset(parts))
        taken_apart = [split(part, of_facts, own) for part in parts]
        if any(taken_apart):
            current = t.and_(*(each for part, new in zip(parts, taken_apart, strict=True) for each in new or (part,)))
            continue
        present = frozenset(parts)
        put_together = [joined(part, present) for part in parts]
        if not any(put_together):
            if any(t.not_(condition) in facts for condition in parts):
                return None
            return Simplified(parts, eliminated, from_digits)
        from_digits = True
        current = t.and_(*(new or part for part, new in zip(parts, put_together, strict=True)))
    return None


def _unifiable(condition: Term) -> tuple[Term, Term] | None:
    """``(v', v)`` if the condition says just that two variables of one range are equal."""
    if condition.kind is not TermKind.EQ:
        return None
    constant, parts = t.linear_parts(t.sub(*condition.args))
    if constant or len(parts) != 2:
        return None
    (c, v), (d, w) = parts
    if c + d or v.kind is not TermKind.VAR or w.kind is not TermKind.VAR or (v.low, v.high) != (w.low, w.high):
        return None
    scopes = {v.symbol.scope, w.symbol.scope}
    if Scope.LAUNCH in scopes:
        return None
    replaced, kept = (v, w) if len(v.symbol.name) > len(w.symbol.name) else (w, v)
    if Scope.BLOCK in scopes and replaced.symbol.name != kept.symbol.name + OTHER:
        # ``bid.y' = bid.x`` must keep ``bid.y' < grid.y``, which stands among the facts.
        return None
    return replaced, kept
