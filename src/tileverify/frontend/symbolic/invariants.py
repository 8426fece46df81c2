"""Loop-carried values without a closed form: invariants (an interval and a residue), and values that come back.

Both are inductive: they hold of the initial value, and if they hold of all carried values when an iteration begins,
they hold of what it hands on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import TYPE_CHECKING, Final

from ...contract.terms import (
    Function,
    Scope,
    Sort,
    Term,
    TermKind,
    add,
    const,
    eq,
    floormod,
    ite,
    linear_parts,
    postorder,
    scale,
    sub,
    transform,
    var,
)

if TYPE_CHECKING:
    from .recurrences import Recurrence

_ROUNDS: Final = 4


@dataclass(frozen=True, slots=True)
class Invariant:
    """``low <= v <= high`` and ``v = rest (mod modulus)``."""

    low: int | None = None
    high: int | None = None
    modulus: int = 1
    rest: int = 0

    def suffix(self, function: Function) -> str:
        """What tells a function with this invariant from one that may be anything of the type of ``function``."""
        parts = ""
        if (self.low, self.high) != (function.low, function.high):
            parts += f".{self.low}..{self.high}"
        if self.modulus != 1:
            parts += f".{self.rest}mod{self.modulus}"
        return parts


def invariants(waiting: Mapping[Term, Recurrence], resolve: Callable[[Term], Term]) -> dict[Function, Invariant]:
    """What is known of the values in ``waiting``; ``resolve`` puts in the closed forms of the others."""
    steps = {stand_in: resolve(item.next) for stand_in, item in waiting.items()}
    ranges = _ranges(waiting, steps)
    found = {}
    for stand_in, item in waiting.items():
        modulus, rest = (1, 0) if stand_in.sort is Sort.BOOL else _residue(stand_in, item.init, steps[stand_in])
        found[stand_in.function] = Invariant(*ranges[stand_in], modulus, rest)
    return found


# ------------------------------------------------------------------------------------------------ intervals
def _ranges(
    waiting: Mapping[Term, Recurrence], steps: Mapping[Term, Term]
) -> dict[Term, tuple[int | None, int | None]]:
    """Intervals that the initial values lie in and that no iteration leaves.

    Starting from the initial values, the intervals grow until they stand still; a side that keeps growing goes to
    the bound of its type.  The result is checked by one more iteration that must not change it.
    """
    limits = {stand_in: (stand_in.low, stand_in.high) for stand_in in waiting}
    ranges = {stand_in: (item.init.low, item.init.high) for stand_in, item in waiting.items()}
    for attempt in range(_ROUNDS):
        grown = _grown(ranges, steps, limits)
        if grown == ranges:
            return ranges
        if attempt >= 1:
            grown = {
                stand_in: (
                    ranges[stand_in][0] if low == ranges[stand_in][0] else limits[stand_in][0],
                    ranges[stand_in][1] if high == ranges[stand_in][1] else limits[stand_in][1],
                )
                for stand_in, (low, high) in grown.items()
            }
        ranges = grown
    return ranges if _grown(ranges, steps, limits) == ranges else limits


def _grown(
    ranges: Mapping[Term, tuple[int | None, int | None]],
    steps: Mapping[Term, Term],
    limits: Mapping[Term, tuple[int | None, int | None]],
) -> dict[Term, tuple[int | None, int | None]]:
    """The hull of ``ranges`` and of what one iteration makes of values in them; every value stays in its type."""
    within = {stand_in.function: ranges[stand_in] for stand_in in ranges if stand_in.sort is Sort.INT}

    def leaf(part: Term) -> Term | None:
        """A value of the range; each lane has its own."""
        if part.kind is not TermKind.APPLY or part.function not in within:
            return None
        return var(f"in {part.digest.hex()}", Scope.ITERATION, *within[part.function])

    memo: dict[Term, Term] = {}
    result = {}
    for stand_in, (low, high) in ranges.items():
        after = transform(steps[stand_in], leaf, memo)
        least, most = limits[stand_in]
        result[stand_in] = (_lower(low, after.low, least), _upper(high, after.high, most))
    return result


def _lower(a: int | None, b: int | None, limit: int | None) -> int | None:
    if a is None or b is None:
        return limit
    return min(a, b) if limit is None else max(min(a, b), limit)


def _upper(a: int | None, b: int | None, limit: int | None) -> int | None:
    if a is None or b is None:
        return limit
    return max(a, b) if limit is None else min(max(a, b), limit)


# ------------------------------------------------------------------------------------------------- residues
def _residue(stand_in: Term, init: Term, step: Term) -> tuple[int, int]:
    """(m, r) with ``v = r (mod m)`` in every iteration."""
    modulus = _stride(stand_in, init, step)
    if init.kind is not TermKind.CONST:
        modulus = gcd(modulus, content(init))
    if modulus <= 1:
        return 1, 0
    return modulus, init.value % modulus if init.kind is TermKind.CONST else 0


def _stride(stand_in: Term, init: Term, step: Term) -> int:
    """g with ``step = v (mod g)`` or ``step = init (mod g)``, so that v stays congruent to ``init``; 0: equal to it."""
    choices: set[Term] = set()  # what the step chooses between
    stack = [step]
    while stack:
        part = stack.pop()
        if part not in choices:
            choices.add(part)
            stack.extend(
                part.args[1:] if part.kind is TermKind.ITE else part.args if part.kind is TermKind.WRAP else ()
            )
    found: dict[Term, int] = {}
    for part in postorder(step):
        if part not in choices:
            continue
        if part is stand_in:
            found[part] = 0
        elif part.kind is TermKind.ITE:
            found[part] = gcd(*(found[side] for side in part.args[1:]))
        elif part.kind is TermKind.WRAP:
            found[part] = gcd(found[part.args[0]], 1 << part.payload)
        else:
            relative, absolute = content(sub(part, stand_in)), content(sub(part, init))
            found[part] = 0 if relative == 0 or absolute == 0 else max(relative, absolute)
    return found[step]


def content(term: Term) -> int:
    """A number that divides every value of ``term``; 0 if it is 0."""
    found: dict[Term, int] = {}
    for part in postorder(term):
        found[part] = _content(part, found) if part.sort is Sort.INT else 1
    return found[term]


def _content(term: Term, found: Mapping[Term, int]) -> int:
    match term.kind:
        case TermKind.CONST:
            return abs(term.value)
        case TermKind.SUM:
            constant, summands = linear_parts(term)
            return gcd(constant, *(c * found[part] for c, part in summands))
        case TermKind.PRODUCT:
            return prod(found[factor] for factor in term.args)
        case TermKind.ITE:
            return gcd(*(found[side] for side in term.args[1:]))
        case TermKind.WRAP:
            return gcd(found[term.args[0]], 1 << term.payload)
        case _:
            return 1


# ------------------------------------------------------------------------------------------------------------- periodic
# Carried values that come back to what they were: rotating buffers, stages, toggles, cursors that start over.
#
#     s(k + 1) = next(s(k))  and  s(p + P) = s(p)   =>   s(k) = s(p + (k - p) mod P)  for all k >= p
#
# where s is the state of some values whose ``next`` looks at nothing but them.  The states are computed one by one, as
# terms; two are equal if they are the same terms.


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
