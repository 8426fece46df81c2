"""Globals, addresses as numbers, what views say of their sizes, and assertions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tileverify.backend.interpreter import Budget, run_grid
from tileverify.frontend.bytecode import decode, encode
from tileverify.frontend.bytecode.builder import (
    I1,
    I32,
    I64,
    TOKEN,
    BodyBuilder,
    ModuleBuilder,
    constant,
    pointer,
    tile,
)
from tileverify.frontend.bytecode.model import (
    GatherScatterViewType,
    PartitionViewType,
    StridedViewType,
    TensorViewType,
    Value,
)

from .helpers import array, launch, pointers

P = tile(pointer(I32))


def stored(build: Callable[[BodyBuilder], Sequence[Value]], *, grid: int = 1) -> list[Any]:
    """The i32 scalars that ``build`` returns, as the last block stored them."""
    module = ModuleBuilder((13, 4))
    module.add_global("table", constant(tile(I32, 4), 10, 20, 30, 40), 16)
    with module.entry("kernel", [P]) as f:
        (out,) = f.parameters
        for place, value in enumerate(build(f)):
            element = f.op("offset", ptr=out, off=f.constant(tile(I32), place))
            f.op("store_ptr_tko", ptr=element, val=value)
        f.op("return")
    decoded = decode(encode(module.build()), file="hand-made")
    contents = {"out": np.full(8, -7, np.int32)}
    concrete = launch((grid, 1, 1), out=array("i32", 8))
    run = run_grid(decoded, decoded.entries[0], pointers("out"), concrete, contents, Budget(1 << 24))
    assert not [event for log in run.logs for event in log.events]
    return [number for number in run.arrays["out"].tolist() if number != -7]


def element_of_table(f: BodyBuilder, place: int) -> Value:
    table = f.op("get_global", name="table", results=[P])
    element: Value = f.op("offset", ptr=table, off=f.constant(tile(I32), place))
    return element


def loaded(f: BodyBuilder, place: Value) -> Value:
    value: Value = f.op("load_ptr_tko", ptr=place, results=[tile(I32), TOKEN])[0]
    return value


def test_globals_have_their_initial_values() -> None:
    assert stored(lambda f: [loaded(f, element_of_table(f, place)) for place in (0, 3)]) == [10, 40]


def test_globals_are_one_memory_for_all_blocks() -> None:
    def build(f: BodyBuilder) -> list[Value]:
        place = element_of_table(f, 1)
        more = f.op("addi", lhs=loaded(f, place), rhs=f.constant(tile(I32), 1))
        f.op("store_ptr_tko", ptr=place, val=more)
        return [more]

    assert stored(build, grid=3) == [23]


def test_an_address_becomes_a_number_and_a_pointer_again() -> None:
    def build(f: BodyBuilder) -> list[Value]:
        numbers = [f.op("ptr_to_int", s=element_of_table(f, place), results=[tile(I64)]) for place in (0, 2)]
        apart = f.op("trunci", s=f.op("subi", lhs=numbers[1], rhs=numbers[0]), results=[tile(I32)])
        return [apart, loaded(f, f.op("int_to_ptr", s=numbers[1], results=[P]))]

    assert stored(build) == [8, 30]


def test_views_tell_their_sizes() -> None:
    tensor = TensorViewType(I32, (None, 10), (10, 1))

    def build(f: BodyBuilder) -> list[Value]:
        table = f.op("get_global", name="table", results=[P])
        rows = f.constant(tile(I32), 7)
        view = f.op("make_tensor_view", base=table, shape=[rows], strides=[], results=[tensor])
        kinds = (
            ("make_partition_view", PartitionViewType((2, 4), tensor, (0, 1))),
            ("make_partition_view", PartitionViewType((4, 2), tensor, (1, 0))),
            ("make_strided_view", StridedViewType((2, 4), (3, 3), tensor, (0, 1))),
        )
        sizes = list(f.op("get_tensor_shape", src=view, results=[tile(I32)] * 2))
        for name, kind in kinds:
            tiles = f.op(name, s=view, results=[kind])
            sizes += f.op("get_index_space_shape", src=tiles, results=[tile(I32)] * 2)
        return sizes

    assert stored(build) == [7, 10, 4, 3, 3, 4, 3, 4]


def test_a_gather_view_counts_elements() -> None:
    tensor = TensorViewType(I32, (7, 10), (10, 1))

    def build(f: BodyBuilder) -> list[Value]:
        table = f.op("get_global", name="table", results=[P])
        view = f.op("make_tensor_view", base=table, shape=[], strides=[], results=[tensor])
        sparse = f.op("make_gather_scatter_view", s=view, results=[GatherScatterViewType((4, 2), tensor, 0)])
        return list(f.op("get_index_space_shape", src=sparse, results=[tile(I32)] * 2))

    assert stored(build) == [7, 10]


def test_a_failed_assertion_does_not_stop_the_block() -> None:
    """It is no undefined behaviour either: nothing may be concluded from an assertion."""

    def build(f: BodyBuilder) -> list[Value]:
        f.op("assert", c=f.constant(tile(I1), 0), msg="never")
        return [f.constant(tile(I32), 5)]

    assert stored(build) == [5]
