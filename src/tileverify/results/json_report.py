"""The report for programs: ``tileverify/report/1``.  Its schema ships with the reports; keys are only ever added."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from importlib import resources
from typing import Any, Final, TypeAlias

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
    Suppression,
    SuppressionKind,
    Times,
    Verdict,
    Witness,
    WrittenArrays,
)

SCHEMA: Final = "tileverify/report/1"

Json: TypeAlias = dict[str, Any]
_SHIPPED: Final = f"{__package__.rpartition('.')[0]}.reports"
"""Where the schema lies."""


def json_report(report: Report) -> str:
    """The report as one JSON document in plain ASCII, ending with a newline."""
    document: Json = {
        "schema": SCHEMA,
        "tool": {"version": report.tool_version, "solver": report.solver, "trusted": list(report.trusted)},
        "results": [result_to_json(result) for result in report.results],
    }
    if report.findings:
        document["findings"] = [_finding(finding) for finding in report.findings]
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def schema_text() -> str:
    """The JSON Schema (2020-12) of `json_report`."""
    return resources.files(_SHIPPED).joinpath("schema", "report-1.json").read_text(encoding="utf-8")


# --------------------------------------------------------------------------------------------- writing
def result_to_json(result: KernelResult) -> Json:
    """One element of ``results``."""
    count, times, written = result.obligations, result.time_ms, result.written
    return {
        "file": result.file,
        "kernel": result.kernel,
        "launch": result.launch,
        "line": result.line,
        "verdict": result.verdict.value,
        "holds_for": result.holds_for,
        "deterministic": result.deterministic,
        "contract": list(result.contract),
        "requires": list(result.requires),
        "assumes": list(result.assumes),
        "observed": list(result.observed),
        "findings": [_finding(finding) for finding in result.findings],
        "obligations": {"total": count.total, "structural": count.structural, "solver": count.solver},
        "proved_codes": list(result.proved_codes),
        **({} if written is None else {"written": {"whole": list(written.whole), "open": list(written.open)}}),
        "notes": list(result.notes),
        "bytecode_sha256": result.bytecode_sha256,
        "time_ms": {
            "compile": round(times.compile, 3),
            "decode": round(times.decode, 3),
            "execute": round(times.execute, 3),
            "prove": round(times.prove, 3),
        },
        "cached": result.cached,
    }


def _finding(finding: Finding) -> Json:
    document: Json = {
        "code": finding.code,
        "level": finding.level,
        "message": finding.message,
        "sites": [_site(site) for site in finding.sites],
        "hints": [_hint(hint) for hint in finding.hints],
    }
    if finding.witness is not None:
        document["witness"] = _witness(finding.witness)
    if finding.obligation is not None:
        document["obligation"] = finding.obligation
    if finding.fingerprint:
        document["fingerprint"] = finding.fingerprint
    if (known := finding.suppression) is not None:
        document["suppression"] = {
            "kind": known.kind.value,
            "reason": known.reason,
            "until": known.until,
            "file": known.file,
            "line": known.line,
        }
    return document


def _site(site: SourceSite) -> Json:
    return {
        "file": site.file,
        "line": site.line,
        "column": site.column,
        "access": site.access,
        "array": site.array,
        "function": site.function,
        "call_chain": [{"file": file, "line": line, "column": column} for file, line, column in site.call_chain],
        "expression": site.expression,
    }


def _witness(witness: Witness) -> Json:
    document: Json = {
        "sizes": dict(witness.sizes),
        "grid": list(witness.grid),
        "block_a": list(witness.block_a),
        "block_b": None if witness.block_b is None else list(witness.block_b),
        "element": witness.element,
        "scalars": dict(witness.scalars),
        "strides": dict(witness.strides),
        "data": {name: list(contents) for name, contents in witness.data.items()},
        "variables": [{"name": name, "a": first, "b": second} for name, first, second in witness.variables],
        "confirmed_by": witness.confirmed_by,
    }
    if witness.launch is not None:
        document["launch"] = dict(witness.launch)
    if witness.elements is not None:
        document["elements"] = {
            "array": witness.elements.array,
            "ranges": [list(axis) for axis in witness.elements.ranges],
            "count": witness.elements.count,
        }
    if witness.values is not None:
        document["values"] = _values(witness.values)
    return document


def _values(values: SeenValues) -> Json:
    return {
        "element": values.element,
        "sides": [
            {"side": side.side, "access": side.access, "value": side.value, "after": side.after}
            for side in values.sides
        ],
        "equal": values.equal,
        "counting": values.counting,
    }


# --------------------------------------------------------------------------------------------- reading
def report_from_json(document: Mapping[str, Any]) -> Report:
    """The inverse of `json_report`, but for the rounding of times.  Raises KeyError, TypeError or ValueError."""
    tool = document["tool"]
    return Report(
        results=tuple(result_from_json(result) for result in document["results"]),
        tool_version=tool["version"],
        solver=tool["solver"],
        trusted=tuple(tool["trusted"]),
        findings=tuple(_read_finding(finding) for finding in document.get("findings", ())),
    )


def result_from_json(document: Mapping[str, Any]) -> KernelResult:
    """The inverse of `result_to_json`, but for the rounding of times.  Raises KeyError, TypeError or ValueError."""
    return KernelResult(
        file=document["file"],
        kernel=document["kernel"],
        launch=document["launch"],
        verdict=Verdict(document["verdict"]),
        holds_for=document["holds_for"],
        deterministic=document["deterministic"],
        requires=tuple(document["requires"]),
        assumes=tuple(document["assumes"]),
        observed=tuple(document.get("observed", ())),
        findings=tuple(_read_finding(finding) for finding in document["findings"]),
        obligations=ObligationCount(**document["obligations"]),
        proved_codes=tuple(document["proved_codes"]),
        contract=tuple(document["contract"]),
        bytecode_sha256=document["bytecode_sha256"],
        time_ms=Times(**document["time_ms"]),
        notes=tuple(document["notes"]),
        line=document["line"],
        written=_read_written(document.get("written")),
        cached=document["cached"],
    )


def _read_written(document: Mapping[str, Any] | None) -> WrittenArrays | None:
    return None if document is None else WrittenArrays(tuple(document["whole"]), tuple(document["open"]))


def _read_finding(document: Mapping[str, Any]) -> Finding:
    witness = document.get("witness")
    return Finding(
        code=document["code"],
        message=document["message"],
        sites=tuple(_read_site(site) for site in document["sites"]),
        witness=None if witness is None else _read_witness(witness),
        hints=tuple(map(_read_hint, document["hints"])),
        obligation=document.get("obligation"),
        fingerprint=document.get("fingerprint", ""),
        suppression=_read_suppression(document.get("suppression")),
        denied=document["code"] in WARNINGS and document.get("level") == FindingLevel.ERROR,
    )


def _hint(hint: Hint) -> Json:
    told = {"id": hint.id, "applicability": hint.applicability, "text": hint.text}
    return {**told, "edits": [asdict(edit) for edit in hint.edits]} if hint.edits else told


def _read_hint(document: Mapping[str, Any]) -> Hint:
    return Hint(**{**document, "edits": tuple(Edit(**edit) for edit in document.get("edits", ()))})


def _read_suppression(document: Mapping[str, Any] | None) -> Suppression | None:
    return None if document is None else Suppression(**{**document, "kind": SuppressionKind(document["kind"])})


def _read_site(document: Mapping[str, Any]) -> SourceSite:
    chain = tuple((frame["file"], frame["line"], frame["column"]) for frame in document["call_chain"])
    return SourceSite(**{**document, "call_chain": chain})


def _read_witness(document: Mapping[str, Any]) -> Witness:
    block, elements, values = document["block_b"], document.get("elements"), document.get("values")
    return Witness(
        sizes=document["sizes"],
        grid=_triple(document["grid"]),
        block_a=_triple(document["block_a"]),
        block_b=None if block is None else _triple(block),
        element=document["element"],
        scalars=document["scalars"],
        strides=document["strides"],
        data={name: tuple(contents) for name, contents in document["data"].items()},
        variables=tuple((entry["name"], entry["a"], entry["b"]) for entry in document["variables"]),
        confirmed_by=document["confirmed_by"],
        launch=document.get("launch"),
        elements=None if elements is None else _read_elements(elements),
        values=None if values is None else _read_values(values),
    )


def _read_elements(document: Mapping[str, Any]) -> Elements:
    ranges = tuple((start, end) for start, end in document["ranges"])
    return Elements(document["array"], ranges, document["count"])


def _read_values(document: Mapping[str, Any]) -> SeenValues:
    sides = tuple(SideValue(**side) for side in document["sides"])
    return SeenValues(document["element"], sides, document["counting"])


def _triple(values: list[int]) -> tuple[int, int, int]:
    x, y, z = values
    return x, y, z
