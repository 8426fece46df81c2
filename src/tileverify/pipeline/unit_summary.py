"""What is read of a unit before anything is proved: entry, access summary, solver; and the traffic of a launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..contract.launch import KernelUnit
from ..results.details import AccessRemarks, Traffic, not_counted
from ..system.errors import SourceError, SpecError, TileVerifyError, UsageError
from .error_findings import NO_SOLVER, lacks_solver
from .options import CheckOptions as CheckOptions

if TYPE_CHECKING:
    from ..frontend.bytecode.model import Entry, Module
    from ..frontend.symbolic.summary import AccessSummary


def summary_of(module: Module, unit: KernelUnit) -> AccessSummary:
    """The access summary of the unit's entry.

    Raises `UnsupportedOperation` for an op without a rule, `SpecError` for a launch that passes its arguments in other
    widths than the bytecode takes them.
    """
    from ..contract.spec_text import mistake_in
    from ..frontend.sources.abi import entry_types, mismatch
    from ..frontend.symbolic.execute import summarize

    entry = entry_of(module, unit)
    # What nobody described has no parameters: its own words are all that is known of it.
    problem = mismatch(unit.parameters, unit.launch, entry_types(entry), unit.symbol) if unit.parameters else None
    if problem is not None:
        raise mistake_in(unit.launch, f"args: {problem}")
    try:
        return summarize(module, entry, unit.parameters, may_overlap=unit.launch.sharing())
    except SpecError as error:
        raise mistake_in(unit.launch, error.message) from None


# ----------------------------------------------------------------------------------------------- helpers
def entry_of(module: Module, unit: KernelUnit) -> Entry:
    """The entry that ``unit`` speaks of, under what its launch trusts.

    Raises `SourceError` if the module has none of that name.
    """
    from ..frontend.sources.abi import under_contract

    for entry in module.entries:
        if entry.name == unit.symbol:
            return under_contract(entry, unit.launch, unit.parameters)
    raise SourceError(f"the bytecode has no entry '{unit.symbol}'", str(unit.file))


def keep_spare_solver() -> None:
    """For processes that are forked from this one: the first solver of each is there already."""
    from ..verifier.smt.tier_solver import keep_spare_context

    keep_spare_context()


def solver_version() -> str:
    """Name and version as its package says, without loading it; a solver without a package is asked itself."""
    from importlib import metadata

    try:
        return f"z3 {metadata.version('z3-solver')}"
    except metadata.PackageNotFoundError:
        try:
            from ..verifier.smt import solver_version as loaded_version
        except ModuleNotFoundError as error:
            raise (UsageError(NO_SOLVER) if lacks_solver(error) else error) from None
        return loaded_version()


# --------------------------------------------------------------------------------------------------------- unit traffic
# The traffic of a compiled kernel: what `footprint --bytes`, pages and the tuner show.


def unit_traffic(unit: KernelUnit, at: Mapping[str, int], *, numbers_only: bool = False) -> Traffic:
    """What a launch with the sizes ``at`` moves; where nothing can be counted, the reason.  ``numbers_only``: without
    expressions, and without a look at what the interpreter moves.

    :raises UsageError: ``at`` is outside the contract.
    """
    from ..backend.traffic.measured import traffic_of
    from ..frontend.bytecode import decode

    module = decode(unit.bytecode, file=str(unit.file))
    try:
        summary = summary_of(module, unit)
    except (SpecError, UsageError):
        raise
    except TileVerifyError as error:
        return not_counted(error.message)
    return traffic_of(
        module, entry_of(module, unit), unit.parameters, unit.launch, summary, at, numbers_only=numbers_only
    )


def access_remarks(unit: KernelUnit, architecture: str) -> tuple[AccessRemarks, ...]:
    """What the assembler says of each access.

    :raises AssemblyError: there is no assembler, or it does not take the bytecode.
    """
    from ..backend.assembler import find_assembler, read_remarks, remarks_at
    from ..frontend.bytecode import decode
    from ..verifier.messages import source_site

    module = decode(unit.bytecode, file=str(unit.file))
    summary = summary_of(module, unit)
    remarks = read_remarks(find_assembler().remarks(unit.bytecode, architecture))
    return tuple(AccessRemarks(source_site(site), remarks_at(remarks, site.location)) for site in summary.sites)
