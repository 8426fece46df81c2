"""The code that the assembler makes of what was proved, held against the bytecode."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..backend.assembler import Assembled, Assembler, AssemblyError, find_assembler
from ..backend.compiled.cubin_look import Looked, ProvedEntry, looked
from ..results import Finding, Hint, KernelResult, SourceSite
from ..results.codes import TV
from ..results.compared_code import ComparedCode
from .code_footprints.code_proof import code_proof
from .repair.catalogue import ADVICE

if TYPE_CHECKING:
    from ..contract.launch import KernelUnit


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
