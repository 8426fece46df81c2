"""Copies that the hardware makes by itself: ``cp.async.bulk``, of boxes of tensor maps and of runs of bytes.

A copy is made at once where it is issued, and its accesses are logged as ones that nobody knows of before it is waited
for (`machine`): a load until the phase of its barrier is over, a store until ``wait_group`` says that its bytes are
written, or ``wait_group.read`` that they are read.  PTX ISA 9.4, sections 9.7.9.25 to 9.7.9.27.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from ..hidden_parameters import CHUNK, MAP_BYTES, TensorMap, UnknownTensorMap, box_places, decoded
from ..ptx import Immediate, Instruction, PtxAddress
from .machine import Sink, Step, ThreadMachine, TooManyCopies, Unfollowed
from .storage import DTYPES, RACY, RANK_BITS, WARP, Array, Lanes, Outside, Space, ThreadAccess, from_bf16, to_bf16
from .transfers import COMBINE

_MOST_BYTES: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a copy: parts of so many bytes, at ``places`` of a space.  ``kind``: of elements, where a tensor map
    says that."""

    space: Space
    places: Array
    part: int
    kind: str = ""


def bulk(instruction: Instruction, number: int) -> Step:
    """Any instruction that begins with ``cp.async.bulk`` or ``cp.reduce.async.bulk``."""
    parts = instruction.opcode
    if "commit_group" in parts:
        return _commit
    if "wait_group" in parts:
        return _wait(instruction)
    if "prefetch" in parts:
        return lambda machine, lanes: None
    if {"im2col", "tile::gather4", "tile::scatter4", "cp_mask"} & set(parts):
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
    start, kind = machine.address(inner, one, 1), ""
    if instruction.has("tensor"):
        found = _tensor_map(machine, instruction, number, outer, one)
        corner = tuple(int(machine.threads.read(each, "s32", one).reshape(-1)[0]) for each in outer.coordinates)
        if len(corner) != found.rank:
            raise Unfollowed("a tensor map has another rank than its copy", instruction)
        if int(start[0]) % 128:
            raise Unfollowed("a box lies in shared memory at a place that is no multiple of 128", instruction)
        kind = found.kind
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
    return _Side(space, places, part), _Side(machine.memory, outside, part, kind), inside


def _tensor_map(
    machine: ThreadMachine, instruction: Instruction, number: int, operand: PtxAddress, one: Array
) -> TensorMap[int]:  # fmt: skip
    address = machine.address(operand, one, 1)
    data = machine.hidden(int(address[0]))
    if data is None:
        place, data = written_map(machine, address, one, instruction, number)
        side, thread = _Side(machine.own, np.array([place]), MAP_BYTES), int(one[0])
        column = _column(machine, one, ("described", thread))
        time = _Logged(machine, number, one).access(side, column, machine.groups[thread] + 1, reads=True)
        machine.decides(instruction, number, _marks(machine, side, time), one, "the tensor map of a copy")
    try:
        return decoded(data)
    except UnknownTensorMap as error:
        raise Unfollowed(str(error), instruction) from None


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
    """Into each block that the instruction names, at whose barrier it completes with all bytes of the box.  That its
    source is read is told by the first of these barriers alone."""
    awaited = [each for each in instruction.operands[2:] if isinstance(each, PtxAddress)]
    if len(awaited) != 1 or "mbarrier::complete_tx::bytes" not in instruction.name:
        raise Unfollowed(f"{instruction.name} is not known", instruction)
    machine.decides(instruction, number, machine.marks_of([awaited[0].base], one), one, "a barrier's address")
    _, named = machine.places("shared", machine.address(awaited[0], one, 1), 8, one)
    logged, window, warp = _Logged(machine, number, one), machine.shared.size, machine.threads.warp[one]
    reached = _reached(machine, instruction, number, one, int(shared.places[0]), int(named[0]))
    barriers = [machine.barrier_at(int(named[0]) + at * window, warp, instruction, number) for _, at in reached]
    for barrier, (_, at) in zip(barriers, reached, strict=True):
        if barrier.column < 0:
            barrier.column = _column(machine, one, ("phases", int(named[0]) + at * window))
    if not reached:
        return
    time = logged.access(outside, barriers[0].column, barriers[0].phase, reads=True)
    data = np.zeros((len(inside), shared.part), "u1")
    data[inside] = outside.space.bytes[outside.places[:, None] + np.arange(outside.part)]
    marks = np.zeros(len(inside), "u1")
    marks[inside] = _marks(machine, outside, time)
    for barrier, (to, _) in zip(barriers, reached, strict=True):
        side = _Side(shared.space, shared.places + to * window, shared.part)
        side.space.bytes[side.places[:, None] + np.arange(side.part)] = data
        side.space.mark(side.places, side.part, marks)
        logged.access(side, barrier.column, barrier.phase, writes=True, values=data)
        barrier.complete(len(inside) * side.part)


def _reached(
    machine: ThreadMachine, instruction: Instruction, number: int, one: Array, place: int, barrier: int
) -> list[tuple[int, int]]:  # fmt: skip
    """Of each block that gets the bytes, how many blocks behind ``place`` they lie, and how many behind ``barrier`` the
    one that they complete at.

    A copy to several blocks completes at the barrier of each; with ``cta_group::2`` at that of the pair's even block,
    or of its odd one, as the named barrier lies."""
    window, cluster = machine.shared.size, machine.entry.cluster
    to, at = place // window % cluster, barrier // window % cluster
    pairs = instruction.has("cta_group::2")
    if not instruction.has("multicast::cluster"):
        if to // 2 != at // 2 or (to != at and not pairs):
            raise Unfollowed("a copy completes at a barrier of another block", instruction)
        return [(0, 0)]
    after = next(n for n, each in enumerate(instruction.operands) if n > 1 and isinstance(each, PtxAddress))
    mask = instruction.operands[after + 1]
    machine.decides(instruction, number, machine.marks_of([mask], one), one, "which blocks get a copy")
    bits = int(np.broadcast_to(machine.threads.read(mask, "u16", one), (1,))[0])
    ranks = [rank for rank in range(16) if bits >> rank & 1]
    if any(rank >= cluster for rank in ranks):
        raise Outside("shared", int(one[0]), max(ranks) << RANK_BITS, 1)
    return [(rank - to, (rank & ~1 | at & 1 if pairs else rank) - at) for rank in ranks]


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
    width = _element(instruction, outside)[1]
    places = (outside.places[:, None] + np.arange(0, outside.part, width)).ravel()
    each = _Side(outside.space, places, width)
    logged.access(each, column, group, reads=True, writes=True, values=data.reshape(-1, width), atomic=True)


def _element(instruction: Instruction, outside: _Side) -> tuple[str, int]:
    type_ = next((each for each in instruction.opcode if each in DTYPES or each == "bf16"), outside.kind)
    if type_ not in DTYPES and type_ != "bf16":
        raise Unfollowed(f"{instruction.name} is not known", instruction)
    return type_, 2 if type_ == "bf16" else DTYPES[type_].itemsize


def _combined(instruction: Instruction, combine: str, outside: _Side, data: Array) -> Array:
    """Of a reduction, what global memory holds behind it."""
    type_, _ = _element(instruction, outside)
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
    both = ("read",) if instruction.has("read") else ("read", "written")

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        whose = (*both, "described") if machine.entry.block_memory else both
        for thread in machine.numbers(lanes):
            done = machine.groups[int(thread)] - left.bits
            if done > 0:
                warp, block = machine.threads.warp[[thread]], int(machine.threads.block[thread])
                for what in whose:
                    machine.clocks.done(block, (what, int(thread)), warp, done)

    return step


# ------------------------------------------------------------------------------------------- fences
def proxy_fence(instruction: Instruction, number: int) -> Step:
    """``fence.proxy.async``: of the space that it names, or of both."""
    spaces = [part.partition("::")[0] for part in instruction.opcode[3:]] or ["shared", "global"]

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        machine.clocks.fence(np.unique(machine.threads.warp[machine.numbers(lanes)]), spaces)

    return step


def made_fence(instruction: Instruction, number: int) -> Step:
    """``fence.mbarrier_init.release.cluster``: of the barriers that the same thread has made."""

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        numbers = machine.numbers(lanes)
        makers = {each.thread for each in machine.mbarriers.values()} - set(numbers.tolist())
        warps = np.unique(machine.threads.warp[numbers])
        machine.clocks.tell_made(warps[~np.isin(warps, machine.threads.warp[sorted(makers)])])

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
                within = int(start) & (1 << RANK_BITS) - 1
                reached = [np.uint64(within | rank << RANK_BITS) for rank in range(16) if bits >> rank & 1]
            for each in reached:
                _, places = machine.places("shared", np.array([each], "u8"), 8, one)
                barrier = machine.barrier_at(int(places[0]), machine.threads.warp[one], instruction, number)
                barrier.arrive(1, known.copy())

    return step


# ---------------------------------------------------------------------------------------------------------- map updates
# Tensor maps that threads write, for arrays of which the host knows nothing.
#
# A warp makes 128 bytes in shared memory, copies them into memory that its block has for itself, and acquires them
# there; copies that it issues then may use them.  Before the place is written again, ``wait_group`` says that all
# copies have read it.
#
#     st.shared -> tensormap.cp_fenceproxy -> fence.proxy.tensormap::generic.acquire -> cp.async.bulk.tensor
#
# PTX ISA 9.4, sections 9.7.13.4 (fence), 9.7.13.17 (copy) and 9.7.9.25 (wait).


def copy_map(instruction: Instruction, number: int) -> Step:
    """``tensormap.cp_fenceproxy.global.shared::cta ... .sync.aligned [to], [from], 128``: once for each warp."""
    target, source, size = (*instruction.operands, None, None, None)[:3]
    known = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release."
    if (
        not instruction.name.startswith(known)
        or not isinstance(target, PtxAddress)
        or not isinstance(source, PtxAddress)
        or size != Immediate(MAP_BYTES)
    ):
        raise Unfollowed(f"{instruction.name} is not known", instruction)

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        firsts = machine.numbers(lanes)[::WARP]
        for address in (target, source):
            marks = machine.marks_of([address.base], lanes)
            machine.decides(instruction, number, marks, lanes, "the address of a tensor map")
        places = _place(machine, target, lanes, instruction)
        shared, sources = machine.places("shared", _alike(machine, source, lanes, instruction), MAP_BYTES, firsts)
        time = machine.logged(shared, number, firsts, sources, MAP_BYTES, reads=True)
        data = shared.bytes[sources[:, None] + np.arange(MAP_BYTES)]
        marks = shared.marked(sources, MAP_BYTES)
        racy = machine.racy.get(time)
        if racy is not None:
            marks = racy * np.uint8(RACY) if marks is None else marks | racy * np.uint8(RACY)
        machine.own.bytes[places[:, None] + np.arange(MAP_BYTES)] = data
        machine.own.mark(places, MAP_BYTES, marks)
        machine.logged(machine.own, number, firsts, places, MAP_BYTES, writes=True, values=data)
        for place in places:
            machine.maps[int(place)] = []

    return step


def acquire_map(instruction: Instruction, number: int) -> Step:
    """``fence.proxy.tensormap::generic.acquire.gpu [map], 128``."""
    address, size = (*instruction.operands, None, None)[:2]
    if "acquire" not in instruction.opcode:
        return lambda machine, lanes: None
    if not isinstance(address, PtxAddress) or size != Immediate(MAP_BYTES):
        raise Unfollowed(f"{instruction.name} is not known", instruction)

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        numbers = machine.numbers(lanes)
        marks = machine.marks_of([address.base], lanes)
        machine.decides(instruction, number, marks, lanes, "the address of a tensor map")
        _, places = machine.places("global", machine.address(address, lanes, len(numbers)), MAP_BYTES, numbers)
        warps, clocks = machine.threads.warp[numbers], machine.clocks
        for place, warp in {*zip(places.tolist(), warps.tolist(), strict=True)}:
            if place in machine.maps:
                machine.maps[place].append((warp, int(clocks.own[warp])))
        clocks.own[np.unique(warps)] += 1

    return step


def written_map(
    machine: ThreadMachine, address: Array, one: Array, instruction: Instruction, number: int
) -> tuple[int, bytes]:  # fmt: skip
    """The place and the bytes of a map in the memory of the block of thread ``one``, noted in ``unmade`` where no fence
    that the thread knows of has made it known to copies."""
    space, places = machine.places("global", address, MAP_BYTES, one)
    place, warp, clocks = int(places[0]), int(machine.threads.warp[one[0]]), machine.clocks
    if space is not machine.own or place not in machine.maps:
        raise Unfollowed("a tensor map lies elsewhere than in a parameter", instruction)
    known = clocks.rows[clocks.row[warp]]
    if not any(mine == warp or known[mine % clocks.warps] >= time for mine, time in machine.maps[place]):
        machine.unmade.append(Sink(instruction, number, int(one[0]), "a tensor map"))
    return place, space.bytes[place : place + MAP_BYTES].tobytes()


def _alike(machine: ThreadMachine, operand: PtxAddress, lanes: Lanes, instruction: Instruction) -> Array:
    """The address that all threads of a warp name, one for each warp."""
    addresses = machine.address(operand, lanes, len(machine.numbers(lanes))).reshape(-1, WARP)
    if (addresses != addresses[:, :1]).any():
        raise Unfollowed("threads of a warp name different tensor maps", instruction)
    return addresses[:, 0]


def _place(machine: ThreadMachine, operand: PtxAddress, lanes: Lanes, instruction: Instruction) -> Array:
    firsts = machine.numbers(lanes)[::WARP]
    space, places = machine.places("global", _alike(machine, operand, lanes, instruction), MAP_BYTES, firsts)
    if space is not machine.own or (places % MAP_BYTES).any():
        raise Unfollowed("a tensor map is written into an array", instruction)
    return places
