"""The scripts that a certificate stands for: each asserts what cannot hold together, and any solver can read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ..verifier.smtlib import script
from .lemma_texts import lemma_assertion, lemma_identities
from .model import Certificate


def question_scripts(certificate: Certificate, number: int) -> Iterator[tuple[str, str]]:
    """Name and text of the scripts of one question: one for each equality, in order, and the last for the question."""
    question = certificate.questions[number]
    given = [*certificate.facts, *question.conditions]
    for position, each in enumerate(question.equal):
        wanted = [*given, f"(not (= {each.first} {each.second}))"]
        yield f"question-{number}-equality-{position}", _script(certificate, wanted, each.lemmas, exact=False)
        given.append(f"(= {each.first} {each.second})")
    yield f"question-{number}", _script(certificate, given, question.lemmas, exact=not question.linear)


def lemma_script(certificate: Certificate, number: int) -> tuple[str, str]:
    """Name and text of the script that says a lemma's terms are not the products and quotients it takes them for."""
    identities = lemma_identities(certificate.lemmas[number])
    return f"lemma-{number}", _script(certificate, [f"(not (and true {' '.join(identities)}))"], (), exact=True)


def possibility_script(certificate: Certificate) -> str:
    """Whether any launch satisfies the contract: the one script that must not be a contradiction."""
    return _script(certificate, certificate.facts, (), exact=True)


def write_scripts(certificate: Certificate, folder: Path) -> int:
    """Write all that should be contradictions as ``.smt2`` files; how many.  Raises OSError."""
    scripts = [pair for number in range(len(certificate.questions)) for pair in question_scripts(certificate, number)]
    scripts += [lemma_script(certificate, number) for number in range(len(certificate.lemmas))]
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in scripts:
        (folder / f"{name}.smt2").write_text(f"(set-info :status unsat)\n{text}(check-sat)\n", encoding="utf-8")
    return len(scripts)


def _script(certificate: Certificate, given: Sequence[str], lemmas: Sequence[int], *, exact: bool) -> str:
    stated = [lemma_assertion(certificate.lemmas[number]) for number in lemmas]
    return script(certificate.symbols, certificate.definitions, [*given, *stated], exact=exact)
