"""From an access summary and a launch contract to a verdict: the stages, in their order.

Each obligation climbs the ladder until a tier decides it: structural simplification, linear integers with lemmas, bit
vectors, non-linear integers.  The replay runs the solver's counterexamples on a small concrete launch.  A kernel is
`refuted` only if the replay saw the fault.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..contract.launch import DataFact, EntryParameter, LaunchSpec
from ..frontend.symbolic.summary import AccessSummary
from ..results import Verdict
from ..results.claim import Confirm, RunsEveryBlock
from . import messages
from .abduction.clause_wording import shortest
from .abduction.clauses import Clause
from .abduction.fact_candidates import candidates
from .abduction.fact_choice import FactTrial, with_terms
from .abduction.generalised_proof import GeneralizationLoop
from .abduction.generalising import is_asked_first
from .abduction.narrow_proof import Narrowing
from .abduction.recorded_launch import as_recorded
from .attempt import Attempt, Outcome, VerifyOptions
from .budgets import GENERALISED_LIMITS, LACKING_SHARE, SOON_SHARE, WIDER_SHARE
from .concrete_launch import enumerated
from .determined import Determined
from .effort import ResourceBudget
from .obligations.answers import Limits
from .obligations.prepare import launch_facts
from .own_proof import OwnProof
from .prover import Prover
from .smt import SolverContext

__all__ = ["STAGES", "Outcome", "VerifyOptions", "verify"]


def verify(
    summary: AccessSummary,
    launch: LaunchSpec,
    parameters: Sequence[EntryParameter],
    *,
    options: VerifyOptions | None = None,
    confirm: Confirm,
    runs: RunsEveryBlock | None = None,
) -> Outcome:
    """Decide every obligation of ``summary`` for all launches of ``launch``.

    ``runs`` decides launches of numbers that the proof leaves open.

    Raises `SpecError` when the spec uses names that it does not define.
    """
    options = options or VerifyOptions()
    solver_context = SolverContext(options.seed, effort=ResourceBudget(options.effort))
    if options.watch is not None:
        options.watch(solver_context.effort)
    kernel, so_far = (
        _Kernel(summary, parameters, options, solver_context, time.monotonic(), confirm, runs),
        Verification(launch),
    )
    # Nothing wider is written whole because this launch is.
    for stage in (stage for stage in STAGES if not launch.complete or stage not in WIDENING):
        so_far = stage(kernel, so_far)
        if so_far.ended:
            break
    return _determined(kernel, so_far)


@dataclass(frozen=True, slots=True)
class _Kernel:
    """The input that all stages share."""

    summary: AccessSummary
    parameters: Sequence[EntryParameter]
    options: VerifyOptions
    solver_context: SolverContext
    started: float
    confirm: Confirm
    runs: RunsEveryBlock | None

    def own(self, launch: LaunchSpec, quick: Limits | None = None) -> OwnProof:
        """The proof under a launch's own contract; ``quick``: the limits of a quick pass."""
        options = self.options if quick is None else replace(self.options, limits=quick, quick=True)
        return OwnProof.of(Attempt.of(self.summary, launch, options, self.started), self.solver_context, self.confirm)

    @property
    def wider(self) -> GeneralizationLoop:
        """Proofs under contracts wider than the user's."""
        options = replace(self.options, limits=GENERALISED_LIMITS)
        return GeneralizationLoop(self.summary, self.parameters, options, self.solver_context, self.started)


@dataclass(frozen=True, slots=True)
class Verification:
    """The results so far, after a stage.

    ``launch``: with all chosen data facts.  ``facts``: the chosen facts that come from a recording.
    ``outcome``: under the launch's own contract.  ``clauses``: added by that proof.
    ``wider``: the outcome under a wider contract.  ``may_widen``: a second try with a larger budget may succeed.
    ``ended``: no stage follows.
    """

    launch: LaunchSpec
    facts: tuple[DataFact, ...] = ()
    outcome: Outcome | None = None
    clauses: tuple[Clause, ...] = ()
    wider: Outcome | None = None
    may_widen: bool = True
    ended: bool = False

    @property
    def is_hopeful(self) -> bool:
        """Whether a proof is likely: data facts were chosen, or the recording offers none."""
        return bool(self.facts or self.outcome or not self.launch.observed)

    def ends_with(self, outcome: Outcome, clauses: Sequence[Clause] = ()) -> Verification:
        return replace(self, outcome=outcome, clauses=tuple(clauses), ended=True)

    def ends_wider(self, found: Outcome, clauses: Sequence[Clause] = ()) -> Verification:
        """With a proof under a wider contract, which covers the launch and its facts."""
        return self.ends_with(replace(found, observed=tuple(fact.text for fact in self.facts)), clauses)


def _vacuity(kernel: _Kernel, so_far: Verification) -> Verification:
    """Reject a contract that no launch satisfies.

    First: a proof for more launches means nothing if the launch itself cannot exist.
    """
    if is_asked_first(so_far.launch, kernel.parameters):
        outcome = kernel.own(so_far.launch).vacuous
        if outcome is not None:
            return so_far.ends_with(outcome)
    return so_far


def _recording(kernel: _Kernel, so_far: Verification) -> Verification:
    """Choose the recorded data facts that the proof needs.

    Before wider contracts, because they include the chosen facts.
    """
    if not so_far.launch.observed:
        return so_far
    outcome, facts, clauses = as_recorded(kernel.own, kernel.summary, so_far.launch)
    if outcome is not None and outcome.verdict is Verdict.REFUTED:
        return so_far.ends_with(outcome)
    launch = replace(so_far.launch, data=(*so_far.launch.data, *facts))
    return replace(so_far, launch=launch, facts=facts, outcome=outcome, clauses=tuple(clauses))


def _any_launch(kernel: _Kernel, so_far: Verification) -> Verification:
    """Try the widest contract: sizes and grid are free.

    Before the launch's own contract: this one covers the launch, and one proof serves every batch size.
    """
    found, _ = kernel.wider.proved(so_far.launch, slice(1)) if so_far.is_hopeful else (None, False)
    return so_far if found is None else so_far.ends_wider(found)


def _any_grid(kernel: _Kernel, so_far: Verification) -> Verification:
    """Try these sizes with any grid, for a small share of the budget.

    Before the launch's own proof: success makes that proof unnecessary.  Without chosen facts the own proof may fail.
    The share is smaller then, so that a fault is reported soon.
    """
    if not so_far.is_hopeful or so_far.outcome is not None:
        return so_far
    found, ran_out = kernel.wider.proved(so_far.launch, slice(1, None), WIDER_SHARE if so_far.facts else SOON_SHARE)
    if found is not None and not found.open_uses:
        return so_far.ends_wider(found)
    return replace(so_far, wider=found, may_widen=ran_out and not so_far.facts)


def _own(kernel: _Kernel, so_far: Verification) -> Verification:
    """Decide the launch's own contract: proved, narrowed, refuted by a witness, or undecided with advice."""
    outcome, clauses, options = so_far.outcome, so_far.clauses, kernel.options
    if outcome is None:
        proof = kernel.own(so_far.launch)
        outcome = proof.attempt() or proof.explained()
        if options.witnesses and kernel.runs is not None and outcome.verdict is Verdict.UNDECIDED:
            outcome = enumerated(proof, outcome, kernel.runs)
            if outcome.verdict is Verdict.PROVED:
                return so_far.ends_with(outcome, proof.prover.clauses)
        if options.witnesses and outcome.verdict is Verdict.UNDECIDED:
            outcome = with_suggested_facts(outcome, proof, candidates(kernel.summary, so_far.launch))
        if options.witnesses and outcome.verdict in (Verdict.REFUTED, Verdict.UNDECIDED):
            return so_far.ends_with(with_lacking_clauses(outcome, proof))
        clauses = proof.prover.clauses
    if outcome.verdict is not Verdict.PROVED:
        return so_far.ends_with(outcome)
    if kernel.solver_context.effort.is_spent:
        return so_far.ends_with(outcome, clauses)
    return replace(so_far, outcome=outcome, clauses=clauses)


def _any_grid_at_leisure(kernel: _Kernel, so_far: Verification) -> Verification:
    """Try these sizes with any grid, for a larger share of the budget: last, because a verdict exists already."""
    assert so_far.outcome is not None
    found = so_far.wider
    if so_far.may_widen:
        found, _ = kernel.wider.proved(so_far.launch, slice(1, None))
    return so_far.ends_wider(found or so_far.outcome, so_far.clauses)


STAGES: Final[Sequence[Callable[[_Kernel, Verification], Verification]]] = (
    _vacuity,
    _recording,
    _any_launch,
    _any_grid,
    _own,
    _any_grid_at_leisure,
)
WIDENING: Final = (_any_launch, _any_grid, _any_grid_at_leisure)


def _determined(kernel: _Kernel, so_far: Verification) -> Outcome:
    """Check of a proved kernel that no value which the specification leaves open has an effect (TV403)."""
    assert so_far.outcome is not None
    if not so_far.outcome.open_uses:
        return so_far.outcome
    attempt = Attempt.of(kernel.summary, so_far.launch, kernel.options, kernel.started)
    prover = Prover.of(attempt, kernel.solver_context)
    return Determined(prover, kernel.confirm).told(so_far.outcome, so_far.clauses)


# --------------------------------------------------------------------------------------------------------------- advice
# Advice to the user: data facts or clauses under which the kernel is proved.
#
# The tool may not add either itself: no one guarantees the facts, and the tool never narrows a written contract.


def with_suggested_facts(outcome: Outcome, proof: OwnProof, groups: Iterable[Sequence[DataFact]]) -> Outcome:
    """The outcome with suggested data facts, if the prover closes open obligations under them."""
    own, reasons = proof.prover, proof.explanation.reasons if proof.explanation is not None else {}
    attempt = replace(own.attempt, offered=with_terms(groups, own.launch))
    trial = FactTrial(Prover.of(attempt, own.solver_context), own)
    with own.effort.at("facts to suggest"):
        facts = trial.run(reasons.keys())
    if not facts:
        return outcome
    whole = facts if trial.needed.keys() == reasons.keys() else ()
    told = {
        key: messages.with_facts(finding, trial.needed[key], whole) if trial.needed.get(key) else finding
        for key, finding in reasons.items()
    }
    findings = (*(f for f in outcome.findings if f not in reasons.values()), *told.values())
    return replace(outcome, findings=findings)


def with_lacking_clauses(outcome: Outcome, proof: OwnProof) -> Outcome:
    """The outcome with the clauses that would prove the kernel, if the tool may not add them itself."""
    own = proof.prover
    if not outcome.findings or (proof.freely and not own.options.deny_requires):
        return outcome
    known, freely = own.clauses, Narrowing(own, freely=True)
    with own.effort.at("clauses that are lacking"), own.effort.share(LACKING_SHARE):
        left = freely.narrow(freely.ignoring_axes(proof.left))
        lacking = [clause for clause in own.clauses if clause not in known]
        advised = [] if left or not lacking else [clause.text for clause in _as_people_write(lacking, proof)]
    if not advised or not messages.is_readable(advised):
        return outcome
    first, *others = outcome.findings
    hint = messages.would_be_proved(advised)
    return replace(outcome, findings=(replace(first, hints=(*first.hints, hint)), *others))


def _as_people_write(lacking: list[Clause], proof: OwnProof) -> list[Clause]:
    """The shortest wording of the clauses under which the kernel is still proved."""
    parts, facts = proof.prover.parts, launch_facts(proof.prover.contract)
    found = shortest(lacking, parts.implies, parts.filled, facts)
    return found if found == lacking or proof.is_proved_under(found) else lacking
