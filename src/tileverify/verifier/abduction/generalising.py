"""Launches of numbers, proved as widely as possible.

A recorded launch names its sizes by number.  A proof about these numbers alone helps nobody with the next batch, so
the numbers are set free first, and what the proof needs of them comes back as clauses that the launch itself keeps:

    any      sizes, strides, scalars and the grid are free; clauses relate them (``grid.x <= cdiv(x.shape[0], 128)``)
    sizes    the sizes are these, the grid is free but for clauses
    launch   these sizes and this grid
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...contract import terms as t
from ...contract.arguments import print_array
from ...contract.element_types import INDEX_MAX, INT_BITS
from ...contract.expressions import constant_value, evaluate
from ...contract.launch import (
    Argument,
    ArrayArgument,
    EntryParameter,
    Expression,
    LaunchSpec,
    ListArgument,
    Name,
    Number,
    Role,
    ScalarArgument,
    TupleArgument,
    strides_of,
)
from ...contract.strides import may_overlap_itself
from ...contract.terms import Scope, Term, TermKind
from ...contract.terms.evaluate import evaluate as value_of
from ...contract.variables import GRID, argument_address, scalar_variable, unsigned_variable
from ...frontend.symbolic.summary import Origin, address_of
from ...results import HoldsFor
from .mining import bounds, constants, counting, denied, fitting, mentioned, ratios


@dataclass(frozen=True, slots=True)
class Level:
    """``launch`` has names where the original has numbers; ``own`` are the original's numbers by variable."""

    holds_for: HoldsFor
    launch: LaunchSpec
    own: Mapping[Term, int]

    def aligned(self, origins: Iterable[Origin]) -> Level:
        """With addresses: a spec does not tell them, so that only their alignment can matter, which is the best."""
        chosen = (origin for origin in origins if origin.index is None and origin.address is None)
        addresses = [*map(address_of, chosen), *(argument_address(listed.name) for listed in self.launch.lists())]
        return replace(self, own={**self.own, **dict.fromkeys(addresses, 0)})


def levels(launch: LaunchSpec, parameters: Sequence[EntryParameter]) -> Iterator[Level]:
    """The wider contracts to try, widest first; none unless every size and the grid are numbers."""
    grid = None if launch.grid is None else [constant_value(axis) for axis in launch.grid]
    arrays = list(launch.arrays())
    literal = all(constant_value(number) is not None for array in arrays for number in _numbers(array))
    if grid is None or None in grid or not arrays or not literal:
        return
    own = {variable: size for variable, size in zip(GRID, grid, strict=True) if size is not None}
    freed = _Freed(launch, parameters)
    if freed.own and not any(isinstance(argument, ListArgument) for argument in launch.arguments):
        yield Level("any", replace(launch, arguments=freed.arguments, grid=None, grid_text=()), {**own, **freed.own})
    yield Level("sizes", replace(launch, grid=None, grid_text=()), own)


def is_asked_first(launch: LaunchSpec, parameters: Sequence[EntryParameter]) -> bool:
    """Whether its own contract may have no launch, and a wider one would be proved first: what holds of more launches
    says nothing where the launch itself is none."""
    said = bool(launch.requires or launch.data) and not launch.observed
    return said and next(levels(launch, parameters), None) is not None


def _numbers(array: ArrayArgument) -> Iterable[Expression]:
    return (*array.shape, *strides_of(array))


class _Freed:
    """The arguments of a launch with names for the numbers that the bytecode leaves open."""

    def __init__(self, launch: LaunchSpec, parameters: Sequence[EntryParameter]) -> None:
        self._static = {(p.role, p.argument, p.dim) for p in parameters if p.static is not None}
        self.own: dict[Term, int] = {}
        self.arguments = tuple(self._argument(argument) for argument in launch.arguments)

    def _argument(self, argument: Argument) -> Argument:
        match argument:
            case TupleArgument(items=items):
                return replace(argument, items=tuple(self._argument(item) for item in items))
            case ArrayArgument():
                return self._array(argument)
            case ScalarArgument(name=name, dtype=dtype, value=value) if value is not None and dtype in INT_BITS:
                number = constant_value(value)
                bits = INT_BITS[dtype]
                if number is not None and dtype[0] == "u":
                    self.own[unsigned_variable(name, bits)] = number
                    return replace(argument, value=None)
                if number is not None:
                    signed = bool(number) if bits == 1 else (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
                    self.own[scalar_variable(name, dtype)] = signed
                    return replace(argument, value=None)
        return argument

    def _array(self, array: ArrayArgument) -> ArrayArgument:
        shape = tuple(self._free(array, Role.SHAPE, dim, size) for dim, size in enumerate(array.shape))
        if may_overlap_itself(array):
            return replace(array, shape=shape, strides=strides_of(array))
        strides = tuple(self._free(array, Role.STRIDE, dim, stride) for dim, stride in enumerate(strides_of(array)))
        return replace(array, shape=shape, strides=strides)

    def _free(self, array: ArrayArgument, role: Role, dim: int, number: Expression) -> Expression:
        value = evaluate(number, {})
        if (role, array.name, dim) in self._static:
            return Number(value)
        name = f"{array.name}.{'shape' if role is Role.SHAPE else 'strides'}[{dim}]"
        self.own[t.var(name, Scope.LAUNCH, 0, INDEX_MAX[array.index_bits])] = value
        return Name(name)


def free_text(launch: LaunchSpec) -> Iterator[str]:
    """What a contract with its numbers set free says of the arrays, as lines for reports."""
    yield from (f"{array.name} = {print_array(array)}" for array in launch.arrays())
    yield "the elements of one array have addresses of their own"


# ------------------------------------------------------------------------------------------------- mining
@dataclass
class Miner:
    """Relations that hold of the level's own launch.  ``tiles``: the numbers of lanes that the kernel works with."""

    level: Level
    tiles: Iterable[int]

    def groups(self, conditions: Sequence[Term]) -> Iterator[list[Term]]:
        """Those that may close a question, the most usual first."""
        own = self.level.own
        sizes = sorted(mentioned(conditions) & own.keys() - set(GRID), key=t.render)
        yield list(denied(conditions, parts_too=True))
        yield [*counting(conditions), *ratios(conditions), *bounds(sizes, conditions), *fitting(conditions)]
        yield [t.eq(axis, t.ONE) for axis in (GRID[2], GRID[1]) if own[axis] == 1]
        if self.level.holds_for != "any":
            yield [t.le(axis, t.const(own[axis])) for axis in GRID]
            return
        numbers, alike, near = self._numbers, self._alike, mentioned(conditions)
        counts = sorted({tile for tile in self.tiles if tile > 1})
        factors = sorted({*counts, *constants(conditions)})
        yield [term for term in alike if term.free <= near]
        yield list(_grids(own, [v for v in numbers if v in near], factors))
        yield list(_small_extents({v: n for v, n in numbers.items() if v in near or _layout_mate(v, near)}))
        close = near.union(*(term.free for term in alike if term.free & near))
        yield [
            *(term for term in alike if term.free <= close),
            *_grids(own, [v for v in numbers if v in close and v not in near], factors),
        ]
        yield [*_multiples(own, near, counts), *_limits(own, near, counts)]
        yield [t.eq(GRID[0], t.ONE)] if own[GRID[0]] == 1 else []

    @cached_property
    def _numbers(self) -> Mapping[Term, int]:
        return {variable: value for variable, value in self.level.own.items() if variable not in GRID}

    @cached_property
    def _alike(self) -> list[Term]:
        return [*_equal(self._numbers), *_contiguous(self._numbers)]


def _layout_mate(variable: Term, near: frozenset[Term]) -> bool:
    """A size or stride of an array of which another one is mentioned."""
    array = _parsed(variable.symbol.name)[0]
    return any(leaf.kind is TermKind.VAR and _parsed(leaf.symbol.name)[0] == array for leaf in near)


def _multiples(own: Mapping[Term, int], near: frozenset[Term], counts: Sequence[int]) -> Iterator[Term]:
    for size, value in own.items():
        if size in near and value:
            fitting = [n for n in counts if value % n == 0]
            # Each of these says what smaller divisors of it would say.
            yield from (_divides(n, size) for n in fitting if not any(m > n and m % n == 0 for m in fitting))


def _divides(count: int, size: Term) -> Term:
    return t.eq(t.floormod(size, t.const(count)), t.ZERO)


def weaker(clause: Term, tiles: Iterable[int]) -> Iterator[Term]:
    """That a size is a multiple of fewer of the tile sizes, the weakest first."""
    rest = next((part for part in clause.args if part.kind is TermKind.MOD), None)
    if clause.kind is TermKind.EQ and rest is not None and rest.args[1].kind is TermKind.CONST:
        size, count = rest.args[0], rest.args[1].value
        yield from (_divides(n, size) for n in sorted(tiles) if 1 < n < count and count % n == 0)


def _limits(own: Mapping[Term, int], near: frozenset[Term], counts: Sequence[int]) -> Iterator[Term]:
    for size, value in own.items():
        if size in near and size not in GRID:
            yield from (t.le(size, t.const(count)) for count in counts if value <= count)
            if value >= 1:
                yield t.le(t.ONE, size)


def _small_extents(numbers: Mapping[Term, int]) -> Iterator[Term]:
    """No product of a size and its stride leaves i32."""
    by_name = {variable.symbol.name: variable for variable in numbers}
    for name, size in by_name.items():
        stride = by_name.get(name.replace(".shape[", ".strides["))
        if stride is not None and stride is not size and numbers[size] * numbers[stride] < 1 << 31:
            yield t.lt(t.mul(size, stride), t.const(1 << 31))


def _equal(numbers: Mapping[Term, int]) -> Iterator[Term]:
    """Sizes, strides and scalars of one value."""
    by_value: dict[int, list[Term]] = {}
    for variable, value in numbers.items():
        alike = by_value.setdefault(value, [])
        if value > 1:
            yield from (t.eq(other, variable) for other in alike)
        alike.append(variable)


def _contiguous(numbers: Mapping[Term, int]) -> Iterator[Term]:
    """A stride is the product of the sizes after it, or of the next size and its stride."""
    by_name = {variable.symbol.name: variable for variable in numbers}
    for name, stride in by_name.items():
        array, part, dim = _parsed(name)
        if part != "strides":
            continue
        size = by_name.get(f"{array}.shape[{dim + 1}]")
        inner = by_name.get(f"{array}.strides[{dim + 1}]", t.ONE)
        if size is not None and numbers[size] * numbers.get(inner, 1) == numbers[stride] and inner is not t.ONE:
            yield t.eq(stride, t.mul(size, inner))


def array_part(variable: Term) -> tuple[str, str, int]:
    """``x.strides[1]`` as its parts; a scalar has none."""
    return _parsed(variable.symbol.name)


def _parsed(name: str) -> tuple[str, str, int]:
    array, dot, rest = name.rpartition(".")
    part, bracket, dim = rest.partition("[")
    return (array, part, int(dim[:-1])) if dot and bracket else (name, "", 0)


def _grids(own: Mapping[Term, int], sizes: Sequence[Term], factors: Sequence[int]) -> Iterator[Term]:
    """Grid axes as sizes, numbers of tiles, multiples of a compiled-in number, and products of two of these."""
    steps: list[tuple[Term, int]] = [(size, own[size]) for size in sizes if own[size]]
    steps += [(t.ceildiv(size, t.const(n)), -(-own[size] // n)) for size in sizes for n in factors if own[size]]
    for axis in GRID:
        blocks = own[axis]
        found = [term for term, value in steps if value == blocks]
        found += [t.scale(n, term) for term, value in steps for n in factors if n * value == blocks]
        found += [
            t.mul(a, b)
            for place, (a, m) in enumerate(steps)
            if 1 < m < blocks and blocks % m == 0
            for b, n in steps[place + 1 :]
            if m * n == blocks and a.free != b.free
        ]
        for term in dict.fromkeys(found[:MOST_GRIDS]):
            yield t.le(axis, term)


MOST_GRIDS = 12
"""Readings of one grid axis that are tried at once."""


def holds(condition: Term, own: Mapping[Term, int]) -> bool:
    """Whether the launch's own numbers satisfy the condition; not if it speaks of anything else."""
    try:
        return bool(value_of(condition, own))
    except (KeyError, ZeroDivisionError):
        return False
