"""Questions' answers: what the solver says, within which limits, and why."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Protocol

from ...contract import terms as t
from ...contract.terms import Function, Term
from ...contract.terms.evaluate import Value
from ...results.codes import Tier
from .lemmas import Lemma
from .simplify import expand


class Answer(enum.Enum):
    UNSATISFIABLE = "unsatisfiable"
    SATISFIABLE = "satisfiable"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Limits:
    """Z3 resource units: ``linear`` for one check of the linear tier and ``rounds`` checks of a question, which may
    take ``total`` together; ``nonlinear`` and ``bits`` for the one check of the non-linear tier and of the one on words
    of bits, which 0 leaves out.  ``merges``: whether it may be looked for twins that are equal."""

    linear: int = 600_000
    nonlinear: int = 2_000_000
    rounds: int = 60
    total: int = 2_000_000
    bits: int = 1_000_000
    merges: bool = True

    def is_within(self, other: Limits) -> bool:
        """Whether none of these is wider than that of the other."""
        return all(getattr(self, each.name) <= getattr(other, each.name) for each in fields(self))

    def times(self, factor: float) -> Limits:
        """So many times the resources; as many rounds."""
        linear, nonlinear, total, bits = (
            round(factor * units) for units in (self.linear, self.nonlinear, self.total, self.bits)
        )
        return replace(self, linear=linear, nonlinear=nonlinear, total=total, bits=bits)


@dataclass(frozen=True, slots=True)
class Model:
    """Values of the variables and of every function application that the question contains."""

    variables: dict[Term, Value]
    applications: dict[tuple[Function, tuple[Value, ...]], Value]


@dataclass(frozen=True, slots=True)
class Merge:
    """``first`` equals ``second`` by ``lemmas``, under the question and the equalities before; ``twin`` says which of
    the question's twins they are."""

    twin: int
    first: Term
    second: Term
    lemmas: tuple[Lemma, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """Why ``conditions`` (as the solver saw them, twins not merged) and the facts contradict each other, by which of
    the theories of `results.codes`.

    ``lemmas``: all that were at hand when the contradiction showed, more than it takes.
    """

    conditions: tuple[Term, ...]
    merges: tuple[Merge, ...]
    lemmas: tuple[Lemma, ...]
    tier: Tier


@dataclass(frozen=True, slots=True)
class Result:
    answer: Answer
    tier: Tier | None  # `None`: nothing was asked
    model: Model | None = None
    lemmas: int = 0
    proof: Proof | None = None


class SolverProtocol(Protocol):
    """Whoever answers questions: the solver, or a certificate of what it answered."""

    def decide(self, conditions: Iterable[Term], *, twins: Sequence[tuple[Term, Term]] = ()) -> Result: ...


def as_merged(twins: tuple[Term, Term], replaced: Mapping[Term, Term]) -> tuple[Term, Term]:
    """Twins as the solver sees them after earlier ones were ``replaced``."""
    a, b = (_replace(expand(term), replaced) for term in twins)
    return a, b


def _replace(term: Term, replacements: Mapping[Term, Term]) -> Term:
    if not replacements:
        return term
    return t.transform(term, replacements.get)
