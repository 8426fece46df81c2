"""What a certificate holds.

It says: every launch of ``launch`` under the clauses ``requires`` keeps every one of ``obligations``, of the entry
``symbol`` of the bytecode with the hash ``bytecode_sha256``.  ``questions`` are the proofs, each a set of conditions
that cannot hold together with ``facts``.  Texts are SMT-LIB terms over ``symbols`` and ``definitions``.  ``reading``:
the accesses, promises and loops that the obligations are about, which the checker holds against the bytecode.
``compared_code``: what was seen of code that an assembler made of the bytecode, which is no part of the proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...contract.launch import EntryParameter, LaunchSpec
from ...frontend.symbolic.summary import AccessSummary
from ...results.compared_code import ComparedCode
from ...results.tiers import Tier
from ...system.errors import TileVerifyError
from ..obligations.smtlib import Declaration


class CertificateError(TileVerifyError):
    """A certificate that is none, or that contradicts itself or what it speaks of: it proves nothing."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class CertifiedLemma:
    """An instance of a schema of `lemma_schemas`; integers are its numbers, texts its terms."""

    schema: str
    args: tuple[str | int, ...]


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
    needs: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """``conditions`` that contradict the facts, by the equalities and ``lemmas`` (positions in the certificate's).

    ``tier``: the theory in which they do (`results.tiers`); only linear integers need lemmas.  ``needs``: as of an
    `Equality`, after all of them.
    """

    id: str
    conditions: tuple[str, ...]
    equal: tuple[Equality, ...]
    lemmas: tuple[int, ...]
    tier: Tier
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
    tier: Tier
    question: int
    wraps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Certificate:
    """``tool`` and ``solver``: versions that found the proof.  ``file`` and ``kernel`` are for people."""

    tool: str
    solver: str
    file: str
    kernel: str
    symbol: str
    bytecode_sha256: str
    semantic_sha256: str
    launch: LaunchSpec
    parameters: tuple[EntryParameter, ...]
    requires: tuple[str, ...]
    symbols: Mapping[str, Declaration]
    definitions: Mapping[str, str]
    facts: tuple[str, ...]
    questions: tuple[Question, ...]
    lemmas: tuple[CertifiedLemma, ...]
    places: tuple[Place, ...]
    obligations: tuple[Proved, ...]
    reading: AccessSummary | None = None
    compared_code: tuple[ComparedCode, ...] = ()
