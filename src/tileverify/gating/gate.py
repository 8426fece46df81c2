"""From one submission to its answers: compile in one confined process, prove in another, decide here.

This process never parses what the submission's own process sent: the bytes go on, unread, to a second confined process,
which reads them as hostile and answers in a form that is checked once more here.
"""

from __future__ import annotations

import atexit
import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Final, TypeAlias

import msgspec

from ..pipeline.repair.catalogue import KINDS
from ..pipeline.repair.kernel_source import edited, well_placed
from ..pipeline.repair.proposals import Proposal
from ..pipeline.repair.repairing import Prove, Trials, can_be_mended, repaired
from ..pipeline.triton_advice import in_tritons_words, tritons_words
from ..pipeline.unread import told_apart
from ..results import Edit, Finding, FindingLevel, Hint, KernelResult, Verdict
from ..results.codes import TV
from ..results.json_report import result_to_json
from ..system.errors import UsageError
from ..system.printable import printable
from .gated import MASKED, ROUNDING, GatedKernel, GateOptions, GateResult, Limits, Reason, TrialSummary
from .jobs.job_messages import (
    JobRequest,
    ProofAnswer,
    ProposalRequest,
    SubmissionRequest,
    TrialRequest,
    Tried,
    harmless_text,
    incomplete,
    read_proof,
    read_trial,
    summary,
    whole,
)
from .jobs.references import ReferenceProcess, own_reference, with_equality, worth_asking
from .jobs.trial_contents import SPECIAL, ZEROS
from .sandbox.sandbox import CutOff, JobKind, JobLimits, JobOutcome, Sandbox
from .sandbox.worker import EXIT_MEMORY

_MIB: Final = 1 << 20
MOST_SPEC: Final = 1 << 18
"""Characters of a launch spec."""
MOST_SOURCE: Final = 1 << 24
"""Bytes that are sent to the sandbox, where the screen has a limit of its own."""


@dataclass(frozen=True, slots=True)
class Submission:
    """An untrusted source.  ``file``: its name in answers, nothing is read from there.  ``own_spec``: the text of a
    launch spec that came with it, and is as untrusted as the source."""

    source: bytes
    file: str = "submission.py"
    own_spec: str | None = None


_DEFAULT: Final = GateOptions()


def judge(submission: Submission, options: GateOptions = _DEFAULT, sandbox: Sandbox | None = None) -> GateResult:
    """Judge one submission; a pure function of its arguments, as far as the limits on time allow.

    ``sandbox``: the worker to use; without it the process's own, which stays warm until the process ends.
    Raises `UsageError` where the reference cannot be used, `IsolationUnavailable` where nothing can be isolated, and
    `SandboxFailure` where the sandbox itself fails.
    """
    if options.spec is not None and len(options.spec) > MOST_SPEC:
        raise UsageError(f"the launch spec has more than {MOST_SPEC} characters")
    reference = None if options.reference is None else own_reference(options.reference)
    box = sandbox or own_sandbox(options.isolation)
    file = printable(submission.file)
    request = SubmissionRequest(
        file=file,
        spec=None if options.spec is None else whole(options.spec),
        own_spec=None if submission.own_spec is None else whole(submission.own_spec),
        screen=options.screen,
        kernels=options.limits.kernels,
        deny_requires=options.deny_requires,
        bundles=options.bundles,
        complete=options.complete,
    )
    if submission.own_spec is not None and len(submission.own_spec) > MOST_SPEC:
        reason = Reason("spec-size", f"its launch spec has more than {MOST_SPEC} characters")
        return GateResult((_rejected(file, "", "", (reason,)),), box.layers)
    if len(submission.source) > MOST_SOURCE:
        reason = Reason("source-size", f"the source has {len(submission.source)} bytes, more than {MOST_SOURCE}")
        return GateResult((_rejected(file, "", "", (reason,)),), box.layers)
    compiled = box.run(JobKind.COMPILE, request, submission.source, _compile_limits(options.limits))
    stopped = _stopped(compiled, "importing and compiling it", options.limits.compile_cpu_s)
    if stopped is not None:
        return GateResult((_rejected(file, "", "", (stopped,)),), box.layers, submission.source)
    proved = box.run(JobKind.PROVE, request, compiled.data, _prove_limits(options.limits))
    kernels = []
    for index, kernel in _answers(proved, file, options):
        if kernel.accepted and (reference is not None or options.complete):
            seed = int.from_bytes(os.urandom(6)) if options.seed is None else options.seed
            trial = TrialRequest(
                submission=request,
                index=index,
                requires=kernel.result.clauses,
                seed=seed,
                deterministic=kernel.result.deterministic is True,
            )
            outcome = box.run(JobKind.TRY, trial, compiled.data, _trial_limits(options.limits))
            kernel = _tried(kernel, outcome, reference, options, seed)
            if reference is not None and options.exact and worth_asking(kernel):
                outcome = box.run(JobKind.EXACT, trial, compiled.data, _trial_limits(options.limits))
                stopped = _stopped(outcome, "running it on exact numbers", options.limits.prove_cpu_s)
                kernel = with_equality(kernel, outcome.data, stopped, reference, allow_idle=options.allow_idle)
        kernels.append(kernel)
    result = GateResult(tuple(kernels), box.layers, submission.source)
    hinted = with_hints(result, request, options.limits, box) if options.hints else result
    return replace(hinted, kernels=tuple(map(_told, hinted.kernels)))


def _told(kernel: GatedKernel) -> GatedKernel:
    """In its author's words.  Repairs tell what is one mistake.  Names of files in results are the submission's own:
    none of them is opened."""
    result = in_tritons_words(told_apart(kernel.result))
    reasons = kernel.reasons
    if result.producer == "triton":
        reasons = tuple(replace(reason, message=tritons_words(reason.message)) for reason in reasons)
    return replace(kernel, result=result, reasons=reasons)


_own: dict[tuple[int, str], Sandbox] = {}


def own_sandbox(isolation: str) -> Sandbox:
    """The sandbox of this process: a fork has to have its own."""
    key = (os.getpid(), isolation)
    if key not in _own:
        _own[key] = Sandbox(isolation)
        atexit.register(_own[key].close)
    return _own[key]


def _compile_limits(limits: Limits) -> JobLimits:
    memory, output = limits.compile_memory_mib * _MIB, limits.output_mib * _MIB
    return JobLimits(limits.compile_cpu_s, limits.compile_wall_s, memory, output)


def _prove_limits(limits: Limits) -> JobLimits:
    memory, output = limits.prove_memory_mib * _MIB, limits.output_mib * _MIB
    return JobLimits(limits.prove_cpu_s, limits.prove_wall_s, memory, output)


def _trial_limits(limits: Limits) -> JobLimits:
    return replace(_prove_limits(limits), output=limits.trial_output_mib * _MIB)


def _stopped(outcome: JobOutcome, what: str, cpu_s: int) -> Reason | None:
    """Why a job did not come to its own end, if it did not."""
    end = outcome.end
    if end.stopped is CutOff.WALL:
        return Reason("limit-time", f"{what} took longer than {end.wall_s:.0f} s")
    if end.stopped is CutOff.OUTPUT:
        return Reason("limit-output", f"{what} wrote more than a submission may")
    if end.signal == signal.SIGSYS:
        return Reason("sandbox-system-call", f"{what} made a system call that no kernel needs")
    if end.signal == signal.SIGXCPU or (end.signal == signal.SIGKILL and end.cpu_s >= cpu_s):
        return Reason("limit-cpu", f"{what} took more than {cpu_s} s of the processor")
    if end.exit == EXIT_MEMORY:
        return Reason("limit-memory", f"{what} took more memory than a submission may have")
    if end.signal or end.exit or not outcome.data:
        how = f"signal {end.signal}" if end.signal else f"exit status {end.exit}"
        return Reason("crash", f"{what} ended its process ({how})")
    return None


# -------------------------------------------------------------------------------------------------- answers
def _answers(proved: JobOutcome, file: str, options: GateOptions) -> Iterator[tuple[int, GatedKernel]]:
    """Each answer with the number of its kernel in what was compiled; what is about no kernel is never accepted."""
    stopped = _stopped(proved, "its proof", options.limits.prove_cpu_s)
    silent = stopped or Reason("crash", "its proof gave no answer")
    try:
        head, answers = read_proof(proved.data)
        results = [answer.kernel_result() for answer in answers]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        yield -1, _rejected(file, "", "", (silent,))
        return
    if head.reasons is not None:
        yield -1, _rejected(file, "", "", head.reasons)
        return
    if not head.units:
        yield -1, _rejected(file, "", "", (stopped or Reason("no-kernel", "the submission holds no kernel"),))
    for launch in head.missing:
        yield (
            -1,
            _rejected(file, "", "", (Reason("missing-launch", f"the launch spec asks for {launch}, which it lacks"),)),
        )
    for number, (kernel, launch) in enumerate(head.units):
        if number < len(answers):
            yield number, _gated(answers[number], results[number], options)
        else:
            yield -1, _rejected(file, kernel, launch, (silent,))


def _gated(answer: ProofAnswer, result: KernelResult, options: GateOptions) -> GatedKernel:
    if answer.forged:
        reason = Reason("forged-result", "its process sent something that is no kernel")
        return GatedKernel(result, accepted=False, reasons=(reason,), rejected=True)
    reasons = (*_reasons(result, options), *_narrower(answer.narrower, options))
    accepted = result.verdict is Verdict.PROVED and not reasons
    bundle = answer.bundle if accepted else None
    if accepted and options.bundles and bundle is None:
        why = next((note for note in result.notes if note.startswith("no certificate")), "it has no certificate")
        return GatedKernel(result, accepted=False, reasons=(Reason("no-bundle", why),))
    return GatedKernel(result, accepted, reasons, bundle=bundle)


def _reasons(result: KernelResult, options: GateOptions) -> Iterator[Reason]:
    allowed = TV.UNDETERMINED if options.allow_undetermined else None
    counted = (each for each in result.findings if each.level is not FindingLevel.NOTE)
    findings = [each for each in counted if each.code != allowed]
    for finding in findings:
        yield Reason(finding.code, finding.message, *_place(finding))
    warned = {each.code for each in findings if not each.refutes} if result.verdict is Verdict.PROVED else ()
    for code in sorted(warned):
        yield Reason("warning", f"the kernel is proved, but the gate refuses warnings too: {_WARNED[code]} ({code})")
    if result.verdict is not Verdict.PROVED and not result.findings:
        yield Reason("not-proved", f"the verdict is {result.verdict.value}")
    if result.assumes and options.spec is None:
        facts = ", ".join(result.assumes)
        yield Reason("unvouched-facts", f"its own launch spec asserts {facts}; only the caller can vouch for contents")


_WARNED: Final[Mapping[str, str]] = {
    TV.INDEX_WRAPS: "compute the index in 64 bits, or vouch in requires for sizes at which it does not wrap",
    TV.UNDETERMINED: "keep padding out of the results, or pass --allow-undetermined",
}


def _narrower(clauses: tuple[str, ...], options: GateOptions) -> Iterator[Reason]:
    """Whoever vouches for a contract gets that contract; of one that nobody wrote, as much as he says."""
    under = " and ".join(clauses)
    if clauses and options.spec is not None:
        message = f"it is proved under {under} alone, of which your launch spec says nothing"
        yield Reason("narrower-contract", message)
    elif clauses and not options.allow_requires:
        message = f"it is proved under {under} alone, and nobody vouched for a contract; --allow-requires accepts it"
        yield Reason("narrower-contract", message)


def _tried(
    kernel: GatedKernel, outcome: JobOutcome, reference: ReferenceProcess | None, options: GateOptions, seed: int
) -> GatedKernel:
    """The kernel with what its trial says: it stays accepted if nothing speaks against it."""
    stopped = _stopped(outcome, "trying it on small inputs", options.limits.prove_cpu_s)
    if stopped is not None:
        return replace(kernel, accepted=False, reasons=(stopped,), bundle=None, trial=None)
    trial, reasons = _looked_at(outcome.data, reference, options, seed)
    rounding = tuple(each.message for each in reasons if each.id == ROUNDING)
    masked = tuple(each.message for each in reasons if each.id == MASKED)
    reasons = [each for each in reasons if each.id not in (ROUNDING, MASKED)]
    if rounding and not options.exact:
        reasons += [Reason("wrong-result", message) for message in rounding]
    if trial is not None:
        trial = replace(trial, rounding=rounding, not_tried=(*masked, *trial.not_tried))
    if reference is not None and not reasons and not options.allow_undetermined:
        reasons += _more_than_one_result(kernel.result)
    bundle = None if reasons else kernel.bundle
    return replace(kernel, accepted=not reasons, reasons=tuple(reasons), bundle=bundle, trial=trial)


def _looked_at(
    data: bytes, reference: ReferenceProcess | None, options: GateOptions, seed: int
) -> tuple[TrialSummary | None, list[Reason]]:
    """What is told of the launches, and what speaks against them; raises `UsageError` for the caller's own mistake."""
    silent = Reason("crash", "trying it on small inputs gave no answer")
    try:
        trial = read_trial(data)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None, [silent]
    told = summary(trial, seed)
    if not trial.launches:
        return told, [Reason("no-trial", "no small launch of its contract was found to try it with")]
    stops = {number: each for number, each in enumerate(trial.launches) if each.stopped}
    perhaps = reference is not None and all(each.filling in (ZEROS, SPECIAL) for each in stops.values())
    reasons = [] if perhaps else [_stop_of(each) for each in stops.values()][:1]
    if not reasons:
        reasons += [Reason("block-order", _unsteady(each)) for each in trial.launches if each.unsteady][:1]
    if not reasons and options.complete:
        reasons += incomplete(trial.launches)
    places = [each.where for each in trial.launches]
    unseen = [_too_narrow(each) for each in trial.unseen[:1]]
    del trial
    if reasons or reference is None:
        return told, reasons
    answer = reference.compare(data)
    if answer.usage is not None and options.spec is not None:
        raise UsageError(answer.usage)
    # A submission has a say in the sizes: what its launches make of the reference stops this one alone.
    problem = answer.usage or answer.failed
    if problem is not None:
        return told, [Reason("not-compared", printable(problem))]
    if answer.unreadable:
        return told, [silent]
    reasons = [_stop_of(each) for number, each in stops.items() if number not in answer.undefined][:1]
    nothing = tuple(f"{places[number]}: the reference has no value there" for number in answer.undefined)
    told = replace(told, not_tried=(*told.not_tried, *nothing))
    return told, reasons or list(answer.reasons) or unseen


def _stop_of(tried: Tried) -> Reason:
    return Reason("trial-stopped", f"{tried.stopped} ({tried.where})")


def _too_narrow(unseen: str) -> Reason:
    """What is stored is another number in launches of the contract than in all that were tried."""
    why = "what it stores hangs on it, and no trial is so large; widen it, or bound the sizes in the spec"
    return Reason("overflow-not-tried", printable(f"{unseen}: {why}"))


def _unsteady(tried: Tried) -> str:
    return f"its result hangs on the order of blocks: {tried.unsteady} ({tried.where})"


def _more_than_one_result(result: KernelResult) -> list[Reason]:
    """A reference has one result; what a trial shows are a few orders of many."""
    if result.deterministic:
        return []
    message = {
        None: "it is not proved that every order of blocks gives the same result",
        False: "its result hangs on the order of blocks (atomic sums of floats are rounded in another order)",
    }[result.deterministic]
    return [Reason("not-deterministic", f"{message}; --allow-undetermined accepts it where several orders agree")]


def _place(finding: Finding) -> tuple[int | None, int | None]:
    for site in finding.sites:
        if site.line is not None:
            return site.line, site.column
    return None, None


def _rejected(file: str, kernel: str, launch: str, reasons: tuple[Reason, ...]) -> GatedKernel:
    result = KernelResult(file=file, kernel=kernel, launch=launch, verdict=Verdict.ERROR)
    return GatedKernel(result, accepted=False, reasons=reasons, rejected=True)


# ---------------------------------------------------------------------------------------------------------------- hints
# Repairs of submissions: a changed source is as untrusted as the one that came, and goes the same way.
#
# Edits are proposed in the sandbox (`prove_job`); each changed text is screened, compiled and proved there as any
# submission is, for the kernel and the launch at fault alone.  Only then is it called proved.


_PROPOSE_CPU_S: Final = 5
_MOST_EDITS: Final = 100
"""Of one proposal."""

_Line: TypeAlias = Annotated[int, msgspec.Meta(ge=1, lt=1 << 31)]
_Column: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]


class _ProposedEdit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An `Edit` as the sandbox sends it."""

    line: _Line
    column: _Column
    end_line: _Line
    end_column: _Column
    text: str


class _Proposed(msgspec.Struct, frozen=True):
    """A `Proposal` as the sandbox sends it."""

    kind: str
    text: str
    edits: Annotated[tuple[_ProposedEdit, ...], msgspec.Meta(max_length=_MOST_EDITS)]
    same_results: bool


def with_hints(result: GateResult, request: SubmissionRequest, limits: Limits, box: Sandbox) -> GateResult:
    """``result`` with hints on its findings; ``request``: what the submission was compiled and proved with.

    Verdicts, reasons and bundles stay what they are.
    """
    budget = _Budget(limits, box)
    kernels = []
    for kernel in result.kernels:
        proved = frozenset(each.result.launch for each in result.kernels if _is_proved(each, kernel.result.kernel))
        plain = replace(request, bundles=False, complete=False)
        kernels.append(_with_hints(kernel, proved, result.source, plain, budget))
    return replace(result, kernels=tuple(kernels))


def _is_proved(kernel: GatedKernel, name: str) -> bool:
    return kernel.result.kernel == name and kernel.result.verdict is Verdict.PROVED


@dataclass
class _Budget:
    """What is left for the repairs of one submission."""

    limits: Limits
    box: Sandbox
    cpu_s: float = 0.0
    trials: int = 0

    def run(self, job: JobKind, request: JobRequest, payload: bytes) -> JobOutcome | None:
        """An outcome that came to its own end."""
        limits = self.limits
        left = int(limits.hint_cpu_s - self.cpu_s)
        if left <= 0:
            return None
        cpu, wall, mib = {
            JobKind.PROPOSE: (_PROPOSE_CPU_S, limits.compile_wall_s, limits.compile_memory_mib),
            JobKind.COMPILE: (limits.compile_cpu_s, limits.compile_wall_s, limits.compile_memory_mib),
            JobKind.PROVE: (limits.prove_cpu_s, limits.prove_wall_s, limits.prove_memory_mib),
        }[job]
        allowed = JobLimits(min(cpu, left), wall, mib * _MIB, limits.output_mib * _MIB)
        outcome = self.box.run(job, request, payload, allowed)
        end = outcome.end
        self.cpu_s += end.cpu_s
        return outcome if outcome.data and not (end.stopped or end.signal or end.exit) else None


def _with_hints(
    kernel: GatedKernel, proved: frozenset[str], source: bytes, request: SubmissionRequest, budget: _Budget
) -> GatedKernel:
    """``proved``: launches under which this kernel is proved as it is."""
    result = kernel.result
    if kernel.rejected or not any(map(can_be_mended, result.findings)):
        return kernel
    proposed = _proposals(result, source, budget)
    sandboxed = _Sandboxed(result.kernel, source, replace(request, only=(result.kernel, result.launch)), budget)
    trials = Trials(
        source.decode("utf-8"),
        sandboxed.prepared,
        has_grid=True,  # where it has none, the trial finds what is known already
        most=budget.limits.hint_trials - budget.trials,
    )
    elsewhere = _Elsewhere(sandboxed, proved - {result.launch})
    findings = []
    for place, finding in enumerate(result.findings):
        mended = repaired(finding, proposed[place] if place < len(proposed) else (), trials)
        findings.append(replace(mended, hints=tuple(map(elsewhere.weighed, mended.hints))))
    budget.trials += trials.count
    return replace(kernel, result=replace(result, findings=tuple(findings)))


@dataclass
class _Sandboxed:
    """Compiles and proves changed sources where the submission was, for one kernel."""

    kernel: str
    source: bytes
    request: SubmissionRequest
    budget: _Budget

    def prepared(self, text: str | None) -> Prove | None:
        """As `Trials` wants it."""
        compiled = self.budget.run(JobKind.COMPILE, self.request, self.source if text is None else text.encode("utf-8"))
        if compiled is None:
            return None
        asked = replace(self.request, any_grid=text is None)
        return lambda exact: self._proved(compiled.data, replace(asked, deny_requires=exact or asked.deny_requires))

    def _proved(self, compiled: bytes, request: SubmissionRequest) -> KernelResult | None:
        results = _results(self.budget.run(JobKind.PROVE, request, compiled))
        return results[0] if [(each.kernel, each.launch) for each in results] == [request.only] else None

    def launches(self, text: str) -> frozenset[str]:
        """Those under which the changed kernel is proved, of all that it has."""
        everywhere = replace(self.request, only=(self.kernel, None))
        compiled = self.budget.run(JobKind.COMPILE, everywhere, text.encode("utf-8"))
        if compiled is None:
            return frozenset()
        results = _results(self.budget.run(JobKind.PROVE, everywhere, compiled.data))
        return frozenset(each.launch for each in results if each.verdict is Verdict.PROVED)


@dataclass
class _Elsewhere:
    """What a repair does to the launches under which the kernel was ``proved`` as it came."""

    sandboxed: _Sandboxed
    proved: frozenset[str]
    _known: dict[tuple[Edit, ...], frozenset[str]] = field(default_factory=dict)

    def weighed(self, hint: Hint) -> Hint:
        """``hint``, not called safe where another launch is no longer proved, or it is not known."""
        if hint.applicability != "safe" or not self.proved:
            return hint
        if hint.edits not in self._known:
            text = edited(self.sandboxed.source.decode("utf-8"), hint.edits)
            self._known[hint.edits] = self.sandboxed.launches(text)
        lost = self.proved - self._known[hint.edits]
        if not lost:
            return hint
        return replace(hint, applicability="maybe", text=f"{hint.text}; no longer under {', '.join(sorted(lost))}")


def _results(outcome: JobOutcome | None) -> list[KernelResult]:
    """What the prover's process says of kernels; nothing if any of it is no such answer."""
    if outcome is None:
        return []
    try:
        _, answers = read_proof(outcome.data)
        return [answer.kernel_result() for answer in answers if not answer.forged]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []


def _proposals(result: KernelResult, source: bytes, budget: _Budget) -> list[list[Proposal]]:
    """What the sandbox proposes for each finding; nothing if it says anything that is no proposal."""
    request = ProposalRequest(result=result_to_json(result), most=budget.limits.hint_trials)
    outcome = budget.run(JobKind.PROPOSE, request, source)
    if outcome is None:
        return []
    try:
        text, most = source.decode("utf-8"), budget.limits.hint_trials
        findings = msgspec.json.decode(outcome.data, type=list[list[_Proposed]])[: len(result.findings)]
        return [[_proposal(text, each) for each in found[:most]] for found in findings]
    except (ValueError, RecursionError):
        return []


def _proposal(source: str, proposed: _Proposed) -> Proposal:
    edits = tuple(
        Edit(
            each.line, each.column, each.end_line, each.end_column, "\n".join(map(harmless_text, each.text.split("\n")))
        )
        for each in proposed.edits
    )
    if proposed.kind not in KINDS or not well_placed(source, edits):
        raise ValueError("no proposal")
    return Proposal(proposed.kind, harmless_text(proposed.text), edits, proposed.same_results)
