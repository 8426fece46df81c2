"""A baseline: the findings that were there when it was written.  They do not fail; it can only lose them.

A finding is in it by its file and fingerprint, so it is known wherever its lines move and in whatever launch it shows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ...results import Finding, KernelResult, Report, Suppression, SuppressionKind, Verdict
from ...results.codes import TV
from ...results.documents import Json
from ...system.atomic_file import write_whole
from ...system.errors import ConfigError, UsageError

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
