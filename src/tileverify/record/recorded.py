"""The contents of ``index.json``: specialisations, launches and runs, in the order of its keys.

Python's own JSON reads and writes it, because it may hold what other JSON has no words for: floats that are no numbers,
and names of files with half a character.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, TypeAlias, TypedDict

from ..hook.described_launch import (
    ArrayLayout,
    ArrayMarks,
    ConstraintWords,
    DescribedConstant,
    DescribedOpaque,
    DescribedScalar,
    FieldNames,
)
from ..hook.notes import Source
from .fitting import Column

Sized: TypeAlias = int | str
"""A number, or the name or expression that stands for it."""


RecordedArray: TypeAlias = ArrayLayout
"""An array without its address, which means nothing once the process is gone."""


class RecordedList(TypedDict):
    kind: Literal["list"]
    items: list[RecordedArray]


class RecordedTuple(FieldNames):
    kind: Literal["tuple"]
    items: list[RecordedArgument]


RecordedArgument: TypeAlias = (
    "RecordedArray | DescribedScalar | DescribedConstant | RecordedList | RecordedTuple | DescribedOpaque"
)


class OverlapPair(TypedDict):
    """Two arguments with a byte in common; ``same``: one array twice."""

    first: str
    second: str
    same: bool


class AliasGroups(TypedDict, total=False):
    """Groups of arguments that the compiler was told are one array."""

    alias: Sequence[Sequence[str]]


class WhatThereIs(AliasGroups, total=False):
    """Parts that not every launch has."""

    observed: list[str]


class RecordedLaunch(WhatThereIs):
    """``observed``: facts that held of what the integer arrays held; ``test``: the pytest test that made it."""

    grid: list[int]
    arguments: list[RecordedArgument]
    overlaps: list[OverlapPair]
    how: str
    test: str


# ------------------------------------------------------------------------------------------------- in general
class GeneralArray(ArrayMarks):
    """``strides``: ``None`` for a contiguous one."""

    kind: Literal["array"]
    dtype: str
    bits: int
    shape: list[Sized]
    strides: list[Sized] | None
    index_bits: int


class GeneralScalar(DescribedScalar):
    """``tied``: what its value is in every launch, ``None``: any."""

    tied: Sized | None


class GeneralTuple(FieldNames):
    kind: Literal["tuple"]
    items: list[GeneralArgument]


GeneralArgument: TypeAlias = (
    "GeneralArray | GeneralScalar | DescribedConstant | RecordedList | GeneralTuple | DescribedOpaque"
)


class GeneralWords(AliasGroups):
    """Several launches as one: ``grid`` and sizes may be names or expressions."""

    grid: list[Sized] | None
    arguments: list[GeneralArgument]
    overlaps: list[OverlapPair]
    requires: list[str]
    remark: str


class Generalised(GeneralWords):
    """One that was proved under ``clauses``.  ``launches``: the positions of those that it stands for; ``names``: what
    each name was in them."""

    name: str
    launches: Sequence[int]
    names: dict[str, Column]
    clauses: list[str]


class NotGeneralised(TypedDict):
    launches: Sequence[int]
    why: str


# ------------------------------------------------------------------------------------------------- a recording
class Gpu(StrEnum):
    """What launches of a recorded program do: run on a GPU, in the interpreter, or not at all."""

    REAL = "real"
    INTERPRETED = "interpreted"
    NONE = "none"


class _Listed(TypedDict, total=False):
    launches: list[RecordedLaunch]
    source_spec: str
    generalised: list[Generalised]
    not_generalised: list[NotGeneralised]


class RecordedSpecialisation(_Listed):
    """One specialisation.  ``bytecode``, ``spec`` and ``source_spec`` name files; ``launches`` are always there."""

    kernel: str
    source: Source
    symbol: str
    options: str
    parameters: list[str]
    signature: list[ConstraintWords]
    calling_convention: str
    bytecode_version: str
    architecture: str | None
    bytecode: str
    bytecode_sha256: str
    spec: str


class LaunchFailure(TypedDict):
    """A launch that could not be written down."""

    kernel: str | None
    file: str | None
    line: int | None
    outcome: Literal["rejected", "failed"]
    type: str
    message: str
    test: str


class RecordedRun(TypedDict, total=False):
    """A run of the recorded command; the last two are added when it is written."""

    command: list[str]
    exit_code: int
    gpu: Gpu
    left_out: int
    failures: list[LaunchFailure]


class Index(TypedDict):
    schema: str
    runs: list[RecordedRun]
    kernels: int
    specialisations: list[RecordedSpecialisation]
