"""What a certificate says of a kernel's accesses, promises and loops: as JSON, and read back.

It is an `AccessSummary` without what is for people.  Numbers in the place of terms are rows of the term table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from msgspec import Struct, convert, to_builtins

from ...contract import terms as t
from ...contract.terms import Function, Scope, Sort, Symbol, Term, TermKind
from ...frontend.bytecode.enums import MemoryOrdering, MemoryScope
from ...frontend.symbolic.summary import (
    Access,
    AccessSummary,
    Lane,
    Loop,
    LoopForm,
    LoopValue,
    Origin,
    OriginKind,
    PointerFootprint,
    Promise,
    Site,
    ViewFootprint,
    Wait,
)
from ...results.codes import TV

Numbers = tuple[int, ...]
Maybe = int | None


class _Row(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A list of as many items as there are fields."""


class _Origin(_Row, frozen=True):
    kind: OriginKind
    name: str
    element_bytes: int
    shape: Numbers
    strides: Numbers
    extent: Maybe
    index: Maybe
    alignment: int | None
    address: Maybe


class _View(_Row, frozen=True, tag="view"):
    origin: int
    base: int
    shape: Numbers
    strides: Numbers
    element_bytes: int
    coordinates: Numbers
    index: Numbers
    index_space: tuple[Maybe, ...]
    tile: Numbers
    step: Numbers
    dim_map: Numbers
    inbounds: tuple[bool, ...]
    packed: bool


class _Pointer(_Row, frozen=True, tag="pointer"):
    origin: int
    offset: int
    element_bytes: int


class _Loop(_Row, frozen=True):
    name: str
    iteration: int
    value: Maybe
    reached: int
    last: Any


class _Site(_Row, frozen=True):
    offset: int
    op: str
    access: Access
    ordering: MemoryOrdering
    scope: MemoryScope | None
    footprint: _View | _Pointer
    guard: int
    lanes: tuple[tuple[int, int], ...]
    loops: Numbers
    waits: tuple[tuple[int, int], ...]
    in_mask: int
    mode: str | None
    value: Maybe
    argument: Maybe
    compare: Maybe
    used: bool


class _Promise(_Row, frozen=True):
    offset: int
    code: TV
    condition: int
    guard: int
    text: str
    lanes: tuple[tuple[int, int], ...]
    loops: Numbers


class _LoopValue(_Row, frozen=True):
    function: Any
    modulus: int
    rest: int
    context: Numbers
    iteration: int
    lanes: Numbers
    init: int
    next: int
    entered: int
    handed_on: int


_Awaits = tuple[tuple[int, int], ...]


class _Form(_Row, frozen=True):
    """``carried``: a term, [origin, offset] of a pointer, {"awaits": ...} of a token, or null."""

    offset: int
    iteration: int
    time: int
    carried: tuple[int | tuple[int, int] | dict[str, _Awaits] | None, ...]
    left: tuple[_Awaits | None, ...]
    reached: int
    last: Any


class ReadingDocument(Struct, frozen=True, omit_defaults=True):
    """``terms`` is the table that all numbers of terms refer to.  ``stored``: sites by number, with the bits that they
    leave."""

    terms: tuple[tuple[str, Any, Numbers], ...]
    origins: tuple[_Origin, ...]
    loops: tuple[_Loop, ...]
    sites: tuple[_Site, ...]
    promises: tuple[_Promise, ...]
    assertions: tuple[_Promise, ...]
    loop_values: tuple[_LoopValue, ...]
    loop_forms: tuple[_Form, ...]
    written: tuple[str, ...]
    stored: tuple[tuple[int, int], ...] = ()


# ----------------------------------------------------------------------------------------------------- writing
def reading_document(summary: AccessSummary) -> ReadingDocument:
    """``summary`` as a document."""
    return _Writer().document(summary)


class _Writer:
    def __init__(self) -> None:
        self.terms = TermWriter()
        self.origins: dict[Origin, int] = {}
        self.origin_rows: list[_Origin] = []
        self.loops: dict[Loop, int] = {}

    def document(self, s: AccessSummary) -> ReadingDocument:
        sites = tuple(map(self._site, s.sites))
        promises, assertions = (tuple(map(self._promise, items)) for items in (s.promises, s.assertions))
        values, forms = tuple(map(self._value, s.loop_values)), tuple(map(self._form, s.loop_forms))
        stored = tuple((i, self.terms.number(s.stored)) for i, s in enumerate(s.sites) if s.stored is not None)
        loops = tuple(map(self._loop, self.loops))
        terms = tuple((kind, payload, tuple(args)) for kind, payload, args in self.terms.rows)
        return ReadingDocument(
            terms,
            tuple(self.origin_rows),
            loops,
            sites,
            promises,
            assertions,
            values,
            forms,
            tuple(sorted(s.written)),
            stored,
        )

    def _all(self, terms: Iterable[Term]) -> Numbers:
        return tuple(map(self.terms.number, terms))

    def _maybe(self, term: Term | None) -> Maybe:
        return None if term is None else self.terms.number(term)

    def _origin(self, o: Origin) -> int:
        if o not in self.origins:
            row = _Origin(
                o.kind, o.name, o.element_bytes, self._all(o.shape), self._all(o.strides), self._maybe(o.extent),
                self._maybe(o.index), o.alignment, self._maybe(o.address),
            )  # fmt: skip
            self.origins[o] = len(self.origin_rows)
            self.origin_rows.append(row)
        return self.origins[o]

    def _footprint(self, f: ViewFootprint | PointerFootprint) -> _View | _Pointer:
        if isinstance(f, PointerFootprint):
            return _Pointer(self._origin(f.origin), self.terms.number(f.offset), f.element_bytes)
        return _View(
            self._origin(f.origin), self.terms.number(f.base), self._all(f.shape), self._all(f.strides),
            f.element_bytes, self._all(f.coordinates), self._all(f.index), tuple(map(self._maybe, f.index_space)),
            f.tile, f.step, f.dim_map, f.inbounds, f.packed,
        )  # fmt: skip

    def _loops(self, loops: Sequence[Loop]) -> Numbers:
        return tuple(self.loops.setdefault(replace(loop, location=None), len(self.loops)) for loop in loops)

    def _loop(self, loop: Loop) -> _Loop:
        last = None if loop.last is None else function_row(loop.last)
        number = self.terms.number
        return _Loop(loop.name, number(loop.iteration), self._maybe(loop.value), number(loop.reached), last)

    def _lanes(self, lanes: Sequence[Lane]) -> tuple[tuple[int, int], ...]:
        return tuple((self.terms.number(lane.variable), lane.size) for lane in lanes)

    def _site(self, s: Site) -> _Site:
        waits = tuple((wait.site, self.terms.number(wait.condition)) for wait in s.waits)
        return _Site(
            s.offset, s.op, s.access, s.ordering, s.scope, self._footprint(s.footprint), self.terms.number(s.guard),
            self._lanes(s.lanes), self._loops(s.loops), waits, self.terms.number(s.in_mask), s.mode,
            self._maybe(s.value), self._maybe(s.argument), self._maybe(s.compare), s.used,
        )  # fmt: skip

    def _promise(self, p: Promise) -> _Promise:
        condition, guard = self._all((p.condition, p.guard))
        return _Promise(p.offset, p.code, condition, guard, p.text, self._lanes(p.lanes), self._loops(p.loops))

    def _value(self, v: LoopValue) -> _LoopValue:
        return _LoopValue(
            function_row(v.function), v.modulus, v.rest, self._all(v.context), self.terms.number(v.iteration),
            self._all(v.lanes), *self._all((v.init, v.next, v.entered, v.handed_on)),
        )  # fmt: skip

    def _awaits(self, awaits: Mapping[int, Term]) -> _Awaits:
        return tuple((access, self.terms.number(condition)) for access, condition in awaits.items())

    def _carried(
        self, value: Term | tuple[Origin, Term] | Mapping[int, Term] | None
    ) -> int | tuple[int, int] | dict[str, _Awaits] | None:
        match value:
            case Term():
                return self.terms.number(value)
            case (origin, offset):
                return self._origin(origin), self.terms.number(offset)
            case None:
                return None
        return {"awaits": self._awaits(value)}

    def _form(self, f: LoopForm) -> _Form:
        return _Form(
            f.offset,
            self.terms.number(f.iteration),
            self.terms.number(f.time),
            tuple(map(self._carried, f.carried)),
            tuple(None if each is None else self._awaits(each) for each in f.left),
            self.terms.number(f.reached),
            None if f.last is None else function_row(f.last),
        )


# ----------------------------------------------------------------------------------------------------- reading
def reading_of(document: ReadingDocument, entry: str) -> AccessSummary:
    """The summary of ``document``; raises `ValueError` (or what else malformed numbers lead to) where it is none."""
    return _Reader(document).summary(entry)


class _Reader:
    def __init__(self, document: ReadingDocument) -> None:
        self.document = document
        self.term = TermReader(document.terms).term
        self.origins = [self._origin(row) for row in document.origins]
        self.loops = [self._loop(row) for row in document.loops]

    def summary(self, entry: str) -> AccessSummary:
        d = self.document
        stored = {self._site_number(number): self.term(term) for number, term in d.stored}
        made = (self._site(number, row) for number, row in enumerate(d.sites))
        sites = tuple(replace(site, stored=stored.get(site.number)) for site in made)
        return AccessSummary(
            entry=entry,
            sites=sites,
            promises=tuple(map(self._promise, d.promises)),
            origins={site.origin.name: site.origin for site in sites},
            stable_arrays=frozenset(),
            assertions=tuple(map(self._promise, d.assertions)),
            loop_values=tuple(map(self._value, d.loop_values)),
            loop_forms=tuple(map(self._form, d.loop_forms)),
            written=frozenset(d.written),
        )

    def _all(self, numbers: Numbers) -> tuple[Term, ...]:
        return tuple(map(self.term, numbers))

    def _maybe(self, number: Maybe) -> Term | None:
        return None if number is None else self.term(number)

    def _condition(self, number: int) -> Term:
        term = self.term(number)
        if term.sort is not Sort.BOOL:
            raise ValueError("a number stands for a condition")
        return term

    def _variable(self, number: int) -> Term:
        term = self.term(number)
        if term.kind is not TermKind.VAR:
            raise ValueError("a term stands for a variable")
        return term

    def _origin(self, o: _Origin) -> Origin:
        return Origin(
            o.kind, o.name, o.element_bytes, self._all(o.shape), self._all(o.strides), self._maybe(o.extent),
            self._maybe(o.index), o.alignment, self._maybe(o.address),
        )  # fmt: skip

    def _footprint(self, f: _View | _Pointer) -> ViewFootprint | PointerFootprint:
        if isinstance(f, _Pointer):
            return PointerFootprint(self._at(self.origins, f.origin), self.term(f.offset), f.element_bytes)
        return ViewFootprint(
            self._at(self.origins, f.origin), self.term(f.base), self._all(f.shape), self._all(f.strides),
            f.element_bytes, self._all(f.coordinates), self._all(f.index), tuple(map(self._maybe, f.index_space)),
            f.tile, f.step, f.dim_map, f.inbounds, f.packed,
        )  # fmt: skip

    def _at(self, table: Sequence[Any], number: int) -> Any:
        if not 0 <= number < len(table):
            raise ValueError("something that is not there is referred to")
        return table[number]

    def _loop(self, row: _Loop) -> Loop:
        last = None if row.last is None else function_of(row.last)
        reached = self._condition(row.reached)
        return Loop(row.name, self._variable(row.iteration), None, self._maybe(row.value), reached, last)

    def _loops(self, numbers: Numbers) -> tuple[Loop, ...]:
        return tuple(self._at(self.loops, number) for number in numbers)

    def _lanes(self, rows: Sequence[tuple[int, int]]) -> tuple[Lane, ...]:
        return tuple(Lane(self._variable(number), size) for number, size in rows)

    def _site(self, number: int, s: _Site) -> Site:
        return Site(
            number=number,
            op=s.op,
            access=s.access,
            ordering=s.ordering,
            scope=s.scope,
            footprint=self._footprint(s.footprint),
            guard=self._condition(s.guard),
            lanes=self._lanes(s.lanes),
            loops=self._loops(s.loops),
            waits=tuple(Wait(self._site_number(site), self._condition(condition)) for site, condition in s.waits),
            location=None,
            offset=s.offset,
            in_mask=self._condition(s.in_mask),
            mode=s.mode,
            value=self._maybe(s.value),
            argument=self._maybe(s.argument),
            compare=self._maybe(s.compare),
            used=s.used,
        )

    def _site_number(self, number: int) -> int:
        self._at(self.document.sites, number)
        return number

    def _promise(self, p: _Promise) -> Promise:
        condition, guard = self._condition(p.condition), self._condition(p.guard)
        return Promise(p.code, condition, guard, p.text, None, self._lanes(p.lanes), self._loops(p.loops), p.offset)

    def _value(self, v: _LoopValue) -> LoopValue:
        return LoopValue(
            function_of(v.function), v.modulus, v.rest, self._all(v.context), self.term(v.iteration),
            self._all(v.lanes), self.term(v.init), self.term(v.next), self._condition(v.entered),
            self._condition(v.handed_on),
        )  # fmt: skip

    def _awaits(self, rows: _Awaits) -> Mapping[int, Term]:
        return {access: self._condition(condition) for access, condition in rows}

    def _carried(
        self, value: int | tuple[int, int] | dict[str, _Awaits] | None
    ) -> Term | tuple[Origin, Term] | Mapping[int, Term] | None:
        match value:
            case int():
                return self.term(value)
            case (origin, offset):
                return self._at(self.origins, origin), self.term(offset)
            case None:
                return None
        return self._awaits(value["awaits"])

    def _form(self, f: _Form) -> LoopForm:
        return LoopForm(
            f.offset,
            self._variable(f.iteration),
            self._variable(f.time),
            tuple(map(self._carried, f.carried)),
            tuple(None if each is None else self._awaits(each) for each in f.left),
            self._condition(f.reached),
            None if f.last is None else function_of(f.last),
        )


def without_words(summary: AccessSummary) -> AccessSummary:
    """``summary`` as it is read back: without what is for people, and what the contract or the bytecode says."""
    return reading_of(convert(to_builtins(reading_document(summary)), ReadingDocument), summary.entry)


# ----------------------------------------------------------------------------------------------------------- term table
# Terms as a table: each a row of its kind, its payload and the numbers of earlier rows.
#
# Reading builds them anew by the constructors of terms, so that a table cannot hold a term that claims more of itself
# (its interval) than its parts give.


_TWO: Final[dict[TermKind, Callable[[Term, Term], Term]]] = {
    TermKind.DIV: t.floordiv,
    TermKind.MOD: t.floormod,
    TermKind.TDIV: t.truncdiv,
    TermKind.TMOD: t.truncmod,
    TermKind.MIN: t.minimum,
    TermKind.MAX: t.maximum,
    TermKind.BITAND: t.bit_and,
    TermKind.BITOR: t.bit_or,
    TermKind.BITXOR: t.bit_xor,
    TermKind.SHL: t.shift_left,
    TermKind.SHR: t.shift_right,
    TermKind.LT: t.lt,
    TermKind.LE: t.le,
    TermKind.EQ: t.eq,
    TermKind.IFF: t.iff,
}
_MANY: Final[dict[TermKind, Callable[..., Term]]] = {
    TermKind.PRODUCT: lambda *factors: t.product(factors),
    TermKind.ITE: t.ite,
    TermKind.NOT: t.not_,
    TermKind.AND: t.and_,
    TermKind.OR: t.or_,
}
_OF_CONDITIONS: Final = (TermKind.NOT, TermKind.AND, TermKind.OR, TermKind.IFF)


class TermWriter:
    """Numbers for terms; ``rows`` is the table."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []
        self._numbers: dict[Term, int] = {}

    def number(self, term: Term) -> int:
        for part in t.postorder(term, self._numbers):
            self._numbers[part] = len(self.rows)
            self.rows.append([part.kind.value, _payload(part), [self._numbers[arg] for arg in part.args]])
        return self._numbers[term]


class TermReader:
    """The terms of a table; raises `ValueError` for one that is none."""

    def __init__(self, rows: Sequence[Sequence[Any]]) -> None:
        self._terms: list[Term] = []
        for kind, payload, args in rows:
            if not all(type(arg) is int and 0 <= arg < len(self._terms) for arg in args):
                raise ValueError("a term is made of one that is not there")
            self._terms.append(_term(TermKind(kind), payload, tuple(self._terms[arg] for arg in args)))

    def term(self, number: int) -> Term:
        if not 0 <= number < len(self._terms):
            raise ValueError("a term that is not there is referred to")
        return self._terms[number]


def function_row(function: Function) -> list[Any]:
    return [function.name, function.scope.value, function.low, function.high, function.sort.value, function.array]


def function_of(row: Any) -> Function:
    name, scope, low, high, sort, array = row
    _check(isinstance(name, str) and (array is None or isinstance(array, str)))
    return Function(name, Scope(scope), _integer(low), _integer(high), Sort(sort), array)


def _payload(term: Term) -> Any:
    match term.payload:
        case Symbol(name, scope, low, high, sort):
            return [name, scope.value, low, high, sort.value]
        case Function():
            return function_row(term.payload)
        case payload:
            return payload


def _term(kind: TermKind, payload: Any, args: tuple[Term, ...]) -> Term:
    match kind:
        case TermKind.CONST:
            _check(type(payload) is int and not args)
            return t.const(payload)
        case TermKind.VAR:
            name, scope, low, high, sort = payload
            _check(isinstance(name, str) and not args)
            return t.var(name, Scope(scope), _integer(low), _integer(high), Sort(sort))
        case TermKind.TRUE | TermKind.FALSE:
            return t.boolean(kind is TermKind.TRUE)
        case TermKind.APPLY:
            return t.apply(function_of(payload), *args)
        case TermKind.SUM:
            constant, factors = payload
            _check(all(type(each) is int for each in (constant, *factors)) and len(factors) == len(args))
            return t.add(t.const(constant), *(t.scale(factor, arg) for factor, arg in zip(factors, args, strict=True)))
        case TermKind.WRAP:
            _check(type(payload) is int and 1 <= payload <= 64)
            (arg,) = args
            return t.wrap(payload, arg)
    _check(len(args) == 2 if kind in _TWO else len(args) >= 1)
    if kind is TermKind.ITE:
        test, then, otherwise = args
        _check(test.sort is Sort.BOOL and then.sort is otherwise.sort)
    else:
        wanted = Sort.BOOL if kind in _OF_CONDITIONS else Sort.INT
        _check(all(arg.sort is wanted for arg in args))
    return _TWO[kind](*args) if kind in _TWO else _MANY[kind](*args)


def _integer(number: Any) -> int | None:
    _check(number is None or type(number) is int)
    return None if number is None else int(number)


def _check(right: bool) -> None:
    if not right:
        raise ValueError("a term is malformed")
