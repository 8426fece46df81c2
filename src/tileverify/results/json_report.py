"""The report for programs: ``tileverify/report/1``.  Its schema ships with the reports; keys are only ever added."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from importlib import resources
from typing import Final, TypeVar

from msgspec import UNSET, UnsetType

from . import (
    WARNINGS,
    Edit,
    Elements,
    Finding,
    FindingLevel,
    Hint,
    KernelResult,
    ObligationCount,
    Report,
    SeenValues,
    SideValue,
    SourceSite,
    SpecPlace,
    Suppression,
    Times,
    Verdict,
    Witness,
    WrittenArrays,
)
from .compared_code import ComparedCode
from .documents import (
    SCHEMA,
    ComparedCodeDocument,
    EditDocument,
    ElementsDocument,
    FindingDocument,
    FrameDocument,
    HintDocument,
    Json,
    ObligationsDocument,
    ReportDocument,
    ResultDocument,
    SecondReadingDocument,
    SideDocument,
    SiteDocument,
    SpecPlaceDocument,
    SummaryDocument,
    SuppressionDocument,
    TimesDocument,
    ToolDocument,
    ValuesDocument,
    VariableDocument,
    WitnessDocument,
    WrittenDocument,
    from_json,
    to_json,
)
from .second_reading import SecondReading

_SHIPPED: Final = f"{__package__.rpartition('.')[0]}.reports"
"""Where the schema lies."""

_T = TypeVar("_T")


def json_report(report: Report) -> str:
    """The report as one JSON document in plain ASCII, ending with a newline."""
    count = Counter(result.verdict for result in report.results)
    document = ReportDocument(
        schema=SCHEMA,
        tool=ToolDocument(report.tool_version, report.solver, list(report.rests_on)),
        summary=SummaryDocument(
            count[Verdict.PROVED],
            count[Verdict.REFUTED],
            count[Verdict.UNDECIDED],
            count[Verdict.ERROR],
            report.conditional,
        ),
        results=list(map(_result, report.results)),
        findings=list(map(_finding, report.findings)) or UNSET,
    )
    return json.dumps(to_json(document), indent=2, allow_nan=False) + "\n"


def schema_text() -> str:
    """The JSON Schema (2020-12) of `json_report`."""
    return resources.files(_SHIPPED).joinpath("schema", "report-1.json").read_text(encoding="utf-8")


def result_to_json(result: KernelResult) -> Json:
    """One element of ``results``."""
    return to_json(_result(result))


def report_from_json(document: Mapping[str, object]) -> Report:
    """The inverse of `json_report`, but for the rounding of times.  Raises KeyError or ValueError."""
    read = from_json(document, ReportDocument)
    return Report(
        results=tuple(map(_read_result, read.results)),
        tool_version=read.tool.version,
        solver=read.tool.solver,
        trusted=tuple(read.tool.trusted),
        findings=tuple(map(_read_finding, _given(read.findings, []))),
    )


def result_from_json(document: Mapping[str, object]) -> KernelResult:
    """The inverse of `result_to_json`, but for the rounding of times.  Raises KeyError or ValueError."""
    return _read_result(from_json(document, ResultDocument))


def _given(value: _T | UnsetType, otherwise: _T) -> _T:
    return otherwise if isinstance(value, UnsetType) else value


# --------------------------------------------------------------------------------------------- writing
def _result(result: KernelResult) -> ResultDocument:
    count, times, written = result.obligations, result.time_ms, result.written
    return ResultDocument(
        file=result.file,
        kernel=result.kernel,
        launch=result.launch,
        line=result.line,
        verdict=result.verdict,
        holds_for=result.holds_for,
        deterministic=result.deterministic,
        contract=result.contract,
        stated=list(result.stated),
        arguments=list(result.arguments) or UNSET,
        requires=list(result.requires),
        limits=list(result.limits),
        conditional=result.conditional,
        assumes=list(result.assumes),
        observed=list(result.observed),
        findings=list(map(_finding, result.findings)),
        obligations=ObligationsDocument(count.total, count.structural, count.solver),
        proved_codes=list(result.proved_codes),
        written=UNSET if written is None else WrittenDocument(list(written.whole), list(written.open)),
        second_reading=UNSET if result.second_reading is None else reading_document(result.second_reading),
        compared_code=[*map(compared_code_document, result.compared_code)] or UNSET,
        notes=list(result.notes),
        bytecode_sha256=result.bytecode_sha256,
        time_ms=TimesDocument(
            compile=round(times.compile, 3),
            decode=round(times.decode, 3),
            execute=round(times.execute, 3),
            prove=round(times.prove, 3),
        ),
        cached=result.cached,
        trusted=list(result.trusted) or UNSET,
        cut_short=result.cut_short or UNSET,
    )


def _finding(finding: Finding) -> FindingDocument:
    known = finding.suppression
    return FindingDocument(
        code=finding.code,
        level=finding.level,
        message=finding.message,
        sites=list(map(_site, finding.sites)),
        hints=list(map(_hint, finding.hints)),
        witness=UNSET if finding.witness is None else _witness(finding.witness),
        obligation=UNSET if finding.obligation is None else finding.obligation,
        fingerprint=finding.fingerprint or UNSET,
        cause=finding.cause or UNSET,
        suppression=UNSET
        if known is None
        else SuppressionDocument(known.kind, known.reason, known.until, known.file, known.line),
    )


def _site(site: SourceSite) -> SiteDocument:
    return SiteDocument(
        file=site.file,
        line=site.line,
        column=site.column,
        access=site.access,
        array=site.array,
        function=site.function,
        call_chain=[FrameDocument(file, line, column) for file, line, column in site.call_chain],
        expression=site.expression,
    )


def _hint(hint: Hint) -> HintDocument:
    edits = [EditDocument(edit.line, edit.column, edit.end_line, edit.end_column, edit.text) for edit in hint.edits]
    place = UNSET if hint.spec is None else SpecPlaceDocument(hint.spec.file, hint.spec.line)
    requires, digest = list(hint.requires) or UNSET, hint.source_sha256 or UNSET
    return HintDocument(hint.id, hint.applicability, hint.text, edits or UNSET, digest, requires, place)


def _witness(witness: Witness) -> WitnessDocument:
    elements, values = witness.elements, witness.values
    return WitnessDocument(
        sizes=dict(witness.sizes),
        grid=witness.grid,
        block_a=witness.block_a,
        block_b=witness.block_b,
        element=witness.element,
        scalars=dict(witness.scalars),
        strides=dict(witness.strides),
        data={name: list(contents) for name, contents in witness.data.items()},
        variables=[VariableDocument(name, first, second) for name, first, second in witness.variables],
        confirmed_by=witness.confirmed_by,
        launch=UNSET if witness.launch is None else dict(witness.launch),
        elements=UNSET if elements is None else ElementsDocument(elements.array, list(elements.ranges), elements.count),
        values=UNSET if values is None else _values(values),
    )


def _values(values: SeenValues) -> ValuesDocument:
    sides = [SideDocument(side.side, side.access, side.value, side.after) for side in values.sides]
    return ValuesDocument(values.element, sides, values.equal, values.counting)


# --------------------------------------------------------------------------------------------- reading
def _read_result(document: ResultDocument) -> KernelResult:
    count, times = document.obligations, document.time_ms
    return KernelResult(
        file=document.file,
        kernel=document.kernel,
        launch=document.launch,
        verdict=document.verdict,
        holds_for=document.holds_for,
        deterministic=document.deterministic,
        contract=document.contract if isinstance(document.contract, str) else "written",
        requires=tuple(document.requires),
        limits=tuple(document.limits),
        conditional=document.conditional,
        assumes=tuple(document.assumes),
        observed=tuple(document.observed),
        findings=tuple(map(_read_finding, document.findings)),
        obligations=ObligationCount(count.total, count.structural, count.solver),
        proved_codes=tuple(document.proved_codes),
        stated=tuple(document.stated if isinstance(document.contract, str) else document.contract),
        arguments=tuple(_given(document.arguments, [])),
        bytecode_sha256=document.bytecode_sha256,
        time_ms=Times(times.compile, times.decode, times.execute, times.prove),
        notes=tuple(document.notes),
        line=document.line,
        written=_read_written(document.written),
        second_reading=_read_reading(document.second_reading),
        compared_code=tuple(map(compared_code_of, _given(document.compared_code, []))),
        cached=document.cached,
        trusted=tuple(_given(document.trusted, [])),
        cut_short=_given(document.cut_short, False),
    )


def compared_code_document(code: ComparedCode) -> ComparedCodeDocument:
    c = code
    return ComparedCodeDocument(
        c.architecture, c.assembler, c.said, c.footprints, c.launches, c.ptx_sha256, c.cubin_sha256
    )


def compared_code_of(document: ComparedCodeDocument) -> ComparedCode:
    d = document
    return ComparedCode(d.architecture, d.assembler, d.said, d.footprints, d.launches, d.ptx_sha256, d.cubin_sha256)


def _read_written(document: WrittenDocument | UnsetType) -> WrittenArrays | None:
    return None if isinstance(document, UnsetType) else WrittenArrays(tuple(document.whole), tuple(document.open))


def reading_document(reading: SecondReading) -> SecondReadingDocument:
    """What JSON says of a second reading, in reports and of certificates."""
    return SecondReadingDocument(
        asked=reading.asked,
        launches=reading.launches,
        blocks=reading.blocks,
        accesses=reading.accesses,
        waits=reading.waits,
        unclaimed=reading.unclaimed,
        not_compared=dict(reading.not_compared),
        disagreement=reading.disagreement or None,
    )


def _read_reading(document: SecondReadingDocument | UnsetType) -> SecondReading | None:
    if isinstance(document, UnsetType):
        return None
    return SecondReading(
        document.asked,
        document.launches,
        document.blocks,
        document.accesses,
        document.waits,
        document.unclaimed,
        document.not_compared,
        document.disagreement or "",
    )


def _read_finding(document: FindingDocument) -> Finding:
    return Finding(
        code=document.code,
        message=document.message,
        sites=tuple(map(_read_site, document.sites)),
        witness=None if isinstance(document.witness, UnsetType) else _read_witness(document.witness),
        hints=tuple(map(_read_hint, document.hints)),
        obligation=_given(document.obligation, None),
        fingerprint=_given(document.fingerprint, ""),
        cause=_given(document.cause, ""),
        suppression=_read_suppression(document.suppression),
        denied=document.code in WARNINGS and document.level == FindingLevel.ERROR,
    )


def _read_hint(document: HintDocument) -> Hint:
    edits = (
        Edit(edit.line, edit.column, edit.end_line, edit.end_column, edit.text) for edit in _given(document.edits, [])
    )
    digest = _given(document.source_sha256, "")
    requires = tuple(_given(document.requires, []))
    place = None if isinstance(document.spec, UnsetType) else SpecPlace(document.spec.file, document.spec.line)
    return Hint(document.id, document.applicability, document.text, tuple(edits), digest, requires, place)


def _read_suppression(document: SuppressionDocument | UnsetType) -> Suppression | None:
    if isinstance(document, UnsetType):
        return None
    return Suppression(document.kind, document.reason, document.until, document.file, document.line)


def _read_site(document: SiteDocument) -> SourceSite:
    return SourceSite(
        file=document.file,
        line=document.line,
        column=document.column,
        access=document.access,
        array=document.array,
        function=document.function,
        call_chain=tuple((frame.file, frame.line, frame.column) for frame in document.call_chain),
        expression=document.expression,
    )


def _read_witness(document: WitnessDocument) -> Witness:
    return Witness(
        sizes=document.sizes,
        grid=document.grid,
        block_a=document.block_a,
        block_b=document.block_b,
        element=document.element,
        scalars=document.scalars,
        strides=document.strides,
        data={name: tuple(contents) for name, contents in document.data.items()},
        variables=tuple((each.name, each.a, each.b) for each in document.variables),
        confirmed_by=document.confirmed_by,
        launch=_given(document.launch, None),
        elements=_read_elements(document.elements),
        values=_read_values(document.values),
    )


def _read_elements(document: ElementsDocument | UnsetType) -> Elements | None:
    if isinstance(document, UnsetType):
        return None
    return Elements(document.array, tuple(document.ranges), document.count)


def _read_values(document: ValuesDocument | UnsetType) -> SeenValues | None:
    if isinstance(document, UnsetType):
        return None
    sides = tuple(SideValue(side.side, side.access, side.value, side.after) for side in document.sides)
    return SeenValues(document.element, sides, document.counting)
