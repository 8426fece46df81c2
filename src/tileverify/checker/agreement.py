"""Whether what is said is what the bytecode does, where a condition holds.

In this order, the first that decides:

1. the two terms are one term: constructors bring sums, comparisons and choices into one form;
2. they are one after conditions that the path settles are put in their places;
3. a solver finds no numbers for which they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from ..contract.terms import (
    FALSE,
    TRUE,
    Sort,
    Term,
    TermKind,
    and_,
    assuming,
    iff,
    le,
    literals,
    lt,
    ne,
    not_,
    or_,
    postorder,
    substitute,
)
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
        for case in _not_seen(Implied(given, wanted, tuple(facts))):
            self.impossible((case.given, *(or_(not_(if_), then) for if_, then in case.facts), not_(case.wanted)), what)

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


@dataclass(frozen=True, slots=True)
class Implied:
    """``wanted`` is to follow from ``given`` and ``facts``: (if, then)."""

    given: Term
    wanted: Term
    facts: tuple[tuple[Term, Term], ...]

    @property
    def seen(self) -> bool:
        """Whether ``wanted`` becomes true when what is known is put in its places."""
        known = literals(self.given)
        for if_, then in self.facts:
            if assuming(if_, known) is TRUE:
                known |= literals(then)
        return self.given is self.wanted or assuming(self.wanted, known) is TRUE

    def at(self, variable: Term, value: Term) -> Implied:
        change = {variable: value}
        facts = tuple((substitute(if_, change), substitute(then, change)) for if_, then in self.facts)
        return Implied(substitute(self.given, change), substitute(self.wanted, change), facts)


def _not_seen(whole: Implied) -> Iterator[Implied]:
    """The cases that terms alone do not show: of a choice, and of an iteration that is the other one or before it."""
    given = whole.given
    if given.kind is TermKind.OR:
        cases = [replace(whole, given=part) for part in given.args]
    elif given.kind is TermKind.ITE:
        test, then, otherwise = given.args
        cases = [replace(whole, given=and_(test, then)), replace(whole, given=and_(not_(test), otherwise))]
    elif given is FALSE or whole.seen:
        return
    elif (pair := _not_after(whole)) is not None:
        before = (part for part in given.args if part is not le(*pair))
        cases = [whole.at(*pair), replace(whole, given=and_(lt(*pair), *before))]
    else:
        yield whole
        return
    for case in cases:
        yield from _not_seen(case)


def _not_after(whole: Implied) -> tuple[Term, Term] | None:
    """Two variables of which the first is given to be at most the second, where both matter."""
    for part in whole.given.args if whole.given.kind is TermKind.AND else ():
        if part.kind is TermKind.LE and all(arg.kind is TermKind.VAR and arg in whole.wanted.free for arg in part.args):
            first, second = part.args
            return first, second
    return None
