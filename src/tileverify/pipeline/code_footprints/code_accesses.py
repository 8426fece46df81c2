"""What the code of a kernel touches: each access to global memory under its path, for a generic thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from ...backend.compiled.machine.tensor_maps import CHUNK, TensorMap
from ...backend.compiled.ptx import Instruction
from ...contract import terms as t
from ...contract.terms import Function, Scope, Sort, Term, TermKind
from .ptx_text import PtxNotFollowed, touches
from .ptx_values import WARP, signed

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


# ----------------------------------------------------------------------------------------------------------- box copies
# Copies of boxes by tensor maps as accesses, one for each element of the box that lies in the array.
#
# One thread makes a copy for all.  ``elect.sync`` names it, one of each warp, and nobody knows which: so it is looked
# whether all threads of a warp would make the same copy, and then one of them makes it.


MOST_COPIES: Final = 4
"""Copies that the threads of one warp make by one instruction."""


def box_access(
    instruction: Instruction, found: TensorMap[Term], corner: Sequence[Term], path: Path, known: Path,
    loops: tuple[CodeLoop, ...], number: int,
) -> CodeAccess:  # fmt: skip
    """The access to each element of the box of ``found`` at ``corner``; ``number`` tells it from other copies.

    index[d]  =  corner[d] + place[d]             0 <= place[d] < box[d]
    address   =  base + sum of index[d] * stride[d]      where  0 <= index[d] < size[d]

    A store writes whole chunks of 16 bytes, also behind the end of a row, as an H200 does: so size[0] is rounded up.
    """
    reads, writes = touches(instruction)
    sizes = (_in_chunks(found.sizes[0], found.element), *found.sizes[1:]) if writes else found.sizes
    places = [t.var(f"box{number}.{axis}", Scope.LANE, 0, size - 1) for axis, size in enumerate(found.box)]
    indices = [t.add(first, place) for first, place in zip(corner, places, strict=True)]
    offsets = [t.mul(index, stride) for index, stride in zip(indices, found.strides, strict=True)]
    inside = [
        each for index, size in zip(indices, sizes, strict=True) for each in (t.le(t.ZERO, index), t.lt(index, size))
    ]
    return CodeAccess(
        instruction, reads, writes, found.element, signed(64, t.add(found.base, *offsets)),
        (*path, *(each for each in inside if each is not t.TRUE)), known, loops, (),
        tuple(zip(places, found.box, strict=True)),
    )  # fmt: skip


def _in_chunks(size: Term, element: int) -> Term:
    """So many elements, and the rest of the last chunk."""
    each = CHUNK // element
    return t.scale(each, t.floordiv(t.add(size, t.const(each - 1)), t.const(each)))


def copies_of(access: CodeAccess, code: Followed) -> Iterator[CodeAccess]:
    """The copies of an instruction, each for a thread.  Who makes a load does not matter, if all make the same."""
    if access.writes or code.thread in access.address.free:
        yield from _by_warp(access, code)
    else:
        yield access


def _by_warp(access: CodeAccess, code: Followed) -> Iterator[CodeAccess]:
    """The copies that the threads of each warp make, with the thread's number put in; each is made wherever its path
    holds.

    :raises PtxNotFollowed: threads of a warp make different copies, and it is not known which of them.
    """
    thread, count = code.thread, code.threads
    if any(each in code.reached and thread in each.free for each in access.path):
        raise PtxNotFollowed("threads copy boxes in loops of their own lengths", access.instruction)
    seen: set[tuple[Path, Term]] = set()
    for first in range(0, count, WARP):
        copies: dict[tuple[Path, Term], CodeAccess] = {}
        elects, none = False, False
        for lane in range(first, min(first + WARP, count)):
            one, chooses = _of_thread(access, thread, lane, t.TRUE)
            if chooses and t.FALSE not in _of_thread(access, thread, lane, t.FALSE)[0].path:
                raise PtxNotFollowed("threads that nobody elected copy boxes", access.instruction)
            if t.FALSE in one.path:
                none = True
                continue
            elects = elects or chooses
            copies.setdefault((one.path, one.address), one)
            if len(copies) > MOST_COPIES:
                raise PtxNotFollowed("the threads of a warp make many copies", access.instruction)
        if elects and len(copies) + none > 1:
            raise PtxNotFollowed("the elected thread of a warp decides which copy is made", access.instruction)
        yield from (each for key, each in copies.items() if key not in seen)
        seen.update(copies)


def _of_thread(access: CodeAccess, thread: Term, number: int, is_elected: Term) -> tuple[CodeAccess, bool]:
    """The copy by one thread, if it is the elected one or not; and whether that matters."""
    own = {thread: t.const(number)}
    chooses = False

    def elected(term: Term) -> Term | None:
        nonlocal chooses
        if term.kind is TermKind.APPLY and term.sort is Sort.BOOL and term.function.name.startswith("elect#"):
            chooses = True
            return is_elected
        return None

    path = tuple(t.simplified(t.transform(t.substitute(each, own), elected)) for each in access.path)
    found = replace(
        access,
        address=t.substitute(access.address, own),
        path=tuple(each for each in path if each is not t.TRUE),
        known=tuple(t.substitute(each, own) for each in access.known),
    )
    return found, chooses
