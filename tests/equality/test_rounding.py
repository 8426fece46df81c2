"""What rounding does to kernels that are equal over the real numbers, and what is said of it."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command_line import command_line

from tileverify.equality.answer_text import rounding_lines
from tileverify.equality.deciding import Decision, ExactAnswer
from tileverify.equality.launch_outcomes import RoundingSeen, error_of, spacing
from tileverify.equality.points import Options
from tileverify.equality.targets import EqualOptions, judge

KERNELS = Path(__file__).parent / "rounding_kernels.py"
SIZES = {"M": 4, "N": 64}


def row_sums(x: Any) -> Any:
    return {"out": x.sum(axis=1)}


@cache
def _seen(kernel: str) -> RoundingSeen:
    (found,) = judge(f"{KERNELS}::{kernel}", row_sums, EqualOptions(Options(values=SIZES)))
    assert found.equality.answer is Decision.EQUAL, found.equality.reason
    assert found.equality.rounding is not None
    return found.equality.rounding


def _with_inputs(kernel: str, x: Any) -> ExactAnswer:
    sizes = {"M": len(x), "N": len(x[0])}
    options = Options(values=sizes, inputs={"x": np.asarray(x, np.float64)})
    (found,) = judge(f"{KERNELS}::{kernel}", row_sums, EqualOptions(options))
    return found.equality


@pytest.mark.parametrize(("format_name", "numpy"), [("f16", np.float16), ("f32", np.float32), ("f64", np.float64)])
def test_spacings_are_those_of_numpy(format_name: str, numpy: Any) -> None:
    values = np.array([1, 1.5, 0.75, 1000, 1e-3, 6e-8, 0.0, 3e-5], numpy)
    assert (spacing(values.astype(np.float64), format_name) == np.abs(np.spacing(values))).all()


def test_spacings_of_formats_that_numpy_lacks() -> None:
    values = np.array([1.0, 1.99, 2.0, -8.0, 2.0**-130])
    assert spacing(values, "bf16").tolist() == [2**-7, 2**-7, 2**-6, 2**-4, 2.0**-133]
    assert spacing(values, "f8e4m3").tolist() == [2**-3, 2**-3, 2**-2, 1.0, 2**-9]
    assert spacing(values, "f8e5m2").tolist() == [2**-2, 2**-2, 2**-1, 2.0, 2**-16]


@pytest.mark.parametrize(
    ("kernel", "reference", "told"),
    [
        ([2.002, 4.0], [2.0, 4.0], "1.02 units in the last place of f16 (0.512 of its largest element's)"),
        ([0.001, 4.0], [0.0, 4.0], "0.256 units in the last place of its largest element, in f16, most beside 0"),
        ([-1e-3, 4.0], [1e-9, 4.0], "0.256 units in the last place of its largest element, in f16, most beside 0"),
        ([math.inf, 4.0], [0.0, 4.0], "inf units in the last place of f16 (inf of its largest element's)"),
        ([0.0, 4.0], [0.0, 4.0], "0 units in the last place of f16 (0 of its largest element's)"),
    ],
)
def test_units_are_told_of_elements_that_have_digits(kernel: list[float], reference: list[float], told: str) -> None:
    found = error_of("out", "f16", np.array(kernel), np.array(reference), {"N": 2}, "normal")
    assert found is not None
    answer = ExactAnswer(Decision.EQUAL, rounding=RoundingSeen((found,)))
    (line,) = rounding_lines(answer)
    assert line.startswith(f"  rounding: out is off by up to {told}: out[0] is ")


def test_the_worst_element_is_told() -> None:
    found = error_of("out", "f16", np.array([[1.0, 2.002, 4.0]]), np.array([[1.0, 2.0, np.inf]]), {"N": 3}, "normal")
    assert found is not None
    assert (found.index, found.kernel, found.reference) == ((0, 1), 2.002, 2.0)
    assert found.units == pytest.approx(0.002 * 512)
    assert error_of("out", "f16", np.array([1.0]), np.array([np.nan]), {}, "normal") is None
    beyond = error_of("out", "f16", np.array([np.inf]), np.array([70000.0]), {}, "normal")
    assert beyond is not None
    assert beyond.units == math.inf


def test_a_sum_in_f32_is_off_by_half_a_unit() -> None:
    (error,) = _seen("in_f32").arrays
    assert (error.array, error.format) == ("out", "f16")
    assert 0 < error.units <= 0.5001
    assert _seen("in_f32").narrow == ()


def test_sums_in_f16_are_named_and_seen() -> None:
    line = next(n for n, text in enumerate(KERNELS.read_text().splitlines(), 1) if "for k" in text)
    (narrow,) = _seen("in_f16").narrow
    assert (narrow.op, narrow.format, narrow.line) == ("for", "f16", line)
    (error,) = _seen("in_f16").arrays
    assert error.units > 0.5001
    assert [(each.op, each.format) for each in _seen("at_once").narrow] == [("reduce", "f16")]
    assert _seen("squares").narrow == ()


def test_additions_that_are_lost_are_counted_at_given_inputs() -> None:
    """2048 + 1 is 2048 in f16; each tile of the loop loses its 1."""
    x = np.zeros((1, 128))
    x[0, ::32] = 2048, 1, 1, 1
    assert [each.units for each in _rounding(_with_inputs("in_f16", x)).arrays] == [1.5]
    assert [each.units for each in _rounding(_with_inputs("in_f32", x)).arrays] == [0.5]


def test_a_format_that_overflows_is_told_though_the_function_is_the_same() -> None:
    found = _with_inputs("in_f16", np.full((1, 64), 60000.0))
    assert found.answer is Decision.EQUAL
    (error,) = _rounding(found).arrays
    assert (error.units, error.kernel, error.reference) == (math.inf, math.inf, 64 * 60000.0)


def _rounding(found: ExactAnswer) -> RoundingSeen:
    assert found.answer is Decision.EQUAL, found.reason
    assert found.rounding is not None
    return found.rounding


def test_the_command_tells_it(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = command_line(capfd)
    reference = tmp_path / "reference.py"
    reference.write_text("def row_sums(x):\n    return {'out': x.sum(axis=1)}\n")
    words = ("equal", f"{KERNELS}::in_f16", "--reference", f"{reference}::row_sums", "--size", "M=4", "--size", "N=64")
    said = run(*words)
    assert said.code == 0, said.err
    assert "rounding: out is off by up to " in said.out
    assert "adds up in f16, which is narrower than f32: for at line" in said.out
    (answer,) = json.loads(run(*words, "--format", "json").out)["equal"]
    (array,) = answer["rounding"]["arrays"]
    assert (array["array"], array["format"], array["launch"]) == ("out", "f16", SIZES)
    assert array["units"] > 0.5
    assert [each["op"] for each in answer["rounding"]["narrow_sums"]] == ["for"]
    assert answer["rounding"]["reason"] is None


COUNT = """
import cuda.tile as ct

@ct.kernel
def positive(x, out, TILE: ct.Constant[int]):
    r = ct.bid(0)
    count = ct.zeros((1, TILE), dtype=ct.int8)
    for j in range(ct.num_tiles(x, axis=1, shape=(1, TILE))):
        tile = ct.load(x, (r, j), (1, TILE), padding_mode=ct.PaddingMode.ZERO)
        count = count + (tile > 0.0).astype(ct.int8)
    ct.store(out, (r,), ct.sum(count.astype(ct.float32), axis=1))
"""


def test_a_count_in_a_narrow_integer_is_told(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Right up to 127 tiles: no small launch shows where it wraps."""
    kernel, reference = tmp_path / "count.py", tmp_path / "reference.py"
    kernel.write_text(COUNT)
    kernel.with_suffix(".tileverify.toml").write_text(
        '[[launch]]\nkernel = "positive"\ngrid = ["M"]\nargs = { x = "f32[M, N]", out = "f32[M]", TILE = 64 }\n'
    )
    reference.write_text("def positive(x):\n    return {'out': (x > 0).sum(axis=1)}\n")
    sizes = ("--size", "M=2", "--size", "N=256")
    said = command_line(capfd)("equal", f"{kernel}::positive", "--reference", f"{reference}::positive", *sizes)
    assert "adds up in i8, which is narrower than i32, and wraps: for at line 8" in said.out, said


SQUARES = """
import cuda.tile as ct


@ct.kernel
def energy(x, out, TILE: ct.Constant[int]):
    r = ct.bid(0)
    total = ct.zeros((1, TILE), dtype={kept})
    for j in range(ct.cdiv(x.shape[1], TILE)):
        t = ct.load(x, (r, j), (1, TILE), padding_mode=ct.PaddingMode.ZERO).astype({kept})
        total = total + t * t
    ct.store(out, (r,), ct.sum(total, axis=1).astype(ct.int64))
"""


@pytest.mark.parametrize(("kept", "told"), [("ct.int32", True), ("ct.int64", False)])
def test_a_sum_in_32_bits_that_is_made_wider_is_told(
    kept: str, told: bool, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kernel, reference = tmp_path / "energy.py", tmp_path / "reference.py"
    kernel.write_text(SQUARES.format(kept=kept))
    kernel.with_suffix(".tileverify.toml").write_text(
        '[[launch]]\nkernel = "energy"\ngrid = ["M"]\nargs = { x = "u8[M, N]", out = "i64[M]", TILE = 64 }\n'
    )
    reference.write_text("def energy(x):\n    y = x.astype('int64')\n    return {'out': (y * y).sum(axis=1)}\n")
    sizes = ("--size", "M=2", "--size", "N=130")
    said = command_line(capfd)("equal", f"{kernel}::energy", "--reference", f"{reference}::energy", *sizes)
    assert ("adds up in i32, which is narrower than i64, and wraps: for at line 9" in said.out) is told, said
