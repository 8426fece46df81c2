"""The report for people: a line for each launch, the contract it holds under, snippets and the table of what differs.

Lines are never wrapped and colour is the only difference between a terminal and a pipe.
"""

from __future__ import annotations

import enum
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from rich.console import Console
from rich.text import Text

from ..results import KernelResult, Report, Times, Verdict, WrittenArrays
from ..results.kernel_names import Names, short_names
from ..results.second_reading import reading_lines
from ..system.notebook_cells import shown_file
from ..system.printable import printable
from .causes import cards
from .checked import checked
from .findings import finding_lines
from .reasons import undetermined
from .snippets import Snippets

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


_DIGITS: Final = 12
"""Of a fingerprint that are shown."""


class Detail(enum.Enum):
    QUIET = "quiet"  # only what is not proved
    NORMAL = "normal"
    VERBOSE = "verbose"  # also what holds of what is not proved, hash and the time of every phase


def text_report(report: Report, *, detail: Detail = Detail.NORMAL, color: bool = False) -> str:
    """The whole report; ends with a newline unless it is empty (quiet, everything proved)."""
    lines = list(_report(report, detail))
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        force_terminal=color,
        force_jupyter=False,  # or it would show the text in the notebook, and give us nothing
        color_system="standard" if color else None,
        width=80,
        legacy_windows=False,
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
    if report.warnings:
        verdicts.append(_plural(report.warnings, "warning"))
    if hidden := sum(finding.suppression is not None for result in report.results for finding in result.findings):
        verdicts.append(f"{_plural(hidden, 'finding')} suppressed")
    if report.findings:
        verdicts.append(f"{_plural(len(report.findings), 'suppression')} to mend")
    return f"{subject}: {', '.join(verdicts)}"


def _report(report: Report, detail: Detail) -> Iterator[Text]:
    snippets = Snippets()
    shown = [result for result in report.results if detail is not Detail.QUIET or _fails(result)]
    names = short_names(report.results)
    for result in shown:
        yield from _kernel(result, detail, snippets, names)
    if shown and not shown[-1].findings and (report.findings or detail is not Detail.QUIET):
        yield Text()
    for finding in report.findings:
        yield from finding_lines(finding, "magenta", snippets)
        yield Text()
    if detail is Detail.QUIET:
        return
    yield Text(summary_line(report), "bold")
    yield Text(f"checked with tileverify {printable(report.tool_version)} and {printable(report.solver)}", "dim")
    yield Text(f"trusted: {printable(', '.join(report.rests_on))}", "dim")


# -------------------------------------------------------------------------------------------- a kernel
def _kernel(result: KernelResult, detail: Detail, snippets: Snippets, names: Names) -> Iterator[Text]:
    style = _STYLES[result.verdict]
    head = Text.assemble((f"{result.verdict.value:9}", f"bold {style}"), "  ", (_title(result, names), "bold"))
    if measure := _measure(result):
        head.append(f"  {measure}", "dim")
    yield head
    yield from _contract(result, detail, names)
    for finding, others in cards(result.findings):
        lines = finding_lines(finding, style, snippets, others, result.file)
        yield from (Text("  ").append_text(line) for line in lines)
        shows = finding.fingerprint and finding.witness is not None and finding.suppression is None
        if detail is Detail.VERBOSE and shows:
            again = f"tileverify replay {finding.fingerprint[:_DIGITS]} {result.file}"
            yield Text(f"  replay: {printable(again)}", "dim")
        yield Text()


def _title(result: KernelResult, names: Names) -> str:
    launch = f" [{result.launch}]" if result.launch else ""
    file = shown_file(result.file)
    kernel = names.get((result.file, result.kernel), result.kernel)
    return printable(f"{file}::{kernel}{launch}" if kernel else f"{file}{launch}")


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


def _contract(result: KernelResult, detail: Detail, names: Names) -> Iterator[Text]:
    if result.verdict is Verdict.PROVED:
        holds = [_HOLDS_FOR.get(result.holds_for or "", result.holds_for or "")]
        if result.deterministic is not None:
            holds.append("deterministic" if result.deterministic else _differs(result))
        yield _labelled("holds for", "; ".join(part for part in holds if part))
    if (proved := checked(result)) and (result.verdict is Verdict.PROVED or detail is Detail.VERBOSE):
        yield _labelled("checked", proved)
    if result.verdict is not Verdict.ERROR:
        yield from _clauses("contract", result.stated)
        yield from _clauses("requires", result.requires, "yellow")
        yield from _clauses("assumes", (_assumed(fact, result) for fact in result.assumes), "yellow")
    if result.written is not None:
        yield from _clauses("written", _written(result.written))
    if result.second_reading is not None:
        yield from _clauses("audited", reading_lines(result.second_reading))
    yield from _clauses("note", result.notes)
    if detail is Detail.VERBOSE:
        yield from _clauses("kernel", (result.kernel,) if (result.file, result.kernel) in names else ())
        yield from _clauses("bytecode", (result.bytecode_sha256,) if result.bytecode_sha256 else ())
        if result.time_ms != Times():
            yield _labelled("time", _phases(result.time_ms))


def _fails(result: KernelResult) -> bool:
    return result.verdict is not Verdict.PROVED or result.counts_as is not Verdict.PROVED


def _differs(result: KernelResult) -> str:
    if undetermined(result):
        return "results may depend on what the specification leaves open"
    return "results may differ between runs (atomics)"


def _written(written: WrittenArrays) -> Iterator[str]:
    yield from (f"every element of {name}" for name in written.whole)
    yield from (f"{name}, not shown to be every element" for name in written.open)


def _assumed(fact: str, result: KernelResult) -> str:
    return f"{fact}   (observed in a recording)" if fact in result.observed else fact


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


# --------------------------------------------------------------------------------------------- words
def _plural(count: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def _duration(milliseconds: float) -> str:
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.1f} s"
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"
