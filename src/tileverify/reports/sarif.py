"""SARIF 2.1.0: a result for every finding, with a thread flow for each tile block that takes part, and for every
conditional proof; a notification for the limits of a proof.

The standard: docs.oasis-open.org/sarif/sarif/v2.1.0.  What GitHub's code scanning reads and how much of it:
docs.github.com, "SARIF support for code scanning".
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias
from urllib.parse import quote

from ..results import (
    WARNINGS,
    Edit,
    Finding,
    FindingLevel,
    KernelResult,
    Report,
    SourceSite,
    Suppression,
    SuppressionKind,
    Verdict,
    Witness,
)
from ..results.codes import CODES, Code, Family
from ..results.conditional import is_conditional, remarks
from ..results.json_report import Json
from ..system.printable import printable
from .ci_formats import action, explanation, from_repository, sides, title, two_blocks
from .snippets import Snippets, source_text, text_digest, utf16_units

MOST_RESULTS: Final = 25_000
"""Of one run; a file with more is refused."""
LARGEST: Final = 10 << 20
"""Bytes of the file after gzip."""
MOST_FRAMES: Final = 100
"""Locations of a thread flow, far below the 10,000 of a result; a call chain has a handful."""

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT: Final = "%SRCROOT%"
_FINGERPRINT: Final = "tileverifyFinding/v1"

Found: TypeAlias = tuple[KernelResult | None, Finding]


def sarif_report(report: Report) -> str:
    """The report as one JSON document in plain ASCII that GitHub takes whole, ending with a newline."""
    found: list[Found] = [(None, finding) for finding in report.findings]
    found += [(result, finding) for result in report.results for finding in result.findings]
    every = len(found)
    if every > MOST_RESULTS:
        found = _worst_first(found)[:MOST_RESULTS]
    text = _document(report, found, every - len(found))
    while len(found) > 1 and len(gzip.compress(text.encode(), compresslevel=6)) > LARGEST:
        found = _worst_first(found)[: len(found) // 2]
        text = _document(report, found, every - len(found))
    return text


def _worst_first(found: list[Found]) -> list[Found]:
    return sorted(found, key=lambda each: (each[1].suppression is not None, each[1].level is not FindingLevel.ERROR))


def _document(report: Report, found: Sequence[Found], left_out: int) -> str:
    snippets = Snippets()
    suppressed = any(finding.suppression is not None for _, finding in found)
    conditional = list(filter(is_conditional, report.results))[: MOST_RESULTS - len(found)]
    counts = Counter(result.verdict for result in report.results)
    run: Json = {
        "tool": {
            "driver": {
                "name": "tileverify",
                "version": report.tool_version,
                "rules": rules(),
                "properties": {"solver": report.solver, "trusted": list(report.rests_on)},
            }
        },
        "invocations": [_invocation(report, left_out, snippets)],
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "columnKind": "utf16CodeUnits",
        "results": [
            *(_result(result, finding, snippets, suppressed) for result, finding in found),
            *(_condition(result, snippets, suppressed) for result in conditional),
        ],
        "properties": {
            "verdicts": {verdict.value: counts[verdict] for verdict in Verdict},
            "conditional": report.conditional,
        },
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def _invocation(report: Report, left_out: int, snippets: Snippets) -> Json:
    failed = any(result.verdict is Verdict.ERROR for result in report.results)
    notifications: list[Json] = [_limits(result, snippets) for result in report.results if result.limits]
    if left_out:
        told = f"{left_out} findings are left out: the file would be larger than GitHub takes."
        notifications.append({"level": FindingLevel.WARNING, "message": {"text": told}})
    invocation: Json = {"executionSuccessful": not failed}
    if notifications:
        invocation["toolExecutionNotifications"] = notifications
    return invocation


def _limits(result: KernelResult, snippets: Snippets) -> Json:
    """A note on the size limits of a proof: no alert, which somebody would have to dismiss."""
    told = printable(", ".join(f"limit {each}" for each in result.limits))
    place = _location(None, result, snippets)
    return {"level": FindingLevel.NOTE, "message": {"text": _unlinked(told)}, "locations": [place]}


# --------------------------------------------------------------------------------------------- a result
def _result(result: KernelResult | None, finding: Finding, snippets: Snippets, suppressed: bool) -> Json:
    primary, *others = finding.sites or (None,)
    document: Json = {
        "ruleId": finding.code,
        "ruleIndex": RULES.get(finding.code, -1),
        "level": finding.level,
        "message": {"text": _unlinked(explanation(result, finding))},
        "locations": [_location(primary, result, snippets)],
    }
    if finding.fingerprint:
        document["partialFingerprints"] = {_FINGERPRINT: finding.fingerprint}
    if related := _related(finding, others, result, snippets):
        document["relatedLocations"] = related
    if flow := _code_flow(result, finding, snippets):
        document["codeFlows"] = [flow]
    if suppressed:
        known = finding.suppression
        document["suppressions"] = [] if known is None else [_suppression(known)]
    if result is not None:
        if mended := fixes(finding, result.file, _artifact(result.file)):
            document["fixes"] = mended
        document["properties"] = {"kernel": result.kernel, "launch": result.launch, "verdict": result.verdict.value}
    return document


def _condition(result: KernelResult, snippets: Snippets, suppressed: bool) -> Json:
    """A note that a proof is conditional."""
    name = f"kernel {result.kernel}" + (f", launch {result.launch}" if result.launch else "")
    key = json.dumps([CONDITIONAL, result.file, result.kernel, result.launch])
    return {
        "ruleId": CONDITIONAL,
        "ruleIndex": RULES[CONDITIONAL],
        "level": FindingLevel.NOTE,
        "message": {"text": _unlinked("\n".join(map(printable, (*remarks(result), name))))},
        "locations": [_location(None, result, snippets)],
        "partialFingerprints": {_FINGERPRINT: hashlib.sha256(key.encode()).hexdigest()[:32]},
        **({"suppressions": []} if suppressed else {}),
        "properties": {"kernel": result.kernel, "launch": result.launch, "verdict": result.verdict.value},
    }


def _unlinked(text: str) -> str:
    """``[text](1)`` would be a link to a related location."""
    return text.replace("](", "] (")


def _suppression(suppression: Suppression) -> Json:
    until = f" (until {suppression.until})" if suppression.until else ""
    document: Json = {
        "kind": "inSource" if suppression.kind is SuppressionKind.COMMENT else "external",
        "status": "accepted",
        "justification": printable(f"{suppression.reason}{until}"),
    }
    if suppression.file is not None:
        document["location"] = {"physicalLocation": _physical(suppression.file, suppression.line)}
    return document


def _related(
    finding: Finding, others: Sequence[SourceSite], result: KernelResult | None, snippets: Snippets
) -> list[Json]:
    """The other accesses, and the calls that led to each."""
    seen: dict[str, Json] = {}
    labels = sides(finding)
    for number, site in enumerate(others, start=1):
        label = ": ".join(part for part in (labels[number], action(site, finding)) if part)
        location = {**_location(site, result, snippets), "message": {"text": printable(label or title(finding))}}
        seen.setdefault(json.dumps(location), location)
    for site in finding.sites:
        for frame in _callers(site):
            location = {"physicalLocation": _physical(*frame), "message": {"text": "called from here"}}
            seen.setdefault(json.dumps(location), location)
    return [{"id": number, **location} for number, location in enumerate(seen.values(), start=1)]


# ----------------------------------------------------------------------------------------------- flows
def _code_flow(result: KernelResult | None, finding: Finding, snippets: Snippets) -> Json | None:
    """How each tile block of a witness gets to its access: one thread flow a block."""
    witness = finding.witness
    if witness is None or result is None or not finding.sites:
        return None
    if two_blocks(witness):
        first, second = finding.sites[0], finding.sites[-1]
        blocks: list[dict[int, SourceSite]] = [{0: first}, {1: second}]
    else:
        blocks = [dict(enumerate(finding.sites))]
    flows = [_thread_flow(result, finding, sites, snippets) for sites in blocks]
    return {"message": {"text": f"{title(finding)}: {_launch_text(finding)}"}, "threadFlows": flows}


def _launch_text(finding: Finding) -> str:
    witness = finding.witness
    assert witness is not None
    values = {"grid": str(witness.grid), **{name: str(value) for name, value in witness.sizes.items()}}
    return printable(", ".join(f"{name} = {value}" for name, value in values.items()))


def _thread_flow(result: KernelResult, finding: Finding, sites: Mapping[int, SourceSite], snippets: Snippets) -> Json:
    """A block begins, calls, and accesses; ``sites`` by side.  Accesses of one block come in no order."""
    witness = finding.witness
    assert witness is not None
    name = sides(finding)[min(sites)]
    begins = printable(f"{name} of kernel {result.kernel} begins")
    steps = [_step(_physical(result.file, result.line), begins, 0)]
    for side, site in sites.items():
        callers = list(_callers(site))[::-1][: MOST_FRAMES - 2]
        steps += [_step(_physical(*frame), "calls", depth) for depth, frame in enumerate(callers, start=1)]
        place = _location(site, result, snippets)["physicalLocation"]
        told = printable(f"{name}: {action(site, finding)}")
        steps.append(
            {**_step(place, told, len(callers) + 1), "importance": "essential", "state": _state(witness, side)}
        )
    return {"id": name, "message": {"text": name}, "locations": steps[:MOST_FRAMES]}


def _state(witness: Witness, side: int) -> Json:
    """What the names in the index terms stand for on this side."""
    values = ((variable, (first, second)[min(side, 1)]) for variable, first, second in witness.variables)
    return {printable(variable): {"text": str(value)} for variable, value in values if value is not None}


def _step(place: Json, text: str, depth: int) -> Json:
    return {"location": {"physicalLocation": place, "message": {"text": text}}, "nestingLevel": depth}


def _callers(site: SourceSite) -> Iterator[tuple[str, int]]:
    """Where the function of ``site`` was called from, innermost first."""
    for file, line, column in site.call_chain:
        if (file, line, column) != (site.file, site.line, site.column) and line >= 1:
            yield file, line


# ----------------------------------------------------------------------------------------------- places
def _location(site: SourceSite | None, result: KernelResult | None, snippets: Snippets) -> Json:
    if site is not None and site.file is not None:
        place = _physical(site.file, site.line)
        region = snippets.region(site)
        if region is not None:
            place["region"] = {"startLine": region.line, "startColumn": region.column, "endLine": region.end_line}
            if region.end_column is not None:
                place["region"]["endColumn"] = region.end_column
    else:
        place = _physical(result.file, result.line) if result is not None else _physical(".", None)
    location: Json = {"physicalLocation": place}
    if result is not None and result.kernel:
        name = printable(result.kernel)
        full = printable(f"{result.file}::{result.kernel}")
        location["logicalLocations"] = [{"name": name, "fullyQualifiedName": full, "kind": "function"}]
    return location


def _physical(file: str, line: int | None) -> Json:
    # GitHub shows no result without a line.
    return {"artifactLocation": _artifact(file), "region": {"startLine": line or 1}}


def _artifact(file: str) -> Json:
    """Relative to the repository where the file lies below it; SARIF forbids ``..`` in relative references."""
    path = PurePosixPath(from_repository(file))
    if not path.is_absolute() and ".." not in path.parts:
        return {"uri": quote(str(path), errors="surrogatepass"), "uriBaseId": _ROOT}
    return {"uri": "file://" + quote(Path(file).resolve().as_posix(), errors="surrogatepass")}


# ---------------------------------------------------------------------------------------------------------- sarif rules
# The rules of the SARIF report: one for every code, with all that `explain` tells.


CONDITIONAL: Final = "proved-if"
"""The rule of notes on conditional proofs, which have no code: they are no findings."""

RULES: Final = {code: number for number, code in enumerate((*CODES, CONDITIONAL))}
"""Code -> its index among the rules, the same in every report of this version."""


def level_of(code: str) -> FindingLevel:
    """``error`` for what is wrong, ``warning`` for what is undecided, which does not pass either, and for what leaves a
    proof a proof."""
    known = CODES.get(code)
    undecided = known is not None and known.family is Family.UNDECIDED
    return FindingLevel.WARNING if undecided or code in WARNINGS else FindingLevel.ERROR


def rules() -> list[Json]:
    """SARIF's ``reportingDescriptor`` objects, in the order of `RULES`."""
    return [*map(_rule, CODES.values()), _RULE_OF_CONDITIONS]


_MEANING: Final = (
    "The kernel is proved for the launches that satisfy the condition, and not for the others. Nobody wrote the "
    "condition: tileverify added it to a contract that it made up itself."
)
_ADVICE: Final = "Write a launch spec: `tileverify init FILE`. `check --deny-requires` makes conditions errors."
_RULE_OF_CONDITIONS: Final[Json] = {
    "id": CONDITIONAL,
    "name": "ProvedIf",
    "shortDescription": {"text": "A kernel is proved under a condition that nobody wrote."},
    "fullDescription": {"text": _MEANING},
    "help": {"text": f"{_MEANING}\n\nWhat to do: {_ADVICE}\n"},
    "defaultConfiguration": {"level": FindingLevel.NOTE},
    "properties": {"tags": [CONDITIONAL, "gpu", "cuda-tile"], "precision": "very-high"},
}


def _rule(code: Code) -> Json:
    level = level_of(code.code)
    return {
        "id": code.code,
        "name": "".join(part.capitalize() for part in code.name.split("-")),
        "shortDescription": {"text": _sentence(code.fault)},
        "fullDescription": {"text": code.meaning},
        "help": {
            "text": f"{code.meaning}\n\nFormula: {code.formula}\n\nWhat to do: {code.fix}\n",
            "markdown": f"{code.meaning}\n\n**Formula**\n\n{code.formula}\n\n**What to do**\n\n{code.fix}\n",
        },
        "defaultConfiguration": {"level": level},
        "properties": {
            "tags": [code.name, code.family.value.replace(" ", "-"), "gpu", "cuda-tile"],
            "precision": "very-high",
            "problem.severity": level,
        },
    }


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


# ---------------------------------------------------------------------------------------------------------- sarif fixes
# Proved repairs as SARIF has them: `fixes` of a result (SARIF 2.1.0, 3.55 to 3.57).


def fixes(finding: Finding, file: str, artifact: Json) -> list[Json]:
    """One for each hint of ``finding`` with edits of ``file``, whose SARIF location is ``artifact``; none where the
    file is not the text that they are for."""
    proved = [hint for hint in finding.hints if hint.edits]
    lines = source_text(file) if proved else None
    if lines is None:
        return []
    digest = text_digest("\n".join(lines))
    return [
        {
            "description": {"text": printable(f"{hint.text} [{hint.applicability}]")},
            "artifactChanges": [
                {"artifactLocation": artifact, "replacements": list(_replacements(hint.edits, lines))},
            ],
        }
        for hint in proved
        if hint.source_sha256 in ("", digest)
    ]


def _replacements(edits: tuple[Edit, ...], lines: tuple[str, ...]) -> Iterator[Json]:
    for edit in edits:
        line, column = _place(edit.line, edit.column, lines)
        end_line, end_column = _place(edit.end_line, edit.end_column, lines)
        region = {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
        yield {"deletedRegion": region, "insertedContent": {"text": edit.text}}


def _place(line: int, column: int, lines: tuple[str, ...]) -> tuple[int, int]:
    """Line and column from 1, columns in UTF-16 code units; behind the last line is its end."""
    if line > len(lines):
        return len(lines), utf16_units(lines[-1]) + 1
    return line, utf16_units(lines[line - 1][:column]) + 1
