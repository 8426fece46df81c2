"""Edits of sources of which the assembler makes other code than their bytecode says."""

from __future__ import annotations

import ast
from typing import Final

from ...results import Edit
from .faulty_place import FaultyPlace, Found
from .kernel_source import TileCall

_KEPT: Final = frozenset({"memory_order", "memory_scope", "check_bounds"})
_GONE: Final = frozenset({"index", "shape", "tile", "latency", "allow_tma"})
"""Keywords that an atomic does without."""


def access_by_atomic(place: FaultyPlace) -> Found:
    """Scoped loads and stores as atomics that do the same: those at fault, those of all findings, all of the kernel."""
    atomics = {
        id(call.node): (call, text)
        for call in place.source.calls(place.function)
        if (text := _atomic(place, call)) is not None
    }
    for nodes in place.growing([call.node for call, _ in atomics.values()]):
        chosen = [atomics[id(node)] for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset))]
        edits: tuple[Edit, ...] = tuple(place.replacing(call.node, text) for call, text in chosen)
        yield " and ".join(dict.fromkeys(f"`{text}`" for _, text in chosen)), edits


def _atomic(place: FaultyPlace, call: TileCall) -> str | None:
    """``atomic_add`` of nothing for a scoped load of one element, ``atomic_xchg`` for a scoped store; else ``None``."""
    keywords = {each.arg: place.of(each.value) for each in call.node.keywords if each.arg is not None}
    order = keywords.get("memory_order", "WEAK")
    if call.index is None or order.endswith("WEAK") or not keywords.keys() <= _KEPT | _GONE:
        return None
    kept = "".join(f", {name}={text}" for name, text in keywords.items() if name in _KEPT)
    target = f"{place.of(call.arguments['array'])}, {place.of(call.index)}"
    module = place.source.module
    if call.name == "load" and _is_single(call.arguments.get("shape")):
        return f"{module}.atomic_add({target}, 0{kept})"
    if call.name == "store" and "tile" in call.arguments:
        return f"{module}.atomic_xchg({target}, {place.of(call.arguments['tile'])}{kept})"
    return None


def _is_single(shape: ast.expr | None) -> bool:
    parts = shape.elts if isinstance(shape, ast.Tuple) else () if shape is None else (shape,)
    return shape is not None and all(isinstance(part, ast.Constant) and part.value == 1 for part in parts)
