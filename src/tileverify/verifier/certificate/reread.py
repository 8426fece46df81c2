"""Whose reading of the bytecode the obligations are derived from: the checker's, where it has rules for the kernel."""

from __future__ import annotations

import enum
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
from .entry import entry_and_module
from .model import Certificate, CertificateError
from .second_solver import Opinion, SecondSolver
from .stated_accesses import reading_document

SHARED: Final = (
    "reading the file (frontend.bytecode), terms and their one form (contract.terms), the contract's terms, what is"
    " the same in all blocks (contract.terms.launch_wide), obligations, protocols and data facts"
    " (verifier.obligations), and their text for the second solver (verifier.obligations.smtlib)"
)
"""What the checker and the prover have in common, in words."""


class By(enum.Enum):
    CHECKER = "checker"
    PROVER = "prover"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Reread:
    """Who read the bytecode: the checker, with ``asked`` questions for the second solver; or why not."""

    by: By
    why: str = ""
    asked: int = 0


def summary_read_again(
    certificate: Certificate, bytecode: bytes, file: str, solver: SecondSolver, *, executor: bool
) -> tuple[AccessSummary | None, Reread]:
    """The certificate's own summary, if the checker finds that the bytecode does just that.

    What the checker does not follow, the prover's ``executor`` reads, where it is admitted.
    Raises `CertificateError` where what the certificate says is not what the bytecode does.
    """
    claims = certificate.reading
    if claims is None:
        why = "the certificate does not say what the accesses are"
        return _by_executor(certificate, bytecode, why) if executor else (None, Reread(By.NOBODY, why))
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
        if not executor:
            return None, Reread(By.NOBODY, error.message)
        summary, reread = _by_executor(certificate, bytecode, error.message)
        if reading_document(summary) != reading_document(claims):
            raise CertificateError("the accesses of the certificate are not those of the bytecode", file) from None
        return summary, reread
    return found.summary, Reread(By.CHECKER, asked=found.asked)


def _by_executor(certificate: Certificate, bytecode: bytes, why: str) -> tuple[AccessSummary, Reread]:
    from .executed import summary_of  # late: `recheck --strict` runs without the executor

    return summary_of(certificate, bytecode), Reread(By.PROVER, why)


def excluded(solver: SecondSolver, conditions: Sequence[Term]) -> bool | None:
    """Whether ``conditions`` exclude each other, by the second solver."""
    vocabulary = Vocabulary()
    written = [vocabulary.write(condition) for condition in conditions]
    text = script(vocabulary.symbols, vocabulary.definitions, written, exact=True)
    return {Opinion.CONTRADICTION: True, Opinion.MODEL: False}.get(solver.opinion(text, part=_PARTS))


_PARTS: Final = 10
"""Such a question may take one of so many parts of the limit: where it stays open, the executor reads."""
