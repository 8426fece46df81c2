"""Tokens: which instances of which sites an operation certainly waits for.

A token maps a site's number to the condition under which an instance of that site is awaited.  The condition speaks of
the awaited instance through ``earlier(k)`` for every loop around it, and of the waiting context through its own
variables.  It is a *must* set: an instance is in it only if it certainly is awaited, so leaving one out is safe (a
false alarm at worst) and adding one is not.  While a loop's body is examined, the tokens it carries appear as `Carried`
keys (see `carried_tokens`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from typing import Final, TypeAlias

from ...contract.terms import (
    FALSE,
    TRUE,
    ZERO,
    Term,
    TermKind,
    add,
    and_,
    assuming,
    conjuncts,
    const,
    eq,
    ite,
    le,
    linear_parts,
    literals,
    lt,
    not_,
    or_,
    sub,
    substitute,
    transform,
)
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
_KNOWN: Final = 1 << 14
"""Cached answers: conditions share their parts, and many tokens have the same ones."""


@lru_cache(_KNOWN)
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


@lru_cache(_KNOWN)
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


# ------------------------------------------------------------------------------------------------------- carried tokens
# What the tokens that a loop carries wait for, as functions of the iteration number.
#
# With ``T_j(k)`` the token j when iteration k begins and ``next[j]`` its value when iteration k ends (over `Carried`
# keys), ``T_j(0) = init[j]`` and ``T_j(k+1) = next[j](k)``.  `CarriedTokens.at` gives ``L_j`` with ``L_j(t)`` included
# in ``T_j(t)`` for every ``t >= 0`` that is reached.


_MINUS_ONE = const(-1)
_LARGEST: Final = 100
"""Different parts of a condition, behind which no further round is taken."""


def previous_to(time: Term) -> Term:
    """The iteration before ``time``."""
    return add(time, _MINUS_ONE)


@dataclass(frozen=True, slots=True)
class CarriedLoop:
    """The loop as far as its tokens matter.

    ``number`` and ``positions`` make up its `Carried` keys: token j is carried value ``positions[j]``.  ``inside``: the
    sites whose instances belong to an iteration of this loop.  ``outer``: iteration variables of the loops around it.
    """

    number: int
    iteration: Term
    positions: tuple[int, ...]
    inside: frozenset[int]
    outer: tuple[Term, ...] = ()


class CarriedTokens:
    """Solves the carried tokens of one loop together.

    A token that holds itself unconditionally (*accumulating*) awaits ``init[j]`` and, for every ``k' < t``, all that
    ``next[j](k')`` added: two witnesses are tried for k', ``t - 1`` and, for a site of this loop, the iteration of the
    instance, ``earlier(k)``.  Any other token awaits ``init[j]`` for ``t = 0`` and ``next[j](t - 1)`` for ``t > 0``.
    A carried key inside ``next[j]`` is replaced by what is already known of that token, starting from nothing: by
    induction over the rounds every ``L`` stays included in its ``T``.  A round never knows less than the one before,
    so what comes out is inductive as it stands, and whoever reads it can check that by itself.

    What a token holds only by way of others (cuTile's "last store" takes over "last access", or stays itself) does not
    show that way.  Therefore every token is also tried with all that the accumulating ones hold: a guess is kept if it
    holds of ``init`` and if, with all guesses in place of the carried tokens, ``next`` holds it for ``k + 1``.
    """

    def __init__(self, loop: CarriedLoop, inits: Sequence[Token], nexts: Sequence[Token]) -> None:
        self.loop = loop
        self.inits = tuple(inits)
        self.nexts = tuple(nexts)
        self._added = self._solve()
        self._guesses = self._proved_guesses()
        self._now = self.at(loop.iteration)

    def at(self, time: Term) -> tuple[Token, ...]:
        """``L_j(time)`` for every j; ``time`` is the iteration variable, or the trip count behind the loop."""
        k = self.loop.iteration
        return tuple(
            join([self._one(j, time), self._guesses[j].map(lambda term: substitute(term, {k: time}))])
            for j in range(len(self.inits))
        )

    def settle(self, token: Token) -> Token:
        """``token`` of the current iteration with this loop's carried tokens replaced by what is known of them."""
        return _expanded(token, {self._key(j): now for j, now in enumerate(self._now)})

    def left_by_exhaustion(self, trips: Term) -> tuple[Token, ...]:
        """The tokens behind a `for` that made ``trips`` iterations: each instance inside has ``earlier(k) < trips``."""
        known = lt(earlier(self.loop.iteration), trips)

        def behind(key: Key, condition: Term) -> Term:
            condition = taken_for_granted(condition, known, self.loop.outer)
            return self._where_it_ran(condition, trips) if key in self.loop.inside else condition

        return tuple(token.map_items(behind) for token in self.at(trips))

    def _where_it_ran(self, condition: Term, trips: Term) -> Term:
        """``condition`` on an instance inside, with what its existence says.

        If the instance belongs to the same iteration of all loops around, then ``trips`` is not 0.  So where it is 0,
        the condition may be widened, on those instances, by what it would be otherwise.
        """
        none = eq(trips, ZERO)
        without = assuming(condition, literals(none))
        otherwise = assuming(condition, literals(not_(none)))
        if without is otherwise:
            return condition
        same = {earlier(k): k for k in self.loop.outer}
        together = and_(*(eq(instance, k) for instance, k in same.items()), substitute(otherwise, same))
        return ite(none, weaken(without, together), otherwise)

    # -------------------------------------------------------------------------------------------- solving
    def _key(self, j: int) -> Carried:
        return Carried(self.loop.number, self.loop.positions[j])

    def _accumulates(self, j: int) -> bool:
        return self.nexts[j].awaits.get(self._key(j)) is TRUE

    def _solve(self) -> list[Token]:
        """What ``next[j]`` adds in the current iteration, with carried tokens resolved as far as they are known.

        Every round may look one iteration further back, so it ends where conditions grow too large: fewer rounds know
        less, which is safe.
        """
        self._added = [self._resolved(j, [EMPTY] * len(self.inits)) for j in range(len(self.inits))]
        for _ in self.inits:
            known = [self._one(j, self.loop.iteration) for j in range(len(self.inits))]
            better = [self._resolved(j, known) for j in range(len(self.inits))]
            if better == self._added or any(map(_is_large, better)):
                break
            self._added = better
        return self._added

    def _resolved(self, j: int, known: Sequence[Token]) -> Token:
        """``next[j]`` with the carried tokens replaced; an accumulating one leaves itself out."""
        values = {self._key(i): token for i, token in enumerate(known)}
        if self._accumulates(j):
            values[self._key(j)] = EMPTY
        return _expanded(self.nexts[j], values)

    def _one(self, j: int, time: Term) -> Token:
        init, added = self.inits[j], self._added[j]
        if self._accumulates(j):
            seen: dict[tuple[bool, Term], Term] = {}  # most sites are awaited under one and the same condition
            past: dict[Key, Term] = {}
            for key, condition in added.awaits.items():
                inside = key in self.loop.inside
                if (inside, condition) not in seen:
                    seen[inside, condition] = self._earlier_than(inside, condition, time)
                past[key] = seen[inside, condition]
            return join([init, Token({key: term for key, term in past.items() if term is not FALSE})])
        awaits = {
            key: self._after(init.awaits.get(key, FALSE), added.awaits.get(key, FALSE), time)
            for key in dict.fromkeys([*init.awaits, *added.awaits])
        }
        return Token({key: term for key, term in awaits.items() if term is not FALSE})

    def _after(self, before: Term, last: Term, time: Term) -> Term:
        """``before`` at time 0, then ``last`` of the iteration before; one term where that gives ``before`` anyway."""
        after = substitute(last, {self.loop.iteration: previous_to(time)})
        if substitute(last, {self.loop.iteration: _MINUS_ONE}) is before:
            return after
        return ite(eq(time, ZERO), before, after)

    def _earlier_than(self, inside: bool, condition: Term, time: Term) -> Term:
        """Some ``k' < time`` satisfies ``condition``, by either of the two witnesses.

        Which one tells more depends on the case, so each has its own; where a case speaks of k, but not of the
        instance being of this iteration, it has both.  So of a condition is never known less than of a part of it.
        """
        k, instance = self.loop.iteration, earlier(self.loop.iteration)
        found = FALSE
        for case in _cases(condition, k):
            same = eq(instance, k) in _parts(case)
            if inside and k in case.free:
                found = weaken(found, and_(substitute(case, {k: instance}), lt(instance, time)))
            if not (inside and same):
                found = weaken(found, self._after(FALSE, case, time))
        return found

    # -------------------------------------------------------------------------------------------- guessing
    def _proved_guesses(self) -> list[Token]:
        k = self.loop.iteration
        known = [self._one(j, k) for j in range(len(self.inits))]
        most = join(known[j] for j in range(len(self.inits)) if self._accumulates(j))
        guesses = [
            {} if self._accumulates(j) else {
                key: condition
                for key, condition in most.awaits.items()
                if not entails(condition, known[j].awaits.get(key, FALSE))
            }
            for j in range(len(self.inits))
        ]  # fmt: skip
        later = {k: add(k, const(1))}
        while True:
            assumed = [join([known[j], Token(guess)]) for j, guess in enumerate(guesses)]
            refuted = [
                (j, key)
                for j, guess in enumerate(guesses)
                if guess
                for step in [_expanded(self.nexts[j], {self._key(i): token for i, token in enumerate(assumed)})]
                for key, condition in guess.items()
                if not entails(substitute(condition, {k: ZERO}), self.inits[j].awaits.get(key, FALSE))
                or not entails(substitute(condition, later), step.awaits.get(key, FALSE))
            ]
            if not refuted:
                return [Token(guess) for guess in guesses]
            for j, key in refuted:
                del guesses[j][key]


def _is_large(token: Token) -> bool:
    """Whether one of its conditions has more than `_LARGEST` different parts."""
    for condition in token.awaits.values():
        seen, left = {condition}, [condition]
        while left and len(seen) <= _LARGEST:
            new = set(left.pop().args) - seen
            seen |= new
            left += new
        if len(seen) > _LARGEST:
            return True
    return False


def _cases(condition: Term, k: Term) -> Iterator[Term]:
    """Conditions without a choice that depends on ``k``, of which one holds where ``condition`` does."""
    parts = _parts(condition)
    choice = next((p for p in parts if p.kind in (TermKind.OR, TermKind.ITE) and k in p.free), None)
    if choice is None:
        yield condition
        return
    if choice.kind is TermKind.OR:
        sides = choice.args
    else:
        test, then, otherwise = choice.args
        sides = and_(test, then), and_(not_(test), otherwise)
    rest = and_(*(part for part in parts if part is not choice))
    for side in sides:
        yield from _cases(and_(rest, side), k)


def _parts(condition: Term) -> tuple[Term, ...]:
    return condition.args if condition.kind is TermKind.AND else (condition,)


def _expanded(token: Token, values: Mapping[Carried, Token]) -> Token:
    """``token`` with carried keys replaced by what they hold."""
    plain = {key: condition for key, condition in token.awaits.items() if key not in values}
    return join(
        [Token(plain)] + [guarded(token.awaits[key], value) for key, value in values.items() if key in token.awaits]
    )


def left_by_break(token: Token, loop: CarriedLoop, last: Term) -> Token:
    """A break operand seen from behind the `loop` that ended in iteration ``last``.

    Every instance inside has ``earlier(k) <= last``.
    """
    k = loop.iteration
    known = le(earlier(k), k)
    return token.map(lambda term: substitute(taken_for_granted(term, known, loop.outer), {k: last}))


def taken_for_granted(condition: Term, known: Term, outer: Sequence[Term]) -> Term:
    """``condition`` without ``known``, which holds of every instance of the same iteration of the loops around.

    It is dropped only where the condition itself asks for that same iteration.
    """
    same = {eq(earlier(k), k) for k in outer}
    if condition.kind is TermKind.ITE:
        test, *sides = condition.args
        then, otherwise = (taken_for_granted(side, known, outer) for side in sides)
        return ite(test, then, otherwise)
    if condition.kind is TermKind.OR:
        return reduce(weaken, (taken_for_granted(part, known, outer) for part in condition.args))
    asked = set(condition.args if condition.kind is TermKind.AND else (condition,))
    return transform(condition, {known: TRUE}.get) if same <= asked else condition
