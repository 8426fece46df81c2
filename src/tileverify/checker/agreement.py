"""Whether what is said is what the bytecode does, where a condition holds.

In this order, the first that decides:

1. the two terms are one term: constructors bring sums, comparisons and choices into one form;
2. they are one after conditions that the path settles are put in their places;
3. a solver finds no numbers for which they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from ..contract.terms import FALSE, TRUE, Sort, Term, TermKind, and_, assuming, iff, literals, ne, not_, or_, postorder
from ..contract.terms.bits import OPERATIONS
from .checked_values import Misread, NotFollowed

Refutes: TypeAlias = Callable[[Sequence[Term]], bool | None]
"""Whether conditions exclude each other; ``None``: nobody knows."""


class Comparing:
    """Questions under a path; ``asked``: how many a solver had to answer."""

    def __init__(self, refutes: Refutes) -> None:
        self._refutes = refutes
        self._answers: dict[tuple[Term, ...], bool | None] = {}
        self.asked = 0

    def same(self, path: Term, done: Term, said: Term, what: str) -> None:
        """``done``, what the bytecode does, and ``said`` are equal where ``path`` holds."""
        if done is said or path is FALSE:
            return
        if done.sort is not said.sort:
            raise Misread(f"{what}: a condition is called a number, or a number a condition")
        known = literals(path)
        first, second = assuming(done, known), assuming(said, known)
        if first is second:
            return
        differ = not_(iff(first, second)) if first.sort is Sort.BOOL else ne(first, second)
        self.impossible((path, differ), f"{what} is not what is said of it")

    def follows(self, given: Term, wanted: Term, what: str, facts: Iterable[tuple[Term, Term]] = ()) -> None:
        """``wanted`` holds wherever ``given`` does.  ``facts``: (if, then), true of all that is spoken of."""
        facts = tuple(facts)
        for case in _cases(given):
            if not _seen(case, wanted, facts):
                self.impossible((case, *(or_(not_(if_), then) for if_, then in facts), not_(wanted)), what)

    def impossible(self, conditions: Sequence[Term], what: str) -> None:
        """No numbers satisfy ``conditions``; raises `Misread` where some do, `NotFollowed` where nobody knows."""
        whole = and_(*conditions)
        if whole is FALSE:
            return
        key = whole.args if whole.kind is TermKind.AND else (whole,)
        if key not in self._answers:
            self.asked += 1
            self._answers[key] = self._refutes(key)
        if self._answers[key] is None or (not self._answers[key] and _leaves_open(whole)):
            raise NotFollowed(f"{what}, or it cannot be told")
        if not self._answers[key]:
            raise Misread(what)


_FOUND_IN_LOOPS: Final = ("trips", "last", "loop", "overflow")


def _leaves_open(condition: Term) -> bool:
    """Whether numbers that satisfy it may be none of any run: symbols of loops mean more than a question says of them,
    and operations on bits are functions of which a solver is told nothing."""
    return any(
        part.kind in OPERATIONS or (part.kind is TermKind.APPLY and part.function.name.startswith(_FOUND_IN_LOOPS))
        for part in postorder(condition)
    )


def _cases(condition: Term) -> Iterator[Term]:
    if condition.kind is TermKind.OR:
        for part in condition.args:
            yield from _cases(part)
    elif condition.kind is TermKind.ITE:
        test, then, otherwise = condition.args
        yield from _cases(and_(test, then))
        yield from _cases(and_(not_(test), otherwise))
    elif condition is not FALSE:
        yield condition


def _seen(given: Term, wanted: Term, facts: Sequence[tuple[Term, Term]]) -> bool:
    """Whether ``wanted`` becomes true when what is known is put in its places."""
    known = literals(given)
    for if_, then in facts:
        if assuming(if_, known) is TRUE:
            known |= literals(then)
    return given is wanted or assuming(wanted, known) is TRUE
