"""The rounds: run ``check`` on what is concerned, put its results to the others, show them, wait for a change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...pipeline import solver_version
from ...results import Finding, KernelResult, Report
from ...results.json_report import report_from_json
from ...serving.worker.place import SWITCH
from ...system.errors import UsageError
from ...system.version import __version__
from .affected import affected, folders_of, path_of

if TYPE_CHECKING:
    from watchfiles import Change

_DEBOUNCE_MS: Final = 300
"""Editors write a file in several steps."""
_TICK_MS: Final = 500
"""How long it may take until Ctrl-C is heard."""


@dataclass(frozen=True, slots=True)
class Round:
    """``checked``: the targets of this round; ``trouble``: what it said instead of a report."""

    checked: tuple[str, ...]
    report: Report
    trouble: str = ""


@dataclass
class Watch:
    """``targets`` and ``options`` are those of ``check``, which gets them again in every round.

    ``everywhere``: files that concern all targets, such as that of ``--spec``; each ``pyproject.toml`` does, too.
    """

    targets: Sequence[str]
    options: Sequence[str]
    everywhere: Sequence[Path] = ()
    _results: dict[str, list[KernelResult]] = field(default_factory=dict)
    _findings: list[Finding] = field(default_factory=list)

    def rounds(self) -> Iterator[Round]:
        """The first round at once, another one after every change that matters; never ends by itself.

        Raises `UsageError` without the extra ``watch``, and KeyboardInterrupt.
        """
        try:
            from watchfiles import watch
        except ImportError:
            raise UsageError("--watch needs watchfiles: pip install 'tileverify[watch]'") from None

        def watched(folders: Sequence[Path]) -> Iterator[set[tuple[Change, str]]]:
            changes = watch(
                *folders,
                debounce=_DEBOUNCE_MS,
                rust_timeout=_TICK_MS,
                yield_on_timeout=True,
                recursive=any(path_of(target).is_dir() for target in self.targets),
            )
            next(changes)  # from here on no change is missed, not even while something is checked
            return changes

        folders = self._folders()
        changes = watched(folders)
        yield self.check(tuple(self.targets))
        checked = True
        while True:
            changed: set[tuple[Change, str]] = set()
            if checked and (needed := self._folders()) != folders:  # a source is known, or imports, that was not before
                folders, older, changes = needed, changes, watched(needed)
                changed = next(older)
            changed |= next(changes)
            paths = {Path(name).resolve() for _, name in changed}
            gone = bool(paths) and self.forget()
            checked = bool(concerned := self.concerned(paths))
            if checked:
                yield self.check(concerned)
            elif gone:
                yield Round((), self._whole())

    def forget(self) -> bool:
        """Drop the results of files that are gone; whether there were any."""
        gone = [file for file in self._results if not Path(file).exists()]
        for file in gone:
            del self._results[file]
        return bool(gone)

    def concerned(self, changed: set[Path]) -> tuple[str, ...]:
        """What to check again after ``changed``, resolved paths."""
        everywhere = {path.resolve() for path in self.everywhere}
        if changed & everywhere or any(path.name == "pyproject.toml" for path in changed):
            return tuple(self.targets)
        return affected(self.targets, self._results, changed)

    def check(self, targets: tuple[str, ...]) -> Round:
        """One round; results of files that it is about take the place of older ones."""
        everything = targets == tuple(self.targets)
        # Reports name files from the working folder, so the round's report must lie elsewhere.
        with tempfile.TemporaryDirectory(prefix="tileverify-") as folder:
            file = Path(folder, "report.json")
            command = [sys.executable, "-m", __package__.split(".")[0], "check", "--quiet", *self.options]
            surroundings = {SWITCH: "1", **os.environ}  # the first round starts a worker for the others
            done = subprocess.run(
                [*command, "--format", "json", "--output", str(file), "--", *targets],
                env=surroundings,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
            try:
                report = report_from_json(json.loads(file.read_text(encoding="utf-8")))
            except (OSError, ValueError, KeyError, TypeError):
                return Round(targets, self._whole(), _last_line(done.stderr) or f"check ended with {done.returncode}")
        self._take(report, targets, everything)
        # A file that was changed may hold no kernels; that all of them hold none is worth a word.
        return Round(targets, self._whole(), "" if report.results or not everything else _last_line(done.stderr))

    def _take(self, report: Report, targets: Sequence[str], everything: bool) -> None:
        if everything:
            self._results.clear()
            self._findings.clear()
        asked = {path_of(target).resolve() for target in targets}

        def about(name: str | None) -> bool:
            return name is not None and Path(name).resolve() in asked

        for name in [name for name in self._results if about(name)]:
            del self._results[name]
        self._findings = [each for each in self._findings if not any(about(site.file) for site in each.sites)]
        for result in report.results:
            self._results.setdefault(result.file, []).append(result)
        self._findings += [each for each in report.findings if each not in self._findings]

    def _whole(self) -> Report:
        results = (result for file in sorted(self._results) for result in self._results[file])
        return Report(tuple(results), __version__, solver_version(), findings=tuple(self._findings))

    def _folders(self) -> list[Path]:
        folders = folders_of(self.targets, self._results) | {path.parent for path in self.everywhere}
        return sorted({folder.resolve() for folder in folders if folder.is_dir()})


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
