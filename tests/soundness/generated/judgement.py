"""Verdicts of the prover against the truth.

* `proved` under clauses: no launch of the contract that keeps the clauses shows a fault; where the verdict says
  `deterministic`, nothing that the specification leaves open reaches anything in them, and some of them give one
  result under several schedules.  A warning has a witness that shows it.
* `refuted`: the witness of every finding is a launch of the contract and shows the finding's fault.
* `error`: only for a contract without any launch (TV004).
* `undecided` is never wrong; how often the truth is known to be the one or the other says how good the prover is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from tileverify.backend.interpreter import InterpreterStop
from tileverify.check import check_unit
from tileverify.errors import SpecError
from tileverify.frontend.sources.data_facts import arrays_of
from tileverify.frontend.sources.expressions import Undefined, evaluate, parse_condition, print_expression
from tileverify.frontend.sources.launch import Expression, SameArray
from tileverify.results import Finding, KernelResult, Verdict
from tileverify.verifier.claim import ConcreteLaunch, claim_from_json

from .kernels import Generated
from .truth import PATIENT_STEPS, Interpreted

MOST_LAUNCHES = 400
"""Launches of one contract that are interpreted; of more, every n-th one is."""
MOST_HEARD = 24
"""The same where blocks hand values to each other, so that every launch runs whole, under several schedules."""
ENUMERATED = 20_000
SAMPLE = 3
"""Launches of a proved kernel that run under several schedules."""
WITNESS_SCHEDULES = 96
"""Schedules of a witness whose fault the usual ones do not show."""


@dataclass(frozen=True, slots=True)
class Judged:
    """``wrong``: why the verdict is wrong.  ``truth``: `right`, `faulty`, `mixed` or `open` over the launches seen."""

    result: KernelResult
    wrong: str | None
    truth: str
    launches: int
    seconds: float


def judge(generated: Generated) -> Judged:
    """Check a kernel and compare the verdict with what its launches show.

    There is no time limit: the solver's resource limits give the same verdict on every machine.
    """
    started = time.perf_counter()
    result = check_unit(generated.unit)
    seconds = time.perf_counter() - started
    launches = _launches(generated)
    if result.verdict is Verdict.ERROR:
        codes = {finding.code for finding in result.findings}
        fine = codes == {"TV004"} and not any(_at_work(generated, launch) for launch, _ in launches)
        return Judged(result, None if fine else f"error: {result.findings[0].message}", "open", len(launches), seconds)
    interpreted = Interpreted(generated.unit)
    if result.verdict is Verdict.REFUTED:
        wrong = next(_unreal(generated, interpreted, result), None)
        return Judged(result, wrong, "faulty", 1, seconds)
    clauses = read_clauses(result.requires if result.verdict is Verdict.PROVED else ())
    if clauses is None:
        return Judged(result, f"a clause cannot be read: {result.requires}", "open", 0, seconds)
    kept = [launch for launch, names in launches if all(holds(clause, names) for clause in clauses)]
    most = MOST_HEARD if interpreted.heard else MOST_LAUNCHES
    kept = kept[:: -(-len(kept) // most) or 1]
    truths, wrong = set(), None
    for launch in kept:
        try:
            seen = interpreted.see(launch)
        except InterpreterStop as stop:
            wrong = wrong or f"a launch of the contract cannot be bound: {stop}"
            continue
        truths.add("faulty" if seen.codes else "open" if seen.open else "right")
        if seen.codes and result.verdict is Verdict.PROVED:
            wrong = wrong or f"proved under {result.requires}, but {sorted(seen.codes)} shows in {launch}"
    if result.verdict is Verdict.PROVED:
        wrong = wrong or next(_undetermined(generated, interpreted, result, kept), None)
        wrong = wrong or next(_unsteady(interpreted, result, kept[:: -(-len(kept) // SAMPLE) or 1]), None)
    truth = "mixed" if "faulty" in truths and len(truths) > 1 else next(iter(truths - {"right"}), "right")
    return Judged(result, wrong, truth, len(kept), seconds)


def _at_work(generated: Generated, launch: ConcreteLaunch) -> bool:
    """Whether a launch of a contract that is called contradictory (TV004) does anything with what facts speak of."""
    spoken = {name for fact in generated.contract.spec.data for name in arrays_of(fact)}
    return all(0 not in launch.arrays[name].shape for name in spoken) and Interpreted(generated.unit).works(launch)


def _launches(generated: Generated) -> list[tuple[ConcreteLaunch, Mapping[str, int]]]:
    return list(islice(generated.contract.launches(), ENUMERATED))


def _unsteady(interpreted: Interpreted, result: KernelResult, launches: Sequence[ConcreteLaunch]) -> Iterator[str]:
    """What schedules show of a proved kernel and should not."""
    for launch in launches:
        seen = interpreted.explored(launch)
        if seen.codes:
            yield f"proved under {result.requires}, but under some schedule {sorted(seen.codes)} shows in {launch}"
        if result.deterministic and not seen.agrees:
            yield f"proved and deterministic, but {launch} has several results: {seen.text()}"


def _undetermined(
    generated: Generated, interpreted: Interpreted, result: KernelResult, launches: Sequence[ConcreteLaunch]
) -> Iterator[str]:
    """What is left open and reaches something in a kernel that is said to be determined; warnings that are none."""
    for launch in launches if result.deterministic else ():
        if reached := interpreted.undetermined(launch):
            yield f"proved and deterministic, but what is left open reaches {sorted(reached)} in {launch}"
    for finding in result.findings:
        if finding.witness is None or finding.witness.launch is None:
            yield f"{finding.code} has no witness"
            continue
        launch, claim = claim_from_json(finding.witness.launch)
        if not generated.contract.admits(launch):
            yield f"the witness of {finding.code} is outside the contract: {launch}"
        if claim.offset_a not in interpreted.undetermined(launch, PATIENT_STEPS):
            yield f"the witness of {finding.code} shows nothing: {launch}, {claim}"


def _unreal(generated: Generated, interpreted: Interpreted, result: KernelResult) -> Iterator[str]:
    """Why a witness is none."""
    refuted = [finding for finding in result.findings if not finding.code.startswith("TV9")]
    if not refuted:
        yield "refuted without a finding"
    for finding in refuted:
        yield from _unreal_finding(generated, interpreted, finding)


def _unreal_finding(generated: Generated, interpreted: Interpreted, finding: Finding) -> Iterator[str]:
    if finding.witness is None or finding.witness.launch is None:
        yield f"{finding.code} has no witness"
        return
    launch, claim = claim_from_json(finding.witness.launch)
    if not generated.contract.admits(launch):
        yield f"the witness of {finding.code} is outside the contract: {launch}"
    seen = interpreted.see(launch)
    if finding.code not in seen.codes and seen.open:
        seen = interpreted.see(launch, PATIENT_STEPS)
    codes = set(seen.codes)
    if finding.code not in codes:  # blocks that share out work meet in few orders
        codes |= interpreted.explored(launch, PATIENT_STEPS, WITNESS_SCHEDULES).codes
    if finding.code not in codes:
        yield f"the witness of {finding.code} shows {sorted(codes)} ({seen.open}): {launch}, {claim}"


def read_clauses(texts: Sequence[str]) -> list[Expression] | None:
    """Clauses in the language of launch specs; ``None`` if one of them is not in it."""
    try:
        clauses = [parse_condition(text) for text in texts]
    except SpecError:
        return None
    read = [clause for clause in clauses if not isinstance(clause, SameArray)]
    return read if len(read) == len(clauses) else None


def holds(clause: Expression, names: Mapping[str, int]) -> bool:
    """Whether a launch with these numbers satisfies the clause."""
    try:
        return bool(evaluate(clause, names))
    except Undefined:
        return False
    except KeyError as error:
        raise AssertionError(f"{print_expression(clause)} names {error}") from None
