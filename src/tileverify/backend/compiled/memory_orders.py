"""Whether scoped accesses of the code order as much, and among as many, as the bytecode's that they stand for.

    wanted    acquire: the instruction has it, or a fence stands behind it;  release: it has it, or a fence before it
    scope     cta < cluster < gpu < sys;  an atomic without a scope has gpu

An element's accesses are taken in their order, the n-th of the code beside the n-th of the bytecode: `_times` of
`beside_bytecode` has found as many of both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

import numpy as np

from ...frontend.bytecode.enums import MemoryOrdering, MemoryScope
from ..interpreter.access_log import BlockLog, DynamicAccess
from .both_runs import Reference
from .code_differences import CodeDifference, DifferenceKind
from .machine.machine import ThreadMachine
from .machine.memory import ThreadAccess
from .ptx.model import Instruction, Operand, Pair, PtxEntry, PtxSymbol, Vector

_SCOPES: Final = ("cta", "cluster", "gpu", "sys")
_OF_BYTECODE: Final = {MemoryScope.BLOCK: "cta", MemoryScope.DEVICE: "gpu", MemoryScope.SYSTEM: "sys"}
ORDERS: Final = {
    "acquire": frozenset({MemoryOrdering.ACQUIRE, MemoryOrdering.ACQ_REL}),
    "release": frozenset({MemoryOrdering.RELEASE, MemoryOrdering.ACQ_REL}),
}
_NEAR: Final = 8
"""Instructions between an access and its fence at most."""
_ACCESSES: Final = frozenset({"ld", "st", "atom", "red", "cp", "multimem", "ldu", "call"})
_BARRIERS: Final = frozenset({"bar", "barrier", "mbarrier"})
_LEAVES: Final = frozenset({"bra", "brx", "ret", "exit", "trap"})


def weaker_orders(machine: ThreadMachine, reference: Reference) -> Iterator[CodeDifference]:
    """The first access of each block that orders less than the bytecode's."""
    for number, log in enumerate(reference.logs):
        for mine, _, theirs in scoped_pairs(machine, number, log):
            missing = _missing(machine.entry, mine.number, theirs)
            if missing:
                text = f"a scoped access of block {log.block} is no {missing}, as it is in the bytecode"
                line = machine.entry.instructions[mine.number].line
                yield CodeDifference(DifferenceKind.ORDER, text, (theirs.op,), (line,))
                break


def scoped_pairs(
    machine: ThreadMachine, number: int, log: BlockLog
) -> Iterator[tuple[ThreadAccess, int, DynamicAccess]]:
    """Scoped accesses and atomics of the ``number``-th block, by place: the code's, and the bytecode's."""
    wanted = _of_bytecode(machine, log)
    found: dict[tuple[bool, int], list[ThreadAccess]] = defaultdict(list)
    for access, places in machine.by_block[number]:
        if access.atomic or access.scoped:
            for place in np.unique(places).tolist():
                found[access.atomic, place].append(access)
    for key in sorted(wanted.keys() & found.keys()):
        for mine, theirs in zip(found[key], wanted[key], strict=False):
            yield mine, key[1], theirs


def _of_bytecode(machine: ThreadMachine, log: BlockLog) -> dict[tuple[bool, int], list[DynamicAccess]]:
    """The scoped accesses and atomics of each place, in their order."""
    found: dict[tuple[bool, int], list[DynamicAccess]] = defaultdict(list)
    for access in log.accesses:
        if not access.weak:
            addresses = np.concatenate([each.addresses() for each in access.footprints[:1]]).astype("u8")
            for place in np.unique(machine.memory.places(addresses, 1, addresses)).tolist():
                found[access.kind == "atomic", place].append(access)
    return found


def _missing(entry: PtxEntry, number: int, wanted: DynamicAccess) -> str:
    """What of ``wanted`` the instruction lacks, in words; empty where it lacks nothing."""
    least = _SCOPES.index("cta" if wanted.scope is None else _OF_BYTECODE[wanted.scope])
    instruction = entry.instructions[number]
    for name, orders in ORDERS.items():
        if wanted.ordering not in orders:
            continue
        own = {name, "acq_rel"} & {*instruction.opcode} and _scope(instruction) >= least
        beside = _behind(entry, number) if name == "acquire" else _before(entry, number)
        if not own and not any(_fences(each, name) and _scope(each) >= least for each in beside):
            return name
    return "" if _scope(instruction) >= least else f"access among {_SCOPES[least]}"


def _behind(entry: PtxEntry, number: int) -> Iterator[Instruction]:
    """What every thread that executes the instruction executes next, before it accesses memory again.

    A thread that goes back to the instruction, as in a loop that waits, executes it again.
    """
    for place in range(number + 1, min(number + 1 + _NEAR, len(entry.instructions))):
        each = entry.instructions[place]
        if (each.opcode[0] in _LEAVES and not _goes_back(entry, each, number)) or _parts(each):
            return
        if _is_made_with(entry, place, number):
            yield each


def _goes_back(entry: PtxEntry, branch: Instruction, number: int) -> bool:
    """Whether threads that take the branch come to the instruction again before they access other memory."""
    target = branch.operands[0] if branch.opcode[0] == "bra" and branch.guard is not None else None
    place = entry.labels.get(target.name) if isinstance(target, PtxSymbol) else None
    if place is None or place > number:
        return False
    return not any(each.opcode[0] in _LEAVES or _parts(each) for each in entry.instructions[place:number])


def _before(entry: PtxEntry, number: int) -> Iterator[Instruction]:
    """What every thread that executes the instruction has executed before, after it accessed memory.

    Threads may leave in between, and none comes from elsewhere.
    """
    for place in range(number - 1, max(number - _NEAR, 0) - 1, -1):
        each = entry.instructions[place]
        if place + 1 in entry.targets or _parts(each):
            return
        if _is_made_with(entry, place, number):
            yield each


def _parts(instruction: Instruction) -> bool:
    """Whether a fence orders nothing across it: an access, or a barrier.

    What others did before a barrier came after the fence, so a release does not hand it on; and so the other way round.
    """
    return instruction.opcode[0] in _BARRIERS or _accesses(instruction)


def _accesses(instruction: Instruction) -> bool:
    """Whether it accesses memory that other blocks see."""
    own = {"shared", "local", "param", "const"} & {part.split("::")[0] for part in instruction.opcode}
    return instruction.opcode[0] in _ACCESSES and (not own or instruction.has("global"))


def _is_made_with(entry: PtxEntry, fence: int, access: int) -> bool:
    """Whether the fence has no guard, or that of the access, which nothing between them changes."""
    first, last = entry.instructions[fence], entry.instructions[access]
    if first.guard is None:
        return True
    between = entry.instructions[min(fence, access) + 1 : max(fence, access)]
    same = (first.guard, first.negated) == (last.guard, last.negated)
    return same and not any(first.guard in _results(each) for each in between)


def _results(instruction: Instruction) -> tuple[Operand | None, ...]:
    match instruction.operands:
        case (Pair(first, second), *_):
            return first, second
        case (Vector(elements), *_):
            return elements
    return instruction.operands[:1]


def _scope(instruction: Instruction) -> int:
    return next((_SCOPES.index(part) for part in instruction.opcode if part in _SCOPES), _SCOPES.index("gpu"))


def _fences(instruction: Instruction, name: str) -> bool:
    """Whether it orders all accesses of a thread, and not those of a proxy or to shared memory alone."""
    kind, *parts = instruction.opcode
    if {"proxy", "mbarrier_init"}.intersection(parts) or any(part.startswith("sync_restrict") for part in parts):
        return False
    return kind == "membar" or (kind == "fence" and bool({name, "acq_rel", "sc"}.intersection(parts)))
