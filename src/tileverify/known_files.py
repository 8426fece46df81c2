"""Verdicts by source file: an unchanged file is answered without being run, compiled or proved again.

The key is everything that the verdicts depend on: the contents of the source, its specs and what it imports (see
`frontend.sources.fixed_inputs`), the options, and the versions of tileverify, the solver and the compiler.  Only files
all of whose kernels are `proved` or `refuted` are kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from .atomic_file import write_whole
from .cache import KEPT, digest_of, generation
from .frontend.sources.discover import Answered, Skip, SourceFailure, discover_unless
from .frontend.sources.fixed_inputs import fixed_inputs
from .frontend.sources.launch import KernelUnit
from .reports.json_report import result_from_json, result_to_json
from .results import KernelResult

_PACKAGES: Final = ("cuda-tile", "nvidia-cuda-tileiras")


@dataclass
class KnownFiles:
    """``target``: the kernel and launch that were asked for (``None``: all)."""

    folder: Path
    solver: str
    options: Mapping[str, Any]
    target: tuple[str | None, str | None] = (None, None)
    _versions: list[str | None] = field(init=False)
    _asked: list[Path | None] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._versions = [_version(package) for package in _PACKAGES]

    def unknown(self, targets: Sequence[str], skip: Skip) -> Iterator[KernelUnit | SourceFailure | KernelResult]:
        """What has to be verified under ``targets``, and in its place the results of what is known."""
        for found in discover_unless(self.load, targets, skip=skip):
            if isinstance(found, Answered):
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
        for file, its_own in by_file.items():
            self.store(file, its_own)

    def load(self, path: Path) -> tuple[KernelResult, ...] | None:
        """The results of an earlier run on exactly this file; ``None`` if there are none."""
        try:
            entry = json.loads(self._path(path).read_text(encoding="utf-8"))
            if entry["digest"] != digest_of([entry["inputs"], entry["results"]]):
                return None
            if any(_fingerprint(Path(name)) != known for name, known in entry["inputs"]):
                return None
            results = tuple(replace(result_from_json(each), cached=True) for each in entry["results"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return results if all(result.verdict in KEPT for result in results) else None

    def store(self, path: Path, results: Sequence[KernelResult]) -> None:
        """Keep the results of ``path``, which are all of its results, if another run would give them again."""
        if not results or any(result.verdict not in KEPT for result in results):
            return
        inputs = fixed_inputs(path)
        if inputs is None:
            return
        known = [[str(each.absolute()), _fingerprint(each)] for each in inputs]
        documents = [result_to_json(result) for result in results]
        entry = {"inputs": known, "results": documents, "digest": digest_of([known, documents])}
        file = self._path(path)
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, json.dumps(entry))

    def _path(self, path: Path) -> Path:
        # Reports name files as they were spelled, relative to the working folder.
        key = digest_of([str(path), str(Path.cwd()), list(self.target), dict(self.options), self._versions])
        return self.folder / generation(self.solver) / "files" / f"{key}.json"


def target_of(targets: Sequence[str]) -> tuple[str | None, str | None] | None:
    """The kernel and launch that ``targets`` are restricted to; ``None`` where a file may be asked for twice."""
    if len(targets) == 1:
        kernel, launch, *_ = [*targets[0].split("::")[1:], None, None]
        return kernel, launch
    places = [Path(target).resolve() for target in targets]
    nested = any(one.is_relative_to(other) for one in places for other in places if one is not other)
    named = any("::" in target for target in targets)
    return None if nested or named or len(set(places)) < len(places) else (None, None)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _fingerprint(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
