"""Proofs of a kernel for more than the launch that it was recorded from: widest first, each for a part of the account.

What they cannot prove, the launch's own proof may.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...contract.as_terms import build_contract
from ...contract.launch import EntryParameter, LaunchSpec
from ...frontend.symbolic.summary import AccessSummary
from .. import messages
from ..budgets import WIDER_SHARE
from ..case import Case, Outcome, VerifyOptions
from ..smt import Session
from .generalised_proof import GeneralisedProof
from .generalising import levels


@dataclass
class Wider:
    """``options``: for contracts that the user did not ask for.  ``ran_out``: whether what was tried last, in vain, may
    work out with more of the account."""

    summary: AccessSummary
    parameters: Sequence[EntryParameter]
    options: VerifyOptions
    session: Session
    started: float
    ran_out: bool = False

    def proved(self, launch: LaunchSpec, numbers: slice, share: int = WIDER_SHARE) -> Outcome | None:
        """The kernel proved under one of the contracts that hold ``launch``, which may take a part of the account
        each: those of these ``numbers``, the widest first."""
        self.ran_out, effort = False, self.session.effort
        for level in list(levels(launch, self.parameters))[numbers]:
            contract = build_contract(level.launch)
            case = Case(self.summary, level.launch, contract, self.options, self.session, started=self.started)
            with effort.share(share), effort.at(messages.WIDER[level.holds_for]):
                found = GeneralisedProof(case).attempt(level)
                spent = effort.is_spent
            if found is not None:
                return found
            self.ran_out |= spent
        return None
