"""Replay of TV711 and TV712: which elements a whole launch leaves unwritten, and which one block reads before that.

    TV711   all blocks run one after the other: the elements of the claimed array that no access wrote
    TV712   the claimed block runs first and alone, as any block may: what the claimed op reads, of the claimed array,
            that no earlier access of the block wrote

Both are seen in the log of accesses.  A run that is not complete, or that met another fault on its way, shows nothing:
what it left out may have written the element.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from math import prod
from typing import Final

import numpy as np

from ...contract.launch import Block, every_block
from ...results.claim import Claim, Confirmation, Touch
from ..interpreter import BlockLog, Budget, DynamicAccess, MemoryImage
from ..interpreter.access_log import Footprint
from ..interpreter.memory import Provenance
from ..interpreter.ordering import spread
from ..interpreter.values import Array
from .fault_places import MOST_ELEMENTS, NotConfirmed, before, excuse, name_elements

MOST_BLOCKS: Final = 1 << 12
"""Of a launch that is run whole."""


def every_block_of(grid: Block) -> Iterator[Block]:
    """The blocks of a launch that is not too large to run them all."""
    if prod(grid) > MOST_BLOCKS:
        raise NotConfirmed(f"the launch has {prod(grid)} blocks, too many to run them all")
    return every_block(grid)


def never_written(image: MemoryImage, logs: Sequence[BlockLog], claim: Claim, text: str) -> Confirmation:
    """The elements of the claimed array that none of ``logs``, of all blocks, wrote."""
    for log in logs:
        if log.events or (why := excuse(log)):
            raise NotConfirmed(f"block {log.block} met another fault" if log.events else why)
    origin = _origin(image, claim.array)
    elements = _elements_of(origin)
    written = _bytes(access.writes for log in logs for access in log.accesses)
    left = np.setdiff1d(elements, written)
    if not left.size:
        raise NotConfirmed(f"every element of {claim.array} is written")
    return _confirmation(image, origin, left, Touch(claim.offset_a or 0, "store", claim.block_a), text)


def read_unfilled(image: MemoryImage, log: BlockLog, claim: Claim, budget: Budget, text: str) -> Confirmation:
    """What the claimed op reads of the claimed array that the block did not write before."""
    earlier: list[DynamicAccess] = []
    for access in log.accesses:
        named = image.origins[access.origin].name if access.origin >= 0 else ""
        if access.op.offset == claim.offset_a and named == claim.array and access.reads is not None:
            read = _bytes([access.reads])
            budget.spend(read.size + len(earlier))
            left = np.setdiff1d(read, _bytes(each.writes for each in earlier))
            if left.size:
                if log.left_out or before(log, access.time):
                    raise NotConfirmed(excuse(log) or "another fault comes before")
                touch = Touch(access.op.offset, access.kind, log.block)
                return _confirmation(image, image.origins[access.origin], left, touch, text)
        if access.writes is not None:
            earlier.append(access)
    raise NotConfirmed(excuse(log) or f"all that is read of {claim.array} was written before")


def _origin(image: MemoryImage, name: str) -> Provenance:
    for origin in image.origins:
        if origin.name == name:
            return origin
    raise NotConfirmed(f"the launch has no array {name}")


def _elements_of(origin: Provenance) -> Array:
    """The address of the first byte of every element."""
    if origin.shape is None or origin.strides is None or prod(origin.shape) > MOST_ELEMENTS:
        raise NotConfirmed(f"{origin.name} has too many elements, or no layout")
    steps = zip(origin.shape, origin.strides, strict=True)
    axes = [np.arange(n, dtype=np.int64) * (s * origin.element_bytes) for n, s in steps]
    return np.asarray(reduce(np.add.outer, axes, np.zeros((), np.int64))).reshape(-1) + origin.base


def _bytes(footprints: Iterable[Footprint | None]) -> Array:
    """The address of every byte, in ascending order."""
    found = [spread(each.addresses(), each.width) for each in footprints if each is not None]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)


def _confirmation(image: MemoryImage, origin: Provenance, left: Array, touch: Touch, text: str) -> Confirmation:
    """``left``: addresses of bytes, in ascending order."""
    starts = np.unique(origin.base + (left - origin.base) // origin.element_bytes * origin.element_bytes)
    named = name_elements(origin, [(starts, starts + origin.element_bytes)])
    byte = int(left[0]) - image.allocations[origin.allocation].base
    return Confirmation(origin.name, named.text, byte, touch, None, text, named.elements)
