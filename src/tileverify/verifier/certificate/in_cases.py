"""A script that the second solver does not answer, asked case by case: by remainders, then by small factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .remainders import remainder_cases
from .scripts import Script
from .second_solver import Opinion, SecondSolver
from .small_factors import LARGEST, any_other, factors, with_number

PART: Final = 10
"""A first look, and each case, may take one of so many parts of the limit."""

_PATIENCE: Final = 12
"""Scripts without an answer before a search among factors ends."""


def contradicted_in_cases(script: Script, solver: SecondSolver) -> bool:
    """Whether every case of a split of ``script`` that leaves nothing out is a contradiction."""
    remainders = remainder_cases(script.text)
    if remainders and all(solver.opinion(each, part=PART) is Opinion.CONTRADICTION for each in remainders):
        return True
    return script.exact and _ByFactors(solver).contradicted(script.text)


@dataclass
class _ByFactors:
    solver: SecondSolver
    unanswered: int = 0

    def contradicted(self, script: str) -> bool:
        """By the first factor that is a small number: what else multiplies may be known only in its cases."""
        for factor in factors(script):
            if self._is_contradiction(any_other(script, factor)):
                return all(self._case(with_number(script, factor, value)) for value in range(LARGEST + 1))
            if self.unanswered >= _PATIENCE:
                return False
        return False

    def _case(self, script: str) -> bool:
        return self._is_contradiction(script) or (self.unanswered < _PATIENCE and self.contradicted(script))

    def _is_contradiction(self, script: str) -> bool:
        opinion = self.solver.opinion(script, part=PART)
        self.unanswered += opinion is Opinion.NONE
        return opinion is Opinion.CONTRADICTION
