"""Suites whose tests launch ``@triton.jit`` kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..test_triton_launches import PRELUDE
from .conftest import Ended, RunTests

pytest.importorskip("triton", reason="triton is not installed")

SUITE = (
    PRELUDE
    + """
import pytest


@triton.jit
def tail(out, n, BLOCK: tl.constexpr):
    tl.store(out + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), 1.0)


def added(x, factor):
    return x + factor


def multiplied(x, factor):
    return x * factor


def launch(n):
    x, out = aligned(n), aligned(n)
    x[:] = np.arange(n)
    scale[(triton.cdiv(n, 64),)](Tensor(x), Tensor(out), n, 2.0, BLOCK=64)
    return x, out


@pytest.mark.parametrize("n", [100, 128, 7])
def test_right(n):
    x, out = launch(n)
    assert (out == 2 * x).all()


def test_tail():
    tail[(2,)](Tensor(aligned(128)), 100, BLOCK=64)
    with pytest.raises(Exception, match="stopped"):
        tail[(1,)](Tensor(aligned(60)), 60, BLOCK=64)


@pytest.mark.tileverify(reference=multiplied)
def test_equal():
    launch(16)


@pytest.mark.tileverify(reference=added)
def test_different():
    launch(16)
"""
)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory, run_tests: RunTests) -> Ended:
    folder: Path = tmp_path_factory.mktemp("triton")
    (folder / "test_suite.py").write_text(SUITE)
    return run_tests(folder, "--tileverify-no-gpu", "-W", "ignore")


def test_what_is_refuted_fails_its_test(ended: Ended) -> None:
    assert ended.outcomes == {
        "test_right": "passed", "test_tail": "failed", "test_equal": "passed", "test_different": "failed",
    }  # fmt: skip
    assert "'tail' is refuted: an access leaves the array `out` [TV302]" in ended.section("test_tail")


def test_references_are_asked(ended: Ended) -> None:
    assert "different" in ended.section("test_different")
    assert "2 launches compared with references: 1 equal" in ended.text


def test_one_proof_covers_launches_of_one_specialisation(ended: Ended) -> None:
    assert "7 launches of tile kernels, 5 verified: 4 proved, 1 refuted" in ended.text
