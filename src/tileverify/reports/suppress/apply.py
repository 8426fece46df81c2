"""Mark the findings of a report that are suppressed, and complain about suppressions that are no good."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Final

from ...results import MOST_REFUTATIONS, Finding, KernelResult, Report, SourceSite, Verdict
from ...results.codes import TV
from .comments import Comments, comments_of
from .model import Rule, TableRule

MANY_FAULTS: Final = (
    f"only {MOST_REFUTATIONS} faults of a kernel are looked for, and there may be others: it fails although these are "
    "suppressed; with --baseline FILE all are looked for"
)


def with_suppressions(
    report: Report, tables: Sequence[TableRule] = (), *, whole: bool, today: date | None = None
) -> Report:
    """``report`` with suppressions from the sources it names and from ``tables``.

    ``whole``: everything in the files was checked, so that a suppression without a finding is one too many.
    """
    pass_ = _Pass(tables, today or date.today())
    results = tuple(map(pass_.result, report.results))
    problems = (*pass_.malformed(), *pass_.expired(), *(pass_.unused(report.results) if whole else ()))
    return replace(report, results=results, findings=(*report.findings, *problems))


def with_reasons(report: Report) -> Report:
    """``report`` with a note where a kernel fails although all of its findings are suppressed."""
    results = (
        replace(result, notes=(*result.notes, MANY_FAULTS))
        if result.findings and result.verdict is Verdict.REFUTED and _all_suppressed(result) and result.counts_as
        else result
        for result in report.results
    )
    return replace(report, results=tuple(results))


def _all_suppressed(result: KernelResult) -> bool:
    return all(finding.suppression is not None for finding in result.findings)


@dataclass
class _Pass:
    tables: Sequence[TableRule]
    today: date
    _comments: dict[Path, Comments] = field(default_factory=dict)
    _used: dict[int, set[str]] = field(default_factory=dict)  # id of a rule -> codes that it met

    def result(self, result: KernelResult) -> KernelResult:
        """``result`` with what is suppressed marked; reads the comments of its files."""
        self._read(result.file)
        if result.verdict is Verdict.ERROR:
            return result
        findings = tuple(self._finding(result, finding) for finding in result.findings)
        return replace(result, findings=findings)

    def _finding(self, result: KernelResult, finding: Finding) -> Finding:
        rules = [rule for rule in self._rules(result, finding) if finding.code in rule.codes]
        for rule in rules:
            self._used.setdefault(id(rule), set()).add(finding.code)
        valid = next((rule for rule in rules if not rule.expired(self.today)), None)
        return finding if valid is None else replace(finding, suppression=valid.suppression)

    def _rules(self, result: KernelResult, finding: Finding) -> Iterator[Rule]:
        """Comments first: they stand nearest."""
        own = Path(result.file).resolve()
        for place, line in [(own, None), *_places(finding)]:
            for comment in self._read(str(place)).rules:
                if line in comment.lines or (place == own and result.line in comment.kernels):
                    yield comment.rule
        for table in self.tables:
            matching = table.kernel.fullmatch(result.kernel) and table.launch.fullmatch(result.launch)
            if matching and table.files.fullmatch(own.as_posix()):
                yield table.rule

    def _read(self, file: str) -> Comments:
        place = Path(file).resolve()
        if place not in self._comments:
            self._comments[place] = comments_of(file)
        return self._comments[place]

    # --------------------------------------------------------------------------------------- problems
    def malformed(self) -> Iterator[Finding]:
        for comments in self._comments.values():
            yield from comments.problems

    def expired(self) -> Iterator[Finding]:
        for rule in self._every_rule():
            if rule.expired(self.today) and (used := self._used.get(id(rule))):
                assert rule.until is not None
                told = f"the suppression of {_listed(used)} expired on {rule.until.isoformat()} ({rule.reason})"
                yield _complaint(TV.SUPPRESSION_EXPIRED, told, rule)

    def unused(self, results: Sequence[KernelResult]) -> Iterator[Finding]:
        """Rules for files that were checked without errors, and codes of theirs that met nothing."""
        failed = {Path(result.file).resolve() for result in results if result.verdict is Verdict.ERROR}
        checked = {Path(result.file).resolve() for result in results} - failed
        for place, comments in self._comments.items():
            if place in checked:
                for comment in comments.rules:
                    yield from self._unused(comment.rule)
        for table in self.tables:
            if any(table.files.fullmatch(place.as_posix()) for place in checked):
                yield from self._unused(table.rule)

    def _unused(self, rule: Rule) -> Iterator[Finding]:
        left = [code for code in rule.codes if code not in self._used.get(id(rule), ())]
        if left:
            yield _complaint(
                TV.SUPPRESSION_UNUSED, f"the suppression of {_listed(left)} hides nothing ({rule.reason})", rule
            )

    def _every_rule(self) -> Iterator[Rule]:
        for comments in self._comments.values():
            yield from (comment.rule for comment in comments.rules)
        yield from (table.rule for table in self.tables)


def _places(finding: Finding) -> Iterator[tuple[Path, int | None]]:
    """Where the accesses of a finding stand, and from where the functions around them were called."""
    for site in finding.sites:
        if site.file is not None:
            yield Path(site.file).resolve(), site.line
        yield from ((Path(file).resolve(), line) for file, line, _ in site.call_chain)


def _complaint(code: TV, message: str, rule: Rule) -> Finding:
    return Finding(code, message, (SourceSite(rule.file, rule.line, None, "", ""),))


def _listed(codes: Collection[str]) -> str:
    return ", ".join(sorted(codes))
