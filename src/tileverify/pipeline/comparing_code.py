"""The code that the assembler makes of what was proved, held against the bytecode (`check --compiled`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..backend.assembler import AssemblyError, find_assembler
from ..backend.compiled.cubin_look import Looked, ProvedEntry, looked, with_advice
from ..results import Finding, KernelResult, SourceSite
from ..results.codes import TV
from ..results.compared_code import ComparedCode
from .code_footprints.code_proof import code_proof

if TYPE_CHECKING:
    from ..contract.launch import KernelUnit


def with_compared_code(unit: KernelUnit, result: KernelResult, architectures: Sequence[str]) -> KernelResult:
    """A proof with what was seen for each of ``architectures``, and a warning (TV503) where the code does other than
    the bytecode: the proof is of the bytecode, and stays.

    :raises UsageError: there is no assembler here.
    """
    assembler = find_assembler()
    proved = ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch, result.requires, result.limits)
    compared, findings = list[ComparedCode](), list[Finding]()
    for architecture in architectures:
        try:
            assembled = assembler.assembled(proved.bytecode, architecture)
        except AssemblyError as error:
            compared.append(ComparedCode(architecture, assembler.version, f"not looked at ({error.message})"))
            continue
        seen = looked(proved, assembled, architecture)
        footprints = "" if seen.differences else str(code_proof(proved, assembled))
        compared.append(ComparedCode(architecture, assembler.version, str(seen), footprints))
        findings += _findings(seen)
    return replace(result, compared_code=tuple(compared), findings=(*result.findings, *findings))


def _findings(seen: Looked) -> Iterator[Finding]:
    """One for the first difference: the others are mostly what it leads to."""
    for difference in seen.differences[:1]:
        file, line = difference.place or (None, None)
        sites = () if file is None else (SourceSite(file, line, None, access="", array=""),)
        message = f"what tileiras makes of it for {seen.architecture} does other than the bytecode: {difference}"
        yield Finding(TV.LAUNCH_ARTIFACT, with_advice(message, difference), sites)
