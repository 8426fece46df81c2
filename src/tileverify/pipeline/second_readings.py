"""Second readings of what was proved: in the interpreter, and in the code that the assembler makes of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ..backend.assembler import Assembled, Assembler, AssemblyError, find_assembler
from ..backend.audit.reading import second_reading
from ..backend.compiled.cubin_look import Looked, ProvedEntry, looked
from ..frontend.bytecode import decode
from ..frontend.sources.abi import under_contract
from ..results import (
    CodeAgain,
    ComparedCode,
    Finding,
    Hint,
    KernelResult,
    ObligationCount,
    SecondReading,
    SourceSite,
    Verdict,
)
from ..results.codes import TV
from ..system.version import __version__
from ..verifier.certificate.model import Certificate, FoundBy
from .error_findings import lacks_solver
from .repair.catalogue import ADVICE

if TYPE_CHECKING:
    from ..contract.launch import KernelUnit
    from ..frontend.bytecode.model import Entry, Module
    from ..frontend.symbolic.summary import AccessSummary

AUDITED: Final = 50
"""Launches that `check --audit` compares."""


def reading_of_certificate(certificate: Certificate, bytecode: bytes, count: int) -> SecondReading:
    """Compare the summary that the certificate's proofs are about with ``count`` launches of its contract.

    :raises TileVerifyError: the bytecode has no such entry.
    """
    from ..verifier.certificate.reread import summary_of  # late: `recheck --strict` runs without the executor

    summary = summary_of(certificate, bytecode)
    module = decode(bytecode, file=certificate.file)
    launch, requires = certificate.launch, certificate.requires
    entry = next(entry for entry in module.entries if entry.name == certificate.symbol)
    entry = under_contract(entry, launch, certificate.parameters)
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


# ------------------------------------------------------------------------------------------------------- comparing code
# The code that the assembler makes of what was proved, held against the bytecode.


@dataclass(frozen=True, slots=True)
class MadeCode:
    """``made`` of what is proved, what was ``seen`` of it, and both in words."""

    made: Assembled
    seen: Looked
    compared: ComparedCode


def made_code(
    proved: ProvedEntry, assembler: Assembler, architecture: str, cubin_sha256: str | None = None
) -> MadeCode:
    """``cubin_sha256``: of the cubin that is wanted, if the assembler makes it.  Raises `AssemblyError` for bytecode
    that the assembler does not take, and for nothing that it makes of it."""
    from .code_footprints.code_proof import code_proof  # which loads the solver

    if cubin_sha256 is None:
        made = assembler.assembled(proved.bytecode, architecture)
    else:
        made = assembler.assembled_as(proved.bytecode, architecture, cubin_sha256)
    seen = looked(proved, made, architecture)
    footprints = "" if seen.differences else str(code_proof(proved, made))
    launches = 0 if seen.differences else seen.launches
    cubin = hashlib.sha256(made.cubin).hexdigest()
    words = ComparedCode(architecture, assembler.version, str(seen), footprints, launches, seen.ptx_sha256, cubin)
    return MadeCode(made, seen, words)


def proved_entry(unit: KernelUnit, result: KernelResult) -> ProvedEntry:
    """What the proof speaks of, which may be more than the launch that was asked for."""
    launch = result.proved_launch or unit.launch
    return ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, launch, result.clauses)


def with_compared_code(unit: KernelUnit, result: KernelResult, architectures: Sequence[str]) -> KernelResult:
    """A proof with what was seen for each of ``architectures``, and a warning (TV503) where the code does other than
    the bytecode: the proof is of the bytecode, and stays.

    :raises UsageError: there is no assembler here.
    """
    assembler = find_assembler()
    proved = proved_entry(unit, result)
    compared, findings = list[ComparedCode](), list[Finding]()
    for architecture in architectures:
        try:
            found = made_code(proved, assembler, architecture)
        except AssemblyError as error:
            compared.append(ComparedCode(architecture, assembler.version, f"not looked at ({error.message})"))
            continue
        compared.append(found.compared)
        findings += _findings(found.seen)
    return replace(result, compared_code=tuple(compared), findings=(*result.findings, *findings))


def _findings(seen: Looked) -> Iterator[Finding]:
    """One for the first difference: the others are mostly what it leads to."""
    for difference in seen.differences[:1]:
        file, line = difference.place or (None, None)
        sites = () if file is None else (SourceSite(file, line, None, access="", array=""),)
        advice = (Hint(ADVICE, "display", difference.advice),) if difference.advice else ()
        yield Finding(TV.LAUNCH_ARTIFACT, seen.sentence, sites, hints=advice)


# ------------------------------------------------------------------------------------------------------ comparing again
# What a certificate says of compiled code, held against what the assembler makes here.
#
# No PTX is kept with a certificate.  Only the assembler ties a text to the machine code: the same version makes the
# same PTX and the same cubin of the same bytecode.  Who has it has the text, and who does not could compare a kept text
# with the bytecode, but not with what runs.
#
# What needs the prover's solver is imported where it is used: `recheck` confirms other certificates without it.


def compared_again(
    certificate: Certificate, bytecode: bytes | None, cubins: Mapping[str, bytes], *, executor: bool = True
) -> tuple[CodeAgain, ...]:
    """One for each architecture that the certificate speaks of, and for each of ``cubins`` that came with it.

    ``executor``: the prover's executor, by which footprints are proved, may be loaded.
    """
    stated = {each.architecture for each in certificate.compared_code}
    silent = (ComparedCode(name, "", "") for name in cubins if name not in stated)
    return (
        *(
            _again(certificate, bytecode, each, cubins.get(each.architecture), executor)
            for each in certificate.compared_code
        ),
        *(CodeAgain(each, why_not="the certificate says nothing of this cubin") for each in silent),
    )


def _again(
    certificate: Certificate, bytecode: bytes | None, stated: ComparedCode, cubin: bytes | None, executor: bool
) -> CodeAgain:  # fmt: skip
    if cubin is not None and hashlib.sha256(cubin).hexdigest() != stated.cubin_sha256:
        return CodeAgain(stated, contradicted="the cubin is not the one that was compared")
    if not stated.cubin_sha256:
        return CodeAgain(stated, why_not="there was no cubin")
    if bytecode is None:
        return CodeAgain(stated, why_not="the bytecode is not at hand")
    if not executor:
        return CodeAgain(stated, why_not="it takes the prover's executor")
    try:
        assembler = find_assembler()
        if assembler.version != stated.assembler:
            raise AssemblyError(f"tileiras {stated.assembler} made the cubin, and {assembler.version} is here")
        return _held(certificate, bytecode, stated, assembler)
    except AssemblyError as error:
        return CodeAgain(stated, why_not=error.message)
    except ModuleNotFoundError as error:
        if not lacks_solver(error):
            raise
        return CodeAgain(stated, why_not="the solver that proves its footprints is not here")


def _held(certificate: Certificate, bytecode: bytes, stated: ComparedCode, assembler: Assembler) -> CodeAgain:
    from ..verifier.smt import solver_version

    c = certificate
    proved = ProvedEntry(bytecode, c.symbol, c.parameters, c.launch, c.requires)
    found = made_code(proved, assembler, stated.architecture, stated.cubin_sha256)
    here, made = found.compared, f"what tileiras {assembler.version} makes of the bytecode"
    if here.cubin_sha256 != stated.cubin_sha256:
        return CodeAgain(stated, contradicted=f"its cubin is not {made}")
    if stated.ptx_sha256 and not here.ptx_sha256:
        return CodeAgain(stated, why_not="the PTX cannot be seen here")
    if here.ptx_sha256 != stated.ptx_sha256:
        return CodeAgain(stated, contradicted=f"its PTX is not {made}")
    if here == stated:
        return CodeAgain(stated, confirmed=True)
    other_tool = c.tool != FoundBy(__version__, solver_version())
    if other_tool and not found.seen.differences:
        return CodeAgain(stated, why_not=f"tileverify {__version__} finds: {here.outcome}")
    return CodeAgain(stated, contradicted=f"compared again, it is: {here.outcome}")
