"""Verdicts by source file: an unchanged file is answered without being run, compiled or proved again.

The key is everything that the verdicts depend on beside files: the options, the versions of Python, tileverify, the
solver and the compiler, the variables that the compiler and Python read, and where modules are looked for.  An entry
holds the hash of every file that was read for it (`frontend.sources.fixed_inputs`), as it was read, and what must not
be there.  Only files all of whose kernels have a verdict that would come again are kept.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Final

import msgspec

from ..contract.launch import KernelUnit
from ..frontend.sources.bytecode_file import translation
from ..frontend.sources.discover import KnownFile, Skip, SourceFailure, discover_unless
from ..frontend.sources.fixed_inputs import FixedInputs, fixed_inputs, importable_of
from ..frontend.sources.import_purity import is_untouched
from ..results import KernelResult, Verdict
from ..results.codes import TV
from ..results.json_report import result_from_json, result_to_json
from ..system.atomic_file import read_private, write_private
from ..system.errors import UnsupportedOperation
from ..system.own_files import foreign_folders, is_installed
from ..system.readings import Readings, content, sha256
from .options import CheckOptions
from .unit_summary import solver_version, summary_of
from .verdict_cache import (
    KEPT,
    Illustration,
    digest_of,
    generation,
    load_illustrations,
    store_illustrations,
    would_come_again,
)

_PACKAGES: Final = ("cuda-tile", "cuda-tile-preview", "nvidia-cuda-tileiras")
_VARIABLES: Final = ("CUDA_TILE", "PYTHON")
"""What the names of variables have in them that change what a source compiles to, or what importing it does."""


@dataclass(frozen=True, slots=True)
class _State:
    """What the results of a file rest on.  ``real``: where it lies; ``files``: all that was read, with the hashes
    (``None``: it was not there); ``folder``: the file's own, where modules are looked for; ``tops``: their names;
    ``translation``: what nvcc made bytecode from."""

    real: str
    files: list[tuple[str, str | None]]
    folder: str | None
    tops: list[str]
    translation: str | None = None


@dataclass(frozen=True, slots=True)
class _KnownFile:
    """A file of the cache; ``results`` as in the report."""

    state: _State
    results: list[dict[str, object]]
    digest: str


@dataclass
class KnownFiles:
    """``target``: the kernel and launch that were asked for (``None``: all).  ``illustrated``: with what pages show;
    ``timed``: there is a time limit.

    Made before a file is looked at."""

    folder: Path
    solver: str
    options: Mapping[str, object]
    target: tuple[str | None, str | None] = (None, None)
    illustrated: bool = False
    timed: bool = False
    _surroundings: list[object] = field(init=False)
    _foreign: list[Path] = field(init=False)
    _readings: Readings = field(init=False, default_factory=Readings)
    _asked: list[Path | None] = field(init=False, default_factory=list)
    _hashes: dict[str, str | None] = field(init=False, default_factory=dict)
    _names: dict[str, list[str] | None] = field(init=False, default_factory=dict)
    _translations: dict[Path, str | None] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._surroundings = surroundings()
        self._foreign = list(foreign_folders())

    def unknown(self, targets: Sequence[str], skip: Skip) -> Iterator[KernelUnit | SourceFailure | KernelResult]:
        """What has to be verified under ``targets``, and in its place the results of what is known."""
        for found in discover_unless(self.load, targets, skip=skip):
            if isinstance(found, KnownFile):
                self._asked += [None] * len(found.answers)
                yield from found.answers
            else:
                self._asked.append(found.file)
                yield found

    def learn(self, results: Sequence[KernelResult]) -> None:
        """Keep the results of all that `unknown` has given, in its order."""
        by_file: dict[Path, list[KernelResult]] = {}
        for file, result in zip(self._asked, results, strict=True):
            if file is not None:
                by_file.setdefault(file, []).append(result)
        around = (self._surroundings, self._foreign) == (surroundings(), list(foreign_folders()))
        if around and compiler_agrees() and is_untouched():
            for file, its_own in by_file.items():
                self.store(file, its_own)

    def load(self, path: Path) -> tuple[KernelResult, ...] | None:
        """The results of an earlier run on exactly this file; ``None`` if there are none."""
        if path.suffix == ".cu":  # what it is compiled from is looked at before, and again behind
            self._translations[path] = translation(path)
        try:
            # Python's own JSON: names of files may hold half a character.
            entry = msgspec.convert(json.loads(read_private(self._path(path))), _KnownFile)
            if entry.digest != _digest(entry.state, entry.results):
                return None
            if not self._is_as_it_was(path, entry.state):
                return None
            results = tuple(replace(result_from_json(each), cached=True) for each in entry.results)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        if any(result.verdict not in KEPT for result in results):
            return None
        return self._with_pages(path, entry.digest, results) if self.illustrated else results

    def _with_pages(
        self, path: Path, digest: str, results: tuple[KernelResult, ...]
    ) -> tuple[KernelResult, ...] | None:
        """The results of the entry with this digest, with the details that were kept of them."""
        found = load_illustrations(self._path(path), digest, len(results))
        if found is None:
            return None
        pairs = zip(results, found, strict=True)
        return tuple(replace(result, details=each.details, playback=each.playback) for result, each in pairs)

    def _is_as_it_was(self, path: Path, state: _State) -> bool:
        return (
            os.path.realpath(path) == state.real
            and state.translation == self._translations.get(path)
            and self._finds_installed(state, self._names_in)
            and all(self._hash_of(name) == known for name, known in state.files)
        )

    def _hash_of(self, name: str) -> str | None:
        """Many files share what they depend on; a run looks once."""
        if name not in self._hashes:
            self._hashes[name] = _hash_of(Path(name))
        return self._hashes[name]

    def _names_in(self, folder: str) -> list[str] | None:
        if folder not in self._names:
            self._names[folder] = _names_in(folder)
        return self._names[folder]

    def store(self, path: Path, results: Sequence[KernelResult]) -> None:
        """Keep the results of ``path``, which are all of its results, if another run would give them again."""
        if not results or not all(would_come_again(result, timed=self.timed) for result in results):
            return
        # What is undecided as there is no rule for an op has nothing to be shown.
        bare = [each for each in results if each.details is None and each.verdict is not Verdict.UNDECIDED]
        if self.illustrated and bare:
            return
        pages = [Illustration(each.details, each.playback) for each in results]
        state = self._state(path)
        if state is None:
            return
        documents: list[dict[str, object]] = [result_to_json(result) for result in results]
        digest = _digest(state, documents)
        entry = {"state": asdict(state), "results": documents, "digest": digest}
        with contextlib.suppress(OSError):
            write_private(self._path(path), json.dumps(entry))
            if self.illustrated:
                store_illustrations(self._path(path), digest, pages)

    def _state(self, path: Path) -> _State | None:
        """All that the results of ``path`` rest on; ``None`` where that cannot be told, or has changed meanwhile."""
        inputs = fixed_inputs(path)
        if inputs is None or not self._ran_as_expected(path, inputs):
            return None
        files = []
        for each in inputs.files:
            now = _hash_of(each)
            if now != self._readings.digest(each) or (now is None and self._readings.was_read(each)):
                return None
            files.append((str(each.absolute()), now))
        folder = None if inputs.folder is None else str(inputs.folder)
        made_from = translation(path) if inputs.translated else None
        if made_from != self._translations.get(path) or (inputs.translated and made_from is None):
            return None
        state = _State(os.path.realpath(path), files, folder, list(inputs.modules), made_from)
        return state if self._finds_installed(state, _names_in) else None

    def _finds_installed(self, state: _State, names_in: Callable[[str], list[str] | None]) -> bool:
        """Whether no folder that is looked into before the installed packages has a module of their names."""
        folders = [state.folder] if state.folder is not None else []
        folders += map(str, self._foreign)
        found = [names_in(folder) for folder in folders]
        return all(names is not None and not importable_of(names, top) for names in found for top in state.tops)

    def _ran_as_expected(self, path: Path, inputs: FixedInputs) -> bool:
        """Whether the modules that ran are those that the text speaks of, none from elsewhere, none from before."""
        expected = {each.resolve() for each in inputs.sources}
        return not expected or self._readings.imported.get(path.resolve()) == expected

    def _path(self, path: Path) -> Path:
        # Reports name files as they were spelled, relative to the working folder.
        key = digest_of([str(path), str(Path.cwd()), list(self.target), dict(self.options), self._surroundings])
        return self.folder / generation(self.solver) / "files" / f"{key}.json"


def _digest(state: _State, results: list[dict[str, object]]) -> str:
    return digest_of([asdict(state), results])


def surroundings() -> list[object]:
    """What verdicts depend on beside files and options: versions, variables, and where modules are looked for."""
    variables = {name: value for name, value in os.environ.items() if any(each in name for each in _VARIABLES)}
    versions = [_version(package) for package in _PACKAGES]
    installed = [entry for entry in sys.path if is_installed(entry)]
    return [sys.version, list(sys.flags), installed, versions, variables]


def compiler_agrees() -> bool:
    """Whether the compiler that is loaded is the installed one, and has read the variables as they are now.

    It reads them once, when it is loaded, which may have been before somebody changed them.
    """
    compiler, flags = sys.modules.get("cuda.tile"), sys.modules.get("cuda.tile._debug")
    if compiler is None or compiler.__file__ is None:
        return True
    for name, value in vars(flags).items() if flags is not None else ():
        if "CUDA_TILE" in name:
            now = os.environ.get(name)
            if value != ((now or "0") == "1" if isinstance(value, bool) else now):
                return False
    with contextlib.suppress(metadata.PackageNotFoundError):
        installed = metadata.distribution("cuda-tile").locate_file("cuda/tile/__init__.py")
        return os.path.realpath(str(installed)) == os.path.realpath(compiler.__file__)
    return False


def target_of(targets: Sequence[str]) -> tuple[str | None, str | None] | None:
    """The kernel and launch that ``targets`` are restricted to; ``None`` where a file may be asked for twice."""
    if len(targets) == 1:
        kernel, launch, *_ = [*targets[0].split("::")[1:], None, None]
        return kernel, launch
    places = [Path(target).resolve() for target in targets]
    nested = any(one.is_relative_to(other) for one in places for other in places if one is not other)
    named = any("::" in target for target in targets)
    return None if nested or named or len(set(places)) < len(places) else (None, None)


def _version(package: str) -> list[str] | None:
    """The version, and the hash of the list of a package's files, which has their hashes."""
    try:
        found = metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return None
    return [found.version, sha256((found.read_text("RECORD") or "").encode())]


def _hash_of(path: Path) -> str | None:
    try:
        return sha256(content(path))
    except OSError:
        return None


def _names_in(folder: str) -> list[str] | None:
    """What a folder holds; ``None`` for an archive, into which nobody looks."""
    try:
        return os.listdir(folder)
    except NotADirectoryError:
        return None
    except OSError:
        return []


# ------------------------------------------------------------------------------------------------------ obligation list
# What would be asked of a launch, counted by code, and what an earlier run knows of the answers.


@dataclass(frozen=True, slots=True)
class CountedObligations:
    """``counts``: obligations by code, under the launch's own contract.  ``known``: the verdict of an earlier run on
    exactly this, ``None`` if it is not kept.  ``problem``: why nothing can be asked."""

    counts: Mapping[TV, int]
    known: KernelResult | None = None
    problem: str | None = None

    def came_to(self, code: TV) -> str | None:
        """``hold`` where all of a code do, ``broken`` where one does not; ``None``: the verdict does not tell."""
        if self.known is None:
            return None
        if self.known.verdict is Verdict.PROVED:
            return "hold"
        broken = any(finding.code == code and finding.refutes for finding in self.known.findings)
        return "broken" if broken else None


def counted_obligations(unit: KernelUnit, options: CheckOptions) -> CountedObligations:
    """The obligations of a compiled kernel, none of which is decided here.

    Raises `SpecError` for a launch that does not fit the kernel.
    """
    from ..frontend.bytecode import decode
    from ..verifier.attempt import Attempt, VerifyOptions
    from ..verifier.budgets import KERNEL_EFFORT
    from ..verifier.effort import ResourceBudget
    from ..verifier.prover import Prover
    from ..verifier.smt import SolverContext
    from .verdict_cache import ResultCache

    try:
        summary = summary_of(decode(unit.bytecode, file=str(unit.file)), unit)
    except UnsupportedOperation as error:
        return CountedObligations({}, problem=error.message or f"no rule for the operation {error.op}")
    attempt = Attempt.of(summary, unit.launch, VerifyOptions(), started=0.0)
    prover = Prover.of(attempt, SolverContext(0, effort=ResourceBudget(KERNEL_EFFORT)))
    prover.prepare()
    counts = Counter(obligation.code for obligation in prover.kernel.obligations())
    own = options.of(unit.file)
    known = None if own.cache is None else ResultCache(own.cache, solver_version()).load(unit, own.decisive)
    return CountedObligations(dict(sorted(counts.items())), known)
