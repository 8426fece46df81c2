"""Partition, strided and gather/scatter views: which elements a tile stands for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tileverify.backend.interpreter import BlockLog, Budget, GridRun, Memory, bind_launch, run_block, run_grid
from tileverify.backend.replay.replay import Replayer
from tileverify.contract.launch import ConcreteLaunch
from tileverify.frontend.bytecode.builder import F32, I32, BodyBuilder, pointer, tile
from tileverify.frontend.bytecode.model import (
    GatherScatterViewType,
    PartitionViewType,
    StridedViewType,
    TensorViewType,
    Type,
    Value,
)
from tileverify.results.claim import Claim
from tileverify.results.codes import TV

from .helpers import array, hand_made, launch, pointers

MATRIX = (6, 10)
TENSOR = TensorViewType(I32, MATRIX, (10, 1))
P = tile(pointer(I32))
MAKE = {
    PartitionViewType: "make_partition_view",
    StridedViewType: "make_strided_view",
    GatherScatterViewType: "make_gather_scatter_view",
}


def view_of(f: BodyBuilder, parameter: Value, kind: Type) -> Value:
    tensor = f.op("make_tensor_view", base=parameter, shape=[], strides=[], results=[kind.tensor])  # type: ignore[union-attr]
    made: Value = f.op(MAKE[type(kind)], s=tensor, results=[kind])
    return made


def scalars(f: BodyBuilder, *values: int) -> list[Value]:
    return [f.constant(tile(I32), value) for value in values]


def copied(kind: Any, index: Callable[[BodyBuilder], Sequence[Value]]) -> tuple[list[Any], BlockLog]:
    """The tile that a load gives, over a matrix with element 10 * row + column."""
    count = int(np.prod(kind.tile))
    whole = TensorViewType(I32, kind.tile, _strides(kind.tile))
    target = PartitionViewType(kind.tile, whole, tuple(range(len(kind.tile))))

    def build(f: BodyBuilder) -> None:
        source, out = f.parameters
        value, _ = f.op("load_view_tko", view=view_of(f, source, kind), index=index(f))
        f.op("store_view_tko", tile=value, view=view_of(f, out, target), index=scalars(f, *(0 for _ in kind.tile)))

    module, entry = hand_made([P, P], build)
    concrete = launch((1, 1, 1), a=array("i32", *MATRIX), out=array("i32", count))
    contents = {"a": np.arange(60, dtype=np.int32), "out": np.full(count, -7, np.int32)}
    run: GridRun = run_grid(module, entry, pointers("a", "out"), concrete, contents, Budget(1 << 24))
    result: list[Any] = run.arrays["out"].reshape(kind.tile).tolist()
    return result, run.logs[0]


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))


def test_partition_view() -> None:
    kind = PartitionViewType((2, 4), TENSOR, (0, 1), "zero")
    assert copied(kind, lambda f: scalars(f, 1, 1))[0] == [[24, 25, 26, 27], [34, 35, 36, 37]]
    values, log = copied(kind, lambda f: scalars(f, 2, 2))
    assert values == [[48, 49, 0, 0], [58, 59, 0, 0]]
    assert log.events == []


def test_dim_map_sends_tile_dimensions_to_tensor_dimensions() -> None:
    kind = PartitionViewType((4, 2), TENSOR, (1, 0), "zero")
    assert copied(kind, lambda f: scalars(f, 1, 1))[0] == [[24, 34], [25, 35], [26, 36], [27, 37]]


def test_strided_view_with_overlapping_tiles() -> None:
    kind = StridedViewType((2, 4), (1, 3), TENSOR, (0, 1), "zero")
    assert copied(kind, lambda f: scalars(f, 3, 2))[0] == [[36, 37, 38, 39], [46, 47, 48, 49]]
    assert copied(kind, lambda f: scalars(f, 5, 3))[0] == [[59, 0, 0, 0], [0, 0, 0, 0]]


def test_gather_view_takes_rows_and_an_element_offset() -> None:
    kind = GatherScatterViewType((4, 2), TENSOR, 0, "zero")
    values, log = copied(kind, lambda f: [f.constant(tile(I32, 4), 5, 0, 6, -1), *scalars(f, 9)])
    assert values == [[59, 0], [9, 0], [0, 0], [0, 0]]
    assert log.events == []
    columns = GatherScatterViewType((2, 4), TENSOR, 1, "zero")
    assert copied(columns, lambda f: [*scalars(f, 3), f.constant(tile(I32, 4), 9, 0, 10, 3)])[0] == [
        [39, 30, 0, 33], [49, 40, 0, 43],
    ]  # fmt: skip


@pytest.mark.parametrize("padding", ["zero", "neg_zero", "nan", "pos_inf", "neg_inf", None])
def test_padding(padding: str | None) -> None:
    tensor = TensorViewType(F32, (3,), (1,))
    kind = PartitionViewType((4,), tensor, (0,), padding)

    def build(f: BodyBuilder) -> None:
        value, _ = f.op("load_view_tko", view=view_of(f, f.parameters[0], kind), index=scalars(f, 0))
        f.op("store_view_tko", tile=value, view=view_of(f, f.parameters[1], PartitionViewType(
            (4,), TensorViewType(F32, (4,), (1,)), (0,))), index=scalars(f, 0))  # fmt: skip

    module, entry = hand_made([tile(pointer(F32))] * 2, build)
    concrete = launch((1, 1, 1), a=array("f32", 3), out=array("f32", 4))
    contents = {"a": np.ones(3, np.float32), "out": np.zeros(4, np.float32)}
    last = run_grid(module, entry, pointers("a", "out"), concrete, contents, Budget(1 << 24)).arrays["out"][3]
    if padding is not None:
        expected = {"zero": 0.0, "neg_zero": -0.0, "nan": np.nan, "pos_inf": np.inf, "neg_inf": -np.inf}[padding]
        np.testing.assert_equal(last, np.float32(expected))
        assert np.signbit(last) == np.signbit(expected)


# ------------------------------------------------------------------------------------------------ claims
def storing(kind: Any, index: Callable[[BodyBuilder, Value], Sequence[Value]], **attributes: Any) -> Replayer:
    """Every block stores a tile; ``index`` is made from the block's x."""

    def build(f: BodyBuilder) -> None:
        x, _, _ = f.op("get_tile_block_id")
        value = f.constant(tile(I32, *kind.tile), 1)
        f.op("store_view_tko", tile=value, view=view_of(f, f.parameters[0], kind), index=index(f, x), **attributes)

    module, entry = hand_made([P], build)
    return Replayer(module, entry, pointers("a"))


CONCRETE: ConcreteLaunch = launch((8, 1, 1), a=array("i32", *MATRIX))
FIRST, NEXT = (0, 0, 0), (1, 0, 0)


def test_overlapping_tiles_race() -> None:
    overlapping = StridedViewType((2, 4), (1, 4), TENSOR, (0, 1))
    found = storing(overlapping, lambda f, x: [x, *scalars(f, 0)])(CONCRETE, Claim(TV.RACE_WRITE_WRITE, FIRST, NEXT))
    assert found is not None
    assert found.element == "a[1, 0:4]"
    apart = PartitionViewType((2, 4), TENSOR, (0, 1))
    assert storing(apart, lambda f, x: [x, *scalars(f, 0)])(CONCRETE, Claim(TV.RACE_WRITE_WRITE, FIRST, NEXT)) is None


def test_doubled_rows_of_a_scatter_view() -> None:
    kind = GatherScatterViewType((4, 2), TENSOR, 0)
    found = storing(kind, lambda f, _: [f.constant(tile(I32, 4), 0, 3, 2, 3), *scalars(f, 4)])(
        CONCRETE, Claim(TV.DUPLICATE_LANES, FIRST, None)
    )
    assert found is not None
    assert found.element == "a[3, 4:6]"
    clipped = storing(kind, lambda f, _: [f.constant(tile(I32, 4), 0, 9, 2, 9), *scalars(f, 4)])
    assert clipped(CONCRETE, Claim(TV.DUPLICATE_LANES, FIRST, None)) is None


def test_indices_are_unsigned() -> None:
    check = storing(PartitionViewType((2, 2), TENSOR, (0, 1)), lambda f, x: [x, *scalars(f, -1)])
    found = check(CONCRETE, Claim(TV.TILE_OUT_OF_INDEX_SPACE, FIRST, None))
    assert found is not None
    assert found.element == f"a[0:2, {2 * 0xFFFFFFFF}:{2 * 0xFFFFFFFF + 2}]"


def test_the_in_bounds_promise() -> None:
    kind = PartitionViewType((4, 2), TENSOR, (0, 1))
    check = storing(kind, lambda f, x: [x, *scalars(f, 0)], inbounds=(True, False))
    assert check(CONCRETE, Claim(TV.INBOUNDS_PROMISE, FIRST, None)) is None
    found = check(CONCRETE, Claim(TV.INBOUNDS_PROMISE, NEXT, None))
    assert found is not None
    assert found.element == "a[6:8, 0:2]", "rows 4 to 7 of 6"
    unpromised = storing(kind, lambda f, x: [x, *scalars(f, 0)])
    assert unpromised(CONCRETE, Claim(TV.INBOUNDS_PROMISE, NEXT, None)) is None


def test_a_view_larger_than_its_array() -> None:
    small = launch((1, 1, 1), a=array("i32", 59))
    check = storing(PartitionViewType((2, 2), TENSOR, (0, 1)), lambda f, _: scalars(f, 2, 4))
    found = check(small, Claim(TV.POINTER_OUT_OF_ALLOCATION, FIRST, None))
    assert found is not None
    assert found.element == "a[59]"
    assert check(launch((1, 1, 1), a=array("i32", 60)), Claim(TV.POINTER_OUT_OF_ALLOCATION, FIRST, None)) is None


def test_view_reductions_are_atomic() -> None:
    kind = PartitionViewType((2, 2), TENSOR, (0, 1))

    def build(f: BodyBuilder) -> None:
        f.op(
            "atomic_red_view_tko", view=view_of(f, f.parameters[0], kind), index=scalars(f, 1, 0), mode="add",
            value=f.constant(tile(I32, 2, 2), 1, 2, 3, 4), ord="relaxed", scope="device",
        )  # fmt: skip

    module, entry = hand_made([P], build)
    run = run_grid(
        module, entry, pointers("a"), launch((3, 1, 1), a=array("i32", *MATRIX)),
        {"a": np.zeros(60, np.int32)}, Budget(1 << 24),
    )  # fmt: skip
    assert run.arrays["a"].reshape(MATRIX)[2:4, :3].tolist() == [[3, 6, 0], [9, 12, 0]]
    check = Replayer(module, entry, pointers("a"))
    for code in ("TV101", "TV102", "TV103"):
        assert check(CONCRETE, Claim(TV(code), FIRST, NEXT)) is None


def test_a_huge_view_costs_its_tile() -> None:
    side = 1 << 30
    tensor = TensorViewType(I32, (side, side), (side, 1))
    kind = PartitionViewType((4, 4), tensor, (0, 1))
    module, entry = hand_made(
        [P],
        lambda f: f.op(
            "store_view_tko", tile=f.constant(tile(I32, 4, 4), 1), view=view_of(f, f.parameters[0], kind),
            index=scalars(f, side // 4 - 1, side // 4 - 1),
        ),
    )  # fmt: skip
    concrete = launch((1, 1, 1), a=array("i32", side, side // 2))
    bound = bind_launch(module, entry, pointers("a"), concrete)
    log = run_block(bound.program, bound.arguments, Memory(bound.image), (1, 1, 1), FIRST, Budget(1 << 24))
    assert (log.stopped, [event.code for event in log.events]) == (None, ["TV302"])
