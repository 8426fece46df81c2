"""The launches of one pytest process and of what it starts: watched, verified, and counted."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from ...hook import imitate_gpu, watch, watch_triton
from ...hook.described_launch import Described
from ...hook.foreign import AfterImport, Grid, JitSignature, TileKernel, TritonSpecialisation
from ...hook.interpreting import Interpreting
from ...hook.launch_hooks import LaunchHooks
from ...hook.triton_launches import TritonHooks
from ...results import Verdict
from ...system.own_files import PACKAGE
from ..recorded import Gpu
from ..recorded_command import RecordOptions, recording_environment
from .judged import NOT_DECIDED, REFUTED, Failure, Judged, LaunchCounts, LaunchEquality, not_passed, unequal
from .stated_references import StatedReference, fitting

if TYPE_CHECKING:
    from ..recorded import LaunchFailure
    from ..recording import Recording
    from .watcher import Watcher

T = TypeVar("T")

_CAPABILITY: Final = (10, 0)
_CONFIGURATIONS: Final = 3
_RECORDED: Final = "_tileverify_record_hook"
"""The package that a recorded program has loaded: it imitates a GPU itself."""


@dataclass(frozen=True, slots=True)
class _SessionData:
    """What one process of several says at its end."""

    counts: LaunchCounts
    tolerated: list[str]
    undecided: list[str]
    conditional: list[str]
    outside: list[Failure]


class LaunchSession:
    """Made before anything of the tests is imported; ``start`` follows once pytest knows all of its options."""

    def __init__(self, *, no_gpu: bool, kernels_run: bool) -> None:
        self.outside: list[Failure] = []
        self.tolerated: list[str] = []
        self.undecided: list[str] = []
        self.conditional: list[str] = []
        self._stated: Sequence[StatedReference] = ()
        self._stated_for_all: Sequence[StatedReference] = ()
        self._made: list[Judged] = []
        self._counts = LaunchCounts()
        self._pid = os.getpid()
        self._strict = False
        self._allowed_kernels: Sequence[str] = ()
        self._folder = tempfile.TemporaryDirectory(prefix="tileverify-pytest-")
        self._no_gpu, self._kernels_run = no_gpu, kernels_run
        self._children: Children | None = None
        self._late = _LateWatcher(self._watcher)
        self._install()

    def _install(self) -> None:
        runs = not self._no_gpu
        interpret = Interpreting(PACKAGE) if self._no_gpu and self._kernels_run else None
        after = AfterImport()
        hooks = LaunchHooks(self._late, runs=runs, configurations=_CONFIGURATIONS, interpret=interpret)
        if self._no_gpu and _RECORDED not in sys.modules:
            imitate_gpu(after, _CAPABILITY, kernels_run=interpret is not None)
        watch(after, hooks)
        watch_triton(after, TritonHooks(self._late, runs=runs, interpret=interpret.triton if interpret else None))
        after.install()

    def _watcher(self) -> Watcher:
        """Loaded with the first launch: a test suite without any pays nothing."""
        from ...pipeline import CheckOptions
        from ...pipeline.verdict_cache import default_folder
        from .watcher import Watcher

        return Watcher(
            self._note,
            CheckOptions(cache=default_folder()),
            lambda kernel: fitting([*self._stated, *self._stated_for_all], kernel),
            architecture=_no_architecture if self._no_gpu else _own_architecture,
            on_device=not self._no_gpu,
            kernels_run=not self._no_gpu or self._kernels_run,
        )

    def start(
        self, *, strict: bool, allowed_kernels: Sequence[str], children: bool, references: Sequence[StatedReference]
    ) -> None:
        """``children``: this process runs tests, whose child processes are watched too.  ``references``: of all
        launches."""
        self._strict, self._allowed_kernels, self._stated_for_all = strict, allowed_kernels, references
        if children:
            gpu = Gpu.REAL if not self._no_gpu else Gpu.INTERPRETED if self._kernels_run else Gpu.NONE
            self._children = Children(Path(self._folder.name), gpu)

    def close(self) -> None:
        """Launches of what pytest runs in from now on are none of this session's."""
        self._late.closed = True
        if self._children is not None:
            self._children.close()
        if os.getpid() == self._pid:
            self._folder.cleanup()

    def _note(self, launch: Judged) -> None:
        if os.getpid() != self._pid:  # a fork of this process: its parent reads what it leaves
            if self._children is not None:
                self._children.leave(launch)
            return
        self._made.append(launch)

    def _taken(self) -> list[Judged]:
        """The launches since the last time that it was asked."""
        if os.getpid() != self._pid:
            return []
        made, self._made = self._made, []
        if self._children is not None:
            made += map(self._from_a_child, self._children.launches())
        for launch in made:
            self._counts.add(launch)
        return made

    def _from_a_child(self, launch: Judged) -> Judged:
        """A launch of a process that was not forked is known by its record, and compared with nothing."""
        stated = None if launch.equality is not None else fitting([*self._stated, *self._stated_for_all], launch.kernel)
        if stated is None:
            return launch
        said = f"'{launch.kernel}' and {stated.name}: not decided: it was launched in a process that a test started"
        return replace(launch, equality=LaunchEquality(NOT_DECIDED, said, said, 0.0))

    def state(self, references: Sequence[StatedReference]) -> None:
        """What a test states for the kernels that it launches from now on; it goes before what holds for all."""
        self._stated = references

    def not_passed(self, allow: Sequence[str]) -> list[Failure]:
        """What fails one phase of a test; ``allow``: the verdicts that the test itself lets pass."""
        made = self._taken()
        allowed = {"proved", *allow} | (set() if self._strict else {"undecided"})
        bad = [
            each
            for each in not_passed(made, frozenset(allowed))
            if each.verdict == REFUTED or not any(fnmatchcase(each.kernel, name) for name in self._allowed_kernels)
        ]
        for launch in not_passed(made, frozenset({"proved"})):
            if launch not in bad and launch.sentence not in self.tolerated:
                self.tolerated.append(launch.sentence)
        for launch in made:
            if launch.conditional and launch.sentence not in self.conditional:
                self.conditional.append(launch.sentence)
            if (found := launch.equality) is not None and found.answer == NOT_DECIDED:
                self.undecided += [found.sentence] if found.sentence not in self.undecided else []
        return [*(Failure(each.sentence, each.report) for each in bad), *unequal(made)]

    def outside_tests(self) -> None:
        """Note what was launched by no test: while test files were imported, say."""
        self._stated = ()
        self.outside += self.not_passed(())

    def data(self) -> dict[str, object]:
        """For the process that hands out the tests, as plain data."""
        return asdict(_SessionData(self._counts, self.tolerated, self.undecided, self.conditional, self.outside))

    def add_all(self, data: object) -> None:
        """The `data` of another process."""
        other = msgspec.convert(data, _SessionData)
        self._counts.add_all(other.counts)
        self.tolerated += [sentence for sentence in other.tolerated if sentence not in self.tolerated]
        self.undecided += [sentence for sentence in other.undecided if sentence not in self.undecided]
        self.conditional += [sentence for sentence in other.conditional if sentence not in self.conditional]
        known = {launch.sentence for launch in self.outside}
        self.outside += [launch for launch in other.outside if launch.sentence not in known]

    def lines(self) -> list[str]:
        """What was counted."""
        return [line for line in (self._counts.line(), self._counts.compared()) if line]


class _LateWatcher:
    """An observer that is made with the first launch."""

    def __init__(self, make: Callable[[], Watcher]) -> None:
        self.closed = False
        self._make = make
        self._watcher: Watcher | None = None

    def launch(self, kernel: TileKernel, grid: Grid, arguments: Sequence[object], how: str) -> Exception | None:
        return self._tell(lambda watcher: watcher.launch(kernel, grid, arguments, how), None)

    def traced(
        self,
        kernel: TileKernel,
        grid: Grid,
        signature: JitSignature,
        described: Sequence[Described],
        alias: Sequence[Sequence[str]],
        how: str,
    ) -> Exception | None:
        return self._tell(lambda watcher: watcher.traced(kernel, grid, signature, described, alias, how), None)

    def triton_room(self, function: FunctionType) -> bool:
        return not self.closed

    def triton_launch(
        self,
        specialisation: TritonSpecialisation,
        grid: Grid,
        described: Sequence[Described],
        arrays: Sequence[object],
    ) -> bool:
        return self._tell(lambda watcher: watcher.triton_launch(specialisation, grid, described, arrays), False)

    def triton_failed(self, function: FunctionType | None, error: Exception) -> None:
        self._tell(lambda watcher: watcher.triton_failed(function, error), None)

    def _tell(self, tell: Callable[[Watcher], T], otherwise: T) -> T:
        if self.closed:
            return otherwise
        if self._watcher is None:
            self._watcher = self._make()
        return tell(self._watcher)


def _no_architecture() -> str | None:
    return None


def _own_architecture() -> str | None:
    from cuda.tile._compile import get_sm_arch

    architecture: str = get_sm_arch()
    return architecture


# ------------------------------------------------------------------------------------------------------------- children
# Launches in processes that tests start: forks leave verdicts, all others what a recording is made of.


_VERDICTS: Final = "verdicts"
_EVERYTHING: Final = RecordOptions(specialisations=10**9, launches=10**9, repeats=True)


class Children:
    """``folder`` is this process's own; ``gpu``: what launches do in child processes.

    The environment makes every Python that is started from here write down its launches.
    """

    def __init__(self, folder: Path, gpu: Gpu) -> None:
        self._folder = folder = folder.resolve()
        self._journals = folder / "journals"
        self._verdicts = folder / _VERDICTS
        for each in (self._journals, self._verdicts, folder / "startup"):
            each.mkdir()
        new = recording_environment(self._journals, folder / "startup", gpu, _EVERYTHING)
        self._recording: Recording | None = None
        self._before = {name: os.environ.get(name) for name in new}
        os.environ.update(new)

    def close(self) -> None:
        """Put the environment back as it was."""
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def leave(self, launch: Judged) -> None:
        """Called in a fork: write down what it launched."""
        with open(self._verdicts / f"{os.getpid()}.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(launch.data()) + "\n")

    def launches(self) -> list[Judged]:
        """What child processes launched since the last time, verified."""
        found = []
        for path in sorted(self._verdicts.iterdir()):
            found += [Judged.of(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
            path.unlink()
        return found + self._recorded()

    def _recorded(self) -> list[Judged]:
        if not any(path.stat().st_size for path in self._journals.glob("*.jsonl")):
            return []
        from ...pipeline import CheckOptions, check_paths
        from ...pipeline.verdict_cache import default_folder
        from ..recording import Recording
        from .judged import judged

        if self._recording is None:
            self._recording = Recording()
        told = len(self._recording.failures)
        made = self._recording.read_journals(self._journals, _EVERYTHING.launches)
        lost = [_unseen(each) for each in self._recording.failures[told:] if each["outcome"] == "failed"]
        if not made:
            return lost
        since = Recording(bytecode=self._recording.bytecode)
        for stem, launch in made:
            known = self._recording.specialisations[stem]
            since.specialisations.setdefault(stem, {**known, "launches": []})["launches"].append(launch)
        folder = self._folder / "made"
        folder.mkdir()
        try:
            since.write(folder, {})
            report = check_paths([str(folder)], options=CheckOptions(cache=default_folder()))
        finally:
            shutil.rmtree(folder)
        names = {f"{folder / entry['bytecode']}": entry["kernel"] for entry in since.specialisations.values()}
        results = [
            replace(each, kernel=names.get(str(Path(each.file).resolve()), each.kernel)) for each in report.results
        ]
        seconds = [sum((r.time_ms.decode, r.time_ms.execute, r.time_ms.prove)) / 1000 for r in results]
        return lost + [judged(each, new=True, seconds=spent) for each, spent in zip(results, seconds, strict=True)]


def _unseen(failure: LaunchFailure) -> Judged:
    """A launch that was made and could not be written down."""
    sentence = f"'{failure['kernel']}' was not verified: {failure['type']}: {failure['message']}"
    return Judged(str(failure["kernel"]), Verdict.ERROR.value, sentence, sentence, True, 0.0)
