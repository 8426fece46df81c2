"""Multicast accesses where one device is the whole team."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tileverify.backend.interpreter import BlockLog, Budget, GridRun, NotModelled, run_grid
from tileverify.backend.replay.replay import Replayer
from tileverify.contract.launch import ConcreteLaunch
from tileverify.frontend.bytecode import decode, encode
from tileverify.frontend.bytecode.builder import F16, F32, I8, I32, BodyBuilder, ModuleBuilder, pointer, tile
from tileverify.frontend.bytecode.model import Module, PartitionViewType, ScalarType, TensorViewType, Value
from tileverify.results.claim import Claim
from tileverify.results.codes import TV

from ..tiles import Parts
from .helpers import array, launch, pointers

ANY: Parts = {"ord": "relaxed", "scope": "sys"}
DTYPES = {F16: ("f16", np.float16), F32: ("f32", np.float32), I32: ("i32", np.int32), I8: ("i8", np.int8)}
Build = Callable[[BodyBuilder, Value, Value], None]


def made(element: ScalarType, build: Build) -> Module:
    """``build`` gets multicast tiles of 4 over ``a``, and the block's number (6 elements, two blocks)."""
    tensor = TensorViewType(element, (6,), (1,), "multicast")
    module = ModuleBuilder((13, 5))
    with module.entry("kernel", [tile(pointer(element, "multicast"))]) as f:
        whole = f.op("make_tensor_view", base=f.parameters[0], shape=[], strides=[], results=[tensor])
        view = f.op("make_partition_view", s=whole, results=[PartitionViewType((4,), tensor, (0,), "zero")])
        build(f, view, f.op("get_tile_block_id")[0])
        f.op("return")
    return decode(encode(module.build()), file="hand-made")


def concrete(element: ScalarType) -> ConcreteLaunch:
    return launch((2, 1, 1), a=array(DTYPES[element][0], 6))


def after(element: ScalarType, build: Build) -> tuple[list[Any], list[BlockLog]]:
    module = made(element, build)
    contents = {"a": np.arange(6).astype(DTYPES[element][1])}
    run: GridRun = run_grid(
        module, module.entries[0], pointers("a"), concrete(element), contents, Budget(1 << 24)
    )  # fmt: skip
    return run.arrays["a"].tolist(), list(run.logs)


def test_a_load_that_reduces_over_one_member_is_a_load() -> None:
    def build(f: BodyBuilder, view: Value, block: Value) -> None:
        value, token = f.op("multimem_load_reduce_view_tko", view=view, index=[block], red="add", **ANY)
        double = f.op("addi", lhs=value, rhs=value)
        f.op("multimem_store_view_tko", view=view, tile=double, index=[block], token=token)

    elements, logs = after(I32, build)
    assert elements == [0, 2, 4, 6, 8, 10]
    for log, size in zip(logs, (4, 2), strict=True):
        load, store = log.accesses
        assert (load.kind, load.ordering, load.scope, load.writes) == ("load", "relaxed", "sys", None)
        assert (store.kind, store.ordering, store.scope, store.reads) == ("store", "weak", None, None)
        assert [access.footprints[0].addresses().size for access in log.accesses] == [size, size]
        assert load.orders(store)


@pytest.mark.parametrize(
    ("reduction", "element", "operand", "expected"),
    [
        ("add", I32, 10, [10, 11, 12, 13, 14, 15]),
        ("add", I32, -1, [-1, 0, 1, 2, 3, 4]),
        ("min", I32, -2, [-2] * 6),
        ("umin", I32, -2, [0, 1, 2, 3, 4, 5]),
        ("max", I32, 3, [3, 3, 3, 3, 4, 5]),
        ("umax", I32, -2, [-2] * 6),
        ("and", I32, 4, [0, 0, 0, 0, 4, 4]),
        ("or", I32, 4, [4, 5, 6, 7, 4, 5]),
        ("xor", I32, 1, [1, 0, 3, 2, 5, 4]),
        ("add", F32, 0x3F000000, [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]),
        ("add", F16, 0x3800, [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]),
    ],
)
def test_a_reduction_into_one_member_is_atomic(
    reduction: str, element: ScalarType, operand: int, expected: list[Any]
) -> None:
    def build(f: BodyBuilder, view: Value, block: Value) -> None:
        value = f.constant(tile(element, 4), operand)
        f.op("multimem_reduce_view_tko", view=view, tile=value, index=[block], red=reduction, **ANY)

    elements, logs = after(element, build)
    assert elements == expected
    for log in logs:
        (access,) = log.accesses
        assert (access.kind, access.ordering, access.scope) == ("atomic", "relaxed", "sys")
        assert access.reads is not None
        assert access.reads is access.writes


@pytest.mark.parametrize(("reduction", "element"), [("add", I8), ("and", F32), ("min", F16), ("umax", F16)])
def test_reductions_that_do_not_exist(reduction: str, element: ScalarType) -> None:
    def build(f: BodyBuilder, view: Value, block: Value) -> None:
        value = f.constant(tile(element, 4), 0)
        f.op("multimem_reduce_view_tko", view=view, tile=value, index=[block], red=reduction, **ANY)

    with pytest.raises(NotModelled, match=f"multimem_reduce_view_tko {reduction} of {element.name}"):
        after(element, build)


@pytest.mark.parametrize(("reduction", "exists"), [("min", True), ("max", True), ("umin", False)])
def test_half_floats_may_be_loaded_with_their_extremes(reduction: str, exists: bool) -> None:
    def build(f: BodyBuilder, view: Value, block: Value) -> None:
        f.op("multimem_load_reduce_view_tko", view=view, index=[block], red=reduction, **ANY)

    if exists:
        assert after(F16, build)[0] == [0, 1, 2, 3, 4, 5]
    else:
        with pytest.raises(NotModelled):
            after(F16, build)


def test_what_races_and_what_does_not() -> None:
    """Both blocks on the first tile: reductions do not race, stores do, and so does a load beside a reduction."""

    def races(name: str, **attributes: Any) -> bool:
        def build(f: BodyBuilder, view: Value, block: Value) -> None:
            first = f.constant(tile(I32), 0)
            parts: Parts = {} if "load" in name else {"tile": f.constant(tile(I32, 4), 1)}
            f.op(name, view=view, index=[first], **parts, **attributes)
            if "load" in name:
                value = f.constant(tile(I32, 4), 1)
                f.op("multimem_reduce_view_tko", view=view, tile=value, index=[first], red="add", **ANY)

        module = made(I32, build)
        check = Replayer(module, module.entries[0], pointers("a"))
        code = "TV101" if name == "multimem_store_view_tko" else "TV103"
        return check(concrete(I32), Claim(TV(code), (0, 0, 0), (1, 0, 0))) is not None

    assert races("multimem_store_view_tko")
    assert not races("multimem_store_view_tko", **ANY)
    assert not races("multimem_reduce_view_tko", red="add", **ANY)
    assert not races("multimem_load_reduce_view_tko", red="add", **ANY)
    assert races("multimem_load_reduce_view_tko", red="add")


def test_an_index_outside_is_undefined() -> None:
    def build(f: BodyBuilder, view: Value, block: Value) -> None:
        f.op("multimem_store_view_tko", view=view, tile=f.constant(tile(I32, 4), 1), index=[f.constant(tile(I32), 2)])

    elements, logs = after(I32, build)
    assert elements == [0, 1, 2, 3, 4, 5]
    assert [[event.code for event in log.events] for log in logs] == [["TV301"], ["TV301"]]
