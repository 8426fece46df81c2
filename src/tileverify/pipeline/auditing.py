"""Second readings of what was proved: right after the proof, and of certificates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..backend.audit.reading import second_reading
from ..frontend.bytecode import decode
from ..frontend.bytecode.trusting import under_trust
from ..results import Finding, KernelResult, ObligationCount, Verdict
from ..results.codes import TV
from ..results.second_reading import SecondReading
from ..verifier.certificate.executed import summary_of

if TYPE_CHECKING:
    from ..contract.launch import KernelUnit
    from ..frontend.bytecode.model import Entry, Module
    from ..frontend.symbolic.summary import AccessSummary
    from ..verifier.certificate.model import Certificate

AUDITED: Final = 50
"""Launches that `check --audit` compares."""


def reading_of_certificate(certificate: Certificate, bytecode: bytes, count: int) -> SecondReading:
    """Compare the summary that the certificate's proofs are about with ``count`` launches of its contract.

    :raises TileVerifyError: the bytecode has no such entry.
    """
    summary = summary_of(certificate, bytecode)
    module = decode(bytecode, file=certificate.file)
    launch, requires = certificate.launch, certificate.requires
    entry = next(entry for entry in module.entries if entry.name == certificate.symbol)
    entry = under_trust(entry, launch.trust)
    return second_reading(module, entry, certificate.parameters, summary, launch, requires, count)


def audited(
    module: Module, entry: Entry, unit: KernelUnit, summary: AccessSummary, result: KernelResult, count: int = AUDITED
) -> KernelResult:
    """A proof with its second reading; where that disagrees, an error in place of the proof."""
    assert result.proved_launch is not None
    reading = second_reading(module, entry, unit.parameters, summary, result.proved_launch, result.clauses, count)
    if reading.agrees:
        return replace(result, second_reading=reading)
    return replace(
        result,
        verdict=Verdict.ERROR,
        holds_for=None,
        deterministic=None,
        requires=(),
        assumes=(),
        observed=(),
        obligations=ObligationCount(),
        proved_codes=(),
        proved_launch=None,
        findings=(_withdrawn(reading),),
        second_reading=reading,
    )


def _withdrawn(reading: SecondReading) -> Finding:
    return Finding(
        TV.TOOL_FAILURE,
        f"a proof was found, but a second reading contradicts it, so it is withdrawn: {reading.disagreement};"
        " please report this with the bytecode",
    )
