"""The rounds: run ``check`` on what is concerned, put its results to the others, show them, wait for a change."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...pipeline import solver_version
from ...results import Finding, KernelResult, Report
from ...results.codes import TV
from ...results.json_report import report_from_json
from ...system.errors import UsageError
from ...system.version import __version__
from .affected import affected, folders_of, path_of
from .round_process import ran

if TYPE_CHECKING:
    from watchfiles import Change

_DEBOUNCE_MS: Final = 300
"""Editors write a file in several steps."""
_TICK_MS: Final = 500
"""How long it may take until Ctrl-C is heard."""
_QUIET: Final = 10
"""Ticks without a change until what was too much is tried harder."""
_DEEPER: Final = 4
_MOST_EFFORT: Final = 64
_TOO_MUCH: Final = (TV.BUDGET, TV.ARITHMETIC_OUT_OF_REACH)


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
        checked, quiet, effort = True, 0, 1
        while True:
            changed: set[tuple[Change, str]] = set()
            if checked and (needed := self._folders()) != folders:  # a source is known, or imports, that was not before
                folders, older, changes = needed, changes, watched(needed)
                changed = next(older)
            changed |= next(changes)
            quiet = 0 if changed else quiet + 1
            if quiet > _QUIET and effort < _MOST_EFFORT and (open_ := self.open()):
                effort, quiet = effort * _DEEPER, 0

                def disturbed() -> bool:
                    changed.update(next(changes))  # noqa: B023  # asked in this turn of the loop alone
                    return bool(changed)  # noqa: B023

                if (done := self.check_harder(open_, effort, disturbed)) is not None:
                    yield done
            paths = {Path(name).resolve() for _, name in changed}
            gone = bool(paths) and self.forget()
            checked = bool(concerned := self.concerned(paths))
            if checked:
                effort = 1
                yield self.check(concerned)
            elif gone:
                yield Round((), self._whole())

    def open(self) -> tuple[str, ...]:
        """What to try harder while nothing changes: targets with kernels whose proof was too much."""
        hard = {
            Path(file).resolve(): file
            for file, results in self._results.items()
            if any(finding.code in _TOO_MUCH for result in results for finding in result.findings)
        }
        named = [target for target in self.targets if path_of(target).resolve() in hard]
        known = {path_of(target).resolve() for target in named}
        return (*named, *(file for path, file in hard.items() if path not in known))

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
        done = self.check_harder(targets, 1, None)
        assert done is not None
        return done

    def check_harder(self, targets: tuple[str, ...], effort: int, disturbed: Callable[[], bool] | None) -> Round | None:
        """The same with ``effort`` times that of the options; ``None`` if it was ended, since it was ``disturbed``."""
        everything = targets == tuple(self.targets) and effort == 1
        # Reports name files from the working folder, so the round's report must lie elsewhere.
        with tempfile.TemporaryDirectory(prefix="tileverify-") as folder:
            file = Path(folder, "report.json")
            harder = [] if effort == 1 else ["--effort", str(effort * self._own_effort())]
            output = ["--format", "json", "--output", str(file)]
            done = ran(["check", "--quiet", *self.options, *harder, *output, "--", *targets], disturbed)
            if done is None:
                return None
            code, told = done
            try:
                report = report_from_json(json.loads(file.read_text(encoding="utf-8")))
            except (OSError, ValueError, KeyError, TypeError):
                return Round(targets, self._whole(), _last_line(told) or f"check ended with {code}")
        self._take(report, targets, everything)
        # A file that was changed may hold no kernels; that all of them hold none is worth a word.
        return Round(targets, self._whole(), "" if report.results or not everything else _last_line(told))

    def _own_effort(self) -> float:
        words = list(self.options)
        return float(words[words.index("--effort") + 1]) if "--effort" in words else 1

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
