"""The bytes that a launch can reach of each array: from the access summary, with the numbers of the launch put in.

    [low, high)  holds every byte that any block touches   (low and high relative to the array's first byte)

Block ids run over the grid, lanes over their tiles, iterations as far as the path says; the interval of an address over
all of them is that of its term (`frontend.symbolic.machine`), which is never too small.  Lanes of a view are clipped to
its shape.  What an address has no interval for, because it was loaded, say, reaches the whole array.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from ..backend.guard import ArrayValue
from ..backend.guard.arguments import Grid, Value
from ..contract import terms as t
from ..contract.launch import KernelUnit
from ..contract.terms import Scope, Sort, Term, TermKind
from ..contract.variables import BID, GRID
from ..frontend.bytecode import decode
from ..frontend.bytecode.model import Entry, Module, Op, TokenType
from ..frontend.bytecode.model import Value as BytecodeValue
from ..frontend.bytecode.traverse import walk
from ..frontend.symbolic.machine import Bounds
from ..frontend.symbolic.summary import AccessSummary, OriginKind, PointerFootprint, Site, ViewFootprint

MOST_SITES: Final = 64
"""Of a kernel; one with more is taken to reach all of its arrays."""

MOST_LAUNCHES: Final = 1024
"""Different numbers of launches whose ranges are kept."""

Span: TypeAlias = tuple[int, int]


class Reached(NamedTuple):
    """Of one array, what is read alone and what is written, too; ``None``: nothing.  Relative to its first byte."""

    read: Span | None
    written: Span | None


WHOLE: Final = (-(1 << 64), 1 << 64)
"""More than any array has; whoever knows the array's size takes the smaller of both."""


@dataclass(eq=False)
class Reach:
    """What a kernel's launches reach.  ``arrays``: all array arguments; of others nothing is said."""

    sites: tuple[Site, ...]
    arrays: frozenset[str]
    _known: dict[object, Mapping[str, Reached]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, summary: AccessSummary) -> Reach | None:
        """``None`` for a kernel that is too large, or has addresses of unknown origin."""
        if len(summary.sites) > MOST_SITES or any(site.origin.kind is OriginKind.UNKNOWN for site in summary.sites):
            return None
        arrays = (each for each in summary.origins.values() if each.kind is OriginKind.PARAMETER)
        own = tuple(site for site in summary.sites if site.origin.kind is OriginKind.PARAMETER)
        return cls(own, frozenset(each.name for each in arrays) | {site.origin.name for site in own})

    def ranges(self, named: Mapping[str, Value], grid: Grid) -> Mapping[str, Reached]:
        """By array, for arguments with these numbers."""
        values = (value for value in named.values() if not isinstance(value, float))
        key = (grid, *(value[1:3] if isinstance(value, ArrayValue) else value for value in values))
        with self._lock:
            found = self._known.get(key)
            if found is None:
                while len(self._known) >= MOST_LAUNCHES:
                    del self._known[next(iter(self._known))]
                found = self._known[key] = self._ranges(named, grid)
        return found

    def _ranges(self, named: Mapping[str, Value], grid: Grid) -> dict[str, Reached]:
        numbers = _Numbers(named, grid)
        found: dict[tuple[str, bool], Span] = {}
        for site in self.sites:
            span = _span(site, numbers)
            if span is not None:
                key = site.origin.name, site.writes
                low, high = found.get(key, span)
                found[key] = min(low, span[0]), max(high, span[1])
        return {name: Reached(found.get((name, False)), found.get((name, True))) for name in self.arrays}


class _Numbers:
    """Terms with the numbers of a launch in the place of its variables, and block ids that stay in its grid."""

    def __init__(self, named: Mapping[str, Value], grid: Grid) -> None:
        self._integers: dict[str, int] = {}
        for name, value in named.items():
            if isinstance(value, ArrayValue):
                self._integers |= {f"{name}.shape[{dim}]": size for dim, size in enumerate(value.shape)}
                self._integers |= {f"{name}.strides[{dim}]": stride for dim, stride in enumerate(value.strides)}
            elif isinstance(value, int):
                self._integers[name] = int(value)
        self._terms: dict[Term, Term] = {}
        for axis, size in enumerate(grid):
            self._terms[GRID[axis]] = t.const(size)
            self._terms[BID[axis]] = t.var(BID[axis].symbol.name, Scope.BLOCK, 0, size - 1)

    def __call__(self, term: Term) -> Term:
        for leaf in term.free:
            if leaf not in self._terms and leaf.kind is TermKind.VAR and leaf.symbol.scope is Scope.LAUNCH:
                self._terms[leaf] = self._value(leaf)
        return t.substitute(term, self._terms)

    def _value(self, variable: Term) -> Term:
        """The number in the bytecode's own, signed reading; the variable itself where no argument gives it."""
        symbol = variable.symbol
        value = self._integers.get(symbol.name)
        if value is None:
            return variable
        if symbol.sort is Sort.BOOL:
            return t.boolean(bool(value))
        if symbol.high is not None and value > symbol.high and symbol.low == -symbol.high - 1:
            value -= 2 * (symbol.high + 1)
        inside = (symbol.low is None or symbol.low <= value) and (symbol.high is None or value <= symbol.high)
        return t.const(value) if inside else variable


def _span(site: Site, number: _Numbers) -> Span | None:
    """The bytes that a site reaches, ``None`` if none: its path is not taken, or all lanes are clipped."""
    guard = number(site.guard)
    if guard is t.FALSE:
        return None
    bounds = Bounds().under(guard)
    if isinstance(site.footprint, PointerFootprint):
        low, high = bounds.interval(number(site.footprint.offset))
        return WHOLE if low is None or high is None else (low, high + site.footprint.element_bytes)
    return _span_of_view(site.footprint, number, bounds)


def _span_of_view(view: ViewFootprint, number: _Numbers, bounds: Bounds) -> Span | None:
    low, high = bounds.interval(number(view.base))
    if low is None or high is None:
        return WHOLE
    first = last = 0  # elements
    for coordinate, size, stride in zip(view.coordinates, view.shape, view.strides, strict=True):
        inside = _clipped(bounds.interval(number(coordinate)), bounds.interval(number(size)))
        if inside is None:
            return WHOLE
        if inside[0] > inside[1]:
            return None
        step = number(stride)
        if step.kind is not TermKind.CONST:
            return WHOLE
        ends = sorted((inside[0] * step.value, inside[1] * step.value))
        first, last = first + ends[0], last + ends[1]
    if view.packed:
        return low + first // 2, high + last // 2 + 1
    return low + view.element_bytes * first, high + view.element_bytes * (last + 1)


def _clipped(coordinate: tuple[int | None, int | None], size: tuple[int | None, int | None]) -> Span | None:
    """The coordinates of live lanes: ``0 <= coordinate < size``; ``None`` where they have no largest one."""
    low = max(0, coordinate[0] or 0)
    highs = [each for each in (coordinate[1], None if size[1] is None else size[1] - 1) if each is not None]
    return (low, min(highs)) if highs else None


def within(reached: Span | None, size: int) -> Span:
    """What of it lies in an array of ``size`` bytes, as everything does that was proved; equal ends for nothing."""
    low, high = reached or (0, 0)
    return max(0, low), min(size, high)


# -------------------------------------------------------------------------------------------------------------- decoded
# What is launched, decoded once for all who look at it: what it touches, what it reads ahead, the interpreter.


def decoded(unit: KernelUnit) -> Module:
    """The module of the unit's bytecode; nobody may change it."""
    return _decoded(unit.bytecode, str(unit.file))


@lru_cache(maxsize=256)
def _decoded(bytecode: bytes, file: str) -> Module:
    return decode(bytecode, file=file)


# ---------------------------------------------------------------------------------------------------------- early start
# Kernels that may be started before the one ahead of them on their stream has ended (programmatic dependent launch).
#
# Such a kernel runs beside its predecessor up to its ``gdc_wait``, which waits until that one has ended and all that it
# wrote is visible (PTX, ``griddepcontrol.wait``).  Nothing that a launch touches depends on the early start if
#
#     every block passes a gdc_wait          it stands at the top of the entry, behind nothing that could end the block
#     every access waits for it by tokens    token of the access <- ... <- token of the gdc_wait
#
# The first also keeps the order of all that follows: such a kernel ends behind its predecessor.  Tokens that a loop or
# a branch hands on count for nothing here; cuTile joins that of the wait to every one of them.
#
# Reads that do not wait, of weights that are loaded ahead, are fine where it is known that nothing writes there as long
# as any kernel may still run that the launch did not wait for: in a graph, whose launches are known
# (`launching.graphs`).


_WAIT = "gdc_wait_tko"
_READ = "read"


def waits_first(entry: Entry) -> bool:
    """Whether an early start of the entry cannot be told from a start in order."""
    return reads_ahead(entry) == frozenset()


def reads_ahead(entry: Entry) -> frozenset[int] | None:
    """The reads, by their offsets in the bytecode, that need not wait; ``None`` where anything else need not.

    If nothing writes what they read, an early start of the entry cannot be told from a start in order.
    """
    behind: set[BytecodeValue] = set()
    ahead: set[int] = set()
    for op in entry.body.ops:
        if op.name == _WAIT:
            break
        if op.regions:
            return None
    else:
        return None
    for op in walk(entry.body):
        waits = any(token in behind for token in _awaited(op))
        if op.declaration.touches_memory and not waits:
            if op.declaration.effect != _READ:
                return None
            ahead.add(op.offset)
        if op.name == _WAIT or (waits and not op.regions):
            behind.update(value for value in op.results if isinstance(value.type, TokenType))
    return frozenset(ahead)


def _awaited(op: Op) -> Iterator[BytecodeValue]:
    """The tokens that an op takes."""
    for operand in op.operands.values():
        for value in operand if isinstance(operand, tuple) else (operand,):
            if isinstance(value, BytecodeValue) and isinstance(value.type, TokenType):
                yield value
