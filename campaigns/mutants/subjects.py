"""The kernels that are changed: launches of the corpus, mostly those with the label `proved`, and recorded launches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.corpus.compiled import corpus_kernels

from tileverify.contract.launch import Argument, KernelUnit, ListArgument
from tileverify.corpus import ROOT, corpus_launches
from tileverify.frontend.sources.discover import discover
from tileverify.results import Verdict

PREFERENCE = 5
"""How much oftener a launch with the label `proved` is drawn than any other."""


@dataclass(frozen=True, slots=True)
class Subject:
    """``recorded``: its contract is one launch of numbers."""

    name: str
    unit: KernelUnit
    recorded: bool


def corpus_subjects(folder: str = "") -> list[Subject]:
    """The launches of the corpus that are labelled `proved`, whether or not this prover can; ``folder``: of one of its
    folders, such as ``triton``, which the whole corpus lacks because its kernels need the extra."""
    labels = corpus_launches(ROOT / folder)
    proved = {(str(one.file), one.kernel, one.launch): one for one in labels if one.verdict is Verdict.PROVED}
    found = []
    for unit in _kernels(folder):
        label = proved.get((str(unit.file), unit.kernel, unit.launch.name))
        if label is not None:
            found.append(Subject(label.id, unit, recorded=False))
    assert found, "no label belongs to a kernel"
    return found


def drawn_from(recorded: Path | None, folder: str = "") -> list[Subject]:
    """All launches that `tileverify record` left; or those of the corpus, or of one ``folder`` of it.  Of the corpus,
    those that are labelled `proved` stand there several times: a change of the others is mostly refuted."""
    kernels = _kernels(folder) if recorded is None else units([str(recorded)])
    found = [Subject(_name(unit), unit, recorded=recorded is not None) for unit in kernels]
    return found + ([] if recorded else corpus_subjects(folder) * PREFERENCE)


def _kernels(folder: str) -> list[KernelUnit]:
    found = units([str(ROOT / folder)]) if folder else _ordered(corpus_kernels())
    return [unit for unit in found if not any(_is_table(argument) for argument in unit.launch.arguments)]


def _is_table(argument: Argument) -> bool:
    """A table of addresses: nobody draws launches whose arrays hold the sizes of others."""
    return isinstance(argument, ListArgument) and argument.addresses


def _name(unit: KernelUnit) -> str:
    """As labels have it."""
    return f"{unit.file.parent.name}/{unit.file.name}::{unit.kernel}[{unit.launch.name}]"


def recorded_subjects(folder: Path, per_kernel: int = 1) -> list[Subject]:
    """The first launch of up to ``per_kernel`` specialisations of each kernel that `tileverify record` left here."""
    index = json.loads((folder / "index.json").read_text())
    files: dict[str, list[Path]] = {}
    for entry in index["specialisations"]:
        source = entry["source"]
        name = f"{source['module'].removeprefix('tilegym.')}:{source['qualname']}#{source['id'][:6]}"
        bytecode = folder / entry["bytecode"]
        if len(files.setdefault(name, [])) < per_kernel and bytecode not in files[name]:
            files[name].append(bytecode)
    found = []
    for name, chosen in sorted(files.items()):
        for number, file in enumerate(chosen):
            first, *_ = units([str(file)])
            found.append(Subject(f"{name}[{number}]" if per_kernel > 1 else name, first, recorded=True))
    return found


def units(targets: Sequence[str]) -> list[KernelUnit]:
    """Kernels with their launches, ordered by file, kernel and launch."""
    return _ordered(unit for unit in discover(list(targets)) if isinstance(unit, KernelUnit))


def _ordered(kernels: Iterable[KernelUnit]) -> list[KernelUnit]:
    return sorted(kernels, key=lambda unit: (str(unit.file), unit.kernel, unit.launch.name))
