"""The kernels of this folder, compiled for their launches and summarised."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tileverify.contract.launch import KernelUnit
from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.model import Entry, Module
from tileverify.frontend.sources.discover import discover
from tileverify.frontend.symbolic.execute import summarize
from tileverify.frontend.symbolic.summary import AccessSummary
from tileverify.pipeline.unit_summary import entry_of

KERNELS = Path(__file__).parent / "kernels"


@cache
def units(file: str) -> dict[str, KernelUnit]:
    """Every kernel of a file, by name; a failure to compile is an error here."""
    found = list(discover([str(KERNELS / file)]))
    failures = [unit for unit in found if not isinstance(unit, KernelUnit)]
    assert not failures, failures
    return {unit.kernel: unit for unit in found if isinstance(unit, KernelUnit)}


@cache
def decoded(file: str, kernel: str) -> tuple[Module, Entry, KernelUnit]:
    unit = units(file)[kernel]
    module = decode(unit.bytecode)
    return module, entry_of(module, unit), unit


@cache
def summary(kernel: str, file: str = "patterns.py") -> AccessSummary:
    module, entry, unit = decoded(file, kernel)
    return summarize(module, entry, unit.parameters, may_overlap=(*unit.launch.alias, *unit.launch.overlap))
