"""Everything that a page shows of one kernel beyond its result, collected while the kernel is at hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...backend.traffic.measured import traffic_of
from ...contract.launch import KernelUnit
from ...contract.terms import TRUE, render
from ...frontend.bytecode.location import user_frame
from ...frontend.bytecode.model import Entry, Module
from ...frontend.bytecode.printer import entry_lines
from ...frontend.symbolic.summary import AccessSummary, Loop, Site, ViewFootprint
from ...results import Finding, KernelResult
from ...results.details import AccessDetail, Drawing, IrLine, KernelDetails, ObligationDetail, State
from ...results.traffic import Traffic
from ...system.errors import SpecError, UsageError
from ...verifier.case import Decided
from ...verifier.messages import sites, source_site
from .drawings import fault_drawings
from .examples import example_drawings
from .wider import wider_drawings

WIDTH = 160
"""Characters of a rendered term."""


def collect(
    unit: KernelUnit,
    module: Module,
    entry: Entry,
    summary: AccessSummary,
    result: KernelResult,
    decided: Sequence[Decided],
) -> KernelDetails:
    """Files are named as the bytecode names them, in ``result`` as well."""
    faults = tuple(fault_drawings(module, entry, unit.parameters, result))
    wider = tuple(wider_drawings(module, entry, unit, result, faults))
    return KernelDetails(
        ir=ir_lines(entry),
        obligations=(*map(_open, result.findings), *map(_proved, decided)),
        accesses=tuple(_access(site, summary) for site in summary.sites),
        drawings=(*faults, *wider, *_examples(unit, module, entry, result)),
        traffic=_traffic(unit, module, entry, summary),
    )


def _traffic(unit: KernelUnit, module: Module, entry: Entry, summary: AccessSummary) -> Traffic | None:
    """The bytes that a launch moves; ``None`` for a kernel of which no launch is described."""
    try:
        return traffic_of(module, entry, unit.parameters, unit.launch, summary, {}, numbers_only=True)
    except (SpecError, UsageError):
        return None


def _examples(unit: KernelUnit, module: Module, entry: Entry, result: KernelResult) -> tuple[Drawing, ...]:
    launch = result.proved_launch
    return () if launch is None else example_drawings(module, entry, unit.parameters, launch, result.clauses)


def ir_lines(entry: Entry) -> tuple[IrLine, ...]:
    """The Tile IR of the entry, each line with the user's own source line behind it."""
    return tuple(_ir_lines(entry))


def _ir_lines(entry: Entry) -> Iterator[IrLine]:
    for line in entry_lines(entry):
        place = None if line.op is None else user_frame(line.op.location)
        yield IrLine(line.text) if place is None else IrLine(line.text, place.file, place.line)


# ------------------------------------------------------------------------------------------ obligations
def _proved(decided: Decided) -> ObligationDetail:
    obligation = decided.obligation
    return ObligationDetail(
        code=obligation.code,
        state=State.PROVED,
        sites=tuple(sites(obligation)),
        detail=obligation.detail,
        level=obligation.level,
        tier=decided.tier,
        milliseconds=round(1000 * decided.seconds, 3),
        lemmas=decided.lemmas,
    )


def _open(finding: Finding) -> ObligationDetail:
    seen = finding.witness is not None
    return ObligationDetail(
        code=finding.code if seen or finding.obligation is None else finding.obligation,
        state=State.REFUTED if seen and finding.refutes else State.UNDECIDED,
        sites=finding.sites,
        detail="",
        level="",
        tier=None,
        milliseconds=0.0,
    )


# -------------------------------------------------------------------------------------------- accesses
def _access(site: Site, summary: AccessSummary) -> AccessDetail:
    footprint = site.footprint
    if isinstance(footprint, ViewFootprint):
        element = f"[{', '.join(render(each, WIDTH) for each in footprint.coordinates)}]"
    else:
        element = f"bytes {render(footprint.offset, WIDTH)} .. +{footprint.element_bytes - 1}"
    return AccessDetail(
        site=source_site(site),
        ordering=site.ordering if site.scope is None else f"{site.ordering}, {site.scope}",
        element=element,
        guard="" if site.guard is TRUE else render(site.guard, WIDTH),
        loops=tuple(_loop(loop, summary) for loop in site.loops),
    )


def _loop(loop: Loop, summary: AccessSummary) -> str:
    name = render(loop.iteration)
    return f"{name}: {summary.names.get(name, 'its iteration')}"
