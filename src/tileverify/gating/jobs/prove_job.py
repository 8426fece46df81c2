"""In the sandbox, in a process that never ran the submission: from what the compiler's process sent to verdicts.

The bytes are read as hostile.  Of the launch, only its words are taken, and given meaning here; that the entry's
parameters have the types which the launch gives them is checked against the bytecode, and everything else that matters
is an obligation of the proof.  So a compilation that lied gives a proof about other bytecode, never a wrong one.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...contract.gather import SourceSpecs, named_launches
from ...contract.launch import KernelUnit, LaunchSpec
from ...contract.parameters import KernelParameter
from ...contract.spec import build_launch
from ...errors import SourceError, SpecError, TileVerifyError
from ...frontend.sources.abi import entry_parameters, mismatch
from ...frontend.sources.bytecode_file import bytecode_entries
from ...frontend.sources.signature import compiled_array_facts
from ...pipeline import CheckOptions, check_unit, solver_version
from ...results import Finding, KernelResult, SourceSite, Verdict
from ...results.codes import TV
from ...results.json_report import result_to_json
from ..screen.plain_values import NotPlain, harmless, name, number, parameter_from_json, text
from .compile_job import raw_of, specs_of

Send = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class Claimed:
    """One kernel under one launch as the compiler's process described it; ``error`` where it has no bytecode."""

    kernel: str
    launch: str
    line: int | None
    document: dict[str, Any]

    @property
    def error(self) -> dict[str, Any] | None:
        error = self.document.get("error")
        return error if type(error) is dict else None


def prove_submission(request: dict[str, Any], compiled: bytes, send: Send) -> None:
    """Send a line of JSON with ``reasons`` for a submission that was stopped, or ``units`` (kernel and launch of each),
    then a line with ``result`` for each, in this order.  ``request``: as `compile_job`, ``deny_requires``, ``bundles``,
    ``complete``; ``any_grid`` leaves out what the launch says of its grid.
    """
    try:
        document = json.loads(compiled)
        if type(document) is not dict:
            raise NotPlain("it is no table")
        if "reasons" in document:
            _send(send, {"reasons": [_reason(each) for each in document["reasons"][:20]]})
            return
        claims = [claimed(item) for item in document["items"]]
        specs = specs_of(request)
    except (NotPlain, KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        problem = str(error) if isinstance(error, NotPlain) else "it has another form"
        forged = {"id": "forged-result", "message": f"its process sent no result ({problem})"}
        _send(send, {"reasons": [_reason(forged)]})
        return
    except TileVerifyError as error:
        _send(send, {"reasons": [_reason({"id": "launch-spec", "message": error.message, "line": error.line})]})
        return
    missing = () if request.get("only") else tuple(_missing(specs, claims))
    _send(send, {"units": [[each.kernel, each.launch] for each in claims], "missing": list(missing)})
    for claim in claims:
        answer, bundle = _decided(claim, specs, request)
        _send(send, answer, **({"bundle": bundle} if bundle is not None else {}))


def _send(send: Send, document: dict[str, Any], **bytes_: str) -> None:
    send(json.dumps({**harmless(document), **bytes_}, allow_nan=False).encode("ascii") + b"\n")


def _reason(document: Any) -> dict[str, Any]:
    if type(document) is not dict:
        raise NotPlain("a reason is no table")
    id_ = text(document.get("id"), 40)
    if not id_.replace("-", "a").isalnum() or not id_.isascii():
        raise NotPlain("a reason has no id")
    return {
        "id": id_,
        "message": text(document.get("message"), 2000),
        "line": number(document.get("line")),
        "column": number(document.get("column")),
    }


def claimed(item: Any) -> Claimed:
    """One item of what the compiler's process sent; raises `NotPlain`."""
    if type(item) is not dict:
        raise NotPlain("a kernel is no table")
    kernel = item.get("kernel")
    launch = text(item.get("launch"), 200)
    return Claimed(name(kernel) if kernel else "", launch, number(item.get("line")), item)


def _missing(specs: SourceSpecs, claims: list[Claimed]) -> Iterator[str]:
    """Launches that a spec speaks of, and the submission does not have."""
    there = {(claim.kernel, claim.launch) for claim in claims}
    for kernel in dict.fromkeys(raw.kernel for raw in specs.launches):
        for launch, _, _ in named_launches([raw for raw in specs.launches if raw.kernel == kernel]):
            if (kernel, launch) not in there:
                yield f"{kernel} [{launch}]"


# ------------------------------------------------------------------------------------------------- verdicts
def _decided(claim: Claimed, specs: SourceSpecs, request: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """The line of one kernel, and the bundle of a proved one in base64 where it was asked for."""
    file = request["file"]
    try:
        if claim.error is not None:
            return {"result": result_to_json(_failed(claim, file))}, None
        unit = unit_of(claim, specs, file)
    except (NotPlain, KeyError, TypeError, ValueError, RecursionError):
        result = _error(claim, file, TV.BYTECODE_ERROR, "its process sent no kernel")
        return {"result": result_to_json(result), "forged": True}, None
    except TileVerifyError as error:
        code = TV.SPEC_ERROR if isinstance(error, SpecError) else TV.BYTECODE_ERROR
        return {"result": result_to_json(_error(claim, file, code, error.message))}, None
    if request.get("any_grid"):
        unit = replace(unit, launch=replace(unit.launch, grid=None, grid_text=()))
    asked = CheckOptions(
        deny_requires=request["deny_requires"], certificate=request["bundles"], complete=request.get("complete", False)
    )
    result = check_unit(unit, asked)
    return {"result": result_to_json(result)}, _bundle(unit, result)


def _bundle(unit: KernelUnit, result: KernelResult) -> str | None:
    """Without cubins: the assembler is a program of its own, and none can be started here."""
    if result.certificate is None:
        return None
    from ...launching.bundle.build import build_bundle
    from ...launching.bundle.manifest import bundle_bytes

    bundle = build_bundle(unit, result, solver_version(), None, ())
    return base64.b64encode(bundle_bytes(bundle)).decode("ascii")


def _failed(claim: Claimed, file: str) -> KernelResult:
    error = claim.error or {}
    code = error.get("code")
    if code not in (TV.SOURCE_ERROR, TV.SPEC_ERROR):
        raise NotPlain("an error has no code")
    return _error(claim, file, code, text(error.get("message")), number(error.get("line")), number(error.get("column")))


def _error(
    claim: Claimed, file: str, code: TV, message: str, line: int | None = None, column: int | None = None
) -> KernelResult:
    sites = () if line is None else (SourceSite(file, line, column, access="", array=""),)
    finding = Finding(code, message, sites)
    return KernelResult(file, claim.kernel, claim.launch, Verdict.ERROR, findings=(finding,), line=claim.line)


def unit_of(claim: Claimed, specs: SourceSpecs, file: str) -> KernelUnit:
    """The kernel with its launch; raises `TileVerifyError` where they do not fit, `NotPlain` for nonsense."""
    document = claim.document
    parameters = tuple(parameter_from_json(each) for each in document["parameters"])
    bytecode = base64.b64decode(text(document["bytecode"], 1 << 30), validate=True)
    launch = _launch(claim, specs, parameters, file)
    symbol = text(document["symbol"], 400)
    facts = compiled_array_facts(launch, parameters)
    entry = entry_parameters(launch, facts)
    for each in bytecode_entries(bytecode, Path(file)):
        if each.symbol == symbol:
            problem = mismatch(entry, launch, each.parameter_types, symbol)
            if problem is not None:
                raise SpecError(f"the launch does not fit the bytecode: {problem}")
            break
    else:
        raise SourceError("the bytecode has no such entry")
    milliseconds = document.get("compile_ms")
    return KernelUnit(
        file=Path(file),
        kernel=claim.kernel,
        launch=launch,
        bytecode=bytecode,
        symbol=symbol,
        parameters=entry,
        compile_ms=min(max(milliseconds, 0.0), 1e9) if type(milliseconds) is float else 0.0,
        line=claim.line,
        notes=launch.notes,
    )


def _launch(claim: Claimed, specs: SourceSpecs, parameters: tuple[KernelParameter, ...], file: str) -> LaunchSpec:
    if specs.given:
        own = [raw for raw in specs.launches if raw.kernel == claim.kernel]
        for launch, raw, twice in named_launches(own):
            if launch == claim.launch and twice is None:
                return build_launch(raw, launch, parameters)
        raise SpecError("the launch spec has no such launch")
    fields = claim.document["fields"]
    if type(fields) is not dict:
        raise NotPlain("a launch is no table")
    launch_spec = build_launch(raw_of({**fields, "kernel": claim.kernel}, file), claim.launch, parameters)
    notes = tuple(text(each, 2000) for each in claim.document["notes"][:20])
    return replace(launch_spec, inferred=claim.document["inferred"] is True, notes=notes)
