"""The corpus' labels: one for each launch, with the reason why it is right by the memory model."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, TypedDict

from ..results import Verdict
from ..system.errors import SpecError

ROOT: Final = Path(__file__).parent
"""The folder of the corpus."""

TRITON: Final = ROOT / "triton"
"""The folder of Triton kernels, which need the extra `triton`."""

SPEC_SUFFIX: Final = ".tileverify.toml"
LABEL_SUFFIX: Final = ".labels.toml"
KERNEL_SUFFIXES: Final = (".py", ".cu", ".tileirbc")

_REQUIRED: Final = ("kernel", "launch", "verdict", "reason")
_OPTIONAL: Final = ("code", "also", "needs", "adds", "limits", "lacks", "some", "warnings")
_LABELLED_VERDICTS: Final = (Verdict.PROVED, Verdict.REFUTED, Verdict.UNDECIDED)


@dataclass(frozen=True, slots=True)
class Labelled:
    """One launch of one kernel and its true verdict.

    ``code`` is the finding that a refuted or undecided launch must have, ``also`` are others that hold of it as well.
    ``adds`` are the clauses that the tool must find itself, on open parts of the contract, and ``limits`` the limits on
    sizes, because some launches of the contract are wrong.  ``some``: of a refuted contract, that other launches are
    right; ``lacks`` are the clauses that leave those, which the tool must name.
    ``warnings`` are the codes of those findings that leave the proof a proof.
    ``needs`` names a capability without which no tool can confirm the label: until it exists, ``undecided`` is right.
    """

    file: Path
    kernel: str
    launch: str
    verdict: Verdict
    reason: str
    code: str | None = None
    also: tuple[str, ...] = ()
    needs: str | None = None
    adds: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    some: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """Where in the corpus the kernel stands: ``showcase``, ``racy``, ..."""
        return self.file.parent.name

    @property
    def id(self) -> str:
        """``racy/half_block.py::copy_to_half[any-size]``."""
        return f"{self.folder}/{self.file.name}::{self.kernel}[{self.launch}]"

    @property
    def acceptable(self) -> frozenset[Verdict]:
        """The verdicts that a sound tool may give today."""
        return frozenset({self.verdict, Verdict.UNDECIDED}) if self.needs else frozenset({self.verdict})

    @property
    def codes(self) -> frozenset[str]:
        """All codes that are true of the launch."""
        return frozenset(self.also) | ({self.code} if self.code else set())


def corpus_launches(root: Path = ROOT) -> list[Labelled]:
    """All labelled launches below ``root``, ordered by file and then as the label files list them.

    Triton's are those of ``corpus_launches(TRITON)`` alone: who reads the whole corpus need not have the extra.

    Raises `SpecError` for a label file that lacks a field, has an unknown one, or has no kernel beside it.
    """
    files = sorted(file for file in root.rglob(f"*{LABEL_SUFFIX}") if root == TRITON or file.parent != TRITON)
    return [label for file in files for label in _labels_of(file)]


def _labels_of(file: Path) -> tuple[Labelled, ...]:
    stem = file.name.removesuffix(LABEL_SUFFIX)
    kernels = [path for suffix in KERNEL_SUFFIXES if (path := file.with_name(stem + suffix)).exists()]
    if len(kernels) != 1:
        raise SpecError(f"labels need exactly one of {stem}.py, {stem}.cu and {stem}.tileirbc beside them", str(file))
    return _parsed(file.read_text(encoding="utf-8"), kernels[0], file)


@lru_cache(maxsize=1024)
def _parsed(text: str, kernel_file: Path, file: Path) -> tuple[Labelled, ...]:
    """The corpus is asked for dozens of times in a process; the same text is read once."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"not a TOML file: {error}", str(file)) from error
    return tuple(_label(table, kernel_file, file) for table in document.get("label", []))


class _Table(TypedDict, total=False):
    """A ``[[label]]``."""

    kernel: str
    launch: str
    verdict: str
    reason: str
    code: str
    also: list[str]
    needs: str
    adds: list[str]
    limits: list[str]
    lacks: list[str]
    some: bool
    warnings: list[str]


def _label(table: _Table, kernel_file: Path, file: Path) -> Labelled:
    name = f"{table.get('kernel', '?')}[{table.get('launch', '?')}]"
    if missing := [key for key in _REQUIRED if key not in table]:
        raise SpecError(f"label {name} lacks {', '.join(missing)}", str(file))
    if unknown := [key for key in table if key not in _REQUIRED + _OPTIONAL]:
        raise SpecError(f"label {name} has unknown fields: {', '.join(unknown)}", str(file))
    if table["verdict"] not in {verdict.value for verdict in _LABELLED_VERDICTS}:
        raise SpecError(f"label {name} has the unknown verdict {table['verdict']!r}", str(file))
    verdict = Verdict(table["verdict"])
    if (verdict is Verdict.PROVED) == ("code" in table):
        raise SpecError(f"label {name} must have a code if, and only if, it is not proved", str(file))
    return Labelled(
        file=kernel_file,
        kernel=table["kernel"],
        launch=table["launch"],
        verdict=verdict,
        reason=" ".join(table["reason"].split()),
        code=table.get("code"),
        also=tuple(table.get("also", ())),
        needs=table.get("needs"),
        adds=tuple(table.get("adds", ())),
        limits=tuple(table.get("limits", ())),
        lacks=tuple(table.get("lacks", ())),
        some=table.get("some", False) or "lacks" in table,
        warnings=tuple(table.get("warnings", ())),
    )
