"""Invariants of loop-carried integers that have no closed form, by candidates and induction (Houdini).

A candidate is a condition P(k, v) on the value v when iteration k begins.  It is an invariant if

    base    facts and entered                                        imply  P(0, init)
    step    facts and handed_on and every candidate of every loop    imply  P(k + 1, next)

where "every candidate" speaks of all values as they were before.  Candidates that fail are dropped, until none fails:
by induction over the iterations as they are executed, what is left holds whenever an iteration runs.

An invariant is used as

    1 <= time and P(time, init)  ->  P(time, v(time))

for each v(time) that a condition mentions.  The premise on ``init`` is there for times that no execution reaches:
``v(time)`` is free there, and with ``init`` for its value it satisfies the implication, so nothing is excluded.

A value that is the same in all blocks (`carried_alike`) is free only at times that *no* block reaches.  So what is said
of it must be the same condition in all blocks: the block that reaches a time has shown it for the others.

Candidates are

    comparisons of v with terms that no iteration changes
    v <= init + c*k                 no sum over iterations is large: c = BIG // n for a loop of at most n iterations
    (v - init) % d = 0              a stride: next is v plus multiples of d, wherever its wraps are left out

For the last, the step asks instead that the wraps of ``next`` change nothing: facts, handed_on and every candidate
imply next = v + sum(d * m_i), from which P(k + 1, next) follows, as v - init is a multiple of d and so is the sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import gcd
from typing import Final

from ...contract import terms as t
from ...contract.terms import Function, Scope, Sort, Term, TermKind
from ...contract.terms.launch_wide import is_launch_wide
from ...frontend.symbolic.summary import LoopValue
from .answers import Answer, SolverProtocol
from .simplify import known_ranges

_MOST_BOUNDS: Final = 12
"""Terms that one value is compared with; loops of real kernels have two or three."""

_BIG: Final = 1 << 30
"""Far enough inside 32 bits to add another tile count."""

FARTHEST: Final = 1
"""How far `LoopInvariants.instances` leads from what it is asked about.  What a loop inside left, and the loop around
hands on, is said in terms of the round before, that in terms of the one before it, and so on without end."""

_HERE: Final = t.var("the loop value", Scope.ITERATION)
"""Stands for v in a candidate."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """``condition`` on `_HERE` and the iteration; ``plain``: what ``next`` has to be for that to be handed on, where
    another condition than its own shows that."""

    condition: Term
    plain: Term | None = None

    def at(self, iteration: Term, time: Term, value: Term) -> Term:
        """The condition on ``value`` when iteration ``time`` begins."""
        return t.substitute(self.condition, {_HERE: value, iteration: time})


@dataclass(frozen=True, slots=True)
class LoopInvariants:
    """What was shown of each value."""

    values: Mapping[Function, LoopValue]
    shown: Mapping[Function, tuple[Candidate, ...]]

    def instances(self, conditions: Iterable[Term]) -> Iterator[Term]:
        """The invariants of all loop values that ``conditions`` mention, and of those that these mention."""
        left, seen = [(condition, 0) for condition in conditions], set()
        while left:
            term, distance = left.pop()
            for part in sorted(term.free):
                if part.kind is TermKind.APPLY and part.function in self.shown and part not in seen:
                    seen.add(part)
                    for instance in self._instances(part):
                        if distance < FARTHEST:
                            left.append((instance, distance + 1))
                        yield instance

    def _instances(self, part: Term) -> Iterator[Term]:
        value = self.values[part.function]
        moved = dict(zip((*value.context, value.iteration, *value.lanes), part.args, strict=True))
        time = moved[value.iteration]
        for candidate in self.shown[part.function]:
            condition = t.substitute(candidate.condition, moved)
            here, at_start = _about(condition, value.at(part)), _about(condition, t.substitute(value.init, moved))
            yield t.implies(t.and_(t.le(t.ONE, time), at_start), here)


def loop_invariants(values: Iterable[LoopValue], mentioned: Iterable[Term], solver: SolverProtocol) -> LoopInvariants:
    """Invariants of those of ``values`` that ``mentioned`` terms need, directly or through what they are made of."""
    needed = _needed({value.function: value for value in values}, mentioned)
    candidates = {function: tuple(dict.fromkeys(_candidates(value))) for function, value in needed.items()}
    ask = _Asked(solver)
    while True:
        now = LoopInvariants(needed, candidates)
        kept = {
            function: tuple(each for each in shown if _is_inductive(needed[function], each, now, ask))
            for function, shown in candidates.items()
        }
        if kept == candidates:
            return LoopInvariants(needed, {function: shown for function, shown in kept.items() if shown})
        candidates = kept


@dataclass
class _Asked:
    """Asks each question once; in the next round most are the same."""

    solver: SolverProtocol
    known: dict[frozenset[Term], bool] = field(default_factory=dict)

    def impossible(self, conditions: list[Term]) -> bool:
        if t.FALSE in conditions:
            return True
        key = frozenset(conditions)
        if key not in self.known:
            self.known[key] = self.solver.decide(conditions).answer is Answer.UNSATISFIABLE
        return self.known[key]


def _needed(values: Mapping[Function, LoopValue], mentioned: Iterable[Term]) -> dict[Function, LoopValue]:
    found: dict[Function, LoopValue] = {}
    left = list(mentioned)
    while left:
        for part in sorted(left.pop().free):
            if part.kind is TermKind.APPLY and part.function in values and part.function not in found:
                value = found[part.function] = values[part.function]
                left += [value.init, value.next, value.handed_on]
    return found


def _about(candidate: Term, value: Term) -> Term:
    return t.substitute(candidate, {_HERE: value})


# ---------------------------------------------------------------------------------------------- induction
def _is_inductive(value: LoopValue, candidate: Candidate, now: LoopInvariants, ask: _Asked) -> bool:
    """Base and step cannot be broken.  All candidates may be assumed of what was there before: values of loops around,
    of loops inside that have ended, and of this one in the iteration before."""
    base = candidate.at(value.iteration, t.ZERO, value.init)
    step = (
        candidate.at(value.iteration, t.add(value.iteration, t.ONE), value.next)
        if candidate.plain is None
        else t.eq(value.next, candidate.plain)
    )
    for reached, handed_over in ((value.entered, base), (value.handed_on, step)):
        conditions = [reached, t.not_(handed_over)]
        if not ask.impossible([*conditions, *now.instances(conditions)]):
            return False
    return True


# --------------------------------------------------------------------------------------------- candidates
def _candidates(value: LoopValue) -> Iterator[Candidate]:
    shared = value.function.scope is Scope.LAUNCH
    return (each for each in _proposed(value) if not shared or _said_by_all(value, each.condition))


def _said_by_all(value: LoopValue, condition: Term) -> bool:
    """Whether ``condition`` is one of the launch, the value and its iterations."""
    own = {_HERE, value.iteration, *value.context}
    return all(part in own or is_launch_wide(part) for part in condition.free)


def _proposed(value: LoopValue) -> Iterator[Candidate]:
    yield from map(Candidate, _comparisons(value))
    steps = _steps(value)
    if steps is not None:
        yield from _small_sums(value)
        if value.modulus == 1:  # else the executor knows a stride
            yield from _strides(value, *steps)


def _comparisons(value: LoopValue) -> Iterator[Term]:
    """Comparisons with 0, with the initial value, and with what the loop compares the value with."""
    limits = [t.ZERO, value.init, *_compared_with(value)]
    for limit in list(dict.fromkeys(limits))[:_MOST_BOUNDS]:
        yield t.le(limit, _HERE)
        yield t.le(_HERE, limit)
        yield t.lt(_HERE, limit)
        yield t.lt(limit, _HERE)
    yield from (t.le(_HERE, t.add(limit, t.ONE)) for limit in list(dict.fromkeys(limits))[:_MOST_BOUNDS])


def _compared_with(value: LoopValue) -> Iterator[Term]:
    """Terms w, the same in every iteration, with a comparison of ``v + w'`` and ``w''`` where ``w = w'' - w'``."""
    for condition in (value.handed_on, value.next):
        for part in t.postorder(condition):
            if part.kind in (TermKind.LE, TermKind.LT, TermKind.EQ) and part.args[0].sort is Sort.INT:
                difference = t.sub(*(_without_wrap(side) for side in part.args))
                summands = t.linear_parts(difference)[1]
                own = [(c, s) for c, s in summands if _is(value, s)]
                if len(own) != 1 or abs(own[0][0]) != 1:
                    continue
                sign = own[0][0]
                rest = t.sub(difference, t.scale(sign, own[0][1]))
                if not _changes(value, rest):
                    yield t.scale(-sign, rest)


def _steps(value: LoopValue) -> tuple[Term, list[Term]] | None:
    """``next`` without the wraps around its sums, and what it may add to v; ``None`` where it is no v + ..."""
    plain = _plain(value, value.next)
    added = []
    for choice in _choices(value, plain):
        own = [s for c, s in t.linear_parts(choice)[1] if c == 1 and _is(value, s)]
        if len(own) != 1:
            return None
        added.append(t.sub(choice, own[0]))
    return plain, added


def _plain(value: LoopValue, term: Term) -> Term:
    if term.kind is TermKind.WRAP:
        return _plain(value, term.args[0])
    if term.kind is TermKind.ITE and not _is(value, term):
        condition, then, otherwise = term.args
        return t.ite(condition, _plain(value, then), _plain(value, otherwise))
    if term.kind is TermKind.SUM:
        constant, summands = t.linear_parts(term)
        return t.add(t.const(constant), *(t.scale(c, _plain(value, s)) for c, s in summands))
    return term


def _choices(value: LoopValue, term: Term) -> Iterator[Term]:
    if term.kind is TermKind.ITE and not _is(value, term):
        yield from _choices(value, term.args[1])
        yield from _choices(value, term.args[2])
    else:
        yield term


def _small_sums(value: LoopValue) -> Iterator[Candidate]:
    """What a loop of at most n iterations adds up stays small, if each iteration adds no more than its share."""
    reached = value.handed_on
    conditions = frozenset(reached.args if reached.kind is TermKind.AND else (reached,))
    last = known_ranges(conditions).get(value.iteration, (None, value.iteration.high))[1]
    if last is not None and 0 < last + 1 <= _BIG:
        yield Candidate(t.le(_HERE, t.add(value.init, t.scale(_BIG // (last + 1), value.iteration))))


def _strides(value: LoopValue, plain: Term, added: Iterable[Term]) -> Iterator[Candidate]:
    """The largest divisor, the same in every iteration, of all that is added."""
    number, common = 0, None
    for step in added:
        constant, summands = t.linear_parts(step)
        number = gcd(number, constant, *(c for c, _ in summands))
        for _, summand in summands:
            factors = summand.args if summand.kind is TermKind.PRODUCT else (summand,)
            steady = {factor for factor in factors if not _changes(value, factor)}
            common = steady if common is None else common & steady
        if constant:
            common = set()
    divisor = t.scale(number, t.product(sorted(common or ())))
    if divisor.low is not None and divisor.low >= 1 and divisor is not t.ONE:
        yield Candidate(t.eq(t.floormod(t.sub(_HERE, value.init), divisor), t.ZERO), plain)


def _without_wrap(term: Term) -> Term:
    """Only to find candidates, so nothing is claimed by it."""
    return t.transform(term, lambda part: part.args[0] if part.kind is TermKind.WRAP else None)


def _is(value: LoopValue, summand: Term) -> bool:
    """Whether a summand is v itself, with its choice of the initial value in the first iteration."""
    sides = summand.args[1:] if summand.kind is TermKind.ITE else (summand,)
    return any(
        side is value.at(part)
        for side in sides
        for part in side.free
        if part.kind is TermKind.APPLY and part.function == value.function
    )


def _changes(value: LoopValue, term: Term) -> bool:
    return value.iteration in term.free
