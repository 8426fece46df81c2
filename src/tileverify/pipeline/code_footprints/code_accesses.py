"""What the code of a kernel touches: each access to global memory under its path, for a generic thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ...backend.compiled.ptx import Instruction
from ...contract.terms import Function, Term

Path: TypeAlias = "tuple[Term, ...]"


def alike_for(a: Path, b: Path) -> int:
    """How many conditions both begin with."""
    count = 0
    for one, other in zip(a, b, strict=False):
        if one is not other:
            break
        count += 1
    return count


@dataclass(frozen=True, slots=True)
class CodeLoop:
    """A loop around an access: iteration ``number`` counts from 0; another one follows it where ``goes_on`` holds.
    ``last``: the number of the last one, where the rounds are counted."""

    number: Term
    goes_on: Term
    last: Term | None = None


@dataclass(frozen=True, slots=True)
class Premise:
    """What the executed rounds of a loop rest on: ``holds`` wherever ``path`` and ``known`` do.  ``loop``: the block
    in which it begins; ``before``: so many accesses come before it."""

    loop: int
    path: Path
    known: Path
    holds: Term
    before: int


@dataclass(frozen=True, slots=True)
class CodeAccess:
    """One instruction that touches global memory: at ``address``, for ``bytes``, where all of ``path`` holds; ``known``
    holds there as well, and decides nothing.  ``result``: the functions that stand for what it gives.  ``box``: of a
    copy of a box, the variables for the places in it, each below a number.  What neither reads nor writes is a trap."""

    instruction: Instruction
    reads: bool
    writes: bool
    bytes: int
    address: Term
    path: Path
    known: Path
    loops: tuple[CodeLoop, ...]
    results: tuple[Function, ...]
    box: tuple[tuple[Term, int], ...] = ()

    @property
    def traps(self) -> bool:
        return not (self.reads or self.writes)

    @property
    def atomic(self) -> bool:
        return self.reads and self.writes

    @property
    def scoped(self) -> bool:
        return self.atomic or bool({"relaxed", "acquire", "release", "acq_rel"} & {*self.instruction.opcode})


@dataclass(frozen=True, slots=True)
class Followed:
    """All accesses of the code; ``thread`` is the variable for the thread's number in its block.  ``reached`` maps what
    paths say of a loop of which nobody counts the rounds ("iteration k is reached, if k - 1 is") to the loop."""

    thread: Term
    threads: int
    accesses: tuple[CodeAccess, ...]
    reached: Mapping[Term, CodeLoop]
    premises: tuple[Premise, ...]
