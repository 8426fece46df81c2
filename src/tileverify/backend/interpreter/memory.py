"""Simulated global memory: allocations far apart, with contents that are made only where they are touched.

A `MemoryImage` is what a launch finds; a `Memory` is one run's copy of it, copied page by page on the first write.
A small allocation is one page; a large one (a witness may name an array of 2^31 elements) has pages of 4 KiB and
reads of untouched pages are computed from its fill pattern.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np

from .values import NOT_GIVEN, UNKNOWN_ORIGIN, UNSPECIFIED, Array, BudgetSpent, LaunchMismatch, storage

ALIGNMENT: Final = 4096
PAGE_BYTES: Final = 4096
ONE_PAGE_LIMIT: Final = 1 << 25
"""Allocations up to this size are one dense page."""
RESIDENT_LIMIT: Final = 1 << 29
"""Bytes that one run may materialise."""
GAP: Final = 1 << 40
"""Unused addresses between allocations, so that no small slip of an index meets another one."""
FIRST_ADDRESS: Final = 1 << 44
LAST_ADDRESS: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Extent:
    """``count`` elements of ``element_bytes`` bytes from ``offset``: raw element i is ``contents[i]`` or ``fill``."""

    offset: int
    element_bytes: int
    count: int
    fill: int = 0
    contents: Mapping[int, int] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.offset + self.count * self.element_bytes


@dataclass(frozen=True)
class Allocation:
    """``size`` bytes at ``base``.  Where extents overlap, the first one's fill and the last one's contents hold.

    ``data`` gives the bytes outright, for memory whose whole contents are known.
    """

    name: str
    base: int
    size: int
    extents: tuple[Extent, ...] = ()
    data: Array | None = None

    @property
    def dense(self) -> bool:
        return self.size <= ONE_PAGE_LIMIT or self.data is not None

    @property
    def page_bytes(self) -> int:
        return max(8, -(-self.size // 8) * 8) if self.dense else PAGE_BYTES

    @cached_property
    def image(self) -> Array:
        """The initial bytes of a dense allocation, padded to a multiple of 8."""
        page = np.zeros(self.page_bytes, np.uint8)
        if self.data is not None:
            page[: self.size] = self.data
            return page
        if any(extent.fill for extent in self.extents):
            for extent in reversed(self.extents):
                page[extent.offset : extent.end] = np.tile(_raw(extent.fill, extent.element_bytes), extent.count)
        for extent, (keys, values) in zip(self.extents, self._sorted_contents, strict=True):
            elements = page[extent.offset : extent.end].reshape(extent.count, extent.element_bytes)
            elements[keys] = values.astype("<u8").view(np.uint8).reshape(-1, 8)[:, : extent.element_bytes]
        return page

    @cached_property
    def _sorted_contents(self) -> tuple[tuple[Array, Array], ...]:
        pairs = []
        for extent in self.extents:
            keys = sorted(key for key in extent.contents if 0 <= key < extent.count)
            mask = (1 << 8 * extent.element_bytes) - 1
            values = np.array([extent.contents[key] & mask for key in keys], np.uint64)
            pairs.append((np.array(keys, np.int64), values))
        return tuple(pairs)

    @cached_property
    def blank(self) -> bool:
        """All bytes are 0 at first."""
        return self.data is None and not any(extent.fill or extent.contents for extent in self.extents)

    def initial(self, offsets: Array) -> Array:
        """The initial byte at each of ``offsets``, computed from the extents."""
        found = np.zeros(offsets.shape, np.uint8)
        if self.blank:
            return found
        filled = np.zeros(offsets.shape, np.bool_)
        for extent in self.extents:
            inside = (offsets >= extent.offset) & (offsets < extent.end) & ~filled
            pattern = _raw(extent.fill, extent.element_bytes)
            found[inside] = pattern[(offsets[inside] - extent.offset) % extent.element_bytes]
            filled |= inside
        for extent, (keys, values) in zip(self.extents, self._sorted_contents, strict=True):
            if len(keys):
                element, byte = np.divmod(offsets - extent.offset, extent.element_bytes)
                place = np.minimum(np.searchsorted(keys, element), len(keys) - 1)
                hit = keys[place] == element
                found[hit] = (values[place[hit]] >> (8 * byte[hit]).astype(np.uint64)).astype(np.uint8)
        return found


def _raw(value: int, width: int) -> Array:
    """The little-endian bytes of ``value`` modulo its width."""
    return np.frombuffer((value & ((1 << 8 * width) - 1)).to_bytes(width, "little"), np.uint8)


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a pointer may be derived from: an argument, a list element, a global or a local.

    ``allocation`` numbers the memory it lives in, ``base`` is the address of its first byte.
    ``shape``/``strides`` count elements; ``None`` where it has no layout.
    """

    name: str
    allocation: int
    base: int
    size: int
    element_bytes: int
    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None

    def element(self, address: int) -> str:
        """The element at ``address`` as ``c[1, 0]``, or ``c+0x40`` where the layout has none there; those before and
        behind a single row are counted on: ``c[-1]``."""
        place = address - self.base
        if self.shape is not None and self.strides is not None and 0 <= place < self.size:
            rest = place // self.element_bytes
            index = [0] * len(self.shape)
            for axis in sorted(range(len(index)), key=lambda k: self.strides[k], reverse=True):  # type: ignore[index]
                if self.strides[axis]:
                    index[axis] = min(rest // self.strides[axis], self.shape[axis] - 1)
                    rest -= index[axis] * self.strides[axis]
            if rest == 0:
                return f"{self.name}[{', '.join(map(str, index))}]"
        elif self.strides == (1,) and place % self.element_bytes == 0:
            return f"{self.name}[{place // self.element_bytes}]"
        sign = "-" if place < 0 else "+"
        return f"{self.name}{sign}{abs(place):#x}"


class MemoryImage:
    """The allocations of a launch and the origins that pointers into them have."""

    def __init__(self) -> None:
        self.allocations: list[Allocation] = []
        self.origins: list[Provenance] = []
        self._next = FIRST_ADDRESS

    def place(self, size: int) -> int:
        """A fresh base address for ``size`` bytes."""
        base = self._next
        self._next += -(-size // ALIGNMENT) * ALIGNMENT + GAP
        if self._next > LAST_ADDRESS:
            raise LaunchMismatch(f"the launch needs {size} bytes in one array, more than an address space holds")
        return base

    def add_allocation(self, name: str, size: int, extents: tuple[Extent, ...] = (), data: Array | None = None) -> int:
        self.allocations.append(Allocation(name, self.place(size), size, extents, data))
        return len(self.allocations) - 1

    def add_origin(self, origin: Provenance) -> int:
        self.origins.append(origin)
        return len(self.origins) - 1

    def origin_at(self, address: int) -> int:
        """The first origin whose memory holds ``address`` (its base counts, also of an empty one)."""
        for number, origin in enumerate(self.origins):
            if origin.base <= address < origin.base + max(origin.size, 1):
                return number
        return UNKNOWN_ORIGIN

    def allocation_of(self, origin: int) -> Allocation:
        return self.allocations[self.origins[origin].allocation]


class Memory:
    """One run's view of a `MemoryImage`: its own writes over the initial contents, with taint per byte."""

    def __init__(self, image: MemoryImage) -> None:
        self.image = image
        self._pages: dict[tuple[int, int], Array] = {}
        self._taint: dict[tuple[int, int], Array] = {}
        self._tainted: set[int] = set()
        self._open: set[int] = set()
        self._unknown: set[int] = set()
        self._resident = 0
        self.stores = 0
        """How many stores there were, but for atomics that changed nothing: as long as it stands still, memory does."""

    def load(self, allocation: int, offsets: Array, width: int) -> Array:
        """Raw elements of ``width`` bytes at ``offsets`` (int64, multiples of ``width`` inside the allocation)."""
        source = self.image.allocations[allocation]
        if source.dense:
            page = self._pages.get((allocation, 0))
            page = source.image if page is None else page
            return np.asarray(page.view(storage(width))[offsets // width])
        if source.blank:
            result = np.zeros(offsets.shape, storage(width))
        else:
            spread = source.initial(offsets[..., None] + np.arange(width))
            result = np.ascontiguousarray(spread).view(storage(width))[..., 0]
        flat = result.reshape(-1)
        for number, lanes, places in _by_page(source, offsets):
            page = self._pages.get((allocation, number))
            if page is not None:
                flat[lanes] = page.view(storage(width))[places // width]
        return flat.reshape(offsets.shape)

    def store(self, allocation: int, offsets: Array, bits: Array) -> None:
        """Write raw elements; of two lanes with one offset the later one wins."""
        width, flat = bits.dtype.itemsize, bits.reshape(-1)
        self.stores += bool(flat.size)
        for number, lanes, places in _by_page(self.image.allocations[allocation], offsets):
            self._writable(allocation, number).view(bits.dtype)[places // width] = flat[lanes]

    def taint(self, allocation: int, offsets: Array, width: int) -> Array | None:
        """The taint of each element, ``None`` where nothing of the allocation is tainted."""
        if allocation in self._open:
            return np.full(offsets.shape, UNSPECIFIED, np.uint8)
        if allocation not in self._tainted:
            return None
        taint = np.full(offsets.size, self._at_first(allocation), np.uint8)
        for number, lanes, places in _by_page(self.image.allocations[allocation], offsets):
            page = self._taint.get((allocation, number))
            if page is not None:
                taint[lanes] = np.bitwise_or.reduce(page.reshape(-1, width)[places // width], axis=-1)
        return taint.reshape(offsets.shape)

    def set_taint(self, allocation: int, offsets: Array, width: int, taint: Array | None) -> None:
        """Give the elements just stored their taint; ``None`` clears it."""
        if taint is None and allocation not in self._tainted:
            return
        self._tainted.add(allocation)
        source = self.image.allocations[allocation]
        marks = np.broadcast_to(np.asarray(0 if taint is None else taint, np.uint8), offsets.shape).reshape(-1)
        for number, lanes, places in _by_page(source, offsets):
            page = self._taint.get((allocation, number))
            if page is None:
                self._charge(source.page_bytes)
                page = np.full(source.page_bytes, self._at_first(allocation), np.uint8)
                self._taint[allocation, number] = page
            page.reshape(-1, width)[places // width] = marks[lanes][..., None]

    def forget(self, allocation: int) -> None:
        """The launch does not say what the allocation holds: it is open until it is written."""
        self._tainted.add(allocation)
        self._unknown.add(allocation)

    def _at_first(self, allocation: int) -> int:
        """The taint of bytes that nothing was stored to."""
        return NOT_GIVEN if allocation in self._unknown else 0

    def leave_open(self, allocation: int) -> None:
        """Somewhere in the allocation something may have been written: from now on all of it is unspecified."""
        self._open.add(allocation)

    def allocate_local(self, name: str, size: int) -> int:
        """Memory that no other block knows of; its contents are unspecified until they are written."""
        if size > ONE_PAGE_LIMIT:
            raise BudgetSpent(f"{name} takes {size} bytes")
        number = self.image.add_allocation(name, size)
        self._charge(size)
        self._tainted.add(number)
        page_bytes = self.image.allocations[number].page_bytes
        self._taint[number, 0] = np.full(page_bytes, UNSPECIFIED, np.uint8)
        return number

    def bytes_of(self, allocation: int) -> Array:
        """The bytes of a dense allocation as they stand now."""
        source = self.image.allocations[allocation]
        return self._pages.get((allocation, 0), source.image)[: source.size]

    def _writable(self, allocation: int, number: int) -> Array:
        page = self._pages.get((allocation, number))
        if page is None:
            source = self.image.allocations[allocation]
            self._charge(source.page_bytes)
            if source.dense:
                page = source.image.copy()
            else:
                page = source.initial(np.arange(number * PAGE_BYTES, (number + 1) * PAGE_BYTES))
            self._pages[allocation, number] = page
        return page

    def _charge(self, size: int) -> None:
        self._resident += size
        if self._resident > RESIDENT_LIMIT:
            raise BudgetSpent(f"the run wrote to more than {RESIDENT_LIMIT >> 20} MiB of memory")


def _by_page(source: Allocation, offsets: Array) -> Iterator[tuple[int, Array | slice, Array]]:
    """Page number, (flat) lanes on it and their offsets in it; no element straddles two pages, being aligned."""
    offsets = offsets.reshape(-1)
    if source.dense:
        yield 0, slice(None), offsets
        return
    numbers = offsets // PAGE_BYTES
    order = np.argsort(numbers, kind="stable")
    numbers = numbers[order]
    places = offsets[order] - numbers * PAGE_BYTES
    starts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
    for start, end in pairwise([*starts, len(order)]):
        yield int(numbers[start]), order[start:end], places[start:end]
