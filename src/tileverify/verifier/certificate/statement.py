"""A derivation in the words of a certificate.

Written from the solver's derivation when a certificate is made, and from the certificate's own answers when it is
checked: both must be the same text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...contract import terms as t
from ...contract.terms import Term
from ...results import SourceSite
from ...results.codes import Tier
from ...system.printable import display_path
from .. import messages
from ..obligations.answers import Proof
from ..obligations.derivation import Derivation, ProofStep, question_id
from ..obligations.obligations import Obligation
from ..obligations.smtlib import Vocabulary
from .model import Equality, Place, Proved, Question


@dataclass(frozen=True, slots=True)
class Statement:
    """All of a certificate that follows from the bytecode and the contract; ``questions`` have no lemmas yet."""

    vocabulary: Vocabulary
    facts: tuple[str, ...]
    questions: tuple[Question, ...]
    places: tuple[Place, ...]
    obligations: tuple[Proved, ...]


def statement(derivation: Derivation) -> Statement:
    """``derivation`` in words.  Facts come first, then questions, so that lemmas add to the vocabulary's end."""
    vocabulary = Vocabulary()
    facts = stated_facts(derivation.facts, vocabulary)
    questions = tuple(_question(proof, vocabulary) for proof in derivation.questions)
    places: dict[Place, int] = {}
    obligations = tuple(_proved(step, questions, places) for step in derivation.steps)
    return Statement(vocabulary, facts, questions, tuple(places), obligations)


def stated_facts(facts: Iterable[Term], vocabulary: Vocabulary) -> tuple[str, ...]:
    return tuple(vocabulary.write(fact) for fact in facts if fact is not t.TRUE)


def _question(proof: Proof, vocabulary: Vocabulary) -> Question:
    conditions = tuple(vocabulary.write(condition) for condition in proof.conditions if condition is not t.TRUE)
    equal = tuple(
        Equality(merge.twin, vocabulary.write(merge.first), vocabulary.write(merge.second), ())
        for merge in proof.merges
    )
    return Question(question_id(proof.conditions), conditions, equal, (), proof.tier)


def _proved(step: ProofStep, questions: Sequence[Question], places: dict[Place, int]) -> Proved:
    obligation = step.obligation
    return Proved(
        code=obligation.code,
        level=obligation.level,
        detail=obligation.detail,
        places=tuple(places.setdefault(place, len(places)) for place in _places(obligation)),
        tier=tier_of(questions[step.question], structural=step.structural),
        question=step.question,
        wraps=step.wraps,
    )


def tier_of(question: Question, *, structural: bool) -> Tier:
    """How an obligation was decided."""
    return Tier.STRUCTURAL if structural else question.tier


def _places(obligation: Obligation) -> Iterator[Place]:
    sides = [side for side in (obligation.first, obligation.second) if side is not None]
    numbers = [side.number for side in sides] if obligation.promise is None else [None]
    for number, site in zip(numbers, messages.sites(obligation), strict=True):
        yield Place(site.access, number, site.array, _at(site))


def _at(site: SourceSite) -> str:
    return f"{display_path(site.file)}:{site.line}:{site.column}" if site.file else ""
