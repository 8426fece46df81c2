"""Several launches of one specialisation as one launch whose sizes are names.

A number that was the same in every launch stays that number.  Any other is a *column*: what one size, stride or scalar
was in each of them.  Equal columns share one name, that of a scalar parameter if there is one; strides of contiguous
arrays are left out, others are products of the array's sizes where that fits.  Which expressions give the grid
(`fitting`) is told beside the launch.  What the JIT compiled in as a divisor becomes a fact: launches of the
specialisation all have it.

The result is a guess at what the program meant, and is kept only once it is proved (`general_proof`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, groupby, islice, product
from math import gcd, lcm, prod
from typing import Final

from ..contract.as_table import is_contiguous
from ..hook.described_launch import ConstraintWords, DescribedConstant, DescribedOpaque, DescribedScalar
from .recorded import (
    AliasGroups,
    Column,
    Fit,
    GeneralArgument,
    GeneralArray,
    GeneralWords,
    RecordedArgument,
    RecordedArray,
    RecordedDescriptor,
    RecordedLaunch,
    RecordedList,
    RecordedSpecialisation,
    Sized,
    fits,
)

_TAKEN: Final = ("grid", "cdiv", "min", "max")
"""Words of expressions, which no name of a size may be."""


MOST_GRIDS: Final = 16
"""That are looked at of those that fit."""


@dataclass(frozen=True, slots=True)
class FittingGrid:
    """A grid that all recorded launches had; ``guessed``: a tile in it is none that the kernel has."""

    axes: tuple[Sized, ...]
    guessed: bool


@dataclass(frozen=True, slots=True)
class GeneralLaunch:
    """``positions``: the recorded launches that it stands for; ``launch``: for `spec.launch_table`, with any grid;
    ``names``: what each name was in them, ``divisors`` what divides some of them; ``grids``: those that fit, in groups
    of equal standing, the likelier first."""

    positions: tuple[int, ...]
    launch: GeneralWords
    names: dict[str, Column]
    divisors: Mapping[str, int]
    grids: tuple[tuple[FittingGrid, ...], ...]

    def with_grid(self, axes: Sequence[Sized] | None, note: str = "") -> GeneralLaunch:
        """The launch with this grid; ``note``: what is to be said of it beside the launch."""
        remark = f"{self.launch['remark']}; {note}" if note else self.launch["remark"]
        launch: GeneralWords = {**self.launch, "grid": None if axes is None else list(axes), "remark": remark}
        return replace(self, launch=launch)


def general_launches(
    entry: RecordedSpecialisation, written: Collection[str] = (), tiles: Collection[int] = ()
) -> Iterator[GeneralLaunch]:
    """One for each group of launches of a specialisation (as in ``index.json``) that differ in numbers alone.

    ``written``: the arrays that the kernel writes; ``tiles``: extents of its tiles, where known.  Launches with lists
    of arrays or descriptors are left as they are.
    """
    groups: dict[str, list[int]] = {}
    for position, launch in enumerate(entry["launches"]):
        if not any(argument["kind"] in ("list", "descriptor", "opaque") for argument in _leaves(launch["arguments"])):
            groups.setdefault(_without_numbers(launch), []).append(position)
    for positions in groups.values():
        launches = [entry["launches"][position] for position in positions]
        if len({json.dumps(_numbers(launch)) for launch in launches}) > 1:
            yield _Generaliser(entry, launches, written, tiles).launch(tuple(positions))


def items_of(constraint: ConstraintWords) -> Sequence[ConstraintWords]:
    """The constraints of the items of a tuple or dataclass in a recorded signature."""
    return constraint["items"] if "items" in constraint else constraint["fields"]


_Leaf = RecordedArray | DescribedScalar | DescribedConstant | RecordedList | RecordedDescriptor | DescribedOpaque


def _leaves(arguments: Sequence[RecordedArgument]) -> Iterator[_Leaf]:
    for argument in arguments:
        if argument["kind"] == "tuple":
            yield from _leaves(argument["items"])
        else:
            yield argument


def _without_numbers(launch: RecordedLaunch) -> str:
    """What launches have in common that one spec can speak of."""
    kinds = [_kind(argument) for argument in _leaves(launch["arguments"])]
    return json.dumps([kinds, launch["overlaps"], launch.get("alias")])


def _kind(argument: _Leaf) -> dict[str, object]:
    kind = {key: value for key, value in argument.items() if key not in ("shape", "strides", "aligned")}
    if argument["kind"] == "array":
        kind["rank"] = len(argument["shape"])
    elif argument["kind"] == "scalar":
        kind["value"] = None
    return kind


def _numbers(launch: RecordedLaunch) -> list[object]:
    """What a spec says of the launch in numbers; floats are none."""
    found: list[object] = [launch["grid"]]
    for argument in _leaves(launch["arguments"]):
        if argument["kind"] == "array":
            contiguous = is_contiguous(argument["shape"], argument["strides"])
            found.append([argument["shape"], None if contiguous else argument["strides"]])
        elif (number := _integer(argument)) is not None:
            found.append(number)
    return found


def _integer(argument: RecordedArgument) -> int | None:
    """The value of a scalar or constant."""
    value = argument["value"] if argument["kind"] in ("scalar", "constant") else None
    return value if isinstance(value, int) else None


@dataclass
class _Generaliser:
    entry: RecordedSpecialisation
    launches: Sequence[RecordedLaunch]
    written: Collection[str]
    tiles: Collection[int]
    _names: dict[Column, str] = field(default_factory=dict)
    _divisors: dict[str, int] = field(default_factory=dict)

    def launch(self, positions: tuple[int, ...]) -> GeneralLaunch:
        parameters = self.entry["parameters"]
        columns = list(zip(*(launch["arguments"] for launch in self.launches), strict=True))
        self._take_names_of_scalars(parameters, columns)
        arguments = [
            self._argument(name, column, constraint)
            for name, column, constraint in zip(parameters, columns, self.entry["signature"], strict=True)
        ]
        names = {name: column for column, name in self._names.items()}
        first = self.launches[0]
        alias: AliasGroups = {"alias": first["alias"]} if "alias" in first else {}
        launch: GeneralWords = {
            "grid": None,
            "arguments": arguments,
            "overlaps": first["overlaps"],
            **alias,
            "requires": [f"{name} % {divisor} == 0" for name, divisor in self._divisors.items()],
            "remark": _remark(positions, names),
        }
        grids = self._grids(names, self._written_sizes(arguments))
        return GeneralLaunch(positions, launch, names, self._divisors, grids)

    def _take_names_of_scalars(self, parameters: Sequence[str], columns: Sequence[Sequence[RecordedArgument]]) -> None:
        for name, column in zip(parameters, columns, strict=True):
            numbers = tuple(number for argument in column if (number := _integer(argument)) is not None)
            first = column[0]
            plain = first["kind"] == "scalar" and first["dtype"] != "bool" and name not in _TAKEN
            if plain and len(numbers) == len(column) and len(set(numbers)) > 1:
                self._names.setdefault(numbers, name)

    # ------------------------------------------------------------------------------------------ arguments
    def _argument(self, name: str, column: Sequence[RecordedArgument], constraint: ConstraintWords) -> GeneralArgument:
        """``column``: what it was in each launch, alike but for numbers."""
        first = column[0]
        if first["kind"] == "array":
            arrays = [argument for argument in column if argument["kind"] == "array"]
            shape, strides = self._array(name, arrays, constraint)
            known: GeneralArray = {**first, "shape": shape, "strides": strides}
            if "aligned" in first:
                known["aligned"] = min(each["aligned"] for each in arrays)
            return known
        if first["kind"] == "scalar":
            return {**first, "tied": self._scalar(name, [_integer(argument) for argument in column])}
        if first["kind"] == "tuple":
            fields = first.get("fields") or range(len(first["items"]))
            parts = zip(*(argument["items"] for argument in column if argument["kind"] == "tuple"), strict=True)
            items = [
                self._argument(f"{name}_{field}", part, each)
                for field, part, each in zip(fields, parts, items_of(constraint), strict=True)
            ]
            return {**first, "items": items}
        return first

    def _scalar(self, name: str, values: Sequence[int | None]) -> Sized | None:
        """What the scalar is tied to; ``None``: it may have any value."""
        integers = tuple(value for value in values if value is not None)
        if len(integers) < len(values):
            return None
        if len(set(integers)) == 1:
            return int(integers[0])
        known = self._names.get(integers)
        return None if known == name else known

    def _array(
        self, name: str, column: Sequence[RecordedArray], constraint: ConstraintWords
    ) -> tuple[list[Sized], list[Sized] | None]:
        """Shape and strides."""
        shape = [
            self._sized(sizes, f"{name}_{dim}")
            for dim, sizes in enumerate(zip(*(array["shape"] for array in column), strict=True))
        ]
        factors: list[tuple[Sized, ...]]
        strides: list[Sized] | None
        if all(is_contiguous(array["shape"], array["strides"]) for array in column):
            strides = None
            factors = [tuple(shape[dim + 1 :]) for dim in range(len(shape))]
        else:
            sizes = list(zip(shape, zip(*(array["shape"] for array in column), strict=True), strict=True))
            factors = [
                self._stride(steps, sizes, f"{name}_stride_{dim}")
                for dim, steps in enumerate(zip(*(array["strides"] for array in column), strict=True))
            ]
            strides = [each[0] if len(each) == 1 else " * ".join(map(str, each)) for each in factors]
        none = [1] * len(shape)
        for size, divisor in zip(shape, constraint.get("shape_divisible_by") or none, strict=True):
            self._note_divisor((size,), divisor)
        for each, divisor in zip(factors, constraint.get("stride_divisible_by") or none, strict=True):
            self._note_divisor(each, divisor)
        return shape, strides

    def _stride(self, column: Column, sizes: Sequence[tuple[Sized, Column]], stem: str) -> tuple[Sized, ...]:
        """The factors of a stride: a number, a name, sizes of the array, or a new name."""
        if len(set(column)) > 1 and column not in self._names:
            for count in range(2, len(sizes) + 1):
                for chosen in combinations(sizes, count):
                    if tuple(map(prod, zip(*(each for _, each in chosen), strict=True))) == column:
                        return tuple(size for size, _ in chosen)
        return (self._sized(column, stem),)

    def _sized(self, column: Column, stem: str) -> Sized:
        if len(set(column)) == 1:
            return column[0]
        if column not in self._names:
            taken = {*self._names.values(), *self.entry["parameters"], *_TAKEN}
            while stem in taken:
                stem += "_"
            self._names[column] = stem
        return self._names[column]

    def _note_divisor(self, factors: Sequence[Sized], divisor: int) -> None:
        """A product with one name is divisible where the name is divisible by what the numbers leave over."""
        names = [factor for factor in factors if isinstance(factor, str)]
        left = divisor // gcd(divisor, prod(factor for factor in factors if isinstance(factor, int)))
        if len(names) == 1 and left > 1:
            self._divisors[names[0]] = lcm(self._divisors.get(names[0], 1), left)

    # ----------------------------------------------------------------------------------------------- grid
    def _written_sizes(self, arguments: Sequence[GeneralArgument]) -> set[str]:
        arrays = (each for name, each in zip(self.entry["parameters"], arguments, strict=True) if name in self.written)
        return {size for each in arrays if each["kind"] == "array" for size in each["shape"] if isinstance(size, str)}

    def _grids(self, names: Mapping[str, Column], written: Collection[str]) -> tuple[tuple[FittingGrid, ...], ...]:
        """Those that fit on every axis, in groups of equal standing."""
        constants = [
            argument["value"]
            for argument in _leaves(self.launches[0]["arguments"])
            if argument["kind"] == "constant" and type(argument["value"]) is int
        ]
        columns = list(zip(*(launch["grid"] for launch in self.launches), strict=True))
        axes = [list(_ranked(fits(axis, names, [*constants, *self.tiles], written))) for axis in columns]
        ranked = sorted(product(*axes), key=_standing)
        return tuple(
            tuple(_grid([fit for _, fit in each]) for each in group)
            for _, group in groupby(islice(ranked, MOST_GRIDS), _standing)
        )


def _ranked(groups: Iterable[tuple[Fit, ...]]) -> Iterator[tuple[int, Fit]]:
    return ((rank, fit) for rank, group in enumerate(groups) for fit in group)


def _standing(axes: Sequence[tuple[int, Fit]]) -> int:
    return sum(rank for rank, _ in axes)


def _grid(axes: Sequence[Fit]) -> FittingGrid:
    return FittingGrid(tuple(axis.expression for axis in axes), any(axis.guessed for axis in axes))


def _remark(positions: Sequence[int], names: Mapping[str, Column]) -> str:
    seen = "; ".join(f"{name} = {', '.join(map(str, column))}" for name, column in names.items())
    return f"launches {', '.join(map(str, positions))} in general{f': {seen}' if seen else ''}"
