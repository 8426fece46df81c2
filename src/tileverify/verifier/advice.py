"""Advice to the user: data facts or clauses under which the kernel is proved.

The tool may not add either itself: no one guarantees the facts, and the tool never narrows a written contract.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..contract.launch import DataFact
from . import messages
from .abduction.clause_wording import shortest
from .abduction.clauses import Clause
from .abduction.fact_choice import FactTrial, with_terms
from .abduction.narrow_proof import Narrowing
from .attempt import Outcome
from .budgets import LACKING_SHARE
from .obligations.prepare import launch_facts
from .own_proof import OwnProof
from .prover import Prover


def with_suggested_facts(outcome: Outcome, proof: OwnProof, groups: Iterable[Sequence[DataFact]]) -> Outcome:
    """The outcome with suggested data facts, if the prover closes open obligations under them."""
    own, reasons = proof.prover, proof.explanation.reasons if proof.explanation is not None else {}
    attempt = replace(own.attempt, offered=with_terms(groups, own.launch))
    trial = FactTrial(Prover.of(attempt, own.session), own)
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
