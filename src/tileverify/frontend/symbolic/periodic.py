"""Carried values that come back to what they were: rotating buffers, stages, toggles, cursors that start over.

    s(k + 1) = next(s(k))  and  s(p + P) = s(p)   =>   s(k) = s(p + (k - p) mod P)  for all k >= p

where s is the state of some values whose ``next`` looks at nothing but them.  The states are computed one by one, as
terms; two are equal if they are the same terms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ...contract.terms import Sort, Term, TermKind, add, const, eq, floormod, ite, linear_parts, postorder, scale, sub

_MOST_STATES: Final = 34
"""Enough for the powers of two of an i32."""
_MOST_SYMBOLIC_STATES: Final = 8
"""Terms of choices grow with their number; constants do not matter so much."""
_MOST_NODES: Final = 200

State = tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Cycle:
    """The states before it starts, and those that repeat for ever."""

    before: tuple[State, ...]
    repeating: tuple[State, ...]

    def value(self, position: int, time: Term) -> Term:
        """The value at ``position`` of the state when iteration ``time`` begins."""
        since = sub(time, const(len(self.before)))
        value = _periodic([state[position] for state in self.repeating], since)
        for number, state in reversed(list(enumerate(self.before))):
            value = ite(eq(time, const(number)), state[position], value)
        return value


def find_cycle(start: State, step: Callable[[State], State]) -> Cycle | None:
    """The cycle that ``start`` leads into, if it is short."""
    states: dict[State, int] = {}
    state = start
    while state not in states:
        constant = all(value.kind is TermKind.CONST for value in state)
        if len(states) >= (_MOST_STATES if constant else _MOST_SYMBOLIC_STATES) or _size(state) > _MOST_NODES:
            return None
        states[state] = len(states)
        state = step(state)
    found = list(states)
    return Cycle(tuple(found[: states[state]]), tuple(found[states[state] :]))


def _periodic(values: Sequence[Term], since: Term) -> Term:
    """``values[since mod n]``; an arithmetic progression is one product."""
    phase = floormod(since, const(len(values)))
    first, *later = values
    if all(value is first for value in later):
        return first
    distance = linear_parts(sub(later[0], first)) if first.sort is Sort.INT else (0, ((1, first),))
    if not distance[1] and all(v is add(first, const(i * distance[0])) for i, v in enumerate(values)):
        return add(first, scale(distance[0], phase))
    *others, result = values
    for number, value in reversed(list(enumerate(others))):
        result = ite(eq(phase, const(number)), value, result)
    return result


def closed_groups(needs: Mapping[Term, frozenset[Term]]) -> list[tuple[Term, ...]]:
    """Values with all that they need, directly or not, smallest groups first; ``needs`` has what each looks at.

    A value that needs one that is not in ``needs`` is in no group.
    """
    groups: dict[tuple[Term, ...], None] = {}
    for value in needs:
        group, left = {value}, [value]
        while left:
            for needed in needs.get(left.pop(), frozenset()) - group:
                group.add(needed)
                left.append(needed)
        if group <= needs.keys():
            groups[tuple(sorted(group))] = None
    return sorted(groups, key=len)


def _size(state: State) -> int:
    return len({part for value in state for part in postorder(value)})
