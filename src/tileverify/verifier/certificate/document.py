"""Certificates as JSON: ``tileverify/certificate/1``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

from ...contract.launch import EntryParameter, Role
from ...errors import TileVerifyError
from ...results.tiers import THEORIES, Tier
from ..rules.lemma_schemas import SCHEMAS
from ..rules.smtlib import Declaration
from .launches import launch_from_json, launch_to_json
from .model import (
    Certificate,
    CertificateError,
    Equality,
    Lemma,
    Place,
    Proved,
    Question,
)

SCHEMA: Final = "tileverify/certificate/1"

Json: TypeAlias = dict[str, Any]


# ----------------------------------------------------------------------------------------------- writing
def certificate_to_json(certificate: Certificate) -> Json:
    """The document, with a digest over all of it."""
    c = certificate
    document: Json = {
        "schema": SCHEMA,
        "tool": {"version": c.tool, "solver": c.solver},
        "file": c.file,
        "kernel": c.kernel,
        "symbol": c.symbol,
        "bytecode_sha256": c.bytecode_sha256,
        "semantic_sha256": c.semantic_sha256,
        "launch": launch_to_json(c.launch),
        "parameters": [[p.role.value, p.argument, p.dim, p.static] for p in c.parameters],
        "requires": list(c.requires),
        "places": [[p.access, p.number, p.array, p.at] for p in c.places],
        "obligations": [_proved_to_json(each) for each in c.obligations],
        "symbols": {name: _declaration_to_json(symbol) for name, symbol in c.symbols.items()},
        "definitions": dict(c.definitions),
        "facts": list(c.facts),
        "questions": [_question_to_json(each) for each in c.questions],
        "lemmas": [[lemma.schema, *lemma.args] for lemma in c.lemmas],
    }
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


_LONG: Final = ("places", "obligations", "symbols", "definitions", "facts", "questions", "lemmas", "parameters")


def digest_of(document: Mapping[str, Any]) -> str:
    """SHA-256 over everything but the digest itself: shows damage; against intent only a second derivation helps."""
    rest = {key: value for key, value in document.items() if key != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _proved_to_json(proved: Proved) -> Json:
    told = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(proved).items()}
    return {"rung" if key == "tier" else key: value for key, value in told.items()}


def _declaration_to_json(symbol: Declaration) -> list[Any]:
    return [symbol.sort, symbol.scope, symbol.arity, symbol.low, symbol.high]


def _question_to_json(question: Question) -> Json:
    return {
        "id": question.id,
        "conditions": list(question.conditions),
        "equal": [[each.twin, each.first, each.second, list(each.lemmas)] for each in question.equal],
        "lemmas": list(question.lemmas),
        "rung": question.tier,
    }


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
        return _certificate(_Reader(document, "certificate"))
    except _Malformed as error:
        raise CertificateError(f"the certificate is malformed: {error}", file) from None
    except TileVerifyError as error:
        raise CertificateError(f"the certificate's launch contract cannot be read: {error.message}", file) from None


class _Malformed(Exception):
    """Names the part that is not what it should be."""


@dataclass(frozen=True, slots=True)
class _Reader:
    """Typed access to a JSON object; every mistake names the path to it."""

    document: Mapping[str, Any]
    path: str

    def text(self, key: str) -> str:
        return str(_checked(self._get(key), str, f"{self.path}.{key}"))

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(_checked(each, str, f"{self.path}.{key}") for each in self.items(key))

    def integers(self, key: str) -> tuple[int, ...]:
        return tuple(_integer(each, f"{self.path}.{key}") for each in self.items(key))

    def items(self, key: str) -> list[Any]:
        found: list[Any] = _checked(self._get(key), list, f"{self.path}.{key}")
        return found

    def table(self, key: str) -> dict[str, Any]:
        found: dict[str, Any] = _checked(self._get(key), dict, f"{self.path}.{key}")
        return found

    def each(self, key: str) -> list[_Reader]:
        path = f"{self.path}.{key}"
        return [_Reader(_checked(each, dict, f"{path}[{i}]"), f"{path}[{i}]") for i, each in enumerate(self.items(key))]

    def _get(self, key: str) -> Any:
        if key not in self.document:
            raise _Malformed(f"{self.path} has no {key}")
        return self.document[key]


def _checked(value: Any, kind: type, path: str) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _Malformed(f"{path} is not a {kind.__name__}")
    return value


def _integer(value: Any, path: str) -> int:
    return int(_checked(value, int, path))


def _certificate(r: _Reader) -> Certificate:
    tool = _Reader(r.table("tool"), "certificate.tool")
    certificate = Certificate(
        tool=tool.text("version"),
        solver=tool.text("solver"),
        file=r.text("file"),
        kernel=r.text("kernel"),
        symbol=r.text("symbol"),
        bytecode_sha256=r.text("bytecode_sha256"),
        semantic_sha256=r.text("semantic_sha256"),
        launch=launch_from_json(r.table("launch")),
        parameters=tuple(_parameter(each) for each in r.items("parameters")),
        requires=r.texts("requires"),
        symbols={name: _declaration(name, each) for name, each in r.table("symbols").items()},
        definitions={name: _checked(each, str, name) for name, each in r.table("definitions").items()},
        facts=r.texts("facts"),
        questions=tuple(_question(each) for each in r.each("questions")),
        lemmas=tuple(_lemma(each) for each in r.items("lemmas")),
        places=tuple(_place(each) for each in r.items("places")),
        obligations=tuple(_proved(each) for each in r.each("obligations")),
    )
    _check_positions(certificate)
    return certificate


def _parameter(value: Any) -> EntryParameter:
    match value:
        case [str(role), str(argument), int() | None as dim, int() | None as static]:
            if role in {each.value for each in Role}:
                return EntryParameter(Role(role), argument, dim, static)
    raise _Malformed(f"{value!r} is no parameter")


def _declaration(name: str, value: Any) -> Declaration:
    match value:
        case ["Int" | "Bool" as sort, str(scope), int(arity), int() | None as low, int() | None as high]:
            return Declaration(sort, scope, arity, low, high)
    raise _Malformed(f"symbols.{name} is no declaration")


def _question(r: _Reader) -> Question:
    equal = []
    for each in r.items("equal"):
        match each:
            case [int(twin), str(first), str(second), list(lemmas)]:
                numbers = tuple(_integer(number, f"{r.path}.equal") for number in lemmas)
                equal.append(Equality(twin, first, second, numbers))
            case _:
                raise _Malformed(f"{r.path}.equal holds {each!r}, which is no equality")
    return Question(r.text("id"), r.texts("conditions"), tuple(equal), r.integers("lemmas"), _tier(r, THEORIES))


def _lemma(value: Any) -> Lemma:
    match value:
        case [str(schema), *args] if schema in SCHEMAS and len(args) == len(SCHEMAS[schema].parameters):
            kinds = [int if name in SCHEMAS[schema].numbers else str for name in SCHEMAS[schema].parameters]
            if all(type(arg) is kind for arg, kind in zip(args, kinds, strict=True)):
                return Lemma(schema, tuple(args))
    raise _Malformed(f"{value!r} is no instance of a known lemma schema")


def _place(value: Any) -> Place:
    match value:
        case [str(access), int() | None as number, str(array), str(at)]:
            return Place(access, number, array, at)
    raise _Malformed(f"{value!r} is no place")


def _tier(r: _Reader, known: Sequence[Tier]) -> Tier:
    found = r.text("rung")
    if found not in known:
        raise _Malformed(f"{r.path}.rung is {found!r}")
    return Tier(found)


def _proved(r: _Reader) -> Proved:
    question = _integer(r._get("question"), f"{r.path}.question")
    return Proved(
        code=r.text("code"),
        level=r.text("level"),
        detail=r.text("detail"),
        places=r.integers("places"),
        tier=_tier(r, (Tier.STRUCTURAL, *THEORIES)),
        question=question,
        wraps=r.integers("wraps"),
    )


def _check_positions(certificate: Certificate) -> None:
    def within(numbers: Sequence[int], table: Sequence[object], what: str) -> None:
        if any(not 0 <= number < len(table) for number in numbers):
            raise _Malformed(f"{what} that is not there is referred to")

    for proved in certificate.obligations:
        within((proved.question, *proved.wraps), certificate.questions, "a question")
        within(proved.places, certificate.places, "a place")
    for question in certificate.questions:
        within(question.lemmas, certificate.lemmas, "a lemma")
        for each in question.equal:
            within(each.lemmas, certificate.lemmas, "a lemma")
