"""Small concurrent kernels in Tile IR: locks, counters, flags; each also with one token or ordering missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tileverify.frontend.bytecode.builder import I32, BodyBuilder, pointer, tile
from tileverify.frontend.bytecode.model import Entry, Module, Value

from .helpers import hand_made

P = tile(pointer(I32))


def number(f: BodyBuilder, value: int) -> Value:
    return f.constant(tile(I32), value)


def at(f: BodyBuilder, base: Value, index: Value) -> Value:
    made: Value = f.op("offset", ptr=base, off=index)
    return made


def equal(f: BodyBuilder, one: Value, other: Value) -> Value:
    made: Value = f.op("cmpi", lhs=one, rhs=other, pred="equal", sgn="signed")
    return made


def plus(f: BodyBuilder, one: Value, other: Value) -> Value:
    made: Value = f.op("addi", lhs=one, rhs=other)
    return made


def wait_until(f: BodyBuilder, attempt: Callable[[Value], tuple[Value, Value]], wanted: Value) -> Value:
    """Repeat ``attempt(token) -> value, token`` until it returns ``wanted``; the last token."""
    with f.loop([f.op("make_token")]) as loop:
        value, token = attempt(loop.arguments[0])
        with f.if_(equal(f, value, wanted)) as done, done.then():
            f.op("break", args=[token])
        f.op("continue", args=[token])
    return loop.results[0]


def kernel(arrays: int, build: Callable[[BodyBuilder, Sequence[Value], Value], Any]) -> tuple[Module, Entry]:
    """An entry over ``arrays`` pointers to i32; ``build`` also gets the block id."""

    def body(f: BodyBuilder) -> None:
        build(f, f.parameters, f.op("get_tile_block_id")[0])

    return hand_made([P] * arrays, body)


def locked_increment(*, acquire: str = "acquire", release_waits: bool = True) -> tuple[Module, Entry]:
    """``with lock: data[0] += 1`` in every block; parameters: data, lock."""

    def build(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
        data, lock = parameters
        zero, one = number(f, 0), number(f, 1)

        def attempt(token: Value) -> tuple[Value, Value]:
            old, after = f.op("atomic_cas_tko", ptr=lock, cmp=zero, val=one, token=token, ord=acquire, scope="device")
            return old, after

        taken = wait_until(f, attempt, zero)
        value, loaded = f.op("load_ptr_tko", ptr=data, token=taken)
        stored = f.op("store_ptr_tko", ptr=data, val=plus(f, value, one), token=loaded)
        before = stored if release_waits else taken
        f.op("store_ptr_tko", ptr=lock, val=zero, token=before, ord="release", scope="device")

    return kernel(2, build)


def last_block_sums(
    blocks: int, *, ordering: str = "acq_rel", waits: bool = True, protects: bool = True
) -> tuple[Module, Entry]:
    """Every block writes bid + 1, the last one to count adds them up; parameters: parts, counter, out."""

    def build(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
        parts, counter, out = parameters
        one = number(f, 1)
        stored = f.op("store_ptr_tko", ptr=at(f, parts, bid), val=plus(f, bid, one))
        token = {"token": stored} if waits else {}
        old, counted = f.op("atomic_rmw_tko", ptr=counter, arg=one, ord=ordering, scope="device", mode="add", **token)
        with f.if_(equal(f, old, number(f, blocks - 1))) as last, last.then():
            total = number(f, 0)
            for block in range(blocks):
                behind = {"token": counted} if protects else {}
                part, _ = f.op("load_ptr_tko", ptr=at(f, parts, number(f, block)), **behind)
                total = plus(f, total, part)
            f.op("store_ptr_tko", ptr=out, val=total)
            f.op("yield", args=[])

    return kernel(3, build)


def look_back() -> tuple[Module, Entry]:
    """A scan over blocks: sums[i] = sums[i - 1] + i + 1, handed on by flags; parameters: sums, flags."""

    def build(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
        sums, flags = parameters
        one = number(f, 1)
        with f.if_(equal(f, bid, number(f, 0)), [tile(I32)]) as first:
            with first.then():
                f.op("yield", args=[number(f, 0)])
            with first.otherwise():
                previous = f.op("subi", lhs=bid, rhs=one)

                def attempt(token: Value) -> tuple[Value, Value]:
                    flag = at(f, flags, previous)
                    seen, after = f.op("load_ptr_tko", ptr=flag, token=token, ord="acquire", scope="device")
                    return seen, after

                value, _ = f.op("load_ptr_tko", ptr=at(f, sums, previous), token=wait_until(f, attempt, one))
                f.op("yield", args=[value])
        total = plus(f, first.results[0], plus(f, bid, one))
        stored = f.op("store_ptr_tko", ptr=at(f, sums, bid), val=total)
        f.op("store_ptr_tko", ptr=at(f, flags, bid), val=one, token=stored, ord="release", scope="device")

    return kernel(2, build)


def message(
    *, release: str = "release", acquire: str = "acquire", sent: bool = True, received: bool = True,
    scope: str = "device",
) -> tuple[Module, Entry]:  # fmt: skip
    """Block 0 writes data and a flag, block 1 copies both once; parameters: data, flag, out.

    ``sent``/``received``: the flag's store waits for the data's, the data's load for the flag's.
    """

    def build(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
        data, flag, out = parameters
        one = number(f, 1)
        with f.if_(equal(f, bid, number(f, 0))) as sender:
            with sender.then():
                stored = f.op("store_ptr_tko", ptr=data, val=number(f, 7))
                token = {"token": stored} if sent else {}
                f.op("store_ptr_tko", ptr=flag, val=one, ord=release, scope=scope, **token)
                f.op("yield", args=[])
            with sender.otherwise():
                seen, known = f.op("load_ptr_tko", ptr=flag, ord=acquire, scope=scope)
                with f.if_(equal(f, seen, one)) as there, there.then():
                    behind = {"token": known} if received else {}
                    value, _ = f.op("load_ptr_tko", ptr=data, **behind)
                    f.op("store_ptr_tko", ptr=out, val=value)
                    f.op("store_ptr_tko", ptr=at(f, out, one), val=seen)
                    f.op("yield", args=[])
                f.op("yield", args=[])

    return kernel(3, build)
