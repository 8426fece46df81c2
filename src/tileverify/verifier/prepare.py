"""Sites made ready for questions: contract terms put in, machine wraps discharged where they are shown to fit.

    wrap_N(x) may be read as x under a guard g   iff   facts and g  imply  -2**(N-1) <= x < 2**(N-1)

where the facts on index data count as well, for the values that x and g mention.
Reading it so turns a question ``g and rest`` into one that every solution of the first also solves, so nothing
broken is lost.  A wrap that is not discharged stays, exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ..frontend.sources.launch import ListArgument
from ..frontend.symbolic import terms as t
from ..frontend.symbolic.rendering import unsigned_reading
from ..frontend.symbolic.summary import (
    BID,
    GRID,
    AccessSummary,
    Footprint,
    Origin,
    OriginKind,
    PointerFootprint,
    Promise,
    Site,
    ViewFootprint,
)
from ..frontend.symbolic.terms import Kind, Term
from .contract import INDEX_MAX, Contract, described_word, extent_of, list_length
from .copies import OTHER, Copy
from .data import data_facts
from .layout import IndexFootprint, Place, place
from .obligations import Prepared
from .smt import Answer, Decides


@dataclass
class Preparer:
    """Applies one contract to the sites and promises of ``summary``; ``keep_wraps`` leaves all wraps as they are.

    ``origins``: what pointers are derived from, in terms of the contract.
    """

    summary: AccessSummary
    contract: Contract
    decider: Decides
    keep_wraps: bool = False
    origins: Mapping[str, Origin] = field(init=False)
    _memo: dict[Term, Term] = field(default_factory=dict)
    _fits: dict[tuple[Term, Term], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._values = contract_values(self.contract)
        self.origins = {name: map_origin(origin, self.term) for name, origin in self.summary.origins.items()}

    def term(self, term: Term) -> Term:
        """``term`` with the contract's values put in."""
        return t.transform(term, self._value, self._memo)

    def _value(self, term: Term) -> Term | None:
        if term.kind is Kind.APPLY and self.contract.lists:
            return list_word(term, self.contract.lists)
        return self._values.get(term)

    def site(self, site: Site) -> Prepared:
        guard = self._discharge_guard(self.term(site.guard))
        site = replace(site, footprint=self._addressed(site.footprint, guard))
        located = place(site)
        fit = self._under(guard)
        footprint = _map_footprint(site.footprint, lambda x: fit(self.term(x)))
        mapped = _map_place(located, lambda x: fit(self.term(x)))
        waits: dict[int, Term] = {}
        for wait in site.waits:
            condition = self.term(wait.condition)
            waits[wait.site] = t.or_(waits.get(wait.site, t.FALSE), condition)
        return Prepared(replace(site, footprint=footprint, guard=guard), guard, mapped, waits)

    def _addressed(self, footprint: Footprint, guard: Term) -> Footprint:
        """The footprint with its origin's size, and no wrap in its address that fits: strides must show as factors."""

        def plain(address: Term) -> Term:
            if self.keep_wraps or not _has_wrap(address):
                return address
            return t.transform(address, drop)

        def drop(sub: Term) -> Term | None:
            if sub.kind is not Kind.WRAP:
                return None
            value, inner = self.term(sub), sub.args[0]
            fits = value is self.term(inner) if value.kind is not Kind.WRAP else self._fit_under(value, guard)
            return inner if fits else None

        origin = self._known(footprint.origin)
        if isinstance(footprint, ViewFootprint):
            return replace(footprint, origin=origin, base=plain(footprint.base))
        return replace(footprint, origin=origin, offset=plain(footprint.offset))

    def _known(self, origin: Origin) -> Origin:
        """The size of what the bytecode passes without one: a raw pointer is as large as the contract's array of that
        name (CUDA Tile C++ passes no sizes), a list's buffer holds a row of 64-bit words for every array."""
        if origin.kind is OriginKind.LIST and origin.name in self.contract.lists:
            words = 1 + 2 * len(self.contract.lists[origin.name].element.shape)
            return replace(origin, extent=t.scale(8 * words, list_length(origin.name)))
        if origin.kind is not OriginKind.PARAMETER or origin.shape or origin.name not in self.contract.arrays:
            return origin
        return replace(origin, extent=extent_of(self.contract.arrays[origin.name], origin.element_bytes))

    def promise(self, promise: Promise) -> Promise:
        guard = self._discharge_guard(self.term(promise.guard))
        condition = self._under(guard)(self.term(promise.condition))
        return replace(promise, guard=guard, condition=condition)

    # ------------------------------------------------------------------------------------------ wraps
    def _under(self, guard: Term) -> Callable[[Term], Term]:
        return lambda term: self._discharge(term, guard)

    def _discharge_guard(self, guard: Term) -> Term:
        """A guard may be discharged under itself, because it is only ever asserted, never denied.

        That the numbers fit, which it said by way of their readings, is then said as it is.
        """
        said: list[Term] = []
        return t.and_(self._discharge(guard, guard, said), *said)

    def _discharge(self, term: Term, guard: Term, said: list[Term] | None = None) -> Term:
        """Drop the wraps of ``term`` that fit under ``guard``, innermost first, and unsigned readings likewise.

        ``said`` takes what the guard was needed for.
        """
        if self.keep_wraps or not _has_wrap(term):
            return term

        def drop(sub: Term) -> Term | None:
            reading = (0, sub.args[0]) if sub.kind is Kind.WRAP else unsigned_reading(sub)
            if reading is None or not self._fit_under(sub, guard):
                return None
            if said is not None and not self._fit(sub, t.TRUE):
                said.append(t.not_(_outside(sub)))
            return reading[1]

        return t.transform(term, drop)

    def _fit_under(self, wrapped: Term, guard: Term) -> bool:
        """Whether the value fits, always or where ``guard`` holds."""
        return any(self._fit(wrapped, known) for known in dict.fromkeys((t.TRUE, guard)))

    def _fit(self, wrapped: Term, guard: Term) -> bool:
        key = (wrapped, guard)
        if key not in self._fits:
            question = (_outside(wrapped), guard)
            result = self.decider.decide([*question, *data_facts(question, self.contract, self.origins)])
            self._fits[key] = result.answer is Answer.UNSATISFIABLE
        return self._fits[key]


def list_word(word: Term, lists: Mapping[str, ListArgument]) -> Term | None:
    """A size or stride in a list's descriptors, as the launch spec describes every element of the list."""
    name, separator, field_name = word.function.name.partition("[].")
    if not separator or name not in lists or field_name == "address":
        return None
    element = lists[name].element
    limit = INDEX_MAX[element.index_bits]
    part, _, rest = field_name.partition("[")
    dim = int(rest.rstrip("]"))

    def described(part: str, d: int) -> Term:
        known = described_word(element, part, d)
        if isinstance(known, int):
            return t.const(known)
        function = replace(word.function, name=f"{name}[].{known or f'{part}[{d}]'}", low=0, high=limit)
        return t.apply(function, *word.args)

    if part == "strides" and element.strides is None:
        return t.product(described("shape", d) for d in range(dim + 1, len(element.shape)))
    return described(part, dim)


def contract_values(contract: Contract) -> dict[Term, Term]:
    """What the contract puts in for summary variables; a grid axis of 1 makes its block id 0."""
    values = dict(contract.values)
    for bid, grid in zip(BID, GRID, strict=True):
        if values.get(grid, grid) is t.ONE:
            values[bid] = t.ZERO
    return values


def launch_facts(contract: Contract) -> tuple[Term, ...]:
    """The contract's facts and ``bid < grid`` for both copies of a block."""
    values, copy = contract_values(contract), Copy("block", OTHER)
    inside = [t.substitute(t.lt(bid, grid), values) for bid, grid in zip(BID, GRID, strict=True)]
    return tuple(dict.fromkeys(f for f in (*contract.facts, *inside, *map(copy, inside)) if f is not t.TRUE))


def _has_wrap(term: Term) -> bool:
    return any(sub.kind is Kind.WRAP or unsigned_reading(sub) is not None for sub in t.postorder(term))


def _outside(read: Term) -> Term:
    """That a number does not fit the integer type it is read in: signed for a wrap, else unsigned."""
    if read.kind is Kind.WRAP:
        (inner,), low, high = read.args, -(1 << read.payload - 1), 1 << read.payload - 1
    else:
        reading = unsigned_reading(read)
        assert reading is not None
        (bits, inner), low = reading, 0
        high = 1 << bits
    return t.or_(t.lt(inner, t.const(low)), t.le(t.const(high), inner))


def _map_footprint(
    footprint: ViewFootprint | PointerFootprint, f: Callable[[Term], Term]
) -> ViewFootprint | PointerFootprint:
    if isinstance(footprint, PointerFootprint):
        return replace(footprint, offset=f(footprint.offset), origin=map_origin(footprint.origin, f))
    return replace(
        footprint,
        origin=map_origin(footprint.origin, f),
        base=f(footprint.base),
        shape=tuple(map(f, footprint.shape)),
        strides=tuple(map(f, footprint.strides)),
        coordinates=tuple(map(f, footprint.coordinates)),
        index=tuple(map(f, footprint.index)),
        index_space=tuple(None if s is None else f(s) for s in footprint.index_space),
    )


def _map_place(located: Place, f: Callable[[Term], Term]) -> Place:
    origin = map_origin(located.origin, f)
    if isinstance(located, IndexFootprint):
        tiles = located.tile_index
        return replace(
            located,
            origin=origin,
            coordinates=tuple(map(f, located.coordinates)),
            live=f(located.live),
            tile_index=None if tiles is None else tuple((f(index), size) for index, size in tiles),
        )
    return replace(located, origin=origin, offset=f(located.offset), live=f(located.live))


def map_origin(origin: Origin, f: Callable[[Term], Term]) -> Origin:
    return replace(
        origin,
        shape=tuple(map(f, origin.shape)),
        strides=tuple(map(f, origin.strides)),
        extent=None if origin.extent is None else f(origin.extent),
        index=None if origin.index is None else f(origin.index),
    )
