"""What a kernel computes of its launch alone, in machine words beside the integers that are meant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.written_kernel import unit_at

from tileverify.backend.numbers.choose import ContractInNumbers
from tileverify.backend.numbers.odd_launches import OddLaunches, launch_steps, odd_launches, steered_by_steps
from tileverify.contract.launch import KernelUnit
from tileverify.frontend.bytecode import decode
from tileverify.pipeline.unit_summary import entry_of

HEAD = """import cuda.tile as ct
import tileverify


@tileverify.launch(args={"x": "f32[N]", "y": "f32[M]", "out": "f32[N]"}, grid=["cdiv(N, 32)"])
@ct.kernel
def k(x, y, out):
    b = ct.bid(0)
    n, m = x.shape[0], y.shape[0]
    t = ct.load(x, (b,), (32,))
"""
STORE = "    ct.store(out, (b,), t + ct.astype(v, ct.float32))\n"


def unit_of(body: str, tmp_path: Path) -> KernelUnit:
    path = tmp_path / "k.py"
    path.write_text(HEAD + body)
    return unit_at(path)


def odd(body: str, tmp_path: Path) -> OddLaunches:
    unit = unit_of(body, tmp_path)
    module = decode(unit.bytecode, file=str(unit.file))
    contract = ContractInNumbers(unit.launch)
    source = np.random.default_rng(5)
    return odd_launches(entry_of(module, unit), unit.parameters, contract, {"N": 64, "M": 64}, source)


@pytest.mark.parametrize(
    ("value", "most"),
    [
        ("n * n // n", 46341 * 1.02),
        ("ct.astype(ct.astype(b, ct.uint8), ct.int32)", (256 * 32 + 1) * 1.03),
        ("ct.astype(ct.astype(n, ct.bfloat16), ct.int32)", 257),
        ("n + (1 << 30) + (1 << 29) + 536800000", 70913 * 1.02),
    ],
)
def test_the_smallest_launch_that_is_too_large(value: str, most: float, tmp_path: Path) -> None:
    found = odd(f"    v = {value}\n" + STORE, tmp_path)
    assert found.narrow
    sizes = min(each.values["N"] for each in found.narrow)
    assert most / 1.06 <= sizes <= most


@pytest.mark.parametrize(
    "value", ["m * 0 + n", "ct.cdiv(n, 32) * 32", "b * 32 + 31", "ct.astype(ct.astype(b % 100, ct.int8), ct.int32)"]
)
def test_what_fits_is_no_reason(value: str, tmp_path: Path) -> None:
    found = odd(f"    v = {value}\n" + STORE, tmp_path)
    assert not found.narrow


def test_a_launch_that_few_lead_to(tmp_path: Path) -> None:
    (rare, *_) = odd("    v = 1 // (1 + (n * 5 + m) % 1009)\n" + STORE, tmp_path).rare
    assert (rare["N"] * 5 + rare["M"]) % 1009 == 0


@pytest.mark.parametrize(
    ("body", "steps", "steers"),
    [
        ("    v = n % 7\n" + STORE, True, False),
        ("    v = (n * m) >> 3\n" + STORE, True, False),
        ("    v = ct.cdiv(n, 32) + b\n" + STORE, False, False),
        ("    v = 0\n    if (n * 3 + b) % 11 == 4:\n        v = 1\n" + STORE, True, True),
        ("    u = ct.load(x, (b % 3,), (32,))\n    ct.store(out, (b,), t + u)\n", True, False),
    ],
)
def test_ops_that_no_law_follows(body: str, steps: bool, steers: bool, tmp_path: Path) -> None:
    unit = unit_of(body, tmp_path)
    entry = entry_of(decode(unit.bytecode, file=str(unit.file)), unit)
    assert bool(launch_steps(entry)) == steps
    assert steered_by_steps(entry) == steers
