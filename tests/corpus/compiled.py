"""The corpus' kernels with their launches, compiled once in a test run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache

from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT, TRITON
from tileverify.frontend.sources.discover import discover

from ..shared import gathered
from ..toolkit import present


@cache
def corpus_kernels() -> tuple[KernelUnit, ...]:
    """Every kernel of the corpus under every launch, as `discover` finds them in its folder."""
    folders = sorted({file.parent for file in ROOT.glob("*/*.labels.toml")} - {TRITON})

    def compiled(number: int) -> list[KernelUnit]:
        found = [each for each in discover([str(folders[number])]) if each.file.suffix != ".cu" or present("nvcc")]
        units = [unit for unit in found if isinstance(unit, KernelUnit)]
        assert len(units) == len(found), [str(unit.error) for unit in found if not isinstance(unit, KernelUnit)]
        return units

    # Units name their files, so processes share them only where they find the corpus in the same place.
    place = hashlib.sha256(str(ROOT).encode()).hexdigest()[:12]
    return gathered(f"corpus-{place}", range(len(folders)), compiled)


@cache
def units() -> dict[tuple[str, str, str], KernelUnit]:
    return by_place(corpus_kernels())


def by_place(kernels: Iterable[KernelUnit]) -> dict[tuple[str, str, str], KernelUnit]:
    """Launches by file, kernel and name."""
    return {(str(unit.file), unit.kernel, unit.launch.name): unit for unit in kernels}
