"""What a certificate holds, and the JSON of it, ``tileverify/certificate/1``.

It says: every launch of ``launch`` under the clauses ``requires`` keeps every one of ``obligations``, of the entry
``symbol`` of the bytecode with the hash ``bytecode_sha256``.  ``questions`` are the proofs, each a set of conditions
that cannot hold together with ``facts``.  Texts are SMT-LIB terms over ``symbols`` and ``definitions``.  ``reading``:
the accesses, promises and loops that the obligations are about, which the checker holds against the bytecode.
``compared_code``: what was seen of code that an assembler made of the bytecode, which is no part of the proof.

The classes are the certificate's JSON as well, key by key in this order.  A list stands for what has few
parts and occurs often: it has as many items as its class has fields.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

from msgspec import ValidationError, convert

from ...contract.launch import EntryParameter, LaunchSpec
from ...frontend.symbolic.summary import AccessSummary
from ...results import ComparedCode
from ...results.codes import THEORIES, Tier
from ...results.json_fields import LATER, OMITTED, ROWS, coded, named
from ...results.json_report import Json, built, shape_of, to_json
from ...system.errors import TileVerifyError
from ..obligations.smtlib import SCHEMAS, Declaration
from .launches import launch_from_json, launch_to_json
from .stated_accesses import ReadingDocument, reading_document, reading_of


class CertificateError(TileVerifyError):
    """A certificate that is none, or that contradicts itself or what it speaks of: it proves nothing."""

    exit_code = 1


class Malformed(Exception):
    """Names the part of a certificate that is not what it should be."""


@dataclass(frozen=True, slots=True)
class FoundBy:
    """The versions of what found a proof."""

    version: str
    solver: str


@dataclass(frozen=True, slots=True)
class CertifiedLemma:
    """An instance of a schema of `smtlib`; integers are its numbers, texts its terms."""

    schema: str
    args: tuple[str | int, ...]


_LemmaRows: TypeAlias = list[list[str | int]]
"""Of each lemma the schema and, behind it, the arguments."""


def _lemma_rows(lemmas: tuple[CertifiedLemma, ...]) -> _LemmaRows:
    return [[lemma.schema, *lemma.args] for lemma in lemmas]


def _lemma_of(row: list[str | int]) -> CertifiedLemma:
    match row:
        case [str(schema), *args] if schema in SCHEMAS and len(args) == len(SCHEMAS[schema].parameters):
            kinds = [int if name in SCHEMAS[schema].numbers else str for name in SCHEMAS[schema].parameters]
            if all(type(arg) is kind for arg, kind in zip(args, kinds, strict=True)):
                return CertifiedLemma(schema, tuple(args))
    raise Malformed(f"{row!r} is no instance of a known lemma schema")


@dataclass(frozen=True, slots=True)
class Equality:
    """Two terms that are equal by ``lemmas`` under the question and its equalities before; ``twin`` names them.

    ``needs``: positions of what it takes among the facts, the question's conditions and the equalities before, in this
    order; ``None`` for all.
    """

    twin: int
    first: str
    second: str
    lemmas: tuple[int, ...]
    needs: tuple[int, ...] | None = field(default=None, metadata=LATER)


@dataclass(frozen=True, slots=True)
class Question:
    """``conditions`` that contradict the facts, by the equalities and ``lemmas`` (positions in the certificate's).

    ``tier``: the theory in which they do (`results.codes`); only linear integers need lemmas.  ``needs``: as of an
    `Equality`, after all of them.
    """

    id: str
    conditions: tuple[str, ...]
    equal: tuple[Equality, ...] = field(metadata=ROWS)
    lemmas: tuple[int, ...]
    tier: Tier = field(metadata=named("rung"))
    needs: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """What an obligation is about: the number of the access in program order (``None`` where it is no access to
    memory), its array, and ``at``, where it stands in the source, which is for people."""

    access: str
    number: int | None
    array: str
    at: str


@dataclass(frozen=True, slots=True)
class Proved:
    """An obligation and its proof: the question that decides it, and those that show which machine integers do not
    wrap in it and what holds of the values of its atomics (all in ``wraps``).  ``places``, ``question`` and ``wraps``
    are positions in the certificate's tables."""

    code: str
    level: str
    detail: str
    places: tuple[int, ...]
    tier: Tier = field(metadata=named("rung"))
    question: int
    wraps: tuple[int, ...]


def _reading_of(document: ReadingDocument, entry: str) -> AccessSummary:
    try:
        return reading_of(document, entry)
    except (ValueError, TypeError, AssertionError, AttributeError, KeyError, IndexError) as error:
        raise Malformed(f"what it says of the accesses is none: {error}") from None


@dataclass(frozen=True, slots=True)
class Certificate:
    """``tool``: what found the proof.  ``file`` and ``kernel`` are for people."""

    tool: FoundBy
    file: str
    kernel: str
    symbol: str
    bytecode_sha256: str
    semantic_sha256: str
    launch: LaunchSpec = field(metadata=coded(Json, launch_to_json, lambda read: launch_from_json(read.launch)))
    parameters: tuple[EntryParameter, ...] = field(metadata=ROWS)
    requires: tuple[str, ...]
    places: tuple[Place, ...] = field(metadata=ROWS)
    obligations: tuple[Proved, ...]
    symbols: Mapping[str, Declaration] = field(metadata=ROWS)
    definitions: Mapping[str, str]
    facts: tuple[str, ...]
    questions: tuple[Question, ...]
    lemmas: tuple[CertifiedLemma, ...] = field(
        metadata=coded(_LemmaRows, _lemma_rows, lambda read: tuple(map(_lemma_of, read.lemmas)))
    )
    reading: AccessSummary | None = field(
        default=None,
        metadata=OMITTED
        | coded(ReadingDocument, reading_document, lambda read: _reading_of(read.reading, read.symbol)),
    )
    compared_code: tuple[ComparedCode, ...] = field(default=(), metadata=OMITTED)


# ------------------------------------------------------------------------------------------------------------- document
# Certificates as JSON: ``tileverify/certificate/1``.  The classes of `model` are its shape.


SCHEMA: Final = "tileverify/certificate/1"


# ----------------------------------------------------------------------------------------------- writing
def certificate_to_json(certificate: Certificate) -> Json:
    """The document, with a digest over all of it."""
    document = {"schema": SCHEMA, **to_json(certificate)}
    return {**document, "digest": digest_of(document)}


def certificate_text(certificate: Certificate) -> str:
    """The document as it is written to a file: one line for each obligation, question, definition and lemma."""
    document = certificate_to_json(certificate)
    lines = []
    for key, value in document.items():
        if key in _LONG and value:
            items: list[str] = (
                [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in value.items()]
                if isinstance(value, dict)
                else [json.dumps(each) for each in value]
            )
            begin, end = "{}" if isinstance(value, dict) else "[]"
            lines.append(f"{json.dumps(key)}: {begin}\n  " + ",\n  ".join(items) + f"\n {end}")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n " + ",\n ".join(lines) + "\n}\n"


_LONG: Final = (
    "places",
    "obligations",
    "symbols",
    "definitions",
    "facts",
    "questions",
    "lemmas",
    "parameters",
    "compared_code",
)


def digest_of(document: Mapping[str, Any]) -> str:
    """SHA-256 over everything but the digest itself: shows damage; against intent only a second derivation helps."""
    rest = {key: value for key, value in document.items() if key != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


# ----------------------------------------------------------------------------------------------- reading
def read_certificate(text: str, file: str) -> Certificate:
    """The certificate in ``text``; raises `CertificateError` for anything that is none, or was changed."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise CertificateError("this is not JSON, so it is no certificate", file) from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise CertificateError(f"this is no certificate of the schema {SCHEMA}", file)
    if document.get("digest") != digest_of(document):
        raise CertificateError("the certificate was changed after it was written: its digest does not match", file)
    try:
        certificate = cast(Certificate, built(convert(document, shape_of(Certificate))))
        _check(certificate)
    except (ValidationError, Malformed) as error:
        raise CertificateError(f"the certificate is malformed: {error}", file) from None
    except TileVerifyError as error:
        raise CertificateError(f"the certificate's launch contract cannot be read: {error.message}", file) from None
    return certificate


def _check(certificate: Certificate) -> None:
    """Every tier proves such a thing, and every position is one of its table; raises `Malformed`."""

    def within(numbers: Sequence[int], table: Sequence[object], what: str) -> None:
        if any(not 0 <= number < len(table) for number in numbers):
            raise Malformed(f"{what} that is not there is referred to")

    def known(tier: Tier, *tiers: Tier) -> None:
        if tier not in tiers:
            raise Malformed(f"nothing is proved by the rung '{tier}' there")

    for proved in certificate.obligations:
        known(proved.tier, Tier.STRUCTURAL, *THEORIES)
        within((proved.question, *proved.wraps), certificate.questions, "a question")
        within(proved.places, certificate.places, "a place")
    for question in certificate.questions:
        known(question.tier, *THEORIES)
        within(question.lemmas, certificate.lemmas, "a lemma")
        given: list[object] = [*certificate.facts, *question.conditions]
        for each in question.equal:
            within(each.lemmas, certificate.lemmas, "a lemma")
            within(each.needs or (), given, "a condition")
            given.append(each)
        within(question.needs or (), given, "a condition")
