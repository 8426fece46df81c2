"""Loops at their edges: no iteration, one, unsigned bounds, breaks, and what is known behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tileverify.contract.launch import ConcreteArray, ConcreteLaunch, EntryParameter, Role
from tileverify.contract.terms import (
    TRUE,
    ZERO,
    Scope,
    Term,
    TermKind,
    add,
    ceildiv,
    const,
    eq,
    lt,
    maximum,
    scale,
    sub,
    var,
    wrap,
)
from tileverify.frontend.bytecode import decode, encode
from tileverify.frontend.bytecode.builder import I1, I32, I64, BodyBuilder, ModuleBuilder, RegionBuilder, pointer, tile
from tileverify.frontend.bytecode.model import Module, Value
from tileverify.frontend.symbolic.execute import summarize
from tileverify.frontend.symbolic.summary import OriginKind, PointerFootprint, Site, earlier

from ...tiles import Parts
from .agreement import Outcome, compare

N = var("n", Scope.LAUNCH, -(2**31), 2**31 - 1)
PARAMETERS = (EntryParameter(Role.POINTER, "a"), EntryParameter(Role.POINTER, "b"), EntryParameter(Role.SCALAR, "n"))


class Program:
    """An entry over two i32 arrays and a number ``n``."""

    def __init__(self, f: BodyBuilder) -> None:
        self.f = f
        self.a, self.b, self.n = f.parameters

    def number(self, value: int) -> Value:
        return self.f.constant(tile(I32), value)

    def store(self, place: Value, token: Value | None = None, array: Value | None = None) -> Value:
        wide = self.f.op("exti", s=place, results=[tile(I64)], sgn="signed")
        target = self.f.op("offset", ptr=self.a if array is None else array, off=wide)
        more: Parts = {"token": token} if token else {}
        made: Value = self.f.op("store_ptr_tko", ptr=target, val=place, **more)
        return made

    @contextmanager
    def count(self, lower: int, upper: Value, step: int, *inits: Value, **flags: bool) -> Iterator[RegionBuilder]:
        with self.f.for_(self.number(lower), upper, self.number(step), inits, **flags) as body:
            yield body


def module(write: Callable[[Program], None]) -> Module:
    builder = ModuleBuilder((13, 4))
    with builder.entry("k", [tile(pointer(I32)), tile(pointer(I32)), tile(I32)]) as f:
        write(Program(f))
        f.op("return")
    return decode(encode(builder.build()))


def sites(made: Module) -> tuple[Site, ...]:
    return summarize(made, made.entries[0], PARAMETERS).sites


def place(site: Site) -> Term:
    assert isinstance(site.footprint, PointerFootprint)
    return site.footprint.offset


def agree(made: Module, n: int) -> Outcome:
    arrays = {name: ConcreteArray("i32", (512,), (1,)) for name in "ab"}
    outcome = compare(made, made.entries[0], PARAMETERS, ConcreteLaunch((1, 1, 1), arrays, {"n": n}))
    assert outcome.blocks == 1
    assert not outcome.not_compared
    return outcome


def stepped(p: Program) -> None:
    with p.count(3, p.n, 4, p.number(7)) as body:
        _, v = body.arguments
        p.f.op("continue", args=[p.f.op("addi", lhs=v, rhs=p.number(5))])
    p.store(body.results[0])


@pytest.mark.parametrize("n", [-9, 0, 3, 4, 7, 8, 40])
def test_a_stepped_value_behind_a_loop_that_may_not_run(n: int) -> None:
    made = module(stepped)
    trips = maximum(ZERO, ceildiv(sub(N, const(3)), const(4)))
    assert place(sites(made)[0]) is scale(4, wrap(32, add(const(7), scale(5, trips))))
    assert agree(made, n).accesses == 1


def unsigned(p: Program) -> None:
    with p.count(0, p.n, 1, unsigned=True) as body:
        p.store(body.arguments[0])
        p.f.op("continue")


@pytest.mark.parametrize("n", [0, 1, 5])
def test_unsigned_bounds(n: int) -> None:
    made = module(unsigned)
    (site,) = sites(made)
    assert site.guard.kind is TermKind.LT
    assert site.guard.args[1] is not N
    assert agree(made, n).accesses == n


def one_trip(p: Program) -> None:
    """How a `switch` is lowered: a loop that always breaks."""
    token = p.f.op("make_token")
    with p.f.loop([p.n, token]) as body:
        v, t = body.arguments
        with p.f.if_(p.f.op("cmpi", lhs=v, rhs=p.number(4), pred="less_than", sgn="signed")) as branch, branch.then():
            p.f.op("break", args=[p.number(1), p.store(p.number(8), t)])
        p.f.op("break", args=[p.number(2), t])
    p.store(body.results[0], body.results[1])


@pytest.mark.parametrize("n", [0, 9])
def test_a_loop_that_always_breaks_has_one_iteration(n: int) -> None:
    made = module(one_trip)
    inner, last = sites(made)
    assert inner.guard is lt(N, const(4)) or eq(inner.loops[0].iteration, ZERO) in inner.guard.args
    assert [wait.site for wait in last.waits] == [0]
    assert not [part for part in place(last).free if part.kind is TermKind.APPLY]
    agree(made, n)


def last_iteration(p: Program) -> None:
    """nvcc hands only the last iteration's token on."""
    token = p.f.op("make_token")
    with p.count(0, p.n, 1, token) as body:
        k, _ = body.arguments
        p.f.op("continue", args=[p.store(k)])
    p.store(p.number(0), body.results[0])


@pytest.mark.parametrize("n", [0, 1, 4])
def test_a_token_of_the_last_iteration_only(n: int) -> None:
    made = module(last_iteration)
    store, behind = sites(made)
    k, trips = store.loops[0].iteration, maximum(ZERO, N)
    assert not store.waits
    (wait,) = behind.waits
    assert wait.condition is eq(earlier(k), sub(trips, const(1)))
    assert agree(made, n).unclaimed == 0


def swapped(p: Program) -> None:
    """Two tokens that change places, as for a double buffer: each awaits every other iteration."""
    token = p.f.op("make_token")
    with p.count(0, p.number(6), 1, token, token) as body:
        k, ping, pong = body.arguments
        p.f.op("continue", args=[pong, p.store(k, ping)])
    p.store(p.number(9), body.results[0])


def test_swapped_tokens_claim_nothing_false() -> None:
    agree(module(swapped), 0)


def selected_pointer(p: Program) -> None:
    """A pointer that moves from one array to the other has no known origin."""
    with p.count(0, p.n, 1, p.a) as body:
        k, pointer_now = body.arguments
        p.f.op("store_ptr_tko", ptr=pointer_now, val=k)
        p.f.op("continue", args=[p.b])


def test_a_carried_pointer_to_two_arrays_is_of_unknown_origin() -> None:
    (site,) = sites(module(selected_pointer))
    assert site.origin.kind is OriginKind.UNKNOWN
    assert not summarize(module(selected_pointer), module(selected_pointer).entries[0], PARAMETERS).stable_arrays


def moving_pointer(p: Program) -> None:
    with p.count(0, p.n, 1, p.a) as body:
        k, now = body.arguments
        p.f.op("store_ptr_tko", ptr=now, val=k)
        p.f.op("continue", args=[p.f.op("offset", ptr=now, off=p.number(3))])


def test_a_carried_pointer_moves_in_steps() -> None:
    made = module(moving_pointer)
    (site,) = sites(made)
    assert place(site) is scale(12, site.loops[0].iteration)
    assert agree(made, 5).accesses == 5


def wandering_pointer(p: Program) -> None:
    """A pointer that moves by what is loaded: its way may lead through addresses that do not exist."""
    with p.count(0, p.n, 1, p.a) as body:
        _, now = body.arguments
        value, _ = p.f.op("load_ptr_tko", ptr=now)
        p.f.op("continue", args=[p.f.op("offset", ptr=now, off=value)])


def test_a_pointer_that_moves_by_data_is_given_up() -> None:
    (site,) = sites(module(wandering_pointer))
    assert site.origin.kind is OriginKind.UNKNOWN


def tile_carried(p: Program) -> None:
    f = p.f
    start = f.op("iota", results=[tile(I32, 4)])
    with p.count(0, p.n, 1, start) as body:
        _, lanes = body.arguments
        wide = f.op("exti", s=lanes, results=[tile(I64, 4)], sgn="signed")
        base = f.op(
            "broadcast", s=f.op("reshape", s=p.a, results=[tile(pointer(I32), 1)]), results=[tile(pointer(I32), 4)]
        )
        f.op("store_ptr_tko", ptr=f.op("offset", ptr=base, off=wide), val=lanes)
        turned = f.op("reshape", s=f.op("reshape", s=lanes, results=[tile(I32, 2, 2)]), results=[tile(I32, 4)])
        f.op("continue", args=[f.op("addi", lhs=turned, rhs=f.constant(tile(I32, 4), 4))])


def test_a_carried_tile_is_stepped_lane_by_lane() -> None:
    made = module(tile_carried)
    (site,) = sites(made)
    lane = site.lanes[0].variable
    assert place(site) is scale(4, wrap(32, add(lane, scale(4, site.loops[0].iteration))))
    assert agree(made, 3).accesses == 3


def transposed_tile(p: Program) -> None:
    """Elements change places in every iteration: no step of one lane."""
    f = p.f
    start = f.op("reshape", s=f.op("iota", results=[tile(I32, 4)]), results=[tile(I32, 2, 2)])
    with p.count(0, p.number(3), 1, start) as body:
        _, now = body.arguments
        f.op("continue", args=[f.op("permute", s=now, perm=(1, 0), results=[tile(I32, 2, 2)])])
    flat = f.op("reshape", s=body.results[0], results=[tile(I32, 4)])
    one = f.op("extract", s=flat, index=[p.number(1)], results=[tile(I32, 1)])
    p.store(f.op("reshape", s=one, results=[tile(I32)]))


def test_a_tile_whose_lanes_move_is_run_out() -> None:
    made = module(transposed_tile)
    assert place(sites(made)[0]) is const(8)
    agree(made, 0)


def nothing_carried(p: Program) -> None:
    with p.count(0, p.n, 1) as body:
        second = p.f.op("cmpi", lhs=body.arguments[0], rhs=p.number(2), pred="equal", sgn="signed")
        with p.f.if_(second) as branch, branch.then():
            p.f.op("continue")
        p.store(body.arguments[0])
        p.f.op("continue")


@pytest.mark.parametrize("n", [0, 2, 5])
def test_a_skipped_iteration(n: int) -> None:
    made = module(nothing_carried)
    assert agree(made, n).accesses == n - (n > 2)


def test_the_step_must_be_positive() -> None:
    def write(p: Program) -> None:
        with p.f.for_(p.number(0), p.number(8), p.n) as body:
            p.store(body.arguments[0])
            p.f.op("continue")

    made = module(write)
    summary = summarize(made, made.entries[0], PARAMETERS)
    (promise,) = [promise for promise in summary.promises if "step" in promise.text]
    assert (promise.code, promise.condition, promise.guard) == ("TV402", lt(ZERO, N), TRUE)
    assert agree(made, 3).accesses == 3


def test_a_flag_of_i1_is_carried() -> None:
    def write(p: Program) -> None:
        with p.count(0, p.n, 1, p.f.constant(tile(I1), 0)) as body:
            k, done = body.arguments
            with p.f.if_(done) as branch, branch.then():
                p.f.op("continue", args=[done])
            p.store(k)
            p.f.op("continue", args=[p.f.op("cmpi", lhs=k, rhs=p.number(2), pred="equal", sgn="signed")])

    (site,) = sites(module(write))
    assert site.guard.kind is TermKind.AND
