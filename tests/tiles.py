"""Types for the programs that tests build: of values that are tiles, and of what an op is given."""

from __future__ import annotations

from typing import Any, TypeAlias

from tileverify.frontend.bytecode.model import ScalarType, TileType, Value

Parts: TypeAlias = dict[str, Any]
"""Operands and attributes by their declared names: what each may be depends on the op, and the builder checks it."""


def tile_of(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


def scalar_of(tile: Value | TileType) -> ScalarType:
    """The element type of a tile of numbers, which is given as a value or as a type."""
    element = (tile if isinstance(tile, TileType) else tile_of(tile)).element
    assert isinstance(element, ScalarType)
    return element
