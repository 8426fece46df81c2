"""Poison and undefined behaviour: what ends a run, what a run may go past, and what a replay makes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tileverify.backend.interpreter import BlockLog, Budget, Memory, UnspecifiedUse, bind_launch, run_block
from tileverify.backend.interpreter.values import (
    APPROXIMATE,
    INTERLEAVED,
    KEEP_GOING,
    REPLAY,
    RUN,
    UNSPECIFIED,
    Conduct,
    OpenUse,
    Tile,
    UndefinedStop,
)
from tileverify.frontend.bytecode.builder import F16, F32, I1, I8, I32, BodyBuilder, pointer, tile
from tileverify.frontend.bytecode.model import Bounded, PartitionViewType, TensorViewType, Value

from ..tiles import Parts, tile_of
from .helpers import array, hand_made, launch, pointers, run_ops

P = tile(pointer(I32))
Build = Callable[[BodyBuilder, Value], Any]


def logged(build: Build, conduct: Conduct) -> tuple[BlockLog, list[int]]:
    """One block over ``a``, eight i32 elements 0 to 7: its log, and what ``a`` holds afterwards."""
    module, entry = hand_made([P], lambda f: build(f, f.parameters[0]))
    bound = bind_launch(
        module, entry, pointers("a"), launch((1, 1, 1), a=array("i32", 8)),
        {"a": np.arange(8, dtype=np.int32).view(np.uint8)},
    )  # fmt: skip
    memory = Memory(bound.image)
    log = run_block(bound.program, bound.arguments, memory, (1, 1, 1), (0, 0, 0), Budget(1 << 24), conduct=conduct)
    return log, memory.bytes_of(0).view(np.int32).tolist()


# ------------------------------------------------------------------------------------------ made of poison
def row(f: BodyBuilder, base: Value, lanes: int = 4) -> Value:
    """Pointers to the first elements."""
    one = f.op("reshape", s=base, results=[tile(tile_of(base).element, 1)])
    wide = f.op("broadcast", s=one, results=[tile(tile_of(base).element, lanes)])
    made: Value = f.op("offset", ptr=wide, off=f.op("iota", results=[tile(I32, lanes)]))
    return made


def poisoned(f: BodyBuilder, base: Value) -> Value:
    """Four lanes of i32: 0 and 1, then two that the mask leaves out."""
    value, _ = f.op("load_ptr_tko", ptr=row(f, base), mask=f.constant(tile(I1, 4), 1, 1, 0, 0))
    made: Value = value
    return made


def poison(f: BodyBuilder, base: Value) -> Value:
    """One unspecified i32."""
    last = f.op("extract", s=poisoned(f, base), index=[f.constant(tile(I32), 3)], results=[tile(I32, 1)])
    made: Value = f.op("reshape", s=last, results=[tile(I32)])
    return made


def number(f: BodyBuilder, value: int, *shape: int) -> Value:
    return f.constant(tile(I32, *shape), value)


def less(f: BodyBuilder, value: Value, bound: int) -> Value:
    shape = tile_of(value).shape
    made: Value = f.op("cmpi", lhs=value, rhs=number(f, bound, *shape), pred="less_than", sgn="signed")
    return made


def view(f: BodyBuilder, base: Value) -> Value:
    tensor = TensorViewType(I32, (8,), (1,))
    made = f.op("make_tensor_view", base=base, shape=[], strides=[], results=[tensor])
    result: Value = f.op("make_partition_view", s=made, results=[PartitionViewType((4,), tensor, (0,), None)])
    return result


# --------------------------------------------------------------------------------- what poison may not decide
def masked_store(f: BodyBuilder, a: Value) -> None:
    f.op("store_ptr_tko", ptr=row(f, a), val=number(f, 9, 4), mask=less(f, poisoned(f, a), 5))


def masked_load(f: BodyBuilder, a: Value) -> None:
    f.op("load_ptr_tko", ptr=row(f, a), mask=less(f, poisoned(f, a), 5))


def addressed_load(f: BodyBuilder, a: Value) -> None:
    f.op("load_ptr_tko", ptr=f.op("offset", ptr=row(f, a), off=poisoned(f, a)))


def addressed_store(f: BodyBuilder, a: Value) -> None:
    f.op("store_ptr_tko", ptr=f.op("offset", ptr=a, off=poison(f, a)), val=number(f, 9))


def indexed_view(f: BodyBuilder, a: Value) -> None:
    f.op("load_view_tko", view=view(f, a), index=[poison(f, a)])


def based_view(f: BodyBuilder, a: Value) -> None:
    base = f.op("offset", ptr=a, off=poison(f, a))
    f.op("load_view_tko", view=view(f, base), index=[number(f, 0)])


def subtile(f: BodyBuilder, a: Value) -> None:
    f.op("extract", s=number(f, 1, 4), index=[poison(f, a)], results=[tile(I32, 2)])


def branch(f: BodyBuilder, a: Value) -> None:
    with f.if_(less(f, poison(f, a), 5)) as made, made.then():
        f.op("yield", args=[])


def bound_of_loop(f: BodyBuilder, a: Value) -> None:
    with f.for_(number(f, 0), poison(f, a), number(f, 1)):
        f.op("continue", args=[])


def atomic_address(f: BodyBuilder, a: Value) -> None:
    where = f.op("offset", ptr=a, off=poison(f, a))
    f.op("atomic_rmw_tko", ptr=where, arg=number(f, 1), ord="relaxed", scope="device", mode="add")


DECIDES: dict[Build, tuple[str, str, int, tuple[int, ...]]] = {
    masked_store: ("mask", "store_ptr_tko", 2, (2,)),
    masked_load: ("mask", "load_ptr_tko", 2, (2,)),
    addressed_load: ("address", "load_ptr_tko", 2, (2,)),
    addressed_store: ("address", "store_ptr_tko", 1, ()),
    indexed_view: ("index", "load_view_tko", 1, ()),
    based_view: ("index", "load_view_tko", 1, ()),
    subtile: ("index", "extract", 1, ()),
    branch: ("branch", "if", 1, ()),
    bound_of_loop: ("loop bound", "for", 1, ()),
    atomic_address: ("address", "atomic_rmw_tko", 1, ()),
}
ENDS_A_BLOCK = {subtile, branch, bound_of_loop}


@pytest.mark.parametrize("conduct", [RUN, KEEP_GOING])
@pytest.mark.parametrize("build", DECIDES, ids=lambda build: build.__name__)
def test_poison_that_decides_ends_every_run(build: Build, conduct: Conduct) -> None:
    log, after = logged(build, conduct)
    use, op, lanes, first = DECIDES[build]
    found = used(log)
    assert (found.use, found.op, found.lanes, found.first, found.element) == (use, op, lanes, first, "")
    assert found.what == "a value that the specification leaves open"
    assert found.source == masked_load_of(build)
    assert after == list(range(8))
    assert log.open_uses == []


@pytest.mark.parametrize("build", DECIDES, ids=lambda build: build.__name__)
def test_a_replay_leaves_out_what_poison_decides(build: Build) -> None:
    log, _ = logged(build, REPLAY)
    assert isinstance(log.stopped, UnspecifiedUse) == (build in ENDS_A_BLOCK)
    assert len(log.left_out) == (build not in ENDS_A_BLOCK)


def used(log: BlockLog) -> OpenUse:
    assert isinstance(log.stopped, UnspecifiedUse)
    assert log.stopped.use is not None
    return log.stopped.use


def masked_load_of(build: Build) -> int:
    """The offset of the load that all the poison comes from: the first of the block."""
    module, _ = hand_made([P], lambda f: build(f, f.parameters[0]))
    return next(op.offset for op in module.entries[0].body.ops if op.name == "load_ptr_tko")


# --------------------------------------------------------------------------------------- what is written
def store(f: BodyBuilder, a: Value) -> None:
    f.op("store_ptr_tko", ptr=row(f, f.op("offset", ptr=a, off=number(f, 4))), val=poisoned(f, a))


def view_store(f: BodyBuilder, a: Value) -> None:
    f.op("store_view_tko", tile=poisoned(f, a), view=view(f, a), index=[number(f, 1)])


def atomic(f: BodyBuilder, a: Value) -> None:
    where = row(f, f.op("offset", ptr=a, off=number(f, 4)))
    f.op("atomic_rmw_tko", ptr=where, arg=poisoned(f, a), ord="relaxed", scope="device", mode="add")


def exchanged(f: BodyBuilder, a: Value) -> None:
    where = row(f, f.op("offset", ptr=a, off=number(f, 4)))
    known = f.constant(tile(I32, 4), 4, 5, 6, 7)
    f.op("atomic_cas_tko", ptr=where, cmp=known, val=poisoned(f, a), ord="relaxed", scope="device")


@pytest.mark.parametrize("build", [store, view_store, atomic, exchanged], ids=lambda build: build.__name__)
def test_poison_must_not_be_written(build: Build) -> None:
    log, after = logged(build, RUN)
    found = used(log)
    assert (found.use, found.lanes, found.size, found.first, found.element) == ("written value", 2, 4, (2,), "a[6]")
    assert found.source == masked_load_of(build)
    assert after == list(range(8))
    went_on, _ = logged(build, KEEP_GOING)
    assert went_on.stopped is None
    assert [(each.use, each.element) for each in went_on.open_uses] == [("written value", "a[6]")]
    replayed, _ = logged(build, REPLAY)
    assert (replayed.stopped, replayed.open_uses, replayed.left_out) == (None, [], [])


def test_lanes_that_are_not_stored_may_be_poison() -> None:
    def build(f: BodyBuilder, a: Value) -> None:
        mask = f.constant(tile(I1, 4), 1, 1, 0, 0)
        f.op("store_ptr_tko", ptr=row(f, a), val=f.op("addi", lhs=poisoned(f, a), rhs=number(f, 9, 4)), mask=mask)
        f.op("store_view_tko", tile=poisoned(f, a), view=shifted(f, a), index=[number(f, 0)])

    def shifted(f: BodyBuilder, a: Value) -> Value:
        """A view whose tile has two elements inside."""
        tensor = TensorViewType(I32, (2,), (1,))
        made = f.op("make_tensor_view", base=a, shape=[], strides=[], results=[tensor])
        result: Value = f.op("make_partition_view", s=made, results=[PartitionViewType((4,), tensor, (0,), None)])
        return result

    log, after = logged(build, RUN)
    assert log.stopped is None
    assert after[2:] == [2, 3, 4, 5, 6, 7]


def compared(f: BodyBuilder, a: Value) -> None:
    where = row(f, f.op("offset", ptr=a, off=number(f, 4)))
    f.op("atomic_cas_tko", ptr=where, cmp=poisoned(f, a), val=number(f, 1, 4), ord="relaxed", scope="device")


def compared_in_memory(f: BodyBuilder, a: Value) -> None:
    local = f.op("alloca", num_elem=1, align=4, results=[P])
    f.op("atomic_cas_tko", ptr=local, cmp=number(f, 0), val=number(f, 1), ord="relaxed", scope="tl_blk")


@pytest.mark.parametrize("conduct", [RUN, KEEP_GOING])
@pytest.mark.parametrize("build", [compared, compared_in_memory])
def test_poison_must_not_be_compared_with(build: Build, conduct: Conduct) -> None:
    log, _ = logged(build, conduct)
    assert used(log).use == "comparison"


def test_an_exchange_that_does_not_happen_may_have_a_poisonous_value() -> None:
    def build(f: BodyBuilder, a: Value) -> None:
        far = number(f, 100, 4)
        f.op("atomic_cas_tko", ptr=row(f, a), cmp=far, val=poisoned(f, a), ord="relaxed", scope="device")

    log, after = logged(build, RUN)
    assert (log.stopped, after) == (None, list(range(8)))


def test_local_memory_is_poison_until_it_is_written() -> None:
    def build(f: BodyBuilder, a: Value, initialise: bool) -> None:
        local = f.op("alloca", num_elem=1, align=4, results=[P])
        token = f.op("store_ptr_tko", ptr=local, val=number(f, 5)) if initialise else f.op("make_token")
        value, token = f.op("load_ptr_tko", ptr=local, token=token)
        f.op("store_ptr_tko", ptr=a, val=value, token=token)

    log, _ = logged(lambda f, a: build(f, a, False), RUN)
    assert used(log).element == "a[0]"
    log, after = logged(lambda f, a: build(f, a, True), RUN)
    assert (log.stopped, after[0]) == (None, 5)


def test_an_exchange_does_not_care_for_what_was_there() -> None:
    def build(f: BodyBuilder, a: Value) -> None:
        local = f.op("alloca", num_elem=1, align=4, results=[P])
        how: Parts = {"ord": "relaxed", "scope": "tl_blk", "mode": "xchg"}
        _, token = f.op("atomic_rmw_tko", ptr=local, arg=number(f, 5), **how)
        value, token = f.op("load_ptr_tko", ptr=local, token=token)
        f.op("store_ptr_tko", ptr=a, val=value, token=token)

    log, after = logged(build, RUN)
    assert (log.stopped, after[0]) == (None, 5)


def test_an_atomic_sum_of_poison_is_poison() -> None:
    def build(f: BodyBuilder, a: Value) -> None:
        local = f.op("alloca", num_elem=1, align=4, results=[P])
        f.op("atomic_rmw_tko", ptr=local, arg=number(f, 5), ord="relaxed", scope="tl_blk", mode="add")

    log, _ = logged(build, RUN)
    assert used(log).use == "written value"


def test_a_promise_about_poison() -> None:
    def build(f: BodyBuilder, a: Value) -> None:
        kept = f.op("assume", s=poisoned(f, a), pred=Bounded(0, 7))
        f.op("load_ptr_tko", ptr=f.op("offset", ptr=row(f, a), off=kept))

    log, _ = logged(build, RUN)
    assert (used(log).use, used(log).op, used(log).lanes) == ("operand", "assume", 2)


# -------------------------------------------------------------------------------- one legal execution for a run
def test_a_rounding_or_an_interleaving_may_decide_in_a_run() -> None:
    """The sine of one is what it is up to its last bits; of two lanes that add to one element either may be first."""

    def rounded(f: BodyBuilder, a: Value) -> None:
        sine = f.op("sin", s=f.constant(tile(F32), 0x3F800000))
        small = f.op("cmpf", lhs=sine, rhs=f.constant(tile(F32), 0x3F800000), pred="less_than", fcmp="ordered")
        with f.if_(small) as made, made.then():
            f.op("store_ptr_tko", ptr=a, val=number(f, 42))
            f.op("yield", args=[])

    def interleaved(f: BodyBuilder, a: Value) -> None:
        both = f.op(
            "broadcast", s=f.op("reshape", s=a, results=[tile(pointer(I32), 1)]), results=[tile(pointer(I32), 2)]
        )
        ticket, token = f.op("atomic_rmw_tko", ptr=both, arg=number(f, 1, 2), ord="relaxed", scope="device", mode="add")
        f.op("store_ptr_tko", ptr=f.op("offset", ptr=both, off=f.op("addi", lhs=ticket, rhs=number(f, 1, 2))),
             val=number(f, 42, 2), token=token)  # fmt: skip

    for build, expected in ((rounded, [42, 1, 2]), (interleaved, [2, 42, 42])):
        log, after = logged(build, RUN)
        assert (log.stopped, after[:3]) == (None, expected)
        log, _ = logged(build, REPLAY)
        assert log.left_out or isinstance(log.stopped, UnspecifiedUse)


# ------------------------------------------------------------------------------------------ undefined behaviour
def test_undefined_behaviour_ends_a_run_before_it_does_anything() -> None:
    def build(f: BodyBuilder, a: Value) -> None:
        f.op("store_ptr_tko", ptr=row(f, a, 16), val=number(f, 9, 16))
        f.op("divi", lhs=number(f, 1), rhs=number(f, 0), sgn="signed")
        f.op("store_ptr_tko", ptr=a, val=number(f, 1))

    log, after = logged(build, RUN)
    assert isinstance(log.stopped, UndefinedStop)
    assert ([event.code for event in log.events], log.accesses, after) == (["TV302"], [], list(range(8)))
    for conduct in (KEEP_GOING, REPLAY):
        log, after = logged(build, conduct)
        assert log.stopped is None
        assert [event.code for event in log.events] == ["TV302", "TV402"]
        assert after == [1, *[9] * 7]


# ------------------------------------------------------------------------------------------- where poison goes
def marks(tile_: Tile) -> list[Any]:
    result: list[Any] = np.broadcast_to(0 if tile_.taint is None else tile_.taint, tile_.data.shape).tolist()
    return result


def halves(f: BodyBuilder, element: Any, bits: int, *shape: int) -> Value:
    """A tile of equal elements whose last lane is unspecified."""
    count = int(np.prod(shape))
    local = f.op("alloca", num_elem=count, align=8, results=[tile(pointer(element))])
    token = f.op("store_ptr_tko", ptr=row(f, local, count), val=f.constant(tile(element, count), bits))
    mask = f.constant(tile(I1, count), *[1] * (count - 1), 0)
    value, _ = f.op("load_ptr_tko", ptr=row(f, local, count), mask=mask, token=token)
    made: Value = f.op("reshape", s=value, results=[tile(element, *shape)])
    return made


def test_a_product_is_poison_where_its_row_or_column_is() -> None:
    def build(f: BodyBuilder) -> list[Value]:
        left, right = halves(f, F16, 0x3C00, 2, 4), halves(f, F16, 0x3C00, 4, 2)
        one_left, one_right = f.constant(tile(F16, 2, 4), 0x3C00), f.constant(tile(F16, 4, 2), 0x3C00)
        acc, open_acc = f.constant(tile(F32, 2, 2), 0), halves(f, F32, 0, 2, 2)
        pairs = [(left, one_right, acc), (one_left, right, acc), (one_left, one_right, open_acc), (left, right, acc)]
        return [f.op("mmaf", lhs=a, rhs=b, acc=c) for a, b, c in pairs]

    _, products = run_ops(build)
    exact = APPROXIMATE
    poisoned_ = APPROXIMATE | UNSPECIFIED
    assert [marks(each) for each in products] == [
        [[exact, exact], [poisoned_, poisoned_]],
        [[exact, poisoned_], [exact, poisoned_]],
        [[exact, exact], [exact, poisoned_]],
        [[exact, poisoned_], [poisoned_, poisoned_]],
    ]
    assert all(each.data.tolist()[0][0] == 4 for each in products)


def test_packed_bytes_are_poison_where_their_elements_are() -> None:
    def build(f: BodyBuilder) -> list[Value]:
        packed = f.op("pack", s=halves(f, F32, 0, 2), results=[tile(I8, 8)])
        return [
            packed,
            f.op("unpack", s=packed, results=[tile(F16, 4)]),
            f.op("unpack", s=packed, results=[tile(I32, 2)]),
        ]

    _, found = run_ops(build)
    assert [marks(each) for each in found] == [
        [0] * 4 + [UNSPECIFIED] * 4,
        [0, 0, UNSPECIFIED, UNSPECIFIED],
        [0, UNSPECIFIED],
    ]


def test_atomic_sums_of_subnormal_floats_are_marked() -> None:
    """2**-140 + 0, 1 + 1, 2**-126 - 1.5 * 2**-126, which leaves 2**-127."""

    def build(f: BodyBuilder) -> Value:
        local = f.op("alloca", num_elem=4, align=4, results=[tile(pointer(F32))])
        token = f.op(
            "store_ptr_tko", ptr=row(f, local), val=f.constant(tile(F32, 4), 1 << 9, 0x3F800000, 0x00800000, 0)
        )
        arg = f.constant(tile(F32, 4), 0, 0x3F800000, 0x80C00000, 0x40000000)
        how: Parts = {"ord": "relaxed", "scope": "device", "mode": "addf", "token": token}
        _, token = f.op("atomic_rmw_tko", ptr=row(f, local), arg=arg, **how)
        made: Value = f.op("load_ptr_tko", ptr=row(f, local), token=token)[0]
        return made

    _, (total,) = run_ops(build)
    assert total.data.tolist() == [2.0**-140, 2, -(2.0**-127), 2]
    assert marks(total) == [APPROXIMATE, 0, APPROXIMATE, 0]


def test_colliding_lanes_of_an_atomic_are_marked() -> None:
    def build(f: BodyBuilder) -> Value:
        local = f.op("alloca", num_elem=2, align=8, results=[P])
        token = f.op("store_ptr_tko", ptr=row(f, local, 2), val=number(f, 0, 2))
        one = f.op("reshape", s=local, results=[tile(pointer(I32), 1)])
        where = f.op("broadcast", s=one, results=[tile(pointer(I32), 4)])
        where = f.op("offset", ptr=where, off=f.constant(tile(I32, 4), 0, 0, 0, 1))
        how: Parts = {"ord": "relaxed", "scope": "device", "mode": "add", "token": token}
        old: Value = f.op("atomic_rmw_tko", ptr=where, arg=number(f, 1, 4), **how)[0]
        return old

    _, (old,) = run_ops(build)
    assert marks(old) == [INTERLEAVED] * 3 + [0]
