"""Compiled code beside its bytecode in one small launch, step by step.

    bytes    each block writes what the interpreter's block writes, and reads nothing that this one does not
    times    each element is updated by atomics, and touched by scoped accesses, as often
    order    what meets in a byte inside a block is ordered (`thread_races`), and each read sees the writes that tokens
             let it see: as many as before it in the bytecode
    scopes   scoped accesses order as much, and among as many (`both_runs`)
    values   memory holds the same after the launch, but for roundings

A read that races is none where its value is thrown away: many threads load an element that one of them stores.  So the
run is made again with the values of all racing reads marked, and only marks that reach an address, a condition, an
atomic or what is stored in an array are told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np

from ...frontend.bytecode.model import Op
from ..interpreter.access_log import BlockLog, DynamicAccess
from ..interpreter.values import OVERFLOWED, UNSPECIFIED
from .both_runs import CodeDifference, DifferenceKind, Reference, broken_hand_overs, machine_for, weaker_orders
from .machine.computed import from_eight_bits
from .machine.machine import ThreadMachine
from .machine.run import Hang, Stopped, WentOutside, run
from .machine.storage import UNKNOWN, Array, GlobalMemory, ThreadAccess, from_bf16
from .ptx import PtxEntry, PtxModule
from .thread_races import ThreadRace, races

MOST_TOLD: Final = 3
"""Differences of one kind that are told of one launch."""
ROOM: Final = {"f32": 1e-3, "tf32": 1e-2, "f64": 1e-6, "f16": 2e-2, "bf16": 5e-2, "f8e4m3": 0.15, "f8e5m2": 0.3}
"""How far values may be apart, of the larger one and of the largest in the array."""
_UNMADE: Final = {
    "a barrier": "a thread uses a barrier in shared memory that another one makes, and no barrier is between them",
    "a tensor map": "a copy uses a tensor map that threads have written, and no fence has made it known to copies",
}
_CLOSE: Final = 128
"""Bytes behind an array in which an access is told as one that goes over its end."""
WITH_OTHERS: Final = frozenset({"atom", "red"})


def compared(ptx: PtxModule, entry: PtxEntry, reference: Reference) -> list[CodeDifference]:
    """All differences that the launch shows; raises `Unfollowed` where it cannot tell."""
    machine = machine_for(ptx, entry, reference, reference.blocks)
    try:
        turns = machine.threads.block if _take_turns(entry, reference, machine.memory) else None
        run(machine, turns)
    except WentOutside as fault:
        return [_outside(fault, reference)]
    except Hang as fault:
        return [CodeDifference(DifferenceKind.HANGS, f"the launch does not end: {fault}")]
    except Stopped as fault:
        return [CodeDifference(DifferenceKind.STOPS, f"the launch is stopped: {fault}", (), (fault.instruction.line,))]
    found = [*_bytes(machine, reference), *_times(machine, reference)]
    found = found or [*weaker_orders(machine, reference), *broken_hand_overs(machine, reference)]
    found += _order(ptx, machine, reference, turns)
    if not found:
        found += [*_versions(machine, reference), *_values(machine, reference)]
    return found


def _outside(fault: WentOutside, reference: Reference) -> CodeDifference:
    """An access to memory of no array; where it lies close behind one, with this and the ops that touch its end."""
    address, said, ops = fault.outside.address, f"an access reaches {fault}", tuple[Op, ...]()
    before = [each for each in reference.bound.image.origins if each.base + each.size <= address]
    if fault.outside.space == "global" and before:
        array = max(before, key=lambda each: each.base + each.size)
        distance = address - array.base - array.size
        if distance < _CLOSE:
            said += f", {f'{distance} bytes' if distance else 'right'} behind the end of {array.name}"
            ops = tuple(op for log in reference.logs for op in _ops_at(log, array.base + array.size - 1))
    lines, copies = (fault.instruction.line,), fault.instruction.has("bulk")
    return CodeDifference(DifferenceKind.OUTSIDE, said, ops, lines, copies)


def _take_turns(entry: PtxEntry, reference: Reference, memory: GlobalMemory) -> bool:
    """Whether blocks hand values to each other, so that one has to be over before the next begins."""
    if any(each.opcode[0] in WITH_OTHERS or "relaxed" in each.opcode or "acquire" in each.opcode
           for each in entry.instructions):  # fmt: skip
        return True
    written = np.zeros(len(memory.bytes), "i4")
    for number, log in enumerate(reference.logs):
        for access in log.accesses:
            if access.writes is not None:
                _paint(written, memory, access.writes.runs, number + 1)
    return any(
        access.reads is not None and _touches_other(written, memory, access.reads.runs, number + 1)
        for number, log in enumerate(reference.logs)
        for access in log.accesses
    )


def _paint(image: Array, memory: GlobalMemory, runs: tuple[Array, Array], value: object) -> None:
    starts, ends = runs
    places = memory.places(starts.astype("u8"), 1, starts)
    for place, length in zip(places, ends - starts, strict=True):
        image[place : place + length] = value


def _touches_other(image: Array, memory: GlobalMemory, runs: tuple[Array, Array], mine: int) -> bool:
    starts, ends = runs
    places = memory.places(starts.astype("u8"), 1, starts)
    return any(
        bool(((image[place : place + length] != 0) & (image[place : place + length] != mine)).any())
        for place, length in zip(places, ends - starts, strict=True)
    )


# ------------------------------------------------------------------------------------------- bytes
def _bytes(machine: ThreadMachine, reference: Reference) -> Iterator[CodeDifference]:
    memory = machine.memory
    told: Counter[DifferenceKind] = Counter()
    for number, log in enumerate(reference.logs):
        reads, writes = (np.zeros(len(memory.bytes), "?") for _ in range(2))
        for access in log.accesses:
            for footprint, image in ((access.reads, reads), (access.writes, writes)):
                if footprint is not None:
                    _paint(image, memory, footprint.runs, True)
        mine_r, mine_w = (np.zeros(len(memory.bytes), "?") for _ in range(2))
        for mine, places in machine.by_block[number]:
            touched = (places[:, None] + np.arange(mine.bytes)).ravel()
            if mine.reads:
                mine_r[touched] = True
            if mine.writes:
                mine_w[touched] = True
        for kind, wrong, what in (
            (DifferenceKind.WRITES, mine_w & ~writes, "stores to {}, which it does not store to in the bytecode"),
            (DifferenceKind.WRITES, writes & ~mine_w, "does not store to {}, as it does in the bytecode"),
            (DifferenceKind.READS, mine_r & ~reads & ~writes, "loads {}, which it does not load in the bytecode"),
        ):
            if wrong.any() and told[kind] < MOST_TOLD:
                told[kind] += 1
                place = int(np.argmax(wrong))
                name = element_at(reference, memory, place)
                lines = tuple(_lines(machine, number, place))
                ops = tuple(_ops_at(log, memory.address(place)))
                yield CodeDifference(kind, f"block {log.block} {what.format(name)}", ops, lines)


def _lines(machine: ThreadMachine, number: int, place: int) -> Iterator[int]:
    seen: set[int] = set()
    for access, places in machine.by_block[number]:
        if ((places <= place) & (place < places + access.bytes)).any():
            line = machine.entry.instructions[access.number].line
            if line not in seen and len(seen) < MOST_TOLD:
                seen.add(line)
                yield line


def _ops_at(log: BlockLog, address: int) -> Iterator[Op]:
    """The ops of the bytecode that touch the byte, in their order, each once."""
    seen: set[int] = set()
    for access in log.accesses:
        for footprint in access.footprints:
            starts, ends = footprint.runs
            if ((starts <= address) & (address < ends)).any() and id(access.op) not in seen:
                seen.add(id(access.op))
                yield access.op


def element_at(reference: Reference, memory: GlobalMemory, place: int) -> str:
    """The element that the byte belongs to: ``out[3]``."""
    address, image = memory.address(place), reference.bound.image
    origin = image.origin_at(address)
    if origin < 0:
        return f"{address:#x}"
    known = image.origins[origin]
    return known.element(address - (address - known.base) % known.element_bytes)


# ------------------------------------------------------------------------------------------- times
def _times(machine: ThreadMachine, reference: Reference) -> Iterator[CodeDifference]:
    """Atomics once an element, scoped loads and stores once a block."""
    memory = machine.memory
    for number, log in enumerate(reference.logs):
        wanted: Counter[tuple[bool, int]] = Counter()
        ops: dict[tuple[bool, int], Op] = {}
        for access in log.accesses:
            if access.weak and access.kind != "atomic":
                continue
            atomic = access.kind == "atomic"
            addresses = np.concatenate([f.addresses() for f in access.footprints[:1]]).astype("u8")
            for place in memory.places(addresses, 1, addresses):
                wanted[atomic, int(place)] += 1
                ops.setdefault((atomic, int(place)), access.op)
        found: Counter[tuple[bool, int]] = Counter()
        lines: dict[tuple[bool, int], int] = {}
        for mine, places in machine.by_block[number]:
            if mine.atomic or mine.scoped:
                for key in _elements(mine, places, wanted):
                    found[key] += 1
                    lines.setdefault(key, machine.entry.instructions[mine.number].line)
        for key in sorted(wanted.keys() | found.keys()):
            if wanted[key] != found[key]:
                what = "an atomic updates" if key[0] else "a scoped access touches"
                name = element_at(reference, memory, key[1])
                text = f"in block {log.block} {what} {name} {_often(found[key])}, in the bytecode {_often(wanted[key])}"
                line = (lines[key],) if key in lines else ()
                yield CodeDifference(DifferenceKind.TIMES, text, (ops[key],) if key in ops else (), line)
                return


def _elements(mine: ThreadAccess, places: Array, wanted: Mapping[tuple[bool, int], int]) -> Iterator[tuple[bool, int]]:
    """Where each thread's access begins, and the elements behind that, where one access has several: ``f16`` in pairs,
    as ``st.relaxed.v4.b32`` stores them."""
    for place in places.tolist():
        for part in range(mine.bytes):
            key = mine.atomic, place + part
            if not part or key in wanted:
                yield key


def _often(count: int) -> str:
    return {0: "never", 1: "once"}.get(count, f"{count} times")


# ------------------------------------------------------------------------------------------- order
def _order(
    ptx: PtxModule, machine: ThreadMachine, reference: Reference, turns: Array | None
) -> Iterator[CodeDifference]:
    outside, inside, own = (
        races(each, machine.threads, machine.clocks) for each in (machine.memory, machine.shared, machine.own)
    )
    for race in outside.writes[:MOST_TOLD]:
        yield _of_race(machine, reference, race, "store other values to")
    for race in inside.writes[:1]:
        lines = tuple(machine.entry.instructions[each.number].line for each in (race.earlier, race.later))
        text = "two threads of a block store to the same place of shared memory, and no barrier is between them"
        yield CodeDifference(DifferenceKind.ORDER, text, (), lines)
    for use in machine.unmade[:1]:
        yield CodeDifference(DifferenceKind.ORDER, _UNMADE[use.what], (), (use.instruction.line,))
    racy = {**outside.reads, **inside.reads, **own.reads}
    if not racy:
        return
    again = machine_for(ptx, machine.entry, reference, reference.blocks)
    again.racy = racy
    run(again, turns)
    if not again.sinks:
        return
    for race in [each for each in outside.pairs if each.earlier.writes != each.later.writes][:MOST_TOLD]:
        yield _of_race(machine, reference, race, "load and store")
        return
    for race in [*inside.pairs[:1], *own.pairs[:1]][:1]:
        lines = tuple(machine.entry.instructions[each.number].line for each in (race.earlier, race.later))
        where = "shared memory" if inside.pairs else "a tensor map"
        text = f"two threads of a block meet in {where}, and no barrier is between them"
        yield CodeDifference(DifferenceKind.ORDER, text, (), lines)


def _of_race(machine: ThreadMachine, reference: Reference, race: ThreadRace, what: str) -> CodeDifference:
    log = reference.logs[int(machine.threads.block[race.first])]
    name = element_at(reference, machine.memory, race.place)
    lines = tuple(machine.entry.instructions[each.number].line for each in (race.earlier, race.later))
    ops = tuple(_ops_at(log, machine.memory.address(race.place)))
    earlier, later = race.earlier, race.later
    block, one, other = log.block, _verb(earlier), _verb(later)
    if earlier.copies >= 0:
        text = f"block {block} {one}s {name} by a bulk copy, and a later {other} does not wait until that is over"
    elif later.copies >= 0:
        text = f"block {block} {other}s {name} by a bulk copy, and an earlier {one} has no proxy fence behind it"
    else:
        text = f"two threads of block {block} {what} {name}, and no barrier is between them"
    return CodeDifference(DifferenceKind.ORDER, text, ops, lines, max(earlier.copies, later.copies) >= 0)


def _verb(access: ThreadAccess) -> str:
    return "store" if access.writes else "load"


def _versions(machine: ThreadMachine, reference: Reference) -> Iterator[CodeDifference]:
    """Each read sees as many writes of its block before it as some read in the bytecode does."""
    memory = machine.memory
    for number, log in enumerate(reference.logs):
        wanted, writes = _seen(((_touched(memory, a), a.reads is not None, a.writes is not None) for a in log.accesses),
                               len(memory.bytes))  # fmt: skip
        if not (writes > 0).any():
            continue
        mine = machine.by_block[number]
        found, written = _seen((((p[:, None] + np.arange(a.bytes)).ravel(), a.reads, a.writes) for a, p in mine),
                               len(memory.bytes))  # fmt: skip
        for place, version in sorted(found - wanted):
            if writes[place] == written[place]:
                name, lines = element_at(reference, memory, place), tuple(_lines(machine, number, place))
                text = (
                    f"in block {log.block} {name} is loaded after {_stores(version)} to it, in the bytecode it is not"
                )
                yield CodeDifference(DifferenceKind.ORDER, text, tuple(_ops_at(log, memory.address(place))), lines)
                return


def _stores(count: int) -> str:
    return "no store" if not count else "a store" if count == 1 else f"{count} stores"


def _touched(memory: GlobalMemory, access: DynamicAccess) -> Array:
    """The places that an access of the interpreter touches; where it reads and writes, the same."""
    parts = []
    for footprint in access.footprints:
        starts, ends = footprint.runs
        places = memory.places(starts.astype("u8"), 1, starts)
        parts += [np.arange(place, place + length) for place, length in zip(places, ends - starts, strict=True)]
    return np.concatenate(parts) if parts else np.zeros(0, "i8")


def _seen(accesses: Iterable[tuple[Array, bool, bool]], size: int) -> tuple[set[tuple[int, int]], Array]:
    """By place, how many writes reads see, and how many there are; nothing of places that are never written."""
    listed = list(accesses)
    total = np.zeros(size, "i4")
    for places, _, writes in listed:
        if writes:
            total[places] += 1  # once for a place that stands there twice
    so_far = np.zeros(size, "i4")
    found: set[tuple[int, int]] = set()
    for places, reads, writes in listed:
        if reads and not writes and len(known := places[total[places] > 0]):
            found.update(zip(known.tolist(), so_far[known].tolist(), strict=True))
        if writes:
            so_far[places] += 1
    return found, total


# ------------------------------------------------------------------------------------------- values
def _values(machine: ThreadMachine, reference: Reference) -> Iterator[CodeDifference]:
    memory, image = machine.memory, reference.bound.image
    written = np.zeros(len(memory.bytes), "?")
    for log in reference.logs:
        for access in log.accesses:
            if access.writes is not None:
                _paint(written, memory, access.writes.runs, True)
    for origin in image.origins:
        if not origin.size or origin.element_bytes not in (1, 2, 4, 8):
            continue
        place = int(memory.places(np.array([origin.base], "u8"), 1, np.zeros(1, "i8"))[0])
        where = slice(place, place + origin.size)
        if not written[where].any():
            continue
        kind = _element_type(reference, origin.name)
        size = origin.size // origin.element_bytes * origin.element_bytes
        offset = origin.base - image.allocations[origin.allocation].base
        theirs = reference.memory.bytes_of(origin.allocation)[offset : offset + size]
        taint = reference.memory.taint(origin.allocation, np.arange(offset, offset + size), 1)
        open_ = np.zeros(size, "?") if taint is None else taint & (UNSPECIFIED | OVERFLOWED) != 0
        if memory.marks is not None:
            open_ = open_ | (memory.marks[place : place + size] & UNKNOWN != 0)
        wrong = _apart(memory.bytes[place : place + size], theirs, kind, origin.element_bytes)
        wrong &= ~open_.reshape(-1, origin.element_bytes).any(axis=1)
        wrong &= written[place : place + size].reshape(-1, origin.element_bytes).any(axis=1)
        if wrong.any():
            first = int(np.argmax(wrong)) * origin.element_bytes
            name = element_at(reference, memory, place + first)
            mine, other = (
                _number(each[first : first + origin.element_bytes], kind)
                for each in (memory.bytes[place : place + size], theirs)
            )
            text = f"{name} is {mine}, in the bytecode {other}: one of {int(wrong.sum())} such elements"
            ops = [op for log in reference.logs for op in _ops_at(log, memory.address(place + first))]
            yield CodeDifference(DifferenceKind.VALUES, text, tuple(ops[:MOST_TOLD]))
            return


def _element_type(reference: Reference, name: str) -> str:
    return reference.types.get(name.partition("[")[0], "")


def _apart(mine: Array, theirs: Array, kind: str, width: int) -> Array:
    """Of each element whether its values are farther apart than roundings make them."""
    if kind not in ROOM:
        return np.asarray((mine.reshape(-1, width) != theirs.reshape(-1, width)).any(axis=1))
    a, b = (_floats(each, kind) for each in (mine, theirs))
    with np.errstate(all="ignore"):
        usual = np.abs(b[np.isfinite(b)]).max(initial=0.0)
        close = np.abs(a - b) <= ROOM[kind] * (np.maximum(np.abs(a), np.abs(b)) + usual)
        return np.asarray(~(close | (a == b) | (np.isnan(a) & np.isnan(b))))


def _floats(data: Array, kind: str) -> Array:
    if kind == "bf16":
        return from_bf16(np.ascontiguousarray(data).view("u2")).astype("f8")
    if kind.startswith("f8"):
        return from_eight_bits(data, kind.removeprefix("f8")).astype("f8")
    return np.ascontiguousarray(data).view({"f16": "f2", "f64": "f8"}.get(kind, "f4")).astype("f8")


def _number(data: Array, kind: str) -> str:
    if kind in ROOM:
        return f"{float(_floats(data, kind)[0]):g}"
    return str(int.from_bytes(data.tobytes(), "little", signed=kind.startswith("i")))
