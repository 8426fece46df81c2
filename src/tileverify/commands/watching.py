"""``check --watch``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import click

from ..frontend.sources.fixed_inputs import fixed_inputs
from ..pipeline.unit_summary import solver_version
from ..reports.text import Detail, summary_line, text_report
from ..results import Finding, KernelResult, Report, Verdict
from ..results.codes import TV
from ..results.conditional import behind_verdict, verdict_word
from ..results.json_report import report_from_json
from ..serving.lsp.concerned import imported
from ..serving.worker.client import SWITCH
from ..system.errors import UsageError
from ..system.own_files import is_installed
from ..system.printable import printable
from ..system.version import __version__
from .shell import emit, use_color

if TYPE_CHECKING:
    from watchfiles import Change

_EXCLUDED: Final = ("format_", "output", "playback", "certificate", "update_baseline")
"""Options of `check` that make something of one run."""
_OWN: Final = ("paths", "watch", "quiet", "verbose", "color", *_EXCLUDED)


def watch_forever(context: click.Context, paths: Sequence[str], everywhere: Sequence[Path], color: str) -> NoReturn:
    """Show a screen for every round until Ctrl-C.  Raises `UsageError` for options that make no sense here."""

    source = click.core.ParameterSource.COMMANDLINE
    for option in context.command.params:
        if option.name in _EXCLUDED and context.get_parameter_source(option.name) is source:
            raise UsageError(f"--watch and {option.opts[-1]} exclude each other")
    watch = Watch(paths, _options(context), everywhere)
    terminal = sys.stdout.isatty()
    for each in watch.rounds():
        what = f"{len(each.checked)} files" if len(each.checked) > 3 else ", ".join(each.checked) or "nothing"
        heading = f"{time.strftime('%H:%M:%S')}  checked {what}; watching (Ctrl-C ends)"
        height = shutil.get_terminal_size().lines if terminal else None
        text = screen(each.report, heading=heading, trouble=each.trouble, color=use_color(color), height=height)
        emit(f"\x1b[2J\x1b[H{text}" if terminal else f"{text}\n")
    raise AssertionError("watching does not end")


def _options(context: click.Context) -> list[str]:
    """The options of this command line, as words for another one."""
    words: list[str] = []
    for option in context.command.params:
        said = context.get_parameter_source(option.name or "") is click.core.ParameterSource.COMMANDLINE
        if not said or option.name in _OWN or not isinstance(option, click.Option):
            continue
        value = context.params[option.name or ""]
        if option.is_flag:
            words.append(option.opts[-1] if value else (option.secondary_opts or option.opts)[-1])
        else:
            for each in value if option.multiple else (value,):
                words += [option.opts[-1], str(each)]
    return words


# ---------------------------------------------------------------------------------------------------------------- watch
# The rounds: run ``check`` on what is concerned, put its results to the others, show them, wait for a change.


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


# -------------------------------------------------------------------------------------------------------- round process
# The process of one round, which may be ended before it is done.


def ran(words: Sequence[str], disturbed: Callable[[], bool] | None = None) -> tuple[int, str] | None:
    """``tileverify WORDS...``: its exit code and what it said on stderr; ``None`` if it was ended, since ``disturbed``,
    which waits a little before it answers, said so."""
    surroundings = {SWITCH: "1", **os.environ}  # the first round starts a worker for the others
    command = [sys.executable, "-m", __package__.split(".")[0], *words]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as told:
        nothing = subprocess.DEVNULL
        process = subprocess.Popen(command, env=surroundings, stdin=nothing, stdout=nothing, stderr=told)
        try:
            while disturbed is not None and process.poll() is None:
                if disturbed():
                    return None
            code = process.wait()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        told.seek(0)
        return code, told.read()


# ------------------------------------------------------------------------------------------------------------- affected
# Which targets a change of files concerns.


SOURCES: Final = frozenset({".py", ".cu", ".cuh", ".h", ".hpp", ".toml", ".tileirbc"})
"""What kernels are made of; other files may be bytecode, too, when they are named."""


def path_of(target: str) -> Path:
    """The file or folder of ``FILE::KERNEL::LAUNCH``."""
    return Path(target.split("::")[0])


def folders_of(targets: Iterable[str], known: Iterable[str]) -> set[Path]:
    """Where what ``targets`` depend on lies: their own folders, and those of modules that they import and that are not
    installed.  ``known``: files below targets that gave results."""
    elsewhere = [Path(entry).resolve() for entry in sys.path if os.path.isdir(entry) and not is_installed(entry)]
    places = [path_of(target) for target in targets]
    files = {file.resolve() for file in (*places, *map(Path, known)) if file.suffix == ".py"}
    modules = [module for file in files for module in imported(file, _text, elsewhere)]
    own = (place if place.is_dir() else place.parent for place in places)
    return {folder.resolve() for folder in (*own, *(module.parent for module in modules))}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def affected(targets: Sequence[str], known: Iterable[str], changed: AbstractSet[Path]) -> tuple[str, ...]:
    """What to check again: whole targets, or files below a folder that is one.

    ``known`` are the files that gave results, as reports spell them; ``changed`` are resolved paths.  A file is
    concerned if it, its specs or what it imports has changed, and, where it cannot be told what it depends on, if any
    source has.
    """
    concerned: dict[str, None] = {}
    files = list(known)
    for target in targets:
        place = path_of(target)
        if not place.is_dir():
            if place.is_file() and _concerns(place, changed):
                concerned[target] = None
            continue
        inside = [file for file in files if Path(file).resolve().is_relative_to(place.resolve())]
        for file in inside:
            if Path(file).is_file() and _concerns(Path(file), changed):
                concerned[file] = None
        seen = {Path(file).resolve() for file in files}
        for path in sorted(changed - seen):
            if path.is_file() and path.is_relative_to(place.resolve()) and path.suffix in (".py", ".cu", ".tileirbc"):
                concerned[str(place / path.relative_to(place.resolve()))] = None
    return tuple(concerned)


def _concerns(file: Path, changed: AbstractSet[Path]) -> bool:
    inputs = fixed_inputs(file)
    if inputs is None or inputs.translated:
        return any(path.suffix in SOURCES for path in changed)
    return any(each.resolve() in changed for each in (file, *inputs.files))


# -------------------------------------------------------------------------------------------------------------- display
# One screen for a round: what is wrong first, then the others in a line each, then the summary.


def screen(report: Report, *, heading: str, trouble: str, color: bool, height: int | None) -> str:
    """Text of at most ``height`` lines (``None``: of any length) that ends with the summary and a newline."""
    first = [printable(heading), ""]
    last = [*([printable(trouble)] if trouble else []), summary_line(report)]
    failing = tuple(each for each in report.results if each.counts_as is not Verdict.PROVED)
    faults = text_report(replace(report, results=failing), detail=Detail.QUIET, color=color).rstrip("\n").split("\n")
    proved = [_line(result) for result in report.results if result.verdict is Verdict.PROVED]
    body = [*faults, *([""] if faults != [""] else []), *proved] if faults != [""] else proved
    room = len(body) if height is None else max(height - len(first) - len(last) - 2, 1)
    if len(body) > room:
        body = [*body[: room - 1], f"... {len(body) - room + 1} more lines: tileverify check"]
    return "\n".join([*first, *body, "", *last]) + "\n"


def _line(result: KernelResult) -> str:
    launch = f" [{result.launch}]" if result.launch else ""
    asked = behind_verdict(result)
    return printable(f"{verdict_word(result):9}  {result.file}::{result.kernel}{launch}{asked and f': {asked}'}")
