"""The texts of a certificate: a derivation in its words, the scripts that it stands for, and that they are well-formed.

Written from the solver's derivation when a certificate is made, and from the certificate's own answers when it is
checked: both must be the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ...contract import terms as t
from ...contract.terms import Term
from ...results import SourceSite
from ...results.codes import Tier
from ...system.printable import display_path
from .. import messages
from ..obligations.answers import Proof
from ..obligations.bit_vectors import bit_question
from ..obligations.derivation import Derivation, ProofStep, question_id
from ..obligations.obligations import Obligation
from ..obligations.smtlib import (
    BIT_OPERATIONS,
    PRODUCT,
    QUOTIENT,
    SCHEMAS,
    TOKEN,
    Declaration,
    Vocabulary,
    number,
    script,
    script_of_any,
    tokens,
)
from .model import Certificate, CertificateError, CertifiedLemma, Equality, Place, Proved, Question


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
    for nth, site in zip(numbers, messages.sites(obligation), strict=True):
        yield Place(site.access, nth, site.array, _at(site))


def _at(site: SourceSite) -> str:
    return f"{display_path(site.file)}:{site.line}:{site.column}" if site.file else ""


# -------------------------------------------------------------------------------------------------------------- scripts
# The scripts that a certificate stands for: each asserts what cannot hold together, and any solver can read it.


@dataclass(frozen=True, slots=True)
class Script:
    """``complete``: a model contradicts the certificate; otherwise something was left out, and it says nothing.

    ``asserted``: what ``text`` asserts over the certificate's definitions, for `any_script`; ``None`` for questions on
    words.  ``exact``: products and quotients have their meaning.
    """

    name: str
    text: str
    complete: bool = True
    asserted: tuple[str, ...] | None = None
    exact: bool = True


def question_scripts(certificate: Certificate, number: int, *, whole: bool = False) -> Iterator[Script]:
    """The scripts of one question: one for each equality, in order, and the last for the question.

    They assert what the certificate says that a contradiction takes, or all that is known with ``whole``.
    """
    question = certificate.questions[number]
    given = [*certificate.facts, *question.conditions]

    def needed(positions: Sequence[int] | None) -> list[str]:
        return list(given) if whole or positions is None else [given[position] for position in positions]

    for position, each in enumerate(question.equal):
        wanted = [*needed(each.needs), f"(not (= {each.first} {each.second}))"]
        yield _script(f"question-{number}-equality-{position}", certificate, wanted, each.lemmas, exact=False)
        given.append(f"(= {each.first} {each.second})")
    name = f"question-{number}"
    if question.tier == Tier.BIT_VECTORS:
        on_words = bit_question(certificate.symbols, certificate.definitions, given)
        yield Script(name, on_words.script, on_words.complete)
    else:
        exact = question.tier != Tier.LINEAR
        yield _script(name, certificate, needed(question.needs), question.lemmas, exact=exact)


def lemma_script(certificate: Certificate, number: int) -> Script:
    """The script that says a lemma's terms are not the products and quotients it takes them for."""
    identities = lemma_identities(certificate.lemmas[number])
    return _script(f"lemma-{number}", certificate, [f"(not (and true {' '.join(identities)}))"], (), exact=True)


def any_script(certificate: Certificate, scripts: Sequence[Script], *, exact: bool) -> str:
    """A contradiction just if each of ``scripts`` is one, all of them with ``asserted`` and alike in ``exact``."""
    alternatives = [each.asserted for each in scripts if each.asserted is not None and each.exact == exact]
    if len(alternatives) != len(scripts):
        raise ValueError("these scripts cannot be asked together")
    return script_of_any(certificate.symbols, certificate.definitions, alternatives, exact=exact)


def possibility_script(certificate: Certificate, vocabulary: Vocabulary, known: int, promised: Sequence[str]) -> str:
    """Whether any launch satisfies the contract: the one script that must not be a contradiction.

    ``promised`` over ``vocabulary``: what else a launch must satisfy; its first ``known`` definitions are the
    certificate's, the others get names of their own, and so do symbols that are something else there: the elements of
    an array behind a plain pointer, which a kernel counts in a row and a fact along the array's axes.
    """
    fresh = {name: f"{name}p" for name in list(vocabulary.definitions)[known:]}
    said = certificate.symbols
    fresh |= {
        name: f"|{name.strip('|')} promised|"
        for name, kind in vocabulary.symbols.items()
        if said.get(name, kind) != kind
    }

    def renamed(text: str) -> str:
        return TOKEN.sub(lambda token: fresh.get(token[0], token[0]), text)

    definitions = dict(certificate.definitions)
    definitions |= {fresh[name]: renamed(text) for name, text in vocabulary.definitions.items() if name in fresh}
    symbols = {**{fresh.get(name, name): kind for name, kind in vocabulary.symbols.items()}, **said}
    return script(symbols, definitions, [*certificate.facts, *map(renamed, promised)], exact=True)


def write_scripts(certificate: Certificate, folder: Path) -> int:
    """Write all that should be contradictions as ``.smt2`` files; how many.  Raises OSError."""
    scripts = [each for number in range(len(certificate.questions)) for each in question_scripts(certificate, number)]
    scripts += [lemma_script(certificate, number) for number in range(len(certificate.lemmas))]
    folder.mkdir(parents=True, exist_ok=True)
    for each in scripts:
        text = f"(set-info :status unsat)\n{each.text}(check-sat)\n"
        (folder / f"{each.name}.smt2").write_text(text, encoding="utf-8")
    return len(scripts)


def _script(name: str, certificate: Certificate, given: Sequence[str], lemmas: Sequence[int], *, exact: bool) -> Script:
    asserted = (*given, *(lemma_assertion(certificate.lemmas[number]) for number in lemmas))
    text = script(certificate.symbols, certificate.definitions, asserted, exact=exact)
    return Script(name, text, asserted=asserted, exact=exact)


# ---------------------------------------------------------------------------------------------------------- lemma texts
# Lemma instances of certificates as SMT-LIB, from their schemas: a certificate cannot bring a lemma of its own.


def lemma_assertion(lemma: CertifiedLemma) -> str:
    """What the lemma says."""
    return SCHEMAS[lemma.schema].stated(_texts(lemma))


def lemma_identities(lemma: CertifiedLemma) -> tuple[str, ...]:
    """What must hold of its terms, by the meaning of products and quotients, for the schema to apply."""
    return SCHEMAS[lemma.schema].identified(_texts(lemma))


def _texts(lemma: CertifiedLemma) -> list[str]:
    return [number(arg) if isinstance(arg, int) else arg for arg in lemma.args]


# ----------------------------------------------------------------------------------------------------------- wellformed
# Whether the texts of a certificate are SMT-LIB terms of the right sorts, made of what the certificate declares.
#
# Before a second solver reads them: a text that is no term could end the assertion it stands in and say anything after.


_SYMBOL: Final = re.compile(r"\$[\w.]*|\|\$[^|\\]*\|", re.ASCII)
_DEFINITION: Final = re.compile(r"[tb]\d+", re.ASCII)
_NUMERAL: Final = re.compile(r"0|[1-9]\d*", re.ASCII)

_INTEGERS: Final[Mapping[str, tuple[int, int | None, str]]] = {
    "+": (1, None, "Int"),
    "-": (1, 2, "Int"),
    "*": (2, 3, "Int"),
    "div": (2, 2, "Int"),
    "mod": (2, 2, "Int"),
    PRODUCT: (2, 2, "Int"),
    QUOTIENT: (2, 2, "Int"),
    **dict.fromkeys(BIT_OPERATIONS, (2, 2, "Int")),
    "<": (2, 2, "Bool"),
    "<=": (2, 2, "Bool"),
}
"""Operators on integers: fewest and most operands, and the sort of the result."""
_CONDITIONS: Final[Mapping[str, tuple[int, int | None]]] = {
    "and": (1, None),
    "or": (1, None),
    "not": (1, 1),
    "=>": (2, 2),
}


class NoTerm(Exception):
    """Says what is wrong with a text."""


def check_texts(certificate: Certificate, file: str) -> None:
    """Raises `CertificateError` for the first text that is not what it should be."""
    try:
        _check(certificate)
    except NoTerm as error:
        raise CertificateError(f"the certificate is malformed: {error}", file) from None
    except RecursionError:
        raise CertificateError("the certificate is malformed: its terms are too deep", file) from None


def _check(certificate: Certificate) -> None:
    sorts: dict[str, str] = {}
    for name in certificate.symbols:
        if not _SYMBOL.fullmatch(name):
            raise NoTerm(f"{name!r} is no name of a symbol")
    for name, text in certificate.definitions.items():
        if not _DEFINITION.fullmatch(name):
            raise NoTerm(f"{name!r} is no name of a definition")
        sort = "Bool" if name[0] == "b" else "Int"
        _expect(sort, [text], certificate.symbols, sorts)
        sorts[name] = sort
    conditions, terms = list(certificate.facts), list[str]()
    for question in certificate.questions:
        conditions += question.conditions
        terms += [side for each in question.equal for side in (each.first, each.second)]
    for lemma in certificate.lemmas:
        terms += [arg for arg in lemma.args if isinstance(arg, str)]
        conditions += [lemma_assertion(lemma), *lemma_identities(lemma)]
    _expect("Int", terms, certificate.symbols, sorts)
    _expect("Bool", conditions, certificate.symbols, sorts)


def _expect(sort: str, texts: Iterable[str], symbols: Mapping[str, Declaration], defined: Mapping[str, str]) -> None:
    for text in texts:
        if sort_of(text, symbols, defined) != sort:
            raise NoTerm(f"{text[:120]!r} is not of the sort {sort}")


def sort_of(text: str, symbols: Mapping[str, Declaration], defined: Mapping[str, str]) -> str:
    """``Int`` or ``Bool`` for a term over ``symbols`` and definitions of the sorts ``defined``; raises `NoTerm`."""
    return _Term(text, symbols, defined).sort()


class _Term:
    """One text, read from left to right."""

    def __init__(self, text: str, symbols: Mapping[str, Declaration], defined: Mapping[str, str]) -> None:
        self.text, self.symbols, self.defined = text, symbols, defined
        self.pending = tokens(text)[::-1]

    def sort(self) -> str:
        """The sort of the whole text, which must be one term and nothing else, spelled as it is always spelled."""
        found = self._term()
        if self.pending:
            raise self._wrong()
        if "".join(self.text.split()) != "".join("".join(tokens(self.text)).split()):
            raise self._wrong()  # something in it is no token
        return found

    def _wrong(self) -> NoTerm:
        return NoTerm(f"{self.text[:120]!r} is no term")

    def _next(self) -> str:
        if not self.pending:
            raise self._wrong()
        return self.pending.pop()

    def _term(self) -> str:
        token = self._next()
        if token == "(":
            return self._application()
        if _NUMERAL.fullmatch(token):
            return "Int"
        if token in ("true", "false"):
            return "Bool"
        if token in self.symbols and not self.symbols[token].arity:
            return self.symbols[token].sort
        if token in self.defined:
            return self.defined[token]
        raise self._wrong()

    def _application(self) -> str:
        operator = self._next()
        operands: list[str] = []
        while self.pending and self.pending[-1] != ")":
            operands.append(self._term())
        self._next()
        result = self._result(operator, operands)
        if result is None:
            raise self._wrong()
        return result

    def _result(self, operator: str, operands: list[str]) -> str | None:
        count = len(operands)
        if operator in _INTEGERS:
            fewest, most, sort = _INTEGERS[operator]
            return sort if set(operands) == {"Int"} and fewest <= count <= (most or count) else None
        if operator in _CONDITIONS:
            least, upmost = _CONDITIONS[operator]
            return "Bool" if set(operands) == {"Bool"} and least <= count <= (upmost or count) else None
        if operator == "=":
            return "Bool" if count == 2 and operands[0] == operands[1] else None
        if operator == "ite":
            alike = count == 3 and operands[0] == "Bool" and operands[1] == operands[2]
            return operands[1] if alike else None
        if operator in self.symbols:
            symbol = self.symbols[operator]
            return symbol.sort if count == symbol.arity > 0 and set(operands) == {"Int"} else None
        return None
