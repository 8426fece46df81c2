"""The state of one symbolic execution: values, path, loops, and what has been recorded so far.

Rules (one for each op, see `rules`) read operands through the machine and give back results; accesses and promises go
through `SymbolicExecutor.access` and `SymbolicExecutor.promise`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from ...contract.terms import (
    FALSE,
    TRUE,
    Function,
    Scope,
    Sort,
    Term,
    TermKind,
    add,
    and_,
    apply,
    const,
    linear_parts,
    literals,
    postorder,
    rebuild,
    scale,
    unsigned,
    var,
    wrap,
)
from ...contract.terms.launch_wide import OWN, computed_bits, narrower, opaque, scope_of
from ...results.codes import TV
from ...system.errors import UnsupportedOperation
from ..bytecode.enums import MemoryOrdering, MemoryScope
from ..bytecode.location import user_frame
from ..bytecode.model import Block, Entry, Module, Op, PointerType, ScalarType, TileType, TokenType, Value
from ..bytecode.traverse import inert_assumptions, used_values, works_lane_by_lane
from .summary import Access, Footprint, Lane, Loop, LoopForm, LoopValue, Origin, OriginKind, Promise, Site
from .tokens import EMPTY, Token, join, own
from .values import Pointer, SymbolicValue, TensorView, TileView, lane_terms, lanes_of, mentions_lanes
from .written import Numbering, Written

if TYPE_CHECKING:
    from .open_values import OpenValues

Rule: TypeAlias = Callable[["SymbolicExecutor", Op], "SymbolicValue | tuple[SymbolicValue, ...] | None"]


@dataclass(frozen=True, slots=True)
class Exit:
    """One way out of a loop's body: the condition since the body began, the operands, and what was known there."""

    condition: Term
    values: tuple[SymbolicValue, ...]
    bounds: Bounds


@dataclass(slots=True)
class Exits:
    """How control leaves the body of the innermost loop; the conditions exclude each other."""

    continues: list[Exit] = field(default_factory=list)
    breaks: list[Exit] = field(default_factory=list)


@dataclass(slots=True)
class Branch:
    """``live``: the condition, since the branch began, under which control reaches its end; set when it has ended."""

    live: Term = TRUE


class SymbolicExecutor:
    """Executes blocks of one entry.

    ``path`` is the condition under which the current op runs, ``inside`` the part of it that the body of the innermost
    loop added, ``since`` the part that was added since the innermost branch began, ``bounds`` what the path says about
    sizes of terms, ``known`` about boolean terms; ``ranges`` are invariants of the loops around.
    """

    def __init__(
        self,
        module: Module,
        entry: Entry,
        rules: Mapping[str, Rule],
        numbering: Numbering,
        written: Written,
    ) -> None:
        self.module = module
        self.entry = entry
        self.rules = rules
        self.numbering = numbering
        self.written = written
        self.env: dict[Value, SymbolicValue] = {}
        self.path: Term = TRUE
        self.inside: Term = TRUE
        self.since: Term = TRUE
        self.bounds = Bounds()
        self.known: dict[Term, Term] = {}
        self.ranges: tuple[tuple[Term, int | None, int | None], ...] = ()
        self.loops: tuple[Loop, ...] = ()
        self.exits = Exits()
        self.recording = True
        self.sites: dict[int, Site] = {}
        self.waits: dict[int, Token] = {}
        self.promises: list[Promise] = []
        self.assertions: list[Promise] = []
        self.loop_values: list[LoopValue] = []
        self.loop_forms: list[LoopForm] = []
        self.order_ops: dict[str, None] = {}
        self.notes: dict[str, None] = {}
        self.inert = inert_assumptions(entry)
        self.used = used_values(entry)
        self.names: dict[str, str] = {}
        self.symbols: dict[str, Function] = {}
        self.makers: dict[str, Op] = {}  # of values that are not followed
        self.counters: dict[Op, Term] = {}  # the iteration variable of each loop
        self.address_origins: dict[tuple[tuple[int, Term], ...], Origin] = {}
        self.list_ranks: dict[str, int] = {}
        self.addresses: set[str] = set()  # lists that are addresses alone: sizes and strides are the contract's
        self.elements: dict[str, ScalarType] = {}  # what each array parameter points to
        self.open_values: OpenValues | None = None  # where the entry has any

    # ------------------------------------------------------------------------------------------- values
    def value(self, value: Value) -> SymbolicValue:
        """An operand; a choice that the path has already made is made."""
        content = self.env[value]
        if isinstance(content, Term):
            return self._chosen(content)
        return Pointer(content.origin, self._chosen(content.offset)) if isinstance(content, Pointer) else content

    def _chosen(self, term: Term) -> Term:
        while term.kind is TermKind.ITE and term.args[0] in self.known:
            term = term.args[1] if self.known[term.args[0]] is TRUE else term.args[2]
        return term

    def term(self, value: Value) -> Term:
        """An integer or boolean (tile)."""
        term = self.value(value)
        assert isinstance(term, Term), term
        return term

    def pointer(self, value: Value) -> Pointer:
        pointer = self.value(value)
        assert isinstance(pointer, Pointer), pointer
        return pointer

    def tensor(self, value: Value) -> TensorView:
        tensor = self.env[value]
        assert isinstance(tensor, TensorView), tensor
        return tensor

    def view(self, value: Value) -> TileView:
        view = self.env[value]
        assert isinstance(view, TileView), view
        return view

    def token(self, value: Value | None) -> Token:
        """A token operand; an absent one waits for nothing."""
        if value is None:
            return EMPTY
        token = self.env[value]
        assert isinstance(token, Token), token
        return token

    # --------------------------------------------------------------------------------- machine arithmetic
    def wrap(self, bits: int, term: Term) -> Term:
        """The iN value of the mathematical ``term``; without a wrap where it fits on this path."""
        return term if self.bounds.fits_signed(term, bits) else wrap(bits, term)

    def unsigned(self, bits: int, term: Term) -> Term:
        """The unsigned reading of the iN value ``term``."""
        low, high = self.bounds.interval(term)
        if low is not None and low >= 0 and high is not None and high < 1 << bits:
            return term
        return unsigned(bits, term)

    # ---------------------------------------------------------------------------------------- fresh values
    @property
    def iterations(self) -> tuple[Term, ...]:
        """The iteration variables of the loops around the current op, outermost first."""
        return tuple(loop.iteration for loop in self.loops)

    def unique(self, op: Op, suffix: str = "") -> str:
        """A name for what ``op`` brings into being, the same in every run."""
        return f"{op.title}#{self.numbering.ordinal[op]}{suffix}"

    def unknown(
        self, op: Op, value: Value, *, made_from: Sequence[SymbolicValue] | None = None, suffix: str = ""
    ) -> SymbolicValue:
        """The result of an op whose value is not followed: one value for each dynamic instance and lane.

        It is one function of ``made_from``, or a value of the block's own.
        """
        if isinstance(value.type, TileType) and isinstance(value.type.element, ScalarType):
            if value.type.element.is_float:
                bits = None if made_from is None else self._bits(op, value, made_from)
                return OWN if made_from is None else opaque(*made_from, bits=bits)
            scope = Scope.BLOCK if made_from is None else scope_of(*made_from)
            function = self.symbol(op, Function(self.unique(op, suffix), scope, *scalar_range(value.type.element)))
            self.makers[function.name] = op
            return apply(function, *self.iterations, *lane_terms(value.type.shape))
        raise self.unsupported(op)

    def is_of_atomic(self, leaf: Term) -> bool:
        """Whether an access with a scope gave ``leaf`` back."""
        maker = self.makers.get(leaf.function.name) if leaf.kind is TermKind.APPLY else None
        return maker is not None and "scope" in maker.attributes

    def _bits(self, op: Op, value: Value, made_from: Sequence[SymbolicValue]) -> Term | None:
        """What determines the bits of a float result, where the launch allows equal stores."""
        if not self.entry.equal_stores:
            return None
        function = self.symbol(op, Function(self.unique(op), Scope.LAUNCH))
        at = (*self.iterations, *lane_terms(shape_of(value)))
        return computed_bits(function, at, made_from, lane_by_lane=works_lane_by_lane(op))

    def symbol(self, op: Op, function: Function) -> Function:
        """The one symbol of this name: a loop's body runs more than once, at first with less knowledge.

        A first pass that is given up may have taken a value for launch-wide; what a later one says of that counts.
        """
        known = self.symbols.get(function.name)
        if known is None:
            self.describe(function.name, op, f"value of {op.title}")
            self.symbols[function.name] = function
        elif known.scope is not function.scope:
            self.symbols[function.name] = replace(known, scope=narrower(known.scope, function.scope))
        return self.symbols[function.name]

    def describe(self, name: str, op: Op, what: str) -> None:
        """Readable text for ``name`` in reports."""
        place = user_frame(op.location)
        self.names[name] = f"{what} at line {place.line}" if place else what

    # ------------------------------------------------------------------------------------------------ path
    def narrow(self, condition: Term) -> None:
        """Go on only where ``condition`` holds."""
        if condition is TRUE:
            return
        self.path = and_(self.path, condition)
        self.inside = and_(self.inside, condition)
        self.since = and_(self.since, condition)
        self.bounds = self.bounds.under(condition)
        self.known = self.known | literals(condition)
        for term, low, high in self.ranges:
            self.bounds = self.bounds.within(self._chosen(term), low, high)

    def stop(self) -> None:
        """Nothing behind the current op runs."""
        self.path = self.inside = self.since = FALSE

    @contextmanager
    def branch(self, condition: Term) -> Iterator[Branch]:
        """Run something where ``condition`` holds; the path is as before afterwards."""
        saved = self.path, self.inside, self.since, self.bounds, self.known
        self.narrow(condition)
        self.since = TRUE
        branch = Branch()
        try:
            yield branch
        finally:
            branch.live = self.since
            self.path, self.inside, self.since, self.bounds, self.known = saved

    @contextmanager
    def iteration(
        self, loop: Loop, guard: Term, ranges: Sequence[tuple[Term, int | None, int | None]] = ()
    ) -> Iterator[Exits]:
        """Run one generic iteration of ``loop``, which happens where ``guard`` holds.

        ``ranges``: intervals that terms (of carried values) stay in during every iteration.
        """
        saved = self.loops, self.exits, self.ranges
        self.ranges = (*self.ranges, *ranges)
        with self.branch(guard):
            self.inside, self.loops, self.exits = TRUE, (*self.loops, loop), Exits()
            try:
                yield self.exits
            finally:
                self.loops, self.exits, self.ranges = saved

    @contextmanager
    def first_pass(self) -> Iterator[None]:
        """Execute without recording anything."""
        saved, self.recording = self.recording, False
        try:
            yield
        finally:
            self.recording = saved

    # ------------------------------------------------------------------------------------------- execution
    def run(self, block: Block) -> tuple[SymbolicValue, ...] | None:
        """Execute ``block``; the operands of its ``yield``, or None if control never gets there."""
        for op in block.ops:
            rule = self.rules.get(op.name)
            if rule is None:
                raise self.unsupported(op)
            open_values = self.open_values if self.recording else None
            if open_values is not None:
                open_values.before(op)
            outcome = rule(self, op)
            if op.declaration.terminator:
                return outcome if isinstance(outcome, tuple) else None
            if self.path is FALSE:
                return None
            if len(op.results) == 1 and not isinstance(outcome, tuple):
                assert outcome is not None, op.name
                self.env[op.results[0]] = outcome
            else:
                results = outcome if isinstance(outcome, tuple) else ()
                self.env.update(zip(op.results, results, strict=True))
            if open_values is not None:
                open_values.after(op)
        return None

    def unsupported(self, op: Op, why: str = "") -> UnsupportedOperation:
        """The error for an op that has no rule, or none for these operands."""
        place = user_frame(op.location)
        return UnsupportedOperation(
            f"operation '{op.name}' has no symbolic rule{f' here: {why}' if why else ''} (TV902)",
            file=place.file if place else None,
            line=place.line if place else None,
            column=place.offset if place else None,
            op=op.name,
        )

    # ------------------------------------------------------------------------------------------- recording
    def promise(self, op: Op, code: TV, condition: Term, text: str, shape: Sequence[int] = ()) -> None:
        """``condition`` must hold wherever the current path does (for every lane of ``shape``)."""
        if condition is TRUE or not self.recording or self.path is FALSE:
            return
        lanes = lanes_of(shape) if mentions_lanes(condition) else ()
        self.promises.append(Promise(code, condition, self.path, text, op.location, lanes, self.loops, op.offset))

    def assertion(self, op: Op, condition: Term, shape: Sequence[int]) -> None:
        """An assertion at which blocks are trusted to stop."""
        if self.recording and self.path is not FALSE:
            lanes = lanes_of(shape) if mentions_lanes(condition) else ()
            text = op.attributes["msg"]
            self.assertions.append(
                Promise(TV.ASSUME_PROMISE, condition, self.path, text, op.location, lanes, self.loops, op.offset)
            )

    def access(
        self,
        op: Op,
        access: Access,
        footprint: Footprint,
        lanes: tuple[Lane, ...],
        token: Token,
        mask: Term = TRUE,
        *,
        value: Term | None = None,
        argument: Term | None = None,
        compare: Term | None = None,
        compared: bool = False,
        stored: Term | None = None,
    ) -> Token:
        """Record the site of ``op``; the token of its result."""
        number = self.numbering.site[op]
        if self.path is not FALSE and (
            wrong := forbidden(self.module, self.numbering, number, footprint.origin, access)
        ):
            raise self.unsupported(op, wrong)
        if self.recording:
            self.written.check(footprint.origin, access)
            self.sites[number] = Site(
                number=number,
                op=op.name,
                access=access,
                ordering=MemoryOrdering(op.attributes["ord"]),
                scope=None if (scope := op.attributes.get("scope")) is None else MemoryScope(scope),
                footprint=footprint,
                guard=and_(self.path, mask),
                lanes=lanes,
                loops=self.loops,
                waits=(),
                location=op.location,
                offset=op.offset,
                in_mask=mask,
                mode="cas" if compared else op.attributes.get("mode") or op.attributes.get("red"),
                value=value,
                argument=argument,
                compare=compare,
                stored=stored if footprint.origin.name in self.entry.equal_stores else None,
                used=any(result in self.used for result in op.results if not isinstance(result.type, TokenType)),
            )
            self.waits[number] = token
        return join([token, own(number, self.iterations)])


def scalar_range(element: ScalarType) -> tuple[int | None, int | None, Sort]:
    """The least and the largest value of ``element`` (signed reading), and its sort."""
    if element.bits == 1:
        return None, None, Sort.BOOL
    half = 1 << (element.bits - 1)
    return -half, half - 1, Sort.INT


def scalar_of(value: Value) -> ScalarType:
    """The element type of a tile of scalars."""
    assert isinstance(value.type, TileType)
    assert isinstance(value.type.element, ScalarType)
    return value.type.element


def element_bits(value: Value) -> int:
    """The width of an integer (tile) value."""
    return scalar_of(value).bits


def shape_of(value: Value) -> tuple[int, ...]:
    """The shape of a tile value."""
    assert isinstance(value.type, TileType), value.type
    return value.type.shape


def pointee(value: Value) -> ScalarType:
    """What a pointer (tile) value points to."""
    assert isinstance(value.type, TileType)
    assert isinstance(value.type.element, PointerType)
    return value.type.element.pointee


# ------------------------------------------------------------------------------------------------------------ forbidden
# Accesses that the format does not allow, and that no question of the verifier is about.
#
# No compiler emits them.  They are refused (TV902) and not refuted: where one is reached, whatever follows is
# undefined.


def forbidden(module: Module, numbering: Numbering, site: int, origin: Origin, access: Access) -> str:
    """Why access number ``site`` may not touch ``origin``; empty if it may."""
    match origin.kind:
        case OriginKind.LOCAL | OriginKind.SHARED_LOCAL if site not in numbering.living[origin.name]:
            return "the memory of an alloca is used behind the end of the region that it was made in"
        case OriginKind.LIST if access is not Access.READ:
            return f"it writes into the descriptors of the list '{origin.name}', which belong to the launch"
        case OriginKind.GLOBAL if access is not Access.READ:
            constant = any(item.constant for item in module.globals if item.name == origin.name)
            return f"it writes into the global '{origin.name}', which the module declares constant" if constant else ""
    return ""


# --------------------------------------------------------------------------------------------------------------- bounds
# What the path says about the size of terms.
#
# A wrap may be dropped where its argument fits, and much of what fits does so only because of the path: inside
# ``for tile in range(bid, count, grid)`` the induction variable is below ``count``.  `Bounds` collects such facts, each
# ``low <= pattern <= high``, and gives the interval of a term under them.  A term built with their help is only used
# where the path holds.


class Bounds:
    """An immutable chain of facts, newest first."""

    __slots__ = ("_facts", "_memo")

    def __init__(self, facts: tuple[tuple[Term, Term], ...] = ()) -> None:
        self._facts = facts  # (pattern, stand-in variable with the pattern's interval)
        self._memo: dict[Term, Term] = {}

    def under(self, condition: Term) -> Bounds:
        """The facts that hold where ``condition`` does too."""
        parts = condition.args if condition.kind is TermKind.AND else (condition,)
        result = self
        for _ in parts[:2]:  # twice for a conjunction: a later part may sharpen an earlier one
            for part in parts:
                result = result._with(part)
        return result

    def _with(self, part: Term) -> Bounds:
        result = self
        if part.kind is TermKind.EQ:
            for this, other in (part.args, part.args[::-1]):
                result = result.within(this, *result.interval(other))
        if part.kind in (TermKind.LT, TermKind.LE):
            small, large = part.args
            gap = 1 if part.kind is TermKind.LT else 0
            lowest, highest = result.interval(small)[0], result.interval(large)[1]
            if highest is not None:
                result = result.within(small, None, highest - gap)
            if lowest is not None:
                result = result.within(large, lowest + gap, None)
        return result

    def within(self, pattern: Term, low: int | None, high: int | None) -> Bounds:
        """The facts, and ``low <= pattern <= high``."""
        constant, summands = linear_parts(pattern)
        if constant and len(summands) == 1 and summands[0][0] == 1:
            pattern = summands[0][1]
            low, high = (None if bound is None else bound - constant for bound in (low, high))
        known_low, known_high = self.interval(pattern)
        low = known_low if low is None or (known_low is not None and known_low >= low) else low
        high = known_high if high is None or (known_high is not None and known_high <= high) else high
        if (low, high) == (known_low, known_high) or pattern.kind is TermKind.CONST:
            return self
        stand_in = var(f"bounded({pattern.digest.hex()})", Scope.ITERATION, low, high)
        return Bounds(((pattern, stand_in), *(fact for fact in self._facts if fact[0] is not pattern)))

    def interval(self, term: Term) -> tuple[int | None, int | None]:
        """Inclusive bounds of ``term`` wherever the path holds."""
        if not self._facts:
            return term.low, term.high
        abstract = self._abstract(term)
        lows = [low for low in (term.low, abstract.low) if low is not None]
        highs = [high for high in (term.high, abstract.high) if high is not None]
        return max(lows, default=None), min(highs, default=None)

    def fits_signed(self, term: Term, bits: int) -> bool:
        """Whether ``term`` lies inside signed iN wherever the path holds."""
        low, high = self.interval(term)
        half = 1 << (bits - 1)
        return low is not None and high is not None and -half <= low and high < half

    def _abstract(self, term: Term) -> Term:
        """``term`` with every known pattern replaced by a variable that has the pattern's interval."""
        done = self._memo
        for part in postorder(term):
            if part not in done:
                args = tuple(done[arg] for arg in part.args)
                rebuilt = part if args == part.args else rebuild(part, args)
                done[part] = self._matched(part) or rebuilt
        return done[term]

    def _matched(self, term: Term) -> Term | None:
        """``term`` as ``ratio * stand-in + rest`` for the first pattern that occurs in it."""
        for pattern, stand_in in self._facts:
            if term is pattern:
                return stand_in
            if term.kind is TermKind.SUM and pattern.kind is TermKind.SUM:
                (divisor, pivot), *_ = linear_parts(pattern)[1]
                factor = {t: c for c, t in linear_parts(term)[1]}.get(pivot, 0)
                if factor and factor % divisor == 0:
                    rest = add(term, scale(-(factor // divisor), pattern))
                    constant, summands = linear_parts(rest)
                    if len(summands) < len(term.args):
                        seen = (scale(c, self._memo.get(t, t)) for c, t in summands)
                        return add(const(constant), scale(factor // divisor, stand_in), *seen)
        return None
