"""Verdicts of the prover against the truth.

* `proved` under clauses: no launch of the contract that keeps the clauses shows a fault, and some of them give one
  result under several schedules where the verdict says `deterministic`.  The clauses leave work: along every axis that
  the kernel reads, two blocks are at work in some launch, if the contract has such a launch that is right or races.
* `refuted`: the witness of every finding is a launch of the contract and shows the finding's fault.  Where a simple
  clause tells the right launches of two blocks at work from the faulty ones, that is a `missed clause`, no mistake.
* `error`: only for a contract without any launch in which some block does something (TV004); where there is no launch
  at all, `proved` is wrong.
* `undecided` is never wrong; how often the truth is known to be the one or the other says how good the prover is.
* Values that the specification leaves open: whether a launch of a proved kernel shows one where it decides something is
  compared with TV403, where the prover knows of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import prod

from tileverify.backend.interpreter import InterpreterStop
from tileverify.contract.expressions import print_expression
from tileverify.contract.launch import Block, ConcreteLaunch, Expression
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import Finding, KernelResult, Verdict
from tileverify.results.claim import Claim, claim_from_json
from tileverify.results.codes import CODES

from .clauses import holds, read_clauses, separating
from .contracts import FiniteContract
from .kernels import Generated
from .reading import axes_read, may_be_open, steered_by_what_is_computed
from .truth import BETWEEN_BLOCKS, PATIENT_STEPS, STEPS, Interpreted, Seen

MOST_LAUNCHES = 400
"""Launches of one proved contract that are interpreted; of more, every n-th one is."""
MOST_HEARD = 24
"""The same where blocks hand values to each other, so that every launch runs whole, under several schedules."""
MOST_OPEN = 40
"""Launches of an undecided kernel that are interpreted: they are counted, nothing depends on them."""
ENUMERATED = 20_000
SAMPLE = 3
"""Launches of a proved kernel that run under several schedules."""
MOST_UNDETERMINED = 24
"""Launches of a proved kernel that are looked through for values that the specification leaves open."""
MOST_BLOCKS = 64
"""Blocks of a witness that are all run; of more, those that it names, and the first."""
WITNESS_SCHEDULES = 96
"""Schedules of a witness whose fault the usual ones do not show."""
AXES = "xyz"
UNDETERMINED = "TV403"
KNOWS_UNDETERMINED = UNDETERMINED in CODES

Launches = Sequence[tuple[ConcreteLaunch, Mapping[str, int]]]


@dataclass(frozen=True, slots=True)
class Judged:
    """``wrong``: why the verdict is wrong.  ``truth``: `right`, `faulty`, `mixed` or `open` over the launches seen.

    ``remarks``: what is counted beside the verdicts, and is no mistake of the prover's.
    """

    result: KernelResult
    wrong: str | None
    truth: str
    launches: int
    seconds: float
    remarks: tuple[str, ...] = ()


def judge(generated: Generated, *, searching: bool = False) -> Judged:
    """Check a kernel and compare the verdict with what its launches show.

    There is no time limit: the solver's resource limits give the same verdict on every machine.  ``searching``: look
    for a clause that a refuted kernel could have been proved under, which takes as long as judging a proved one.
    """
    started = time.process_time()
    result = check_unit(generated.unit)
    return compare(generated, result, time.process_time() - started, searching=searching)


def compare(generated: Generated, result: KernelResult, seconds: float = 0, *, searching: bool = False) -> Judged:
    """A verdict, found in so many seconds, against what the launches show."""
    if result.verdict is Verdict.ERROR:
        codes = {finding.code for finding in result.findings}
        fine = codes == {"TV004"} and not _works(Interpreted(generated.unit), generated)
        return Judged(result, None if fine else f"error: {result.findings[0].message}", "open", 0, seconds)
    interpreted = Interpreted(generated.unit)
    if result.verdict is Verdict.REFUTED:
        wrong = next(_unreal(generated, interpreted, result), None)
        missed = _missed_clause(generated, interpreted) if searching and wrong is None else None
        remarks = () if missed is None else (f"missed clause: {missed}",)
        return Judged(result, wrong, "faulty", 1, seconds, remarks)
    launches = list(islice(generated.contract.launches(), ENUMERATED))
    if result.verdict is Verdict.PROVED:
        return _judge_proved(generated, interpreted, result, launches, seconds)
    return _judge_open(interpreted, result, launches, seconds)


def _works(interpreted: Interpreted, generated: Generated) -> bool:
    """Whether some launch of the contract, in which no array is empty that facts speak of, gets anything done."""
    spoken = {name for fact in generated.contract.spec.data for name in fact.arrays}
    launches = list(islice(generated.contract.launches(), ENUMERATED))
    filled = [each for each in launches if all(0 not in each[0].arrays[name].shape for name in spoken)]
    return any(interpreted.works(launch) for launch, _ in _spread(filled, MOST_LAUNCHES))


def _spread(launches: Launches, most: int) -> Launches:
    """Not more than so many, evenly."""
    return launches[:: -(-len(launches) // most) or 1]


def _truth(seen: Sequence[Seen]) -> str:
    truths = {"faulty" if each.codes else "open" if each.open else "right" for each in seen}
    return "mixed" if "faulty" in truths and len(truths) > 1 else next(iter(truths - {"right"}), "right")


def _judge_open(interpreted: Interpreted, result: KernelResult, launches: Launches, seconds: float) -> Judged:
    seen = []
    for launch, _ in _spread(launches, MOST_HEARD if interpreted.heard else MOST_OPEN):
        try:
            seen.append(interpreted.see(launch))
        except InterpreterStop:  # a launch that does not fit the entry: the verdict says nothing of it
            continue
    return Judged(result, None, _truth(seen), len(seen), seconds)


# -------------------------------------------------------------------------------------------------- proved
def _judge_proved(
    generated: Generated, interpreted: Interpreted, result: KernelResult, launches: Launches, seconds: float
) -> Judged:
    clauses = read_clauses(result.clauses)
    if clauses is None:
        return Judged(result, f"a clause cannot be read: {result.clauses}", "open", 0, seconds)
    if not launches and generated.contract.certainly_empty():
        return Judged(result, "proved, but the contract has no launch", "open", 0, seconds)
    kept = _keeping(clauses, launches)
    if launches and not kept and generated.contract.bounded and len(launches) < ENUMERATED:
        return Judged(result, f"nothing left: no launch of the contract keeps {result.clauses}", "open", 0, seconds)
    if (narrowed := _narrowed(generated, result, launches)) is not None:
        return Judged(result, narrowed, "open", 0, seconds)
    tried = _spread(kept, MOST_HEARD if interpreted.heard else MOST_LAUNCHES)
    seen: list[Seen] = []
    wrong: str | None
    for launch, _ in tried:
        try:
            seen.append(interpreted.see(launch))
        except InterpreterStop as stop:
            wrong = f"proved under {result.clauses}, but a launch of the contract cannot be bound: {stop}"
            return Judged(result, wrong, _truth(seen), len(seen), seconds)
        if seen[-1].codes:
            wrong = f"proved under {result.clauses}, but {sorted(seen[-1].codes)} shows in {launch}"
            return Judged(result, wrong, "faulty", len(seen), seconds)
    wrong = next(_unsteady(interpreted, result, _spread(kept, SAMPLE)), None)
    remarks: list[str] = []
    shut_out = next(_shut_out(interpreted, generated.contract, clauses, launches, kept, seen), None)
    if shut_out and steered_by_what_is_computed(interpreted.entry):
        remarks.append("shut out, where values that are not followed decide what blocks do")
    else:
        wrong = wrong or shut_out
    wrong = wrong or _undetermined(generated, interpreted, result, _spread(kept, MOST_UNDETERMINED), remarks)
    return Judged(result, wrong, _truth(seen), len(tried), seconds, tuple(remarks))


def _keeping(clauses: Sequence[Expression], launches: Iterable[tuple[ConcreteLaunch, Mapping[str, int]]]) -> Launches:
    return [(launch, names) for launch, names in launches if all(holds(clause, names) for clause in clauses)]


def _narrowed(generated: Generated, result: KernelResult, launches: Launches) -> str | None:
    """That a clause excludes a usual launch which somebody promised: one without an empty array, by a clause that
    speaks neither of an open grid nor of addresses; or by a limit."""
    spec = generated.contract.spec
    if spec.origin != "written":
        return None
    open_parts = (".address", "grid.") if spec.grid is None else (".address",)
    promised = [clause for clause in result.requires if not any(part in clause for part in open_parts)]
    usual = [each for each in launches if all(0 not in array.shape for array in each[0].arrays.values())]
    for clause in (*promised, *result.limits):
        read = read_clauses((clause,))
        excluded = usual[:1] if read is None else [each for each in usual if not _keeping(read, [each])]
        if excluded:
            return f"the contract was narrowed: `{clause}` excludes {excluded[0][0]}"
    return None


def _unsteady(interpreted: Interpreted, result: KernelResult, launches: Launches) -> Iterator[str]:
    """What schedules show of a proved kernel and should not."""
    for launch, _ in launches:
        seen = interpreted.explored(launch)
        if seen.codes:
            yield f"proved under {result.clauses}, but under some schedule {sorted(seen.codes)} shows in {launch}"
        if result.deterministic and not seen.agrees:
            yield f"proved and deterministic, but {launch} has several results: {seen.text()}"


def _shut_out(
    interpreted: Interpreted, contract: FiniteContract, clauses: Sequence[Expression], launches: Launches,
    kept: Launches, seen: Sequence[Seen],
) -> Iterator[str]:  # fmt: skip
    """Axes that the kernel reads, along which the contract has two blocks at work and the clauses leave none."""
    if not clauses or len(kept) == len(launches):
        return
    for axis in axes_read(interpreted.entry):
        if any(each.at_work_along(axis) for each in seen) or any(_at_work(interpreted, kept, axis)):
            continue
        cut_short = any(each.open for each in seen)  # then what blocks do comes later, if ever
        if cut_short and any(_at_work(interpreted, _spread(kept, SAMPLE), axis, PATIENT_STEPS)):
            continue
        left = {id(launch) for launch, _ in kept}
        others = [each for each in launches if id(each[0]) not in left and each[0].grid[axis] > 1]
        for launch, seen_there in _at_work(interpreted, _spread(others, 60), axis):
            if seen_there.codes <= set(BETWEEN_BLOCKS):  # where sizes leave room for one block, one block it is
                larger = _keeping(clauses, islice(contract.launches(larger=True), ENUMERATED))
                if not any(_at_work(interpreted, _spread(larger, MOST_LAUNCHES), axis)):
                    asked = tuple(map(print_expression, clauses))
                    text = f"no launch under {asked} has two blocks at work along {AXES[axis]}"
                    yield f"shut out: {text}, the contract has {launch}"
                break


def _at_work(
    interpreted: Interpreted, launches: Launches, axis: int, steps: int = STEPS
) -> Iterator[tuple[ConcreteLaunch, Seen]]:
    for launch, _ in launches:
        if launch.grid[axis] > 1:
            try:
                seen = interpreted.see(launch, steps)
            except InterpreterStop:
                continue
            if seen.at_work_along(axis):
                yield launch, seen


def _undetermined(
    generated: Generated, interpreted: Interpreted, result: KernelResult, launches: Launches, remarks: list[str]
) -> str | None:
    """What is left open and reaches something in a kernel that is said to be determined; warnings that are none."""
    warnings = [finding for finding in result.findings if finding.code == UNDETERMINED]
    for finding in warnings:
        if finding.witness is None or finding.witness.launch is None:
            return f"{finding.code} has no witness"
        launch, claim = claim_from_json(finding.witness.launch)
        if not generated.contract.admits(launch):
            return f"the witness of {finding.code} is outside the contract: {launch}"
        if claim.offset_a not in interpreted.undetermined(launch, PATIENT_STEPS, _blocks_of(launch, claim)):
            return f"the witness of {finding.code} shows nothing: {launch}, {claim}"
    if interpreted.heard or not may_be_open(interpreted.entry):
        return None
    shown = next((launch for launch, _ in launches if interpreted.undetermined(launch)), None)
    if shown is not None and not result.deterministic:
        remarks.append("undetermined" if warnings else "undetermined, without a warning")
    if shown is not None and result.deterministic:
        remarks.append("undetermined, and said to be deterministic")
        if KNOWS_UNDETERMINED:
            return f"undetermined: said to be deterministic, but what is left open reaches something in {shown}"
    if shown is None and result.deterministic is False and not warnings:
        remarks.append("not said to be deterministic, and nothing undetermined was seen")
    return None


# ------------------------------------------------------------------------------------------------- refuted
def _unreal(generated: Generated, interpreted: Interpreted, result: KernelResult) -> Iterator[str]:
    """Why a witness is none."""
    refuted = [f for f in result.findings if not f.code.startswith("TV9") and f.code != UNDETERMINED]
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
    blocks = _blocks_of(launch, claim)
    seen = interpreted.see(launch, blocks=blocks)
    if finding.code not in seen.codes and seen.open:
        seen = interpreted.see(launch, PATIENT_STEPS, blocks)
    codes = set(seen.codes)
    if finding.code not in codes:  # blocks that share out work meet in few orders
        codes |= interpreted.explored(launch, PATIENT_STEPS, WITNESS_SCHEDULES, blocks).codes
    if finding.code not in codes and (codes or seen.open):  # a run of all blocks may end before, at another one's fault
        codes |= interpreted.apart(launch, blocks)
    if finding.code not in codes:
        yield f"the witness of {finding.code} shows {sorted(codes)} ({seen.open}): {launch}, {claim}"


def _blocks_of(launch: ConcreteLaunch, claim: Claim) -> list[Block] | None:
    """Where a launch has many blocks, those that its witness names, and the first ones."""
    if prod(launch.grid) <= MOST_BLOCKS:
        return None
    first = islice(
        ((x, y, z) for z in range(launch.grid[2]) for y in range(launch.grid[1]) for x in range(launch.grid[0])), 4
    )
    return list(dict.fromkeys(block for block in (claim.block_a, claim.block_b, *first) if block is not None))


def _missed_clause(generated: Generated, interpreted: Interpreted) -> str | None:
    """A clause that holds of the right launches in which several blocks are at work, and of no faulty one."""
    right, faulty = [], []
    launches = list(islice(generated.contract.launches(), ENUMERATED))
    for launch, names in _spread(launches, MOST_HEARD if interpreted.heard else MOST_OPEN):
        try:
            seen = interpreted.see(launch)
        except InterpreterStop:
            continue
        if seen.codes:
            faulty.append(names)
        elif seen.open:
            return None
        elif len(seen.writers) > 1:
            right.append(names)
    return separating(right, faulty, generated.contract.tile)
