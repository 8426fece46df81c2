"""The notes that a recorded process leaves: one line of JSON per event, bytecode in files named by their hash.

A file of notes belongs to one process (a fork opens its own) and each line is written whole, so that a killed process
leaves one that can be read.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TextIO, TypeAlias, TypedDict

from .described_launch import ConstraintWords, Described


class Notes:
    """Writes into ``folder``, which exists."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pid = -1
        self._file: TextIO | None = None

    def write(self, event: Event) -> None:
        """Append one event."""
        if self._file is None or self._pid != os.getpid():
            self._pid = os.getpid()
            handle, _ = tempfile.mkstemp(prefix=f"{self._pid}-", suffix=".jsonl", dir=self._folder)
            self._file = os.fdopen(handle, "w", encoding="utf-8")
        self._file.write(json.dumps(event) + "\n")
        self._file.flush()

    def store(self, content: bytes, suffix: str = "tileirbc") -> str:
        """Keep bytecode, or what an array holds; returns the SHA-256 that names it (``<sha256>.<suffix>``)."""
        digest = hashlib.sha256(content).hexdigest()
        target = self.path(digest, suffix)
        if not target.exists():
            handle, name = tempfile.mkstemp(prefix=f"{digest}-", suffix=".partial", dir=self._folder)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(name, target)
        return digest

    def path(self, digest: str, suffix: str = "tileirbc") -> Path:
        """Where `store` keeps it."""
        return self._folder / f"{digest}.{suffix}"


# ---------------------------------------------------------------------------------------------------------------- noted
# What a recorded process writes down, an event a line: the keys of its JSON, in their order.


class Source(TypedDict):
    """Where a kernel is written; ``id`` tells kernels apart."""

    name: str
    qualname: str
    module: str
    file: str
    line: int
    last_line: int | None
    source_sha256: str
    id: str


class Produced(TypedDict, total=False):
    """``producer``: ``triton``, whose kernels are kept as Triton IR (``.ttir``); all others are as bytecode."""

    producer: Literal["triton"]


class NotedSpecialisation(Produced):
    """One bytecode of a kernel.  ``key``: its number in this process; ``bytecode``: the SHA-256 that names the file."""

    event: Literal["specialisation"]
    key: int
    kernel: Source
    symbol: str
    options: str
    parameters: list[str]
    signature: list[ConstraintWords]
    calling_convention: str
    bytecode_version: str
    architecture: str | None
    bytecode: str


class NotedLaunch(TypedDict):
    """One launch of the specialisation ``key``; its number is its place among these.  ``alias``: groups of arguments
    that are one array; ``how`` it was made; ``test``: the pytest test that made it."""

    event: Literal["launch"]
    key: int
    grid: list[int]
    arguments: Sequence[Described]
    alias: Sequence[Sequence[str]]
    how: str
    test: str


class Again(TypedDict):
    """The launch ``number`` of a specialisation was made once more."""

    event: Literal["again"]
    key: int
    number: int


class _Doubts(TypedDict, total=False):
    unless_written: dict[str, list[tuple[int, str]]]


class ArrayContents(_Doubts):
    """What integer arrays of a launch held, by parameter: the SHA-256 that names the file.

    ``unless_written``: the parameters of earlier launches, each with the number of its specialisation, through which
    it may have been overwritten.
    """

    event: Literal["contents"]
    key: int
    number: int
    arrays: dict[str, str]


class LeftOut(TypedDict):
    """A specialisation beyond the limit."""

    event: Literal["left_out"]
    kernel: str
    symbol: str


class LaunchError(TypedDict):
    """A launch that ``cuda.tile`` ``rejected``, or that the recorder ``failed`` to write down."""

    event: Literal["error"]
    outcome: Literal["rejected", "failed"]
    kernel: Source | None
    type: str
    message: str
    test: str


class Imported(TypedDict):
    """The process has ``cuda.tile``, or another package that launches kernels."""

    event: Literal["cuda_tile"]


Event: TypeAlias = "NotedSpecialisation | NotedLaunch | Again | ArrayContents | LeftOut | LaunchError | Imported"
