"""The submissions of a folder, in a fixed order; each is read when its turn comes."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Final

from ...system.errors import UsageError
from ...system.printable import printable
from .. import GateOptions, Submission

LARGEST: Final = 1 << 24
"""Bytes that are read of one submission; the screen's own limit is far below."""


HERE: Final = PurePath()


@dataclass(frozen=True, slots=True)
class CandidateFile:
    """A file that may be judged.  ``name``: what answers call it; ``spec``: the launch spec beside it; ``folder``:
    where it lies below the folder of candidates."""

    path: Path
    name: str
    spec: Path | None = None
    folder: PurePath = HERE

    def submission(self) -> Submission:
        """Raises `NotRead`."""
        # What is no text in an untrusted spec shall stop its own submission alone.
        spec = None if self.spec is None else _read_plain(self.spec).decode("utf-8", errors="replace")
        return Submission(_read_plain(self.path), self.name, spec)


@dataclass(frozen=True, slots=True)
class OnStdin:
    """The one submission on standard input."""

    name: str = "<stdin>"
    folder: PurePath = HERE

    def submission(self) -> Submission:
        return Submission(sys.stdin.buffer.read(LARGEST), self.name)


class NotRead(Exception):
    """The submission is not read, and why: it is answered without a look at it."""


@dataclass(frozen=True, slots=True)
class Task:
    """A submission under its options; ``number``: its place in the run; ``unread``: why it is not to be judged."""

    number: int
    submission: Submission
    options: GateOptions
    unread: str | None = None

    @property
    def sha256(self) -> str:
        """Of all that the answer depends on and the options of the run do not say."""
        spec, own = self.options.spec, self.submission.own_spec
        source = hashlib.sha256(self.submission.source).hexdigest()
        text = json.dumps([source, self.submission.file, spec, own, self.unread])
        return hashlib.sha256(text.encode()).hexdigest()


def candidates(target: Path, name: Callable[[Path], str]) -> tuple[CandidateFile, ...]:
    """A file, or whatever is called ``.py`` under a folder and is none, in the order of their names."""
    if target.is_file():  # a link, too: the caller chose it
        return (CandidateFile(target.resolve(), answered_name(name(target)), _own_spec(target)),)
    return tuple(
        CandidateFile(file, answered_name(name(file)), _own_spec(file), file.relative_to(target).parent)
        for file in sorted(_below(target), key=lambda each: each.as_posix())
    )


def _below(folder: Path) -> Iterator[Path]:
    """What is called ``.py`` under ``folder``, however deep, and folders that cannot be listed; follows no links."""
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            entries = list(os.scandir(here))
        except OSError:
            yield here
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(here / entry.name)
            elif entry.name.endswith(".py"):
                yield here / entry.name


def answered_name(name: str) -> str:
    """``name`` if it can be shown and stored everywhere, else what can be shown of it and a hash of all of it."""
    shown = printable(name)
    if shown == name:
        return name
    stem, suffix = os.path.splitext(shown)
    return f"{stem} ({hashlib.sha256(os.fsencode(name)).hexdigest()[:8]}){suffix}"


def _own_spec(file: Path) -> Path | None:
    own = file.with_name(f"{file.stem}.tileverify.toml")
    try:
        return own if stat.S_ISREG(own.lstat().st_mode) else None
    except OSError:  # none there, or its name would be too long
        return None


def tasks(of: tuple[CandidateFile | OnStdin, ...], options: GateOptions, trust_specs: bool) -> Iterator[Task]:
    """``trust_specs``: the caller vouches for the launch specs beside the sources."""
    for number, candidate in enumerate(of):
        try:
            submission = candidate.submission()
        except NotRead as problem:
            yield Task(number, Submission(b"", candidate.name), options, str(problem))
        else:
            yield Task(number, submission, with_trust(options, submission) if trust_specs else options)


def with_trust(options: GateOptions, submission: Submission) -> GateOptions:
    """``options`` under which the submission's own launch spec counts as the caller's."""
    return options if submission.own_spec is None else replace(options, spec=submission.own_spec)


def read_text(path: Path, what: str) -> str:
    """The caller's own text; raises `UsageError` where it cannot be read."""
    try:
        with path.open("rb") as stream:
            return stream.read(LARGEST).decode("utf-8")
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{what}: cannot read '{path}' ({error})") from None


def _read_plain(path: Path) -> bytes:
    """What a plain file holds.  A link would have the gate read, and quote, what it points to; a pipe or a device has
    no end, waits for one, or does something when it is opened."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise NotRead("it is no plain file")
        # Whoever may write there may have put something else in its place since.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise NotRead("it is no plain file")
            return stream.read(LARGEST)
    except OSError as error:
        raise NotRead(f"it cannot be read ({error.strerror or error})") from None
