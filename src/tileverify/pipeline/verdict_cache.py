"""Verdicts of earlier runs, on disk, with what pages show beside them.

The key is everything that a verdict depends on: the bytecode, the launch spec and the meaning of the parameters, the
options, the solver's version, and a digest of tileverify's own source, so that a changed prover never sees the
answers of another one.  What was undecided within a time limit is not kept: it depends on the machine's speed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from ..contract.launch import KernelUnit, LaunchSpec
from ..results import KernelResult, PlaybackFile, Verdict
from ..results.details import KernelDetails
from ..results.json_report import result_from_json, result_to_json
from ..system.atomic_file import is_private, read_private, write_private
from ..system.errors import SpecError
from ..system.own_files import PACKAGE, own_sources
from ..verifier.certificate.launches import essence, launch_from_json, launch_to_json

KEPT: Final = (Verdict.PROVED, Verdict.REFUTED, Verdict.UNDECIDED)
_STALE_AFTER_S: Final = 30 * 24 * 3600

MOST_BYTES: Final = 1 << 30
"""Of all verdicts; looked at once a process, when it first writes one, and then a quarter is made free."""

_looked_at: set[Path] = set()

Canonical: TypeAlias = "str | int | list[Canonical] | None"
"""A JSON value that is equal exactly for equal inputs; ``bool`` is an ``int``."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A file of the cache.  ``result``: a `_KeptResult` as it was written, of which ``digest`` is."""

    key: str
    digest: str
    result: dict[str, object]


@dataclass(frozen=True, slots=True)
class _KeptResult:
    """``verdict``: as in the report; ``launch``: as in a certificate."""

    verdict: dict[str, object]
    launch: dict[str, object] | None


def default_folder() -> Path:
    """``$TILEVERIFY_CACHE_DIR``, or ``tileverify`` in the user's cache folder as the platform has it."""
    if chosen := os.environ.get("TILEVERIFY_CACHE_DIR"):
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "tileverify"


@dataclass(frozen=True, slots=True)
class ResultCache:
    """One JSON file a verdict, under a folder for each version of prover and solver.

    A file that is damaged, or belongs to another key, counts as absent, and so does everything where others may write.
    A cache that cannot be written is no error.
    """

    folder: Path
    solver: str
    most_bytes: int = MOST_BYTES

    def load(self, unit: KernelUnit, options: Mapping[str, object]) -> KernelResult | None:
        """The verdict of an earlier run on exactly this."""
        if not is_private(self.folder):
            return None
        key = _key(unit, options)
        try:
            # Python's own JSON: names of files may hold half a character.
            entry = msgspec.convert(json.loads(read_private(self._path(key))), _Kept)
            if entry.key != key or entry.digest != digest_of(entry.result):
                return None
            kept = msgspec.convert(entry.result, _KeptResult)
            result = result_from_json(kept.verdict)
            launch = None if kept.launch is None else launch_from_json(kept.launch, unit.launch.kernel)
        except (OSError, ValueError, KeyError, TypeError, RecursionError, SpecError):
            return None
        return dataclasses.replace(result, cached=True, proved_launch=launch) if result.verdict in KEPT else None

    def answers(self, unit: KernelUnit, options: Mapping[str, object], *, illustrated: bool) -> bool:
        """Whether `load` gives a verdict on this, and `illustration` what pages show of it, if that is wanted."""
        known = self.load(unit, options)
        return known is not None and not (illustrated and self.illustration(unit, options, known) is None)

    def store(
        self, unit: KernelUnit, options: Mapping[str, object], result: KernelResult, *, timed: bool = False
    ) -> None:
        """Keep ``result`` if it is a verdict that another run would reach as well; ``timed``: within a time limit."""
        if not would_come_again(result, timed=timed) or not is_private(self.folder):
            return
        key = _key(unit, options)
        document = {"verdict": result_to_json(result), "launch": _launch_to_json(result.proved_launch)}
        entry = {"key": key, "digest": digest_of(document), "result": document}
        path = self._path(key)
        with contextlib.suppress(OSError):
            if not path.parent.parent.exists():
                self._remove_stale()
            if self.folder not in _looked_at:
                _looked_at.add(self.folder)
                self._shrink()
            write_private(path, json.dumps(entry))

    def illustration(self, unit: KernelUnit, options: Mapping[str, object], known: KernelResult) -> Illustration | None:
        """What pages show of ``known``, which `load` gave, if an earlier run kept that of this very verdict."""
        found = load_illustrations(self._path(_key(unit, options)), _digest_of(known), 1)
        return None if found is None else found[0]

    def illustrate(
        self, unit: KernelUnit, options: Mapping[str, object], result: KernelResult, *, timed: bool = False
    ) -> None:
        """Keep the details of ``result``, whose verdict was given to `store`, with the files' names as they were
        there."""
        if result.details is not None and would_come_again(result, timed=timed) and is_private(self.folder):
            with contextlib.suppress(OSError):
                path = self._path(_key(unit, options))
                store_illustrations(path, _digest_of(result), [Illustration(result.details)])

    def _path(self, key: str) -> Path:
        return self.folder / generation(self.solver) / key[:2] / f"{key}.json"

    def _shrink(self) -> None:
        """The verdicts that were written first go, where there are too many."""
        found = []
        generations = [each for each in self.folder.glob("*") if _is_generation(each.name)]
        for path in (path for each in generations for path in each.glob("*/*") if path.suffix in (".json", SUFFIX)):
            with contextlib.suppress(FileNotFoundError):  # another process makes room, too
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in found)
        if total <= self.most_bytes:
            return
        for _, size, path in sorted(found):
            if total <= self.most_bytes * 3 // 4:
                break
            path.unlink(missing_ok=True)
            total -= size

    def _remove_stale(self) -> None:
        """Runs once a generation: folders of provers that nobody has used for a month."""
        if not self.folder.is_dir():
            return
        for old in self.folder.iterdir():
            if old.is_dir() and _is_generation(old.name) and time.time() - old.stat().st_mtime > _STALE_AFTER_S:
                shutil.rmtree(old, ignore_errors=True)


def would_come_again(result: KernelResult, *, timed: bool) -> bool:
    """Whether another run on the same would give this verdict: the solver's limits are counts, a time limit is not."""
    return result.verdict in KEPT and not (timed and result.verdict is Verdict.UNDECIDED)


def _digest_of(result: KernelResult) -> str:
    """Of what a verdict says that drawings rest on: its findings with their witnesses, and the launch of its example.

    Times and what else is looked up anew differ from run to run.
    """
    said = result_to_json(dataclasses.replace(result, second_reading=None, written=None))
    kept = {name: said[name] for name in ("verdict", "requires", "limits", "findings", "stated", "assumes")}
    return digest_of([kept, _launch_to_json(result.proved_launch)])


def _launch_to_json(launch: LaunchSpec | None) -> dict[str, object] | None:
    """``None`` too for a launch that has no words that read back as the same."""
    if launch is None:
        return None
    with contextlib.suppress(SpecError):
        document = launch_to_json(launch)
        if essence(launch_from_json(document)) == essence(launch):
            return dict(document)
    return None


def _key(unit: KernelUnit, options: Mapping[str, object]) -> str:
    parts = {
        "bytecode": hashlib.sha256(unit.bytecode).hexdigest(),
        "symbol": unit.symbol,
        "launch": _canonical(unit.launch),
        "parameters": _canonical(unit.parameters),
        "options": _canonical(options),
    }
    return digest_of(parts)


def digest_of(value: object) -> str:
    """SHA-256 of a JSON value, in hexadecimal."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _canonical(value: object) -> Canonical:
    """Types are named, sets are sorted."""
    match value:
        case enum.Enum():
            return [type(value).__name__, value.name]
        case None | bool() | int() | str():
            return value
        case float():
            return ["float", value.hex()]
        case tuple() | list():
            return [type(value).__name__, *map(_canonical, value)]
        case set() | frozenset():
            return ["set", *sorted((_canonical(item) for item in value), key=json.dumps)]
        case Mapping():
            return ["map", *sorted(([_canonical(k), _canonical(v)] for k, v in value.items()), key=json.dumps)]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in dataclasses.fields(value)]
            return [type(value).__name__, *([name, _canonical(getattr(value, name))] for name in names)]
    return [type(value).__name__, repr(value)]


@cache
def generation(solver: str) -> str:
    """Names the prover: a digest of the package's source and of the versions of what it computes with."""
    arrays = metadata.version("numpy")  # replays compute with it
    digest = hashlib.sha256(f"{solver}\0{sys.version_info[:2]}\0{arrays}".encode())
    for path in own_sources():
        digest.update(f"\0{path.relative_to(PACKAGE).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:32]


def clear(folder: Path) -> tuple[int, int]:
    """Removes the verdicts of all provers, and nothing else that lies in ``folder``: the files and their bytes."""
    count = size = 0
    generations = [each for each in folder.glob("*") if _is_generation(each.name) and not each.is_symlink()]
    for path in (path for each in generations for path in each.rglob("*") if path.is_file()):
        with contextlib.suppress(FileNotFoundError):  # another process makes room, too
            size += path.stat().st_size
            path.unlink()
            count += 1
    for each in generations:
        shutil.rmtree(each, ignore_errors=True)
    return count, size


def _is_generation(name: str) -> bool:
    return len(name) == 32 and set(name) <= set("0123456789abcdef")


# -------------------------------------------------------------------------------------------------------- illustrations
# What pages show beside a verdict, on disk: details with their drawings, and tests that play faults back.
#
# Illustrations belong to one entry of the cache and lie beside it.  They name the entry by its digest, which holds for
# that very text: once another verdict stands there, they are nobody's.  The folder is named by all sources of this
# package (`verdicts.generation`), those that draw among them, and its entries by all that is drawn.


SUFFIX: Final = ".page"
"""Of the file beside an entry, in the place of ``.json``."""


@dataclass(frozen=True, slots=True)
class Illustration:
    """Of one result.  ``playback``: where they are not made anew from the kernel, which is at hand."""

    details: KernelDetails | None
    playback: tuple[PlaybackFile, ...] = ()


def load_illustrations(entry: Path, digest: str, count: int) -> tuple[Illustration, ...] | None:
    """Those of the ``count`` results of the entry with this ``digest``; ``None`` if there are none, or they are
    damaged."""
    try:
        head, body = read_private(entry.with_suffix(SUFFIX)).split(b"\n", 1)
        if head != _head(digest, body):
            return None
        found = msgspec.json.decode(body, type=tuple[Illustration, ...])
    except (OSError, ValueError, RecursionError):
        return None
    return found if len(found) == count else None


def store_illustrations(entry: Path, digest: str, illustrations: Sequence[Illustration]) -> None:
    """Keep them beside the entry; names that no text can hold keep them from being kept.  Raises OSError."""
    with contextlib.suppress(ValueError):
        body = msgspec.json.encode(tuple(illustrations))
        write_private(entry.with_suffix(SUFFIX), _head(digest, body) + b"\n" + body)


def _head(digest: str, body: bytes) -> bytes:
    return f"{digest} {hashlib.sha256(body).hexdigest()}".encode()
