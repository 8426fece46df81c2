"""A confirmed witness as reports show it: sizes, blocks, contents and what the question was about, in numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...contract import terms as t
from ...contract.contract import Contract
from ...contract.expressions import free_names
from ...contract.launch import ConcreteArray, ConcreteLaunch, expressions_of
from ...contract.terms import Term
from ...contract.terms.evaluate import Value, evaluate
from ...contract.variables import BID, GRID
from ...frontend.symbolic.summary import Site
from ...results import TILE_INDEX, Witness
from ...results.claim import claim_to_json
from ..obligations.answers import Model
from ..obligations.footprint_overlap import PRIME, CopyLevel, PreparedSite, PrimedCopy, place_terms
from ..obligations.layout import IndexFootprint
from ..obligations.obligations import Obligation
from .described import DescribedNumbers, mentioned
from .witness import FoundWitness

MOST_SHOWN = 64
"""Elements of an index array that are shown to people."""


def describe(
    found: FoundWitness, obligation: Obligation, contract: Contract, prepared: Mapping[int, PreparedSite]
) -> Witness:
    """The witness as reports show it."""
    number = DescribedNumbers(found.model)
    names = {variable.symbol.name: variable for variable in contract.variables}
    scalars = dict(found.launch.scalars)
    strides = {
        f"{name}.strides[{d}]": stride
        for name, array in found.launch.arrays.items()
        if contract.arrays[name].strides is not None
        for d, stride in enumerate(array.strides)
    }
    data = {name: contents for name, array in found.launch.arrays.items() if (contents := _shown(name, array, found))}
    return Witness(
        sizes={n: number(v) for n, v in names.items() if n not in scalars and v.sort is t.Sort.INT}
        | dict(_listed_sizes(found, contract))
        | dict(_distances(found.launch, contract)),
        grid=found.launch.grid,
        block_a=found.claim.block_a,
        block_b=found.claim.block_b,
        element=found.confirmation.element,
        scalars=scalars,
        strides=strides,
        data=data,
        variables=() if found.elsewhere else tuple(_variables(obligation, found.model, prepared)),
        confirmed_by=found.confirmation.replayed_by,
        launch=claim_to_json(found.launch, found.claim),
        elements=found.confirmation.elements,
        values=found.confirmation.values(),
    )


def wrapped_index(
    found: FoundWitness, obligation: Obligation, prepared: Mapping[int, PreparedSite]
) -> tuple[Site, Term, int] | None:
    """The access, the 32-bit integer in its address that wraps in the witness, and the number that it should be.

    ``None`` where nothing wraps, or the witness does not say every number that is needed.
    """
    sides = ((obligation.first, None, found.claim.block_a), (obligation.second, obligation.level, found.claim.block_b))
    for site, level, block in sides if found.as_claimed and not found.elsewhere else ():
        if site is None or block is None or site.number not in prepared:
            continue
        copy = PrimedCopy(level, PRIME) if level else None
        known = _known_numbers(found) | dict(zip(BID, block, strict=True))
        for wrap in _wraps(prepared[site.number]):
            asked = wrap.args[0] if copy is None else copy(wrap.args[0])
            value = _value(asked, known | ({copy(bid): known[bid] for bid in BID} if copy else {}))
            if value is not None and not -(1 << 31) <= value < 1 << 31:
                return site, wrap.args[0], value
    return None


def _known_numbers(found: FoundWitness) -> dict[Term, Value]:
    grid = dict(zip(GRID, found.launch.grid, strict=True))
    return {**found.model.variables, **grid}


def _wraps(prepared: PreparedSite) -> list[Term]:
    """Of an address, the innermost first."""
    parts = (part for term in place_terms(prepared.place) for part in t.postorder(term))
    return list(dict.fromkeys(part for part in parts if part.kind is t.TermKind.WRAP and part.payload == 32))


def _value(term: Term, known: Mapping[Term, Value]) -> int | None:
    try:
        return int(evaluate(term, known))
    except (KeyError, ZeroDivisionError):
        return None


def _shown(name: str, array: ConcreteArray, found: FoundWitness) -> tuple[int, ...]:
    """The contents of a small array; of a large one those elements that the question is about."""
    contents = array.contents
    if len(contents) > MOST_SHOWN:
        contents = mentioned(found.model, name, array.shape, array.strides)
    return tuple(value for _, value in sorted(contents.items()))


def _listed_sizes(found: FoundWitness, contract: Contract) -> Iterator[tuple[str, int]]:
    """The sizes of arrays in lists that the question is about, and those that facts on contents name."""
    mentioned = {(f.name, arguments) for f, arguments in found.model.applications}
    named = {name for data in contract.data for part in expressions_of(data.fact) for name in free_names(part)}
    for name, arrays in found.launch.lists.items():
        for index, array in enumerate(arrays):
            for d, size in enumerate(array.shape):
                if (f"{name}[].shape[{d}]", (index,)) in mentioned or f"{name}.shape[{d}]" in named:
                    yield f"{name}[{index}].shape[{d}]", size


def _distances(launch: ConcreteLaunch, contract: Contract) -> Iterator[tuple[str, int]]:
    """How many bytes lie between the first elements of arrays that overlap."""
    for second, array in launch.arrays.items():
        first = array.allocation
        if first != second and contract.may_overlap(first, second) and not contract.is_same(first, second):
            yield f"{second}.address - {first}.address", array.byte_offset - launch.arrays[first].byte_offset


def _variables(
    obligation: Obligation, model: Model, prepared: Mapping[int, PreparedSite]
) -> Iterator[tuple[str, int | None, int | None]]:
    """Block ids, loop iterations and tile numbers on both sides."""
    copy = PrimedCopy(obligation.level or CopyLevel.LANE, PRIME)
    first = prepared.get(obligation.first.number) if obligation.first else None
    second = prepared.get(obligation.second.number) if obligation.second else first
    if first is None or second is None:
        return
    shared: dict[Term, None] = dict.fromkeys(BID if obligation.level == CopyLevel.BLOCK else ())
    shared.update((loop.iteration, None) for side in (first, second) for loop in side.site.loops)
    for variable in shared:
        a, b = model.variables.get(variable), model.variables.get(copy(variable))
        if a is not None or b is not None:
            yield variable.symbol.name, _number(a), _number(b)
    for d, (index, other) in enumerate(zip(_tiles(first), _tiles(second), strict=False)):
        yield f"{TILE_INDEX} {d}", _try(index, model), _try(copy(other), model) if obligation.level else None


def _tiles(prepared: PreparedSite) -> list[Term]:
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
