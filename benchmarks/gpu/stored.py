"""Launches with all their numbers in one file each: where arrays lie, what memory holds before, and after.

Written where the interpreter is, read where a GPU is; needs NumPy alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

BITS = {"bool": 8, "bf16": 16}
"""Of element types whose names do not end in their width."""


@dataclass(frozen=True, slots=True)
class StoredArray:
    """``shape`` and ``strides`` in elements, ``offset`` in bytes into the memory named ``memory``."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    memory: str
    offset: int


@dataclass(frozen=True, slots=True)
class StoredLaunch:
    """``values``: arrays, scalars, and lists of arrays, by the contract's argument names.

    ``before`` and ``after``: bytes by memory; ``known`` marks the bytes of ``after`` that the interpreter speaks of,
    all where it is absent.  ``types``: the element type of each memory.  ``about``: whatever else is to be said.
    """

    grid: tuple[int, int, int]
    arrays: Mapping[str, StoredArray]
    scalars: Mapping[str, int | float]
    lists: Mapping[str, tuple[StoredArray, ...]]
    types: Mapping[str, str]
    before: Mapping[str, Bytes]
    after: Mapping[str, Bytes] = field(default_factory=dict)
    known: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)

    def save(self, file: Path) -> None:
        """What did not change is not stored twice."""
        head = {
            "grid": self.grid,
            "arrays": {name: asdict(each) for name, each in self.arrays.items()},
            "scalars": dict(self.scalars),
            "lists": {name: [asdict(each) for each in of] for name, of in self.lists.items()},
            "types": dict(self.types),
            "about": dict(self.about),
        }
        parts: dict[str, Any] = {"head": np.array(json.dumps(head))}
        parts |= {f"before/{name}": memory for name, memory in self.before.items()}
        parts |= {
            f"after/{name}": memory
            for name, memory in self.after.items()
            if not np.array_equal(memory, self.before[name])
        }
        parts |= {f"known/{name}": np.packbits(marks) for name, marks in self.known.items() if not marks.all()}
        np.savez_compressed(file, **parts)

    @staticmethod
    def load(file: Path) -> StoredLaunch:
        with np.load(file) as parts:
            head = json.loads(str(parts["head"]))
            before = {name: parts[f"before/{name}"] for name in head["types"]}
            after = {name: parts[f"after/{name}"] if f"after/{name}" in parts else before[name] for name in before}
            known = {
                name: np.unpackbits(parts[f"known/{name}"], count=before[name].size).astype(np.bool_)
                for name in before
                if f"known/{name}" in parts
            }
        return StoredLaunch(
            grid=tuple(head["grid"]),
            arrays={name: _array(each) for name, each in head["arrays"].items()},
            scalars=head["scalars"],
            lists={name: tuple(map(_array, of)) for name, of in head["lists"].items()},
            types=head["types"],
            before=before,
            after=after,
            known=known,
            about=head["about"],
        )


def _array(fields: Mapping[str, Any]) -> StoredArray:
    return StoredArray(
        fields["dtype"], tuple(fields["shape"]), tuple(fields["strides"]), fields["memory"], fields["offset"]
    )


def element_bytes(dtype: str) -> int:
    return (BITS.get(dtype) or int(dtype[1:])) // 8


def numbers(memory: Bytes, dtype: str) -> NDArray[Any]:
    """Memory as numbers: binary64 for floats, integers as they are."""
    if dtype == "bf16":
        return (memory.view("<u2").astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype[0] == "f":
        return memory.view(f"<f{element_bytes(dtype)}").astype(np.float64)
    return memory.view("u1" if dtype == "bool" else f"<{dtype[0]}{element_bytes(dtype)}")
