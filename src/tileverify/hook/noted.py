"""What a recorded process writes down, an event a line: the keys of its JSON, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, TypedDict

from .described_launch import ConstraintWords, Described


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


class NotedSpecialisation(TypedDict):
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
