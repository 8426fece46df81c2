"""The report for people: a line for each launch, the contract it holds under, snippets and the table of what differs.

Lines are never wrapped and colour is the only difference between a terminal and a pipe.
"""

from __future__ import annotations

import enum
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ..codes import CODES
from ..results import Finding, KernelResult, Report, SourceSite, Times, Verdict, Witness
from .plain import printable
from .snippets import Snippet, Snippets

_STYLES: Final = {
    Verdict.PROVED: "green",
    Verdict.UNDECIDED: "yellow",
    Verdict.REFUTED: "red",
    Verdict.ERROR: "magenta",
}
_HOLDS_FOR: Final = {
    "any": "any launch within the contract",
    "sizes": "these sizes, any grid within the contract",
    "launch": "this launch only",
}
_LABEL: Final = 10


class Detail(enum.Enum):
    QUIET = "quiet"  # only what is not proved
    NORMAL = "normal"
    VERBOSE = "verbose"  # also checked codes, hash and the time of every phase


def text_report(report: Report, *, detail: Detail = Detail.NORMAL, color: bool = False) -> str:
    """The whole report; ends with a newline unless it is empty (quiet, everything proved)."""
    lines = list(_report(report, detail))
    buffer = io.StringIO()
    console = Console(
        file=buffer, force_terminal=color, color_system="standard" if color else None, width=80, legacy_windows=False
    )
    for line in lines:
        line.rstrip()
        console.print(line, soft_wrap=True, markup=False, highlight=False, emoji=False)
    return buffer.getvalue()


def summary_line(report: Report) -> str:
    """``3 launches of 2 kernels: 2 proved, 1 refuted, 0 undecided``; errors are counted where there are any."""
    counts = Counter(result.verdict for result in report.results)
    launches = [(result.file, result.kernel) for result in report.results if result.kernel]
    subject = _plural(len(set(launches)), "kernel")
    if len(launches) != len(set(launches)):
        subject = f"{_plural(len(launches), 'launch')} of {subject}"
    verdicts = [
        f"{counts[verdict]} {verdict.value}" for verdict in (Verdict.PROVED, Verdict.REFUTED, Verdict.UNDECIDED)
    ]
    if counts[Verdict.ERROR]:
        verdicts.append(_plural(counts[Verdict.ERROR], "error"))
    return f"{subject}: {', '.join(verdicts)}"


def _report(report: Report, detail: Detail) -> Iterator[Text]:
    snippets = Snippets()
    shown = [result for result in report.results if detail is not Detail.QUIET or result.verdict is not Verdict.PROVED]
    for result in shown:
        yield from _kernel(result, detail, snippets)
    if detail is Detail.QUIET:
        return
    if shown and not shown[-1].findings:
        yield Text()
    yield Text(summary_line(report), "bold")
    yield Text(f"checked with tileverify {printable(report.tool_version)} and {printable(report.solver)}", "dim")
    yield Text(f"trusted: {printable(', '.join(report.trusted))}", "dim")


# -------------------------------------------------------------------------------------------- a kernel
def _kernel(result: KernelResult, detail: Detail, snippets: Snippets) -> Iterator[Text]:
    style = _STYLES[result.verdict]
    head = Text.assemble((f"{result.verdict.value:9}", f"bold {style}"), "  ", (_title(result), "bold"))
    if measure := _measure(result):
        head.append(f"  {measure}", "dim")
    yield head
    yield from _contract(result, detail)
    for finding in result.findings:
        yield from (Text("  ").append_text(line) for line in _finding(finding, result.verdict, snippets))
        yield Text()


def _title(result: KernelResult) -> str:
    launch = f" [{result.launch}]" if result.launch else ""
    return printable(f"{result.file}::{result.kernel}{launch}" if result.kernel else f"{result.file}{launch}")


def _measure(result: KernelResult) -> str:
    count, spent = result.obligations, result.time_ms
    parts = []
    if count.total:
        parts.append(f"{_plural(count.total, 'obligation')} ({count.structural} structural)")
    if result.cached:
        parts.append("from the cache")
    elif total := spent.decode + spent.execute + spent.prove:
        parts.append(_duration(total))
    return ", ".join(parts)


def _contract(result: KernelResult, detail: Detail) -> Iterator[Text]:
    if result.verdict is Verdict.PROVED:
        holds = [_HOLDS_FOR.get(result.holds_for or "", result.holds_for or "")]
        if result.deterministic is not None:
            holds.append("deterministic" if result.deterministic else "results may differ between runs (atomics)")
        yield _labelled("holds for", "; ".join(part for part in holds if part))
    if result.verdict is not Verdict.ERROR:
        yield from _clauses("contract", result.contract)
        yield from _clauses("requires", result.requires, "yellow")
        yield from _clauses("assumes", result.assumes, "yellow")
    yield from _clauses("note", result.notes)
    if detail is Detail.VERBOSE:
        yield from _clauses("checked", (", ".join(result.proved_codes),) if result.proved_codes else ())
        yield from _clauses("bytecode", (result.bytecode_sha256,) if result.bytecode_sha256 else ())
        if result.time_ms != Times():
            yield _labelled("time", _phases(result.time_ms))


def _clauses(label: str, clauses: Iterable[str], style: str = "") -> Iterator[Text]:
    for number, clause in enumerate(clauses):
        yield _labelled(label if number == 0 else "", clause, style)


def _labelled(label: str, text: str, style: str = "") -> Text:
    return Text.assemble("    ", (f"{label:{_LABEL}}", "dim"), " ", (printable(text), style))


def _phases(times: Times) -> str:
    phases = (
        ("compile", times.compile),
        ("decode", times.decode),
        ("execute", times.execute),
        ("prove", times.prove),
    )
    return ", ".join(f"{name} {_duration(spent)}" for name, spent in phases)


# ------------------------------------------------------------------------------------------- a finding
def _finding(finding: Finding, verdict: Verdict, snippets: Snippets) -> Iterator[Text]:
    undecided = finding.code.startswith("TV9")
    word, style = ("undecided", "yellow") if undecided else ("error", _STYLES[verdict])
    code = CODES.get(finding.code)
    head = Text.assemble(
        (f"{word}[{finding.code}]", f"bold {style}"), (": ", "bold"), (printable(finding.message), "bold")
    )
    yield head
    if finding.obligation and (asked := CODES.get(finding.obligation)):
        yield Text.assemble("  about ", (asked.code, "bold"), f": {asked.title}")
    places = [(site, label, snippets.at(site)) for site, label in _merged(finding)]
    gutter = 1 + max((len(str(snippet.lines[-1][0])) for _, _, snippet in places if snippet), default=1)
    for site, label, snippet in places:
        yield from _site(site, label, snippet, gutter, style)
    bar = " " * gutter + "= "
    if finding.witness is not None:
        yield from (Text(bar, "blue").append(printable(line)) for line in _witness(finding.witness))
    for hint in finding.hints:
        note = f"   [{hint.id}, {hint.applicability}]"
        yield Text.assemble(("help", "bold cyan"), f": {printable(hint.text)}", (printable(note), "dim"))
    if code is not None and verdict is not Verdict.ERROR:
        yield Text(f"more: tileverify explain {finding.code}", "dim")


def _merged(finding: Finding) -> list[tuple[SourceSite, str]]:
    """The sites with the labels of their carets; neighbours at one place become one snippet."""
    merged: list[tuple[SourceSite, list[tuple[str, str]]]] = []
    for number, site in enumerate(finding.sites):
        label = (_block(number, finding.witness), _action(site, finding.witness))
        if merged and _place(site) == _place(merged[-1][0]):
            merged[-1][1].append(label)
        else:
            merged.append((site, [label]))
    return [(site, _label(labels)) for site, labels in merged]


def _block(number: int, witness: Witness | None) -> str:
    if witness is None or number > 1:
        return ""
    if witness.block_b is None or witness.block_a == witness.block_b:
        return f"block {witness.block_a}"
    return f"block A {witness.block_a}" if number == 0 else f"block B {witness.block_b}"


def _action(site: SourceSite, witness: Witness | None) -> str:
    if not site.array:
        return ""
    return f"{site.access} {site.array if witness is None else witness.element}".strip()


def _label(labels: list[tuple[str, str]]) -> str:
    """``block A (0, 0, 0) and block B (1, 0, 0) both store out[3]``; one block that does it twice is named once."""
    labels = list(dict.fromkeys(labels))
    blocks = [block for block, _ in labels if block]
    actions = list(dict.fromkeys(action for _, action in labels if action))
    if len(blocks) == 2 and len(actions) == 1:
        return f"{' and '.join(blocks)} both {actions[0]}"
    return " and ".join(": ".join(part for part in label if part) for label in labels if any(label))


def _site(site: SourceSite, label: str, snippet: Snippet | None, gutter: int, style: str) -> Iterator[Text]:
    label = printable(label)
    pad = " " * gutter
    if site.file is None and site.line is None:
        if label:
            yield Text.assemble((f"{pad[:-1]}--> ", "blue"), label, " (no source location in the bytecode)")
        return
    yield Text.assemble((f"{pad[:-1]}--> ", "blue"), _position(site.file, site.line, site.column), _within(site))
    for file, line, column in site.call_chain:
        if (file, line, column) != _place(site):
            yield Text.assemble((f"{pad}    ", "blue"), "called from ", _position(file, line, column))
    if snippet is None:
        if label:
            yield Text.assemble((f"{pad}= ", "blue"), label)
    else:
        yield Text(f"{pad}|", "blue")
        for number, text in snippet.lines:
            yield Text.assemble((f"{number:>{gutter - 1}} | ", "blue"), text)
            if number == snippet.marked:
                carets = " " * snippet.start + "^" * snippet.width
                yield Text.assemble((f"{pad}| ", "blue"), (f"{carets} {label}", style))
        yield Text(f"{pad}|", "blue")
    if site.expression:
        yield Text.assemble((f"{pad}= ", "blue"), f"index    {printable(site.expression)}")


def _place(site: SourceSite) -> tuple[str | None, int | None, int | None]:
    return site.file, site.line, site.column


def _within(site: SourceSite) -> str:
    return f" in {printable(site.function)}" if site.function else ""


def _position(file: str | None, line: int | None, column: int | None) -> str:
    """``file:line:column`` with the column counted from 1, as editors do."""
    parts = [file or "<unknown>", *([str(line)] if line is not None else [])]
    if line is not None and column is not None:
        parts.append(str(column + 1))
    return printable(":".join(parts))


# ------------------------------------------------------------------------------------------- a witness
def _witness(witness: Witness) -> Iterator[str]:
    if witness.element:
        yield f"element  {witness.element}"
    yield f"launch   {'   '.join(_launch(witness))}"
    for name, contents in witness.data.items():
        yield f"data     {name} = [{', '.join(map(str, contents))}]"
    yield from _table(witness)
    if witness.confirmed_by:
        yield f"confirmed by {witness.confirmed_by}"


def _launch(witness: Witness) -> Iterator[str]:
    yield f"grid = {witness.grid}"
    for values in (witness.sizes, witness.scalars, witness.strides):
        if values:
            yield _assignments(values)


def _assignments(values: Mapping[str, int]) -> str:
    return "   ".join(f"{name} = {value}" for name, value in values.items())


def _table(witness: Witness) -> Iterator[str]:
    """What differs between the two sides, one column a side; one column where there is one side only."""
    rows: list[tuple[str, ...]]
    if witness.block_b is None:
        rows = [("", "block"), ("block", str(witness.block_a))]
        rows += [(name, _value(first)) for name, first, _ in witness.variables]
    else:
        heads = ("first", "second") if witness.block_a == witness.block_b else ("block A", "block B")
        rows = [("", *heads), ("block", str(witness.block_a), str(witness.block_b))]
        rows += [(name, _value(first), _value(second)) for name, first, second in witness.variables]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        yield "   ".join(cells).rstrip()


def _value(value: int | None) -> str:
    return "-" if value is None else str(value)


# --------------------------------------------------------------------------------------------- words
def _plural(count: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def _duration(milliseconds: float) -> str:
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.1f} s"
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"
