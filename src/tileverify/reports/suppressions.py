"""Findings that shall not fail a run, and why: comments beside kernels, tables in the configuration, a baseline.

A suppression changes the exit code and nothing else.  Verdicts stay what they are, suppressed findings stay in every
report, and a suppression without a reason, out of date, or without anything to suppress is a finding of its own.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Final

from ..results import MOST_REFUTATIONS, Finding, KernelResult, Report, SourceSite, Suppression, SuppressionKind, Verdict
from ..results.codes import TV
from ..results.json_report import Json
from ..system.atomic_file import write_whole
from ..system.errors import ConfigError, UsageError
from ..system.printable import plural, syntax_tree
from .snippets import source_text
from .suppression_rules import CommentRule, Rule, TableRule, is_placeholder, wrong_codes

# ------------------------------------------------------------------------------------------------------------------ run
# All suppressions of a run, in order: comments and tables, then the baseline.


def suppressed(
    report: Report, tables: Sequence[TableRule], baseline: Path | None, *, update: bool, whole: bool
) -> tuple[Report, str]:
    """The report with everything marked that need not fail, and a sentence on the baseline ("" if there is none).

    ``update``: write the baseline anew, if it is not there, else without what is gone.  ``whole``: everything in the
    files was checked.  Raises `UsageError` and `ConfigError` for a baseline that cannot be used.
    """
    report = with_suppressions(report, tables, whole=whole)
    told = ""
    if baseline is not None:
        known, told = _baseline(report, baseline, update=update, whole=whole)
        report = with_baseline(report, known)
    return with_reasons(report), told


def checked_baseline(path: Path | None, *, update: bool, whole: bool) -> None:
    """A baseline that cannot be used is told before minutes of work."""
    if path is None:
        if update:
            raise UsageError(
                "--update-baseline: name the file with --baseline FILE, or `baseline` in [tool.tileverify]"
            )
        return
    if update and not whole:
        raise UsageError("--update-baseline needs whole files or folders: of one kernel it cannot tell what is gone")
    if not update or path.exists():
        read_baseline(path)
    elif not path.parent.is_dir():
        raise UsageError(f"--baseline: there is no folder '{path.parent}'")


def _baseline(report: Report, path: Path, *, update: bool, whole: bool) -> tuple[Baseline, str]:
    if update and not path.exists():
        known = first_baseline(path, report)
        write_baseline(known)
        return known, f"baseline {path}: written with {plural(len(known.entries), 'finding')}"
    known = read_baseline(path)
    left = shrunk(known, report) if whole else known
    gone = len(known.entries) - len(left.entries)
    if not gone:
        return known, f"baseline {path}: {plural(len(known.entries), 'finding')} known"
    if not update:
        return known, f"baseline {path}: {plural(gone, 'finding')} of it gone; --update-baseline removes what is gone"
    write_baseline(left)
    return (
        left,
        f"baseline {path}: {plural(gone, 'finding')} gone and removed, {plural(len(left.entries), 'finding')} left",
    )


# ---------------------------------------------------------------------------------------------------------------- apply
# Mark the findings of a report that are suppressed, and complain about suppressions that are no good.


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


# ------------------------------------------------------------------------------------------------------------- comments
# ``# tileverify: ignore[TV101] -- reason (until 2027-12-31)`` in sources.
#
# A comment stands beside the code on its line, or, on a line of its own, beside the next line of code.  Beside the
# ``def`` line or a decorator of a kernel it speaks of the whole kernel, beside a statement of the accesses in it.


FORM: Final = "tileverify: ignore[TV101] -- why this is fine (until 2027-12-31)"

_MARK: Final = re.compile(r"tileverify:\s*ignore\b(?P<rest>.*)", re.DOTALL)
_REST: Final = re.compile(r"\s*\[(?P<codes>[^\]]*)\]\s*(?:--(?P<words>.*))?", re.DOTALL)
_UNTIL: Final = re.compile(r"(?P<reason>.*?)\s*\(\s*until\s+(?P<day>[^)]*?)\s*\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Comment:
    """``column`` counts characters from 0; ``alone``: there is no code on its line."""

    text: str
    line: int
    column: int
    alone: bool


@dataclass(frozen=True, slots=True)
class Comments:
    """Those of one file, and what is wrong with others."""

    rules: tuple[CommentRule, ...] = ()
    problems: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class _Code:
    """Line -> the lines of the simple statement (or of the head of the compound one) that it belongs to; line ->
    the line of the ``def`` whose head, decorators included, it belongs to."""

    statements: Mapping[int, range] = field(default_factory=dict)
    heads: Mapping[int, int] = field(default_factory=dict)


def comments_of(file: str) -> Comments:
    """The suppressions in ``file``, a path as reports spell it; none where it is no readable source."""
    lines = source_text(file)
    text = "\n".join(lines or ())
    if "tileverify" not in text:
        return Comments()
    python = Path(file).suffix.lower() == ".py"
    found = list(_python_comments(text) if python else _line_comments(text))
    code = _code(text) if python else _Code()
    occupied = {each.line for each in found if each.alone}
    rules, problems = [], []
    for comment in found:
        mark = _MARK.search(comment.text)
        if mark is None:
            continue
        rule = _parsed(mark["rest"], file, comment.line)
        if isinstance(rule, str):
            site = SourceSite(file, comment.line, comment.column, "", "")
            problems.append(Finding(TV.SUPPRESSION_MALFORMED, f"this suppression {rule}; write: {FORM}", (site,)))
            continue
        target = comment.line
        if comment.alone:
            below = enumerate((lines or ())[comment.line :], start=comment.line + 1)
            target = next((n for n, line in below if n not in occupied and line.strip()), comment.line)
        beside = code.statements.get(target, range(target, target + 1))
        kernels = frozenset({code.heads[target]} if target in code.heads else {target} - set(code.statements))
        rules.append(CommentRule(rule, frozenset(beside), kernels))
    return Comments(tuple(rules), tuple(problems))


def _parsed(rest: str, file: str, line: int) -> Rule | str:
    """The rule, or what is wrong with it as the end of a sentence."""
    form = _REST.fullmatch(rest)
    if form is None:
        return "cannot be read"
    codes = tuple(code.strip() for code in form["codes"].split(",") if code.strip())
    if wrong := wrong_codes(codes):
        return wrong
    words = (form["words"] or "").strip()
    day = None
    if (until := _UNTIL.fullmatch(words)) is not None:
        words = until["reason"]
        try:
            day = date.fromisoformat(until["day"])
        except ValueError:
            return f"ends on '{until['day']}', which is no day of the form 2027-12-31"
    if not words:
        return "gives no reason"
    if is_placeholder(words):
        return f"gives no reason ('{words}' is a placeholder)"
    return Rule(SuppressionKind.COMMENT, codes, words, day, file, line)


def _python_comments(text: str) -> Iterator[_Comment]:
    lines = text.split("\n")
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                line, column = token.start
                yield _Comment(token.string, line, column, not lines[line - 1][:column].strip())
    except (tokenize.TokenError, SyntaxError):
        return


def _line_comments(text: str) -> Iterator[_Comment]:
    for line, code in enumerate(text.split("\n"), start=1):
        before, slashes, comment = code.partition("//")
        if slashes:
            yield _Comment(comment, line, len(before), not before.strip())


def _code(text: str) -> _Code:
    try:
        tree = syntax_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _Code()
    statements: dict[int, range] = {}
    heads: dict[int, int] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt):
            continue
        lines = _lines_of(node)
        # Inner statements come later in the walk, and are what a comment on their lines is about.
        statements.update(dict.fromkeys(lines, lines))
        if isinstance(node, ast.FunctionDef):
            heads.update(dict.fromkeys(lines, node.lineno))
    return _Code(statements, heads)


def _lines_of(node: ast.stmt) -> range:
    """All lines of a simple statement; those before the body of a compound one, decorators included."""
    first = min([node.lineno, *(each.lineno for each in _decorators(node))])
    inside = [min([each.lineno, *(d.lineno for d in _decorators(each))]) for each in getattr(node, "body", ())]
    if isinstance(node, ast.Match):
        inside = [case.pattern.lineno for case in node.cases]
    last = max(node.lineno, min(inside) - 1) if inside else node.end_lineno or node.lineno
    return range(first, last + 1)


def _decorators(node: ast.stmt) -> list[ast.expr]:
    return list(getattr(node, "decorator_list", ()))


# ------------------------------------------------------------------------------------------------------------- baseline
# A baseline: the findings that were there when it was written.  They do not fail; it can only lose them.
#
# A finding is in it by its file and fingerprint, so it is known wherever its lines move and in whatever launch it
# shows.


SCHEMA: Final = "tileverify/baseline/1"

_GIVEN_UP: Final = frozenset({TV.UNSUPPORTED_OP, TV.BUDGET})
"""Undecided kernels of which not everything was looked at: what else is wrong with them is not known."""


@dataclass(frozen=True, slots=True, order=True)
class KnownFinding:
    """``file`` is relative to the baseline's folder; ``message`` is for people, the rest is compared."""

    file: str
    kernel: str
    code: str
    fingerprint: str
    message: str

    @property
    def key(self) -> tuple[str, str]:
        return self.file, self.fingerprint


@dataclass(frozen=True, slots=True)
class Baseline:
    """``path``: the file it stands in."""

    path: Path
    entries: tuple[KnownFinding, ...]


def read_baseline(path: Path) -> Baseline:
    """The baseline in ``path``.  Raises `ConfigError` for a file that is missing or no baseline."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise ConfigError(f"is no baseline of this version ({SCHEMA})", str(path))
        return Baseline(path, tuple(KnownFinding(**_strings(entry)) for entry in document["findings"]))
    except FileNotFoundError:
        raise ConfigError("there is no such baseline; --update-baseline writes it", str(path)) from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ConfigError(f"is no baseline ({error})", str(path)) from None


def write_baseline(baseline: Baseline) -> None:
    """One line an entry, in order, so that differences are small.  Raises `UsageError` if it cannot be written."""
    lines = (
        json.dumps({name: getattr(entry, name) for name in KnownFinding.__slots__})
        for entry in sorted(baseline.entries)
    )
    findings = "\n  " + ",\n  ".join(lines) + "\n " if baseline.entries else ""
    text = f'{{"schema": "{SCHEMA}",\n "findings": [{findings}]}}\n'
    try:
        write_whole(baseline.path, text)
    except OSError as error:
        raise UsageError(f"cannot write '{baseline.path}': {error.strerror or error}") from None


def first_baseline(path: Path, report: Report) -> Baseline:
    """All findings of ``report`` that would fail it, but for kernels that could not be checked."""
    found = {entry.key: entry for entry in _found(path, report.results)}
    return Baseline(path, tuple(sorted(found.values())))


def shrunk(baseline: Baseline, report: Report) -> Baseline:
    """Without what ``report``, of whole files, shows to be gone; nothing is added.

    What was not looked at stays: files that are no part of the report, kernels that had an error or were given up.
    """
    seen = {entry.key for entry in _found(baseline.path, report.results)}
    folder = baseline.path.parent
    checked, unsure = set[str](), set[tuple[str, str]]()
    for result in report.results:
        file = _relative(result.file, baseline.path)
        checked.add(file)
        if result.verdict is Verdict.ERROR or _given_up(result):
            unsure.add((file, result.kernel))

    def stays(entry: KnownFinding) -> bool:
        if entry.key in seen:
            return True
        if entry.file not in checked:
            return (folder / entry.file).exists()
        return (entry.file, entry.kernel) in unsure or (entry.file, "") in unsure

    return replace(baseline, entries=tuple(filter(stays, baseline.entries)))


def with_baseline(report: Report, baseline: Baseline) -> Report:
    """``report`` with what the baseline knows marked as suppressed."""
    known = {entry.key for entry in baseline.entries}
    why = Suppression(SuppressionKind.BASELINE, f"known in {baseline.path.name}")

    def marked(result: KernelResult, finding: Finding) -> Finding:
        if finding.suppression is not None or (_relative(result.file, baseline.path), finding.fingerprint) not in known:
            return finding
        return replace(finding, suppression=why)

    results = (
        result
        if result.verdict is Verdict.ERROR
        else replace(result, findings=tuple(marked(result, finding) for finding in result.findings))
        for result in report.results
    )
    return replace(report, results=tuple(results))


def _found(path: Path, results: Iterable[KernelResult]) -> Iterator[KnownFinding]:
    """What a baseline can hold: findings that nothing else suppresses."""
    for result in results:
        for finding in result.findings if result.verdict is not Verdict.ERROR else ():
            if finding.suppression is None or finding.suppression.kind is SuppressionKind.BASELINE:
                file = _relative(result.file, path)
                yield KnownFinding(file, result.kernel, finding.code, finding.fingerprint, finding.message)


def _given_up(result: KernelResult) -> bool:
    return result.cut_short or any(finding.code in _GIVEN_UP for finding in result.findings)


def _relative(file: str, baseline: Path) -> str:
    return Path(os.path.relpath(Path(file).resolve(), baseline.parent.resolve())).as_posix()


def _strings(entry: Json) -> dict[str, str]:
    if not isinstance(entry, dict) or not all(isinstance(value, str) for value in entry.values()):
        raise ValueError("an entry of it has values that are no strings")
    return entry
