"""The two-block reduction: renamed copies of the variables of a block, an iteration or a lane."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ...contract import terms as t
from ...contract.terms import Scope, Term, TermKind

PRIME = "'"
"""Marks the second copy's variables."""


class CopyLevel(enum.StrEnum):
    """The kind of the second copy."""

    NONE = ""  # no second copy
    BLOCK = "block"  # a second tile block: shares only launch variables
    INSTANCE = "instance"  # another dynamic instance in the same block: shares block ids and the block's data
    LANE = "lane"  # another lane of the same instance


_FRESH = {
    CopyLevel.BLOCK: frozenset({Scope.BLOCK, Scope.ITERATION, Scope.LANE}),
    CopyLevel.INSTANCE: frozenset({Scope.ITERATION, Scope.LANE}),
    CopyLevel.LANE: frozenset({Scope.LANE}),
}


@dataclass
class PrimedCopy:
    """Renames the variables of ``level`` and below by appending ``mark``."""

    level: CopyLevel
    mark: str
    _memo: dict[Term, Term] = field(default_factory=dict)

    def __call__(self, term: Term) -> Term:
        return t.transform(term, self._rename, self._memo)

    def _rename(self, term: Term) -> Term | None:
        fresh = _FRESH[self.level]
        if term.kind is TermKind.VAR and term.symbol.scope in fresh:
            symbol = replace(term.symbol, name=term.symbol.name + self.mark)
            return t.var(symbol.name, symbol.scope, symbol.low, symbol.high, symbol.sort)
        if term.kind is TermKind.APPLY and term.function.scope in fresh:
            return t.apply(replace(term.function, name=term.function.name + self.mark), *term.args)
        return None


Renaming = Callable[[Term], Term]
