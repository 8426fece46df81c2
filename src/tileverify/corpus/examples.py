"""For every code that a kernel can break, one that has the fault and one without it: the folder ``explained``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..results import Verdict
from ..results.codes import CODES
from .labels import ROOT, SPEC_SUFFIX, Labelled, corpus_launches

FOLDER: Final = ROOT / "explained"


def example_file(code: str) -> Path | None:
    """The file with the two kernels of ``code``; ``None`` if it has none, or is no code."""
    file = FOLDER / f"{code.lower()}.py"
    return file if code in CODES and file.is_file() else None


@dataclass(frozen=True, slots=True)
class Example:
    """``target`` is what ``tileverify check`` takes, ``source`` the kernel alone, ``spec`` its launch as written."""

    verdict: Verdict
    target: str
    source: str
    spec: str
    reason: str
    warnings: tuple[str, ...] = ()

    @property
    def judged(self) -> str:
        """``refuted``, or ``proved, with TV403``."""
        return ", with ".join((self.verdict.value, *self.warnings))


@dataclass(frozen=True, slots=True)
class Explained:
    """``about``: what the two kernels show, in a sentence."""

    about: str
    wrong: Example
    right: Example


def examples_of(code: str) -> Explained | None:
    """The examples of a code; ``None`` for codes that no kernel can break."""
    file = FOLDER / f"{code.lower()}.py"
    if not file.is_file():
        return None
    labels = [label for label in corpus_launches(FOLDER) if label.file == file]
    wrong, right = (
        next(label for label in labels if (label.verdict is Verdict.REFUTED or code in label.warnings) is faulty)
        for faulty in (True, False)
    )
    about = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return Explained(about, _example(wrong), _example(right))


def _example(label: Labelled) -> Example:
    text = label.file.read_text(encoding="utf-8")
    lines = text.split("\n")
    source = "".join(f"{line}\n" for start, end in _functions(text, label.kernel) for line in lines[start - 1 : end])
    spec = label.file.with_name(label.file.stem + SPEC_SUFFIX).read_text(encoding="utf-8")
    mark = f'name = "{label.launch}"\n'
    tables = [f"[[launch]]{table}" for table in spec.split("[[launch]]")[1:]]
    launch = next(table for table in tables if mark in table and f'kernel = "{label.kernel}"' in table)
    target = f"{label.file}::{label.kernel}::{label.launch}"
    return Example(
        label.verdict, target, source, launch.replace(mark, "").rstrip() + "\n", label.reason, label.warnings
    )


def _functions(text: str, name: str) -> Iterator[tuple[int, int]]:
    """First and last line of the function ``name``, with its decorators."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min(node.lineno, *(decorator.lineno for decorator in node.decorator_list))
            yield first, node.end_lineno or node.lineno
