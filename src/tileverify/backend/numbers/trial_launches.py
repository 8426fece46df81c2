"""The launches that a proved kernel is tried with: at borders, and small in what a launch is not about.

They are chosen to expose work that is skipped: sizes that fill no tile, and *borders*, the numbers that the bytecode
holds.  A kernel can only turn on a number that it has: as a size, as a count of blocks, or in what an array holds.

    borders ::= constants, 2**k for a constant k where there are shifts, products where there are quotients

For each border b the sizes b - 1, b and b + 1 are tried, and the smallest sizes that make an axis longer than b; once
all sizes are beyond one.  At the usual sizes scalars are -1, the ends of their type, and at and beside b and -b.  What
is too large to be interpreted is told (`Chosen.not_tried`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import islice, product
from math import inf
from typing import Final, TypeAlias

import numpy as np

from ...contract.element_types import ELEMENT_TYPES
from ...contract.expressions import GRID_NAMES, Undefined
from ...contract.launch import GRID_MAX
from ...frontend.bytecode.model import Block, Entry, Op, ScalarType
from ...system.errors import UsageError
from ..interpreter.rounding import from_bits
from .array_files import storage_type
from .choose import ContractInNumbers, choose, cost, extent, scalars

SIZES: Final = (1, 3, 16, 2, 7, 33, 64, 100, 127, 129, 200, 256, 257, 511)
SECRET_SIZES: Final = 3
_SECRET_PLACES: Final = (1, 4, 7)
MOST_BORDERS: Final = 96
MOST_BORDER_LAUNCHES: Final = 23
MOST_ELEMENTS: Final = 1 << 22
"""Of all arrays of a launch together."""
MOST_BLOCKS: Final = 1 << 15
MOST_WITH_ALL: Final = 1 << 16
"""What a launch with all sizes beyond a border may cost."""
MOST_BEYOND: Final = 8
_STEPS: Final = (1, 2, 4, 8, 16, 32, 64, 128)
"""Of which sizes have to be multiples, as often as not."""
ALL_ELEMENTS: Final = 5 << 20
ALL_BLOCKS: Final = 5 << 12
"""Of all launches together."""
MOST_SCALARS: Final = 96
"""Launches that differ from the usual one in a scalar alone."""
MOST_ROOTS: Final = 6
MOST_TOLD: Final = 8

Values = Mapping[str, int]
TurningPlace: TypeAlias = Mapping[str, float]
"""What the arrays of floats hold, by name, where something turns that is computed of several."""


@dataclass(frozen=True, slots=True)
class Constants:
    """Numbers that the bytecode holds, in its order: ``integers`` with what shifts and divisors make of them.
    ``turning_*``: numbers at which something that it computes of them turns (`turning_contents`)."""

    integers: tuple[int, ...]
    floats: tuple[float, ...]
    turning_integers: tuple[int, ...] = ()
    turning_floats: tuple[float, ...] = ()
    turning_places: tuple[TurningPlace, ...] = ()
    turning_rows: tuple[TurningPlace, ...] = ()
    """The same, those first that whole arrays of one number turn at."""
    largest: float = inf
    """What contents may hold beside the constants that the kernel masks with, which ``floats`` lacks."""

    def allows(self, number: float) -> bool:
        """Whether a product with few such numbers is far from the kernel's masks, too."""
        return abs(number) <= self.largest / 16


@dataclass(frozen=True, slots=True)
class Spread:
    """How much the launches that reach no border may take: blocks of all but the usual one together, and how many they
    are.  A kernel with a block for each row tells little in its thousandth row."""

    others: int
    launches: int


WIDE: Final = Spread(1 << 11, 24)
NARROW: Final = Spread(96, 12)
"""Where many kernels are tried."""
USUAL_BLOCKS: Final = 8
"""Of the usual launch, which is looked at in most ways."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Launches, the usual one first; ``not_tried``: in words, what borders would have asked for; ``scalars``: the usual
    launch with other integer scalars, one at a time; ``beyond``: launches with all sizes beyond a border, the largest
    first, which is among ``launches``."""

    launches: tuple[Values, ...]
    not_tried: tuple[str, ...]
    scalars: tuple[Values, ...] = ()
    beyond: tuple[Values, ...] = ()


def constants_of(entry: Entry) -> Constants:
    """Of all operations of the kernel."""
    ops = list(_ops(entry.body))
    known: dict[int, int] = {}
    floats: dict[float, None] = {}
    for op in ops:
        if op.name != "constant" or not isinstance(op.attributes["value"].type.element, ScalarType):
            continue
        constant = op.attributes["value"]
        element = constant.scalar
        if not (constant.is_splat or constant.count == 1) or element.name == "i1":
            continue
        if element.name.startswith("i"):
            known[id(op.result)] = constant.element(0)
        else:
            number = float(from_bits(np.asarray([constant.element(0)], f"u{element.bits // 8 or 1}"), element)[0])
            if np.isfinite(number) and number:
                floats[number] = None
    integers = dict.fromkeys(abs(number) for number in known.values())
    if any(op.declaration.algebra == "shift" for op in ops):
        integers |= dict.fromkeys(1 << number for number in integers if 1 <= number <= 40)
    if any(op.declaration.partial and op.declaration.algebra in ("quotient", "remainder") for op in ops):
        few = [number for number in integers if number > 1][:16]
        products = (one * other for one, other in product(few, few))
        integers |= dict.fromkeys(number for number in products if number <= GRID_MAX)
    return Constants(tuple(integers), tuple(floats))


def _ops(block: Block) -> Iterator[Op]:
    for op in block.ops:
        yield op
        for region in op.regions:
            for inner in region.blocks:
                yield from _ops(inner)


def chosen_launches(
    contract: ContractInNumbers, constants: Constants, source: np.random.Generator, spread: Spread = WIDE
) -> Chosen:
    """Small launches of the contract: a usual one, then those at borders and other sizes, the cheapest first."""
    roots = [name for name in contract.roots if name not in GRID_NAMES][:MOST_ROOTS]
    borders = sorted(number for number in constants.integers if number > 0)[:MOST_BORDERS]
    sizes = list(product(_sizes(source), roots))
    plain = next(_found(contract, [{}, *({root: size} for size, root in sizes)]), None)
    if plain is None:
        return Chosen((), ())
    # Sizes that nobody tied to each other stay as large as each other.
    first = plain if contract.spec.inferred else with_few_blocks(contract, plain, USUAL_BLOCKS)
    near = None if first == plain else {root: first[root] for root in roots}
    others = list(_found(contract, ({root: size} for size, root in sizes), near))
    # Both begin with what is small; sizes at a border come before those beside it.
    by_size = _found(contract, _at_borders(contract, borders, roots), near)
    by_blocks = _found(contract, _beyond_borders(contract, borders, roots, first), near)
    at_borders = merge(by_size, by_blocks, key=lambda values: cost(contract, values))
    kept: list[Values] = []
    elements = blocks = 0
    budget = {True: MOST_BORDER_LAUNCHES, False: 1 + spread.launches}
    room = {True: ALL_BLOCKS, False: spread.others}
    beyond = list(islice(_beyond_with_all(contract, borders, roots), MOST_BEYOND))
    bordering = [*beyond[:1], *at_borders]
    for values, border in [(first, False), *((v, True) for v in bordering), *((v, False) for v in others)]:
        more = extent(contract, values)
        fits = elements + more[0] <= ALL_ELEMENTS and blocks + more[1] <= ALL_BLOCKS
        if values not in kept and fits and budget[border] and (more[1] <= room[border] or not kept):
            budget[border] -= 1
            room[border] -= more[1]
            elements, blocks = elements + more[0], blocks + more[1]
            kept.append(values)
    kept[1:] = sorted(kept[1:], key=lambda values: cost(contract, values))
    others = list(_other_scalars(contract, _at_and_beside(borders), first))
    not_tried = list(_not_tried(contract, borders, roots, kept))
    if len(others) > MOST_SCALARS:
        not_tried.insert(0, f"{len(others) - MOST_SCALARS} more values of scalars")
    return Chosen(tuple(kept), tuple(not_tried[:MOST_TOLD]), tuple(others[:MOST_SCALARS]), tuple(beyond))


def _sizes(source: np.random.Generator) -> list[int]:
    """Those that are known to everybody, and between them some that are not; what is worth most comes first."""
    known = iter(SIZES)
    secret = iter([int(size) for size in source.integers(4, 700, SECRET_SIZES)])
    return [next(secret if place in _SECRET_PLACES else known) for place in range(len(SIZES) + SECRET_SIZES)]


def _at_borders(contract: ContractInNumbers, borders: Sequence[int], roots: Sequence[str]) -> Iterator[Values]:
    for border, root in product(borders, roots):
        # Of an empty array there is nothing to compare, and many a reference has no answer.
        least = 0 if root in contract.scalars else 1
        yield from ({root: near} for near in (border, border + 1, border - 1) if near >= least)


def at_turning_points(contract: ContractInNumbers, chosen: Chosen, constants: Constants) -> Chosen:
    """The same with the integer scalars at which the kernel turns before all others."""
    if not chosen.launches:
        return chosen
    turning = list(_other_scalars(contract, constants.turning_integers, chosen.launches[0]))
    return replace(chosen, scalars=(*turning, *(each for each in chosen.scalars if each not in turning)))


def _at_and_beside(borders: Sequence[int]) -> Iterator[int]:
    return (sign * border + beside for beside, sign in product((0, 1, -1), (-1, 1)) for border in borders)


def _other_scalars(contract: ContractInNumbers, near: Iterable[int], usual: Values) -> Iterator[Values]:
    """What the contract admits of scalars that a kernel may ask for: -1, 0, the ends of the type, and ``near``."""
    near = list(near)
    for scalar in scalars(contract.spec):
        if (
            scalar.name not in contract.scalars
            or scalar.name not in usual
            or ELEMENT_TYPES[scalar.dtype].kind not in "iu"
        ):
            continue
        ends = np.iinfo(storage_type(scalar.dtype))
        for number in dict.fromkeys((-1, 0, int(ends.min), int(ends.max), *near)):
            values = {**usual, scalar.name: number}
            if number == usual[scalar.name] or not ends.min <= number <= ends.max:
                continue
            if any(each.broken_by(values) for each in contract.conditions):
                continue
            elements, blocks = extent(contract, values)
            if elements <= MOST_ELEMENTS and blocks <= WIDE.others:
                yield values


def _beyond_borders(
    contract: ContractInNumbers, borders: Sequence[int], roots: Sequence[str], base: Values
) -> Iterator[Values]:
    """Of all axes."""
    for border, root, axis in product(borders, roots, range(3)):
        size = _size_for(contract, axis, border + 1, root, base)
        if size is not None:
            yield {root: size}
    if contract.spec.grid is None:
        yield from ({name: border + 1} for border, name in product(borders, GRID_NAMES))


def _beyond_with_all(contract: ContractInNumbers, borders: Sequence[int], roots: Sequence[str]) -> Iterator[Values]:
    """Beyond a border with all sizes at once, as a kernel may ask for two of them, the largest that is cheap first: it
    is beyond all smaller borders, too.  A size that cannot be is beyond the largest that it can.  Each costs less
    than the one before."""
    limit = MOST_WITH_ALL
    for most in range(len(borders), 0, -1):
        reached = {root: _least_beyond(contract, root, borders[:most]) for root in roots}
        sizes = {root: size for root, size in reached.items() if size is not None}
        for values in _found(contract, [sizes] if len(sizes) > 1 else []):
            if (spent := cost(contract, values)) <= limit:
                limit = spent - 1
                yield values


def _least_beyond(contract: ContractInNumbers, root: str, borders: Sequence[int]) -> int | None:
    """The least that the root may be beyond the largest of ``borders``, or the next, and so on."""
    sizes = (border // step * step + step for border in reversed(borders) for step in _STEPS)
    return next((size for size in sizes if _may_be(contract, root, size)), None)


def _may_be(contract: ContractInNumbers, root: str, size: int) -> bool:
    """Whether no condition on ``root`` alone rules the size out."""
    alone = (condition for condition in contract.conditions if condition.names == {root})
    return not any(condition.broken_by({root: size}) for condition in alone)


def _size_for(contract: ContractInNumbers, axis: int, blocks: int, root: str, base: Values) -> int | None:
    """The least value of ``root`` for which the axis has so many blocks, where the axis grows with it."""

    def length(size: int) -> int:
        try:
            return contract.value(contract.grid[axis], {**base, root: size})
        except (KeyError, Undefined):
            return 0

    if contract.spec.grid is None or length(GRID_MAX) < blocks or length(1) >= blocks:
        return None
    low, high = 1, GRID_MAX
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if length(middle) >= blocks else (middle, high)
    return high


def _found(contract: ContractInNumbers, wanted: Iterable[Values], near: Values | None = None) -> Iterator[Values]:
    """Whole launches that are small enough, each once, with all other sizes as in ``near`` where the contract has
    that."""
    seen: list[Values] = []
    for given in wanted:
        for asked in ({**near, **given}, given) if near else (given,):
            try:
                values = choose(contract, asked)
            except UsageError:
                continue
            elements, blocks = extent(contract, values)
            if elements <= MOST_ELEMENTS and blocks <= MOST_BLOCKS:
                if values not in seen:
                    seen.append(values)
                    yield values
                break


def _not_tried(
    contract: ContractInNumbers, borders: Sequence[int], roots: Sequence[str], kept: Sequence[Values]
) -> Iterator[str]:
    """For each size and each axis the least border that no launch reaches, though some launch of the contract may."""
    for root in roots:
        most = max(values[root] for values in kept)
        missed = next((border for border in borders if border > most), None)
        if missed is not None and _may_be(contract, root, missed):
            yield f"{root} >= {missed}"
    for axis, name in enumerate(GRID_NAMES):
        lengths = [contract.value(contract.grid[axis], values) for values in kept]
        missed = next((border for border in borders if border >= max(lengths)), None)
        if missed is not None and len(set(lengths)) > 1:
            yield f"{name} > {missed}"


# ------------------------------------------------------------------------------------------------------- small launches
# Launches as small as a contract lets them be, in the sizes that are not what a launch is about.


_SMALL: Final = (3, 2, 1, 4, 8, 16, 32)
"""3 first: of one or two, rows and columns are easily taken for each other."""


def siblings(contract: ContractInNumbers, launches: Sequence[Mapping[str, int]]) -> list[Mapping[str, int]]:
    """For each launch but the first one with small values where it has those of the first, if that costs less."""
    found: list[Mapping[str, int]] = []
    for values in launches[1:]:
        small = sibling(contract, launches[0], values)
        if cost(contract, small) < cost(contract, values) and small not in found and small not in launches:
            found.append(small)
    return sorted(found, key=lambda values: cost(contract, values))


def sibling(contract: ContractInNumbers, usual: Mapping[str, int], values: Mapping[str, int]) -> Mapping[str, int]:
    """The launch ``values`` with small values where it has those of ``usual``, as far as the contract has such."""
    for name in _free(contract, values):
        if values[name] == usual.get(name):
            values = next(_smaller(contract, values, name, _SMALL), values)
    return values


def with_few_blocks(contract: ContractInNumbers, values: Mapping[str, int], most: int) -> Mapping[str, int]:
    """The launch with no more than ``most`` blocks, if smaller sizes give that; of such launches one with many
    elements."""
    blocks = extent(contract, values)[1]
    while blocks > most:
        found = [
            (extent(contract, small), small)
            for name in _free(contract, values)
            for small in _smaller(contract, values, name, (values[name] // 2, *sorted(_SMALL, reverse=True)))
        ]
        found = [each for each in found if each[0][1] < blocks]
        if not found:
            break
        (_, blocks), values = max(found, key=lambda each: (each[0][1] <= most, -max(each[0][1], most), each[0][0]))
    return values


def smallest(contract: ContractInNumbers, values: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
    """Launches that differ from this one in one size, which is smaller, the smallest first."""
    for name in _free(contract, values):
        low = 0 if name in contract.scalars else 1
        steps = sorted({low, low + 1, values[name] // 4, values[name] // 2, values[name] - 1})
        yield from _smaller(contract, values, name, [step for step in steps if low <= step < values[name]])


def _free(contract: ContractInNumbers, values: Mapping[str, int]) -> list[str]:
    return [name for name in contract.roots if name in values and name not in GRID_NAMES]


def _smaller(
    contract: ContractInNumbers, values: Mapping[str, int], name: str, wanted: Sequence[int]
) -> Iterator[Mapping[str, int]]:
    """``values`` with another one for ``name``, all others kept, as far as the contract has such launches."""
    kept = {other: values[other] for other in _free(contract, values)}
    for value in wanted:
        if value >= values[name]:
            continue
        try:
            found = choose(contract, {**kept, name: value})
            if cost(contract, found) <= cost(contract, values):
                yield found
        except (UsageError, KeyError):
            continue
