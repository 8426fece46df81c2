"""One attempt at a proof, as a value: the claim, its launches, and the answer for each obligation.

    attempt    the claim: every obligation holds in each launch that satisfies contract and clauses
    closed     a proved obligation
    open       an unproved obligation, with the conditions that the solver got

An attempt is immutable: adding clauses makes a new one.  `prover` decides the obligations of an attempt;
`verify` lists the attempts in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..contract.as_terms import build_contract
from ..contract.contract import Contract
from ..contract.facts.statements import DataTerm
from ..contract.launch import LaunchSpec
from ..contract.terms import Term
from ..frontend.symbolic.summary import AccessSummary
from ..results import MOST_REFUTATIONS, Finding, HoldsFor, ObligationCount, Verdict
from ..results.codes import Tier
from .abduction.clauses import Clause
from .budgets import KERNEL_EFFORT
from .effort import ResourceBudget
from .obligations.answers import Limits
from .obligations.obligations import Obligation


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """How a kernel is verified.

    ``timeout_s``: seconds of proving; obligations that are open then become TV903.
    ``deny_requires``: the tool may add no clause of its own to the contract.
    ``limits``: of one question.  ``seed``: the solver's; tests vary it.
    ``effort``: units of the budget for the whole kernel.  ``watch``: called with that budget at the start.
    ``witnesses``: refute or explain open obligations.  False: only prove.
    ``refutations``: the largest number of refuted obligations.
    ``quick``: a quick pass: spend little on obligations that only more data facts can close (`of_recording`).
    """

    timeout_s: float | None = None
    deny_requires: bool = False
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    effort: int = KERNEL_EFFORT
    watch: Callable[[ResourceBudget], None] | None = None
    witnesses: bool = True
    refutations: int = MOST_REFUTATIONS
    quick: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """The claim: every obligation of ``summary`` holds in each launch of ``contract`` that satisfies ``clauses``.

    ``launch``: the spec of a person or a recording.  ``contract``: the same spec as terms.
    ``clauses``: added by the tool.  ``offered``: groups of data facts that the proof may assume, the most usual first.
    ``holds_for``: the coverage of a contract wider than the user's.  ``started``: seconds of `time.monotonic`.
    """

    summary: AccessSummary
    launch: LaunchSpec
    contract: Contract
    options: VerifyOptions
    started: float
    clauses: tuple[Clause, ...] = ()
    offered: Sequence[Sequence[DataTerm]] = ()
    holds_for: HoldsFor | None = None

    @classmethod
    def of(cls, summary: AccessSummary, launch: LaunchSpec, options: VerifyOptions, started: float) -> Attempt:
        """The first attempt under a launch; raises `SpecError` if the spec uses a name that it does not define."""
        return cls(summary, launch, build_contract(launch), options, started)

    @property
    def deadline(self) -> float | None:
        """The `time.monotonic` seconds at which proving stops."""
        return None if self.options.timeout_s is None else self.started + self.options.timeout_s

    @property
    def conditions(self) -> list[Term]:
        """The clauses as terms."""
        return [clause.condition for clause in self.clauses]

    def under(self, clauses: Iterable[Clause]) -> Attempt:
        """This attempt with more clauses."""
        return replace(self, clauses=tuple(dict.fromkeys((*self.clauses, *clauses))))


@dataclass(frozen=True, slots=True)
class Closed:
    """A proved obligation: the tier that decided it, the ``seconds``, and the number of ``lemmas`` made for it."""

    obligation: Obligation
    tier: Tier | None
    seconds: float
    lemmas: int = 0


@dataclass(frozen=True, slots=True)
class Open:
    """An unproved obligation: the solver did not refute ``conditions``.

    ``unknown``: the solver gave no answer.  ``eliminated``: variables that simplification replaced, with their values.
    """

    obligation: Obligation
    conditions: tuple[Term, ...]
    unknown: bool
    eliminated: Mapping[Term, Term] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict of one kernel under one contract; fields as in `tileverify.results.KernelResult`.

    ``open_uses``: places where a value that the specification leaves open may have an effect (TV403).
    ``one_result``: ``deterministic`` apart from such values.
    ``observed``: the part of ``assumes`` that comes from a recording.
    ``launch``: the contract without ``requires``.  ``decided``: the proved obligations, in proof order.
    """

    verdict: Verdict
    holds_for: HoldsFor | None = None
    deterministic: bool | None = None
    one_result: bool | None = None
    open_uses: tuple[Open, ...] = ()
    requires: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    obligations: ObligationCount = field(default_factory=ObligationCount)
    proved_codes: tuple[str, ...] = ()
    contract: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    launch: LaunchSpec | None = None
    cut_short: bool = False
    decided: tuple[Closed, ...] = ()
