"""Reading addresses as coordinates."""

from __future__ import annotations

from tileverify.contract import terms as t
from tileverify.contract.terms import Scope, Term
from tileverify.contract.variables import BID
from tileverify.verifier.obligations.layout import decompose

from .builders import lanes, origin

ROW, COLUMN = (t.var(name, Scope.BLOCK, 0, 2**31 - 1) for name in ("row", "column"))
MATRIX, CUBE = origin("m", 2), origin("c", 3)


def address(array: object, *coordinates: Term) -> Term:
    """The bytes as cuTile computes them: 64-bit products and sums of element counts."""
    elements = t.ZERO
    for c, stride in zip(coordinates, array.strides, strict=True):  # type: ignore[attr-defined]
        elements = t.wrap(64, t.add(elements, t.wrap(64, t.mul(c, stride))))
    return t.scale(4, elements)


def test_sum_of_products_is_read_back() -> None:
    column = t.add(t.scale(128, BID[0]), lanes(128)[0].variable)
    assert decompose(address(MATRIX, ROW, column), MATRIX, 4) == (ROW, column)
    assert decompose(address(CUBE, ROW, COLUMN, column), CUBE, 4) == (ROW, COLUMN, column)


def test_scaled_and_constant_coordinates() -> None:
    assert decompose(address(MATRIX, t.scale(4, ROW), t.const(7)), MATRIX, 4) == (t.scale(4, ROW), t.const(7))
    assert decompose(address(MATRIX, t.const(3), t.ZERO), MATRIX, 4) == (t.const(3), t.ZERO)


def test_a_choice_of_addresses() -> None:
    first = t.lt(ROW, COLUMN)
    offset = t.ite(first, address(MATRIX, ROW, t.ONE), address(MATRIX, COLUMN, t.ZERO))
    expected = (t.ite(first, ROW, COLUMN), t.ite(first, t.ONE, t.ZERO))
    assert decompose(offset, MATRIX, 4) == expected


def test_what_is_no_sum_over_strides_is_left_alone() -> None:
    assert decompose(t.scale(2, ROW), MATRIX, 4) is None, "half an element"
    assert decompose(t.scale(4, t.mul(MATRIX.strides[0], CUBE.strides[0])), CUBE, 2) is None, "other width"
    wrapped = t.wrap(32, t.mul(ROW, MATRIX.strides[0]))
    assert decompose(t.scale(4, wrapped), MATRIX, 4) == (t.ZERO, wrapped), "a 32-bit wrap is real: it stays"
