"""Tokens: which instances of which sites an operation certainly waits for.

A token maps a site's number to the condition under which an instance of that site is awaited.  The condition speaks of
the awaited instance through ``earlier(k)`` for every loop around it, and of the waiting context through its own
variables.  It is a *must* set: an instance is in it only if it certainly is awaited, so leaving one out is safe (a
false alarm at worst) and adding one is not.  While a loop's body is examined, the tokens it carries appear as `Carried`
keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from .summary import earlier
from .terms import (
    FALSE,
    TRUE,
    ZERO,
    Kind,
    Term,
    add,
    and_,
    const,
    eq,
    ite,
    le,
    linear_parts,
    lt,
    or_,
    sub,
    substitute,
    transform,
)


@dataclass(frozen=True, slots=True)
class Carried:
    """The token that loop ``loop`` carries at position ``index``, as it is when an iteration begins."""

    loop: int
    index: int


Key: TypeAlias = int | Carried

_MINUS_ONE = const(-1)


def previous_to(time: Term) -> Term:
    """The iteration before ``time``."""
    return add(time, _MINUS_ONE)


@dataclass(frozen=True, slots=True)
class Token:
    """Sites (and, inside an unfinished loop, carried tokens) with the condition under which they are awaited."""

    awaits: Mapping[Key, Term] = field(default_factory=dict)

    def map(self, change: Callable[[Term], Term]) -> Token:
        """Every condition changed; those that become false leave."""
        changed = ((key, change(condition)) for key, condition in self.awaits.items())
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


# ------------------------------------------------------------------------------------- implication, syntactic
def weaken(a: Term, b: Term) -> Term:
    """``a or b``; where one visibly implies the other, the weaker one alone."""
    if entails(a, b):
        return b
    if entails(b, a):
        return a
    return or_(a, b)


def entails(a: Term, b: Term) -> bool:
    """Whether ``a`` visibly implies ``b``; False means "not seen"."""
    if a is b or b is TRUE or a is FALSE:
        return True
    if a.kind is Kind.OR:
        return all(entails(part, b) for part in a.args)
    if b.kind is Kind.AND:
        return all(entails(a, part) for part in b.args)
    if b.kind is Kind.OR and any(entails(a, part) for part in b.args):
        return True
    if a.kind is Kind.AND:
        return any(entails(part, b) for part in a.args)
    return _entails_order(a, b)


def _entails_order(a: Term, b: Term) -> bool:
    """The same for two comparisons of integers, through the constant difference of their sides."""
    if b.kind not in (Kind.LT, Kind.LE) or a.kind not in (Kind.LT, Kind.LE, Kind.EQ):
        return False
    # a: slack_a >= least_a (EQ: either sign, = 0); b: slack_b >= least_b.
    slack = sub(b.args[1], b.args[0])
    least = 1 if b.kind is Kind.LT else 0
    for x, y in (a.args, a.args[::-1]) if a.kind is Kind.EQ else (a.args,):
        gap, parts = linear_parts(sub(slack, sub(y, x)))
        if not parts and gap + (1 if a.kind is Kind.LT else 0) >= least:
            return True
    return False


# -------------------------------------------------------------------------------------- loop-carried tokens
@dataclass(frozen=True, slots=True)
class CarriedTokens:
    """The tokens that one loop carries, as functions of the iteration number.

    With ``T_j(k)`` the token j when iteration k begins and ``next[j]`` its value when iteration k ends (over `Carried`
    keys), ``T_j(0) = init[j]`` and ``T_j(k+1) = next[j](k)``.  `at` gives ``L_j`` with ``L_j(t)`` included in
    ``T_j(t)`` for every ``t >= 0`` that is reached:

    * *accumulating* (``next[j]`` holds token j itself unconditionally): ``T_j(t)`` holds ``init[j]`` and, for every
      ``k' < t``, all that ``next[j](k')`` added.  For a site of this loop that is added for the instance of the same
      iteration the witness k' is ``earlier(k)``; otherwise ``t - 1`` is one.
    * else: ``init[j]`` for ``t = 0`` and ``next[j](t - 1)`` for ``t > 0``.

    A carried key inside ``next[j]`` is replaced by what is already known of that token, starting from nothing: by
    induction over the rounds every ``L`` stays included in its ``T``.
    """

    loop: int
    iteration: Term
    inits: tuple[Token, ...]
    nexts: tuple[Token, ...]
    inside: frozenset[int]
    """The sites whose instances belong to an iteration of this loop."""

    positions: tuple[int, ...]
    """The position of each token among the loop's carried values: ``Carried.index``."""

    def at(self, time: Term) -> tuple[Token, ...]:
        """``L_j(time)`` for every j; ``time`` is the iteration variable, or the trip count behind the loop."""
        added = self._added()
        return tuple(self._one(j, added[j], time) for j in range(len(self.inits)))

    def _accumulates(self, j: int) -> bool:
        return self.nexts[j].awaits.get(Carried(self.loop, self.positions[j])) is TRUE

    def _added(self) -> list[Token]:
        """What ``next[j]`` adds in the current iteration, with carried tokens resolved as far as they are known."""
        count = len(self.inits)
        added = [self._resolve(j, [EMPTY] * count) for j in range(count)]
        for _ in range(count):
            known = [self._one(j, added[j], self.iteration) for j in range(count)]
            better = [self._resolve(j, known) for j in range(count)]
            if better == added:
                break
            added = better
        return added

    def _resolve(self, j: int, known: list[Token]) -> Token:
        parts = []
        for key, condition in self.nexts[j].awaits.items():
            if not isinstance(key, Carried) or key.loop != self.loop:
                parts.append(Token({key: condition}))
            elif key.index != self.positions[j] or not self._accumulates(j):
                parts.append(_guarded(condition, known[self.positions.index(key.index)]))
        return join(parts)

    def _one(self, j: int, added: Token, time: Term) -> Token:
        first = eq(time, ZERO)
        init = self.inits[j]
        if self._accumulates(j):
            seen: dict[tuple[bool, Term], Term] = {}  # most sites are awaited under one and the same condition
            past: dict[Key, Term] = {}
            for key, condition in added.awaits.items():
                inside = key in self.inside
                if (inside, condition) not in seen:
                    seen[inside, condition] = self._earlier_than(inside, condition, time)
                past[key] = seen[inside, condition]
            return join([init, Token({key: term for key, term in past.items() if term is not FALSE})])
        awaits: dict[Key, Term] = {}
        for key in dict.fromkeys([*init.awaits, *added.awaits]):
            before = init.awaits.get(key, FALSE)
            last = added.awaits.get(key, FALSE)
            after = substitute(last, {self.iteration: previous_to(time)})
            holds_at_start = substitute(last, {self.iteration: _MINUS_ONE})
            awaits[key] = after if holds_at_start is before else ite(first, before, after)
        return Token({key: term for key, term in awaits.items() if term is not FALSE})

    def _earlier_than(self, inside: bool, condition: Term, time: Term) -> Term:
        """Some ``k' < time`` satisfies ``condition``, by one of the two witnesses."""
        if inside:
            instance = earlier(self.iteration)
            same = eq(instance, self.iteration)
            if condition is same or (condition.kind is Kind.AND and same in condition.args):
                return and_(substitute(condition, {self.iteration: instance}), lt(instance, time))
        previous = substitute(condition, {self.iteration: previous_to(time)})
        if substitute(condition, {self.iteration: _MINUS_ONE}) is FALSE:
            return previous
        return ite(eq(time, ZERO), FALSE, previous)

    def settle(self, token: Token) -> Token:
        """``token`` of the current iteration with this loop's carried tokens replaced by what is known of them."""
        now = self.at(self.iteration)
        parts = []
        for key, condition in token.awaits.items():
            if isinstance(key, Carried) and key.loop == self.loop:
                parts.append(_guarded(condition, now[self.positions.index(key.index)]))
            else:
                parts.append(Token({key: condition}))
        return join(parts)

    def left_by_exhaustion(self, trips: Term) -> tuple[Token, ...]:
        """The tokens behind a `for` that made ``trips`` iterations: each instance inside has ``earlier(k) < trips``."""
        certain = {lt(earlier(self.iteration), trips): TRUE}
        return tuple(token.map(lambda term: replace(term, certain)) for token in self.at(trips))


def _guarded(guard: Term, token: Token) -> Token:
    return token.map(lambda term: and_(guard, term))


def left_by_break(token: Token, iteration: Term, last: Term) -> Token:
    """A break operand seen from behind the `loop` that ended in iteration ``last``.

    Every instance inside has ``earlier(k) <= last``.
    """
    certain = {le(earlier(iteration), iteration): TRUE}
    return token.map(lambda term: substitute(replace(term, certain), {iteration: last}))


def replace(term: Term, known: Mapping[Term, Term]) -> Term:
    """``term`` with the given subterms replaced."""
    return transform(term, known.get)
