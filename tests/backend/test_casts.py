"""Conversions of PTX to floats of fewer bits, and back: rounding, ends of ranges, packing, and what is not known."""

from __future__ import annotations

import numpy as np
import pytest

from tileverify.backend.compiled.machine.computed import UnknownInstruction, ValueRule, rule_of
from tileverify.backend.compiled.machine.storage import Array
from tileverify.backend.compiled.ptx import Instruction, Register

NAN, INF = float("nan"), float("inf")


def rule(name: str, operands: int = 2) -> ValueRule:
    return rule_of(Instruction(tuple(name.split(".")), (Register("%r0"),) * operands, 1))


def floats(*values: float) -> Array:
    return np.array(values, "f4")


def test_modifiers_may_stand_behind_the_types() -> None:
    given = floats(1 + 2**-11, 1 + 3 * 2**-11, 65520, -0.0)
    with np.errstate(over="ignore"):
        found = [rule(name).function(given).tolist() for name in ("cvt.rn.f16.f32", "cvt.f16.f32.rn")]
    assert found[0] == found[1] == [1, 1 + 2**-9, INF, -0.0]


@pytest.mark.parametrize(
    ("bits", "even", "away"),
    [
        (0x3F80_0FFF, 0x3F80_0000, 0x3F80_0000),
        (0x3F80_1000, 0x3F80_0000, 0x3F80_2000),  # halfway: to even, away from zero
        (0xBF80_1000, 0xBF80_0000, 0xBF80_2000),
        (0x3F80_3000, 0x3F80_4000, 0x3F80_4000),
        (0x3F80_1001, 0x3F80_2000, 0x3F80_2000),
        (0x7F7F_FFFF, 0x7F80_0000, 0x7F80_0000),  # over the largest number
        (0x7F80_0000, 0x7F80_0000, 0x7F80_0000),
        (0x8000_0000, 0x8000_0000, 0x8000_0000),
        (0x0000_1800, 0x0000_2000, 0x0000_2000),
    ],
)
def test_tf32_has_ten_bits_of_fraction(bits: int, even: int, away: int) -> None:
    given = np.array([bits], "u4").view("f4")
    assert [int(rule(f"cvt.{how}.tf32.f32").function(given)[0]) for how in ("rn", "rna")] == [even, away]


def test_no_number_stays_none_in_tf32() -> None:
    assert np.isnan(rule("cvt.rn.tf32.f32").function(floats(NAN)).view("f4")).all()


@pytest.mark.parametrize(
    ("type_", "value", "code"),
    [
        ("e4m3x2", 0, 0x00), ("e4m3x2", -0.0, 0x80), ("e4m3x2", 1, 0x38), ("e4m3x2", -1.75, 0xBE),
        ("e4m3x2", 1.0625, 0x38), ("e4m3x2", 1.1875, 0x3A), ("e4m3x2", 448, 0x7E), ("e4m3x2", 449, 0x7E),
        ("e4m3x2", INF, 0x7E), ("e4m3x2", -INF, 0xFE), ("e4m3x2", NAN, 0x7F), ("e4m3x2", 2**-9, 0x01),
        ("e4m3x2", 2**-10, 0x00), ("e4m3x2", 3 * 2**-10, 0x02), ("e4m3x2", 1e-30, 0x00), ("e4m3x2", 0.0155, 0x08),
        ("e5m2x2", 1, 0x3C), ("e5m2x2", 57344, 0x7B), ("e5m2x2", 1e9, 0x7B), ("e5m2x2", 2**-16, 0x01),
        ("e2m1x2", 0.25, 0x0), ("e2m1x2", 0.75, 0x2), ("e2m1x2", 1.25, 0x2), ("e2m1x2", 5, 0x6), ("e2m1x2", 5.5, 0x7),
        ("e2m1x2", -100, 0xF), ("e2m1x2", NAN, 0x7),
    ],
)  # fmt: skip
def test_narrow_floats_are_rounded_to_nearest_and_end_at_the_largest(type_: str, value: float, code: int) -> None:
    found = rule(f"cvt.rn.satfinite.{type_}.f32", 3)
    bits = 4 if type_ == "e2m1x2" else 8
    assert found.result == f"b{2 * bits}"
    assert int(found.function(floats(value), floats(0))[0]) == code << bits  # the first operand is the upper half
    assert int(found.function(floats(0), floats(value))[0]) == code


@pytest.mark.parametrize("type_", ["e4m3x2", "e5m2x2"])
def test_every_pair_of_codes_is_what_its_floats_become(type_: str) -> None:
    codes = np.arange(1 << 16, dtype="u2")
    wide = rule(f"cvt.rn.f16x2.{type_}").function(codes)
    halves = [
        ((wide >> np.uint32(shift)) & np.uint32(0xFFFF)).astype("u2").view("f2").astype("f4") for shift in (16, 0)
    ]
    again = rule(f"cvt.rn.satfinite.{type_}.f32", 3).function(*halves)
    finite = np.isfinite(halves[0]) & np.isfinite(halves[1])
    assert (again[finite] == codes[finite]).all()
    assert finite.sum() == (254 if type_ == "e4m3x2" else 248) ** 2


@pytest.mark.parametrize(
    "name",
    [
        "cvt.rz.tf32.f32", "cvt.rn.satfinite.tf32.f32", "cvt.rn.tf32.f16", "cvt.rn.e4m3x2.f32", "cvt.rs.f16x2.f32",
        "cvt.rn.e4m3x2.f16x2", "cvt.rn.bf16x2.e4m3x2", "cvt.rn.satfinite.e3m2x2.f32", "cvt.s32.f32",
        "cvt.rn.satfinite.relu.scaled.e4m3x2.f32", "cvt.rn",
    ],
)  # fmt: skip
def test_what_is_not_known_has_no_rule(name: str) -> None:
    with pytest.raises(UnknownInstruction):
        rule(name)
