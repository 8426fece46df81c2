"""Launches on which changed kernels are judged: of a contract with names, or around a recorded one."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.corpus.launches import WIDE, Drawn, drawn_launches, drawn_variants

from tileverify.backend.interpreter.grid_runs import ELEMENT_BYTES, extent_bytes
from tileverify.backend.interpreter.rounding import round_to, to_bits
from tileverify.backend.numbers.inputs import violation
from tileverify.contract.element_types import ELEMENT_TYPES
from tileverify.contract.expressions import evaluate
from tileverify.contract.launch import (
    Argument,
    ArrayArgument,
    ConcreteLaunch,
    Expression,
    KernelUnit,
    LaunchSpec,
    Number,
    Role,
    ScalarArgument,
    TupleArgument,
    strides_of,
)
from tileverify.contract.strides import may_overlap_itself
from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.model import ScalarType
from tileverify.frontend.bytecode.traverse import walk
from tileverify.pipeline.unit_summary import entry_of

from ..hunt import clause_holds, read_clause

DRAWS = 300
"""Launches drawn around a recorded one, most of which break a clause."""
NUMBERS = (1, 2, 3, 5, 8, 16, 17, 32, 33, 64, 100, 128)
GRIDS = (1, 2, 3, 4, 5, 8, 16)
LARGEST = 1 << 24
"""Elements of an array of integers that are counted out."""


def recorded_launch(unit: KernelUnit, requires: Sequence[str], variants: int = 1) -> list[Drawn]:
    """The launch itself, with those contents of index arrays, of ``variants`` drawn, that keep all facts.

    Arrays with too many elements for contents of their own have none.  Where a recording says nothing of addresses,
    ``requires``, under which the kernel was proved, does.
    """
    found = []
    for drawn in drawn_variants(_placed(unit.launch, requires), 1, 1, variants, most_blocks=None):
        kept = tuple(kept_by(unit.launch, drawn.launches))
        found += [Drawn(drawn.values, kept)] if kept else []
    return found


def _placed(spec: LaunchSpec, requires: Sequence[str]) -> LaunchSpec:
    """The launch with what ``requires`` says of addresses."""
    said = (read_clause(text) for text in requires if ".address" in text)
    return replace(spec, requires=(*spec.requires, *said))


def kept_by(spec: LaunchSpec, launches: Iterable[ConcreteLaunch]) -> Iterator[ConcreteLaunch]:
    """The launches whose contents keep all facts, when arrays in one place hold one thing."""
    for launch in launches:
        one = _coherent(spec, launch)
        if keeps_facts(spec, one):
            yield one


def _coherent(spec: LaunchSpec, launch: ConcreteLaunch) -> ConcreteLaunch:
    """Arrays in one place hold what is drawn for one of them that a fact speaks of."""
    said = {name for fact in spec.data for name in fact.arrays}
    held: dict[tuple[str, int], Mapping[int, int]] = {}
    for name in sorted(launch.arrays, key=lambda name: name not in said):
        array = launch.arrays[name]
        held.setdefault((array.allocation or name, array.byte_offset), array.contents)
    arrays = {
        name: replace(array, contents=held[array.allocation or name, array.byte_offset])
        for name, array in launch.arrays.items()
    }
    return replace(launch, arrays=arrays)


def keeps_facts(spec: LaunchSpec, launch: ConcreteLaunch) -> bool:
    """Whether the contents of a recorded launch keep all facts."""
    known = {f"{name}.shape[{axis}]": n for name, array in launch.arrays.items() for axis, n in enumerate(array.shape)}
    known |= {f"{name}.strides[{axis}]": n for name, a in launch.arrays.items() for axis, n in enumerate(a.strides)}
    contents = {
        name: np.array([*launch.arrays[name].contents.values()], np.int64).reshape(launch.arrays[name].shape)
        for fact in spec.data
        for name in fact.arrays
        if launch.arrays[name].contents
    }
    return all(
        set(fact.arrays) <= contents.keys()
        and violation(fact, contents, lambda part: evaluate(part, {**launch.scalars, **known})) is None
        for fact in spec.data
    )


def launches_around(unit: KernelUnit, requires: Sequence[str], holds_for: str, count: int) -> list[ConcreteLaunch]:
    """Small launches that a wider proof of a recorded one covers: other sizes and grids that keep ``requires``.

    Equal numbers mostly stay equal and contiguous arrays contiguous, as most clauses want it.
    """
    clauses = [read_clause(text) for text in requires]
    random = Random(zlib.crc32(unit.kernel.encode()))
    moving = _Moving(unit, random)
    found: list[ConcreteLaunch] = []
    for _ in range(DRAWS):
        spec = moving.spec(sizes=holds_for == "any")
        if spec is None:
            continue
        found += drawn_launches(
            _placed(spec, requires), 1, seed=len(found), most_blocks=None,
            admits=lambda known: all(clause_holds(clause, known) for clause in clauses),
        )  # fmt: skip
        if len(found) == count:
            break
    return found


@dataclass
class _Moving:
    unit: KernelUnit
    random: Random

    def __post_init__(self) -> None:
        self._static = {(p.role, p.argument, p.dim) for p in self.unit.parameters if p.static is not None}

    def spec(self, *, sizes: bool) -> LaunchSpec | None:
        """The recorded launch with other numbers; ``None`` where an array would overlap itself."""
        spec, random = self.unit.launch, self.random
        assert spec.grid is not None
        self._chosen: dict[int, int] = {}
        x, y, z = (Number(self._axis(evaluate(axis, {}))) for axis in spec.grid)
        moved = replace(spec, grid=(x, y, z))
        if sizes and random.random() < 0.9:
            moved = replace(moved, arguments=tuple(map(self._argument, spec.arguments)))
        if any(_overlaps_itself(array) for array in moved.arrays() if not may_overlap_itself(array)):
            return None
        return moved

    def _axis(self, blocks: int) -> int:
        return blocks if self.random.random() < 0.3 else self.random.choice([n for n in GRIDS if n <= 4 * blocks])

    def _number(self, number: int) -> int:
        """The same for equal numbers, most of the time."""
        if number <= 1:
            return number
        if self.random.random() < 0.1:
            return self.random.choice(NUMBERS)
        if number not in self._chosen:
            near = (number, number, max(1, number // 2), max(1, number // 4), max(1, number // 8), number - 1)
            self._chosen[number] = self.random.choice((*near, *NUMBERS))
        return self._chosen[number]

    def _argument(self, argument: Argument) -> Argument:
        match argument:
            case TupleArgument(items=items):
                return replace(argument, items=tuple(map(self._argument, items)))
            case ArrayArgument():
                return self._array(argument)
            case ScalarArgument(value=value, dtype=dtype) if value is not None and dtype[0] in "iu":
                return replace(argument, value=Number(self._number(evaluate(value, {}))))
        return argument

    def _array(self, array: ArrayArgument) -> ArrayArgument:
        old_shape = [evaluate(size, {}) for size in array.shape]
        old_strides = [evaluate(stride, {}) for stride in strides_of(array)]
        shape = [
            size if (Role.SHAPE, array.name, dim) in self._static else self._number(size)
            for dim, size in enumerate(old_shape)
        ]
        strides = list(old_strides)
        for dim in reversed(range(len(shape))):
            if (Role.STRIDE, array.name, dim) not in self._static:
                contiguous = old_strides[dim] == prod(old_shape[dim + 1 :])
                strides[dim] = prod(shape[dim + 1 :]) if contiguous else self._number(old_strides[dim])
        return replace(array, shape=_numbers(shape), strides=_numbers(strides))


def _numbers(values: Sequence[int]) -> tuple[Expression, ...]:
    return tuple(map(Number, values))


def _overlaps_itself(array: ArrayArgument) -> bool:
    """Whether two elements may share an address: some stride is shorter than what lies inside it."""
    reach = 1
    layout = zip((evaluate(s, {}) for s in strides_of(array)), (evaluate(n, {}) for n in array.shape), strict=True)
    for stride, size in sorted((stride, size) for stride, size in layout if size > 1):
        if stride < reach:
            return True
        reach = stride * (size - 1) + reach
    return False


# ------------------------------------------------------------------------------------------------ contents
def counted_contents(spec: LaunchSpec, launch: ConcreteLaunch) -> Iterator[Mapping[str, NDArray[Any]]]:
    """Contents for the arrays of integers that the contract says nothing of: counting up from 0 and from 1, far apart,
    all zero, counting up where the array ends.

    A fault that shows with all of these is the kernel's own; else it may be the data's.  One empty mapping where there
    is no such array.
    """
    facts = {name for fact in spec.data for name in fact.arrays}
    shared = {array.allocation for array in launch.arrays.values() if array.allocation}
    free = {
        name: array
        for name, array in launch.arrays.items()
        if array.dtype[0] in "iu" and name not in facts and not shared and 0 < extent_bytes(array) <= LARGEST
    }
    for spacing, first in ((1, 0), (WIDE, 0), (0, 0), (1, 1), (1, None)) if free else ((1, 0),):
        yield {name: _counting(array.dtype, extent_bytes(array), spacing, first) for name, array in free.items()}


def _counting(dtype: str, size: int, spacing: int, first: int | None) -> NDArray[Any]:
    """``first``: the number of elements, if it is ``None``."""
    width = ELEMENT_BYTES[dtype]
    count = size // width
    begin = count if first is None else first
    return (np.arange(count, dtype=np.int64) * spacing + begin).astype(f"<{dtype[0]}{width}")


def makes_indices_of_floats(unit: KernelUnit) -> bool:
    """Whether the kernel makes integers of floats."""
    entry = entry_of(decode(unit.bytecode, file=str(unit.file)), unit)
    return any(op.name == "ftoi" for op in walk(entry.body))


def float_contents(launch: ConcreteLaunch) -> Iterator[Mapping[str, NDArray[Any]]]:
    """Contents for the arrays of floats: counting up, in tens, and down, alike, drawn; stored as the array's type."""
    arrays = {
        name: array
        for name, array in launch.arrays.items()
        if ELEMENT_TYPES[array.dtype].kind == "f" and not array.allocation and 0 < extent_bytes(array) <= LARGEST
    }
    for number in range(5):
        yield {
            name: _floats(array.dtype, extent_bytes(array) // ELEMENT_BYTES[array.dtype], number)
            for name, array in arrays.items()
        }


def _floats(dtype: str, count: int, number: int) -> NDArray[Any]:
    ramp = np.arange(count, dtype=np.float64)
    drawn = np.random.default_rng(number).integers(0, 64, count).astype(np.float64)
    values = (ramp, 10 * ramp, count - ramp, np.full(count, 63.0), drawn)[number]
    (spelling,) = ELEMENT_TYPES[dtype].tile_ir
    element = ScalarType(spelling, ELEMENT_TYPES[dtype].bits)
    return to_bits(round_to(values, element), element)
