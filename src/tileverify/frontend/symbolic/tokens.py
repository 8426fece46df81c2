"""Tokens: which instances of which sites an operation certainly waits for.

A token maps a site's number to the condition under which an instance of that site is awaited.  The condition speaks of
the awaited instance through ``earlier(k)`` for every loop around it, and of the waiting context through its own
variables.  It is a *must* set: an instance is in it only if it certainly is awaited, so leaving one out is safe (a
false alarm at worst) and adding one is not.  While a loop's body is examined, the tokens it carries appear as `Carried`
keys (see `carried_tokens`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ...contract.terms import FALSE, TRUE, Term, TermKind, and_, conjuncts, eq, ite, linear_parts, or_, sub
from .summary import earlier


@dataclass(frozen=True, slots=True)
class Carried:
    """The token that loop ``loop`` carries at position ``index``, as it is when an iteration begins."""

    loop: int
    index: int


Key: TypeAlias = int | Carried


@dataclass(frozen=True, slots=True)
class Token:
    """Sites (and, inside an unfinished loop, carried tokens) with the condition under which they are awaited."""

    awaits: Mapping[Key, Term] = field(default_factory=dict)

    def map(self, change: Callable[[Term], Term]) -> Token:
        """Every condition changed; those that become false leave."""
        return self.map_items(lambda _, condition: change(condition))

    def map_items(self, change: Callable[[Key, Term], Term]) -> Token:
        """The same, for changes that depend on who is awaited."""
        changed = ((key, change(key, condition)) for key, condition in self.awaits.items())
        return Token({key: condition for key, condition in changed if condition is not FALSE})


EMPTY = Token()


def join(tokens: Iterable[Token]) -> Token:
    """What all of ``tokens`` together wait for."""
    awaits: dict[Key, Term] = {}
    for token in tokens:
        for key, condition in token.awaits.items():
            awaits[key] = weaken(awaits[key], condition) if key in awaits else condition
    return Token(awaits)


def either_way(condition: Term, then: Token, otherwise: Token) -> Token:
    """``then`` where ``condition`` holds, else ``otherwise``."""
    if then.awaits == otherwise.awaits:
        return then
    keys = dict.fromkeys([*then.awaits, *otherwise.awaits])
    merged = ((key, ite(condition, then.awaits.get(key, FALSE), otherwise.awaits.get(key, FALSE))) for key in keys)
    return Token({key: term for key, term in merged if term is not FALSE})


def own(site: int, iterations: Iterable[Term]) -> Token:
    """The instance of ``site`` in the current iteration of every loop around it."""
    return Token({site: and_(*(eq(earlier(k), k) for k in iterations))})


def guarded(guard: Term, token: Token) -> Token:
    """``token`` where ``guard`` holds, else a token that waits for nothing."""
    return token.map(lambda term: and_(guard, term))


# ------------------------------------------------------------------------------------- implication, syntactic
def weaken(a: Term, b: Term) -> Term:
    """``a or b``, shorter where one visibly implies the other or both have parts in common."""
    for part in _disjuncts(a):
        merged = _merged(part, b)
        if merged is not None:
            return merged if part is a else weaken(or_(*(p for p in a.args if p is not part)), merged)
    return weaken(b, a) if b.kind is TermKind.OR and a.kind is not TermKind.OR else or_(a, b)


def _merged(a: Term, b: Term) -> Term | None:
    """``a or b`` in one piece, if there is one."""
    if entails(a, b):
        return b
    if entails(b, a):
        return a
    mine, other = conjuncts(a), conjuncts(b)
    common = [part for part in mine if part in other]
    if common:
        rest = weaken(and_(*(p for p in mine if p not in common)), and_(*(p for p in other if p not in common)))
        return and_(*common, rest)
    united = or_(a, b)
    return None if united.kind is TermKind.OR else united


def _disjuncts(condition: Term) -> tuple[Term, ...]:
    return condition.args if condition.kind is TermKind.OR else (condition,)


def entails(a: Term, b: Term) -> bool:
    """Whether ``a`` visibly implies ``b``; False means "not seen"."""
    if a is b or b is TRUE or a is FALSE:
        return True
    if a.kind is TermKind.OR:
        return all(entails(part, b) for part in a.args)
    if b.kind is TermKind.AND:
        return all(entails(a, part) for part in b.args)
    if b.kind is TermKind.OR and any(entails(a, part) for part in b.args):
        return True
    if a.kind is TermKind.AND:
        return any(entails(part, b) for part in a.args)
    return _entails_order(a, b)


def _entails_order(a: Term, b: Term) -> bool:
    """The same for two comparisons of integers, through the constant difference of their sides."""
    if b.kind not in (TermKind.LT, TermKind.LE) or a.kind not in (TermKind.LT, TermKind.LE, TermKind.EQ):
        return False
    # a: slack_a >= least_a (EQ: either sign, = 0); b: slack_b >= least_b.
    slack = sub(b.args[1], b.args[0])
    least = 1 if b.kind is TermKind.LT else 0
    for x, y in (a.args, a.args[::-1]) if a.kind is TermKind.EQ else (a.args,):
        gap, parts = linear_parts(sub(slack, sub(y, x)))
        if not parts and gap + (1 if a.kind is TermKind.LT else 0) >= least:
            return True
    return False
