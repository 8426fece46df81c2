"""A row of the table for each kernel under each launch; none depends on when, where or how often it was made.

What took too long may: rows of what time alone stopped are made again, and repairs are looked for within a limit on the
processor's time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from typing import Final, Protocol

from .. import GatedKernel, GateResult
from .candidates import Task

_PASSING: Final = ("time_ms", "cached")
"""Keys of a JSON line that differ between two runs."""


@dataclass(frozen=True, slots=True, order=True)
class AnswerRow:
    """``file`` and ``position`` (of the kernel among the answers of the file) are the key; ``document`` is the line of
    ``tileverify gate`` without times; ``codes``, ``reasons`` and ``hints``: ids, separated by spaces."""

    file: str
    position: int
    submission_sha256: str
    kernel: str
    launch: str
    verdict: str
    accepted: int
    codes: str
    reasons: str
    hints: str
    bytecode_sha256: str
    document: str


COLUMNS: Final = tuple(field.name for field in fields(AnswerRow))
INTEGERS: Final = ("position", "accepted")

values = astuple


def rows(task: Task, result: GateResult) -> tuple[AnswerRow, ...]:
    """The rows of one submission."""
    return tuple(_row(task, position, kernel) for position, kernel in enumerate(result.kernels))


def _row(task: Task, position: int, kernel: GatedKernel) -> AnswerRow:
    document = {key: value for key, value in kernel.to_json().items() if key not in _PASSING}
    result = kernel.result
    return AnswerRow(
        file=task.submission.file,
        position=position,
        submission_sha256=task.sha256,
        kernel=result.kernel,
        launch=result.launch,
        verdict=kernel.verdict,
        accepted=int(kernel.accepted),
        codes=" ".join(dict.fromkeys(finding.code for finding in result.findings)),
        reasons=" ".join(dict.fromkeys(reason.id for reason in kernel.reasons)),
        hints=" ".join(dict.fromkeys(hint.id for finding in result.findings for hint in finding.hints)),
        bytecode_sha256=result.bytecode_sha256,
        document=json.dumps(document, allow_nan=False),
    )


@dataclass(frozen=True, slots=True)
class Counts:
    """Answers, and how many of them are accepted."""

    kernels: int = 0
    accepted: int = 0


class AnswerTable(Protocol):
    """Answers that are kept: what `add` took is there after any end of this process."""

    def seed(self) -> int:
        """Of the inputs of trials: drawn once, so that a run that was ended goes on with the same ones."""

    def known(self) -> dict[str, str]:
        """``file -> submission_sha256`` of the submissions that have an answer, and not because time was up."""

    def add(self, answers: tuple[AnswerRow, ...]) -> None:
        """All rows of one submission, in place of those that it had."""

    def keep_only(self, files: frozenset[str]) -> None:
        """Leave out rows of other files."""

    def read(self) -> Iterator[AnswerRow]:
        """All rows, by file and position."""

    def counts(self) -> Counts:
        """Over all rows."""

    def finish(self) -> None:
        """The run is complete."""

    def close(self) -> None:
        """The run ends, complete or not."""
