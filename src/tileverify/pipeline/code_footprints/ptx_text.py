"""The text of PTX in blocks, and each access of a generic thread to global memory, under its path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from ...backend.compiled.hidden_parameters import CHUNK, TensorMap
from ...backend.compiled.ptx import Instruction, Negated, Operand, Pair, PtxAddress, PtxEntry, Register, Vector
from ...contract import terms as t
from ...contract.terms import Function, Scope, Sort, Term, TermKind
from .ptx_values import WARP, signed


class PtxNotFollowed(Exception):
    """Why nothing is said of the code."""

    def __init__(self, why: str, instruction: Instruction | None = None) -> None:
        super().__init__(why)
        self.why, self.instruction = why, instruction


class PtxText:
    """The instructions in blocks, each of which is left at its end alone or by branches; and the loops.

    ``loops``: by the block in which one begins, the block behind its last branch back.
    """

    def __init__(self, entry: PtxEntry) -> None:
        starts = {0, *entry.labels.values()}
        starts |= {n + 1 for n, each in enumerate(entry.instructions) if each.opcode[0] in ("bra", *_ENDS)}
        self._starts = sorted(each for each in starts if each < len(entry.instructions))
        ends = [*self._starts[1:], len(entry.instructions)]
        self.blocks = [entry.instructions[a:b] for a, b in zip(self._starts, ends, strict=True)]
        numbers = {start: number for number, start in enumerate(self._starts)}
        self._labels = {name: numbers.get(at, len(self.blocks)) for name, at in entry.labels.items()}
        self.loops: dict[int, int] = {}
        for number, block in enumerate(self.blocks):
            for instruction in block:
                if instruction.opcode[0] == "bra":
                    target = self.block_of(str(instruction.operands[0]))
                    if target <= number:
                        self.loops[target] = max(self.loops.get(target, 0), number + 1)

    def block_of(self, label: str) -> int:
        return self._labels[label]

    def written(self, first: int, end: int) -> list[str]:
        """The registers that these blocks set."""
        names = (name for block in self.blocks[first:end] for each in block for name in results_of(each))
        return list(dict.fromkeys(names))

    def live(self, wanted: frozenset[str]) -> list[frozenset[str]]:
        """By block, the registers among ``wanted`` that may be read from its beginning on before they are set."""
        parts = [_reads_and_sets(block) for block in self.blocks]
        leads = [self._leads_to(number) for number in range(len(self.blocks))]
        found = [wanted & reads for reads, _ in parts]
        changed = True
        while changed:
            changed = False
            for number in reversed(range(len(found))):
                after = frozenset[str]().union(*(found[each] for each in leads[number] if each < len(found)))
                now = found[number] | (after - parts[number][1])
                if now != found[number]:
                    found[number], changed = now, True
        return found

    def ends_threads(self, first: int, end: int) -> bool:
        """Whether threads may end in these blocks."""
        return any(each.opcode[0] in _ENDS for block in self.blocks[first:end] for each in block)

    def _leads_to(self, number: int) -> list[int]:
        targets = [number + 1]
        for each in self.blocks[number]:
            if each.opcode[0] == "bra":
                targets = [*(targets if each.guard is not None else targets[1:]), self.block_of(str(each.operands[0]))]
        return targets


def _reads_and_sets(block: Sequence[Instruction]) -> tuple[frozenset[str], frozenset[str]]:
    """The registers that a block reads before it sets them, and those that it sets in any case."""
    read: set[str] = set()
    set_: set[str] = set()
    for each in block:
        results = results_of(each)
        used = {name for operand in each.operands[1 if results else 0 :] for name in registers_in(operand)}
        if each.guard is not None:
            read |= (used | {each.guard.name, *results}) - set_
        else:
            read |= used - set_
            set_ |= {*results}
    return frozenset(read), frozenset(set_)


_ENDS: Final = frozenset({"ret", "exit", "trap"})
_NO_RESULT: Final = _ENDS | {
    "st", "red", "bra", "bar", "barrier", "fence", "membar", "stmatrix", "prefetch", "cp", "setmaxnreg",
    "griddepcontrol", "nanosleep",
}  # fmt: skip
_ACCESSES: Final = frozenset({"ld", "ldu", "st", "atom", "red"})
_NO_ACCESS: Final = _NO_RESULT - _ACCESSES | {
    # values of registers
    "abs", "activemask", "add", "and", "bfe", "bfi", "bfind", "brev", "clz", "cnot", "copysign", "cos", "createpolicy",
    "cvt", "cvta", "div", "elect", "ex2", "fma", "isspacep", "lg2", "lop3", "mad", "mapa", "match", "max", "min", "mov",
    "mul", "neg", "not", "or", "popc", "prmt", "rcp", "redux", "rem", "rsqrt", "sad", "selp", "set", "setp", "shf",
    "shfl", "shl", "shr", "sin", "sqrt", "sub", "tanh", "testp", "vote", "xor",
    # shared memory, tensor memory, products
    "ldmatrix", "mbarrier", "mma", "tcgen05", "wgmma",
}  # fmt: skip
"""Instructions that touch no global memory, also where they name it: ``cvta.global``, ``fence.proxy.async.global``."""
_WAITS: Final = frozenset({"commit_group", "wait_group", "wait_all", "mbarrier"})
"""Of ``cp.async``: what waits for copies, and copies nothing."""


def results_of(instruction: Instruction) -> list[str]:
    """The registers that it sets."""
    reduces = instruction.opcode[0] in ("bar", "barrier") and instruction.has("red")
    if (instruction.opcode[0] in _NO_RESULT and not reduces) or not instruction.operands:
        return []
    first = instruction.operands[0]
    return [] if isinstance(first, PtxAddress) else list(registers_in(first))


def registers_in(operand: Operand | None) -> Iterator[str]:
    if isinstance(operand, Register):
        yield operand.name
    elif isinstance(operand, Negated):
        yield operand.register.name
    elif isinstance(operand, Pair):
        yield from registers_in(operand.first)
        yield from registers_in(operand.second)
    elif isinstance(operand, Vector):
        for each in operand.elements:
            yield from registers_in(each)
    elif isinstance(operand, PtxAddress):
        yield from registers_in(operand.base)
        for each in operand.coordinates:
            yield from registers_in(each)


def touches(instruction: Instruction) -> tuple[bool, bool]:
    """Whether it reads and whether it writes global memory.

    :raises PtxNotFollowed: it does in a way that has no rule.
    """
    base, *parts = instruction.opcode
    spaces = {part.partition("::")[0] for part in parts}
    if base in _ACCESSES:
        if spaces & {"shared", "param", "local", "const"}:
            return False, False
        if "global" not in spaces:
            raise PtxNotFollowed(f"{instruction.name} may touch any memory", instruction)
        return base != "st", base in ("st", "atom", "red")
    if is_box_copy(instruction):
        loads = parts.index("global") > parts.index("shared::cta")
        return loads, not loads
    if base == "cp":
        known = is_copy(instruction) or (parts[0] == "async" and not _WAITS.isdisjoint(parts))
    else:
        known = base in _NO_ACCESS
    if not known:
        raise PtxNotFollowed(f"{instruction.name} is not followed", instruction)
    return False, False


def is_copy(instruction: Instruction) -> bool:
    """Whether it copies from global to shared memory, not in bulk."""
    return instruction.opcode[:2] == ("cp", "async") and instruction.opcode[2] in ("ca", "cg")


def is_box_copy(instruction: Instruction) -> bool:
    """Whether it copies a box of a tensor map from or to the shared memory of its own block."""
    parts = instruction.opcode
    return parts[:4] == ("cp", "async", "bulk", "tensor") and {"global", "shared::cta", "tile"} <= {*parts}


def float_width(type_: str) -> int | None:
    digits = "".join(each for each in type_ if each.isdigit())
    return int(digits) if digits in ("16", "32", "64", "128") else None


def wanted_registers(entry: PtxEntry) -> frozenset[str]:
    """The registers that addresses, guards and branches hang on."""
    sources: dict[str, set[str]] = {}
    found: list[str] = []
    for instruction in entry.instructions:
        if instruction.guard is not None:
            found.append(instruction.guard.name)
        results = results_of(instruction)
        given = [name for operand in instruction.operands[1 if results else 0 :] for name in registers_in(operand)]
        copied = None if is_copy(instruction) else 2 if is_box_copy(instruction) else 0
        found += [name for operand in instruction.operands[:copied] for name in registers_in(operand)]
        if instruction.opcode[0] in _ACCESSES:
            given = [
                name for each in instruction.operands if isinstance(each, PtxAddress) for name in registers_in(each)
            ]
            found += given if "global" in {part.partition("::")[0] for part in instruction.opcode} else []
            given = []
        for name in results:
            sources.setdefault(name, set()).update(given)
            if instruction.guard is not None:
                sources[name].add(instruction.guard.name)
    wanted: set[str] = set()
    while found:
        name = found.pop()
        if name not in wanted:
            wanted.add(name)
            found += sources.get(name, ())
    return frozenset(wanted)


# -------------------------------------------------------------------------------------------------------- code accesses
# What the code of a kernel touches: each access to global memory under its path, for a generic thread.


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
