"""The traffic of a compiled kernel: what `footprint --bytes`, pages and the tuner show."""

from __future__ import annotations

from collections.abc import Mapping

from ..backend.assembler import find_assembler, read_remarks, remarks_at
from ..backend.traffic.measured import traffic_of
from ..contract.launch import KernelUnit
from ..frontend.bytecode import decode
from ..results.traffic import AccessRemarks, Traffic, not_counted
from ..system.errors import SpecError, TileVerifyError, UsageError
from ..verifier.messages import source_site
from .unit_summary import entry_of, summary_of


def unit_traffic(unit: KernelUnit, at: Mapping[str, int], *, numbers_only: bool = False) -> Traffic:
    """What a launch with the sizes ``at`` moves; where nothing can be counted, the reason.  ``numbers_only``: without
    expressions, and without a look at what the interpreter moves.

    :raises UsageError: ``at`` is outside the contract.
    """
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
    module = decode(unit.bytecode, file=str(unit.file))
    summary = summary_of(module, unit)
    remarks = read_remarks(find_assembler().remarks(unit.bytecode, architecture))
    return tuple(AccessRemarks(source_site(site), remarks_at(remarks, site.location)) for site in summary.sites)
