"""Element types from a recording over `check` to a run: what `record` writes, the others read."""

from __future__ import annotations

from pathlib import Path

import cuda.tile as ct
import numpy as np
import pytest
from tests.command_line import CommandLine

from tileverify.backend.interpreter.grid_runs import ELEMENT_BYTES
from tileverify.backend.numbers.array_files import numbers, presented, rounded, storage_type
from tileverify.contract.arguments import parse_description
from tileverify.contract.as_table import NotExpressible, array_text, launch_table
from tileverify.contract.element_types import ELEMENT_TYPES
from tileverify.hook import described_launch
from tileverify.hook.described_launch import spec_dtype

WRITTEN = sorted({*described_launch._DTYPES.values(), *(f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64))})


@pytest.mark.parametrize("dtype", WRITTEN)
def test_an_array_that_is_written_down_can_be_read(dtype: str) -> None:
    array = {"dtype": dtype, "shape": [4, 8], "strides": [8, 1], "index_bits": 32}
    if dtype not in ELEMENT_TYPES:
        with pytest.raises(NotExpressible, match=dtype):
            array_text(array, "x")
        return
    assert parse_description("x", array_text(array, "x")).dtype == dtype
    assert ELEMENT_BYTES[dtype] * 8 == ELEMENT_TYPES[dtype].bits
    assert storage_type(dtype).itemsize == ELEMENT_BYTES[dtype]


def test_every_element_type_is_named_in_the_documentation() -> None:
    text = (Path(__file__).parents[2] / "docs" / "specs.md").read_text()
    assert f"`{' '.join(ELEMENT_TYPES)}`" in text


KERNEL = """
import cuda.tile as ct

@ct.kernel
def widen(x, out):
    ct.store(out, index=(ct.bid(0),), tile=ct.load(x, index=(ct.bid(0),), shape=(16,)).astype(ct.float32))
"""


def test_scales_of_blocks_from_a_recording_are_checked_and_run(tileverify: CommandLine) -> None:
    """cuda.tile takes such arrays from torch alone, so the recorded launch is written by hand."""
    contents = {"shape": [64], "strides": [1], "index_bits": 32, "kind": "array"}
    x = {"dtype": spec_dtype(ct.float8_e8m0fnu), **contents}
    launch = {"grid": [4, 1, 1], "arguments": [x, {"dtype": "f32", **contents}], "overlaps": []}
    Path("widen.py").write_text(KERNEL)
    Path("widen.tileverify.toml").write_text(
        launch_table("widen", ["x", "out"], launch, constants=True, name="recorded")
    )
    assert 'x = "f8e8m0[64]"' in Path("widen.tileverify.toml").read_text()
    checked = tileverify("check", "widen.py")
    assert checked.code == 0, checked.out
    np.save("x.npy", np.arange(100, 164, dtype=np.uint8))
    ran = tileverify("run", "widen.py", "--input", "x=x.npy", "--save", "saved")
    assert ran.code == 0, ran.err
    assert list(np.load("saved/out.npy")) == [2.0 ** (code - 127) for code in range(100, 164)]


def test_powers_of_two_are_kept() -> None:
    values = np.array([1.0, 2.0, 0.5, 2.0**127, 2.0**-127])
    bits = rounded(values, "f8e8m0")
    assert list(bits) == [127, 128, 126, 254, 0]
    assert list(numbers(bits, "f8e8m0")) == list(values)
    ml_dtypes = pytest.importorskip("ml_dtypes")
    shown = presented(bits, "f8e8m0")
    assert shown.dtype == ml_dtypes.float8_e8m0fnu
    assert list(shown.astype(np.float64)) == list(values)
