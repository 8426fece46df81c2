"""Lemma instances of certificates as SMT-LIB, from their schemas: a certificate cannot bring a lemma of its own."""

from __future__ import annotations

from ..obligations.lemma_schemas import SCHEMAS
from ..obligations.smtlib import number
from .model import CertifiedLemma


def lemma_assertion(lemma: CertifiedLemma) -> str:
    """What the lemma says."""
    return SCHEMAS[lemma.schema].stated(_texts(lemma))


def lemma_identities(lemma: CertifiedLemma) -> tuple[str, ...]:
    """What must hold of its terms, by the meaning of products and quotients, for the schema to apply."""
    return SCHEMAS[lemma.schema].identified(_texts(lemma))


def _texts(lemma: CertifiedLemma) -> list[str]:
    return [number(arg) if isinstance(arg, int) else arg for arg in lemma.args]
