"""Certificates as JSON: ``tileverify/certificate/1``.  The classes of `model` are its shape."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from msgspec import ValidationError, convert

from ...results.codes import THEORIES, Tier
from ...results.documents import Json, built, shape_of, to_json
from ...system.errors import TileVerifyError
from .model import Certificate, CertificateError, Malformed

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
