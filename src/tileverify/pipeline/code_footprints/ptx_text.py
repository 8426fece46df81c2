"""The text of PTX in blocks, and what each instruction reads, sets and touches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ...backend.compiled.ptx import Instruction, Negated, Operand, Pair, PtxAddress, PtxEntry, Register, Vector


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
