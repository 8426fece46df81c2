"""From a solver model to a concrete launch, and from a confirmed launch to what people read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..frontend.sources.launch import LaunchSpec, ScalarArgument, TupleArgument
from ..frontend.symbolic import terms as t
from ..frontend.symbolic.summary import BID, GRID, Origin
from ..frontend.symbolic.terms import Kind, Scope, Term
from ..results import Witness
from .claim import Block, Claim, ConcreteArray, ConcreteLaunch, Confirm, Confirmation, claim_to_json
from .contract import INT_BITS, Contract, scalar_variable
from .copies import OTHER, Copy
from .evaluate import Value, evaluate
from .layout import IndexFootprint
from .obligations import Obligation, Prepared, overlap_distance
from .prepare import contract_values
from .smt import Answer, Decider, Model

SIZE_BOUNDS = (8, 40, 300, 1100, 5000, 2**17, 2**24, None)
"""Witnesses are looked for among small launches first: people read them, and the replay runs them."""

GRID_BOUNDS = (4, 8, 64, 1024, 2**14, 2**17, 2**24, None)


@dataclass(frozen=True, slots=True)
class Found:
    """A confirmed witness."""

    launch: ConcreteLaunch
    claim: Claim
    confirmation: Confirmation
    model: Model


@dataclass
class Search:
    """Looks for a small launch that breaks ``obligation`` and that the replay confirms.

    ``candidate`` says afterwards whether the solver gave any model at all.
    """

    obligation: Obligation
    conditions: tuple[Term, ...]
    eliminated: Mapping[Term, Term]
    contract: Contract
    launch: LaunchSpec
    origins: Mapping[str, Origin]
    decider: Decider
    candidate: bool = False

    def run(self, confirm: Confirm) -> Found | None:
        attempts = 0
        asked: set[frozenset[Term]] = set()
        for size_bound, grid_bound in zip(SIZE_BOUNDS, GRID_BOUNDS, strict=True):
            limited = [*self.conditions, *_small(self.contract, size_bound, grid_bound)]
            if frozenset(limited) in asked:
                continue  # a contract of numbers has one size
            asked.add(frozenset(limited))
            result = self.decider.decide(limited, twins=self.obligation.twins)
            if result.answer is not Answer.SATISFIABLE or result.model is None:
                continue
            self.candidate = True
            model = self._complete(result.model)
            concrete = _concrete(model, self.contract, self.launch, self.origins)
            claim = _claim(self.obligation, model)
            confirmation = confirm(concrete, claim)
            if confirmation is not None:
                return Found(concrete, claim, confirmation, model)
            attempts += 1
            if attempts == MAX_REPLAYS:
                break
        return None

    def _complete(self, model: Model) -> Model:
        """Give the variables that simplification removed the value of those they are equal to."""
        for variable, equal in reversed(list(self.eliminated.items())):
            model.variables[variable] = _Environment(model)[equal]
        return model


MAX_REPLAYS = 3


def _small(contract: Contract, size_bound: int | None, grid_bound: int | None) -> Iterator[Term]:
    values = contract_values(contract)
    if size_bound is not None:
        for variable in contract.variables:
            if variable.sort is t.Sort.INT:
                yield t.le(variable, t.const(size_bound))
    if grid_bound is not None:
        for grid in GRID:
            term = values.get(grid, grid)
            if term.kind is not Kind.CONST:
                yield t.le(term, t.const(grid_bound))


# ----------------------------------------------------------------------------------------- to numbers
class _Environment:
    """Launch variables of a model, with harmless defaults for those the question did not mention."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def __getitem__(self, term: Term) -> Value:
        if term in self.model.variables:
            return self.model.variables[term]
        symbol = term.symbol
        if symbol.sort is t.Sort.BOOL:
            return False
        low = 1 if symbol.low is None or symbol.low <= 1 else symbol.low
        return low if symbol.high is None else min(low, symbol.high)

    def __call__(self, term: Term) -> int:
        return int(evaluate(term, self))  # type: ignore[arg-type]


def _concrete(model: Model, contract: Contract, launch: LaunchSpec, origins: Mapping[str, Origin]) -> ConcreteLaunch:
    """The launch that the model describes."""
    values = contract_values(contract)
    number = _Environment(model)

    def read(term: Term) -> int:
        return number(values.get(term, term))

    arrays: dict[str, ConcreteArray] = {}
    for array in contract.arrays.values():
        limit = 2**31 - 1 if array.index_bits == 32 else 2**63 - 1
        shape, strides = (
            tuple(read(t.var(f"{array.name}.{part}[{d}]", Scope.LAUNCH, 0, limit)) for d in range(len(array.shape)))
            for part in ("shape", "strides")
        )
        contents = {
            sum(int(i) * s for i, s in zip(args, strides, strict=True)): int(value)
            for (function, args), value in model.applications.items()
            if function.array == array.name and function.name == array.name and len(args) == len(strides)
        }
        allocation, offset = _allocation(array.name, contract, number, origins)
        arrays[array.name] = ConcreteArray(
            array.dtype, shape, strides, contents, allocation=allocation, byte_offset=offset
        )
    scalars = {name: read(variable) for name, variable in _scalar_variables(launch)}
    grid = tuple(read(g) for g in GRID)
    return ConcreteLaunch((grid[0], grid[1], grid[2]), arrays, scalars)


def _allocation(name: str, contract: Contract, number: _Environment, origins: Mapping[str, Origin]) -> tuple[str, int]:
    """Arguments that are one array share an allocation; those that may overlap do at the model's distance."""
    for first in contract.arrays:
        if first == name:
            break
        if contract.is_same(first, name):
            return _allocation(first, contract, number, origins)
        if contract.may_overlap(first, name):
            distance = overlap_distance(origins[first], origins[name])
            if distance.free & number.model.variables.keys():
                base, offset = _allocation(first, contract, number, origins)
                return base, offset + number(distance)
    return name, 0


def _scalar_variables(launch: LaunchSpec) -> Iterator[tuple[str, Term]]:
    stack = list(launch.arguments)
    while stack:
        argument = stack.pop()
        if isinstance(argument, TupleArgument):
            stack.extend(argument.items)
        elif isinstance(argument, ScalarArgument) and argument.dtype in INT_BITS:
            yield argument.name, scalar_variable(argument.name, argument.dtype)


def _block(model: Model, mark: str) -> Block:
    copy = Copy("block", mark)
    x, y, z = (int(model.variables.get(copy(bid) if mark else bid, 0)) for bid in BID)
    return x, y, z


def _claim(obligation: Obligation, model: Model) -> Claim:
    return Claim(
        code=obligation.code,
        block_a=_block(model, ""),
        block_b=_block(model, OTHER) if obligation.level == "block" else None,
        offset_a=_offset(obligation.first or obligation.promise),
        offset_b=_offset(obligation.second),
    )


def _offset(item: object) -> int | None:
    return getattr(item, "offset", None)


# ---------------------------------------------------------------------------------------- for people
def describe(found: Found, obligation: Obligation, contract: Contract, prepared: Mapping[int, Prepared]) -> Witness:
    """The witness as reports show it."""
    number = _Environment(found.model)
    names = {variable.symbol.name: variable for variable in contract.variables}
    scalars = dict(found.launch.scalars)
    strides = {
        f"{name}.strides[{d}]": stride
        for name, array in found.launch.arrays.items()
        if contract.arrays[name].strides is not None
        for d, stride in enumerate(array.strides)
    }
    data = {
        name: tuple(v for _, v in sorted(array.contents.items()))
        for name, array in found.launch.arrays.items()
        if array.contents
    }
    return Witness(
        sizes={n: number(v) for n, v in names.items() if n not in scalars and v.sort is t.Sort.INT},
        grid=found.launch.grid,
        block_a=found.claim.block_a,
        block_b=found.claim.block_b,
        element=found.confirmation.element,
        scalars=scalars,
        strides=strides,
        data=data,
        variables=tuple(_variables(obligation, found.model, prepared)),
        confirmed_by=found.confirmation.replayed_by,
        launch=claim_to_json(found.launch, found.claim),
    )


def _variables(
    obligation: Obligation, model: Model, prepared: Mapping[int, Prepared]
) -> Iterator[tuple[str, int | None, int | None]]:
    """Block ids, loop iterations and tile numbers on both sides."""
    copy = Copy(obligation.level or "lane", OTHER)
    first = prepared.get(obligation.first.number) if obligation.first else None
    second = prepared.get(obligation.second.number) if obligation.second else first
    if first is None or second is None:
        return
    shared: dict[Term, None] = dict.fromkeys(BID if obligation.level == "block" else ())
    shared.update((loop.iteration, None) for side in (first, second) for loop in side.site.loops)
    for variable in shared:
        a, b = model.variables.get(variable), model.variables.get(copy(variable))
        if a is not None or b is not None:
            yield variable.symbol.name, _number(a), _number(b)
    for d, (index, other) in enumerate(zip(_tiles(first), _tiles(second), strict=False)):
        yield f"tile index {d}", _try(index, model), _try(copy(other), model) if obligation.level else None


def _tiles(prepared: Prepared) -> list[Term]:
    place = prepared.place
    tiles = place.tile_index if isinstance(place, IndexFootprint) else None
    return [index for index, _ in tiles or ()]


def _number(value: Value | None) -> int | None:
    return None if value is None else int(value)


def _try(term: Term, model: Model) -> int | None:
    try:
        return int(evaluate(term, model.variables, lambda f, a: model.applications[f, a]))
    except (KeyError, ZeroDivisionError):
        return None
