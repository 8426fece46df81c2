"""The outcome of an attempt: its verdict, and the launches for which it holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..contract import terms as t
from ..contract.expressions import constant_value
from ..contract.terms import Term
from ..frontend.symbolic.summary import Promise
from ..results import Finding, HoldsFor, Verdict
from . import messages
from .abduction.generalising import free_text
from .attempt import Attempt, Closed, Open, Outcome
from .budgets import OPEN_LIMITS
from .equal_stores import equal_stores
from .obligations.determinism import deterministic
from .obligations.obligations import Obligation
from .obligations.prepare import Preparer
from .obligations.simplify import simplify
from .prover import Prover
from .smt import WithLimits


def outcome_of(
    prover: Prover,
    verdict: Verdict,
    findings: Sequence[Finding] = (),
    notes: Sequence[str] = (),
    *,
    cut_short: bool = False,
) -> Outcome:
    """The outcome of a prover's attempt.

    For a proof it also decides determinism, uses of open values (TV403) and assertions.
    ``cut_short``: the limit of refutations was reached before all open obligations were examined.
    """
    attempt, proved = prover.attempt, verdict is Verdict.PROVED
    open_uses = tuple(open_uses_of(prover)) if proved else ()
    may_fail = _open_assertions(prover) if proved else []
    added = [clause for clause in prover.clauses if clause.condition not in attempt.contract.facts]
    limits = [clause for clause in added if _is_limit(prover, clause.condition)]
    one_result = None
    if proved and not may_fail and not attempt.launch.calls:  # a library's code may give what it likes
        one_result = deterministic(prover.kernel.sites, attempt.contract, prover.solver)
    equal, needless = equal_stores(prover) if proved and attempt.contract.equal_stores else ((), ())
    freed = free_text(attempt.launch) if attempt.holds_for == "any" else ()
    return Outcome(
        verdict=verdict,
        holds_for=_holds_for(attempt) if proved else None,
        deterministic=None if one_result and open_uses else one_result,
        one_result=one_result,
        open_uses=open_uses,
        requires=tuple(clause.text for clause in added if clause not in limits),
        limits=tuple(clause.text for clause in limits),
        assumes=tuple(data.fact.text for data in attempt.contract.data),
        findings=(*findings, *equal),
        obligations=prover.count(0 if proved else len(findings)),
        proved_codes=tuple(sorted({each.obligation.code for each in prover.closed})) if proved else (),
        contract=(*attempt.contract.text, *freed),
        notes=(*attempt.launch.notes, *attempt.summary.notes, *notes, *may_fail, *needless),
        launch=attempt.launch,
        cut_short=cut_short,
        decided=tuple(prover.closed),
    )


def _is_limit(prover: Prover, clause: Term) -> bool:
    """A written contract that is not widened takes limits and conditions on its open parts alone.

    So what is no such condition is a limit, also in another wording than the one that was proved to be one.
    """
    parts, attempt = prover.parts, prover.attempt
    as_written = attempt.launch.origin == "written" and attempt.holds_for is None
    return parts.is_limit(clause) or (as_written and not parts.is_open(clause))


def open_uses_of(prover: Prover) -> Iterator[Open]:
    """The places where a value that the specification leaves open may have an effect (TV403)."""
    preparer = prover.kernel.preparer
    exact = None
    for item in prover.summary.open_uses:
        broken = preparer.term(t.and_(item.guard, t.not_(item.condition)))
        if simplify(prover.simplified([broken]), prover.facts) is not None:
            exact = exact or _reader(prover)
            answer = _asked(prover, exact, item)
            if isinstance(answer, Open):
                yield answer


def _open_assertions(prover: Prover) -> list[str]:
    """The assertions that the prover cannot show to hold, in words; we trust that a failed one stops its block."""
    found = (
        messages.assertion(item)
        for item in prover.summary.assertions
        if isinstance(_asked(prover, _reader(prover), item), Open)
    )
    return list(dict.fromkeys(found))


def _reader(prover: Prover) -> Preparer:
    """A preparer for questions that add no clause to the contract."""
    solver = WithLimits(prover.solver, OPEN_LIMITS)
    return Preparer(prover.summary, prover.contract, solver, use=prover.use)


def _asked(prover: Prover, reader: Preparer, item: Promise) -> Closed | Open:
    reached = replace(item, guard=reader.term(item.guard))
    asked = Obligation(item.code, (reader.broken(item),), promise=reached, detail=item.text)
    return prover.answer(asked, OPEN_LIMITS)


def _holds_for(attempt: Attempt) -> HoldsFor:
    """``any``: every launch of the contract.  A contract of numbers covers only these sizes, or this launch."""
    contract, grid = attempt.contract, attempt.launch.grid
    if attempt.holds_for is not None:
        return attempt.holds_for
    if not contract.literal_sizes or not (contract.arrays or contract.lists):
        return "any"
    return "launch" if grid is not None and all(constant_value(axis) is not None for axis in grid) else "sizes"
