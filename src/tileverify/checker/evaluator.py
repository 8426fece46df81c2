"""One walk over an entry, op by op, with what is said of it at hand.

The state is small: what every value is, the path (the condition under which the next op runs), and the loops around.
Rules (`steps`) read operands, give results, and hold every access, promise and loop against the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TypeAlias

from ..contract.terms import (
    FALSE,
    TRUE,
    Function,
    Scope,
    Sort,
    Symbol,
    Term,
    TermKind,
    and_,
    apply,
    literals,
    not_,
    unsigned,
    wrap,
)
from ..contract.terms.launch_wide import OWN, computed_bits, opaque, scope_of
from ..frontend.bytecode.model import Block, Entry, Module, Op, PointerType, ScalarType, TileType
from ..frontend.bytecode.model import Value as SsaValue
from ..frontend.bytecode.traverse import inert_assumptions, used_values, walk, works_lane_by_lane
from ..frontend.symbolic.summary import AccessSummary, Loop, LoopForm, Origin, Promise, Site, earlier
from ..results.codes import TV
from .agreement import Address, Comparing, Layout, Misread, NotFollowed, Refutes, Sizes, Tiling, Value, Waiting, lanes

Step: TypeAlias = "Callable[[SummaryChecker, Op], Value | tuple[Value, ...] | None]"


@dataclass(frozen=True, slots=True)
class LoopExit:
    """One way out of a loop's body: its condition since the body began, the whole path, and the operands."""

    since: Term
    path: Term
    values: tuple[Value, ...]


@dataclass(slots=True)
class LoopExits:
    on: list[LoopExit] = field(default_factory=list)
    out: list[LoopExit] = field(default_factory=list)


class SummaryChecker:
    """``path``: when the next op runs; ``inside``: what of it the innermost loop's body added; ``since``: the innermost
    branch.  ``facts`` about instances of accesses that exist: (accesses, if, then)."""

    def __init__(
        self,
        module: Module,
        entry: Entry,
        claims: AccessSummary,
        steps: Mapping[str, Step],
        refutes: Refutes,
        may_overlap: Sequence[frozenset[str]] = (),
        empty: Container[str] = (),
    ) -> None:
        self.module, self.entry, self.claims, self.steps = module, entry, claims, steps
        self.may_overlap, self.empty = may_overlap, empty
        self.compare = Comparing(refutes)
        self.env: dict[SsaValue, Value] = {}
        self.path = self.inside = self.since = TRUE
        self.sizes = Sizes()
        self.loops: tuple[Loop, ...] = ()
        self.ways = LoopExits()
        self.facts: list[tuple[frozenset[int], Term, Term]] = []
        self.ordinal = {op: number for number, op in enumerate(walk(entry.body))}
        self.loop_number = {
            op: number for number, op in enumerate(op for op in self.ordinal if op.declaration.body == "loop")
        }
        self.used = used_values(entry)
        self.inert = inert_assumptions(entry)
        self.elements: dict[str, ScalarType] = {}
        self.ranks: dict[str, int] = {}
        self.addresses: set[str] = set()  # lists that are addresses alone
        self.cast: dict[tuple[tuple[int, Term], ...], Origin] = {}  # by the summands of its address
        self.known: set[Symbol | Function] = set()
        self.living = _living(entry.body, self.ordinal)
        self._spoken: list[tuple[Sequence[Term], str]] = []
        for form in claims.loop_forms:  # each is looked at where its loop stands
            self.known |= {form.iteration.symbol, earlier(form.iteration).symbol, form.time.symbol}
        self._sites = _by_offset(claims.sites)
        self._forms = {form.offset: form for form in claims.loop_forms}
        self._promises, self._assertions = _by_op(claims.promises), _by_op(claims.assertions)
        self.done_sites: dict[int, Site] = {}
        self.done_loops: set[int] = set()
        self.done_values: set[Function] = set()

    # ------------------------------------------------------------------------------------------------ operands
    def value(self, operand: SsaValue) -> Value:
        value = self.env[operand]
        if isinstance(value, Term):
            return self.chosen(value)
        return Address(value.origin, self.chosen(value.offset)) if isinstance(value, Address) else value

    def chosen(self, term: Term) -> Term:
        """``term`` with a choice that the path has settled made."""
        known = literals(self.path)
        while term.kind is TermKind.ITE and term.args[0] in known:
            term = term.args[1 if known[term.args[0]] is TRUE else 2]
        return term

    def term(self, operand: SsaValue) -> Term:
        value = self.value(operand)
        assert isinstance(value, Term), value
        return value

    def address(self, operand: SsaValue) -> Address:
        value = self.value(operand)
        assert isinstance(value, Address), value
        return value

    def layout(self, operand: SsaValue) -> Layout:
        value = self.env[operand]
        assert isinstance(value, Layout), value
        return value

    def tiling(self, operand: SsaValue) -> Tiling:
        value = self.env[operand]
        assert isinstance(value, Tiling), value
        return value

    def waiting(self, operand: SsaValue | None) -> Waiting:
        if operand is None:
            return Waiting({})
        value = self.env[operand]
        assert isinstance(value, Waiting), value
        return value

    # ---------------------------------------------------------------------------------------- machine integers
    def wrapped(self, bits: int, term: Term) -> Term:
        """The iN value of the mathematical ``term``: itself, where the path shows that it fits."""
        return term if self.sizes.fits(term, bits) else wrap(bits, term)

    def without_sign(self, bits: int, term: Term) -> Term:
        low, high = self.sizes.interval(term)
        return term if low is not None and low >= 0 and high is not None and high < 1 << bits else unsigned(bits, term)

    # ----------------------------------------------------------------------------------------------- new values
    @property
    def iterations(self) -> tuple[Term, ...]:
        return tuple(loop.iteration for loop in self.loops)

    def name(self, op: Op, suffix: str = "") -> str:
        """A name that no other op's values have: its position in program order is part of it."""
        return f"{op.title}#{self.ordinal[op]}{suffix}"

    def any_value(self, op: Op, of: SsaValue, made_from: Sequence[Value] | None = None, suffix: str = "") -> Value:
        """A value that is not followed: one for each execution of ``op`` and each lane, or one function of operands."""
        assert isinstance(of.type, TileType)
        element = of.type.element
        if isinstance(element, PointerType):
            raise NotFollowed(f"a pointer comes from '{op.name}'")
        if element.is_float:
            return OWN if made_from is None else opaque(*made_from, bits=self._bits(op, of, made_from))
        scope = Scope.BLOCK if made_from is None else scope_of(*made_from)
        function = self.declared(Function(self.name(op, suffix), scope, *values_of(element)))
        return apply(function, *self.iterations, *lanes(of.type.shape))

    def _bits(self, op: Op, of: SsaValue, made_from: Sequence[Value]) -> Term | None:
        """What determines the bits of a float result, where the contract allows equal stores."""
        if not self.entry.equal_stores:
            return None
        function = self.declared(Function(self.name(op), Scope.LAUNCH))
        at = (*self.iterations, *lanes(shape(of)))
        return computed_bits(function, at, made_from, lane_by_lane=works_lane_by_lane(op))

    def declared(self, function: Function) -> Function:
        self.known.add(function)
        return function

    # -------------------------------------------------------------------------------------------------- the path
    def narrow(self, condition: Term) -> None:
        if condition is not TRUE:
            self.path, self.inside = and_(self.path, condition), and_(self.inside, condition)
            self.since, self.sizes = and_(self.since, condition), self.sizes.under(condition)

    def stop(self) -> None:
        self.path = self.inside = self.since = FALSE

    def side(self, condition: Term, block: Block | None) -> tuple[Term, tuple[Value, ...] | None]:
        """Run one side of a branch: the condition under which its end is reached, and what it yields there."""
        saved = self.path, self.inside, self.since, self.sizes
        self.narrow(condition)
        self.since = TRUE
        values: tuple[Value, ...] | None = ()
        if condition is FALSE:
            values = None
        elif block is not None:
            values = self.run(block)
        live = FALSE if values is None else self.since
        self.path, self.inside, self.since, self.sizes = saved
        return live, values

    @contextmanager
    def iteration(self, loop: Loop, guard: Term) -> Iterator[LoopExits]:
        """Run one iteration of ``loop``, any for which ``guard`` holds."""
        saved = self.path, self.inside, self.since, self.sizes, self.loops, self.ways
        self.narrow(guard)
        self.inside, self.loops, self.ways = TRUE, (*self.loops, loop), LoopExits()
        yield self.ways
        self.path, self.inside, self.since, self.sizes, self.loops, self.ways = saved

    # ---------------------------------------------------------------------------------------------------- walking
    def run(self, block: Block) -> tuple[Value, ...] | None:
        """The operands of the block's ``yield``; ``None`` where control does not get there."""
        for op in block.ops:
            step = self.steps.get(op.name)
            if step is None:
                raise NotFollowed(f"no rule for '{op.name}'")
            made = step(self, op)
            if op.declaration.terminator:
                return made if isinstance(made, tuple) else None
            if self.path is FALSE:
                return None
            if isinstance(made, tuple):
                self.env.update(zip(op.results, made, strict=True))
            elif op.results:
                assert made is not None
                self.env[op.results[0]] = made
        return None

    # ------------------------------------------------------------------------------------------------- the claims
    def promise(self, op: Op, condition: Term, text: str, code: TV = TV.ARITHMETIC_UNDEFINED) -> None:
        """``condition`` has to hold wherever the path does: it is claimed, or follows from the path."""
        if condition is TRUE or self.path is FALSE:
            return
        # An assertion is no obligation, so it must not stand for a promise.
        claimed = self._assertions if op.name == "assert" else self._promises
        for said in claimed.get((op.offset, code), []):
            if said.text == text:
                claimed[op.offset, code].remove(said)
                where = f"what '{op.name}' demands ({text})"
                self.speaks_of((said.condition, said.guard), where)
                self.compare.follows(self.path, said.guard, f"{where} is demanded elsewhere")
                self.compare.same(self.path, condition, said.condition, where)
                if without_places(said.loops) != self.loops:
                    raise Misread(f"{where} stands in other loops")
                return
        if op in self.inert:
            return
        self.compare.impossible((self.path, not_(condition)), f"'{op.name}' demands something unsaid: {text}")

    def claimed_site(self, op: Op) -> Site | None:
        return self._sites.get(op.offset)

    def form(self, op: Op) -> LoopForm:
        self.done_loops.add(op.offset)
        if op.offset not in self._forms:
            raise NotFollowed("nothing is said of a loop")
        return self._forms[op.offset]

    @cached_property
    def spoken_of(self) -> frozenset[Term]:
        """The variables and applications that claims about accesses and loops, and guards of promises, speak of."""
        return frozenset[Term]().union(*(term.free for term in _terms_of(self.claims)))

    def claimed_function(self, name: str) -> Function | None:
        """The function that claims call so, if any does; its range and scope are still to be checked."""
        found = (part.function for part in self.spoken_of if part.kind is TermKind.APPLY)
        return next((function for function in found if function.name == name), None)

    def speaks_of(self, terms: Sequence[Term], what: str) -> None:
        """Claims may speak of what the walk meets, also later; `finish` looks at that."""
        self._spoken.append((terms, what))

    def finish(self) -> None:
        """Nothing is said of what is not there, or of a symbol with a range or a scope that it does not have."""
        for terms, what in self._spoken:
            for part in frozenset[Term]().union(*(term.free for term in terms)):
                symbol = part.symbol if part.kind is TermKind.VAR else part.function
                lane = part.kind is TermKind.VAR and part.symbol.scope is Scope.LANE
                if symbol not in self.known and not lane:
                    raise NotFollowed(f"{what} speaks of '{symbol.name}', which the bytecode does not know so")
                if symbol.low is not None and symbol.high is not None and symbol.low > symbol.high:
                    # What no block comes to may be said to be anything, but not to be no number at all.
                    raise Misread(f"{what} speaks of '{symbol.name}', which no number could be")
        if left := self._sites.keys() - self.done_sites.keys():
            raise Misread(f"{len(left)} accesses are claimed that no block makes")
        if any(self._promises.values()) or any(self._assertions.values()):
            raise Misread("a promise is claimed that the bytecode does not make")
        if self._forms.keys() - self.done_loops:
            raise Misread("a loop is claimed that no block enters")
        if {value.function for value in self.claims.loop_values} - self.done_values:
            raise Misread("a value is claimed that no loop carries")


def _by_op(promises: Sequence[Promise]) -> dict[tuple[int, TV], list[Promise]]:
    found: dict[tuple[int, TV], list[Promise]] = {}
    for item in promises:
        found.setdefault((item.offset, item.code), []).append(item)
    return found


def without_places(loops: Sequence[Loop]) -> tuple[Loop, ...]:
    """``loops`` without where they stand in the source."""
    return tuple(replace(loop, location=None) for loop in loops)


def _by_offset(sites: Sequence[Site]) -> dict[int, Site]:
    found = {site.offset: site for site in sites}
    if len(found) != len(sites):
        raise Misread("an access is claimed twice")
    return found


def _terms_of(claims: AccessSummary) -> Iterator[Term]:
    """All terms of what is said of accesses and loops, and the guards of promises."""
    for site in claims.sites:
        yield site.guard
        yield from (each for each in (site.value, site.argument, site.compare, site.stored) if each is not None)
        for field_ in fields(site.footprint):
            part = getattr(site.footprint, field_.name)
            yield from (each for each in (part if isinstance(part, tuple) else (part,)) if isinstance(each, Term))
        yield from (wait.condition for wait in site.waits)
    for form in claims.loop_forms:
        for said in (*form.carried, *form.left):
            parts = said.values() if isinstance(said, Mapping) else said if isinstance(said, tuple) else (said,)
            yield from (each for each in parts if isinstance(each, Term))
        yield form.reached
    yield from (item.guard for item in claims.promises)


def _living(block: Block, ordinal: Mapping[Op, int]) -> dict[str, frozenset[int]]:
    """By the name of memory that a block makes for itself, the ops of the region in which it lives."""
    found: dict[str, frozenset[int]] = {}
    for op in block.ops:
        if op.name == "alloca":
            found[f"local#{ordinal[op]}"] = frozenset(each.offset for each in walk(block))
        for region in op.regions:
            for body in region.blocks:
                found |= _living(body, ordinal)
    return found


def values_of(element: ScalarType) -> tuple[int | None, int | None, Sort]:
    """The least and the largest value of a type, and its sort."""
    if element.bits == 1:
        return None, None, Sort.BOOL
    half = 1 << (element.bits - 1)
    return -half, half - 1, Sort.INT


def scalar(value: SsaValue) -> ScalarType:
    assert isinstance(value.type, TileType)
    assert isinstance(value.type.element, ScalarType)
    return value.type.element


def width(value: SsaValue) -> int:
    return scalar(value).bits


def shape(value: SsaValue) -> tuple[int, ...]:
    assert isinstance(value.type, TileType)
    return value.type.shape


def pointee(value: SsaValue) -> ScalarType:
    assert isinstance(value.type, TileType)
    assert isinstance(value.type.element, PointerType)
    return value.type.element.pointee
