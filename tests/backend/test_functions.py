"""Functions that Tile IR has no op for: values from tables of mathematics, and what has none."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import pytest

from tileverify.backend.interpreter import NotModelled
from tileverify.backend.interpreter.functions import FUNCTIONS, function_called
from tileverify.backend.interpreter.values import APPROXIMATE, UNSPECIFIED, Tile
from tileverify.frontend.bytecode.builder import F32, F64, I32, I64, BodyBuilder, tile
from tileverify.frontend.bytecode.model import FloatAttribute, ScalarType, Value

from .helpers import run_ops, single

Operand = tuple[ScalarType, float | int]


def bits(element: ScalarType, number: float) -> int:
    if element.is_integer:
        return int(number)
    return int.from_bytes(struct.pack("<f" if element.bits == 32 else "<d", number), "little")


def called(callee: str, made: ScalarType, *given: Operand) -> Tile:
    def build(f: BodyBuilder) -> Value:
        args = [f.constant(tile(element, 2), bits(element, number)) for element, number in given]
        value: Value = f.op("opaque", args=args, callee=callee, results=[tile(made, 2)])
        return value

    return run_ops(build)[1][0]


def value(result: Tile) -> float:
    first, second = result.data.tolist()
    assert first == second or (first != first and second != second)
    return float(first)


@pytest.mark.parametrize(
    ("callee", "given", "expected"),
    [
        ("__nv_erff", 0.5, 0.5204999),
        ("math.erf", -0.5, -0.5204999),
        ("__nv_erfcf", 2.0, 0.0046777),
        ("__nv_log1pf", 1.0, math.log(2)),
        ("math.log1p", 1.0, math.log(2)),
        ("math.expm1", 1.0, math.e - 1),
        ("__nv_asinf", 1.0, math.pi / 2),
        ("__nv_acosf", 0.0, math.pi / 2),
        ("__nv_atanf", 1.0, math.pi / 4),
        ("__nv_asinhf", math.sinh(1.5), 1.5),
        ("__nv_acoshf", math.cosh(1.5), 1.5),
        ("__nv_atanhf", math.tanh(0.5), 0.5),
        ("__nv_cbrtf", -27.0, -3.0),
        ("__nv_exp10f", 3.0, 1000.0),
        ("__nv_log10f", 1000.0, 3.0),
    ],
)
def test_functions_of_one_float(callee: str, given: float, expected: float) -> None:
    result = called(callee, F32, (F32, given))
    assert value(result) == pytest.approx(expected, rel=1e-5)
    assert result.taint is not None
    assert result.taint == APPROXIMATE


def test_f64_is_computed_in_f64() -> None:
    assert value(called("__nv_erf", F64, (F64, 0.5))) == math.erf(0.5)


@pytest.mark.parametrize(
    ("callee", "given", "expected"),
    [
        ("__nv_truncf", -2.75, -2.0),
        ("__nv_roundf", 2.5, 3.0),
        ("__nv_roundf", -2.5, -3.0),
        ("__nv_roundf", math.inf, math.inf),
        ("__nv_rintf", 2.5, 2.0),
        ("__nv_nearbyintf", 3.5, 4.0),
    ],
)
def test_rounding_is_exact(callee: str, given: float, expected: float) -> None:
    result = called(callee, F32, (F32, given))
    assert (value(result), result.taint) == (expected, None)


def test_half_of_a_step_is_not_rounded_twice() -> None:
    """0.49999999999999994 + 0.5 is 1 in f64."""
    assert value(called("__nv_round", F64, (F64, 0.49999999999999994))) == 0


def test_functions_of_two() -> None:
    assert value(called("__nv_hypotf", F32, (F32, 3.0), (F32, 4.0))) == 5.0
    assert value(called("__nv_copysignf", F32, (F32, 3.0), (F32, -0.0))) == -3.0
    assert value(called("__nv_ldexpf", F32, (F32, 3.0), (I32, -1))) == 1.5


@pytest.mark.parametrize(
    ("base", "exponent", "expected"), [(2.0, 3, 8.0), (2.0, -2, 0.25), (-3.0, 3, -27.0), (0.0, 0, 1.0)]
)
def test_whole_powers(base: float, exponent: int, expected: float) -> None:
    assert value(called("__nv_powif", F32, (F32, base), (I32, exponent))) == expected
    assert value(called("__nv_powi", F64, (F64, base), (I32, exponent))) == expected


@pytest.mark.parametrize(
    ("callee", "given", "expected"),
    [
        ("__nv_isnanf", math.nan, 1),
        ("__nv_isnanf", math.inf, 0),
        ("__nv_isinff", -math.inf, 1),
        ("__nv_isinff", 1.0, 0),
        ("__nv_finitef", 1.0, 1),
        ("__nv_finitef", math.nan, 0),
    ],
)
def test_classes(callee: str, given: float, expected: int) -> None:
    result = called(callee, I32, (F32, given))
    assert (value(result), result.taint) == (expected, None)


@pytest.mark.parametrize(
    ("callee", "element", "given", "expected"),
    [
        ("__nv_popc", I32, -1, 32),
        ("__nv_popc", I32, 0x10001, 2),
        ("__nv_popcll", I64, -1, 64),
        ("__nv_clz", I32, 1, 31),
        ("__nv_clz", I32, 0, 32),
        ("__nv_clz", I32, -1, 0),
        ("__nv_clzll", I64, 1 << 40, 23),
        ("__nv_ffs", I32, 0, 0),
        ("__nv_ffs", I32, 8, 4),
        ("__nv_ffsll", I64, 1 << 40, 41),
    ],
)
def test_bits_are_counted(callee: str, element: ScalarType, given: int, expected: int) -> None:
    result = called(callee, I32, (element, given))
    assert (value(result), result.taint) == (expected, None)


def test_to_integers() -> None:
    assert value(called("__nv_llrintf", I64, (F32, 2.5))) == 2
    assert value(called("__nv_llroundf", I64, (F32, 2.5))) == 3
    assert called("__nv_llrintf", I64, (F32, -2.0)).data.astype("int64").tolist() == [-2, -2]
    beyond = called("__nv_llrintf", I64, (F32, math.inf)).taint
    assert beyond is not None
    assert beyond.tolist() == [UNSPECIFIED, UNSPECIFIED]


def test_a_scalar_goes_with_every_lane() -> None:
    def build(f: BodyBuilder) -> Value:
        x = f.constant(tile(F32, 4), *(bits(F32, number) for number in (1, 2, 3, 4)))
        n = f.constant(tile(I32), 1)
        made: Value = f.op("opaque", args=[x, n], callee="__nv_ldexpf", results=[tile(F32, 4)])
        return made

    assert run_ops(build)[1][0].data.tolist() == [2, 4, 6, 8]


def test_in_the_body_of_a_reduction() -> None:
    """The length of (3, 4, 12, 84)."""

    def build(f: BodyBuilder) -> Value:
        x = f.constant(tile(F32, 4), *(bits(F32, number) for number in (3, 4, 12, 84)))
        with f.reduce([x], 0, [FloatAttribute(F32, 0)]) as body:
            length = f.op("opaque", args=body.arguments, callee="__nv_hypotf", results=[tile(F32)])
            f.op("yield", args=[length])
        made: Value = body.results[0]
        return made

    assert single(build) == 85


@pytest.mark.parametrize(
    ("callee", "call"),
    [
        ("__nv_brev", lambda: called("__nv_brev", I32, (I32, 1))),
        ("__nv_popc", lambda: called("__nv_popc", I32, (I64, 1))),
        ("__nv_erff", lambda: called("__nv_erff", F32, (I32, 1))),
        ("__nv_erff", lambda: called("__nv_erff", F32)),
        ("math.popc", lambda: called("math.popc", I32, (I32, 1))),
        ("erf", lambda: called("erf", F32, (F32, 1.0))),
        ("asm mov.u32 $0, %smid;", lambda: called("asm mov.u32\n $0, %smid;", I32)),
    ],
)
def test_no_value_is_made_up(callee: str, call: Callable[[], Tile]) -> None:
    with pytest.raises(NotModelled, match="is not modelled") as stop:
        call()
    assert f"the value of '{callee}'" in str(stop.value)


def test_names_do_not_collide() -> None:
    """An ``f`` at the end is taken away only where the name is not known with it."""
    assert function_called("__nv_erf") is FUNCTIONS["erf"]
    assert function_called("__nv_erff") is FUNCTIONS["erf"]
    assert not {name for name in FUNCTIONS if f"{name}f" in FUNCTIONS}
