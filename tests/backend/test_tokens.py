"""Order inside one block: tokens, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tileverify.backend.replay.replay import Replayer
from tileverify.frontend.bytecode.builder import F32, I1, I8, I32, TOKEN, BodyBuilder, pointer, tile
from tileverify.frontend.bytecode.model import Value
from tileverify.results.claim import Claim, Confirmation
from tileverify.results.codes import TV

from ..tiles import Parts
from .helpers import array, hand_made, launch, pointers

P = tile(pointer(I32))


def shown(build: Callable[[BodyBuilder, Value], Any], code: str = "TV201") -> Confirmation | None:
    """What a replay shows of a block that works on one i32 array of 64 elements."""

    def body(f: BodyBuilder) -> None:
        build(f, f.parameters[0])

    module, entry = hand_made([P], body)
    check = Replayer(module, entry, pointers("a"))
    found = check(launch((1, 1, 1), a=array("i32", 64)), Claim(TV(code), (0, 0, 0), None))
    if found is None:
        assert check.last_reason == f"no {code} shows"
    return found


def one(f: BodyBuilder) -> Value:
    return f.constant(tile(I32), 1)


def test_program_order_orders_nothing() -> None:
    def build(f: BodyBuilder, a: Value) -> None:
        f.op("store_ptr_tko", ptr=a, val=one(f))
        f.op("load_ptr_tko", ptr=a)

    found = shown(build)
    assert found is not None
    assert found.second is not None
    assert (found.element, found.first.access, found.second.access) == ("a[0]", "store", "load")


def test_a_token_orders() -> None:
    def build(f: BodyBuilder, a: Value) -> None:
        token = f.op("store_ptr_tko", ptr=a, val=one(f))
        _, token = f.op("load_ptr_tko", ptr=a, token=token)
        f.op("store_ptr_tko", ptr=a, val=one(f), token=token)

    assert shown(build) is None


def test_data_dependence_orders_nothing() -> None:
    def build(f: BodyBuilder, a: Value) -> None:
        value, _ = f.op("load_ptr_tko", ptr=a)
        f.op("store_ptr_tko", ptr=a, val=f.op("addi", lhs=value, rhs=one(f)))

    assert shown(build) is not None


def test_two_loads_need_no_order() -> None:
    def build(f: BodyBuilder, a: Value) -> None:
        f.op("load_ptr_tko", ptr=a)
        f.op("load_ptr_tko", ptr=a)

    assert shown(build) is None


@pytest.mark.parametrize("joined", [True, False])
def test_a_join_waits_for_all(joined: bool) -> None:
    def build(f: BodyBuilder, a: Value) -> None:
        _, first = f.op("load_ptr_tko", ptr=a)
        _, second = f.op("load_ptr_tko", ptr=a)
        token = f.op("join_tokens", tokens=[first, second] if joined else [second, f.op("make_token")])
        f.op("store_ptr_tko", ptr=a, val=one(f), token=token)

    assert (shown(build) is None) == joined


def test_different_elements_do_not_conflict() -> None:
    def build(f: BodyBuilder, a: Value) -> None:
        f.op("store_ptr_tko", ptr=a, val=one(f))
        f.op("store_ptr_tko", ptr=f.op("offset", ptr=a, off=one(f)), val=one(f))

    assert shown(build) is None


def test_accesses_of_other_width_meet_in_bytes() -> None:
    def build(f: BodyBuilder, a: Value) -> None:
        f.op("store_ptr_tko", ptr=a, val=one(f))
        bytes_ = f.op("ptr_to_ptr", s=a, results=[tile(pointer(I8))])
        f.op("load_ptr_tko", ptr=f.op("offset", ptr=bytes_, off=f.constant(tile(I32), 3)))

    found = shown(build)
    assert found is not None
    assert (found.byte, found.element) == (3, "a[0]")


@pytest.mark.parametrize("scopes", [("tl_blk", "tl_blk"), ("device", "sys")])
def test_scoped_accesses_of_one_block_do_not_race(scopes: tuple[str, str]) -> None:
    def build(f: BodyBuilder, a: Value) -> None:
        f.op("store_ptr_tko", ptr=a, val=one(f), ord="relaxed", scope=scopes[0])
        f.op("atomic_rmw_tko", ptr=a, arg=one(f), ord="relaxed", scope=scopes[1], mode="add")

    assert shown(build) is None


def test_weak_beside_atomic_in_one_block() -> None:
    def build(f: BodyBuilder, a: Value) -> None:
        f.op("atomic_rmw_tko", ptr=a, arg=one(f), ord="acq_rel", scope="device", mode="add")
        f.op("load_ptr_tko", ptr=a)

    assert shown(build) is not None


def test_a_failed_exchange_only_reads() -> None:
    def build(f: BodyBuilder, a: Value, expected: int) -> None:
        f.op("atomic_cas_tko", ptr=a, cmp=f.constant(tile(I32), expected), val=one(f), ord="relaxed", scope="device")
        f.op("load_ptr_tko", ptr=a)

    assert shown(lambda f, a: build(f, a, 0)) is not None
    assert shown(lambda f, a: build(f, a, 7)) is None


def _loop(f: BodyBuilder, count: int, body: Callable[[Value, Value], Value], first: Value) -> Value:
    """``for i in range(count): token = body(i, token)``; the last token."""
    lower, upper, step = (f.constant(tile(I32), number) for number in (0, count, 1))
    with f.for_(lower, upper, step, inits=[first]) as loop:
        i, token = loop.arguments
        f.op("continue", args=[body(i, token)])
    return loop.results[0]


def test_iterations_of_one_store() -> None:
    def build(f: BodyBuilder, a: Value, chained: bool) -> None:
        start = f.op("make_token")

        def body(_: Value, token: Value) -> Value:
            result: Value = f.op("store_ptr_tko", ptr=a, val=one(f), token=token if chained else start)
            return result

        _loop(f, 3, body, start)

    assert shown(lambda f, a: build(f, a, True)) is None
    assert shown(lambda f, a: build(f, a, False)) is not None


def test_tokens_left_behind_in_the_loop() -> None:
    """Each iteration stores elsewhere, unordered; only the last token leaves the loop.

    A later load of what an earlier iteration stored is what nvcc emits: the specification does not settle it, so it
    is no confirmed fault.  Without any token from the loop it is one.
    """

    def build(f: BodyBuilder, a: Value, leaves: bool) -> None:
        start = f.op("make_token")

        def body(i: Value, token: Value) -> Value:
            result: Value = f.op("store_ptr_tko", ptr=f.op("offset", ptr=a, off=i), val=i, token=start)
            return result

        last = _loop(f, 4, body, start)
        f.op("load_ptr_tko", ptr=a, token=last if leaves else start)

    assert shown(lambda f, a: build(f, a, True)) is None
    assert shown(lambda f, a: build(f, a, False)) is not None


def test_tokens_pass_through_print_and_fences() -> None:
    def build(f: BodyBuilder, a: Value) -> None:
        token = f.op("store_ptr_tko", ptr=a, val=one(f))
        token = f.op("print_tko", args=[one(f)], token=token, str="%d")
        token = f.op("gdc_wait_tko", token=token)
        token = f.op("gdc_launch_dependents_tko", token=token)
        f.op("load_ptr_tko", ptr=a, token=f.op("memory_fence_alias_tko", s=token))

    assert shown(build) is None


def test_lanes_of_one_store() -> None:
    def build(f: BodyBuilder, a: Value, masked: bool) -> None:
        base = f.op("reshape", s=a, results=[tile(pointer(I32), 1)])
        base = f.op("broadcast", s=base, results=[tile(pointer(I32), 2)])
        where = f.op("offset", ptr=base, off=f.constant(tile(I32, 2), 5))
        mask: Parts = {"mask": f.constant(tile(I1, 2), 1, 0)} if masked else {}
        f.op("store_ptr_tko", ptr=where, val=f.constant(tile(I32, 2), 1), **mask)

    found = shown(lambda f, a: build(f, a, False), "TV202")
    assert found is not None
    assert (found.element, found.second) == ("a[5]", None)
    assert shown(lambda f, a: build(f, a, True), "TV202") is None


def test_branches_carry_tokens() -> None:
    def build(f: BodyBuilder, a: Value) -> None:
        start = f.op("make_token")
        with f.if_(f.constant(tile(I1), 1), [TOKEN]) as branch:
            with branch.then():
                f.op("yield", args=[f.op("store_ptr_tko", ptr=a, val=one(f), token=start)])
            with branch.otherwise():
                f.op("yield", args=[start])
        f.op("load_ptr_tko", ptr=a, token=branch.results[0])

    assert shown(build) is None


def test_locals_are_private_and_unspecified() -> None:
    def build(f: BodyBuilder) -> None:
        local = f.op("alloca", num_elem=4, align=4, results=[tile(pointer(F32))])
        f.op("store_ptr_tko", ptr=local, val=f.constant(tile(F32), 0))

    module, entry = hand_made([P], build)
    check = Replayer(module, entry, pointers("a"))
    for code in ("TV101", "TV102"):
        assert check(launch((2, 1, 1), a=array("i32", 64)), Claim(TV(code), (0, 0, 0), (1, 0, 0))) is None
