"""The corpus' kernels with their launches, compiled once in a test run."""

from __future__ import annotations

import hashlib
import pickle
from base64 import b64decode, b64encode
from functools import cache

from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover

from ..shared import in_parts


@cache
def corpus_kernels() -> tuple[KernelUnit, ...]:
    """Every kernel of the corpus under every launch, as `discover` finds them in its folder."""
    folders = sorted({file.parent for file in ROOT.glob("*/*.labels.toml")})

    def compiled(number: int) -> str:
        found = list(discover([str(folders[number])]))
        failures = [str(unit.error) for unit in found if not isinstance(unit, KernelUnit)]
        assert not failures
        return b64encode(pickle.dumps(found)).decode()

    # Units name their files, so processes share them only where they find the corpus in the same place.
    place = hashlib.sha256(str(ROOT).encode()).hexdigest()[:12]
    parts = in_parts(f"corpus-{place}", range(len(folders)), compiled)
    return tuple(unit for text in parts for unit in pickle.loads(b64decode(text)))


@cache
def units() -> dict[tuple[str, str, str], KernelUnit]:
    """The same by file, kernel and launch."""
    return {(str(unit.file), unit.kernel, unit.launch.name): unit for unit in corpus_kernels()}
