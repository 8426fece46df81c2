"""For every code that a kernel can break, one that has the fault and one without it: the folder ``explained``.

Some codes of what is undecided have a pair, too: two launches of one kernel, from other folders.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from ..results import Verdict
from ..results.codes import CODES
from .labels import ROOT, SPEC_SUFFIX, Labelled, corpus_launches

FOLDER: Final = ROOT / "explained"

ELSEWHERE: Final[Mapping[str, tuple[str, str, str, str]]] = MappingProxyType(
    {
        "TV901": ("data/row_lengths.py", "sum_prefixes", "no-fact", "range"),
        "TV905": ("protocols/last_block_again.py", "sum_and_put_back", "one-counted-before", "up-to-16-blocks"),
    }
)
"""Code -> file, kernel, the launch that has the code, and the one that is proved."""


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
        """``refuted``, ``undecided``, or ``proved, with TV403``."""
        return ", with ".join((self.verdict.value, *self.warnings))


@dataclass(frozen=True, slots=True)
class Explained:
    """``about``: what the two kernels show, in a sentence."""

    about: str
    wrong: Example
    right: Example


def examples_of(code: str) -> Explained | None:
    """The examples of a code; ``None`` for one that has no pair of kernels."""
    file = FOLDER / f"{code.lower()}.py"
    if code in ELSEWHERE:
        name, kernel, *launches = ELSEWHERE[code]
        file = ROOT / name
        labels = {label.launch: label for label in _labels(file) if label.kernel == kernel}
        wrong, right = (labels[launch] for launch in launches)
    elif file.is_file():
        wrong, right = (
            next(each for each in _labels(file) if (each.verdict is Verdict.REFUTED or code in each.warnings) is faulty)
            for faulty in (True, False)
        )
    else:
        return None
    about = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return Explained(about, _example(wrong), _example(right))


def _labels(file: Path) -> list[Labelled]:
    return [label for label in corpus_launches(file.parent) if label.file == file]


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
