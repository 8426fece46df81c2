"""Tensor maps that threads write, for arrays of which the host knows nothing.

A warp makes 128 bytes in shared memory, copies them into memory that its block has for itself, and acquires them there;
copies that it issues then may use them.  Before the place is written again, ``wait_group`` says that all copies have
read it.

    st.shared -> tensormap.cp_fenceproxy -> fence.proxy.tensormap::generic.acquire -> cp.async.bulk.tensor

PTX ISA 9.4, sections 9.7.13.4 (fence), 9.7.13.17 (copy) and 9.7.9.25 (wait).
"""

from __future__ import annotations

import numpy as np

from ..ptx.model import Immediate, Instruction, PtxAddress
from .machine import Sink, Step, ThreadMachine, Unfollowed
from .tensor_maps import MAP_BYTES
from .threads import RACY, WARP, Lanes
from .types import Array


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
