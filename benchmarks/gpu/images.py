"""A launch as the driver takes it: the bytes of its memory and of its parameters, and what the interpreter leaves.

Written where the interpreter is (`image_of`), read where a GPU is.  A parameter that is an address, and a word of
memory that is one, as in the descriptors of a list, name the memory and the distance from its beginning.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tileverify.backend.compiled.both_runs import Reference
    from tileverify.backend.interpreter.memory import MemoryImage

Bytes = NDArray[np.uint8]
Marks = NDArray[np.bool_]
Place = tuple[int, int]
"""The number of a memory, and bytes from its beginning."""


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """``dtype``: of its elements.  ``known``: bytes of ``after`` that the specification decides; ``written``: those
    that the launch stores to; ``fresh``: stored to and never read, so that they may hold anything before."""

    name: str
    dtype: str
    before: Bytes
    after: Bytes
    known: Marks
    written: Marks
    fresh: Marks


@dataclass(frozen=True, slots=True)
class StoredImage:
    """``parameters``: in order, bytes or an address.  ``words``: by place, addresses that memory holds before."""

    entry: str
    grid: tuple[int, int, int]
    parameters: tuple[bytes | Place, ...]
    words: tuple[tuple[Place, Place], ...]
    memories: tuple[StoredMemory, ...]

    def save(self, file: Path) -> None:
        head = {
            "entry": self.entry,
            "grid": self.grid,
            "parameters": [each.hex() if isinstance(each, bytes) else each for each in self.parameters],
            "words": self.words,
            "memories": [(each.name, each.dtype) for each in self.memories],
        }
        parts: dict[str, Any] = {"head": np.array(json.dumps(head))}
        for number, each in enumerate(self.memories):
            changed = np.where(each.known, each.before ^ each.after, 0)
            marks = np.packbits(np.stack([each.known, each.written, each.fresh]), axis=1)
            parts |= {f"before/{number}": each.before, f"changed/{number}": changed, f"marks/{number}": marks}
        np.savez_compressed(file, **parts)

    @staticmethod
    def load(file: Path) -> StoredImage:
        with np.load(file) as parts:
            head = json.loads(str(parts["head"]))
            memories = []
            for number, (name, dtype) in enumerate(head["memories"]):
                before = parts[f"before/{number}"]
                marks = np.unpackbits(parts[f"marks/{number}"], axis=1, count=before.size).astype(np.bool_)
                memories.append(StoredMemory(name, dtype, before, before ^ parts[f"changed/{number}"], *marks))
        return StoredImage(
            head["entry"],
            tuple(head["grid"]),
            tuple(bytes.fromhex(each) if isinstance(each, str) else tuple(each) for each in head["parameters"]),
            tuple((tuple(place), tuple(address)) for place, address in head["words"]),
            tuple(memories),
        )


# ------------------------------------------------------------------------------------- where the interpreter is
def image_of(reference: Reference) -> StoredImage:
    """The launch that the interpreter ran."""
    from tileverify.backend.interpreter.rounding import to_bits
    from tileverify.backend.interpreter.values import Tile
    from tileverify.frontend.bytecode.model import PointerType, TileType

    bound, image = reference.bound, reference.bound.image
    parameters: list[bytes | Place] = []
    for value in bound.program.entry.parameters:
        given = bound.arguments[value]
        assert isinstance(value.type, TileType)
        assert isinstance(given, Tile)
        if isinstance(value.type.element, PointerType):
            parameters.append(_place(image, int(given.data)))
        else:
            parameters.append(np.ascontiguousarray(to_bits(given.data, value.type.element)).tobytes())
    return StoredImage(
        bound.program.entry.name,
        reference.grid,
        tuple(parameters),
        tuple(_words(image, reference.types)),
        tuple(_memory(reference, number) for number in range(len(image.allocations))),
    )


def _place(image: MemoryImage, address: int) -> Place:
    number = next(n for n, each in enumerate(image.allocations) if each.base <= address <= each.base + each.size)
    return number, address - image.allocations[number].base


def _words(image: MemoryImage, types: Mapping[str, str]) -> list[tuple[Place, Place]]:
    """Addresses in the descriptors of lists: only these are memory of the launch that no array names."""
    arrays = {image.allocations[each.allocation].name for each in image.origins if each.shape is not None}
    first = image.allocations[0].base if image.allocations else 0
    return [
        ((number, 8 * place), _place(image, int(word)))
        for number, each in enumerate(image.allocations)
        if each.name not in arrays and each.name in types
        for place, word in enumerate(each.image[: each.size].view("<u8"))
        if word >= first
    ]


def _memory(reference: Reference, number: int) -> StoredMemory:
    from tileverify.backend.interpreter.values import INTERLEAVED, OVERFLOWED, UNSPECIFIED

    allocation = reference.bound.image.allocations[number]
    after = np.array(reference.memory.bytes_of(number))
    taint = reference.memory.taint(number, np.arange(allocation.size), 1)
    undecided = 0 if taint is None else taint & (UNSPECIFIED | OVERFLOWED | INTERLEAVED)
    read, written = (np.zeros(allocation.size, np.bool_) for _ in range(2))
    for access in (access for log in reference.logs for access in log.accesses):
        for footprint, marks in ((access.reads, read), (access.writes, written)):
            if footprint is not None:
                for start, end in zip(*footprint.runs, strict=True):
                    if allocation.base <= start < allocation.base + allocation.size:
                        marks[start - allocation.base : end - allocation.base] = True
    origins = (each for each in reference.bound.image.origins if each.allocation == number)
    dtype = next((found for each in origins if (found := reference.types.get(each.name.partition("[")[0]))), "")
    known = np.broadcast_to(np.equal(undecided, 0), after.shape)
    return StoredMemory(
        allocation.name,
        dtype or "u8",
        np.array(allocation.image[: allocation.size]),
        after,
        known & bool(dtype),  # variables of the module and of a block are not among the launch's memories
        written,
        written & ~read,
    )
