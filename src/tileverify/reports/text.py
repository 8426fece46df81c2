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

from ..results import Finding, KernelResult, Report, SuppressionKind, Times, Verdict, WrittenArrays, reading_lines
from ..results.codes import CODES, TV, Family
from ..results.conditional import (
    Names,
    behind_verdict,
    is_conditional,
    proved_words,
    short_names,
    undetermined,
    verdict_word,
)
from ..system.printable import plural, printable
from ..system.readings import shown_file
from .causes import cards, checked
from .findings import finding_lines, never_written
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
    QUIET = "quiet"  # only what is not proved, and a line for what is proved under conditions
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
    """``3 launches of 2 kernels: 2 proved, 1 of them under conditions, 1 refuted, 0 undecided``; errors are counted
    where there are any."""
    counts = Counter(result.verdict for result in report.results)
    launches = [(result.file, result.kernel) for result in report.results if result.kernel]
    subject = plural(len(set(launches)), "kernel")
    if len(launches) != len(set(launches)):
        subject = f"{plural(len(launches), 'launch')} of {subject}"
    verdicts = [proved_words(report)]
    verdicts += [f"{counts[verdict]} {verdict.value}" for verdict in (Verdict.REFUTED, Verdict.UNDECIDED)]
    if counts[Verdict.ERROR]:
        verdicts.append(plural(counts[Verdict.ERROR], "error"))
    if report.warnings:
        verdicts.append(plural(report.warnings, "warning"))
    if hidden := hidden_findings(report):
        verdicts.append(f"{plural(hidden, 'finding')} suppressed")
    if report.findings:
        verdicts.append(f"{plural(len(report.findings), 'suppression')} to mend")
    return f"{subject}: {', '.join(verdicts)}"


def denied_line(report: Report) -> str:
    """Why proved kernels make a run fail; empty where none does."""
    failing = [each for each in report.results if each.verdict is Verdict.PROVED and each.counts_as is Verdict.REFUTED]
    codes = {finding.code for result in failing for finding in result.findings if finding.refutes}
    because = [reason for code, reason in _DENIALS.items() if code in codes]
    if not because:
        return ""
    fail = "kernel fails" if len(failing) == 1 else "kernels fail"
    return f"exit code 1: {len(failing)} proved {fail} this run, as {' and '.join(because)}"


_DENIALS: Final = {
    TV.INDEX_WRAPS: 'size limits count as errors (--deny-limits, or limits = "deny")',
    TV.UNDETERMINED: "results that are not determined count as errors (--deny-undetermined)",
}


def hidden_findings(report: Report) -> int:
    """How many findings are suppressed: one that several launches show counts once, as in a baseline."""
    return len({key for key, finding in _distinct(report) if finding.suppression is not None})


def fixable_line(report: Report) -> str:
    """``2 fixable with --fix, 1 more with --unsafe-fixes``; empty where no finding has a repair that can be made."""
    repairs = {
        key: {hint.applicability for hint in finding.hints if hint.edits}
        for key, finding in _distinct(report)
        if finding.suppression is None
    }
    safe = sum("safe" in each for each in repairs.values())
    others = sum("maybe" in each and "safe" not in each for each in repairs.values())
    if not safe:
        return f"{others} fixable with --fix --unsafe-fixes" if others else ""
    return f"{safe} fixable with --fix" + (f", {others} more with --unsafe-fixes" if others else "")


def _explained(report: Report) -> list[str]:
    """The codes of the findings that are shown, as `explain` takes them."""
    codes = {finding.code for result in report.results for finding in result.findings if finding.suppression is None}
    return sorted(code for code in codes if code in CODES and CODES[code].family is not Family.ERROR)


def _distinct(report: Report) -> Iterator[tuple[object, Finding]]:
    """All findings, those that are one in several launches under one key."""
    for number, result in enumerate(report.results):
        for place, finding in enumerate(result.findings):
            yield (result.file, finding.fingerprint or (number, place)), finding


def _report(report: Report, detail: Detail) -> Iterator[Text]:
    snippets = Snippets()
    quiet = detail is Detail.QUIET
    names = short_names(report.results)
    if quiet:
        yield from (_conditional(each, names) for each in report.results if is_conditional(each) and not _fails(each))
    shown = [result for result in report.results if not quiet or (_fails(result) and not _known(result))]
    for result in shown:
        yield from _kernel(result, detail, snippets, names)
    if shown and not shown[-1].findings and (report.findings or detail is not Detail.QUIET):
        yield Text()
    for finding in report.findings:
        yield from finding_lines(finding, "magenta", snippets)
        yield Text()
    denied = denied_line(report)
    if detail is Detail.QUIET:
        yield from [Text(denied)] if denied else ()
        return
    yield Text(summary_line(report), "bold")
    if denied:
        yield Text(denied)
    if fixable := fixable_line(report):
        yield Text(fixable)
    if detail is Detail.NORMAL and (codes := _explained(report)):
        yield Text(f"more: tileverify explain {' '.join(codes)}; check --verbose", "dim")
    yield Text(f"checked with tileverify {printable(report.tool_version)} and {printable(report.solver)}", "dim")
    yield Text(f"trusted: {printable(', '.join(report.rests_on))}", "dim")


# -------------------------------------------------------------------------------------------- a kernel
def _conditional(result: KernelResult, names: Names) -> Text:
    """``proved if  k.py::k [0]: N % 4 == 0, limit M * N < 2**31``"""
    told = f": {printable(behind_verdict(result))}"
    return Text.assemble(_verdict(result), "  ", (_title(result, names), "bold"), (told, "yellow"))


def _verdict(result: KernelResult) -> tuple[str, str]:
    style = "yellow" if is_conditional(result) else _STYLES[result.verdict]
    return f"{verdict_word(result):9}", f"bold {style}"


def _kernel(result: KernelResult, detail: Detail, snippets: Snippets, names: Names) -> Iterator[Text]:
    style = _STYLES[result.verdict]
    head = Text.assemble(_verdict(result), "  ", (_title(result, names), "bold"))
    if measure := _measure(result):
        head.append(f"  {measure}", "dim")
    yield head
    yield from _contract(result, detail, names)
    known = [] if detail is Detail.VERBOSE else [each for each in result.findings if _in_baseline(each)]
    for reason, count in Counter(each.suppression.reason for each in known if each.suppression).items():
        yield _labelled("baseline", f"{plural(count, 'finding')} {reason}")
    if known and len(known) == len(result.findings):
        yield Text()
    for finding, others in cards(each for each in result.findings if each not in known):
        lines = finding_lines(finding, style, snippets, others, result.file, whole=detail is Detail.VERBOSE)
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
        enumerated = f", {count.enumerated} enumerated" if count.enumerated else ""
        parts.append(f"{plural(count.total, 'obligation')} ({count.structural} structural{enumerated})")
    if result.cached:
        parts.append("from the cache")
    elif total := spent.decode + spent.execute + spent.prove:
        parts.append(_duration(total))
    return ", ".join(parts)


def _contract(result: KernelResult, detail: Detail, names: Names) -> Iterator[Text]:
    conditional = is_conditional(result)
    if conditional:
        yield from _clauses("if", result.requires, "bold yellow")
    if result.verdict is Verdict.PROVED:
        holds = [_HOLDS_FOR.get(result.holds_for or "", result.holds_for or "")]
        holds[0] += ", under these conditions" if conditional else ""
        if result.deterministic is not None:
            holds.append("deterministic" if result.deterministic else _differs(result))
        yield _labelled("holds for", "; ".join(part for part in holds if part))
    if (proved := checked(result)) and (result.verdict is Verdict.PROVED or detail is Detail.VERBOSE):
        yield _labelled("checked", proved)
    if result.verdict is not Verdict.ERROR:
        yield from _clauses("contract", result.stated)
        yield from _clauses("requires", () if conditional else result.requires, "yellow")
        yield from _clauses("limit", result.limits, "yellow")
        yield from _clauses("assumes", (_assumed(fact, result) for fact in result.assumes), "yellow")
    if result.written is not None:
        yield from _clauses("written", _written(result.written))
    if result.second_reading is not None:
        yield from _clauses("audited", reading_lines(result.second_reading))
    yield from _clauses("compiled", map(str, result.compared_code))
    yield from _clauses("note", result.notes)
    if detail is Detail.VERBOSE:
        yield from _clauses("kernel", (result.kernel,) if (result.file, result.kernel) in names else ())
        yield from _clauses("bytecode", (result.bytecode_sha256,) if result.bytecode_sha256 else ())
        if result.time_ms != Times():
            yield _labelled("time", _phases(result.time_ms))


def _fails(result: KernelResult) -> bool:
    return result.verdict is not Verdict.PROVED or result.counts_as is not Verdict.PROVED


def _in_baseline(finding: Finding) -> bool:
    return finding.suppression is not None and finding.suppression.kind is SuppressionKind.BASELINE


def _known(result: KernelResult) -> bool:
    """Whether it does not fail, as all that was found was there when the baseline was written."""
    return result.counts_as is None and all(map(_in_baseline, result.findings))


def _differs(result: KernelResult) -> str:
    if undetermined(result):
        return "results may depend on what the specification leaves open"
    return "results may differ between runs (atomics)"


def _written(written: WrittenArrays) -> Iterator[str]:
    yield from (f"every element of {name}" for name in written.whole)
    never = {each.array: never_written(each.witness) for each in written.never}
    for name in written.open:
        yield f"{name}, not shown to be every element" + (f": {never[name]}" if name in never else "")


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
def _duration(milliseconds: float) -> str:
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.1f} s"
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"
