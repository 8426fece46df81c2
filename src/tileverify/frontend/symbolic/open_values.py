"""What the specification leaves open, followed from where it arises to where it would decide something (TV403).

Open are: lanes of a load from a view without padding that lie outside the layout; lanes of pointer loads and atomics
that are masked off, without a padding value; memory from ``alloca`` before it is written; what a reduction or scan
gives that may hang on the order, or on how often its identity takes part (`combining`).  `open_rules` says how
openness passes through ops.  It may not reach

    an element inside an array that is stored, or that an atomic updates,
    an address or an index, a mask, a branch, the bounds of a loop.

Each such place where it may becomes a `Promise` (of TV403): wherever the path gets there, it is not open.  What is
stored to an array of the kernel and loaded back need not be followed: the store is such a place.  What is stored to
``alloca`` is: all that is stored there counts for every load (`OpenEquations`).

The machine calls `before` and `after` for every op while it records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...contract.terms import (
    FALSE,
    TRUE,
    Function,
    Scope,
    Sort,
    Term,
    TermKind,
    and_,
    apply,
    assuming,
    const,
    le,
    literals,
    lt,
    not_,
    or_,
    scale,
    substitute,
    transform,
    var,
)
from ...results.codes import TV
from ..bytecode.model import Entry, Op, TileType, Value
from ..bytecode.traverse import makers, walk
from .combining import has_one_result
from .open_rules import asks_machine, live_lanes, outside, result_open, values_of
from .summary import Access, OriginKind, PointerFootprint, Promise, Site, ViewFootprint
from .values import lane_terms, lanes_of

if TYPE_CHECKING:
    from .machine import SymbolicExecutor

_ATOMICS = frozenset({"atomic_rmw_tko", "atomic_cas_tko"})


def leaves_open(entry: Entry) -> bool:
    """Whether anything in ``entry`` may be open at all."""
    givers = makers(entry.body)
    return any(_may_be_source(op, givers) for op in walk(entry.body))


def _may_be_source(op: Op, givers: Mapping[Value, Op]) -> bool:
    match op.name:
        case "alloca":
            return True
        case "load_view_tko" | "multimem_load_reduce_view_tko":
            return getattr(op.value("view").type, "padding", None) is None
        case "load_ptr_tko":
            return op.optional("mask") is not None and op.optional("pad") is None
        case "atomic_rmw_tko" | "atomic_cas_tko":
            return op.optional("mask") is not None
        case "opaque":
            return asks_machine(op)
    return op.declaration.body == "combination" and not has_one_result(op, givers)


@dataclass(slots=True)
class OpenPlace:
    """An openness that is kept: of a place where it may not come, or of what is stored to local memory ``into``."""

    op: Op
    open: Term
    path: Term
    shape: tuple[int, ...]
    loops: tuple[Term, ...]
    text: str = ""
    into: str = ""


@dataclass(frozen=True, slots=True)
class Stored:
    """A store to local memory without a mask: later loads of the same place read what it wrote."""

    site: Site
    path: Term


@dataclass(slots=True)
class Frame:
    """A loop body that runs: what its exits hand on, as (condition, openness of each value)."""

    op: Op
    unknowns: tuple[Unknown | None, ...]
    first: int  # of `OpenValues.found`
    continues: list[tuple[Term, tuple[Term, ...]]] = field(default_factory=list)
    breaks: list[tuple[Term, tuple[Term, ...]]] = field(default_factory=list)


class OpenValues:
    """The openness of every value of one execution."""

    def __init__(self, m: SymbolicExecutor) -> None:
        self.m = m
        self.makers = makers(m.entry.body)
        self.found: list[OpenPlace] = []
        self._open: dict[Value, Term] = {}  # of values that may be open alone
        self._frames: list[Frame] = []
        self._left: dict[Op, tuple[Term, ...]] = {}  # by a loop, in its results
        self._stored: list[Stored] = []
        self._local: dict[str, Unknown] = {}
        self._allocates = any(op.name == "alloca" for op in walk(m.entry.body))
        self._invented: set[Term] = set()

    def of(self, value: Value) -> Term:
        return self._open.get(value, FALSE)

    def any_of(self, op: Op) -> bool:
        """Whether some operand may be open; it is asked of every op, and mostly there is none."""
        known = self._open
        if not known:
            return False
        for operand in op.operands.values():
            if any(value in known for value in operand) if isinstance(operand, tuple) else operand in known:
                return True
        return False

    def _note(self, value: Value, found: Term) -> None:
        if found is not FALSE:
            self._open[value] = found
        else:
            self._open.pop(value, None)

    def some(self, op: Op, which: str, size: int) -> Term:
        """A fresh coordinate below ``size``."""
        number = self.m.numbering.ordinal[op]
        return self._invent(var(f"some{number}.{which}", Scope.LANE, 0, size - 1))

    def _invent(self, variable: Term) -> Term:
        if variable.kind is TermKind.VAR:
            self._invented.add(variable)
        return variable

    # ------------------------------------------------------------------------------------------------- ops
    def before(self, op: Op) -> None:
        """Control that depends on what is open, and what leaves a body."""
        match op.name:
            case "if":
                self._reaches(op, "the condition of a branch", self.of(op.value("c")), ())
            case "for":
                for name in ("lower", "upper", "step"):
                    self._reaches(op, "the bounds of a loop", self.of(op.value(name)), ())
            case "assert":
                self._reaches(op, "an assertion", self.of(op.value("c")), _shape(op.value("c")))
            case "extract" | "insert":
                for index in op.group("index"):
                    self._reaches(op, f"the index of {op.name}", self.of(index), ())
            case "continue" | "break":
                frame = self._frames[-1]
                exits = frame.continues if op.name == "continue" else frame.breaks
                exits.append((self.m.inside, tuple(map(self.of, op.group("args")))))

    def after(self, op: Op) -> None:
        """The openness of results, and what an access does with open operands."""
        if op in self.m.numbering.site:
            self._accessed(op)
            return
        if not op.results:  # what the host sees (print, assert) decides nothing
            return
        if op.name == "if":
            results = self._joined(op)
        elif op.declaration.body == "loop":
            results = self._left.pop(op, ())
        else:
            results = (result_open(self, op),) * len(op.results)
        for value, found in zip(op.results, results, strict=False):
            self._note(value, found)

    def _joined(self, op: Op) -> tuple[Term, ...]:
        """The side that was taken; an open condition is a fault of its own."""
        condition = self.m.term(op.value("c"))
        sides = []
        for taken, region in ((condition, op.regions[0]), (not_(condition), op.regions[1])):
            last = region.blocks[0].ops[-1] if region.blocks and taken is not FALSE else None
            if last is not None and last.name == "yield":
                sides.append([and_(taken, self.of(value)) for value in last.group("args")])
        return tuple(or_(*each) for each in zip(*sides, strict=True))

    # -------------------------------------------------------------------------------------------- accesses
    def _accessed(self, op: Op) -> None:
        site = self.m.sites[self.m.numbering.site[op]]
        place, name = site.footprint, site.origin.name
        live = live_lanes(site)
        mask = op.operands.get("mask")
        if isinstance(mask, Value):
            self._reaches(op, f"the mask of the access to `{name}`", self.of(mask), _shape(mask))
        if isinstance(place, PointerFootprint):
            pointer = op.value("ptr")
            self._reaches(op, f"an address in `{name}`", self.of(pointer), _shape(pointer), site.in_mask)
        else:
            self._reaches(op, f"the layout of `{name}`", self.of(op.value("view")), ())
            for index in op.group("index"):
                self._reaches(op, f"an index into `{name}`", self.of(index), _shape(index))
        local = site.origin.kind in (OriginKind.LOCAL, OriginKind.SHARED_LOCAL)
        if site.access is not Access.READ:
            self._written(op, site, live, local)
        if site.access is not Access.WRITE and op.results and isinstance(op.results[0].type, TileType):
            self._note(op.results[0], or_(self._source(op, site), self._loaded(site, live) if local else FALSE))

    def _source(self, op: Op, site: Site) -> Term:
        """The lanes of what the access gives that are open whatever memory holds."""
        if isinstance(site.footprint, ViewFootprint):
            kind = op.value("view").type
            return outside(site.footprint) if getattr(kind, "padding", None) is None else FALSE
        pad = None if op.name in _ATOMICS else op.optional("pad")
        return and_(not_(site.in_mask), TRUE if pad is None else self.of(pad))

    def _written(self, op: Op, site: Site, live: Term, local: bool) -> None:
        for brought in op.declaration.brought:
            value = op.value(brought)
            shape, name = _shape(value), site.origin.name
            if local:
                self._keep(op, and_(live, self.of(value)), shape, into=name)
            else:
                verb = "stored to" if site.access is Access.WRITE else "combined with an element of"
                self._reaches(op, f"what is {verb} `{name}`", self.of(value), shape, live)
        if local and site.in_mask is TRUE and site.access is Access.WRITE:
            self._stored.append(Stored(site, self.m.path))

    def _loaded(self, site: Site, live: Term) -> Term:
        """From local memory: open where nothing was written yet, or where what was written is."""
        name = site.origin.name
        unknown = self._local.setdefault(name, Unknown(Function(f"open.{name}", Scope.BLOCK, sort=Sort.BOOL), ()))
        unwritten = and_(*(not_(stored.path) for stored in self._stored if _covers(stored.site, site)))
        return and_(live, or_(unwritten, unknown.here))

    # ----------------------------------------------------------------------------------------------- found
    def _reaches(self, op: Op, text: str, open_: Term, shape: tuple[int, ...], live: Term = TRUE) -> None:
        self._keep(op, and_(live, open_), shape, text=text)

    def _keep(self, op: Op, open_: Term, shape: tuple[int, ...], *, text: str = "", into: str = "") -> None:
        path = self.m.path
        if open_ is FALSE or path is FALSE:
            return
        open_ = _simpler(open_, path)
        if open_ is not FALSE:
            self.found.append(OpenPlace(op, open_, path, shape, self.m.iterations, text, into))

    def promises(self) -> tuple[Promise, ...]:
        """What has to be shown, when the execution is over."""
        if self._local:
            self._settle_local()
        result = []
        for each in self.found:
            if and_(each.path, each.open) is not FALSE and not each.into:
                closed, lanes = not_(each.open), lanes_of(each.shape)
                result.append(
                    Promise(
                        TV.UNDETERMINED, closed, each.path, each.text, each.op.location, lanes, offset=each.op.offset
                    )
                )
        return tuple(result)

    def order_bound(self) -> tuple[Promise, ...]:
        """The reductions and scans whose results are open, whatever goes into them."""
        return tuple(
            Promise(TV.UNDETERMINED, FALSE, TRUE, op.name, op.location, offset=op.offset)
            for op in walk(self.m.entry.body)
            if op.declaration.body == "combination" and not has_one_result(op, self.makers)
        )

    def _settle_local(self) -> None:
        """What is open in local memory: anything that is stored there, by whatever lane in whatever iteration."""
        equations = OpenEquations("local", self._invented)
        for name, unknown in self._local.items():
            parts = []
            for each in self.found:
                if each.into == name:
                    apart = {v: self._invent(var(f"{v.symbol.name}.stored", Scope.LANE, v.low, v.high))
                             for v in (*lane_terms(each.shape), *each.loops)}  # fmt: skip
                    parts.append(substitute(and_(each.path, each.open), apart))
            equations.add(unknown, FALSE, or_(*parts))
        equations.solve()
        for each in self.found:
            each.open = equations.put_in(each.open)

    # ----------------------------------------------------------------------------------------------- loops
    def enter(self, op: Op, carried: Sequence[Value]) -> None:
        """A body begins: what is carried may have become open in an earlier iteration."""
        body = list(walk(op.regions[0].blocks[0]))
        arriving = (value for each in (op, *body) for value in values_of(each))
        source = any(_may_be_source(each, self.makers) or (self._allocates and each.declaration.loads) for each in body)
        idle = not source and all(self.of(value) is FALSE for value in arriving)
        unknowns = tuple(None if idle else self._unknown(op, number, value) for number, value in enumerate(carried))
        self._frames.append(Frame(op, unknowns, len(self.found)))
        for value, unknown in zip(carried, unknowns, strict=True):
            self._note(value, FALSE if unknown is None else unknown.here)

    def _unknown(self, op: Op, number: int, value: Value) -> Unknown | None:
        if not isinstance(value.type, TileType):
            return None
        name = f"open.loop{self.m.numbering.loop[op]}.{number}"
        lanes = lane_terms(_shape(value))
        return Unknown(Function(name, Scope.BLOCK, sort=Sort.BOOL), lanes)

    def leave(self, iteration: Term, guard: Term) -> None:
        """A body has ended, of an iteration that runs where ``guard`` holds: what was unknown in it is found."""
        frame = self._frames.pop()
        inits = tuple(map(self.of, frame.op.group("inits")))
        equations = OpenEquations(f"loop{self.m.numbering.loop[frame.op]}", self._invented)
        for number, unknown in enumerate(frame.unknowns):
            if unknown is not None:
                handed_on = or_(*(and_(condition, values[number]) for condition, values in frame.continues))
                equations.add(unknown, inits[number], and_(guard, handed_on))
        earlier = self._another(iteration, "earlier")
        equations.solve({iteration: earlier})
        before = lt(earlier, iteration)
        for each in self.found[frame.first :]:
            each.open = _simpler(equations.put_in(each.open, before), each.path)
        if frame.op.name == "for":
            left = (FALSE if unknown is None else equations.put_in(unknown.here) for unknown in frame.unknowns)
            self._left[frame.op] = tuple(left)
        elif frame.breaks:
            last = self._another(iteration, "last")
            self._left[frame.op] = tuple(
                substitute(
                    or_(*(and_(guard, condition, equations.put_in(values[number], before))
                          for condition, values in frame.breaks)),
                    {iteration: last},
                )
                for number in range(len(frame.op.results))
            )  # fmt: skip

    def _another(self, iteration: Term, which: str) -> Term:
        """Another iteration of the loop."""
        symbol = iteration.symbol
        return self._invent(var(f"{symbol.name}.{which}", symbol.scope, symbol.low, symbol.high))


def _shape(value: Value) -> tuple[int, ...]:
    return value.type.shape if isinstance(value.type, TileType) else ()


def _simpler(open_: Term, path: Term) -> Term:
    """``open_`` where the path holds, with its own conjuncts put into each other."""
    known = literals(path)
    open_ = assuming(open_, known)
    if open_.kind is not TermKind.AND:
        return open_
    simple = [part for part in open_.args if part.kind is not TermKind.OR]
    rest = [part for part in open_.args if part.kind is TermKind.OR]
    if not simple or not rest:
        return open_
    facts = literals(and_(*simple))
    return and_(*simple, *(assuming(part, facts) for part in rest))


def _covers(site: Site, load: Site) -> bool:
    """Whether a store, where it happened, has written all that the load reads.

    It did where it stands before the load, in the loops around it or none, and wrote either the same lanes of the same
    place or all of the memory.
    """
    if site.origin.name != load.origin.name or site.loops != load.loops[: len(site.loops)]:
        return False
    if site.lanes == load.lanes and site.footprint == load.footprint:
        return True
    place, extent = site.footprint, site.origin.extent
    if not isinstance(place, PointerFootprint) or len(site.lanes) > 1 or extent is None:
        return False
    (variable, count) = (site.lanes[0].variable, site.lanes[0].size) if site.lanes else (const(0), 1)
    whole = le(extent, const(count * place.element_bytes)) is TRUE
    return whole and place.offset is scale(place.element_bytes, variable)


# ------------------------------------------------------------------------------------------------------- open equations
# What is open in values that go round: carried by loops, or kept in local memory.
#
#     U_i(lanes)  =  init_i(lanes)  or  step_i(lanes)
#
# where ``step_i`` mentions the unknowns themselves, of the iteration before.  ``step_i`` is monotone in them: openness
# is never denied.  So the least solution is the union over all ways in which one unknown flows into another; a way that
# moves lanes, or passes a condition, is taken as one from any lane, under no condition.  That can only make more open.
#
#     U_i(l)  =  or over all U_r that flow into U_i:   init_r(l')  or  step_r(l') in some earlier iteration
#
# with the unknowns in ``step_r`` left out, and ``l' = l`` if every step on the way keeps the lanes, else some lane.


@dataclass(frozen=True, slots=True)
class Unknown:
    """The openness of one value, as a function of its lanes."""

    function: Function
    lanes: tuple[Term, ...]

    @property
    def here(self) -> Term:
        return apply(self.function, *self.lanes)


@dataclass(slots=True)
class OpenEquations:
    """``name`` sets the variables of this system apart; ``invented`` are all that stand for "some"."""

    name: str
    invented: set[Term]
    _unknowns: dict[Function, Unknown] = field(default_factory=dict)
    _inits: dict[Function, Term] = field(default_factory=dict)
    _steps: dict[Function, Term] = field(default_factory=dict)
    _solved: dict[Function, tuple[Term, Term]] = field(default_factory=dict)  # from the beginning, from a step

    def add(self, unknown: Unknown, init: Term, step: Term) -> None:
        function = unknown.function
        self._unknowns[function] = unknown
        self._inits[function], self._steps[function] = init, step

    def solve(self, earlier: Mapping[Term, Term] | None = None) -> None:
        """Find all unknowns; ``earlier`` takes a step to another iteration."""
        moved = {function: self._set_apart(self._alone(step), earlier or {}) for function, step in self._steps.items()}
        for function in self._unknowns:
            begun, stepped = [], []
            for other, same_lanes in self._flows_into(function).items():
                away = {} if same_lanes else self._some_lane(self._unknowns[other])
                begun.append(substitute(self._inits[other], away))
                stepped.append(substitute(moved[other], away))
            self._solved[function] = or_(*begun), or_(*stepped)

    def put_in(self, term: Term, before: Term = TRUE) -> Term:
        """``term`` with what the unknowns are; ``before`` says which iterations came earlier."""

        def leaf(part: Term) -> Term | None:
            if part.kind is not TermKind.APPLY or part.function not in self._solved:
                return None
            begun, stepped = self._solved[part.function]
            lanes = dict(zip(self._unknowns[part.function].lanes, part.args, strict=True))
            return or_(substitute(begun, lanes), and_(before, substitute(stepped, lanes)))

        return transform(term, leaf) if self._mentioned(term) else term

    # ---------------------------------------------------------------------------------------------- pieces
    def _mentioned(self, term: Term) -> list[Term]:
        return [part for part in term.free if part.kind is TermKind.APPLY and part.function in self._unknowns]

    def _alone(self, step: Term) -> Term:
        """What a step adds by itself."""
        return substitute(step, dict.fromkeys(self._mentioned(step), FALSE))

    def _set_apart(self, term: Term, earlier: Mapping[Term, Term]) -> Term:
        """The step of another iteration, with its own "some"."""
        names = {each: self._renamed(each) for each in term.free if each in self.invented}
        return substitute(term, names | dict(earlier))

    def _renamed(self, each: Term) -> Term:
        symbol = each.symbol
        found = var(f"{symbol.name}@{self.name}", symbol.scope, symbol.low, symbol.high)
        self.invented.add(found)
        return found

    def _some_lane(self, unknown: Unknown) -> dict[Term, Term]:
        found = {}
        for each in unknown.lanes:
            symbol = each.symbol
            name = f"{symbol.name}.{unknown.function.name}@{self.name}"
            found[each] = var(name, Scope.LANE, symbol.low, symbol.high)
        self.invented.update(found.values())
        return found

    def _flows_into(self, function: Function) -> dict[Function, bool]:
        """The unknowns that flow into one, itself included; with whether lanes stay where they are on every way."""
        found = {function: True}
        pending = [function]
        while pending:
            current = pending.pop()
            for part in self._mentioned(self._steps[current]):
                keeps = found[current] and part.args == self._unknowns[part.function].lanes
                known = found.get(part.function)
                if known is None or (known and not keeps):
                    found[part.function] = keeps
                    pending.append(part.function)
        return found
