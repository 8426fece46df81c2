"""The judge of generated kernels follows the numbers of blocks by place: what stands beside one is not that one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from tests.backend.concurrent import P, at, equal, number, plus
from tests.backend.helpers import hand_made

from tileverify.frontend.bytecode.builder import I32, BodyBuilder, tile
from tileverify.frontend.bytecode.model import Value
from tileverify.frontend.symbolic.written import read_axes

from ..generated.reading import axes_read


def counted(f: BodyBuilder, x: Value, y: Value) -> Sequence[Value]:
    with f.for_(number(f, 0), number(f, 2), number(f, 1), [x, y]) as loop:
        f.op("continue", args=list(loop.arguments[1:]))
    return loop.results


def swapped(f: BodyBuilder, x: Value, y: Value) -> Sequence[Value]:
    with f.for_(number(f, 0), number(f, 2), number(f, 1), [x, y]) as loop:
        f.op("continue", args=[loop.arguments[2], loop.arguments[1]])
    return loop.results


def broken_out_of(f: BodyBuilder, x: Value, y: Value) -> Sequence[Value]:
    one = number(f, 1)
    with f.loop([number(f, 0)], results=[tile(I32), tile(I32)]) as loop:
        with f.if_(equal(f, loop.arguments[0], one)) as done, done.then():
            f.op("break", args=[x, y])
        f.op("continue", args=[plus(f, loop.arguments[0], one)])
    return loop.results


def chosen(f: BodyBuilder, x: Value, y: Value) -> Sequence[Value]:
    branch = f.if_(equal(f, number(f, 1), number(f, 2)), [tile(I32), tile(I32)])
    with branch as made:
        with made.then():
            f.op("yield", args=[x, y])
        with made.otherwise():
            f.op("yield", args=[number(f, 3), number(f, 4)])
    return made.results


def deciding(f: BodyBuilder, x: Value, y: Value) -> Sequence[Value]:
    """Which values come out is decided by y, where x goes in."""
    with f.if_(equal(f, y, number(f, 2)), [tile(I32), tile(I32)]) as made:
        with made.then():
            f.op("yield", args=[x, x])
        with made.otherwise():
            f.op("yield", args=[x, x])
    return made.results


@pytest.mark.parametrize(
    ("build", "first", "second"),
    [
        (counted, {0}, {1}),
        (swapped, {0, 1}, {0, 1}),
        (broken_out_of, {0}, {1}),
        (chosen, {0}, {1}),
        (deciding, {0, 1}, {0, 1}),
    ],
)
def test_axes_that_are_read(
    build: Callable[[BodyBuilder, Value, Value], Sequence[Value]], first: set[int], second: set[int]
) -> None:
    for stored, axes in enumerate((first, second)):

        def body(f: BodyBuilder, stored: int = stored) -> None:
            x, y, _ = f.op("get_tile_block_id")
            value = build(f, x, y)[stored]
            f.op("store_ptr_tko", ptr=at(f, f.parameters[0], value), val=number(f, 7))

        _, entry = hand_made([P], body)
        assert set(axes_read(entry)) == axes
        assert read_axes(entry) == axes, "the prover, by other means"
