"""What a certificate says, proved once more by this machine's own solver; nothing else of it is looked at."""

from __future__ import annotations

from ...contract.as_terms import build_contract
from ...system.errors import TileVerifyError, UnsupportedOperation
from ..obligations.answers import Answer, Limits
from ..obligations.clause_terms import clause_terms
from ..obligations.derivation import Underivable, derive
from ..smt import Decider
from .entry import check_entry
from .executed import summary_of
from .model import Certificate, CertificateError


def prove_again(certificate: Certificate, bytecode: bytes, file: str) -> None:
    """Prove that every launch of the certificate's contract under its clauses keeps every obligation of the bytecode.

    Raises `CertificateError` where that does not succeed, or no launch satisfies the contract.
    """
    try:
        check_entry(certificate, file)
        summary = summary_of(certificate, bytecode)
        clauses = clause_terms(certificate.requires, summary, certificate.launch)
        derivation = derive(
            summary, build_contract(certificate.launch), clauses, lambda facts: Decider(facts, Limits(), explain=True)
        )
    except Underivable as error:
        code = error.obligation.code
        raise CertificateError(f"the kernel is not proved under the contract ({code})", file) from None
    except UnsupportedOperation as error:
        raise CertificateError(f"the kernel has an operation without a rule: {error}", file) from None
    except CertificateError:
        raise
    except TileVerifyError as error:
        raise CertificateError(f"the kernel could not be proved again: {error.message}", file) from None
    if Decider(derivation.facts, Limits()).decide(()).answer is Answer.UNSATISFIABLE:
        raise CertificateError("no launch satisfies the contract", file)
