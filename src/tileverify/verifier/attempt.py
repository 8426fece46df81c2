"""One attempt at a proof, as a value: what is tried, of which launches, and how each obligation came out.

    attempt    every obligation of the summary holds in each launch of the contract that keeps the clauses
    closed     an obligation that is proved
    open       one that is not, with what the solver was asked

An attempt is never changed: whoever adds clauses makes another one.  `prover` decides the obligations of an attempt;
`verify` lists which attempts are made, and in which order.
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
from ..results.tiers import Tier
from .abduction.clauses import Clause
from .budgets import KERNEL_EFFORT
from .effort import Effort
from .obligations.answers import Limits
from .obligations.obligations import Obligation


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """How a kernel is verified.

    ``timeout_s``: seconds of proving; past them open obligations are TV903.
    ``deny_requires``: the tool may add no clause of its own to the contract.
    ``limits``: of one question.  ``seed``: the solver's, which tests vary.
    ``effort``: units of the account that pays for the whole kernel; ``watch`` is shown that account first.
    ``witnesses``: open obligations are refuted or explained.  False for those who want proofs alone.
    ``refutations``: so many are looked for.
    ``hasty``: nobody waits for how what is not proved stays open (`of_recording`).
    """

    timeout_s: float | None = None
    deny_requires: bool = False
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    effort: int = KERNEL_EFFORT
    watch: Callable[[Effort], None] | None = None
    witnesses: bool = True
    refutations: int = MOST_REFUTATIONS
    hasty: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """Every obligation of ``summary`` is to hold in each launch of ``contract`` that keeps ``clauses``.

    ``launch``: what a person or a recording wrote, of which ``contract`` are the terms.
    ``clauses``: what the tool added.  ``offered``: groups of facts on data that may be taken up, the most usual first.
    ``holds_for``: what a contract wider than the user's covers.  ``started``: seconds of `time.monotonic`.
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
        """The first attempt under a launch; raises `SpecError` where the spec names what it does not define."""
        return cls(summary, launch, build_contract(launch), options, started)

    @property
    def deadline(self) -> float | None:
        """Seconds of `time.monotonic` at which nothing more may be asked."""
        return None if self.options.timeout_s is None else self.started + self.options.timeout_s

    @property
    def conditions(self) -> list[Term]:
        """The clauses as terms."""
        return [clause.condition for clause in self.clauses]

    def under(self, clauses: Iterable[Clause]) -> Attempt:
        """The same under more clauses."""
        return replace(self, clauses=tuple(dict.fromkeys((*self.clauses, *clauses))))


@dataclass(frozen=True, slots=True)
class Closed:
    """A proved obligation: by which tier, in how many ``seconds``, with how many ``lemmas`` made for it."""

    obligation: Obligation
    tier: Tier | None
    seconds: float
    lemmas: int = 0


@dataclass(frozen=True, slots=True)
class Open:
    """An obligation that was not proved: the solver could not contradict ``conditions``.

    ``unknown``: it gave no answer.  ``eliminated``: variables that simplification replaced, with their values.
    """

    obligation: Obligation
    conditions: tuple[Term, ...]
    unknown: bool
    eliminated: Mapping[Term, Term] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict of one kernel under one contract; fields as in `tileverify.results.KernelResult`.

    ``one_result``: as ``deterministic``, but for what the specification leaves open; ``open_uses``: where that may
    decide something (TV403).  ``observed``: those of ``assumes`` that come from a recording.
    ``launch``: the contract that ``requires`` adds to.  ``decided``: what was proved, in that order.
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
