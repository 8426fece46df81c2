"""Whose reading of the bytecode the obligations are derived from: the checker's, where it has rules for the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from ...checker.checked_values import Misread, NotFollowed
from ...checker.read_again import read_again
from ...contract.terms import Term
from ...frontend.bytecode.trusting import under_trust
from ...frontend.symbolic.summary import AccessSummary
from ..obligations.smtlib import Vocabulary, script
from .entry import entry_and_module, summary_of
from .model import Certificate, CertificateError
from .second_solver import Opinion, SecondSolver
from .stated_accesses import reading_document

SHARED: Final = (
    "reading the file (frontend.bytecode), terms and their one form (contract.terms), the contract's terms, what is"
    " the same in all blocks (contract.terms.launch_wide), obligations, protocols and data facts"
    " (verifier.obligations), and their text for the second solver (verifier.obligations.smtlib)"
)
"""What the checker and the prover have in common, in words."""


@dataclass(frozen=True, slots=True)
class Reread:
    """Who read the bytecode: the checker, with ``asked`` questions for the second solver, or the prover's executor, and
    ``why``."""

    own: bool
    why: str = ""
    asked: int = 0


def summary_read_again(
    certificate: Certificate, bytecode: bytes, file: str, solver: SecondSolver
) -> tuple[AccessSummary, Reread]:
    """The certificate's own summary, if the checker finds that the bytecode does just that; else the executor's.

    Raises `CertificateError` where what the certificate says is not what the bytecode does.
    """
    claims = certificate.reading
    if claims is None:
        why = "the certificate does not say what the accesses are"
        return summary_of(certificate, bytecode), Reread(own=False, why=why)
    module, entry = entry_and_module(certificate, bytecode)
    launch = certificate.launch
    try:
        found = read_again(
            module,
            under_trust(entry, launch.trust),
            certificate.parameters,
            claims,
            launch.sharing(),
            partial(excluded, solver),
        )
    except Misread as error:
        raise CertificateError(f"the bytecode does not do what the certificate says: {error.message}", file) from None
    except (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        # Claims are made by somebody else: what no step can read is none.
        raise CertificateError("what the certificate says of the accesses makes no sense", file) from error
    except NotFollowed as error:
        summary = summary_of(certificate, bytecode)
        if reading_document(summary) != reading_document(claims):
            raise CertificateError("the accesses of the certificate are not those of the bytecode", file) from None
        return summary, Reread(own=False, why=error.message)
    return found.summary, Reread(own=True, asked=found.asked)


def excluded(solver: SecondSolver, conditions: Sequence[Term]) -> bool | None:
    """Whether ``conditions`` exclude each other, by the second solver."""
    vocabulary = Vocabulary()
    written = [vocabulary.write(condition) for condition in conditions]
    text = script(vocabulary.symbols, vocabulary.definitions, written, exact=True)
    return {Opinion.CONTRADICTION: True, Opinion.MODEL: False}.get(solver.opinion(text, part=_PARTS))


_PARTS: Final = 10
"""Such a question may take one of so many parts of the limit: where it stays open, the executor reads."""
