"""Invariants of loop-carried integers that have no closed form, by candidates and induction (Houdini).

A candidate is a comparison P(v) of the value with a term that no iteration changes.  It is an invariant if

    base    facts and entered                                        imply  P(init)
    step    facts and handed_on and every candidate of every loop    imply  P(next)

where "every candidate" speaks of all values as they were before.  Candidates that fail are dropped, until none fails:
by induction over the iterations as they are executed, what is left holds whenever an iteration runs.

An invariant is used as

    1 <= time and P(init)  ->  P(v(time))

for each v(time) that a condition mentions.  The premise on ``init`` is there for times that no execution reaches:
``v(time)`` is free there, and with ``init`` for its value it satisfies the implication, so nothing is excluded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from ...contract import terms as t
from ...contract.terms import Function, Scope, Sort, Term, TermKind
from ...frontend.symbolic.summary import LoopValue
from .answers import Answer, Decides

_MOST_BOUNDS: Final = 12
"""Terms that one value is compared with; loops of real kernels have two or three."""

_HERE: Final = t.var("the loop value", Scope.ITERATION)
"""Stands for v in a candidate."""


@dataclass(frozen=True, slots=True)
class LoopInvariants:
    """What was shown of each value, as conditions on `_HERE`."""

    values: Mapping[Function, LoopValue]
    shown: Mapping[Function, tuple[Term, ...]]

    def instances(self, conditions: Iterable[Term]) -> Iterator[Term]:
        """The invariants of all loop values that ``conditions`` mention, and of those that these mention."""
        left, seen = list(conditions), set()
        while left:
            for part in sorted(left.pop().free):
                if part.kind is TermKind.APPLY and part.function in self.shown and part not in seen:
                    seen.add(part)
                    for instance in self._instances(part):
                        left.append(instance)
                        yield instance

    def _instances(self, part: Term) -> Iterator[Term]:
        value = self.values[part.function]
        moved = dict(zip((*value.context, value.iteration, *value.lanes), part.args, strict=True))
        time = moved[value.iteration]
        for candidate in self.shown[part.function]:
            candidate = t.substitute(candidate, moved)
            here, at_start = _about(candidate, value.at(part)), _about(candidate, t.substitute(value.init, moved))
            yield t.implies(t.and_(t.le(t.ONE, time), at_start), here)


def loop_invariants(values: Iterable[LoopValue], mentioned: Iterable[Term], decider: Decides) -> LoopInvariants:
    """Invariants of those of ``values`` that ``mentioned`` terms need, directly or through what they are made of."""
    needed = _needed({value.function: value for value in values}, mentioned)
    candidates = {function: tuple(dict.fromkeys(_candidates(value))) for function, value in needed.items()}
    ask = _Asked(decider)
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

    decider: Decides
    known: dict[frozenset[Term], bool] = field(default_factory=dict)

    def impossible(self, conditions: list[Term]) -> bool:
        if t.FALSE in conditions:
            return True
        key = frozenset(conditions)
        if key not in self.known:
            self.known[key] = self.decider.decide(conditions).answer is Answer.UNSATISFIABLE
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
def _is_inductive(value: LoopValue, candidate: Term, now: LoopInvariants, ask: _Asked) -> bool:
    """Base and step cannot be broken.  All candidates may be assumed of what was there before: values of loops around,
    of loops inside that have ended, and of this one in the iteration before."""
    for reached, handed_over in ((value.entered, value.init), (value.handed_on, value.next)):
        conditions = [reached, t.not_(_about(candidate, handed_over))]
        if not ask.impossible([*conditions, *now.instances(conditions)]):
            return False
    return True


# --------------------------------------------------------------------------------------------- candidates
def _candidates(value: LoopValue) -> Iterator[Term]:
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


def _without_wrap(term: Term) -> Term:
    """Only to find candidates, so nothing is claimed by it."""
    return t.transform(term, lambda part: part.args[0] if part.kind is TermKind.WRAP else None)


def _is(value: LoopValue, summand: Term) -> bool:
    """Whether a summand is v itself, with its choice of the initial value in the first iteration."""
    sides = summand.args[1:] if summand.kind is TermKind.ITE else (summand,)
    return any(side.kind is TermKind.APPLY and side.function == value.function for side in sides)


def _changes(value: LoopValue, term: Term) -> bool:
    return value.iteration in term.free
