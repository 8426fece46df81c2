"""The entry that a certificate speaks of, and whose reading of it the obligations are derived from."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from ...checker import read_again
from ...checker.agreement import Misread, NotFollowed
from ...contract import terms as t
from ...contract.as_terms import build_contract
from ...contract.launch import Role
from ...contract.terms import Term, TermKind
from ...frontend.bytecode import decode
from ...frontend.bytecode.model import Entry, Module
from ...frontend.sources.abi import entry_parameters, entry_types, mismatch, under_contract
from ...frontend.symbolic.summary import AccessSummary
from ...results.conditional import plain_name
from ...system.errors import TileVerifyError
from ..obligations.smtlib import Vocabulary, script
from .model import Certificate, CertificateError
from .second_solver import Opinion, SecondSolver
from .stated_accesses import reading_document


def check_entry(certificate: Certificate, file: str) -> None:
    """The entry's parameters are the contract's arguments, and what is said to be compiled in follows from it.

    Raises `CertificateError`.
    """
    launch, parameters = certificate.launch, certificate.parameters
    roles = tuple(replace(parameter, static=None) for parameter in parameters)
    fitting = [
        tuple(replace(parameter, static=None) for parameter in entry_parameters(launch, bare_pointers=bare))
        for bare in (False, True)
    ]
    values = build_contract(launch).values
    known = {variable.symbol.name: value for variable, value in values.items() if variable.kind is TermKind.VAR}
    static = all(
        known.get(f"{each.argument}.{_WORDS[each.role]}[{each.dim}]") is t.const(each.static)
        for each in parameters
        if each.static is not None and each.role is not Role.PARTITION
    )
    tiles = [each for each in entry_parameters(launch) if each.role is Role.PARTITION]
    static = static and tiles == [each for each in parameters if each.role is Role.PARTITION]
    if roles not in fitting or not static:
        raise CertificateError("the entry's parameters are not the arguments of the certificate's contract", file)


def check_name(certificate: Certificate, file: str) -> None:
    """The kernel is called by the entry's symbol, or by the function's name in it; raises `CertificateError`."""
    kernel, symbol = certificate.kernel, certificate.symbol
    if symbol not in (kernel, kernel.replace(".", "_")) and kernel != plain_name(symbol):
        raise CertificateError(f"the certificate calls the kernel '{kernel}', but the entry is '{symbol}'", file)


_WORDS: Final = defaultdict(str, {Role.SHAPE: "shape", Role.STRIDE: "strides"})


def entry_and_module(certificate: Certificate, bytecode: bytes) -> tuple[Module, Entry]:
    """The entry that the certificate speaks of; raises `TileVerifyError` where the bytecode has none that fits."""
    module = decode(bytecode)
    entry = next((entry for entry in module.entries if entry.name == certificate.symbol), None)
    if entry is None:
        raise TileVerifyError(f"the bytecode has no entry '{certificate.symbol}'")
    launch = certificate.launch
    if problem := mismatch(certificate.parameters, launch, entry_types(entry), entry.name):
        raise TileVerifyError(problem)
    return module, entry


# --------------------------------------------------------------------------------------------------------------- reread
# Whose reading of the bytecode the obligations are derived from: the checker's, where it has rules for the kernel.


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
            under_contract(entry, launch, certificate.parameters),
            certificate.parameters,
            claims,
            launch.sharing(),
            partial(excluded, solver),
            launch.empty,
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
    return summary_of(certificate, bytecode), Reread(By.PROVER, why)


def summary_of(certificate: Certificate, bytecode: bytes) -> AccessSummary:
    """The entry's access summary as the prover makes it; raises `TileVerifyError`."""
    from ...frontend.symbolic.execute import summarize  # late: `recheck --strict` runs without the executor

    module, entry = entry_and_module(certificate, bytecode)
    launch = certificate.launch
    return summarize(
        module,
        under_contract(entry, launch, certificate.parameters),
        certificate.parameters,
        may_overlap=launch.sharing(),
    )


def excluded(solver: SecondSolver, conditions: Sequence[Term]) -> bool | None:
    """Whether ``conditions`` exclude each other, by the second solver."""
    vocabulary = Vocabulary()
    written = [vocabulary.write(condition) for condition in conditions]
    text = script(vocabulary.symbols, vocabulary.definitions, written, exact=True)
    return {Opinion.CONTRADICTION: True, Opinion.MODEL: False}.get(solver.opinion(text, part=_PARTS))


_PARTS: Final = 10
"""Such a question may take one of so many parts of the limit: where it stays open, the executor reads."""
