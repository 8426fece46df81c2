"""The submissions of a folder, in a fixed order; each is read when its turn comes."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ..errors import UsageError
from ..gating import GateOptions, Submission

LARGEST: Final = 1 << 24
"""Bytes that are read of one submission; the screen's own limit is far below."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that may be judged.  ``name``: what answers call it; ``spec``: the launch spec beside it."""

    path: Path
    name: str
    spec: Path | None

    def submission(self) -> Submission:
        """Raises `UsageError` where a file cannot be read."""
        # What is no text in an untrusted spec shall stop its own submission alone.
        spec = None if self.spec is None else _read(self.spec).decode("utf-8", errors="replace")
        return Submission(_read(self.path), self.name, spec)


@dataclass(frozen=True, slots=True)
class OnStdin:
    """The one submission on standard input."""

    name: str = "<stdin>"

    def submission(self) -> Submission:
        return Submission(sys.stdin.buffer.read(LARGEST), self.name)


@dataclass(frozen=True, slots=True)
class Task:
    """A submission under its options; ``number``: its place in the run."""

    number: int
    submission: Submission
    options: GateOptions

    @property
    def sha256(self) -> str:
        """Of all that the answer depends on and the options of the run do not say."""
        spec, own = self.options.spec, self.submission.own_spec
        text = json.dumps([hashlib.sha256(self.submission.source).hexdigest(), self.submission.file, spec, own])
        return hashlib.sha256(text.encode()).hexdigest()


def candidates(target: Path, name: Callable[[Path], str], left_out: Callable[[str], None]) -> tuple[Candidate, ...]:
    """A file, or every ``.py`` file under a folder in the order of their names; ``left_out`` is told of links."""
    found = []
    for file in [target] if target.is_file() else sorted(target.rglob("*.py"), key=lambda each: each.as_posix()):
        # A link in a folder of submissions would have the gate read, and quote, what it points to.
        if file != target and (file.is_symlink() or not file.is_file()):
            left_out(f"{file}: left out, it is no plain file")
            continue
        own = file.with_name(f"{file.stem}.tileverify.toml")
        found.append(Candidate(file, name(file), own if own.is_file() and not own.is_symlink() else None))
    return tuple(found)


def tasks(of: tuple[Candidate | OnStdin, ...], options: GateOptions, trust_specs: bool) -> Iterator[Task]:
    """``trust_specs``: the caller vouches for the launch specs beside the sources."""
    for number, candidate in enumerate(of):
        submission = candidate.submission()
        yield Task(number, submission, with_trust(options, submission) if trust_specs else options)


def with_trust(options: GateOptions, submission: Submission) -> GateOptions:
    """``options`` under which the submission's own launch spec counts as the caller's."""
    return options if submission.own_spec is None else replace(options, spec=submission.own_spec)


def read_text(path: Path, what: str) -> str:
    """The caller's own text; raises `UsageError` where it cannot be read."""
    try:
        return _read(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{what}: cannot read '{path}' ({error})") from None


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(LARGEST)
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror or error}") from None
