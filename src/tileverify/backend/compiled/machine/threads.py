"""The threads of a launch, and what their registers hold: one array for each register, one element for each thread.

thread = ((block * blocks of a cluster) + rank) * threads + tid        warp = thread // 32

A block of the bytecode is a whole cluster where the entry says so (``.reqnctapercluster``): ``rank`` is the place in
it, ``cta`` the block of the hardware, which has shared memory and barriers of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np

from ....contract.concrete import Block
from ..ptx.model import Immediate, Negated, Operand, PtxEntry, PtxSymbol, Register
from .memory import BLOCK_START, RANK_BITS
from .types import DTYPES, Array, storage, width

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
