"""The budget for questions whether machine integers fit, in a contract wider than the launch.

Answers come soon or never.  An integer that stays open under one guard mostly stays open under the next, and others
follow it.  So a question gets a share of the units that are left.  The share halves with each failed question on the
same integer, and with each other open integer.  A missed answer costs a wider contract or a quick pass, never a proof.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ...contract.terms import Term
from ..budgets import FIT_LEAST, FIT_LEAST_AT_FIRST, FIT_SHARES, MOST_UNFIT
from ..obligations.answers import Answer, Limits, Result
from ..smt import Decider


@dataclass
class AdaptiveBudget:
    """Asks ``decider`` within ``limits`` until most of ``account`` (resource units) is spent or ``most_open`` integers
    stay open.

    No ``account``: no end.  The first condition of a question says that an integer does not fit; the others say where.
    """

    decider: Decider
    limits: Limits
    account: int | None
    most_open: int | None = MOST_UNFIT
    _in_vain: Counter[Term] = field(default_factory=Counter)

    def decide(self, conditions: Iterable[Term], *, twins: Sequence[tuple[Term, Term]] = ()) -> Result:
        """The answer; `UNKNOWN` once `is_over`."""
        conditions = tuple(conditions)
        if self.is_over():
            return Result(Answer.UNKNOWN, None)
        limits, about = self.limits, conditions[0]
        if self.account is not None:
            share = (self.account - self.decider.spent) // FIT_SHARES
            vain, others = self._in_vain[about], len(self._in_vain.keys() - {about})
            least = FIT_LEAST if vain else FIT_LEAST_AT_FIRST
            linear, total = (max(min(most, share) >> vain + others, least) for most in (limits.linear, limits.total))
            limits = replace(limits, linear=linear, total=total)
        result = self.decider.decide(conditions, twins=twins, limits=limits)
        if result.answer is Answer.UNKNOWN:
            self._in_vain[about] += 1
        return result

    def is_over(self) -> bool:
        """Whether every further question gets `UNKNOWN`."""
        if self.account is None:
            return False
        too_many = self.most_open is not None and len(self._in_vain) >= self.most_open
        return self.account - self.decider.spent < FIT_LEAST * FIT_SHARES or too_many
