"""What the machine holds: registers, one array for each; global, shared and local memory; and the log of accesses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ....contract.launch import Block
from ..ptx import Immediate, Negated, Operand, PtxEntry, PtxSymbol, Register

Array: TypeAlias = npt.NDArray[Any]

UNSIGNED: Final[dict[int, np.dtype[Any]]] = {1: np.dtype("u1"), 2: np.dtype("u2"), 4: np.dtype("u4"), 8: np.dtype("u8")}
DTYPES: Final[dict[str, np.dtype[Any]]] = {
    **{f"{kind}{8 * width}": np.dtype(f"u{width}") for kind in "bu" for width in (1, 2, 4, 8)},
    **{f"s{8 * width}": np.dtype(f"i{width}") for width in (1, 2, 4, 8)},
    "f16": np.dtype("f2"), "f32": np.dtype("f4"), "f64": np.dtype("f8"), "pred": np.dtype("?"),
}  # fmt: skip
"""``bf16`` and packed types have no type of NumPy; their rules work on the bits."""


def width(type_: str) -> int:
    """Bytes of a value: of ``b32`` 4, of ``f16x2`` 4."""
    if type_ in DTYPES:
        return DTYPES[type_].itemsize
    return {"bf16": 2, "f16x2": 4, "bf16x2": 4, "b128": 16}[type_]


def storage(type_: str) -> np.dtype[Any]:
    """What a register of this type is kept in."""
    return np.dtype(DTYPES["pred"] if type_ == "pred" else UNSIGNED[width(type_)])


def from_bf16(bits: Array) -> Array:
    return (bits.astype("u4") << np.uint32(16)).view("f4")


def to_bf16(values: Array) -> Array:
    """The bits of float32 values, rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(values, "f4").view("u4")
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), np.uint32(0x7FFF), rounded).astype("u2")


# -------------------------------------------------------------------------------------------------------------- threads
# The threads of a launch, and what their registers hold: one array for each register, one element for each thread.
#
# thread = ((block * blocks of a cluster) + rank) * threads + tid        warp = thread // 32
#
# A block of the bytecode is a whole cluster where the entry says so (``.reqnctapercluster``): ``rank`` is the place in
# it, ``cta`` the block of the hardware, which has shared memory and barriers of its own.


WARP: Final = 32
UNSET: Final = 0x7FFA_BAD0_7FFA_BAD0
"""What registers hold that nobody set: no number as a float, no address of anything."""
RACY, UNKNOWN = 1, 2
"""Marks of values: read where another thread may have written by then, or made by something that is not followed."""

_SINK: Final = PtxSymbol("_")
"""Where a result goes that nobody wants."""

Lanes: TypeAlias = "slice | Array"
"""Threads that execute an instruction together: all of them, or their numbers."""
ALL: Final = slice(None)


@dataclass
class Threads:
    """All threads of ``blocks``, each block with ``size`` threads, in as many parts as a cluster has.  ``own_memory``:
    bytes from the global memory of one part to that of the next (``%perctamemoryoffset``)."""

    entry: PtxEntry
    grid: Block
    blocks: Sequence[Block]
    symbols: dict[str, int]
    values: dict[str, Array] = field(default_factory=dict)
    marks: dict[str, Array] = field(default_factory=dict)
    own_memory: int = 0

    @property
    def size(self) -> int:
        return self.entry.threads * self.entry.cluster

    @property
    def count(self) -> int:
        return len(self.blocks) * self.size

    @cached_property
    def numbers(self) -> Array:
        return np.arange(self.count)

    @cached_property
    def tid(self) -> Array:
        return (self.numbers % self.entry.threads).astype("u4")

    @cached_property
    def cta(self) -> Array:
        return self.numbers // self.entry.threads

    @cached_property
    def rank(self) -> Array:
        return (self.cta % self.entry.cluster).astype("u4")

    @cached_property
    def block(self) -> Array:
        """The place of each thread's block in ``blocks``."""
        return self.numbers // self.size

    @cached_property
    def warp(self) -> Array:
        return self.numbers // WARP

    @cached_property
    def lane(self) -> Array:
        return (self.numbers % WARP).astype("u4")

    @cached_property
    def shared(self) -> frozenset[str]:
        """The names of variables in shared memory."""
        return frozenset(each.name for each in self.entry.variables if each.space == "shared")

    def place(self, symbol: str, lanes: Lanes) -> Array:
        """The address of a symbol: one for all threads, or in clusters one for each, in its block's shared memory."""
        address = np.asarray(self.symbols[symbol], "u8")
        if self.entry.cluster == 1 or symbol not in self.shared:
            return address
        return np.asarray(address | self.rank[lanes].astype("u8") << np.uint64(RANK_BITS))

    # --------------------------------------------------------------------------------------- registers
    def register(self, name: str) -> Array:
        found = self.values.get(name)
        if found is None:
            dtype = storage(self.entry.type_of(name))
            fill = False if dtype.kind == "b" else UNSET & ((1 << 8 * dtype.itemsize) - 1)
            found = self.values[name] = np.full(self.count, fill, dtype)
        return found

    def read(self, operand: Operand, type_: str, lanes: Lanes) -> Array:
        """The operand as the type has it; of a wider register the low bits, of a narrower one with zeros."""
        return reader(operand, type_, self.entry)(self, lanes)

    def write(self, operand: Operand | None, value: Array, lanes: Lanes) -> None:
        """A wider register gets the sign of a signed value, or zeros."""
        if not isinstance(operand, Register):
            assert operand is None or operand == _SINK
            return
        held = self.register(operand.name)
        if value.dtype != held.dtype:
            if value.dtype.kind == "b" or held.dtype.kind == "b":
                value = value.astype(held.dtype)
            elif value.dtype.itemsize == held.dtype.itemsize:
                value = value.view(held.dtype)
            else:
                if value.dtype.kind == "f":
                    value = value.view(f"u{value.dtype.itemsize}")
                signed = value.dtype.kind == "i"
                value = value.astype(f"{'i' if signed else 'u'}{held.dtype.itemsize}").view(held.dtype)
        held[lanes] = value

    def special(self, name: str) -> Array:
        """Of a special register."""
        known = self.values.get(name)
        if known is None:
            make = _ALONE.get(name)
            known = self.values[name] = self._made(name) if make is None else make(self)
            if name in _ANYTHING:
                self.marks[name] = np.full(self.count, UNKNOWN, "u1")
        return known

    def _made(self, name: str) -> Array:
        axis = {"x": 0, "y": 1, "z": 2}.get(name[-1], 0)
        places = np.array(self.blocks, "u4")[:, axis][self.block]
        along = self.entry.cluster if axis == 0 else 1
        match name.removesuffix(".x").removesuffix(".y").removesuffix(".z"):
            case "%tid":
                return self.tid if axis == 0 else np.zeros(self.count, "u4")
            case "%clusterid":
                return np.asarray(places)
            case "%ctaid":
                return np.asarray(places * np.uint32(along) + self.rank * np.uint32(axis == 0))
            case "%nclusterid":
                return np.full(self.count, self.grid[axis], "u4")
            case "%nctaid":
                return np.full(self.count, self.grid[axis] * along, "u4")
            case "%ntid":
                return np.full(self.count, self.entry.threads if axis == 0 else 1, "u4")
            case "%cluster_ctaid" | "%cluster_ctarank":
                return self.rank if axis == 0 else np.zeros(self.count, "u4")
            case "%cluster_nctaid" | "%cluster_nctarank":
                return np.full(self.count, along, "u4")
        raise LookupError(name)


_ALONE: Final[Mapping[str, Callable[[Threads], Array]]] = {
    "%laneid": lambda threads: threads.lane,
    "%warpid": lambda threads: (threads.tid // WARP).astype("u4"),
    "%perctamemoryoffset": lambda threads: (BLOCK_START + threads.cta * threads.own_memory).astype("u8"),
    **dict.fromkeys(("%SP", "%SPL"), lambda threads: np.zeros(threads.count, "u8")),
    **dict.fromkeys(("%smid", "%nsmid"), lambda threads: np.zeros(threads.count, "u4")),
}
"""Special registers without a direction."""
_ANYTHING: Final = frozenset({"%smid", "%nsmid"})
"""Where the hardware puts a block: what hangs on it is not followed."""
_SPECIAL: Final = frozenset(
    {f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid",
                                     "cluster_nctaid") for axis in "xyz"}
    | {"%cluster_ctarank", "%cluster_nctarank", *_ALONE}
)  # fmt: skip


def reader(operand: Operand, type_: str, entry: PtxEntry) -> Callable[[Threads, Lanes], Array]:
    """Reads the operand as `Threads.read` does."""
    wanted = DTYPES[type_]
    if isinstance(operand, Immediate):
        constant = _constant(operand, type_)
        return lambda threads, lanes: constant
    if isinstance(operand, PtxSymbol):
        bits = f"u{width(type_)}"
        return lambda threads, lanes: threads.place(operand.name, lanes).astype(bits).view(wanted)
    if isinstance(operand, Negated):
        name = operand.register.name
        return lambda threads, lanes: np.asarray(~threads.register(name)[lanes])
    assert isinstance(operand, Register)
    name = operand.name
    if name in _SPECIAL:
        return lambda threads, lanes: _as(threads.special(name)[lanes], wanted)
    if storage(entry.type_of(name)) == wanted:
        return lambda threads, lanes: threads.register(name)[lanes]
    return lambda threads, lanes: _as(threads.register(name)[lanes], wanted)


def _as(held: Array, wanted: np.dtype[Any]) -> Array:
    if held.dtype == wanted:
        return held
    if held.dtype.kind == "b" or wanted.kind == "b":
        return held.astype(wanted)
    if held.dtype.itemsize != wanted.itemsize:
        held = held.astype(f"u{wanted.itemsize}")
    return held.view(wanted)


def _constant(operand: Immediate, type_: str) -> Array:
    if operand.floating:
        bits = np.asarray(operand.bits, f"u{operand.floating // 8}")
        return (
            bits.view(f"f{operand.floating // 8}").astype(DTYPES[type_])
            if type_[0] == "f"
            else bits.view(DTYPES[type_])
        )
    if type_ == "pred":
        return np.asarray(bool(operand.bits))
    bytes_ = width(type_)
    return np.asarray(operand.bits & ((1 << 8 * bytes_) - 1), f"u{bytes_}").view(DTYPES[type_])


# --------------------------------------------------------------------------------------------------------------- memory
# Global, shared and local memory of a launch, and the log of what threads touched in it.
#
# An address of global memory lies in one of the launch's allocations; what lies in none is a fault.  Shared memory is a
# window for each block, local memory one for each thread.


ALIGNMENT: Final = 1024
SHARED_START: Final = 1024
"""Where the first variable lies in shared memory; the system has what is before it."""


RANK_BITS: Final = 24
"""An address in shared memory has above these the rank of the block of the cluster that it belongs to: what tileiras
makes clears the lowest of them to reach the first block of a pair."""
BLOCK_START: Final = 0x7D00_0000_0000
"""Where the global memory lies that each block has for itself, behind all arrays."""
LOCAL_START: Final = 0x7E00_0000_0000
"""Where local memory lies among generic addresses, behind all arrays."""


class Outside(Exception):
    """Threads reach memory that is not theirs: ``address`` is the first one, of ``thread``."""

    def __init__(self, space: str, thread: int, address: int, bytes_: int) -> None:
        super().__init__(f"{bytes_} bytes of {space} memory at {address:#x}")
        self.space, self.thread, self.address = space, thread, address


@dataclass(frozen=True, slots=True)
class ThreadAccess:
    """One execution of an instruction by ``threads``, each of which touches ``bytes`` from its place in ``places``.

    ``number``: of the instruction; ``time``: the how manieth access this is; places count through the whole space.
    ``clock``: of each thread, the row of its warp's knowledge (`machine`), ``own``: its warp's own time, ``met``:
    that in which the warp had met before.
    ``scoped``: of an order or a scope.  ``values``: the bytes that each thread writes.
    ``copies``: where the hardware copies by itself, the column in which its time ``own`` counts.
    """

    number: int
    time: int
    threads: Array
    places: Array
    bytes: int
    reads: bool
    writes: bool
    clock: Array
    own: Array
    met: Array
    atomic: bool = False
    scoped: bool = False
    values: Array | None = None
    copies: int = -1


@dataclass
class Space:
    """Memory as one run of bytes, with a mark for each byte where some are marked."""

    name: str
    bytes: Array
    log: list[ThreadAccess] = field(default_factory=list)
    marks: Array | None = None

    def read(self, places: Array, dtype: np.dtype[np.generic]) -> Array:
        width = dtype.itemsize
        if width == 1:
            return np.asarray(self.bytes[places].view(dtype))
        if not (places % width).any():
            return np.asarray(self.bytes.view(dtype)[places // width])
        return np.asarray(np.ascontiguousarray(self.bytes[places[:, None] + np.arange(width)]).view(dtype)[:, 0])

    def write(self, places: Array, values: Array) -> None:
        width = values.dtype.itemsize
        if not (places % width).any():
            self.bytes.view(values.dtype)[places // width] = values
        else:
            self.bytes[places[:, None] + np.arange(width)] = np.ascontiguousarray(values)[:, None].view("u1")

    def marked(self, places: Array, width: int) -> Array | None:
        if self.marks is None:
            return None
        return np.asarray(np.bitwise_or.reduce(self.marks[places[:, None] + np.arange(width)], axis=1))

    def mark(self, places: Array, width: int, marks: Array | None) -> None:
        if self.marks is None:
            if marks is None or not marks.any():
                return
            self.marks = np.zeros(len(self.bytes), "u1")
        given = np.zeros(len(places), "u1") if marks is None else marks
        self.marks[places[:, None] + np.arange(width)] = given[:, None]


class GlobalMemory(Space):
    """Allocations one behind the other; ``bases`` are their addresses, in ascending order."""

    def __init__(self, allocations: Sequence[tuple[int, Array]]) -> None:
        ordered = sorted(allocations, key=lambda each: each[0])
        self.bases = np.array([base for base, _ in ordered], "u8")
        self.sizes = np.array([len(data) for _, data in ordered], "i8")
        rounded = -(-self.sizes // ALIGNMENT) * ALIGNMENT
        self.starts = np.concatenate(([0], np.cumsum(rounded)))[:-1].astype("i8")
        whole = np.zeros(int(rounded.sum()) or ALIGNMENT, "u1")
        for (_, data), start in zip(ordered, self.starts, strict=True):
            whole[start : start + len(data)] = data
        super().__init__("global", whole)

    def places(self, addresses: Array, width: int, threads: Array) -> Array:
        number = np.searchsorted(self.bases, addresses, "right").astype("i8") - 1
        inside = np.maximum(number, 0)
        offsets = (addresses - self.bases[inside]).astype("i8")
        wrong = (number < 0) | (offsets < 0) | (offsets > self.sizes[inside] - width)
        if wrong.any():
            first = int(np.argmax(wrong))
            raise Outside("global", int(threads[first]), int(addresses[first]), width)
        return np.asarray(self.starts[inside] + offsets)

    def address(self, place: int) -> int:
        number = int(np.searchsorted(self.starts, place, "right")) - 1
        return int(self.bases[number]) + place - int(self.starts[number])


class Windows(Space):
    """A window of ``size`` bytes for each of ``count`` owners, from address ``start``; rounded up unless ``exact``."""

    def __init__(self, name: str, count: int, size: int, start: int = 0, *, exact: bool = False) -> None:
        self.size = -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
        self.limit = size if exact else self.size
        self.start = start
        super().__init__(name, np.zeros(count * self.size, "u1"))

    def places(self, addresses: Array, width: int, owners: Array, threads: Array) -> Array:
        offsets = addresses.astype("i8") - self.start
        wrong = (offsets < 0) | (offsets > self.limit - width)
        if wrong.any():
            first = int(np.argmax(wrong))
            raise Outside(self.name, int(threads[first]), int(addresses[first]), width)
        return np.asarray(owners * self.size + offsets)
