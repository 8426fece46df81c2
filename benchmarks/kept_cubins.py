"""A cubin of a proved launch, as `compiled_code` keeps it in a file."""

from __future__ import annotations

from dataclasses import dataclass

from tileverify.backend.assembler import Assembled
from tileverify.backend.compiled.cubin_look import ProvedEntry


@dataclass(frozen=True)
class Kept:
    """One cubin of a proved launch.  ``seconds``: of ``tileiras``."""

    name: str
    group: str
    architecture: str
    proved: ProvedEntry
    assembled: Assembled
    seconds: float
