"""Kernels to break, each under its contract as written: the corpus, the library, any folder of kernels with specs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tileverify.kernels
from tileverify.contract.launch import KernelUnit
from tileverify.contract.spec_files import RawLaunch, SourceSpecs, named_launches
from tileverify.corpus import ROOT, corpus_launches
from tileverify.frontend.sources.discover import discover
from tileverify.results import Verdict

from ..mutants.making import mutants_of
from ..mutants.subjects import Subject
from . import contracts, source
from .text import Change

LIBRARY = Path(tileverify.kernels.__file__).parent / "device"
BYTECODE = {
    "index-swap": "swapped-index", "grid": "wrong-axis", "off-by-one": "off-by-one", "comparison": "off-by-one",
    "no-mask": "dropped-mask", "inbounds": "unchecked", "guard": "dropped-guard", "loop-bound": "loop-bound",
    "tile-size": "tile-size", "stride": "stride", "scope": "weak-order", "relaxed": "weak-order",
    "view": "dropped-padding",
}  # fmt: skip
"""Changes of bytecode, for kernels without a source, and the mistakes that they stand for."""
SOURCE_KINDS = (
    "swapped-index", "wrong-axis", "off-by-one", "wrong-array", "divisor", "tile-size", "rounding", "dropped-mask",
    "unchecked", "dropped-padding", "dropped-guard", "loop-bound", "no-atomic", "weak-order", "stride",
)  # fmt: skip
KINDS = (*SOURCE_KINDS, *contracts.KINDS)


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch of a kernel as it is written: ``fields`` are those of its spec."""

    name: str
    file: Path
    kernel: str
    launch: str
    raw: RawLaunch = field(compare=False)

    def unit(self) -> KernelUnit | None:
        return compiled(self.file, self.kernel, self.raw)


@dataclass(frozen=True, slots=True)
class Mistake:
    """One broken version of a launch: another source, another spec, or other bytecode."""

    of: Launch
    kind: str
    line: int
    change: str
    source: Change | None = None
    fields: Any = None
    bytecode: str = ""

    @property
    def name(self) -> str:
        made = hashlib.sha256(f"{self.source}{self.fields}{self.bytecode}".encode()).hexdigest()[:6]
        return f"{self.of.name}/{self.kind}:{self.line}:{made}"

    def unit(self, original: KernelUnit) -> KernelUnit | None:
        """``None`` where it is no kernel, or the same as the original."""
        if self.bytecode:
            subject = Subject(self.of.name, original, recorded=False)
            made = next(iter(mutants_of(subject, 1, 1, (self.bytecode,))), None)
            return None if made is None else made.unit(original)
        if self.fields is not None:
            return compiled(self.of.file, self.of.kernel, replace(self.of.raw, fields=self.fields, keys=()))
        assert self.source is not None
        with TemporaryDirectory() as folder:
            file = Path(folder) / self.of.file.name
            file.write_text(self.source.of(self.of.file.read_text()))
            unit = compiled(file, self.of.kernel, self.of.raw)
        return None if unit is None or unit.bytecode == original.bytecode else unit


def compiled(file: Path, kernel: str, raw: RawLaunch) -> KernelUnit | None:
    """``None`` where it does not compile."""
    found = list(discover([f"{file}::{kernel}"], specs=SourceSpecs((raw,), given=True)))
    return found[0] if len(found) == 1 and isinstance(found[0], KernelUnit) else None


def corpus() -> list[Launch]:
    """Launches that are labelled `proved`, and that the contract as written makes so."""
    labels = [each for each in corpus_launches() if each.verdict is Verdict.PROVED]
    wanted = {(str(each.file), each.kernel, each.launch): each.id for each in labels}
    files = dict.fromkeys(each.file for each in labels if each.file.suffix != ".cu")
    return [
        replace(launch, name=wanted[key])
        for launch in written(files)
        if (key := (str(launch.file), launch.kernel, launch.launch)) in wanted
    ]


def library() -> list[Launch]:
    """The first launch of each kernel: the others differ in element types."""
    found = written(sorted(LIBRARY.glob("*.py")))
    first = {(each.file, each.kernel): each for each in reversed(list(found))}
    return list(reversed(first.values()))


def written(files: Iterable[Path]) -> Iterator[Launch]:
    """All launches in the specs beside these files."""
    for file in files:
        specs = SourceSpecs.beside(file)
        for kernel in dict.fromkeys(raw.kernel for raw in specs.launches if not raw.shared):
            for name, raw, _ in named_launches(specs.of_kernel((kernel,))):
                fields = {**raw.fields, "name": name}
                own = replace(raw, fields=fields)
                yield Launch(f"{file.parent.name}/{file.name}::{kernel}[{name}]", file, kernel, name, own)


def in_folder(folder: Path) -> list[Launch]:
    return list(written(each for each in sorted(folder.rglob("*.py")) if SourceSpecs.beside(each).launches))


def mistakes(launches: Sequence[Launch], seed: int) -> list[Mistake]:
    """All of them, the kinds by turns and each in an order that is drawn, so that the first ones are a fair sample."""
    found = [each for launch in launches for each in _of(launch)]
    kinds: dict[str, list[Mistake]] = {kind: [] for kind in KINDS}
    for each in sorted(found, key=lambda one: hashlib.sha256(f"{seed}:{one.name}".encode()).digest()):
        kinds[each.kind].append(each)
    turns = [(place, number, each) for number, one in enumerate(kinds.values()) for place, each in enumerate(one)]
    return [each for _, _, each in sorted(turns, key=lambda turn: turn[:2])]


def _of(launch: Launch) -> Iterator[Mistake]:
    if launch.file.suffix == ".py":
        for change in source.mistakes(launch.file.read_text(), launch.kernel):
            yield Mistake(launch, change.kind, change.line, change.told, source=change)
    else:
        for kind, stands_for in BYTECODE.items():
            yield Mistake(launch, stands_for, 0, kind, bytecode=kind)
    for spec in contracts.loosened(launch.raw.fields):
        yield Mistake(launch, spec.kind, launch.raw.line or 0, spec.told, fields=spec.fields)


__all__ = ["KINDS", "ROOT", "Launch", "Mistake", "corpus", "in_folder", "library", "mistakes", "written"]
