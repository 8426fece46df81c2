"""Where the value of a load goes, by the text of the block that the load stands in."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Final

from ..bytecode.model import TileType
from .ttir import TritonBlock, TritonModule, TritonOp, TritonType
from .ttir_pipelines import ops_within

_BY_LANE: Final = ("arith.", "math.")
_BY_LANE_TOO: Final = frozenset({
    "tt.fp_to_fp", "tt.bitcast", "tt.extern_elementwise", "tt.clampf", "tt.precise_sqrt", "tt.precise_divf",
    "tt.mulhiui",
})  # fmt: skip
_ACROSS_LANES: Final = frozenset({"tt.splat", "tt.reshape", "tt.broadcast", "tt.unsplat", "tt.reduce", "tt.scan"})
_VALUE: Final = 1
"""The operand of a store that is stored."""


class ValueUses:
    """The ops of one block that use each value, and the values that regions inside of it use."""

    def __init__(self, block: TritonBlock) -> None:
        self._users: dict[str, list[TritonOp]] = {}
        self._inside: set[str] = set()
        for op in block.ops:
            handed = [name for successor in op.successors for name in successor.arguments]
            self._inside.update(handed)
            for name in dict.fromkeys(op.operands):
                self._users.setdefault(name, []).append(op)
            for region in op.regions:
                for each in region.blocks:
                    self._inside.update(_mentioned(each))

    def only_store(self, load: TritonOp) -> TritonOp | None:
        """The store that alone needs the value of ``load``, each lane of it the same lane; ``None`` if there is none.

        A load whose value goes elsewhere, or across lanes, has no such store.
        """
        shape = _shape(load)
        waiting, seen = [*load.results], set[str]()
        stores: dict[TritonOp, None] = {}
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in self._inside:
                return None
            for op in self._users.get(name, ()):
                if op.name == "tt.store":
                    if [place for place, operand in enumerate(op.operands) if operand == name] != [_VALUE]:
                        return None
                    stores[op] = None
                elif _is_by_lane(op) and _shape(op) == shape:
                    waiting += op.results
                else:
                    return None
        return next(iter(stores)) if len(stores) == 1 else None

    def only_stores(self, load: TritonOp, *, across: bool) -> bool:
        """Whether the value of ``load`` reaches nothing but stores of as many lanes, by tiles of one axis, or of none;
        ``across``: lanes may meet on the way."""
        size, seen = _line(load), set[str]()
        waiting = [*load.results]
        while waiting:
            name = waiting.pop()
            if size is None or name in self._inside:
                return False
            seen.add(name)
            for op in self._users.get(name, ()):
                stored = op.name == "tt.store" and _lanes(op.printed_types[0]) == size
                moved = across and op.name in _ACROSS_LANES and _line(op) in (1, size)
                computed = moved or (_is_by_lane(op) and _line(op) in (1, size))
                if not stored and not computed:
                    return False
                waiting += [result for result in op.results if result not in seen]
        return True


_SPREADS: Final = frozenset({"tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape"})


def only_as_floats(module: TritonModule) -> Iterator[str]:
    """The integers among the parameters of the only kernel that are made floats wherever they are used."""
    (kernel,) = module.kernels
    users: dict[str, list[TritonOp]] = {}
    for op in ops_within(kernel.body):
        for name in (*op.operands, *(name for successor in op.successors for name in successor.arguments)):
            users.setdefault(name, []).append(op)
    for parameter in kernel.parameters:
        waiting, seen = [f"%{parameter.name}"], list[TritonOp]()
        while waiting:
            for op in users.get(waiting.pop(), ()):
                seen.append(op)
                waiting += op.results if op.name in _SPREADS else ()
        converted = [op for op in seen if op.name not in _SPREADS]
        if converted and all(op.name == "arith.sitofp" for op in converted):
            yield parameter.name


def _line(op: TritonOp) -> int | None:
    """The lanes of the results, if these are tiles of one axis or scalars, and all alike."""
    lanes = {_lanes(type) for type in op.result_types}
    return lanes.pop() if len(lanes) == 1 else None


def _lanes(type: TritonType) -> int | None:
    return prod(type.shape) if isinstance(type, TileType) and len(type.shape) <= 1 else None


def _is_by_lane(op: TritonOp) -> bool:
    """Each lane of the result is made of the same lane of the operands, and nothing else happens."""
    pure = op.attributes.get("pure", True) is not False
    return not op.regions and pure and (op.name.startswith(_BY_LANE) or op.name in _BY_LANE_TOO)


def _shape(op: TritonOp) -> tuple[int, ...] | None:
    shapes = [type.shape if isinstance(type, TileType) else None for type in op.result_types]
    return shapes[0] if len(shapes) == 1 else None


def _mentioned(block: TritonBlock) -> Iterator[str]:
    for op in block.ops:
        yield from op.operands
        yield from (name for successor in op.successors for name in successor.arguments)
        for region in op.regions:
            for each in region.blocks:
                yield from _mentioned(each)
