"""The report for programs: ``tileverify/report/1``.  Its schema ships with the reports; keys are only ever added."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Final, Literal

from . import Finding, KernelResult, Report, Times, Verdict
from .documents import SCHEMA, Json, from_json, to_json
from .json_fields import OMITTED

_SHIPPED: Final = f"{__package__.rpartition('.')[0]}.reports"
"""Where the schema lies."""


@dataclass(frozen=True, slots=True)
class ReportedTool:
    version: str
    solver: str
    trusted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReportSummary:
    """Launches by their verdict, whatever is suppressed."""

    proved: int
    refuted: int
    undecided: int
    error: int
    conditional: int = 0


@dataclass(frozen=True, slots=True)
class ReportDocument:
    """A `Report` and what follows from its results: their number by verdict, and all that they rest on."""

    schema: Literal["tileverify/report/1"]
    tool: ReportedTool
    results: tuple[KernelResult, ...]
    summary: ReportSummary | None = field(default=None, metadata=OMITTED)
    findings: tuple[Finding, ...] = field(default=(), metadata=OMITTED)


def json_report(report: Report) -> str:
    """The report as one JSON document in plain ASCII, ending with a newline."""
    count = Counter(result.verdict for result in report.results)
    summary = ReportSummary(
        count[Verdict.PROVED],
        count[Verdict.REFUTED],
        count[Verdict.UNDECIDED],
        count[Verdict.ERROR],
        report.conditional,
    )
    tool = ReportedTool(report.tool_version, report.solver, report.rests_on)
    document = ReportDocument(SCHEMA, tool, tuple(map(_in_microseconds, report.results)), summary, report.findings)
    return json.dumps(to_json(document), indent=2, allow_nan=False) + "\n"


def schema_text() -> str:
    """The JSON Schema (2020-12) of `json_report`."""
    return resources.files(_SHIPPED).joinpath("schema", "report-1.json").read_text(encoding="utf-8")


def result_to_json(result: KernelResult) -> Json:
    """One element of ``results``."""
    return to_json(_in_microseconds(result))


def report_from_json(document: Mapping[str, object]) -> Report:
    """The inverse of `json_report`, but for the rounding of times.  Raises KeyError or ValueError."""
    read = from_json(document, ReportDocument)
    return Report(read.results, read.tool.version, read.tool.solver, read.tool.trusted, read.findings)


def result_from_json(document: Mapping[str, object]) -> KernelResult:
    """The inverse of `result_to_json`, but for the rounding of times.  Raises KeyError or ValueError."""
    return from_json(document, KernelResult)


def _in_microseconds(result: KernelResult) -> KernelResult:
    """``result`` with its times rounded to what anybody reads of them."""
    times = result.time_ms
    shown = Times(*(round(each, 3) for each in (times.compile, times.decode, times.execute, times.prove)))
    return replace(result, time_ms=shown)
