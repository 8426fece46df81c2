"""The corpus compiled and written to a file, for campaigns on machines where there is no compiler.

    python -m tests.corpus.kept FILE

Campaigns read it with ``--units FILE``.  It is a pickle: read only what you wrote.
"""

from __future__ import annotations

import lzma
import pickle
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT

from .compiled import corpus_kernels


def keep(units: Sequence[KernelUnit], file: Path) -> None:
    """Write ``units`` of the corpus; their files are named from the corpus' root, which may lie elsewhere later."""
    placed = [replace(unit, file=unit.file.relative_to(ROOT)) for unit in units]
    file.write_bytes(lzma.compress(pickle.dumps(placed)))


def kept(file: Path) -> tuple[KernelUnit, ...]:
    """What `keep` wrote, in the same order, with the files of this checkout's corpus."""
    return tuple(replace(unit, file=ROOT / unit.file) for unit in pickle.loads(lzma.decompress(file.read_bytes())))


def main(arguments: Sequence[str]) -> None:
    (file,) = arguments
    units = corpus_kernels()
    keep(units, Path(file))
    print(f"{len(units)} launches, {Path(file).stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
