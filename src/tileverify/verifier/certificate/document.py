"""Certificates as JSON: ``tileverify/certificate/1``.

The classes at the top are its shape, with keys in the order in which they are written.  A list stands for what has few
parts and occurs often; it has as many items as its class has fields.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import UNSET, Struct, UnsetType, ValidationError, convert, field, to_builtins

from ...contract.launch import EntryParameter, Role
from ...frontend.symbolic.summary import AccessSummary
from ...results.compared_code import ComparedCode
from ...results.documents import Json
from ...results.tiers import THEORIES, Tier
from ...system.errors import TileVerifyError
from ..obligations.lemma_schemas import SCHEMAS
from ..obligations.smtlib import Declaration, SortName
from .launches import launch_from_json, launch_to_json
from .model import Certificate, CertificateError, CertifiedLemma, Equality, Place, Proved, Question
from .stated_accesses import ReadingDocument, reading_document, reading_of

SCHEMA: Final = "tileverify/certificate/1"


class _Tool(Struct, frozen=True):
    version: str
    solver: str


class _Parameter(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    role: Role
    argument: str
    dim: int | None
    static: int | None


class _Place(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    access: str
    number: int | None
    array: str
    at: str


class _Proved(Struct, frozen=True):
    code: str
    level: str
    detail: str
    places: tuple[int, ...]
    tier: Tier = field(name="rung")
    question: int
    wraps: tuple[int, ...]


class _Declaration(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    sort: SortName
    scope: str
    arity: int
    low: int | None
    high: int | None


class _Equality(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    twin: int
    first: str
    second: str
    lemmas: tuple[int, ...]
    needs: tuple[int, ...] | None = None


class _Question(Struct, frozen=True):
    id: str
    conditions: tuple[str, ...]
    equal: tuple[_Equality, ...]
    lemmas: tuple[int, ...]
    tier: Tier = field(name="rung")
    needs: tuple[int, ...] | None = None


class _Document(Struct, frozen=True):
    """``launch`` is read by `launches`; of ``lemmas``, the schema says what follows it."""

    schema: Literal["tileverify/certificate/1"]
    tool: _Tool
    file: str
    kernel: str
    symbol: str
    bytecode_sha256: str
    semantic_sha256: str
    launch: Json
    parameters: tuple[_Parameter, ...]
    requires: tuple[str, ...]
    places: tuple[_Place, ...]
    obligations: tuple[_Proved, ...]
    symbols: dict[str, _Declaration]
    definitions: dict[str, str]
    facts: tuple[str, ...]
    questions: tuple[_Question, ...]
    lemmas: list[list[str | int]]
    reading: ReadingDocument | UnsetType = UNSET
    compared_code: tuple[ComparedCode, ...] | UnsetType = UNSET


# ----------------------------------------------------------------------------------------------- writing
def certificate_to_json(certificate: Certificate) -> Json:
    """The document, with a digest over all of it."""
    c = certificate
    shaped = _Document(
        schema=SCHEMA,
        tool=_Tool(c.tool, c.solver),
        file=c.file,
        kernel=c.kernel,
        symbol=c.symbol,
        bytecode_sha256=c.bytecode_sha256,
        semantic_sha256=c.semantic_sha256,
        launch=launch_to_json(c.launch),
        parameters=tuple(_Parameter(p.role, p.argument, p.dim, p.static) for p in c.parameters),
        requires=c.requires,
        places=tuple(_Place(p.access, p.number, p.array, p.at) for p in c.places),
        obligations=tuple(map(_proved_document, c.obligations)),
        symbols={name: _declaration_document(symbol) for name, symbol in c.symbols.items()},
        definitions=dict(c.definitions),
        facts=c.facts,
        questions=tuple(map(_question_document, c.questions)),
        lemmas=[[lemma.schema, *lemma.args] for lemma in c.lemmas],
        reading=UNSET if c.reading is None else reading_document(c.reading),
        compared_code=c.compared_code or UNSET,
    )
    document: Json = to_builtins(shaped)
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


def _proved_document(proved: Proved) -> _Proved:
    return _Proved(proved.code, proved.level, proved.detail, proved.places, proved.tier, proved.question, proved.wraps)


def _declaration_document(symbol: Declaration) -> _Declaration:
    return _Declaration(symbol.sort, symbol.scope, symbol.arity, symbol.low, symbol.high)


def _question_document(question: Question) -> _Question:
    equal = tuple(_Equality(each.twin, each.first, each.second, each.lemmas, each.needs) for each in question.equal)
    return _Question(question.id, question.conditions, equal, question.lemmas, question.tier, question.needs)


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
        return _certificate(convert(document, _Document))
    except (ValidationError, _Malformed) as error:
        raise CertificateError(f"the certificate is malformed: {error}", file) from None
    except TileVerifyError as error:
        raise CertificateError(f"the certificate's launch contract cannot be read: {error.message}", file) from None


class _Malformed(Exception):
    """Names the part that is not what it should be."""


def _certificate(d: _Document) -> Certificate:
    certificate = Certificate(
        tool=d.tool.version,
        solver=d.tool.solver,
        file=d.file,
        kernel=d.kernel,
        symbol=d.symbol,
        bytecode_sha256=d.bytecode_sha256,
        semantic_sha256=d.semantic_sha256,
        launch=launch_from_json(d.launch),
        parameters=tuple(EntryParameter(p.role, p.argument, p.dim, p.static) for p in d.parameters),
        requires=d.requires,
        symbols={name: Declaration(s.sort, s.scope, s.arity, s.low, s.high) for name, s in d.symbols.items()},
        definitions=d.definitions,
        facts=d.facts,
        questions=tuple(map(_question, d.questions)),
        lemmas=tuple(map(_lemma, d.lemmas)),
        places=tuple(Place(p.access, p.number, p.array, p.at) for p in d.places),
        obligations=tuple(map(_proved, d.obligations)),
        reading=None if d.reading is UNSET else _reading(d.reading, d.symbol),
        compared_code=() if isinstance(d.compared_code, UnsetType) else d.compared_code,
    )
    _check_positions(certificate)
    return certificate


def _reading(d: ReadingDocument, entry: str) -> AccessSummary:
    try:
        return reading_of(d, entry)
    except (ValueError, TypeError, AssertionError, AttributeError, KeyError, IndexError) as error:
        raise _Malformed(f"what it says of the accesses is none: {error}") from None


def _question(d: _Question) -> Question:
    equal = tuple(Equality(each.twin, each.first, each.second, each.lemmas, each.needs) for each in d.equal)
    return Question(d.id, d.conditions, equal, d.lemmas, _one_of(THEORIES, d.tier), d.needs)


def _proved(d: _Proved) -> Proved:
    tier = _one_of((Tier.STRUCTURAL, *THEORIES), d.tier)
    return Proved(d.code, d.level, d.detail, d.places, tier, d.question, d.wraps)


def _one_of(known: Sequence[Tier], tier: Tier) -> Tier:
    if tier not in known:
        raise _Malformed(f"nothing is proved by the rung '{tier}' there")
    return tier


def _lemma(stated: list[str | int]) -> CertifiedLemma:
    match stated:
        case [str(schema), *args] if schema in SCHEMAS and len(args) == len(SCHEMAS[schema].parameters):
            kinds = [int if name in SCHEMAS[schema].numbers else str for name in SCHEMAS[schema].parameters]
            if all(type(arg) is kind for arg, kind in zip(args, kinds, strict=True)):
                return CertifiedLemma(schema, tuple(args))
    raise _Malformed(f"{stated!r} is no instance of a known lemma schema")


def _check_positions(certificate: Certificate) -> None:
    def within(numbers: Sequence[int], table: Sequence[object], what: str) -> None:
        if any(not 0 <= number < len(table) for number in numbers):
            raise _Malformed(f"{what} that is not there is referred to")

    for proved in certificate.obligations:
        within((proved.question, *proved.wraps), certificate.questions, "a question")
        within(proved.places, certificate.places, "a place")
    for question in certificate.questions:
        within(question.lemmas, certificate.lemmas, "a lemma")
        given: list[object] = [*certificate.facts, *question.conditions]
        for each in question.equal:
            within(each.lemmas, certificate.lemmas, "a lemma")
            within(each.needs or (), given, "a condition")
            given.append(each)
        within(question.needs or (), given, "a condition")
