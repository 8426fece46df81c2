"""Rules for ``for`` and ``loop``: one generic iteration, numbered from 0.

A body runs twice.  The *first pass* runs it on placeholders for the carried values and records nothing; what it hands
to the next iteration gives closed forms (`recurrences`, `tokens`).  Then the body runs on those forms.  Behind the loop
the carried values are the forms at the trip count, or at the iteration that broke off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from ...contract.terms import (
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
    ceildiv,
    conjuncts,
    eq,
    implies,
    le,
    linear_parts,
    lt,
    maximum,
    mul,
    not_,
    or_,
    postorder,
    product,
    scale,
    simplified,
    sub,
    substitute,
    transform,
    var,
)
from ...contract.terms.launch_wide import OWN, Opaque, scope_of
from ...results.codes import TV
from ..bytecode.model import Block, Op, TileType, Value
from .integers import fits, from_number, number, zero_extended
from .machine import Exit, Exits, Rule, SymbolicExecutor, element_bits
from .pointers import near
from .recurrences import Recurrence, Recurrences, placeholder
from .summary import Loop, LoopForm, LoopValue, Origin
from .tokens import Carried, CarriedLoop, CarriedTokens, Token, left_by_break, previous_to, weaken
from .values import Pointer, SymbolicValue, choose, lane_terms, mentions_lanes, unknown_origin

_NARROWINGS: Final = 2
"""How often a `loop` gets another first pass with better known ranges of its carried values."""


# ------------------------------------------------------------------------------------------ carried values
@dataclass(frozen=True, slots=True)
class Slot:
    """One carried value: its position, initial value, and (for numbers) the interval it is known to stay in."""

    index: int
    value: Value
    init: SymbolicValue
    low: int | None = None
    high: int | None = None
    lost: bool = False  # a pointer that changes its origin

    @property
    def lanes(self) -> tuple[Term, ...]:
        assert isinstance(self.value.type, TileType)
        return lane_terms(self.value.type.shape)


@dataclass(frozen=True, slots=True)
class Solution:
    """Closed forms of all carried values of a loop, and the first pass they came from."""

    slots: tuple[Slot, ...]
    numbers: Recurrences
    positions: dict[int, int]  # slot -> place in `numbers`
    tokens: CarriedTokens
    token_positions: dict[int, int]
    exits: Exits

    def at(self, time: Term, tokens: Sequence[Token]) -> tuple[SymbolicValue, ...]:
        """The carried values at ``time``."""
        numbers = self.numbers.at(time)
        values: list[SymbolicValue] = []
        for slot in self.slots:
            if slot.index in self.token_positions:
                values.append(tokens[self.token_positions[slot.index]])
            elif slot.index not in self.positions:
                values.append(OWN)
            elif isinstance(slot.init, Pointer):
                values.append(Pointer(_origin(slot), numbers[self.positions[slot.index]]))
            else:
                values.append(numbers[self.positions[slot.index]])
        return tuple(values)

    def resolve(self, value: SymbolicValue) -> SymbolicValue:
        """A value of the first pass, of iteration k, in closed form."""
        match value:
            case Token():
                return self.tokens.settle(value.map(self.numbers.resolve))
            case Pointer(origin, offset):
                return Pointer(origin, self.numbers.resolve(offset))
            case Term():
                return self.numbers.resolve(value)
            case _:
                return value


def _origin(slot: Slot) -> Origin:
    assert isinstance(slot.init, Pointer)
    return unknown_origin(slot.init.origin.element_bytes) if slot.lost else slot.init.origin


def _slots(m: SymbolicExecutor, arguments: Sequence[Value], inits: Sequence[Value]) -> list[Slot]:
    slots = []
    for index, (argument, init) in enumerate(zip(arguments, inits, strict=True)):
        content = m.value(init)
        low = high = None
        if isinstance(content, Term) and content.sort is Sort.INT:
            half = 1 << (element_bits(argument) - 1)
            low, high = -half, half - 1
        slots.append(Slot(index, argument, content, low, high))
    return slots


def _stand_in(loop: str, slot: Slot, number: int) -> SymbolicValue:
    """What a carried value is during the first pass."""
    match slot.init:
        case Token():
            return Token({Carried(number, slot.index): TRUE})
        case Opaque():
            return OWN
        case Pointer():
            return Pointer(_origin(slot), placeholder(f"{loop}.{slot.index}", Sort.INT, None, None, slot.lanes))
        case Term() as term:
            return placeholder(f"{loop}.{slot.index}", term.sort, slot.low, slot.high, slot.lanes)
    raise AssertionError(f"loop carries a {type(slot.init).__name__}")


class Body:
    """The body of one loop in its context."""

    def __init__(
        self, m: SymbolicExecutor, op: Op, loop: Loop, bind: Callable[[], None], carried: Sequence[Value]
    ) -> None:
        self.m, self.op, self.loop, self.bind = m, op, loop, bind
        self.number = m.numbering.loop[op]
        self.carried = carried

    @property
    def block(self) -> Block:
        return self.op.regions[0].blocks[0]

    def run(self, values: Sequence[SymbolicValue], guard: Term, slots: Sequence[Slot] = ()) -> Exits:
        """One iteration on the given carried values, which stay in the ranges of their ``slots``."""
        ranges = [
            (value, slot.low, slot.high) for slot, value in zip(slots, values, strict=False) if isinstance(value, Term)
        ]
        with self.m.iteration(self.loop, guard, ranges) as exits:
            self.bind()
            self.m.env.update(zip(self.carried, values, strict=True))
            open_values = self.m.open_values if self.m.recording else None
            if open_values is not None:
                open_values.enter(self.op, self.carried)
            self.m.run(self.block)
            if open_values is not None:
                open_values.leave(self.loop.iteration, guard)
        return exits

    def solve(self, inits: Sequence[Value], guard: Term, narrowings: int) -> Solution:
        """Rehearse until origins and ranges are settled, then find closed forms."""
        slots = _slots(self.m, self.carried, inits)
        while True:
            with self.m.first_pass():
                stand_ins = [_stand_in(self.loop.name, slot, self.number) for slot in slots]
                exits = self.run(stand_ins, guard)
            lost = self._lost(slots, stand_ins, exits)
            narrower = self._narrowed(slots, exits) if narrowings and not lost else slots
            if not lost and narrower == slots:
                solution = self._solution(slots, stand_ins, exits)
                lost = {
                    slot.index
                    for slot in slots
                    if isinstance(slot.init, Pointer) and not slot.lost
                    if solution.numbers.is_unknown(solution.positions[slot.index])
                }
                if not lost:
                    return solution
            if lost:
                slots = [replace(slot, lost=True) if slot.index in lost else slot for slot in slots]
            else:
                slots, narrowings = narrower, narrowings - 1

    def keep_loop_values(self, solution: Solution, guard: Term) -> None:
        """Note what has no closed form; an iteration runs where ``guard`` holds."""
        goes_on = or_(*(solution.numbers.resolve(exit.condition) for exit in solution.exits.continues))
        for item, function, invariant in solution.numbers.fresh:
            if solution.numbers.is_plainly(item, function):
                self.m.loop_values.append(
                    LoopValue(
                        function=function,
                        modulus=invariant.modulus,
                        rest=invariant.rest,
                        context=item.context,
                        iteration=self.loop.iteration,
                        lanes=item.lanes,
                        init=item.init,
                        next=solution.numbers.resolve(item.next),
                        entered=self.m.path,
                        handed_on=and_(self.m.path, guard, goes_on),
                    )
                )

    def _lost(self, slots: Sequence[Slot], stand_ins: Sequence[SymbolicValue], exits: Exits) -> set[int]:
        """Pointers that some iteration hands on with another origin, or moved from a place that may be far away."""
        lost = set()
        for slot, now in zip(slots, stand_ins, strict=True):
            if isinstance(slot.init, Pointer) and not slot.lost:
                handed_on = [exit.values[slot.index] for exit in exits.continues]
                moved = any(value != now for value in handed_on)
                same = all(isinstance(value, Pointer) and value.origin == slot.init.origin for value in handed_on)
                if not same or (moved and not near(slot.init.offset)):
                    lost.add(slot.index)
        return lost

    def _narrowed(self, slots: list[Slot], exits: Exits) -> list[Slot]:
        """Better ranges: every value is an initial one or was handed on by a ``continue``.

        The ranges of this first pass hold, so what it shows about the values it hands on holds as well (induction over
        the iterations).
        """
        result = []
        for slot in slots:
            if isinstance(slot.init, Term) and slot.init.sort is Sort.INT:
                intervals = [self.m.bounds.interval(slot.init)]
                for exit in exits.continues:
                    value = exit.values[slot.index]
                    assert isinstance(value, Term)
                    intervals.append(exit.bounds.interval(value))
                lows = [low for low, _ in intervals if low is not None]
                highs = [high for _, high in intervals if high is not None]
                assert slot.low is not None
                assert slot.high is not None
                low = max(slot.low, min(lows)) if len(lows) == len(intervals) else slot.low
                high = min(slot.high, max(highs)) if len(highs) == len(intervals) else slot.high
                slot = replace(slot, low=low, high=high)
            result.append(slot)
        return result

    def _solution(self, slots: list[Slot], stand_ins: Sequence[SymbolicValue], exits: Exits) -> Solution:
        # A loop without `continue` has one iteration; what it would hand on does not matter.
        nexts = merge(exits.continues) if exits.continues else tuple(stand_ins)
        items: list[Recurrence] = []
        positions: dict[int, int] = {}
        token_positions: dict[int, int] = {}
        for slot, now, after in zip(slots, stand_ins, nexts, strict=True):
            if isinstance(slot.init, Token):
                token_positions[slot.index] = len(token_positions)
            elif not isinstance(slot.init, Opaque):
                positions[slot.index] = len(items)
                items.append(self._recurrence(slot, now, after))
        numbers = Recurrences(self.loop.iteration, items)
        tokens = CarriedTokens(
            CarriedLoop(
                number=self.number,
                iteration=self.loop.iteration,
                positions=tuple(token_positions),
                inside=self.m.numbering.within[self.op],
                outer=self.m.iterations,
            ),
            [slot.init for slot in slots if isinstance(slot.init, Token)],
            [value.map(numbers.resolve) for value in nexts if isinstance(value, Token)],
        )
        return Solution(tuple(slots), numbers, positions, tokens, token_positions, exits)

    def _recurrence(self, slot: Slot, now: SymbolicValue, after: SymbolicValue) -> Recurrence:
        if isinstance(slot.init, Pointer):
            assert isinstance(now, Pointer)
            assert isinstance(after, Pointer)
            parts = now.offset, slot.init.offset, after.offset
        else:
            assert isinstance(slot.init, Term)
            assert isinstance(now, Term)
            assert isinstance(after, Term)
            parts = now, slot.init, after
        return Recurrence(*parts, slot.lanes, self.m.iterations, partial(self.m.symbol, self.op))


def merge(exits: Sequence[Exit]) -> tuple[SymbolicValue, ...]:
    """The operands of whichever exit is taken; exactly one condition holds."""
    merged = exits[-1].values
    for exit in reversed(exits[:-1]):
        merged = tuple(choose(exit.condition, a, b) for a, b in zip(exit.values, merged, strict=True))
    return merged


# ------------------------------------------------------------------------------------------------- for
def for_loop(m: SymbolicExecutor, op: Op) -> tuple[SymbolicValue, ...]:
    """Iterations ``lower, lower + step, ...`` below ``upper``; the step must be positive (TV402)."""
    lower, upper, step = (_bound(m, op, name) for name in ("lower", "upper", "step"))
    positive = lt(ZERO, step)
    m.promise(op, TV.ARITHMETIC_UNDEFINED, positive, "step of the loop is positive")
    k = _counter(m, op, _most_trips(m, lower, upper, step))
    value = add(lower, mul(k, step))
    guard = and_(positive, lt(value, upper))
    induction, *carried = op.regions[0].blocks[0].arguments
    loop = Loop(f"loop{m.numbering.loop[op]}", k, op.location, value)

    def bind() -> None:
        m.env[induction] = from_number(m, value, element_bits(induction))

    body = Body(m, op, loop, bind, carried)
    inits = op.group("inits")
    if not all(isinstance(m.value(init), Opaque) for init in inits):
        solution = body.solve(inits, guard, narrowings=0)
        first, later = _completed(m, solution)

        def reached(time: Term) -> Term:
            if first is later is TRUE:
                return TRUE
            return weaken(eq(time, ZERO), and_(first, substitute(later, {k: previous_to(time)})))

        body.loop = replace(loop, reached=reached(k))
        if m.recording:
            body.keep_loop_values(solution, guard)
            body.run(solution.at(k, solution.tokens.at(k)), and_(guard, reached(k)), solution.slots)
        trips, definition = _trips(m, op, lower, upper, step)
        results = solution.at(trips, solution.tokens.left_by_exhaustion(trips))
        note_form(m, body, solution, left=results)
        m.narrow(reached(trips))
        if any(trips in part.free for result in results for part in _terms(result)):
            m.narrow(definition)
        return results
    if m.recording:
        note_form(m, body)
        body.run([OWN] * len(carried), guard)
    return (OWN,) * len(carried)


def _completed(m: SymbolicExecutor, solution: Solution) -> tuple[Term, Term]:
    """What an iteration that ended has found where blocks synchronise: the first, and iteration k.

    Other conditions are left out, and of the first what every iteration finds.
    """
    ended = simplified(or_(*(solution.numbers.resolve(exit.condition) for exit in solution.exits.continues)))
    first, later = [], []
    for part in conjuncts(ended):
        if any(map(m.is_of_atomic, part.free)):
            again = substitute(part, {solution.numbers.k: ONE})
            if any(map(m.is_of_atomic, again.free)):
                later.append(part)
            else:
                first.append(substitute(part, {solution.numbers.k: ZERO}))
    return and_(*first), and_(*later)


def _bound(m: SymbolicExecutor, op: Op, name: str) -> Term:
    operand = op.value(name)
    term = m.term(operand)
    bits = element_bits(operand)
    return zero_extended(m, term, bits) if "unsignedCmp" in op.flags else number(term, bits)


def _most_trips(m: SymbolicExecutor, lower: Term, upper: Term, step: Term) -> int | None:
    """An upper bound on the number of iterations that every launch respects."""
    least, most = m.bounds.interval(lower)[0], m.bounds.interval(upper)[1]
    if least is None or most is None:
        return None
    return max(-(-(most - least) // max(m.bounds.interval(step)[0] or 1, 1)), 0)


def _counter(m: SymbolicExecutor, op: Op, trips: int | None) -> Term:
    """The iteration variable.  A body may run more than once with different knowledge: the first, weakest range stays.

    The range has at least two values, so that the variable is one even where the loop runs once.
    """
    if op not in m.counters:
        high = None if trips is None else max(trips - 1, 1)
        name = f"k{m.numbering.loop[op]}"
        m.counters[op] = var(name, Scope.ITERATION, 0, high)
        m.describe(name, op, "iteration of the loop")
    return m.counters[op]


def _trips(m: SymbolicExecutor, op: Op, lower: Term, upper: Term, step: Term) -> tuple[Term, Term]:
    """The number of iterations, and the condition that defines it where it has no term of its own."""
    if step.kind is TermKind.CONST and step.value > 0:
        return maximum(ZERO, ceildiv(sub(upper, lower), step)), TRUE
    most = _most_trips(m, lower, upper, step)
    function = m.symbol(op, Function(f"trips{m.numbering.loop[op]}", scope_of(lower, upper, step), 0, most))
    trips = apply(function, *m.iterations)
    definition = and_(
        le(upper, add(lower, mul(trips, step))),
        implies(lt(ZERO, trips), lt(add(lower, mul(previous_to(trips), step)), upper)),
    )
    return trips, definition


def _terms(value: SymbolicValue) -> list[Term]:
    match value:
        case Token():
            return list(value.awaits.values())
        case Pointer():
            return [value.offset]
        case Term():
            return [value]
        case _:
            return []


# ------------------------------------------------------------------------------------------------ loop
def endless_loop(m: SymbolicExecutor, op: Op) -> tuple[SymbolicValue, ...]:
    """Iterations until a ``break``.

    Iteration ``k > 0`` runs only if all before it continued; of these the guard names the first and the last, which
    may let through iterations that never run, but leaves none out.  Behind the loop, ``last`` is the number of the
    iteration that broke off: a value of the block (for each iteration of the loops around).
    """
    k = _counter(m, op, None)
    loop = Loop(f"loop{m.numbering.loop[op]}", k, op.location)
    body = Body(m, op, loop, lambda: None, op.regions[0].blocks[0].arguments)
    solution = body.solve(op.group("inits"), TRUE, _NARROWINGS)
    exits = Exits(
        [_resolved(exit, solution) for exit in solution.exits.continues],
        [_resolved(exit, solution) for exit in solution.exits.breaks],
    )
    continued = or_(*(exit.condition for exit in exits.continues))
    first = substitute(continued, {k: ZERO})
    exact = [
        partial(counter.exact, apply(_overflow_symbol(m, op, number), *m.iterations), continued)
        for number, counter in enumerate(counters(continued, k))
    ]

    def reached(time: Term) -> Term:
        went_on = substitute(continued, {k: previous_to(time)})
        return weaken(eq(time, ZERO), and_(first, went_on, *(holds(time) for holds in exact)))

    broken_off = None if first is FALSE else m.symbol(op, Function(f"last{m.numbering.loop[op]}", Scope.BLOCK, 0))
    if m.recording:
        body.keep_loop_values(solution, reached(k))
        body.loop = replace(loop, reached=reached(k), last=broken_off)
        note_form(m, body, solution)
        exits = body.run(solution.at(k, solution.tokens.at(k)), reached(k), solution.slots)
    if not exits.breaks:
        m.stop()
        return ()
    last = ZERO if broken_off is None else apply(broken_off, *m.iterations)
    broke = or_(*(exit.condition for exit in exits.breaks))
    m.narrow(and_(reached(last), substitute(broke, {k: last})))
    return tuple(_left(value, solution.tokens.loop, last) for value in merge(exits.breaks))


def _overflow_symbol(m: SymbolicExecutor, op: Op, number: int) -> Function:
    return m.symbol(op, Function(f"overflow{m.numbering.loop[op]}.{number}", Scope.BLOCK, 1))


def _resolved(exit: Exit, solution: Solution) -> Exit:
    values = tuple(solution.resolve(value) for value in exit.values)
    return Exit(simplified(solution.numbers.resolve(exit.condition)), values, exit.bounds)


def _left(value: SymbolicValue, loop: CarriedLoop, last: Term) -> SymbolicValue:
    """A break operand of iteration k, seen from behind the loop."""
    if isinstance(value, Token):
        return left_by_break(value, loop, last)
    if isinstance(value, Pointer):
        return Pointer(value.origin, substitute(value.offset, {loop.iteration: last}))
    return substitute(value, {loop.iteration: last}) if isinstance(value, Term) else value


RULES: Final[dict[str, Rule]] = {"for": for_loop, "loop": endless_loop}


# -------------------------------------------------------------------------------------------------------- loop counters
# Counters of loops that end where they reach a limit: whether they can wrap on the way.
#
# ``while i < n: i += d`` has ``i(k) = wrap(i(0) + k * d)``.  That the last iteration went on says nothing of the ones
# before once the counter has wrapped, so the condition under which iteration k runs gets this beside it:
#
#     total(0) does not fit  or  total(k) fits  or  there is f <= k: total(f - 1) fits, total(f) does not,
#                                                   and the loop went on in iteration f - 1 with total(f - 1)
#
# It holds whenever iteration k runs: a total goes one way, so if total(0) fits and total(k) does not, there is a first
# f that does not.  Whoever knows that the limit lies a step inside the type can refute the third case, and so the wrap.


_NOT_WRAPPED: Final = var("the counter, not wrapped", Scope.ITERATION)


@dataclass(frozen=True, slots=True)
class LoopCounter:
    """``wrapped = wrap_N(total)``, where the total goes by ``distance`` from iteration k to the next."""

    wrapped: Term
    distance: Term
    k: Term

    def exact(self, f: Term, continued: Term, time: Term) -> Term:
        """The formula above at ``time``; ``f`` is a symbol of the block, ``continued``: iteration k went on."""
        first, now, then = (self._total(at) for at in (ZERO, time, f))
        before = sub(then, self.distance)
        went_on = transform(continued, lambda part: _NOT_WRAPPED if part is self.wrapped else None)
        went_on = substitute(went_on, {self.k: previous_to(f), _NOT_WRAPPED: before})
        overflow = and_(le(f, time), self._fits(before), not_(self._fits(then)), went_on)
        return or_(not_(self._fits(first)), self._fits(now), overflow)

    def _total(self, time: Term) -> Term:
        return substitute(self.wrapped.args[0], {self.k: time})

    def _fits(self, total: Term) -> Term:
        return fits(total, self.wrapped.payload)


def counters(condition: Term, k: Term) -> Iterator[LoopCounter]:
    """The counters that ``condition``, of iteration ``k``, looks at."""
    for part in postorder(condition):
        if part.kind is TermKind.WRAP and not mentions_lanes(part):
            summands = [(c, *_without(k, summand)) for c, summand in linear_parts(part.args[0])[1]]
            if all(k not in rest.free for _, _, rest in summands) and any(counts for _, counts, _ in summands):
                yield LoopCounter(part, add(*(scale(c, rest) for c, counts, rest in summands if counts)), k)


def _without(k: Term, summand: Term) -> tuple[bool, Term]:
    """Whether a summand is a product with k, and what k is multiplied with."""
    factors = list(summand.args) if summand.kind is TermKind.PRODUCT else [summand]
    if k not in factors:
        return False, summand
    factors.remove(k)
    return True, product(factors)


# ----------------------------------------------------------------------------------------------------------- loop forms
# What is noted of a loop for a checker: its carried values at any time, as the execution found them.


def note_form(
    m: SymbolicExecutor, body: Body, solution: Solution | None = None, left: Sequence[SymbolicValue] = ()
) -> None:
    """Note the forms of ``solution``, and what tokens of ``left`` await behind the loop; not while rehearsing."""
    if not m.recording:
        return
    offsets = {number: op.offset for op, number in m.numbering.site.items()}
    time = var(f"t{body.number}", Scope.ITERATION, 0)
    values = () if solution is None else solution.at(time, solution.tokens.at(time))
    m.loop_forms.append(
        LoopForm(
            body.op.offset,
            body.loop.iteration,
            time,
            tuple(_form(value, offsets) for value in values),
            tuple(_awaits(value, offsets) if isinstance(value, Token) else None for value in left),
            body.loop.reached,
            body.loop.last,
        )
    )


def without(form: LoopForm, dead: Set[int]) -> LoopForm:
    """``form`` without what it says of accesses that never happen."""
    if not dead:
        return form

    def living(awaits: Mapping[int, Term]) -> Mapping[int, Term]:
        return {offset: condition for offset, condition in awaits.items() if offset not in dead}

    return replace(
        form,
        carried=tuple(living(each) if isinstance(each, Mapping) else each for each in form.carried),
        left=tuple(each if each is None else living(each) for each in form.left),
    )


def _form(value: SymbolicValue, offsets: Mapping[int, int]) -> Term | tuple[Origin, Term] | Mapping[int, Term] | None:
    match value:
        case Term():
            return value
        case Pointer(origin, offset):
            return origin, offset
        case Token():
            return _awaits(value, offsets)
        case _:
            return None


def _awaits(token: Token, offsets: Mapping[int, int]) -> Mapping[int, Term]:
    return {offsets[key]: condition for key, condition in token.awaits.items() if isinstance(key, int)}
