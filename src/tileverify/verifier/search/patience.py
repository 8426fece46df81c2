"""How long it is asked whether machine integers fit, in a contract wider than the launch.

Most such questions that have an answer have it soon, what stays open under one guard mostly stays open under the next,
and where one integer stays open, others do.  So a question takes no more than a part of what is left of the account,
and half as much for each time that the same integer was asked about in vain, and for each other one that is open.  An
answer that is missed costs a wider contract, or a first look without facts, never a proof.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ...contract.terms import Term
from ..obligations.answers import Answer, Limits, Result
from ..smt import Decider

SHARES: Final = 6
"""A question may take so large a part of what is left."""

LEAST: Final = 10_000
"""Units below which a question is not worth asking: when a share is no larger, the account is spent."""

LEAST_AT_FIRST: Final = 20_000
"""Units for an integer that was not asked about in vain yet, however many others were."""

MOST_OPEN: Final = 6
"""Integers that stay open before nothing more is asked under an account: of 4,492 proofs that worked out none had more
than five, of 257 that ran out of their account 228 had."""


@dataclass
class Patience:
    """Asks ``decider`` under ``limits`` at most, until it has spent most of ``account``, in resource units, or
    ``most_open`` integers stay open; no ``account``: as long as it takes.

    The first condition of a question is what must not be, that an integer does not fit; the others say where.
    """

    decider: Decider
    limits: Limits
    account: int | None
    most_open: int | None = MOST_OPEN
    _in_vain: Counter[Term] = field(default_factory=Counter)

    def decide(self, conditions: Iterable[Term], *, twins: Sequence[tuple[Term, Term]] = ()) -> Result:
        """The answer; ``UNKNOWN`` once the account is spent."""
        conditions = tuple(conditions)
        if self.is_over():
            return Result(Answer.UNKNOWN, None)
        limits, about = self.limits, conditions[0]
        if self.account is not None:
            share = (self.account - self.decider.spent) // SHARES
            vain, others = self._in_vain[about], len(self._in_vain.keys() - {about})
            least = LEAST if vain else LEAST_AT_FIRST
            linear, total = (max(min(most, share) >> vain + others, least) for most in (limits.linear, limits.total))
            limits = replace(limits, linear=linear, total=total)
        result = self.decider.decide(conditions, twins=twins, limits=limits)
        if result.answer is Answer.UNKNOWN:
            self._in_vain[about] += 1
        return result

    def is_over(self) -> bool:
        """Whether nothing more is asked."""
        if self.account is None:
            return False
        too_many = self.most_open is not None and len(self._in_vain) >= self.most_open
        return self.account - self.decider.spent < LEAST * SHARES or too_many
