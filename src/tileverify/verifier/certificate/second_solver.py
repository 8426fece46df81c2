"""cvc5, the second opinion: another code base, other people, the same questions."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from ...system.errors import UsageError

LIMIT: Final = 2_000_000
"""cvc5's resource units for one script; seconds never decide."""


class Opinion(enum.Enum):
    CONTRADICTION = "unsat"
    MODEL = "sat"
    NONE = "unknown"


@dataclass(frozen=True, slots=True)
class SecondSolver:
    """Reads SMT-LIB scripts; ``limit`` holds for each of them."""

    limit: int = LIMIT

    def __post_init__(self) -> None:
        """Raises `UsageError` where cvc5 is not installed."""
        try:
            import cvc5  # noqa: F401
        except ImportError:
            raise UsageError(
                "recheck needs a second solver: install cvc5 with pip install 'tileverify[recheck]'"
            ) from None

    @property
    def version(self) -> str:
        import cvc5

        return f"cvc5 {cvc5.__version__}"

    def opinion(self, script: str, *, part: int = 1) -> Opinion:
        """Whether the assertions of ``script`` can hold together; ``part``: the limit is divided by so much."""
        import cvc5

        solver = cvc5.Solver(cvc5.TermManager())
        solver.setOption("rlimit-per", str(max(self.limit // part, 1)))
        parser = cvc5.InputParser(solver)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, "question")
        symbols = parser.getSymbolManager()
        while not (command := parser.nextCommand()).isNull():
            if answer := command.invoke(solver, symbols):
                raise AssertionError(f"cvc5 refuses a script: {answer}")
        result = solver.checkSat()
        if result.isUnsat():
            return Opinion.CONTRADICTION
        return Opinion.MODEL if result.isSat() else Opinion.NONE
