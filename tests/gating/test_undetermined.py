"""Kernels whose results depend on what the specification leaves open (TV403): refused, unless told otherwise.  That
accepts no other warning."""

from __future__ import annotations

import pytest

from tileverify.gating import GateOptions, Submission, judge

SOURCE = b"""import cuda.tile as ct

@ct.kernel
def row_max(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.max(ct.load(x, (i, 0), (1, 64)), axis=1))
"""
SPEC = """[[launch]]
kernel = "row_max"
grid = ["M"]
requires = ["N >= 1", "N <= 64"]
args = { x = "f32[M, N]", out = "f32[M]" }
"""


def test_it_is_refused_with_a_repair_and_allowed_on_demand() -> None:
    submission = Submission(SOURCE, "row_max.py", None)
    (refused,) = judge(submission, GateOptions(SPEC)).kernels
    assert not refused.accepted
    assert [reason.id for reason in refused.reasons] == ["TV403", "warning"]
    assert [hint.id for finding in refused.result.findings for hint in finding.hints] == ["pad-load"]
    (allowed,) = judge(submission, GateOptions(SPEC, allow_undetermined=True, hints=False)).kernels
    assert allowed.accepted
    assert allowed.result.deterministic is False


WRAPPING = b"""import triton
import triton.language as tl

@triton.jit
def clamp_rows(out, x, stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out + row * stride + at, tl.load(x + row * stride + at, mask=at < N), mask=at < N)
"""
WRAPPING_SPEC = """[[launch]]
kernel = "clamp_rows"
grid = ["M"]
requires = ["N <= 128"REQUIRED]

[launch.args]
out = "f32[M, N; strides=(s, 1)]"
x = "f32[M, N; strides=(s, 1)]"
stride = "i32 = s"
N = "i32"
BLOCK = 128
"""


def test_an_index_that_wraps_is_refused_all_the_same() -> None:
    pytest.importorskip("triton")
    submission = Submission(WRAPPING, "clamp_rows.py", None)
    options = GateOptions(WRAPPING_SPEC.replace("REQUIRED", ""), allow_undetermined=True, hints=False)
    (refused,) = judge(submission, options).kernels
    assert not refused.accepted
    assert {reason.id for reason in refused.reasons} == {"TV304", "warning"}
    small = GateOptions(WRAPPING_SPEC.replace("REQUIRED", ', "M * s < 2**31"'), hints=False)
    assert all(each.accepted for each in judge(submission, small).kernels)
