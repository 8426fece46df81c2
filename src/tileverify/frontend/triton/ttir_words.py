"""The types and the locations that Triton IR prints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from ..bytecode.location import Location
from ..bytecode.model import PointerType, ScalarType, TileType
from ..bytecode.tables import SCALARS
from .ttir import DescriptorType, TritonType

# --------------------------------------------------------------------------------------------------- types
SCALAR_TYPES: Final[Mapping[str, ScalarType]] = {scalar.name: scalar for scalar, _ in SCALARS.values()}
_OTHERSCALAR_TYPES: Final[Mapping[str, ScalarType]] = {
    name: ScalarType(name, 8) for name in ("f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E5M2FNUZ", "f8E4M3")
} | {"index": ScalarType("i32", 32), "i128": ScalarType("i128", 128)}
"""Types that Tile IR has no word for; who uses one is told."""
_POINTER: Final = re.compile(r"!tt\.ptr<(?P<pointee>.*?)(?:,\s*(?P<space>\d+))?>", re.DOTALL)
_SIGNED_ELEMENT: Final = re.compile(r"(?<=[x<])([su])i(\d+)(?=[,>])")
_TENSOR: Final = re.compile(r"(?:tensor)?<(?P<shape>(?:\d+x)*)(?P<element>[^,]+(?:<[^>]*>)?)>", re.DOTALL)


def type_of(text: str) -> TritonType | None:
    if text in SCALAR_TYPES or text in _OTHERSCALAR_TYPES:
        return TileType(SCALAR_TYPES.get(text) or _OTHERSCALAR_TYPES[text])
    if text.startswith("!tt.tensordesc<"):
        inner = text.removeprefix("!tt.tensordesc<")[:-1]
        return _descriptor(inner if inner.startswith("tensor<") else f"<{inner}>")
    if text.startswith("<tensor<"):  # Triton 3.6 and before it
        return _descriptor(text[1:-1])
    if text.startswith("<") and _SIGNED_ELEMENT.search(text):
        return _descriptor(text)
    pointer = _POINTER.fullmatch(text)
    if pointer is not None:
        pointee = type_of(pointer["pointee"])
        if isinstance(pointee, TileType) and isinstance(pointee.element, ScalarType):
            return TileType(PointerType(pointee.element), ())
        return None
    tensor = _TENSOR.fullmatch(text)
    if tensor is None:
        return None
    element = type_of(tensor["element"])
    shape = tuple(int(extent) for extent in tensor["shape"].split("x") if extent)
    if not isinstance(element, TileType) or element.shape:
        return None
    return TileType(element.element, shape)


def _descriptor(text: str) -> DescriptorType | None:
    """The block of a descriptor, whose integers are printed with signs (``<4x8xsi32>``)."""
    signed = _SIGNED_ELEMENT.search(text)
    block = type_of(_SIGNED_ELEMENT.sub(r"i\2", text))
    if isinstance(block, TileType) and isinstance(block.element, ScalarType):
        return DescriptorType(block.element, block.shape, unsigned=signed is not None and signed[1] == "u")
    return None


# ----------------------------------------------------------------------------------------------- locations
def location_aliases(text: str) -> dict[str, str]:
    """``#loc7 = loc(...)``; they may stand before the module or behind it."""
    return {match[1]: match[2] for match in re.finditer(r"^(#loc\d*) = (loc\(.*\))\s*$", text, re.MULTILINE)}


_FILE: Final = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)(?: to .*)?')
_NAMED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\((.*)\))?', re.DOTALL)


class PrintedLocations:
    """Locations by their text: ``"file":3:1``, ``"name"(inner)``, ``callsite(callee at caller)``, ``fused[...]``."""

    def __init__(self, aliases: Mapping[str, str]) -> None:
        self._aliases = aliases
        self._known: dict[str, Location | None] = {}

    def of(self, text: str) -> Location | None:
        if text not in self._known:
            self._known[text] = None  # an alias that names itself has no place
            self._known[text] = self._read(text.removeprefix("loc(").removesuffix(")") if "loc(" in text else text)
        return self._known[text]

    def _read(self, text: str) -> Location | None:
        text = text.strip()
        if text in self._aliases:
            return self.of(self._aliases[text])
        file = _FILE.fullmatch(text)
        if file is not None:
            # Triton's columns count from 1, those of a Python source here from 0.
            return Location(unescaped(f'"{file[1]}"'), int(file[2]), max(int(file[3]) - 1, 0))
        if text.startswith("callsite("):
            callee, _, caller = _split(text[len("callsite(") : -1], " at ")
            inner, outer = self._read(callee), self._read(caller)
            return _inlined(inner, outer) if inner is not None else outer
        if text.startswith("fused"):
            parts = _items(text[text.index("[") + 1 : text.rindex("]")])
            return next((place for part in parts if (place := self._read(part)) is not None), None)
        named = _NAMED.fullmatch(text)
        return self._read(named[2]) if named is not None and named[2] else None


def _inlined(inner: Location, outer: Location | None) -> Location:
    """``inner`` with ``outer`` as the caller of its outermost frame."""
    return replace(inner, caller=outer if inner.caller is None else _inlined(inner.caller, outer))


def _split(text: str, separator: str) -> tuple[str, str, str]:
    """At the first ``separator`` outside of brackets."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character in "([<") - (character in ")]>")
        if depth == 0 and text.startswith(separator, position):
            return text[:position], separator, text[position + len(separator) :]
    return text, "", ""


def _items(text: str) -> Iterator[str]:
    while text:
        item, _, text = _split(text, ",")
        yield item


def unescaped(text: str) -> str:
    r"""A text without its quotes; MLIR writes other characters as ``\0A``."""

    def plain(match: re.Match[str]) -> str:
        return chr(int(match[1], 16)) if len(match[1]) == 2 else {"n": "\n", "t": "\t"}.get(match[1], match[1])

    return re.sub(r"\\([0-9A-Fa-f]{2}|.)", plain, text[1:-1])
