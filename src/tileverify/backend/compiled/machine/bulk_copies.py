"""Copies that the hardware makes by itself: ``cp.async.bulk``, of boxes of tensor maps and of runs of bytes.

A copy is made at once where it is issued, and its accesses are logged as ones that nobody knows of before it is waited
for (`clocks`): a load until the phase of its barrier is over, a store until ``wait_group`` says that its bytes are
written, or ``wait_group.read`` that they are read.  PTX ISA 9.4, sections 9.7.9.25 to 9.7.9.27.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from ..ptx.model import Immediate, Instruction, PtxAddress
from .clocks import TooManyCopies
from .machine import Step, ThreadMachine, Unfollowed
from .memory import RANK_BITS, Space, ThreadAccess
from .tensor_maps import CHUNK, MAP_BYTES, TensorMap, UnknownTensorMap, box_places, decoded
from .threads import RACY, Lanes
from .transfers import COMBINE
from .types import DTYPES, Array, from_bf16, to_bf16

_MOST_BYTES: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a copy: parts of so many bytes, at ``places`` of a space."""

    space: Space
    places: Array
    part: int


def bulk(instruction: Instruction, number: int) -> Step:
    """Any instruction that begins with ``cp.async.bulk`` or ``cp.reduce.async.bulk``."""
    parts = instruction.opcode
    if "commit_group" in parts:
        return _commit
    if "wait_group" in parts:
        return _wait(instruction)
    if "prefetch" in parts:
        return lambda machine, lanes: None
    if {"im2col", "tile::gather4", "tile::scatter4", "cp_mask", "multicast::cluster"} & set(parts):
        raise Unfollowed(f"{instruction.name} is not known", instruction)
    places = [place for place, part in enumerate(parts) if part.partition("::")[0] in ("shared", "global")]
    if len(places) < 2:
        raise Unfollowed(f"{instruction.name} is not known", instruction)
    target, source = parts[places[0]].partition("::")[0], parts[places[1]].partition("::")[0]
    if {target, source} != {"shared", "global"}:
        raise Unfollowed("copies between blocks of a cluster are not followed", instruction)
    combine = _combine(instruction) if parts[1] == "reduce" else None
    if combine is not None and target != "global":
        raise Unfollowed(f"{instruction.name} is not known", instruction)
    loads = target == "shared"

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        numbers = machine.numbers(lanes)
        for thread in numbers if loads or combine else _unlike(machine, instruction, numbers):
            one = np.array([thread])
            shared, outside, inside = _sides(machine, instruction, number, one, loads=loads)
            if loads:
                _load(machine, instruction, number, one, shared, outside, inside)
            else:
                _store(machine, instruction, number, one, shared, outside, inside, combine)

    return step


# ------------------------------------------------------------------------------------------- operands
def _unlike(machine: ThreadMachine, instruction: Instruction, numbers: Array) -> Array:
    """The first thread of each warp that makes a copy: tileiras lets whole warps store one box, with equal operands."""
    held = [machine.threads.warp[numbers].astype("u8")]
    for operand in instruction.operands[:2]:
        assert isinstance(operand, PtxAddress)
        held.append(machine.address(operand, numbers, len(numbers)))
        for each in operand.coordinates:
            value = machine.threads.read(each, "u32", numbers).astype("u8")
            held.append(np.broadcast_to(value, numbers.shape))
    _, firsts = np.unique(np.stack(held), axis=1, return_index=True)
    return np.asarray(numbers[np.sort(firsts)])


def _sides(
    machine: ThreadMachine, instruction: Instruction, number: int, one: Array, *, loads: bool
) -> tuple[_Side, _Side, Array]:
    """The parts in shared and in global memory, and which of them lie in the array."""
    first, second, *rest = instruction.operands
    assert isinstance(first, PtxAddress)
    assert isinstance(second, PtxAddress)
    inner, outer = (first, second) if loads else (second, first)
    for address in (first, second):
        marks = machine.marks_of([address.base, *address.coordinates], one)
        machine.decides(instruction, number, marks, one, "the address of a copy")
    start = machine.address(inner, one, 1)
    if instruction.has("tensor"):
        found = tensor_map(machine, outer, one, instruction)
        corner = tuple(int(machine.threads.read(each, "s32", one).reshape(-1)[0]) for each in outer.coordinates)
        if len(corner) != found.rank:
            raise Unfollowed("a tensor map has another rank than its copy", instruction)
        if int(start[0]) % 128:
            raise Unfollowed("a box lies in shared memory at a place that is no multiple of 128", instruction)
        part, offsets, addresses, inside = box_places(found, corner, loads=loads)
        within = found.swizzled(start + offsets.astype("u8"))
    else:
        size = rest[0]
        count = int(machine.threads.read(size, "u32", one).reshape(-1)[0])
        if count % CHUNK or not 0 < count <= _MOST_BYTES:
            raise Unfollowed("a bulk copy has a size that is no multiple of 16", instruction)
        part, offsets = CHUNK, np.arange(0, count, CHUNK, dtype="u8")
        within, addresses = start + offsets, machine.address(outer, one, 1) + offsets
        inside = np.ones(len(offsets), "?")
    threads = np.repeat(one, len(within))
    space, places = machine.places("shared", within, part, threads)
    _, outside = machine.places("global", addresses[inside], part, threads[inside])
    return _Side(space, places, part), _Side(machine.memory, outside, part), inside


def tensor_map(machine: ThreadMachine, operand: PtxAddress, one: Array, instruction: Instruction) -> TensorMap[int]:
    address = int(machine.address(operand, one, 1)[0])
    data = machine.tensor_map(address)
    if data is None:
        raise Unfollowed("a tensor map is used that nobody made", instruction)
    try:
        return decoded(data)
    except UnknownTensorMap as error:
        raise Unfollowed(str(error), instruction) from None


def make_tensor_map(instruction: Instruction, number: int) -> Step:
    """``tensormap.cp_fenceproxy``: the one that stands in shared memory is put where copies find it.  Its bytes are
    kept by their address, and not in memory, as the room for them is the driver's."""
    target, source, size = instruction.operands
    if instruction.opcode[1] != "cp_fenceproxy" or size != Immediate(MAP_BYTES):
        raise Unfollowed(f"{instruction.name} is not known", instruction)
    assert isinstance(target, PtxAddress)
    assert isinstance(source, PtxAddress)

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        numbers = machine.numbers(lanes)
        _, firsts = np.unique(machine.threads.warp[numbers], return_index=True)
        for one in numbers[firsts].reshape(-1, 1):
            marks = machine.marks_of([target.base, source.base], one)
            machine.decides(instruction, number, marks, one, "the address of a tensor map")
            space, places = machine.places("shared", machine.address(source, one, 1), MAP_BYTES, one)
            time = machine.logged(space, number, one, places, MAP_BYTES, reads=True)
            marks = space.marked(places, MAP_BYTES)
            if (racy := machine.racy.get(time)) is not None:
                marks = racy * np.uint8(RACY) if marks is None else marks | racy * np.uint8(RACY)
            machine.decides(instruction, number, marks, one, "a tensor map")
            data = space.bytes[places[0] : places[0] + MAP_BYTES].tobytes()
            machine.tensor_maps[int(machine.address(target, one, 1)[0])] = data

    return step


def _combine(instruction: Instruction) -> str:
    found = next((part for part in instruction.opcode if part in COMBINE and part != "exch"), None)
    if found is None:
        raise Unfollowed(f"{instruction.name} is not known", instruction)
    return found


# ------------------------------------------------------------------------------------------- loads
def _load(
    machine: ThreadMachine, instruction: Instruction, number: int, one: Array, shared: _Side, outside: _Side,
    inside: Array,
) -> None:  # fmt: skip
    awaited = [each for each in instruction.operands[2:] if isinstance(each, PtxAddress)]
    if len(awaited) != 1 or "mbarrier::complete_tx::bytes" not in instruction.name:
        raise Unfollowed(f"{instruction.name} is not known", instruction)
    machine.decides(instruction, number, machine.marks_of([awaited[0].base], one), one, "a barrier's address")
    _, places = machine.places("shared", machine.address(awaited[0], one, 1), 8, one)
    barrier = machine.barrier_at(int(places[0]), machine.threads.warp[one], instruction, number)
    if barrier.column < 0:
        barrier.column = _column(machine, one, ("phases", int(places[0])))
    logged = _Logged(machine, number, one)
    time = logged.access(outside, barrier.column, barrier.phase, reads=True)
    data = np.zeros((len(inside), shared.part), "u1")
    data[inside] = outside.space.bytes[outside.places[:, None] + np.arange(outside.part)]
    shared.space.bytes[shared.places[:, None] + np.arange(shared.part)] = data
    marks = np.zeros(len(inside), "u1")
    marks[inside] = _marks(machine, outside, time)
    shared.space.mark(shared.places, shared.part, marks)
    logged.access(shared, barrier.column, barrier.phase, writes=True, values=data)
    barrier.complete(len(inside) * shared.part)


def _marks(machine: ThreadMachine, side: _Side, time: int) -> Array:
    """What is marked of what a copy reads."""
    held = side.space.marked(side.places, side.part)
    racy = machine.racy.get(time)
    found = np.zeros(len(side.places), "u1") if held is None else held
    return found if racy is None else found | racy * np.uint8(RACY)


def _column(machine: ThreadMachine, one: Array, whose: tuple[str, int]) -> int:
    try:
        return machine.clocks.column(int(machine.threads.block[one[0]]), whose)
    except TooManyCopies:
        raise Unfollowed("a block has too many barriers and groups of copies") from None


class _Logged:
    """The accesses of one copy, all of which know what its thread knows."""

    def __init__(self, machine: ThreadMachine, number: int, one: Array) -> None:
        thread = int(one[0])
        self.machine, self.number, self.thread = machine, number, thread
        self.row = machine.clocks.issued(thread, int(machine.threads.warp[thread]))

    def access(
        self, side: _Side, column: int, time: int, *, reads: bool = False, writes: bool = False,
        values: Array | None = None, atomic: bool = False,
    ) -> int:  # fmt: skip
        machine, count = self.machine, len(side.places)
        machine.time += 1
        if count:
            side.space.log.append(
                ThreadAccess(
                    self.number, machine.time, np.full(count, self.thread), side.places, side.part, reads, writes,
                    np.full(count, self.row), np.full(count, time), np.full(count, -1), atomic, atomic, values, column,
                )
            )  # fmt: skip
        return machine.time


# ------------------------------------------------------------------------------------------- stores
def _store(
    machine: ThreadMachine, instruction: Instruction, number: int, one: Array, shared: _Side, outside: _Side,
    inside: Array, combine: str | None,
) -> None:  # fmt: skip
    if "bulk_group" not in instruction.opcode:
        raise Unfollowed(f"{instruction.name} is not known", instruction)
    thread = int(one[0])
    group = machine.groups[thread] + 1
    logged = _Logged(machine, number, one)
    time = logged.access(shared, _column(machine, one, ("read", thread)), group, reads=True)
    marks = _marks(machine, shared, time)[inside]
    racy = marks & RACY
    if racy.any():
        machine.decides(instruction, number, np.array([RACY], "u1"), one, "what is stored")
    data = shared.space.bytes[shared.places[:, None] + np.arange(shared.part)][inside]
    if combine is not None:
        data = _combined(instruction, combine, outside, data)
        if (held := outside.space.marked(outside.places, outside.part)) is not None:
            marks = marks | held
    outside.space.bytes[outside.places[:, None] + np.arange(outside.part)] = data
    outside.space.mark(outside.places, outside.part, marks)
    column = _column(machine, one, ("written", thread))
    if combine is None:
        logged.access(outside, column, group, writes=True, values=data)
        return
    width = _element(instruction)[1]
    places = (outside.places[:, None] + np.arange(0, outside.part, width)).ravel()
    each = _Side(outside.space, places, width)
    logged.access(each, column, group, reads=True, writes=True, values=data.reshape(-1, width), atomic=True)


def _element(instruction: Instruction) -> tuple[str, int]:
    type_ = next((each for each in instruction.opcode if each in DTYPES or each == "bf16"), None)
    if type_ is None:
        raise Unfollowed(f"{instruction.name} is not known", instruction)
    return type_, 2 if type_ == "bf16" else DTYPES[type_].itemsize


def _combined(instruction: Instruction, combine: str, outside: _Side, data: Array) -> Array:
    """Of a reduction, what global memory holds behind it."""
    type_, _ = _element(instruction)
    old = outside.space.bytes[outside.places[:, None] + np.arange(outside.part)]
    function = COMBINE[combine]
    if type_ == "bf16":
        a, b = (from_bf16(np.ascontiguousarray(each).view("u2")) for each in (old, data))
        return np.ascontiguousarray(to_bf16(function(a, b))).view("u1").reshape(old.shape)
    a, b = (np.ascontiguousarray(each).view(DTYPES[type_]) for each in (old, data))
    return np.ascontiguousarray(function(a, b)).view("u1").reshape(old.shape)


def _commit(machine: ThreadMachine, lanes: Lanes) -> None:
    for thread in machine.numbers(lanes):
        machine.groups[int(thread)] += 1


def _wait(instruction: Instruction) -> Step:
    """``wait_group N``: all but the last ``N`` groups of a thread are over."""
    left = instruction.operands[0]
    if not isinstance(left, Immediate):
        raise Unfollowed(f"{instruction.name} is not known", instruction)
    whose = ("read",) if instruction.has("read") else ("read", "written")

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        for thread in machine.numbers(lanes):
            done = machine.groups[int(thread)] - left.bits
            if done > 0:
                block, warp = int(machine.threads.block[thread]), machine.threads.warp[[thread]]
                for what in whose:  # groups of threads that copy nothing are empty
                    column = machine.clocks.known_column(block, (what, int(thread)))
                    if column is not None:
                        machine.clocks.done(warp, column, done)

    return step


# ------------------------------------------------------------------------------------------- fences
def proxy_fence(instruction: Instruction, number: int) -> Step:
    """``fence.proxy.async``: of the space that it names, or of both."""
    spaces = [part.partition("::")[0] for part in instruction.opcode[3:]] or ["shared", "global"]

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        machine.clocks.fence(np.unique(machine.threads.warp[machine.numbers(lanes)]), spaces)

    return step


def tensor_commit(instruction: Instruction, number: int) -> Step:
    """``tcgen05.commit``: arrives at a barrier when products are done, which is at once here."""
    address = next((each for each in instruction.operands if isinstance(each, PtxAddress)), None)
    if address is None:
        raise Unfollowed(f"{instruction.name} is not known", instruction)
    mask = instruction.operands[1] if instruction.has("multicast::cluster") else None

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        numbers = machine.numbers(lanes)
        operands = [address.base] if mask is None else [address.base, mask]
        machine.decides(instruction, number, machine.marks_of(operands, lanes), lanes, "a barrier's address")
        addresses = machine.address(address, lanes, len(numbers))
        for thread, start in zip(numbers, addresses, strict=True):
            one = np.array([thread])
            known = machine.clocks.release(machine.threads.warp[one])
            reached = [start]
            if mask is not None:
                bits = int(np.broadcast_to(machine.threads.read(mask, "u16", one), (1,))[0])
                reached = [start | np.uint64(rank + 1 << RANK_BITS) for rank in range(16) if bits >> rank & 1]
            for each in reached:
                _, places = machine.places("shared", np.array([each], "u8"), 8, one)
                barrier = machine.barrier_at(int(places[0]), machine.threads.warp[one], instruction, number)
                barrier.arrive(1, known.copy())

    return step
