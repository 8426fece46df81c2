"""Kernels whose results depend on what the specification leaves open (TV403): refused, unless told otherwise."""

from __future__ import annotations

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
