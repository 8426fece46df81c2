"""Which arrays the values that nobody follows are computed from: results of reductions, integers made of floats.

The prover takes such a value for any number.  A search for witnesses has to know whose contents make it what it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...contract.terms import Term, TermKind
from ..bytecode.model import Entry, TokenType, Value
from ..bytecode.traverse import operands, walk
from .machine import SymbolicExecutor
from .summary import PointerFootprint, Site
from .values import Pointer, SymbolicValue
from .written import region_flows


def arrays_behind(
    entry: Entry, parameters: Mapping[Value, SymbolicValue], machine: SymbolicExecutor, sites: Sequence[Site]
) -> dict[str, frozenset[str]]:
    """By the names of functions that accesses, promises and loops depend on: the arrays that the op takes, or whose
    contents it takes."""
    named = {leaf.function.name for term in _terms(machine, sites) for leaf in term.free if _is_function(leaf)}
    makers = {name: op for name, op in machine.makers.items() if name in named}
    sources: dict[Value, list[Value]] = {}
    for op in walk(entry.body) if makers else ():
        for result in op.results:
            sources.setdefault(result, []).extend(operands(op))
        for target, source, _ in region_flows(op):
            sources.setdefault(target, []).append(source)
    arrays = {value: held.origin.name for value, held in parameters.items() if isinstance(held, Pointer)}
    reached = {name: _reached(operands(op), sources) for name, op in makers.items()}
    return {name: frozenset(arrays[value] for value in found if value in arrays) for name, found in reached.items()}


def _is_function(leaf: Term) -> bool:
    return leaf.kind is TermKind.APPLY


def _terms(machine: SymbolicExecutor, sites: Sequence[Site]) -> Iterator[Term]:
    for site in sites:
        place = site.footprint
        yield site.guard
        yield from (place.offset,) if isinstance(place, PointerFootprint) else (place.base, *place.index, *place.shape)
    yield from (promise.condition for promise in machine.promises)
    for value in machine.loop_values:
        yield from (value.init, value.next)


def _reached(values: Iterable[Value], sources: Mapping[Value, Sequence[Value]]) -> set[Value]:
    """What a value is made of; what a token orders is no part of it."""
    left, seen = list(values), set[Value]()
    while left:
        value = left.pop()
        if value not in seen and not isinstance(value.type, TokenType):
            seen.add(value)
            left += sources.get(value, ())
    return seen
