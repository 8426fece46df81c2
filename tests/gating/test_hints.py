"""Repairs of submissions: what is tried, how much of it, and that nothing which the sandbox says is taken on trust."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pytest

from tileverify.gating.gate import with_hints
from tileverify.gating.gated import GatedKernel, GateResult, Limits, Reason
from tileverify.gating.jobs.job_messages import JobRequest, SubmissionRequest
from tileverify.gating.sandbox.sandbox import CutOff, JobEnd, JobKind, JobLimits, JobOutcome
from tileverify.pipeline.repair.proposals import Proposal
from tileverify.results import Edit, Finding, Hint, KernelResult, SourceSite, Verdict, Witness
from tileverify.results.json_report import result_to_json

SOURCE = b"one\ntwo\nthree\n"
LIMITS = Limits(hint_trials=3, hint_cpu_s=100)
REQUEST = SubmissionRequest(file="s.py", bundles=True)


END = JobEnd(stopped=None, signal=0, exit=0, cpu_s=0.0, memory_kib=0, wall_s=0.0)


def outcome(data: bytes, end: JobEnd = END) -> JobOutcome:
    return JobOutcome(data, end)


def finding(code: str = "TV101") -> Finding:
    witness = Witness({"N": 1}, (2, 1, 1), (0, 0, 0), (1, 0, 0), "out[0]")
    return Finding(code, "they meet", (SourceSite("s.py", 1, 0, "store", "out"),), witness=witness)


def refuted(kernel: str = "k", *findings: Finding) -> GatedKernel:
    result = KernelResult("s.py", kernel, "0", Verdict.REFUTED, findings=findings or (finding(),))
    return GatedKernel(result, accepted=False, reasons=(Reason("TV101", "they meet"),))


def proposal(text: str, same_results: bool = True, kind: str = "use-atomic") -> dict[str, Any]:
    return asdict(Proposal(kind, f"`{text}`", (Edit(1, 0, 1, 3, text),), same_results))


def answers(verdict: Verdict, kernel: str = "k", launch: str = "0", requires: tuple[str, ...] = ()) -> bytes:
    """What the prover's process sends for one kernel."""
    result = KernelResult("s.py", kernel, launch, verdict, requires=requires)
    lines = [{"units": [[kernel, launch]], "missing": []}, {"result": result_to_json(result)}]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@dataclass
class Played:
    """A sandbox that says what it is told to: ``proposed`` for each finding, and what ``prove`` makes of a text."""

    proposed: Any
    prove: Callable[[str, SubmissionRequest], JobOutcome | bytes] = lambda text, request: answers(Verdict.UNDECIDED)
    cpu_s: float = 0.0
    asked: list[tuple[str, str]] = field(default_factory=list)
    allowed: list[int] = field(default_factory=list)

    def run(self, job: JobKind, request: JobRequest, payload: bytes, limits: JobLimits) -> JobOutcome:
        self.asked.append((job, payload.decode()))
        self.allowed.append(limits.cpu_s)
        if job == "propose":
            return outcome(self.proposed if isinstance(self.proposed, bytes) else json.dumps(self.proposed).encode())
        assert isinstance(request, SubmissionRequest)
        assert request.screen
        assert request.only in (("k", "0"), ("k", None), ("other", "0"))
        assert not request.bundles
        end = replace(END, cpu_s=self.cpu_s)
        if job == "compile":
            return outcome(b"compiled " + payload, end)
        said = self.prove(payload.decode().removeprefix("compiled "), request)
        return outcome(said, end) if isinstance(said, bytes) else said

    def tried(self) -> list[str]:
        """Texts that were compiled."""
        return [payload for job, payload in self.asked if job == "compile"]


def hinted(box: Played, *kernels: GatedKernel, limits: Limits = LIMITS) -> GateResult:
    before = GateResult(kernels or (refuted(),), ("seccomp",), SOURCE)
    after = with_hints(before, REQUEST, limits, box)  # type: ignore[arg-type]
    assert [
        replace(each, result=replace(each.result, findings=old.result.findings))
        for each, old in zip(after.kernels, before.kernels, strict=True)
    ] == list(before.kernels)
    return after


def hints(result: GateResult) -> list[tuple[str, str]]:
    return [
        (hint.id, hint.applicability)
        for kernel in result.kernels
        for each in kernel.result.findings
        for hint in each.hints
    ]


def the_hint(result: GateResult) -> Hint:
    return result.kernels[0].result.findings[0].hints[0]


ADVICE = [("split-output-index", "display")]


def test_the_first_that_is_proved_is_offered() -> None:
    def prove(text: str, request: SubmissionRequest) -> bytes:
        return answers(Verdict.PROVED if text.startswith("good") else Verdict.REFUTED)

    box = Played([[proposal("bad"), proposal("good"), proposal("later")]], prove)
    result = hinted(box)
    assert hints(result) == [("use-atomic", "safe")]
    assert the_hint(result).edits == (Edit(1, 0, 1, 3, "good"),)
    assert the_hint(result).text.endswith("`good` (proved)")
    assert box.tried() == ["bad\ntwo\nthree\n", "good\ntwo\nthree\n"]


def test_what_changes_results_or_needs_a_clause_is_not_safe() -> None:
    changes = Played([[proposal("good", same_results=False)]], lambda text, request: answers(Verdict.PROVED))
    assert hints(hinted(changes)) == [("use-atomic", "maybe")]

    def narrower(text: str, request: SubmissionRequest) -> bytes:
        if request.deny_requires:
            return answers(Verdict.UNDECIDED)
        return answers(Verdict.PROVED, requires=("N >= 2",))

    result = hinted(Played([[proposal("good")]], narrower))
    assert hints(result) == [("use-atomic", "maybe")]
    assert the_hint(result).text.endswith("(proved when N >= 2)")


def test_a_proof_that_can_do_without_its_clauses_is_safe() -> None:
    def exact(text: str, request: SubmissionRequest) -> bytes:
        return answers(Verdict.PROVED, requires=() if request.deny_requires else ("N >= 2",))

    assert hints(hinted(Played([[proposal("good")]], exact))) == [("use-atomic", "safe")]


@pytest.mark.parametrize(
    ("after", "applicability", "end"),
    [
        ((Verdict.PROVED, Verdict.PROVED), "safe", "(proved)"),
        ((Verdict.PROVED, Verdict.REFUTED), "maybe", "(proved); no longer under 1"),
        ((Verdict.PROVED, Verdict.UNDECIDED), "maybe", "(proved); no longer under 1"),
        ((Verdict.PROVED,), "maybe", "(proved); no longer under 1"),
        (None, "maybe", "(proved); no longer under 1"),
    ],
)
def test_safe_is_what_mends_one_launch_and_breaks_no_other(
    after: tuple[Verdict, ...] | None, applicability: str, end: str
) -> None:
    def prove(text: str, request: SubmissionRequest) -> bytes:
        if request.only != ("k", None):
            return answers(Verdict.PROVED)
        if after is None:
            return b"nothing"
        lines = [answers(verdict, launch=str(n)).split(b"\n")[1] for n, verdict in enumerate(after)]
        return b"\n".join([b'{"units": [], "missing": []}', *lines, b""])

    other = GatedKernel(KernelResult("s.py", "k", "1", Verdict.PROVED), accepted=True)
    strange = GatedKernel(KernelResult("s.py", "other", "2", Verdict.PROVED), accepted=True)
    box = Played([[proposal("good")]], prove)
    result = hinted(box, refuted(), other, strange)
    assert hints(result) == [("use-atomic", applicability)]
    assert the_hint(result).text.endswith(end)
    assert box.tried() == ["good\ntwo\nthree\n"] * 2


def test_any_grid_is_tried_last() -> None:
    def prove(text: str, request: SubmissionRequest) -> bytes:
        return answers(Verdict.PROVED if request.any_grid else Verdict.REFUTED, requires=("grid.x <= 1",))

    result = hinted(Played([[proposal("bad")]], prove))
    assert hints(result) == [("fit-grid", "maybe"), *ADVICE]
    assert "grid.x <= 1" in the_hint(result).text


def test_a_submission_has_so_many_trials_whatever_its_kernels() -> None:
    box = Played([[proposal(f"{n}") for n in range(9)]])
    assert hints(hinted(box, refuted("k"), refuted("other"))) == 2 * ADVICE
    assert len(box.tried()) == LIMITS.hint_trials
    one = Played([[proposal("a")] * 5, [proposal("a")]])
    hinted(one, refuted("k", finding(), finding("TV102")))
    assert one.tried() == ["a\ntwo\nthree\n", SOURCE.decode()]  # an equal text once, then any grid


def test_a_submission_has_so_much_time() -> None:
    box = Played([[proposal(f"{n}") for n in range(9)]], cpu_s=4.0)
    hinted(box, limits=replace(LIMITS, hint_trials=100, hint_cpu_s=10))
    # 0 + 4 + 4 + 4 seconds: the next one is not begun, and none was allowed more than was left.
    assert [job for job, _ in box.asked] == ["propose", "compile", "prove", "compile"]
    assert box.allowed == [5, 10, 6, 2]
    none = Played([[proposal("a")]])
    assert hints(hinted(none, limits=replace(LIMITS, hint_cpu_s=0))) == ADVICE
    assert none.asked == []


def test_what_is_proved_rejected_or_has_no_witness_is_left_alone() -> None:
    proved = GatedKernel(KernelResult("s.py", "k", "0", Verdict.PROVED), accepted=True, bundle=b"bundle")
    rejected = replace(refuted(), rejected=True)
    undecided = refuted("k", Finding("TV901", "nobody knows", ()))
    box = Played([[proposal("good")]], lambda text, request: answers(Verdict.PROVED))
    assert hints(hinted(box, proved, rejected, undecided)) == []
    assert box.asked == []


FORGED_PROPOSALS = {
    "nothing": b"",
    "no-json": b"{",
    "nested": b"[" * 100_000,
    "a-table": {"0": [proposal("x")]},
    "unknown-kind": [[proposal("x", kind="rm-rf")]],
    "no-kind": [[{key: value for key, value in proposal("x").items() if key != "kind"}]],
    "no-table": [["x"]],
    "line-zero": [[{**proposal("x"), "edits": [asdict(Edit(0, 0, 1, 1, "x"))]}]],
    "negative-column": [[{**proposal("x"), "edits": [asdict(Edit(1, -5, 1, 1, "x"))]}]],
    "huge-line": [[{**proposal("x"), "edits": [asdict(Edit(1 << 60, 0, 1 << 60, 1, "x"))]}]],
    "text-that-is-none": [[{**proposal("x"), "edits": [{**asdict(Edit(1, 0, 1, 1, "x")), "text": 7}]}]],
    "more-keys": [[{**proposal("x"), "edits": [{**asdict(Edit(1, 0, 1, 1, "x")), "file": "/etc/passwd"}]}]],
    "line-that-is-true": [[{**proposal("x"), "edits": [{**asdict(Edit(1, 0, 1, 1, "x")), "line": True}]}]],
}


@pytest.mark.parametrize("forged", FORGED_PROPOSALS)
def test_a_forged_proposal_is_none(forged: str) -> None:
    box = Played(FORGED_PROPOSALS[forged], lambda text, request: answers(Verdict.REFUTED))
    assert hints(hinted(box)) == ADVICE
    assert box.tried() == [SOURCE.decode()]  # any grid, and no changed text


def test_texts_of_proposals_cannot_reach_a_terminal() -> None:
    told = {**proposal("good"), "text": "\x1b[2J\n\u202e"}
    result = hinted(Played([[told]], lambda text, request: answers(Verdict.PROVED)))
    assert the_hint(result).text.isprintable()


def test_edits_beyond_the_source_do_no_harm() -> None:
    far = {**proposal("x"), "edits": [asdict(Edit(900, 70, 901, 2, "end"))]}
    box = Played([[far]])
    hinted(box)
    assert box.tried()[0].startswith("one\ntwo\nthree\n")


NO_PROOFS: dict[str, JobOutcome | bytes] = {
    "another-kernel": answers(Verdict.PROVED, kernel="other"),
    "another-launch": answers(Verdict.PROVED, launch="1"),
    "two-kernels": answers(Verdict.PROVED) + answers(Verdict.PROVED).split(b"\n", 1)[1],
    "none": b'{"units": []}\n',
    "forged": answers(Verdict.PROVED).replace(b'{"result"', b'{"forged": true, "result"'),
    "rejected": b'{"reasons": [{"id": "builtin"}]}\n',
    "no-json": b"{}\n{",
    "a-number": b"1\n2\n",
    "another-verdict": answers(Verdict.PROVED).replace(b'"proved"', b'"very proved"'),
    "stopped": outcome(answers(Verdict.PROVED), replace(END, stopped=CutOff.WALL)),
    "killed": outcome(answers(Verdict.PROVED), replace(END, signal=9)),
    "failed": outcome(answers(Verdict.PROVED), replace(END, exit=70)),
    "silent": outcome(b""),
}


@pytest.mark.parametrize("said", NO_PROOFS)
def test_what_is_no_proof_of_that_kernel_mends_nothing(said: str) -> None:
    box = Played([[proposal("good")]], lambda text, request: NO_PROOFS[said])
    assert hints(hinted(box)) == ADVICE
