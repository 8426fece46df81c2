"""What was recorded: the contents of ``index.json``, expressions that fit its launches, launches as units.

Python's own JSON reads and writes it, because it may hold what other JSON has no words for: floats that are no numbers,
and names of files with half a character.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from pathlib import Path
from typing import Final, Literal, TypeAlias, TypedDict

from ..contract.as_table import NotExpressible, launch_table
from ..contract.launch import KernelUnit
from ..contract.spec import build_launch
from ..contract.spec_files import raw_launch
from ..frontend.bytecode import decode
from ..frontend.sources.bytecode_file import bytecode_entries, entry_unit
from ..hook.described_launch import (
    ArrayLayout,
    ArrayMarks,
    ConstraintWords,
    DescribedConstant,
    DescribedOpaque,
    DescribedScalar,
    FieldNames,
)
from ..hook.notes import Produced, Source
from ..pipeline.unit_summary import summary_of
from ..system.errors import TileVerifyError

Sized: TypeAlias = int | str
"""A number, or the name or expression that stands for it."""


RecordedArray: TypeAlias = ArrayLayout
"""An array without its address, which means nothing once the process is gone."""


class RecordedList(TypedDict):
    kind: Literal["list"]
    items: list[RecordedArray]


class RecordedDescriptor(TypedDict):
    kind: Literal["descriptor"]
    array: RecordedArray
    block: list[int]


class RecordedTuple(FieldNames):
    kind: Literal["tuple"]
    items: list[RecordedArgument]


RecordedArgument: TypeAlias = (
    "RecordedArray | DescribedScalar | DescribedConstant | RecordedList | RecordedDescriptor | RecordedTuple"
    " | DescribedOpaque"
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
    "GeneralArray | GeneralScalar | DescribedConstant | RecordedList | RecordedDescriptor | GeneralTuple"
    " | DescribedOpaque"
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


class _Listed(Produced, total=False):
    launches: list[RecordedLaunch]
    source_spec: str
    generalised: list[Generalised]
    not_generalised: list[NotGeneralised]


class RecordedSpecialisation(_Listed):
    """One specialisation.  ``bytecode`` (of Triton: its IR), ``spec`` and ``source_spec`` name files; ``launches`` are
    always there."""

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


# -------------------------------------------------------------------------------------------------------------- fitting
# Which expressions over the sizes of several launches give a number that differs from launch to launch.
#
# Grids are written by people, so few forms are looked at, the simplest first: a size, ``cdiv`` of a size by a tile,
# products of two of these, a constant times either, and ``min`` of either and a constant (a persistent kernel's number
# of blocks).  Few launches fit many expressions by chance, so all that fit are told, in groups:
#
# * what is made of sizes and of the kernel's own constants comes before what has a *guessed* tile, one of the powers of
#   two that tiles are made of;
# * sizes of what the kernel writes come before others, as a grid covers that.
#
# Which one of a group was meant takes runs of the kernel (`grid_trials`).


Column: TypeAlias = tuple[int, ...]
"""What one number was in each launch."""

TILES: Final = tuple(1 << power for power in range(1, 13))
"""Sizes of tiles, where no constant of the kernel is one."""


@dataclass(frozen=True, slots=True)
class _Form:
    """An expression over one size, or over two different ones; ``guessed``: a divisor in it is none of the kernel's
    constants."""

    text: str
    column: Column
    size: str
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class Fit:
    """What gives a column; ``guessed``: a tile in it is none of the kernel's constants."""

    expression: int | str
    guessed: bool = False


def fits(
    column: Column, names: Mapping[str, Column], constants: Sequence[int], written: Collection[str] = ()
) -> Iterator[tuple[Fit, ...]]:
    """Everything that gives ``column``, in groups of equal standing, those that are likelier first.

    A number that was the same in all launches may be just that, or come of sizes and constants.  ``written``: names of
    sizes of arrays that the kernel writes; only these are factors, if there are any.
    """
    fixed = len(set(column)) == 1
    if fixed:
        yield (Fit(column[0]),)
    atoms = list(_atoms(names, constants))
    products = list(_products([each for each in atoms if each.size in (written or names)]))
    covering, others = ([each for each in atoms if (each.size in written) is wanted] for wanted in (True, False))
    for reading in [_as_it_is] if fixed else [_as_it_is, _scaled, _capped]:
        for guessed in [False] if fixed else [False, True]:
            for forms in (covering, others, products):
                texts = (reading(column, form) for form in forms if form.guessed is guessed)
                found = tuple(Fit(text, guessed) for text in dict.fromkeys(texts) if text is not None)
                if found:
                    yield found


def _atoms(names: Mapping[str, Column], constants: Sequence[int]) -> Iterator[_Form]:
    """Sizes, these by the kernel's constants, and by other tiles."""
    yield from (_Form(name, column, name) for name, column in names.items())
    known = [each for each in dict.fromkeys(constants) if each > 1]
    for tiles, guessed in ((known, False), ([each for each in TILES if each not in known], True)):
        for name, column in names.items():
            for tile in tiles:
                yield _Form(f"cdiv({name}, {tile})", tuple(-(-value // tile) for value in column), name, guessed)


def _products(atoms: Sequence[_Form]) -> Iterator[_Form]:
    """Of two sizes; only where the kernel has no constants, one of them may be by a guessed tile."""
    guesses = all(form.guessed or form.text == form.size for form in atoms)
    for a, b in combinations(atoms, 2):
        if a.size != b.size and not a.guessed and (guesses or not b.guessed):
            column = tuple(x * y for x, y in zip(a.column, b.column, strict=True))
            yield _Form(f"{a.text} * {b.text}", column, "", b.guessed)


def _as_it_is(column: Column, form: _Form) -> str | None:
    return form.text if form.column == column else None


def _scaled(column: Column, form: _Form) -> str | None:
    """A constant, at least 2, times the form."""
    if form.guessed or not all(form.column) or column[0] % form.column[0]:
        return None
    factor = column[0] // form.column[0]
    scaled = tuple(factor * value for value in form.column)
    return f"{factor} * {form.text}" if factor > 1 and scaled == column else None


def _capped(column: Column, form: _Form) -> str | None:
    """As many as the largest of the column at most."""
    most = max(column)
    return f"min({most}, {form.text})" if tuple(min(most, value) for value in form.column) == column else None


# ------------------------------------------------------------------------------------------------------- unit of launch
# A recorded launch as what the verifier is given, and what is known of its arrays without a proof.


def unit_of_launch(entry: RecordedSpecialisation, kept: bytes, launch: RecordedLaunch | GeneralWords) -> KernelUnit:
    """``kept``: the file of the specialisation, bytecode or Triton IR.

    Raises a `TileVerifyError`, or `NotExpressible` for what a spec cannot say.
    """
    symbol, file = entry["symbol"], Path(entry["bytecode"])
    table = launch_table(symbol, entry["parameters"], launch, constants=False, name="general")
    raw = raw_launch(tomllib.loads(table)["launch"][0], str(file), None, 0)
    if is_triton(entry):
        from ..frontend.triton.triton_kernels import compile_triton_ir, kernels_of_ir

        kernel = next(each for each in kernels_of_ir(kept.decode(), file) if each.name == symbol)
        return compile_triton_ir(kernel, build_launch(raw, "general", kernel.parameters))
    known = next(each for each in bytecode_entries(kept, file) if each.symbol == symbol)
    return entry_unit(known, build_launch(raw, "general", None))


def is_triton(entry: Produced) -> bool:
    """Whether Triton IR is kept of the specialisation."""
    return entry.get("producer") == "triton"


def only_read(entry: RecordedSpecialisation, kept: bytes) -> frozenset[str]:
    """The array parameters that no block writes; none of a kernel that the tool cannot read."""
    try:
        unit = unit_of_launch(entry, kept, entry["launches"][0])
        return summary_of(decode(unit.bytecode, file=str(unit.file)), unit).stable_arrays
    except (TileVerifyError, NotExpressible):
        return frozenset()
