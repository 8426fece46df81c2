"""Elements of index data that facts leave one number for: the number is put in for them, before anything is made of it.

    range(a, c, c + 1)  and  0 <= i < size(a), as i and the size are written   ->   a[i] is read as c

A load from an array that nobody writes gives ``a[i]``, the same in all blocks, and every launch of the contract keeps
the fact.  So whatever breaks an obligation breaks it with ``c`` put in as well: no solution is lost.  An index that is
not seen to lie inside the array is left alone, as facts say nothing there.

What is won: a number of tiles that a kernel loads and divides by is a number to divide by; as a condition it leaves
quotients by a variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...contract import terms as t
from ...contract.contract import Contract
from ...contract.facts.form import Subject
from ...contract.facts.kinds import subject_of
from ...contract.facts.statements import DataTerm
from ...contract.terms import Term, TermKind
from ...frontend.symbolic.summary import Origin
from .fact_instances import instances
from .simplify import known_ranges


@dataclass(frozen=True, slots=True)
class Settled:
    """Reads elements as the numbers that ``facts``, some of those of ``contract``, leave; ``origins``: the arrays, in
    terms of the contract."""

    facts: tuple[DataTerm, ...]
    contract: Contract
    origins: Mapping[str, Origin]

    def number(self, value: Term) -> Term | None:
        """The number that ``value``, an application, stands for; ``None`` if that is not known."""
        if value.function.array is None:
            return None
        said = t.and_(*instances((value,), self.facts, self.contract, self.origins))
        parts = said.args if said.kind is TermKind.AND else (said,)
        low, high = known_ranges(frozenset(parts)).get(value, (None, None))
        return t.const(low) if low is not None and low == high else None


def of_one_number(facts: Iterable[DataTerm]) -> tuple[DataTerm, ...]:
    """Those that leave one number for all elements of an array."""
    return tuple(filter(_leaves_one_number, facts))


def _leaves_one_number(data: DataTerm) -> bool:
    low, high = data.low, data.high
    if subject_of(data) is not Subject.LIMITS or data.unless or low is None or high is None:
        return False
    return low.kind is high.kind is TermKind.CONST and high.value == low.value + 1
