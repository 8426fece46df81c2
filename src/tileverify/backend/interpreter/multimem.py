"""Multicast accesses (13.5) in a team of one device: the multicast object has a single member, this memory.

A load that reduces over the members is then a load, a reduction into every member an atomic reduction, a store to every
member a store, each with the order and scope of the op.  Which reductions exist for which elements is what tileiras
13.5.37 accepts: 32- and 64-bit integers all of them, floats ``add``, and loads of f16 and bf16 also ``min``, ``max``.

What a launch on several devices adds is not modelled: the values of the other members, accesses of other devices that
race with these, and the same memory under its own address beside the multicast one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...frontend.bytecode.model import Op, ScalarType
from .accesses import addressable, load_view, log_all, store_view, view_reach
from .atomics import read_modify_write
from .faults import NotModelled
from .values import Tile, Token

if TYPE_CHECKING:
    from .machine import BlockRun, Rule


def _mode(op: Op, element: ScalarType) -> str:
    """The atomic mode that ``red`` names for ``element``."""
    reduction: str = op.attributes["red"]
    if element.is_integer and element.bits in (32, 64):
        return reduction
    if element.is_float and element.bits >= 16 and element.name != "tf32":
        half = element.bits == 16 and op.name == "multimem_load_reduce_view_tko"
        if reduction == "add" or (half and reduction in ("min", "max")):
            return f"{reduction}f"
    raise NotModelled(f"{op.name} {reduction} of {element.name}")


def _load_reduce(run: BlockRun, op: Op) -> tuple[Tile, Token]:
    _mode(op, run.tile_view(op, "view").tensor.element)
    return load_view(run, op)


def _reduce(run: BlockRun, op: Op) -> Token:
    element = addressable(op, run.tile_view(op, "view").tensor.element)
    mode, value = _mode(op, element), run.tile(op, "tile")
    reaches, _ = view_reach(run, op)
    token = log_all(run, op, "atomic", reaches, reads=True, writes=True)
    for reach in reaches:
        read_modify_write(run, op, reach, element, value, value.data.shape, mode)
    return token


RULES: Final[dict[str, Rule]] = {
    "multimem_load_reduce_view_tko": _load_reduce,
    "multimem_reduce_view_tko": _reduce,
    "multimem_store_view_tko": store_view,
}
