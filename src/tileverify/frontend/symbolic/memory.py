"""Rules for the ops that touch memory: each records one site and gives back a value and a token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...contract.terms import TRUE, Term
from ..bytecode.model import Op, Value
from . import contents, views
from .lanes import lanes_of
from .machine import Machine, Rule, pointee, shape_of
from .pointers import PACKED
from .summary import Access, PointerFootprint
from .tokens import Token
from .values import SymbolicValue, TileView


def _mask(m: Machine, op: Op) -> Term:
    mask = op.optional("mask")
    return TRUE if mask is None else m.term(mask)


def _integer(m: Machine, value: Value) -> Term | None:
    """An integer operand, for the site; floats are not followed."""
    content = m.value(value)
    return content if isinstance(content, Term) else None


# -------------------------------------------------------------------------------------------- pointers
def _at_pointer(
    m: Machine,
    op: Op,
    access: Access,
    *,
    value: SymbolicValue | None = None,
    argument: Value | None = None,
    compare: Value | None = None,
) -> Token:
    pointer, element = m.pointer(op.value("ptr")), pointee(op.value("ptr"))
    if element.packed:
        raise m.unsupported(op, PACKED)
    return m.access(
        op,
        access,
        PointerFootprint(pointer.origin, pointer.offset, element.bytes),
        lanes_of(shape_of(op.value("ptr"))),
        m.token(op.optional("token")),
        _mask(m, op),
        value=value if isinstance(value, Term) else None,
        argument=None if argument is None else _integer(m, argument),
        compare=None if compare is None else _integer(m, compare),
        compared=compare is not None,
    )


def load_pointer(m: Machine, op: Op) -> tuple[SymbolicValue, ...]:
    value = contents.of_pointer(m, op, m.pointer(op.value("ptr")), _mask(m, op))
    return value, _at_pointer(m, op, Access.READ, value=value)


def store_pointer(m: Machine, op: Op) -> Token:
    return _at_pointer(m, op, Access.WRITE, argument=op.value("val"))


def atomic_update(m: Machine, op: Op) -> tuple[SymbolicValue, ...]:
    value = m.unknown(op, op.results[0])
    return value, _at_pointer(m, op, Access.ATOMIC, value=value, argument=op.value("arg"))


def compare_and_swap(m: Machine, op: Op) -> tuple[SymbolicValue, ...]:
    value = m.unknown(op, op.results[0])
    token = _at_pointer(m, op, Access.ATOMIC, value=value, argument=op.value("val"), compare=op.value("cmp"))
    return value, token


# ----------------------------------------------------------------------------------------------- views
def _at_view(
    m: Machine, op: Op, access: Access, argument: str | None = None, read: Callable[..., SymbolicValue] | None = None
) -> tuple[SymbolicValue | None, Token]:
    view = m.view(op.value("view"))
    place = views.footprint(m, view, op.group("index"), op.attributes.get("inbounds") or ())
    value = None if read is None else read(m, op, view, place)
    token = m.access(
        op,
        access,
        place,
        lanes_of(view.tile),
        m.token(op.optional("token")),
        value=value if isinstance(value, Term) else None,
        argument=None if argument is None else _integer(m, op.value(argument)),
    )
    return value, token


def load_view(m: Machine, op: Op) -> tuple[SymbolicValue, ...]:
    value, token = _at_view(m, op, Access.READ, read=contents.of_view)
    assert value is not None
    return value, token


def store_view(m: Machine, op: Op) -> Token:
    return _at_view(m, op, Access.WRITE, "tile")[1]


def reduce_into_view(m: Machine, op: Op) -> Token:
    return _at_view(m, op, Access.ATOMIC, "value")[1]


def multimem_load(m: Machine, op: Op) -> tuple[SymbolicValue, ...]:
    """What several devices hold, reduced: never followed."""

    def read(m: Machine, op: Op, view: TileView, place: object) -> SymbolicValue:
        return m.unknown(op, op.results[0])

    value, token = _at_view(m, op, Access.READ, read=read)
    assert value is not None
    return value, token


def multimem_reduce(m: Machine, op: Op) -> Token:
    return _at_view(m, op, Access.ATOMIC, "tile")[1]


RULES: Final[dict[str, Rule]] = {
    "load_ptr_tko": load_pointer,
    "store_ptr_tko": store_pointer,
    "atomic_rmw_tko": atomic_update,
    "atomic_cas_tko": compare_and_swap,
    "load_view_tko": load_view,
    "store_view_tko": store_view,
    "atomic_red_view_tko": reduce_into_view,
    "multimem_load_reduce_view_tko": multimem_load,
    "multimem_reduce_view_tko": multimem_reduce,
    "multimem_store_view_tko": store_view,
}
