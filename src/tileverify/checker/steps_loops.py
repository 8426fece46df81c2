"""Steps: branches and loops, and the induction of what is claimed of a loop's carried values.

Of a loop is claimed what its carried values are when iteration t begins, for every t.  That is checked by induction:
the claim at 0 is the initial value, and an iteration k that begins with the claim at k hands on the claim at k + 1.
Behind the loop the values are the claim at the number of iterations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ..contract.terms import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Function,
    Scope,
    Sort,
    Term,
    TermKind,
    add,
    and_,
    apply,
    assuming,
    ceildiv,
    const,
    eq,
    floordiv,
    floormod,
    implies,
    ite,
    le,
    linear_parts,
    literals,
    lt,
    maximum,
    mul,
    ne,
    not_,
    or_,
    sub,
    substitute,
    var,
)
from ..contract.terms.launch_wide import OWN, Opaque, scope_of, without_bits
from ..contract.variables import BID, GRID
from ..frontend.bytecode.model import Op
from ..frontend.bytecode.model import Value as SsaValue
from ..frontend.bytecode.traverse import walk
from ..frontend.symbolic.summary import Loop, LoopForm, LoopValue, earlier
from ..results.codes import TV
from .agreement import Address, Misread, NotFollowed, Value, Waiting, lanes
from .evaluator import LoopExit, Step, SummaryChecker, shape, width
from .steps_accesses import must_await
from .steps_integers import read, stored
from .steps_tiles import either_value


def block_id(ev: SummaryChecker, op: Op) -> tuple[Term, ...]:
    return BID


def grid(ev: SummaryChecker, op: Op) -> tuple[Term, ...]:
    return GRID


# ----------------------------------------------------------------------------------------------------- branches
def branch(ev: SummaryChecker, op: Op) -> tuple[Value, ...]:
    condition = ev.term(op.value("c"))
    blocks = [region.blocks[0] if region.blocks else None for region in op.regions]
    (live, values), (other_live, others) = (
        ev.side(taken, block) for taken, block in zip((condition, not_(condition)), blocks, strict=True)
    )
    ev.narrow(ite(condition, live, other_live))
    if values is None or others is None or live is FALSE or other_live is FALSE:
        return others or () if values is None or live is FALSE else values
    return tuple(either_value(condition, a, b) for a, b in zip(values, others, strict=True))


def give(ev: SummaryChecker, op: Op) -> tuple[Value, ...]:
    return tuple(ev.value(value) for value in op.group("args"))


def go_on(ev: SummaryChecker, op: Op) -> None:
    ev.ways.on.append(LoopExit(ev.inside, ev.path, give(ev, op)))
    ev.stop()


def break_off(ev: SummaryChecker, op: Op) -> None:
    ev.ways.out.append(LoopExit(ev.inside, ev.path, tuple(map(without_bits, give(ev, op)))))
    ev.stop()


def leave(ev: SummaryChecker, op: Op) -> None:
    ev.stop()


def check(ev: SummaryChecker, op: Op) -> tuple[Value, ...]:
    """An assertion tells the host, and the block goes on; a contract may trust that it stops (``trust``)."""
    if ev.entry.asserts_stop:
        condition = ev.term(op.value("c"))
        ev.promise(op, condition, op.attributes["msg"], TV.ASSUME_PROMISE)
        if not shape(op.value("c")):
            ev.narrow(condition)
            if condition is FALSE:
                ev.stop()
    return ()


# -------------------------------------------------------------------------------------------------------- loops
def for_loop(ev: SummaryChecker, op: Op) -> tuple[Value, ...]:
    """Iterations at ``lower + k * step`` while that is below ``upper``."""
    sign = "unsigned" if "unsignedCmp" in op.flags else "signed"
    lower, upper, step = (read(ev, op, name, sign) for name in ("lower", "upper", "step"))
    positive = lt(ZERO, step)
    ev.promise(op, positive, "step of the loop is positive")
    number, claimed = ev.loop_number[op], ev.form(op)
    k = claimed.iteration
    _check_counter(ev, op, k, number)
    _most_trips(ev, number, (lower, upper, step), None if k.symbol.high is None else k.symbol.high + 1)
    value = add(lower, mul(k, step))
    induction, *carried = op.regions[0].blocks[0].arguments
    form = CarriedClaims(ev, op, claimed, carried, op.group("inits"))
    _check_reached_at_first(ev, claimed)
    loop = Loop(f"loop{number}", k, None, value, claimed.reached)
    with ev.iteration(loop, and_(positive, lt(value, upper), claimed.reached)) as ways:
        ev.env[induction] = stored(ev, value, width(induction))
        ev.env.update(zip(carried, form.at(k), strict=True))
        ev.run(op.regions[0].blocks[0])
        form.check_step(ways.on)
        for way in ways.on:
            check_handed_on(ev, way.path, claimed.reached, k, None)
    _check_loop_values(ev, form, ways.on)
    if step.kind is TermKind.CONST and step.value > 0:
        trips = maximum(ZERO, ceildiv(sub(upper, lower), step))
    else:
        trips = _number_of_trips(ev, number, (lower, upper, step))
    inside = frozenset(each.offset for each in walk(op.regions[0].blocks[0]))
    ev.facts.append((inside, form.same_around, lt(earlier(k), trips)))
    ev.narrow(substitute(claimed.reached, {k: trips}))
    return form.behind(trips, ways.on)


def _check_counter(ev: SummaryChecker, op: Op, k: Term, number: int) -> None:
    same = k.kind is TermKind.VAR and k.symbol.name == f"k{number}" and k.symbol.scope is Scope.ITERATION
    if not same or k.symbol.low != 0 or k.symbol.sort is not Sort.INT:
        raise Misread("iterations of a loop are not numbered from 0")
    time = ev.form(op).time
    if time is not var(f"t{number}", Scope.ITERATION, 0):
        raise Misread("the time of a loop is said to be bounded")


def _check_reached_at_first(ev: SummaryChecker, claimed: LoopForm) -> None:
    ev.speaks_of((claimed.reached,), "what holds in every iteration of a loop")
    first = substitute(claimed.reached, {claimed.iteration: ZERO})
    ev.compare.follows(ev.path, first, "what holds in every iteration does not at first")


def _check_loop_values(ev: SummaryChecker, form: CarriedClaims, ways: Sequence[LoopExit]) -> None:
    for said in ev.claims.loop_values:
        if said.function in form.own:
            ev.done_values.add(said.function)
            form.check_loop_value(said, ways)


def _number_of_trips(ev: SummaryChecker, number: int, bounds: tuple[Term, Term, Term]) -> Term:
    """A number of its own, as often as the loop runs: the least T with ``upper <= lower + T * step``."""
    lower, upper, step = bounds
    function = ev.claimed_function(f"trips{number}")
    most = _most_trips(ev, number, bounds, None if function is None else function.high)
    known = Function(f"trips{number}", scope_of(*bounds), 0, most)
    function = function or known
    if function not in (known, replace(known, scope=Scope.BLOCK)):
        raise Misread("the number of a loop's iterations is said to be something else")
    trips = apply(ev.declared(function), *ev.iterations)
    ev.narrow(le(upper, add(lower, mul(trips, step))))
    ev.narrow(implies(lt(ZERO, trips), lt(add(lower, mul(add(trips, const(-1)), step)), upper)))
    return trips


def _most_trips(ev: SummaryChecker, number: int, bounds: tuple[Term, Term, Term], said: int | None) -> int | None:
    """A number that the loop's iterations do not exceed: what is ``said`` of them, if that is one, or what is seen."""
    lower, upper, step = bounds
    k = var(f"k{number}", Scope.ITERATION, 0)
    runs = and_(lt(ZERO, step), lt(add(lower, mul(k, step)), upper))
    last, room = ev.sizes.under(runs).interval(k)[1], ev.sizes.interval(sub(upper, lower))[1]
    seen = [max(high, 0) for high in (None if last is None else last + 1, room) if high is not None]
    if said is None or said < 0:
        return min(seen, default=None)
    if not any(high <= said for high in seen):
        ev.compare.impossible((ev.path, runs, le(const(said), k)), "a loop has more iterations than is said")
    return said


def endless_loop(ev: SummaryChecker, op: Op) -> tuple[Value, ...]:
    """Iterations until one breaks off.

    ``reached`` is claimed of every iteration that runs, and checked by induction, as carried values are.  Behind the
    loop some iteration ran and broke off; its number is a value of the block.
    """
    number, claimed = ev.loop_number[op], ev.form(op)
    k, carried = claimed.iteration, op.regions[0].blocks[0].arguments
    _check_counter(ev, op, k, number)
    if k.symbol.high is not None:
        raise Misread("a loop that ends by breaking off is said to end by itself")
    if claimed.last not in (None, Function(f"last{number}", Scope.BLOCK, 0)):
        raise Misread("the last iteration of a loop has another name")
    form = CarriedClaims(ev, op, claimed, carried, op.group("inits"))
    chosen = _chosen_number(ev, number, claimed, form)
    _check_reached_at_first(ev, claimed)
    loop = Loop(f"loop{number}", k, None, None, claimed.reached, claimed.last)
    with ev.iteration(loop, claimed.reached) as ways:
        ev.env.update(zip(carried, form.at(k), strict=True))
        ev.run(op.regions[0].blocks[0])
        form.check_step(ways.on)
        for way in ways.on:
            check_handed_on(ev, way.path, claimed.reached, k, chosen)
    _check_loop_values(ev, form, ways.on)
    if not ways.out:
        ev.stop()
        return ()
    if claimed.last is None:
        ev.compare.impossible(
            (ev.path, substitute(or_(*(way.path for way in ways.on)), {k: ZERO})),
            "a loop goes on behind its first iteration",
        )
        last: Term = ZERO
    else:
        last = apply(ev.declared(claimed.last), *ev.iterations)
    broke = or_(*(way.since for way in ways.out))
    inside = frozenset(each.offset for each in walk(op.regions[0].blocks[0]))
    ev.facts.append((inside, form.same_around, le(earlier(k), last)))
    ev.narrow(substitute(and_(claimed.reached, broke), {k: last}))
    merged = (either_way(ways.out, position) for position in range(len(ways.out[0].values)))
    return tuple(_at(value, {k: last}) for value in merged)


def _chosen_number(ev: SummaryChecker, number: int, claimed: LoopForm, form: CarriedClaims) -> Term | None:
    """The number that a claim about iterations may speak of as if somebody had chosen it once for the whole loop."""
    name = f"overflow{number}."
    found = {
        part for part in claimed.reached.free if part.kind is TermKind.APPLY and part.function.name.startswith(name)
    }
    if len(found) > 1:
        raise NotFollowed("a loop with two counters that may wrap")
    for part in found:
        if part.function != Function(part.function.name, Scope.BLOCK, 1) or part.args != ev.iterations:
            raise Misread("the iteration in which a counter wraps is said to be something else")
        if any(part in term.free for value in form.at(claimed.time) for term in terms_of(value)):
            raise NotFollowed("what a loop carries depends on when its counter wraps")
        ev.declared(part.function)
        return part
    return None


def check_handed_on(ev: SummaryChecker, path: Term, reached: Term, k: Term, chosen: Term | None) -> None:
    """The claim about iterations, R(k), holds in the next one.

    It may speak of a number f, R(k, f), of which no more is known than that there is one.  To show that there is, f is
    chosen as late as can be: as long as R(k, g) holds for all g > k, nothing has to be; if R(k + 1, g) fails for some
    g > k + 1, f becomes k + 1, which keeps all R(j, f) for j <= k.  From then on R(f, f) holds, R(f, g) does not for
    some g > f, and f stays.  A loop that comes to its end without a choice has all numbers behind it left.
    """
    what = "what holds in every iteration is not handed on"
    then = add(k, ONE)
    later = substitute(reached, {k: then})
    if chosen is None:
        ev.compare.follows(path, later, what)
        return
    other = var("another number", Scope.ITERATION, 1)
    open_still = and_(path, substitute(path, {chosen: then}), lt(then, chosen))
    ev.compare.impossible((open_still, not_(later), not_(substitute(later, {chosen: then}))), what)
    by_then, failed = (substitute(reached, {k: chosen, chosen: f}) for f in (chosen, other))
    ev.compare.impossible((path, le(chosen, k), by_then, lt(chosen, other), not_(failed), not_(later)), what)


def _at(value: Value, time: Mapping[Term, Term]) -> Value:
    match value:
        case Term():
            return substitute(value, time)
        case Address(origin, offset):
            return Address(origin, substitute(offset, time))
        case Waiting(awaits):
            return Waiting({each: substitute(condition, time) for each, condition in awaits.items()})
        case _:
            return value


STEPS: Final[dict[str, Step]] = {
    "get_tile_block_id": block_id,
    "get_num_tile_blocks": grid,
    "if": branch,
    "yield": give,
    "continue": go_on,
    "break": break_off,
    "return": leave,
    "assert": check,
    "for": for_loop,
    "loop": endless_loop,
}


# ------------------------------------------------------------------------------------------------------------ induction
# The claims about what a loop carries, and their induction.


_MOST_RUNS: Final = 8
"""Iterations of a loop that are run one by one, where their number is known."""


class CarriedClaims:
    """The carried values of one loop as they are claimed, by position."""

    def __init__(
        self, ev: SummaryChecker, op: Op, claimed: LoopForm, carried: Sequence[SsaValue], inits: Sequence[SsaValue]
    ) -> None:
        self.ev, self.op, self.claimed, self.carried = ev, op, claimed, carried
        self.path, self.around = ev.path, ev.iterations
        self.inits = [ev.value(init) for init in inits]
        self.said = claimed.carried or (None,) * len(carried)
        if len(self.said) != len(carried):
            raise Misread("a loop carries another number of values")
        self.same_around = and_(TRUE, *(eq(earlier(k), k) for k in self.around))
        self.own = [self._own_function(i) for i in range(len(carried))]
        for i in range(len(carried)):
            self._check_init(i)

    def at(self, time: Term) -> tuple[Value, ...]:
        """The carried values when iteration ``time`` begins, as claimed."""
        return tuple(self._at(i, time) for i in range(len(self.carried)))

    def _at(self, i: int, time: Term) -> Value:
        change, said, init = {self.claimed.time: time}, self.said[i], self.inits[i]
        match said:
            case None:
                if not isinstance(init, Opaque):
                    raise Misread("nothing is said of a number that a loop carries")
                return OWN
            case Term():
                return substitute(said, change)
            case (origin, offset):
                if not isinstance(init, Address) or origin != init.origin:
                    raise NotFollowed("a loop carries a pointer from one array to another")
                return Address(origin, substitute(offset, change))
        return Waiting({each: substitute(condition, change) for each, condition in said.items()})

    # ------------------------------------------------------------------------------------------ free functions
    def _name(self, i: int) -> str:
        return f"loop{self.ev.loop_number[self.op]}.{i}"

    def _own_function(self, i: int) -> Function | None:
        """The function that stands for the value at position i where it has no closed form."""
        said = self.said[i]
        term = said if isinstance(said, Term) else said[1] if isinstance(said, tuple) else None
        if term is None:
            return None
        name = self._name(i)
        found = {
            part.function
            for part in term.free
            if part.kind is TermKind.APPLY and (part.function.name == name or part.function.name.startswith(f"{name}."))
        }
        if len(found) > 1:
            raise Misread("a carried value has two names")
        for function in found:
            if function.array is not None or function.scope not in (Scope.LAUNCH, Scope.BLOCK):
                raise Misread("a carried value is said to be the contents of an array")
            self.ev.declared(function)
            return function
        return None

    def _application(self, i: int, time: Term) -> Term:
        function = self.own[i]
        assert function is not None
        return apply(function, *self.around, time, *lanes(shape(self.carried[i])))

    # ------------------------------------------------------------------------------------------------ induction
    def _check_init(self, i: int) -> None:
        init, first, what = self.inits[i], self._at(i, ZERO), self._what(i)
        self.ev.speaks_of(terms_of(self._at(i, self.claimed.time)), what)
        if isinstance(init, Waiting):
            if not isinstance(first, Waiting):
                raise Misread(f"{what}: it is a token")
            must_await(self.ev, self.path, init, first.awaits, f"{what} at first")
            return
        for mine, theirs in zip(terms_of(init), terms_of(first), strict=True):
            self.ev.compare.same(self.path, mine, theirs, f"{what} at first")
        function = self.own[i]
        if function is not None and function.scope is Scope.LAUNCH:
            _must_be_alike(terms_of(init), self.around, what)

    def check_step(self, ways: Sequence[LoopExit]) -> None:
        """What each way on hands over is the claim of the next iteration."""
        k = self.claimed.iteration
        then = add(k, ONE)
        for way in ways:
            # Where a function stands for a value, it is that value: so it is defined.
            now: dict[Term, Term] = {}
            for i, value in enumerate(way.values):
                self._define(i, value, then, way, now)
            for i, value in enumerate(way.values):
                self._check_next(i, value, then, way, now)
        for i, function in enumerate(self.own if ways else ()):
            if function is not None and function.scope is Scope.LAUNCH:
                # Blocks that do not get so far do not matter; which of several ways is taken does.
                handed = either_way(ways, i)
                _must_be_alike(terms_of(handed), (*self.around, k), self._what(i))

    def _define(self, i: int, value: Value, then: Term, way: LoopExit, now: dict[Term, Term]) -> None:
        if self.own[i] is None:
            return
        (claim,), (handed,) = terms_of(self._at(i, then)), terms_of(value)
        stand_in = self._application(i, then)
        function, what = self.own[i], self._what(i)
        assert function is not None
        for _, leaf in _leaves(claim, way.path):
            if stand_in not in leaf.free:
                continue
            modulus, rest = _linear_in(leaf, stand_in, what)
            is_number = modulus and (modulus, rest) != (1, 0)
            value_of = floordiv(sub(handed, const(rest)), const(modulus)) if is_number else handed
            if now.setdefault(stand_in, value_of) is not value_of:
                raise NotFollowed(f"{what}: a form of its own")
            if any(
                stand_in in term.free for j in range(len(self.said)) if j != i for term in terms_of(self._at(j, then))
            ):
                # Others rely on the function, so it has to be this value in all cases.
                self._in_range(way.path, handed, leaf, function, stand_in, what)

    def _check_next(self, i: int, value: Value, then: Term, way: LoopExit, now: Mapping[Term, Term]) -> None:
        ev, what, claim = self.ev, f"{self._what(i)} one iteration later", self._at(i, then)
        if isinstance(claim, Waiting):
            if not isinstance(value, Waiting):
                raise Misread(f"{what}: it is no token")
            must_await(ev, way.path, value, claim.awaits, what)
            return
        if isinstance(claim, Address) and isinstance(value, Address) and claim.origin != value.origin:
            raise NotFollowed("a loop carries a pointer from one array to another")
        for mine, theirs in zip(terms_of(value), terms_of(claim), strict=True):
            for condition, leaf in _leaves(theirs, way.path):
                path = and_(way.path, substitute(condition, now))
                own = self.own[i]
                if own is not None and self._application(i, then) in leaf.free:
                    self._in_range(path, mine, leaf, own, self._application(i, then), what)
                else:
                    ev.compare.same(path, mine, substitute(leaf, now), what)

    def _in_range(self, path: Term, value: Term, leaf: Term, own: Function, stand_in: Term, what: str) -> None:
        """``value`` is one of those that a function with this range can stand for."""
        modulus, rest = _linear_in(leaf, stand_in, what)
        if own.sort is Sort.BOOL:
            return
        low, high = self.ev.sizes.under(path).interval(value)
        if own.low is not None and (low is None or low < own.low * modulus + rest):
            self.ev.compare.impossible((path, not_(le(const(own.low * modulus + rest), value))), f"{what} is smaller")
        if own.high is not None and (high is None or high > own.high * modulus + rest):
            self.ev.compare.impossible((path, not_(le(value, const(own.high * modulus + rest)))), f"{what} is larger")
        if modulus != 1:
            self.ev.compare.same(
                path, floormod(value, const(modulus)), const(rest % modulus), f"{what} (its remainder)"
            )

    def check_loop_value(self, said: LoopValue, ways: Sequence[LoopExit]) -> None:
        """A claim about a value without a closed form: where it begins, and what each iteration makes of it."""
        what, k = f"the value '{said.function.name}' of a loop", self.claimed.iteration
        position = next((i for i, own in enumerate(self.own) if own == said.function), None)
        if position is None or said.iteration is not k or said.context != self.around:
            raise Misread(f"{what} is none that the loop carries")
        (now,) = terms_of(self._at(position, k))
        stand_in = self._application(position, k)
        plain = said.at(stand_in)
        if said.lanes != lanes(shape(self.carried[position])):
            raise Misread(f"{what} has other lanes")
        self.ev.speaks_of((said.init, said.next, said.entered, said.handed_on), what)
        self.ev.compare.same(and_(self.path, ne(k, ZERO)), now, plain, what)
        self.ev.compare.follows(self.path, said.entered, f"{what} begins elsewhere")
        (init,) = terms_of(self.inits[position])
        self.ev.compare.same(self.path, init, said.init, f"{what} at first")
        for way in ways:
            self.ev.compare.follows(way.path, said.handed_on, f"{what} is handed on elsewhere")
            (value,) = terms_of(way.values[position])
            self.ev.compare.same(way.path, value, said.next, f"{what} later")

    # --------------------------------------------------------------------------------------------------- behind
    def behind(self, trips: Term, ways: Sequence[LoopExit]) -> tuple[Value, ...]:
        """The carried values behind ``trips`` iterations; of tokens, what is claimed of them there."""
        results = list(self.at(trips))
        for i, number in self._run(trips, ways).items():
            if self._application(i, trips) not in self.ev.spoken_of:
                results[i] = number
        for i, value in enumerate(results):
            said = self.claimed.left[i] if i < len(self.claimed.left) else None
            if isinstance(value, Waiting) and said is not None:
                self.ev.speaks_of(tuple(said.values()), self._what(i))
                must_await(self.ev, self.path, value, said, f"{self._what(i)} behind the loop")
                results[i] = Waiting(said)
        return tuple(results)

    def _run(self, trips: Term, ways: Sequence[LoopExit]) -> dict[int, Term]:
        """Numbers without a closed form behind a few iterations: what these make of the initial ones, one by one."""
        if trips.kind is not TermKind.CONST or not 0 < trips.value <= _MOST_RUNS or not ways:
            return {}
        k = self.claimed.iteration
        now = {i: init for i, init in enumerate(self.inits) if isinstance(init, Term) and self.own[i] is not None}
        handed = {i: terms_of(either_way(ways, i))[0] for i in now}
        for t in range(trips.value):
            time = {k: const(t)}
            known = {substitute(self._application(i, k), time): self._stood_for(i, now[i]) for i in now}
            now = {i: substitute(substitute(handed[i], time), known) for i in now}
        return now

    def _stood_for(self, i: int, value: Term) -> Term:
        """What the function at position i is, where the carried number is ``value``."""
        stand_in = self._application(i, self.claimed.iteration)
        for _, leaf in _leaves(terms_of(self._at(i, self.claimed.iteration))[0], TRUE):
            if stand_in in leaf.free:
                modulus, rest = _linear_in(leaf, stand_in, self._what(i))
                return floordiv(sub(value, const(rest)), const(modulus)) if modulus else value
        return value

    def _what(self, i: int) -> str:
        return f"value {i} of the loop at byte {self.op.offset}"


def either_way(ways: Sequence[LoopExit], position: int) -> Value:
    """The operand of whichever way is taken."""
    chosen = ways[-1].values[position]
    for way in reversed(ways[:-1]):
        chosen = either_value(way.since, way.values[position], chosen)
    return chosen


def terms_of(value: Value) -> list[Term]:
    match value:
        case Term():
            return [value]
        case Address(_, offset):
            return [offset]
        case Waiting(awaits):
            return list(awaits.values())
    return []


def _leaves(term: Term, path: Term) -> Iterator[tuple[Term, Term]]:
    """The cases of a choice, with their conditions."""
    known = assuming(term, literals(path))
    if known.kind is not TermKind.ITE:
        yield TRUE, known
        return
    test, *sides = known.args
    for condition, side in zip((test, not_(test)), sides, strict=True):
        for inner, leaf in _leaves(side, and_(path, condition)):
            yield and_(condition, inner), leaf


def _linear_in(leaf: Term, stand_in: Term, what: str) -> tuple[int, int]:
    """``leaf`` as (factor, constant) of ``factor * stand_in + constant``; factor 0: it is a condition."""
    if leaf is stand_in:
        return 0 if leaf.sort is Sort.BOOL else 1, 0
    constant, summands = linear_parts(leaf)
    if leaf.sort is Sort.BOOL or len(summands) != 1 or summands[0][1] is not stand_in or summands[0][0] < 1:
        raise NotFollowed(f"{what}: a form of its own")
    return summands[0][0], constant


def _must_be_alike(terms: Sequence[Term], besides: Sequence[Term], what: str) -> None:
    """All blocks get one value in one iteration: everything that it is made of is the launch's."""
    for term in terms:
        for part in term.free:
            scope = part.symbol.scope if part.kind is TermKind.VAR else part.function.scope
            if scope not in (Scope.LAUNCH, Scope.LANE) and part not in besides:
                raise Misread(f"{what} is said to be the same in all blocks")
