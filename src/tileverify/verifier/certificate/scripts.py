"""The scripts that a certificate stands for: each asserts what cannot hold together, and any solver can read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...results.codes import Tier
from ..obligations.bit_vectors import bit_question
from ..obligations.smtlib import SCHEMAS, TOKEN, Vocabulary, number, script, script_of_any
from .model import Certificate, CertifiedLemma


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
