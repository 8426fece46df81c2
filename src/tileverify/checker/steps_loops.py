"""Steps: branches and loops.

Of a loop is claimed what its carried values are when iteration t begins, for every t.  That is checked by induction:
the claim at 0 is the initial value, and an iteration k that begins with the claim at k hands on the claim at k + 1.
Behind the loop the values are the claim at the number of iterations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from ..contract.terms import (
    FALSE,
    ONE,
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
    const,
    implies,
    ite,
    le,
    lt,
    maximum,
    mul,
    not_,
    or_,
    sub,
    substitute,
    var,
)
from ..contract.terms.launch_wide import scope_of
from ..contract.variables import BID, GRID
from ..frontend.bytecode.model import Op
from ..frontend.bytecode.traverse import walk
from ..frontend.symbolic.summary import Loop, LoopForm, earlier
from ..results.codes import TV
from .checked_values import Address, Misread, NotFollowed, Value, Waiting
from .evaluator import Evaluator, Step, WayOut, shape, width
from .induction import CarriedClaims, either_way, terms_of
from .steps_integers import read, stored
from .steps_tiles import either_value


def block_id(ev: Evaluator, op: Op) -> tuple[Term, ...]:
    return BID


def grid(ev: Evaluator, op: Op) -> tuple[Term, ...]:
    return GRID


# ----------------------------------------------------------------------------------------------------- branches
def branch(ev: Evaluator, op: Op) -> tuple[Value, ...]:
    condition = ev.term(op.value("c"))
    blocks = [region.blocks[0] if region.blocks else None for region in op.regions]
    (live, values), (other_live, others) = (
        ev.side(taken, block) for taken, block in zip((condition, not_(condition)), blocks, strict=True)
    )
    ev.narrow(ite(condition, live, other_live))
    if values is None or others is None or live is FALSE or other_live is FALSE:
        return others or () if values is None or live is FALSE else values
    return tuple(either_value(condition, a, b) for a, b in zip(values, others, strict=True))


def give(ev: Evaluator, op: Op) -> tuple[Value, ...]:
    return tuple(ev.value(value) for value in op.group("args"))


def go_on(ev: Evaluator, op: Op) -> None:
    ev.ways.on.append(WayOut(ev.inside, ev.path, give(ev, op)))
    ev.stop()


def break_off(ev: Evaluator, op: Op) -> None:
    ev.ways.out.append(WayOut(ev.inside, ev.path, give(ev, op)))
    ev.stop()


def leave(ev: Evaluator, op: Op) -> None:
    ev.stop()


def check(ev: Evaluator, op: Op) -> tuple[Value, ...]:
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
def for_loop(ev: Evaluator, op: Op) -> tuple[Value, ...]:
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
    with ev.iteration(Loop(f"loop{number}", k, None, value), and_(positive, lt(value, upper))) as ways:
        ev.env[induction] = stored(ev, value, width(induction))
        ev.env.update(zip(carried, form.at(k), strict=True))
        ev.run(op.regions[0].blocks[0])
        form.check_step(ways.on)
    _check_loop_values(ev, form, ways.on)
    if step.kind is TermKind.CONST and step.value > 0:
        trips = maximum(ZERO, ceildiv(sub(upper, lower), step))
    else:
        trips = _number_of_trips(ev, number, (lower, upper, step))
    inside = frozenset(each.offset for each in walk(op.regions[0].blocks[0]))
    ev.facts.append((inside, form.same_around, lt(earlier(k), trips)))
    return form.behind(trips, ways.on)


def _check_counter(ev: Evaluator, op: Op, k: Term, number: int) -> None:
    same = k.kind is TermKind.VAR and k.symbol.name == f"k{number}" and k.symbol.scope is Scope.ITERATION
    if not same or k.symbol.low != 0 or k.symbol.sort is not Sort.INT:
        raise Misread("iterations of a loop are not numbered from 0")
    time = ev.form(op).time
    if time is not var(f"t{number}", Scope.ITERATION, 0):
        raise Misread("the time of a loop is said to be bounded")


def _check_loop_values(ev: Evaluator, form: CarriedClaims, ways: Sequence[WayOut]) -> None:
    for said in ev.claims.loop_values:
        if said.function in form.own:
            ev.done_values.add(said.function)
            form.check_loop_value(said, ways)


def _number_of_trips(ev: Evaluator, number: int, bounds: tuple[Term, Term, Term]) -> Term:
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


def _most_trips(ev: Evaluator, number: int, bounds: tuple[Term, Term, Term], said: int | None) -> int | None:
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


def endless_loop(ev: Evaluator, op: Op) -> tuple[Value, ...]:
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
    ev.speaks_of((claimed.reached,), "what holds in every iteration of a loop")
    ev.compare.follows(
        ev.path, substitute(claimed.reached, {k: ZERO}), "what holds in every iteration does not at first"
    )
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


def _chosen_number(ev: Evaluator, number: int, claimed: LoopForm, form: CarriedClaims) -> Term | None:
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


def check_handed_on(ev: Evaluator, path: Term, reached: Term, k: Term, chosen: Term | None) -> None:
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
