"""Each planted mistake of the translation is found by a stored launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from tileverify.backend.interpreter import InterpreterStop
from tileverify.frontend.bytecode.builder import I64
from tileverify.frontend.triton import translate, ttir_arithmetic, ttir_constants, ttir_lanes, ttir_memory
from tileverify.frontend.triton.translated import TileBuilder, TritonPointer, element_of
from tileverify.frontend.triton.ttir import TritonOp
from tileverify.frontend.triton.ttir_order import ProgramOrder
from tileverify.system.errors import TileVerifyError

from .stored import differences, executed, races, stored_file

Plant = Callable[[pytest.MonkeyPatch], None]


def counterpart(name: str, *wrong: Any) -> Plant:
    """Op ``name`` of two operands as another op of Tile IR, or with other attributes."""
    return lambda patch: patch.setitem(ttir_arithmetic._LANE_BY_LANE, name, wrong)


def as_another(name: str, other: str) -> Plant:
    return lambda patch: patch.setitem(translate.PURE, name, translate.PURE[other])


def changed(
    table: dict[str, Any], name: str, change: Callable[[TritonOp, list[Any]], tuple[TritonOp, list[Any]]]
) -> Plant:
    """The rule of ``name`` with another op and operands."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        rule = table[name]

        def wrong(*given: Any) -> Any:
            at = next(n for n, each in enumerate(given) if isinstance(each, TritonOp))
            return rule(*given[:at], *change(given[at], given[at + 1]), *given[at + 2 :])

        patch.setitem(table, name, wrong)

    return plant


def with_attribute(
    name: str, change: Callable[[Any], Any]
) -> Callable[[TritonOp, list[Any]], tuple[TritonOp, list[Any]]]:
    return lambda op, operands: (replace(op, attributes={**op.attributes, name: change(op.attributes[name])}), operands)


def operands_as(*order: int) -> Callable[[TritonOp, list[Any]], tuple[TritonOp, list[Any]]]:
    return lambda op, operands: (op, [operands[n] for n in order if n < len(operands)])


def without_mask(patch: pytest.MonkeyPatch) -> None:
    right = ttir_memory._store
    patch.setattr(
        ttir_memory,
        "_store",
        lambda b, order, op, target, value: right(b, order, op, replace(target, mask=None), value),
    )


def without_token(patch: pytest.MonkeyPatch) -> None:
    def before(self: ProgramOrder, root: str | None, **_: Any) -> Any:
        return self._body.op("make_token")

    patch.setattr(ProgramOrder, "before", before)


def loads_do_not_count(patch: pytest.MonkeyPatch) -> None:
    right = ProgramOrder.after

    def after(self: ProgramOrder, root: str | None, token: Any, *, reads: bool, writes: bool, **rest: bool) -> None:
        if writes:
            right(self, root, token, reads=reads, writes=writes, **rest)

    patch.setattr(ProgramOrder, "after", after)


def narrow_offsets(patch: pytest.MonkeyPatch) -> None:
    """Offsets are added in the width of the last, and widened behind that."""

    def moved(self: TileBuilder, place: TritonPointer, by: Any) -> TritonPointer:
        before = None if place.offset is None else self.widened(place.offset, element_of(by))
        total = by if before is None else self.body.op("addi", lhs=before, rhs=by)
        return replace(place, offset=self.widened(total))

    patch.setattr(TileBuilder, "moved", moved)


def unsigned_offsets(patch: pytest.MonkeyPatch) -> None:
    right = TileBuilder.widened
    patch.setattr(
        TileBuilder, "widened", lambda self, value, element=I64, signed=True: right(self, value, element, signed=False)
    )


def one_bound(patch: pytest.MonkeyPatch) -> None:
    """Of two conditions of a descriptor's mask the second is forgotten."""
    patch.setattr(TileBuilder, "both", lambda self, first, second: second if first is None else first)


def no_scale_of_types(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TileBuilder, "retyped", lambda self, place, pointee: replace(place, pointee=pointee))


def first_end(patch: pytest.MonkeyPatch) -> None:
    """A scan goes on from the wrong end of the half before."""
    right = ttir_lanes._end
    patch.setattr(ttir_lanes, "_end", lambda b, value, dim, first: right(b, value, dim, first=not first))


def no_negative_zero(patch: pytest.MonkeyPatch) -> None:
    right = ttir_constants._bits
    patch.setattr(
        ttir_constants,
        "_bits",
        lambda item, element: (
            right(item.removeprefix("-0"), element) if item.startswith("-0.0") else right(item, element)
        ),
    )


PURE: Final[dict[str, Any]] = translate.PURE  # type: ignore[assignment]
COMBINING: Final[dict[str, Any]] = translate.COMBINING
MEMORY: Final[dict[str, Any]] = ttir_memory.RULES  # type: ignore[assignment]

PLANTED: Final[dict[str, tuple[Plant, tuple[str, ...]]]] = {
    "signed division of unsigned": (
        counterpart("arith.divui", "divi", {"sgn": "signed", "rnd": "zero"}, ()),
        ("integers_u32",),
    ),
    "a quotient rounded down": (
        counterpart("arith.divsi", "divi", {"sgn": "signed", "rnd": "negative_inf"}, ()),
        ("integers_i32",),
    ),
    "unsigned remainder of signed": (counterpart("arith.remsi", "remi", {"sgn": "unsigned"}, ()), ("integers_i8",)),
    "and for or": (counterpart("arith.ori", "andi", {}, ()), ("integers_i16",)),
    "logical shift of signed": (counterpart("arith.shrsi", "shri", {"sgn": "unsigned"}, ()), ("integers_i64",)),
    "signed minimum of unsigned": (counterpart("arith.minui", "mini", {"sgn": "signed"}, ()), ("integers_u8",)),
    "maximum without NaN": (counterpart("arith.maximumf", "maxf", {}, ()), ("floats_f32",)),
    "signed widening of unsigned": (as_another("arith.extui", "arith.extsi"), ("casts_u8",)),
    "unsigned to float as signed": (as_another("arith.uitofp", "arith.sitofp"), ("casts_u32",)),
    "select turned round": (changed(PURE, "arith.select", operands_as(0, 2, 1)), ("floats_f32",)),
    "unsigned comparison of signed": (
        changed(PURE, "arith.cmpi", lambda op, given: (replace(op, words=((op.word(0).replace("s", "u"), 0),)), given)),
        ("compared_i16",),
    ),
    "ordered comparison of NaN": (
        changed(
            PURE, "arith.cmpf", lambda op, given: (replace(op, words=((op.word(0).replace("une", "one"), 0),)), given)
        ),
        ("compared_f32",),
    ),
    "clamp that keeps NaN away": (
        changed(PURE, "tt.clampf", with_attribute("propagateNan", lambda _: "none")),
        ("clamped_f32",),
    ),
    "no negative zero": (no_negative_zero, ("float_constants",)),
    "rounding to nearest for to zero": (
        changed(PURE, "tt.fp_to_fp", with_attribute("rounding", lambda _: "rtne")),
        ("toward_zero",),
    ),
    "sum along the other axis": (
        changed(COMBINING, "tt.scan", with_attribute("axis", lambda axis: 1 - axis)),
        ("scanned_i32",),
    ),
    "reverse forgotten": (changed(COMBINING, "tt.scan", with_attribute("reverse", lambda _: False)), ("scanned_i32",)),
    "wrong end of a scan": (first_end, ("scanned_i64",)),
    "dimensions in the other order": (
        changed(
            PURE, "tt.trans", with_attribute("order", lambda order: tuple(order.index(n) for n in range(len(order))))
        ),
        ("shaped",),
    ),
    "halves exchanged": (changed(PURE, "tt.join", operands_as(1, 0)), ("joined_i32",)),
    "gather along the other axis": (
        changed(PURE, "tt.gather", with_attribute("axis", lambda axis: 1 - axis)),
        ("gathered_i32",),
    ),
    "mask of a histogram dropped": (changed(PURE, "tt.histogram", operands_as(0)), ("counted",)),
    "product without its third operand": (changed(PURE, "tt.dot", operands_as(0, 1, 1)), ("multiplied_i8_i32",)),
    "axes of the grid exchanged": (
        changed(
            PURE,
            "tt.get_program_id",
            lambda op, given: (replace(op, words=(("zyx"["xyz".index(op.word(0))], 0),)), given),
        ),
        ("axes",),
    ),
    "mask of a store dropped": (without_mask, ("masked_i32",)),
    "other of a load dropped": (changed(MEMORY, "tt.load", operands_as(0, 1)), ("masked_i32",)),
    "mask of a load dropped": (changed(MEMORY, "tt.load", operands_as(0)), ("masked_f16",)),
    "mask of an atomic dropped": (changed(MEMORY, "tt.atomic_rmw", operands_as(0, 1)), ("atomics_i32",)),
    "maximum of unsigned as signed": (lambda patch: patch.setitem(ttir_memory._MODES, "umax", "max"), ("atomics_u32",)),
    "compare and swap exchanged": (changed(MEMORY, "tt.atomic_cas", operands_as(0, 2, 1)), ("atomics_i64",)),
    "offsets widened behind the sum": (narrow_offsets, ("wide",)),
    "offsets without signs": (unsigned_offsets, ("negative",)),
    "a descriptor checked on one side": (one_bound, ("outside_i32", "descriptors_i32")),
    "elements of another size": (no_scale_of_types, ("retyped",)),
    "tokens left out": (without_token, ("in_place_3",)),
    "a store does not wait for loads": (loads_do_not_count, ("in_place_1",)),
}


def found(name: str) -> bool:
    """Whether a test of stored launches fails."""
    launch = stored_file(name)
    try:
        return bool(differences(launch, executed(launch)) or any(code.startswith("TV2") for code in races(launch)))
    except (AssertionError, InterpreterStop, TileVerifyError):
        return True


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_is_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, names = PLANTED[mistake]
    assert not any(found(name) for name in names)
    plant(monkeypatch)
    assert any(found(name) for name in names)
