"""Proofs of a kernel for more than the launch that it was recorded from: widest first, each for a part of the account.

What they cannot prove, the launch's own proof may.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...contract.launch import EntryParameter, LaunchSpec
from ...frontend.symbolic.summary import AccessSummary
from .. import messages
from ..attempt import Attempt, Outcome, VerifyOptions
from ..budgets import WIDER_SHARE
from ..prover import Prover
from ..smt import Session
from .generalised_proof import GeneralisedProof
from .generalising import levels


@dataclass
class Wider:
    """``options``: for contracts that the user did not ask for."""

    summary: AccessSummary
    parameters: Sequence[EntryParameter]
    options: VerifyOptions
    session: Session
    started: float

    def proved(self, launch: LaunchSpec, numbers: slice, share: int = WIDER_SHARE) -> tuple[Outcome | None, bool]:
        """The kernel proved under one of the contracts that hold ``launch``, or ``None``: and whether one that was
        tried in vain may work out with more of the account.

        Each may take one of ``share`` equal parts of it: those of these ``numbers``, the widest first.
        """
        ran_out, effort = False, self.session.effort
        for level in list(levels(launch, self.parameters))[numbers]:
            attempt = Attempt.of(self.summary, level.launch, self.options, self.started)
            prover = Prover.of(replace(attempt, holds_for=level.holds_for), self.session)
            with effort.share(share), effort.at(messages.WIDER[level.holds_for]):
                found = GeneralisedProof(prover).attempt(level)
                spent = effort.is_spent
            if found is not None:
                return found, ran_out
            ran_out |= spent
        return None, ran_out
