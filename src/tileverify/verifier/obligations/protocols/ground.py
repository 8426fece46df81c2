"""Side questions: what a rule about protocols must know of a kernel before it may be used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from ....contract.terms import FALSE, Term, and_
from ..answers import Answer, Decides

Ground: TypeAlias = tuple[Term, ...]
"""Conditions that were shown to contradict what every launch satisfies."""


@dataclass
class Asker:
    """Asks each question once; `grounds` of a certificate's walk ask them again of whoever answers there."""

    decider: Decides
    _known: dict[frozenset[Term], bool] = field(default_factory=dict)

    def refuses(self, *conditions: Term) -> Ground | None:
        """The conditions, if they cannot hold together; an empty ground where that is plain."""
        whole = and_(*conditions)
        if whole is FALSE:
            return ()
        key = frozenset(conditions)
        if key not in self._known:
            self._known[key] = self.decider.decide(conditions).answer is Answer.UNSATISFIABLE
        return conditions if self._known[key] else None

    def refuses_all(self, questions: Iterable[Ground]) -> tuple[Ground, ...] | None:
        """The grounds of all ``questions``; ``None`` as soon as one of them may hold."""
        grounds = []
        for question in questions:
            ground = self.refuses(*question)
            if ground is None:
                return None
            grounds += [ground] if ground else []
        return tuple(grounds)
