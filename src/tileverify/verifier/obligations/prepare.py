"""Sites prepared for questions: with the contract's terms, and without machine wraps that are proved to fit.

    wrap_N(x) may be read as x under a guard g   iff   facts and g  imply  -2**(N-1) <= x < 2**(N-1)

The facts include data facts on the values that x and g mention.  The replacement loses no fault: each solution of a
question ``g and rest`` still solves it.  Every other wrap stays, exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ...contract import terms as t
from ...contract.contract import Contract, array_layout, extent
from ...contract.element_types import ELEMENT_TYPES
from ...contract.terms import Function, Term, TermKind
from ...contract.terms.rendering import unsigned_reading
from ...contract.variables import BID, GRID, list_length
from ...frontend.symbolic.summary import (
    Access,
    AccessSummary,
    Footprint,
    LoopValue,
    Origin,
    OriginKind,
    PointerFootprint,
    Promise,
    Site,
    ViewFootprint,
    list_word,
)
from ...system.errors import SpecError
from .answers import Answer, SolverProtocol
from .fact_use import DeterminedElements, FactUse, Informed, described_in, of_one_number, stated_by
from .footprint_overlap import PRIME, CopyLevel, PreparedSite, PrimedCopy, map_origin, place_terms
from .layout import IndexFootprint, Place, coordinates_of, place
from .loop_invariants import LoopInvariants, loop_invariants

FitWrap: TypeAlias = Callable[[Term, Term, Term], bool]
"""``(wrap, outside, guard)``: whether it narrowed the contract so that ``outside`` (the wrap does not fit) contradicts
``guard``."""


@dataclass
class Preparer:
    """Applies one contract to the sites and promises of ``summary``.

    ``keep_wraps``: keep all wraps and ask nothing.  ``origins``: the origins of pointers, in terms of the contract.
    ``informed``: the solver, with the data facts that a question needs: the contract's, or those of ``use``.
    """

    summary: AccessSummary
    contract: Contract
    solver: SolverProtocol
    keep_wraps: bool = False
    use: FactUse | None = None
    origins: Mapping[str, Origin] = field(init=False)
    informed: Informed = field(init=False)
    _fit_otherwise: FitWrap | None = field(default=None, init=False)
    _memo: dict[Term, Term] = field(default_factory=dict)
    _fits: dict[tuple[Term, Term], bool] = field(default_factory=dict)
    _wrapped: dict[Term, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for site in self.summary.sites:
            _check_rows(site.footprint, self.contract)
        self._values = contract_values(self.contract)
        self._read_back = read_back_arrays(self.summary)
        self._settled: DeterminedElements | None = None
        if facts := of_one_number(self.contract.data):
            memo: dict[Term, Term] = {}  # of terms whose loaded values are not replaced
            plain = {
                name: map_origin(origin, lambda term: t.transform(term, self._value, memo))
                for name, origin in self.summary.origins.items()
            }
            self._settled = DeterminedElements(facts, self.contract, plain)
        self.origins = {name: map_origin(origin, self.term) for name, origin in self.summary.origins.items()}
        self.informed = Informed(self.solver, self.use or FactUse(self.contract), self.origins)
        self.loop_values = tuple(map(self._loop_value, self.summary.loop_values))
        self._loop_values = {each.function: each for each in self.loop_values if each.function.sort is t.Sort.INT}
        self._invariants: dict[frozenset[Function], LoopInvariants] = {}

    def informed_otherwise(self, contract: Contract, solver: SolverProtocol, use: FactUse) -> Preparer:
        """A copy for a contract that differs only in its data facts."""
        alike = all(read(contract.data) == read(self.contract.data) for read in (of_one_number, stated_by))
        memo = self._memo if alike else {}
        return replace(self, contract=contract, solver=solver, use=use, _memo=memo, _fits={})

    @contextmanager
    def narrowing(self, fit: FitWrap) -> Iterator[None]:
        """Inside the block, ``fit`` is the last resort for a wrap that is not proved to fit."""
        self._fit_otherwise = fit
        try:
            yield
        finally:
            self._fit_otherwise = None

    def term(self, term: Term) -> Term:
        """``term`` with the contract's values."""
        return t.transform(term, self._value, self._memo)

    def read(self, term: Term, guard: Term) -> Term:
        """``term`` with the contract's values, without the wraps that fit under ``guard``."""
        return self._discharge(self.term(term), guard)

    def condition(self, guard: Term) -> Term:
        """A condition with the contract's values, without wraps that fit; callers only assert it, never deny it."""
        return self._reached(self.term(guard), [])

    def _in_grid(self, term: Term) -> Term | None:
        """For a divisor of at least the number of blocks: ``bid // d`` is 0 and ``bid % d`` is ``bid``."""
        if term.kind not in (TermKind.DIV, TermKind.MOD) or term.args[0] not in BID:
            return None
        block, divisor = term.args
        blocks = self._values.get(GRID[BID.index(block)])
        known = blocks is not None and blocks.kind is divisor.kind is TermKind.CONST
        if not known or divisor.value < blocks.value:  # type: ignore[union-attr]
            return None
        return t.ZERO if term.kind is TermKind.DIV else block

    def _value(self, term: Term) -> Term | None:
        if term.kind is TermKind.APPLY:
            word = described_in(term, self.contract) if self.contract.lists else None
            return self._settled.number(term) if word is None and self._settled is not None else word
        known = self._values.get(term)
        return self._in_grid(term) if known is None else known

    def site(self, site: Site) -> PreparedSite:
        site = replace(site, footprint=replace(site.footprint, origin=self._known(site.origin)))
        located = place(site)
        spoken_of = [self.term(each) for each in place_terms(located)]
        if site.origin.name in self._read_back and site.access is Access.WRITE and site.argument is not None:
            stored = self.term(site.argument)
            site = replace(site, argument=stored)
            if any(data.fact.array == site.origin.name for data in self.contract.data):
                spoken_of.append(stored)
        guard = self._reached(self.term(site.guard), spoken_of)
        if (plain := self._with_plain_address(site.footprint, guard)) != site.footprint:
            site = replace(site, footprint=plain)
            located = place(site)
        fit = self._under(guard)
        footprint = _map_footprint(site.footprint, lambda x: fit(self.term(x)))
        mapped = self._by_axes(_map_place(located, lambda x: fit(self.term(x))), guard)
        waits: dict[int, Term] = {}
        for wait in site.waits:
            condition = self.term(wait.condition)
            waits[wait.site] = t.or_(waits.get(wait.site, t.FALSE), condition)
        site = replace(site, footprint=footprint, guard=guard)
        if site.stored is not None:
            site = replace(site, stored=fit(self.term(site.stored)))
        if site.atomic:
            site = replace(
                site,
                argument=None if site.argument is None else fit(self.term(site.argument)),
                compare=None if site.compare is None else fit(self.term(site.compare)),
                loops=tuple(replace(loop, reached=self.term(loop.reached)) for loop in site.loops),
            )
        return PreparedSite(site, guard, mapped, waits)

    def _with_plain_address(self, footprint: Footprint, guard: Term) -> Footprint:
        """The footprint without the address wraps that fit: `place` recognises strides only as plain factors."""

        def plain(address: Term) -> Term:
            return t.transform(address, drop) if self._has_wrap(address) and not self.keep_wraps else address

        def drop(sub: Term) -> Term | None:
            inner = _read(sub)
            if inner is None:
                return None
            value = self.term(sub)
            fits = value is self.term(inner) if _read(value) is None else self._fit_under(value, guard)
            return inner if fits else None

        if isinstance(footprint, ViewFootprint):
            shape, strides = (tuple(map(plain, part)) for part in (footprint.shape, footprint.strides))
            return replace(footprint, base=plain(footprint.base), shape=shape, strides=strides)
        return replace(footprint, offset=plain(footprint.offset))

    def _by_axes(self, located: Place, guard: Term) -> Place:
        """Bytes behind a raw pointer as coordinates of the contract's array, where these lie in range under ``guard``.

        Then they are the coordinates of the address (`layout`), and no question needs the products with strides.
        Layouts in numbers stay bytes: there the products are linear.
        """
        if self.keep_wraps or isinstance(located, IndexFootprint):
            return located
        origin, behind = located.origin, self._behind(located.origin)
        if behind is None or not located.size == origin.element_bytes == behind[2]:
            return located
        shape, strides = (tuple(map(self.term, part)) for part in behind[:2])
        if all(stride.kind is TermKind.CONST for stride in strides):
            return located
        known = replace(origin, shape=shape, strides=strides)
        coordinates = coordinates_of(located.offset, known, located.size)
        if coordinates is None or any(map(self._has_wrap, coordinates)):
            return located
        beyond = (t.or_(t.lt(c, t.ZERO), t.le(size, c)) for c, size in zip(coordinates, shape, strict=True))
        within = all(self._never(each, guard) for each in beyond)
        return IndexFootprint(known, coordinates, located.live, bounded=False) if within else located

    def _behind(self, origin: Origin) -> tuple[tuple[Term, ...], tuple[Term, ...], int] | None:
        """Sizes, strides and bytes of an element of the contract's array behind a raw pointer; ``None`` if there is
        none.  Of an array whose address was loaded from an array of addresses, they are words by its number."""
        listed, index = self.contract.lists.get(origin.name), origin.index
        if origin.kind is OriginKind.PARAMETER and origin.name in self.contract.arrays:
            return (*array_layout(self.contract.arrays[origin.name]), origin.element_bytes)
        if origin.kind is not OriginKind.LIST_ELEMENT or listed is None or not listed.addresses or index is None:
            return None
        dims, unit = range(len(listed.element.shape)), ELEMENT_TYPES[listed.element.dtype].bits // 8
        words = [[list_word(origin.name, f"{part}[{d}]") for d in dims] for part in ("shape", "strides")]
        shape, strides = (tuple(t.apply(word, index) for word in part) for part in words)
        return shape, strides, unit

    def _known(self, origin: Origin) -> Origin:
        """The origin with sizes and strides that only the contract knows.

        A raw pointer gets the size of the contract's array of that name: CUDA Tile C++ passes no sizes.  A list's
        buffer has a row of 64-bit words for every array.  Arrays in a list get the strides that the contract fixes to
        numbers.
        """
        if origin.kind is OriginKind.LIST and origin.name in self.contract.lists:
            listed = self.contract.lists[origin.name]
            words = 1 if listed.addresses else 1 + 2 * len(listed.element.shape)
            return replace(origin, extent=t.scale(8 * words, list_length(origin.name)))
        if not origin.shape and (behind := self._behind(origin)) is not None:
            return replace(origin, extent=extent(*behind))
        if origin.kind is OriginKind.LIST_ELEMENT:
            known = (self.term(stride) for stride in origin.strides)
            strides = tuple(k if k.kind is TermKind.CONST else s for k, s in zip(known, origin.strides, strict=True))
            return replace(origin, strides=strides)
        return origin

    def promise(self, promise: Promise) -> Promise:
        condition = self.term(promise.condition)
        guard = self._reached(self.term(promise.guard), [condition])
        return replace(promise, guard=guard, condition=self._under(guard)(condition))

    def broken(self, promise: Promise) -> Term:
        """The negated promise under its guard, as one condition; callers only assert it."""
        return self._reached(self.term(t.and_(promise.guard, t.not_(promise.condition))), [])

    # ----------------------------------------------------------------------------------- loop invariants
    def _reached(self, guard: Term, under_it: Iterable[Term]) -> Term:
        """``guard`` with the invariants of loop values in it and in ``under_it``: terms that matter only under it."""
        terms = [guard, *under_it]
        functions = {part.function for term in terms for part in term.free if part.kind is TermKind.APPLY}
        mentioned = functions & self._loop_values.keys()
        if mentioned and not self.keep_wraps:
            guard = t.and_(guard, *self._about(frozenset(mentioned), terms).instances(terms))
        return self._discharge_guard(guard)

    def _about(self, functions: frozenset[Function], terms: Sequence[Term]) -> LoopInvariants:
        if functions not in self._invariants:
            self._invariants[functions] = loop_invariants(self._loop_values.values(), terms, self.informed)
        return self._invariants[functions]

    def _loop_value(self, value: LoopValue) -> LoopValue:
        init, after, entered, handed_on = map(self.term, (value.init, value.next, value.entered, value.handed_on))
        return replace(value, init=init, next=after, entered=entered, handed_on=handed_on)

    # ------------------------------------------------------------------------------------------ wraps
    def _under(self, guard: Term) -> Callable[[Term], Term]:
        return lambda term: self._discharge(term, guard)

    def _discharge_guard(self, guard: Term) -> Term:
        """Drop a guard's wraps under the guard itself: sound, because guards are asserted and never denied.

        The wrapped reading implied that the numbers fit.  The result states that explicitly.
        """
        said: list[Term] = []
        return t.and_(self._discharge(guard, guard, said), *said)

    def _discharge(self, term: Term, guard: Term, said: list[Term] | None = None) -> Term:
        """Drop the wraps of ``term`` that fit under ``guard``, innermost first, and unsigned readings likewise.

        ``said`` collects the fit conditions that need the guard.
        """
        if self.keep_wraps or not self._has_wrap(term):
            return term

        def drop(sub: Term) -> Term | None:
            inner = _read(sub)
            if inner is None or not self._fit_under(sub, guard):
                return None
            if said is not None and not self._fit(sub, t.TRUE):
                said.append(t.not_(outside(sub)))
            return inner

        return t.transform(term, drop)

    def _fit_under(self, wrapped: Term, guard: Term) -> bool:
        """Whether the value fits: always, under ``guard``, or by a clause from ``narrowing``."""
        # Masks bound products of indices and strides; of other integers, most fit wherever they occur.
        multiplied = any(part.kind is TermKind.PRODUCT for part in t.postorder(wrapped))
        if any(self._fit(wrapped, known) for known in dict.fromkeys((guard,) if multiplied else (t.TRUE, guard))):
            return True
        if self._fit_otherwise is None or wrapped.kind is not TermKind.WRAP:
            return False
        question = (outside(wrapped), guard)
        known = self.informed.use.known(question, self.origins)
        self._fits[wrapped, guard] = self._fit_otherwise(wrapped, t.and_(outside(wrapped), *known), guard)
        return self._fits[wrapped, guard]

    def _has_wrap(self, term: Term) -> bool:
        """A wrap, or an unsigned reading."""
        found = self._wrapped
        for sub in t.postorder(term, found):
            wrap = sub.kind is TermKind.WRAP or unsigned_reading(sub) is not None
            found[sub] = wrap or any(found[arg] for arg in sub.args)
        return found[term]

    def doubts(self, terms: Iterable[Term]) -> list[Term]:
        """The parts of prepared terms that more facts may change: integers not proved to fit, and loop values."""
        subs = dict.fromkeys(sub for term in terms for sub in t.postorder(term))
        return [
            sub
            for sub in subs
            if _read(sub) is not None or (sub.kind is TermKind.APPLY and sub.function in self._loop_values)
        ]

    def _fit(self, wrapped: Term, guard: Term) -> bool:
        key = (wrapped, guard)
        if key not in self._fits:
            self._fits[key] = self._never(outside(wrapped), guard)
        return self._fits[key]

    def _never(self, condition: Term, guard: Term) -> bool:
        return self.informed.decide([condition, guard]).answer is Answer.UNSATISFIABLE


def _check_rows(footprint: Footprint, contract: Contract) -> None:
    """Check the rank of a list's arrays: a descriptor row has an address, the sizes and the strides.

    Raises:
        SpecError: the bytecode was made for arrays of another rank.
    """
    origin = footprint.origin
    if (
        origin.kind is not OriginKind.LIST
        or not isinstance(footprint, ViewFootprint)
        or origin.name not in contract.lists
    ):
        return
    rank = len(contract.lists[origin.name].element.shape)
    if footprint.shape[-1] is not t.const(1 + 2 * rank):
        raise SpecError(
            f"the list `{origin.name}` holds arrays of {rank} dimensions, but the kernel reads {footprint.shape[-1]} "
            f"words for each of them, not {1 + 2 * rank}: describe the arrays that it was compiled for"
        )


def read_back_arrays(summary: AccessSummary) -> frozenset[str]:
    """The arrays from which plain loads may return integers that the kernel stored (`protocols.read_back`)."""
    loads = (
        site for site in summary.sites if site.access is Access.READ and not site.atomic and site.value is not None
    )
    return frozenset(site.origin.name for site in loads) - summary.stable_arrays


def contract_values(contract: Contract) -> dict[Term, Term]:
    """The contract's values for summary variables; a grid axis of 1 makes its block id 0."""
    values = dict(contract.values)
    for bid, grid in zip(BID, GRID, strict=True):
        if values.get(grid, grid) is t.ONE:
            values[bid] = t.ZERO
    return values


def launch_facts(contract: Contract) -> tuple[Term, ...]:
    """The contract's facts and ``bid < grid`` for both copies of a block."""
    values, copy = contract_values(contract), PrimedCopy(CopyLevel.BLOCK, PRIME)
    inside = [t.substitute(t.lt(bid, grid), values) for bid, grid in zip(BID, GRID, strict=True)]
    return tuple(dict.fromkeys(f for f in (*contract.facts, *inside, *map(copy, inside)) if f is not t.TRUE))


def _read(term: Term) -> Term | None:
    """The argument of a wrap or an unsigned reading."""
    if term.kind is TermKind.WRAP:
        return term.args[0]
    reading = unsigned_reading(term)
    return None if reading is None else reading[1]


def outside(read: Term) -> Term:
    """The condition that a number does not fit its integer type: signed for a wrap, else unsigned."""
    if read.kind is TermKind.WRAP:
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


def terms_of(prepared: PreparedSite) -> list[Term]:
    """The terms of an access in which `Preparer.site` drops wraps, without its guard."""
    found: list[Term] = []

    def noted(term: Term) -> Term:
        found.append(term)
        return term

    site = prepared.site
    _map_footprint(site.footprint, noted)
    _map_place(prepared.place, noted)
    return [*found, *(each for each in (site.argument, site.compare) if each is not None and site.atomic)]


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
