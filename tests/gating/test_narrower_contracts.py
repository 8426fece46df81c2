"""Clauses that take launches away: from a vouched contract never, of one that nobody wrote on demand alone."""

from __future__ import annotations

import pytest

from tileverify.contract.launch import LaunchSpec
from tileverify.contract.spec import build_launch
from tileverify.contract.spec_files import raw_launch
from tileverify.gating import GatedKernel, GateOptions, Sandbox, Submission, gate, judge
from tileverify.gating.jobs.job_messages import ProofAnswer
from tileverify.gating.jobs.prove_job import narrowing
from tileverify.results import KernelResult, Verdict
from tileverify.results.json_report import result_to_json

GRID = {"grid": ["cdiv(M, 64)"]}
NUMBERS = {"args": {"x": "f32[128, 64]", "out": "f32[128, 64]"}, "grid": [2]}


def launch(**fields: object) -> LaunchSpec:
    args = {"x": "f32[M, N]", "n": "i32", "out": "f32[M, N; strides=(ld, 1)]"}
    return build_launch(raw_launch({"kernel": "k", "args": args, **fields}, "k.py", None, 0), "0", None)


@pytest.mark.parametrize(
    "clause",
    [
        "M % 4 == 0", "M <= 128", "M * N <= 1048576", "M == 1 or N == 1", "N >= 2", "M != 12345", "n >= 0",
        "n < 2147483647 and n >= 0", "64 * M <= 2147483647", "x is out", "M >= 1073741824", "grid.x <= 4",
    ],
)  # fmt: skip
def test_these_leave_launches_out(clause: str) -> None:
    assert narrowing(launch(**GRID), [clause]) == (clause,)


@pytest.mark.parametrize(
    "clause",
    ["x.address % 16 == 0", "ld >= N", "ld % 4 == 0"],
)
def test_these_leave_none_out(clause: str) -> None:
    assert narrowing(launch(**GRID), [clause]) == ()


def test_a_grid_is_open_where_the_spec_has_none() -> None:
    clauses = ["grid.x <= cdiv(M, 64)", "grid.y == 1 and M % 2 == 0"]
    assert narrowing(launch(), clauses) == (clauses[1],)
    assert narrowing(launch(**GRID), clauses) == tuple(clauses)


def test_a_launch_of_numbers_is_proved_as_it_stands() -> None:
    clauses = ["x.shape[0] % 64 == 0", "x.shape[0] % 256 == 0"]
    assert narrowing(launch(**NUMBERS), clauses) == (clauses[1],)


def gated(narrower: tuple[str, ...], options: GateOptions) -> GatedKernel:
    result = KernelResult("k.py", "k", "0", Verdict.PROVED, requires=narrower)
    return gate._gated(ProofAnswer(result_to_json(result), narrower=narrower), result, options)


def test_a_vouched_contract_is_never_narrowed() -> None:
    vouched = gated(("M % 4 == 0",), GateOptions(spec="", allow_requires=True))
    assert [reason.id for reason in vouched.reasons] == ["narrower-contract"]
    assert "M % 4 == 0" in vouched.reasons[0].message
    assert not vouched.accepted
    assert gated((), GateOptions(spec="")).accepted


def test_an_inferred_one_is_on_demand() -> None:
    refused = gated(("x0 % 4 == 0",), GateOptions())
    assert [reason.id for reason in refused.reasons] == ["narrower-contract"]
    assert "--allow-requires" in refused.reasons[0].message
    assert gated(("x0 % 4 == 0",), GateOptions(allow_requires=True)).accepted


def test_an_open_grid_is_no_narrower_contract(one_sandbox: Sandbox) -> None:
    """From the prover's process to the answer."""
    source = b"import cuda.tile as ct\n\n\n@ct.kernel\ndef k(x, out):\n    i = ct.bid(0)\n"
    source += b"    ct.store(out, (i,), ct.load(x, (i,), (64,), padding_mode=ct.PaddingMode.ZERO))\n"
    spec = '[[launch]]\nkernel = "k"\nargs = { x = "f32[N]", out = "f32[N]" }\n'
    (open_grid,) = judge(Submission(source), GateOptions(spec, hints=False), one_sandbox).kernels
    assert open_grid.accepted, open_grid.reasons
    assert any("grid.x" in clause for clause in open_grid.result.requires)
