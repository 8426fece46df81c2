"""Runtime values, what a block does with poison and at undefined behaviour, and what ends its run early.

Carriers: i1 is ``bool``; i4 and i8 ``uint8`` (i4 below 16); i16, i32, i64 the unsigned type of their width, so that
NumPy's wrapping is the machine's; f64 ``float64``; every narrower float ``float32`` holding representable values only;
pointers ``uint64`` byte addresses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...frontend.bytecode.model import (
    GatherScatterViewType,
    Op,
    PartitionViewType,
    PointerType,
    ScalarType,
    StridedViewType,
    TileType,
)
from ...results.codes import TV

Array: TypeAlias = NDArray[Any]

UNSPECIFIED: Final = 1
"""The specification leaves the value open: a masked lane without a pad, a clipped lane of a view without padding."""
APPROXIMATE: Final = 2
"""The value may differ from the device's in its last bits."""
INTERLEAVED: Final = 4
"""The value depends on how blocks (or the lanes of one atomic) are interleaved."""
OVERFLOWED: Final = 8
"""The result of an ``offset`` whose arithmetic overflowed."""
LEFT_OUT: Final = 16
"""The value was not computed, as the run is about addresses alone (`Program.left_out`)."""
NOT_GIVEN: Final = 32
"""What memory holds when the launch begins, or a float scalar, which the launch does not say (`Memory.forget`)."""

MACHINE_TAINT: Final = UNSPECIFIED | APPROXIMATE | INTERLEAVED | OVERFLOWED
"""The other bits are free for whoever runs a kernel in another domain: no rule here looks at them."""

WHY_TAINTED: Final = {
    UNSPECIFIED: "a value that the specification leaves open",
    APPROXIMATE: "a float that the device may round differently",
    INTERLEAVED: "a value that depends on the order of atomics",
    OVERFLOWED: "an address computation that overflowed",
    LEFT_OUT: "a value that a run of addresses alone does not compute",
    NOT_GIVEN: "a value that the launch does not give",
}

UNKNOWN_ORIGIN: Final = -1


@dataclass(slots=True)
class Tile:
    """A tile: ``data`` in row-major lanes, and per lane (or 0-d for all lanes at once) its taint bits.

    ``taint`` is ``None`` where every lane is exact and specified.  ``origin`` is set for pointers only: the number of
    the memory each address was derived from.
    """

    data: Array
    taint: Array | None = None
    origin: Array | None = None

    def rearranged(self, move: Callable[[Array], Array]) -> Tile:
        """The tile after ``move``, a map that only moves or copies lanes."""
        if self.taint is None and self.origin is None:
            return Tile(move(self.data))
        return Tile(move(self.data), self._follow(self.taint, move), self._follow(self.origin, move))

    def _follow(self, extra: Array | None, move: Callable[[Array], Array]) -> Array | None:
        if extra is None or extra.ndim == 0:
            return extra
        return move(np.broadcast_to(extra, self.data.shape))

    def tainted(self, bits: int) -> Tile:
        """The same lanes with ``bits`` added to each lane's taint."""
        mark = np.asarray(bits, np.uint8)
        return Tile(self.data, mark if self.taint is None else self.taint | mark, self.origin)


@dataclass(frozen=True, slots=True)
class Token:
    """``waits`` is a bit set over the block's dynamic accesses, transitively closed."""

    waits: int


@dataclass(frozen=True, slots=True)
class TensorView:
    """A strided layout: ``base`` is a byte address, ``shape`` and ``strides`` count elements (unsigned)."""

    element: ScalarType
    base: int
    origin: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    taint: int = 0


@dataclass(frozen=True, slots=True)
class TileView:
    """A partition, strided or gather/scatter view of a tensor view."""

    type: PartitionViewType | StridedViewType | GatherScatterViewType
    tensor: TensorView


RuntimeValue: TypeAlias = Tile | Token | TensorView | TileView


# -------------------------------------------------------------------------------------------- carriers
_UNSIGNED: Final[dict[int, type[np.generic]]] = {
    1: np.bool_, 4: np.uint8, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64,
}  # fmt: skip
_SIGNED: Final[dict[int, type[np.generic]]] = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


def carrier(element: ScalarType | PointerType) -> type[np.generic]:
    """The NumPy type that holds elements of ``element``."""
    if isinstance(element, PointerType):
        return np.uint64
    if element.is_integer:
        return _UNSIGNED[element.bits]
    return np.float64 if element.bits == 64 else np.float32


def stand_in(kind: TileType) -> Tile:
    """What stands for a tile of numbers that is not computed."""
    assert isinstance(kind.element, ScalarType)
    return Tile(np.broadcast_to(np.zeros((), carrier(kind.element)), kind.shape), np.asarray(LEFT_OUT, np.uint8))


def storage(element_bytes: int) -> type[np.generic]:
    """The unsigned type of an element's bytes in memory."""
    return _UNSIGNED[8 * element_bytes]


def as_signed(data: Array, bits: int) -> Array:
    """The two's complement reading of an N-bit carrier; i1 reads 0 and -1."""
    if bits >= 8:
        return data.view(_SIGNED[bits])
    if bits == 4:
        return (data ^ np.uint8(8)).view(np.int8) - np.int8(8)
    return -data.astype(np.int8)


def wrapped(data: Array, bits: int) -> Array:
    """``data`` (any integer array) modulo 2^bits, in the carrier of iN."""
    if bits == 1:
        return (data & 1).astype(np.bool_)
    if bits == 4:
        return data.astype(np.uint8) & np.uint8(15)
    return data.astype(_UNSIGNED[bits], copy=False)


def integer_bits(tile_element: ScalarType | PointerType) -> int:
    """The width N of iN."""
    if isinstance(tile_element, PointerType) or not tile_element.is_integer:
        raise NotModelled(f"integer arithmetic on {tile_element}")
    return tile_element.bits


# ----------------------------------------------------------------------------------------------- taint
def joint_taint(*tiles: Tile) -> Array | None:
    """The taint of a lane that depends on the same lane of every one of ``tiles``."""
    taint: Array | None = None
    for tile in tiles:
        if tile.taint is not None:
            taint = tile.taint if taint is None else np.asarray(taint | tile.taint)
    return taint


def with_taint(taint: Array | None, lanes: Array, bits: int) -> Array | None:
    """``taint`` with ``bits`` added on the lanes where ``lanes`` (bool) holds."""
    if not lanes.any():
        return taint
    mark = np.where(lanes, np.uint8(bits), np.uint8(0))
    return mark if taint is None else np.asarray(taint | mark)


def taint_bits(taint: Array | None) -> int:
    """All taint bits of any lane."""
    return 0 if taint is None else int(np.bitwise_or.reduce(taint, axis=None))


def describe_taint(bits: int) -> str:
    return " and ".join(text for bit, text in WHY_TAINTED.items() if bits & bit)


# --------------------------------------------------------------------------------------------------------------- faults
# What ends a run of the interpreter early, and what a run notices on its way.
#
# None of these is a user error: a replay turns each into "not confirmed" with the sentence as its reason.


class InterpreterStop(Exception):
    """The run cannot go on; the text is one sentence that says why."""


class BlockEnded(Exception):
    """The block's program ends here, as by a ``return``: nothing is wrong with the run."""


class NotModelled(InterpreterStop):
    """An op, type or launch that this interpreter has no exact rule for."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not modelled")
        self.what = what


@dataclass(frozen=True, slots=True)
class OpenUse:
    """A value that the specification (or this run) leaves open reached what it may not decide.

    ``what`` it is, and the ``use`` that it reached of the op at bytecode ``offset``.  ``lanes`` of ``size`` are open,
    ``first`` is the first of them, ``element`` what that one would have been written to.  ``source``: bytecode offset
    of the op that made the value, where that is known.
    """

    what: str
    use: str
    op: str
    offset: int
    lanes: int = 1
    size: int = 1
    first: tuple[int, ...] = ()
    element: str = ""
    source: int | None = None

    def __str__(self) -> str:
        return f"{self.what} reaches the {self.use} of {self.op} at {self.offset:#x}"


class UnspecifiedUse(InterpreterStop):
    """An open value reached an index, a mask, a branch, an address, or a store; ``use`` tells which."""

    def __init__(self, text: str, use: OpenUse | None = None) -> None:
        super().__init__(text)
        self.use = use


class BudgetSpent(InterpreterStop):
    """The run needs more steps, accesses or memory than it was given."""


class EndlessLoop(InterpreterStop):
    """A loop that came back to where it was, in values and in memory."""


class LaunchMismatch(InterpreterStop):
    """The concrete launch does not fit the entry: a missing argument, a size that its type cannot hold."""


class UndefinedStop(InterpreterStop):
    """Undefined behaviour that ends the run; it is the last event of the block's log.

    Some ends every run, for there is no sensible way to continue (a loop whose step is not positive).
    """


@dataclass(frozen=True, slots=True)
class UndefinedBehaviour:
    """One event of undefined behaviour: obligation ``code`` broken by the op at bytecode ``offset``.

    ``time`` orders it among the block's accesses and events.  Where it is about an access, ``origin`` and ``address``
    say where in memory, and ``coordinates`` which element of a view came first.
    """

    code: TV
    op: str
    offset: int
    time: int
    message: str
    origin: int | None = None
    address: int | None = None
    coordinates: tuple[int, ...] | None = None


# -------------------------------------------------------------------------------------------------------------- conduct
# What a block does with poison and at undefined behaviour.
#
# What the specification leaves open is poison: it taints the lanes that depend on it (`values`).  A `Conduct` says what
# happens where poison would decide something.
#
# * A **replay** looks for what every device must do.  Any taint (also "another rounding", "another interleaving") that
# reaches a mask, an address, an index or an atomic comparison leaves that access out of the log, and one that reaches a
# branch ends the block.  A store of poison is none of the prover's faults: it taints the memory, and later loads read
# poison.  Undefined behaviour is recorded and the block goes on. * A **run** computes one legal execution for a user,
# so another rounding or interleaving may decide what it likes.  But an unspecified value, or an address whose
# computation overflowed, must not reach a store, an atomic, a mask, an index, a branch, a loop bound or an assumption:
# the run ends there.  It also ends at the first undefined behaviour. * A run that **keeps going** ends only where there
# is no way to go on: at an unspecified mask, index, branch, bound or comparison.  Written poison taints the memory and
# is noted, undefined behaviour is recorded.
#
# * A **proof** ends wherever any taint decides something, an assumption or undefined arithmetic included: what it logs
# up to its end is what the block does in every execution.
#
# A print shows unspecified lanes as such, and an assertion about them counts as failed (`host`), in every conduct.


@dataclass(frozen=True, slots=True)
class Conduct:
    """``open``: the taint bits that may not decide anything.

    ``executes``: an open value that decides about an access or is written ends the run.  ``stops``: undefined behaviour
    does so, too; without it, written poison does not.  ``proves``: what the run does is all that the block can do, so
    that poison may be written, but no op that is not defined for all numbers may ask for it.
    """

    open: int
    executes: bool
    stops: bool
    proves: bool = field(default=False, kw_only=True)

    def open_lanes(self, tile: Tile) -> Array | None:
        """The taint of ``tile`` that may not decide anything; ``None`` if there is none."""
        if tile.taint is None:
            return None
        marks = self.opened(tile.taint)
        return marks if marks.any() else None

    def opened(self, taint: Array) -> Array:
        """Of the taint of what steers control, or an access, the bits that may not."""
        return np.asarray(taint & np.uint8(self.open))


REPLAY: Final = Conduct(open=0xFF, executes=False, stops=False)
RUN: Final = Conduct(open=UNSPECIFIED | OVERFLOWED, executes=True, stops=True)
PROOF: Final = Conduct(open=0xFF, executes=True, stops=False, proves=True)
KEEP_GOING: Final = Conduct(open=UNSPECIFIED | OVERFLOWED, executes=True, stops=False)


def open_use(
    op: Op, marks: Array, use: str, element: Callable[[int], str] | None = None, source: Op | None = None
) -> OpenUse:
    """The use of the lanes with ``marks``; ``element`` names where a (flat) lane would be written to."""
    flat = np.flatnonzero(marks)
    first = tuple(int(place) for place in np.unravel_index(flat[0], marks.shape))
    return OpenUse(
        what=describe_taint(taint_bits(marks)),
        use=use,
        op=op.name,
        offset=op.offset,
        lanes=len(flat),
        size=marks.size,
        first=first,
        element=element(int(flat[0])) if element is not None else "",
        source=None if source is None else source.offset,
    )
