"""Terms of a summary in one block: variables from the launch, function symbols from the run, lanes as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ...contract.launch import Block, ConcreteLaunch, EntryParameter, Role
from ...contract.terms import Function, Scope, Sort, Term, TermKind, postorder
from ...contract.variables import BID, GRID
from ...frontend.bytecode.model import Entry, ScalarType, TileType
from ...frontend.symbolic.summary import AccessSummary, PointerFootprint, Site
from ..interpreter import MemoryImage
from .symbol_values import OPEN, FunctionValues, Known, SymbolSources, combine, lane

_LAUNCH: Final = 0
_BLOCK: Final = 1
_ITERATION: Final = 2


@dataclass(slots=True)
class KernelTerms:
    """What is the same in every launch of an entry: what its terms are made of, and where their symbols come from.

    ``rank``: dimensions of the largest tile that an access or a term speaks of; ``levels``: of the parts that `orders`
    was asked for, whether the launch, the block or the iteration decides their values.
    """

    entry: Entry
    parameters: Sequence[EntryParameter]
    summary: AccessSummary
    sources: SymbolSources = field(init=False)
    rank: int = field(init=False)
    functions: tuple[Function, ...] = field(init=False)
    levels: dict[Term, int] = field(default_factory=dict)
    _orders: dict[Term, tuple[tuple[Term, ...], ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sources = SymbolSources(self.entry)
        roots = list(_roots(self.summary))
        leaves = frozenset[Term]().union(*(root.free for root in roots))
        self.functions = tuple({leaf.function: None for leaf in leaves if leaf.kind is TermKind.APPLY})
        lanes = [leaf.symbol.name for leaf in leaves if leaf.kind is TermKind.VAR and leaf.symbol.scope is Scope.LANE]
        of_sites = [each.variable.symbol.name for site in self.summary.sites for each in site.lanes]
        self.rank = max((int(name[1:]) + 1 for name in (*lanes, *of_sites)), default=0)

    def orders(self, term: Term) -> tuple[tuple[Term, ...], ...]:
        """The parts of ``term``, arguments first: those of the launch, of the block, of the iteration."""
        known = self._orders.get(term)
        if known is None:
            parts = list(postorder(term))
            for part in parts:
                if part not in self.levels:
                    self.levels[part] = max((self.levels[arg] for arg in part.args), default=_LAUNCH)
                    self.levels[part] = max(self.levels[part], _own_level(part))
            levels = (_LAUNCH, _BLOCK, _ITERATION)
            known = tuple(tuple(part for part in parts if self.levels[part] == level) for level in levels)
            self._orders[term] = known
        return known


def _own_level(part: Term) -> int:
    if part.kind is TermKind.APPLY:
        return _BLOCK
    if part.kind is not TermKind.VAR:
        return _LAUNCH
    match part.symbol.scope:
        case Scope.LAUNCH | Scope.LANE:
            return _LAUNCH
        case Scope.ITERATION:
            return _ITERATION
        case _:
            return _BLOCK


def _roots(summary: AccessSummary) -> Iterable[Term]:
    for site in summary.sites:
        yield site.guard
        yield from footprint_terms(site)
        yield from (wait.condition for wait in site.waits)
    for promise in summary.promises:
        yield promise.guard
        yield promise.condition


def footprint_terms(site: Site) -> Iterable[Term]:
    """Everything that says where a site goes."""
    place = site.footprint
    if site.origin.index is not None:
        yield site.origin.index
    if isinstance(place, PointerFootprint):
        yield place.offset
    else:
        yield from (place.base, *place.shape, *place.strides, *place.coordinates)


class LaunchTerms:
    """The variables of one launch, and the values of terms that all its blocks share."""

    def __init__(self, kernel: KernelTerms, launch: ConcreteLaunch, image: MemoryImage) -> None:
        self.kernel = kernel
        self.image = image
        self.memo: dict[Term, Known] = {}
        self.numbers = launch_numbers(kernel.entry, kernel.parameters, launch)
        self.numbers |= {f"{origin.name}.address": origin.base for origin in reversed(image.origins)}


def launch_numbers(entry: Entry, parameters: Sequence[EntryParameter], launch: ConcreteLaunch) -> dict[str, int]:
    """The variables of a launch by name, all but addresses."""
    numbers = dict(zip((axis.symbol.name for axis in GRID), launch.grid, strict=True))
    for name, array in launch.arrays.items():
        numbers |= {f"{name}.shape[{d}]": size for d, size in enumerate(array.shape)}
        numbers |= {f"{name}.strides[{d}]": step for d, step in enumerate(array.strides)}
    numbers |= {f"{name}.length": len(items) for name, items in launch.lists.items()}
    for value, parameter in zip(entry.parameters, parameters, strict=True):
        if parameter.role is Role.SCALAR and parameter.argument in launch.scalars:
            assert isinstance(value.type, TileType)
            assert isinstance(value.type.element, ScalarType)
            numbers[parameter.argument] = _signed(launch.scalars[parameter.argument], value.type.element.bits)
    return numbers


def _signed(number: int, bits: int) -> int:
    return number if bits == 1 or number < 1 << (bits - 1) else number - (1 << bits)


class BlockTerms:
    """Values of terms in one block, at the iterations that `at` chooses."""

    def __init__(self, launch: LaunchTerms, block: Block, functions: FunctionValues) -> None:
        self._launch = launch
        self._functions = functions
        self._block = dict(zip(BID, block, strict=True))
        self._memo: dict[Term, Known] = {}
        self._here: dict[Term, Known] = {}
        self._iterations: Mapping[Term, Known] = {}

    def at(self, iterations: Mapping[Term, Known]) -> None:
        """From now on, loops are at these iterations."""
        self._iterations = iterations
        self._here = {}

    def value(self, term: Term) -> Known:
        memos = (self._launch.memo, self._memo, self._here)
        kernel = self._launch.kernel
        orders = kernel.orders(term)
        level = 2 if orders[2] else 1 if orders[1] else 0
        known = memos[level].get(term)
        if known is not None:
            return known
        levels = kernel.levels
        for parts, memo in zip(orders, memos, strict=True):
            for part in parts:
                if part not in memo:
                    args = [memos[levels[arg]][arg] for arg in part.args]
                    memo[part] = self._step(part, args)
        return memos[level][term]

    def _step(self, part: Term, args: list[Known]) -> Known:
        match part.kind:
            case TermKind.CONST:
                return Known(part.value)
            case TermKind.TRUE | TermKind.FALSE:
                return Known(part.kind is TermKind.TRUE)
            case TermKind.VAR:
                return self._variable(part)
            case TermKind.APPLY:
                return self._functions.value(part.function, args)
            case _:
                return combine(part, args)

    def _variable(self, part: Term) -> Known:
        symbol = part.symbol
        if symbol.scope is Scope.LANE:
            assert symbol.high is not None
            return lane(int(symbol.name[1:]), symbol.high + 1, self._launch.kernel.rank)
        if part in self._iterations:
            return self._iterations[part]
        if part in self._block:
            return Known(self._block[part])
        number = self._launch.numbers.get(symbol.name)
        if number is None:
            return OPEN
        return Known(bool(number) if symbol.sort is Sort.BOOL else number)
