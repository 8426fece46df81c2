"""Tile ops: what they do to lanes, and what becomes of values that the specification leaves open."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tileverify.backend.interpreter import UnspecifiedUse, reductions
from tileverify.backend.interpreter.values import APPROXIMATE, UNSPECIFIED, Tile, UndefinedStop
from tileverify.frontend.bytecode.builder import BF16, F16, F32, I1, I8, I16, I32, BodyBuilder, pointer, tile
from tileverify.frontend.bytecode.model import (
    Bounded,
    DivBy,
    FloatAttribute,
    IntegerAttribute,
    SameElements,
    ScalarType,
    Value,
)

from .helpers import lanes, run_ops


def grid(f: BodyBuilder, rows: int, columns: int, start: int = 0) -> Value:
    return f.constant(tile(I32, rows, columns), *range(start, start + rows * columns))


def scalar(f: BodyBuilder, value: int) -> Value:
    return f.constant(tile(I32), value)


def test_moves() -> None:
    assert lanes(lambda f: f.op("iota", results=[tile(I8, 4)])) == [0, 1, 2, 3]
    assert lanes(lambda f: f.op("permute", s=grid(f, 2, 4), perm=(1, 0), results=[tile(I32, 4, 2)])) == [
        [0, 4], [1, 5], [2, 6], [3, 7],
    ]  # fmt: skip
    assert lanes(lambda f: f.op("reshape", s=grid(f, 2, 2), results=[tile(I32, 4)])) == [0, 1, 2, 3]
    assert lanes(lambda f: f.op("broadcast", s=f.constant(tile(I32, 2, 1), 5, 6), results=[tile(I32, 2, 2)])) == [
        [5, 5],
        [6, 6],
    ]
    assert lanes(lambda f: f.op("cat", lhs=grid(f, 1, 2), rhs=grid(f, 1, 2, 8), dim=1, results=[tile(I32, 1, 4)])) == [
        [0, 1, 8, 9]
    ]


def test_permute_three_dimensions() -> None:
    """result.shape[i] = source.shape[perm[i]]."""
    values = np.arange(2 * 4 * 8).reshape(2, 4, 8)
    found = lanes(
        lambda f: f.op(
            "permute", s=f.constant(tile(I32, 2, 4, 8), *range(64)), perm=(2, 0, 1), results=[tile(I32, 8, 2, 4)]
        )
    )
    assert found == [[[int(values[j, k, i]) for k in range(4)] for j in range(2)] for i in range(8)]


def test_subtiles() -> None:
    def extract(f: BodyBuilder, row: int, column: int) -> Value:
        index = [scalar(f, row), scalar(f, column)]
        value: Value = f.op("extract", s=grid(f, 4, 4), index=index, results=[tile(I32, 2, 1)])
        return value

    assert lanes(lambda f: extract(f, 1, 3)) == [[11], [15]]
    with pytest.raises(UndefinedStop):
        lanes(lambda f: extract(f, 2, 0))
    assert lanes(
        lambda f: f.op(
            "insert", s=f.constant(tile(I32, 1, 2), 7, 8), dest=grid(f, 2, 2), index=[scalar(f, 1), scalar(f, 0)]
        )
    ) == [[0, 1], [7, 8]]


def test_pack_is_little_endian() -> None:
    assert lanes(lambda f: f.op("pack", s=f.constant(tile(I16, 2), 0x0201, 0x0403), results=[tile(I8, 4)])) == [
        1,
        2,
        3,
        4,
    ]
    assert lanes(lambda f: f.op("unpack", s=f.constant(tile(I8, 4), 1, 2, 3, 4), results=[tile(I16, 2)])) == [
        0x0201,
        0x0403,
    ]


def test_reduce_and_scan() -> None:
    zero = [IntegerAttribute(I32, 0)]

    def reduced(f: BodyBuilder, dim: int) -> Value:
        with f.reduce([grid(f, 2, 4)], dim, zero) as body:
            f.op("yield", args=[f.op("addi", lhs=body.arguments[0], rhs=body.arguments[1])])
        return body.results[0]

    assert lanes(lambda f: reduced(f, 0)) == [4, 6, 8, 10]
    assert lanes(lambda f: reduced(f, 1)) == [6, 22]

    def scanned(f: BodyBuilder, reverse: bool) -> Value:
        with f.scan([grid(f, 2, 4)], 1, zero, reverse=reverse) as body:
            f.op("yield", args=[f.op("addi", lhs=body.arguments[0], rhs=body.arguments[1])])
        return body.results[0]

    assert lanes(lambda f: scanned(f, False)) == [[0, 1, 3, 6], [4, 9, 15, 22]]
    assert lanes(lambda f: scanned(f, True)) == [[6, 6, 5, 3], [22, 18, 13, 7]]


_PATTERNS = {F16: (0x8000, 0x7C00, 0xFE01, 0x0001), BF16: (0x8000, 0xFF80, 0x7FC1, 0x0080), F32: (1 << 31, 0x7FC00001)}


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("element", _PATTERNS)
@pytest.mark.parametrize(
    ("name", "flag"), [*product(("addf", "mulf"), ("", "ftz")), *product(("maxf", "minf"), ("", "nan", "ftz"))]
)
def test_reductions_at_once_give_what_their_bodies_do(
    name: str, flag: str, element: ScalarType, approximate: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = np.random.default_rng(7)
    drawn = source.integers(0, 1 << element.bits, (4, 8))
    values = np.where(source.random((4, 8)) < 0.3, source.choice(_PATTERNS[element], (4, 8)), drawn)

    def reduced(f: BodyBuilder) -> Value:
        numbers = f.constant(tile(element, 4, 8), *values.reshape(-1).tolist())
        if approximate:
            numbers = f.op("exp", s=numbers)
        with f.reduce([numbers], 1, [FloatAttribute(element, 0)]) as body:
            parts: dict[str, Any] = {"rnd": "nearest_even"} if name in ("addf", "mulf") else {}
            f.op(
                "yield",
                args=[f.op(name, lhs=body.arguments[0], rhs=body.arguments[1], flags=[flag] if flag else [], **parts)],
            )
        return body.results[0]

    _, (at_once,) = run_ops(reduced)
    with monkeypatch.context() as patched:
        patched.setattr(reductions, "_halving", lambda *_: pytest.fail("no reduction at once"))
        if flag != "ftz":
            run_ops(reduced)
    monkeypatch.setattr(reductions, "_at_once", lambda *_: None)
    _, (one_by_one,) = run_ops(reduced)
    assert at_once.data.dtype == one_by_one.data.dtype
    assert at_once.data.tobytes() == one_by_one.data.tobytes()
    taints = [np.broadcast_to(0 if each.taint is None else each.taint, 4).tolist() for each in (at_once, one_by_one)]
    assert taints[0] == taints[1]


_NEUTRAL = {"muli": 1, "andi": -1, "maxi": -(1 << 31), "mini": (1 << 31) - 1}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", sorted(reductions.EXACT))
def test_scans_in_doubling_steps_give_what_a_scan_step_by_step_does(
    name: str, reverse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = np.random.default_rng(11).integers(0, 1 << 32, 64).tolist()
    signed: dict[str, Any] = {"sgn": "signed"} if name in ("maxi", "mini") else {}

    def scanned(f: BodyBuilder) -> Value:
        numbers = f.constant(tile(I32, 4, 16), *drawn)
        ones = f.constant(tile(F32, 4, 16), *[0x3F800000 if each % 3 else 0x41000000 for each in range(64)])
        marked = f.op("ftoi", s=f.op("exp", s=ones), sgn="signed", results=[tile(I32, 4, 16)])
        some = f.constant(tile(I1, 4, 16), *[int(each % 16 in (5, 9)) for each in range(64)])
        numbers = f.op("select", c=some, t=marked, f=numbers)
        with f.scan([numbers], 1, [IntegerAttribute(I32, _NEUTRAL.get(name, 0))], reverse=reverse) as body:
            one, other = body.arguments
            f.op("yield", args=[f.op(name, lhs=other, rhs=one, **signed)])
        return body.results[0]

    _, (doubling,) = run_ops(scanned)
    monkeypatch.setattr(reductions, "EXACT", frozenset())
    _, (stepwise,) = run_ops(scanned)
    assert np.array_equal(doubling.data, stepwise.data)
    assert doubling.data.dtype == stepwise.data.dtype
    assert doubling.taint is not None
    assert stepwise.taint is not None
    assert set(np.unique(doubling.taint)) == {0, APPROXIMATE}
    assert np.array_equal(doubling.taint, stepwise.taint)


@pytest.mark.parametrize("taken", [(0, 0), (0, 1)])
@pytest.mark.parametrize("name", ["subi", "addi"])
def test_a_reduction_that_depends_on_its_order_is_marked(name: str, taken: tuple[int, int]) -> None:
    def minus(f: BodyBuilder) -> Value:
        with f.reduce([grid(f, 1, 4)], 1, [IntegerAttribute(I32, 0)]) as body:
            lhs, rhs = (body.arguments[each] for each in taken)
            f.op("yield", args=[f.op(name, lhs=lhs, rhs=rhs)])
        return body.results[0]

    _, (result,) = run_ops(minus)
    if name == "addi" and taken == (0, 1):
        assert result.taint is None
    elif name == "subi" and taken == (0, 0):
        assert result.data.tolist() == [0]
    else:
        assert result.taint is not None
        assert int(result.taint.max()) == UNSPECIFIED


@pytest.mark.parametrize("combine", ["reduce", "scan"])
@pytest.mark.parametrize("name", sorted(reductions.EXACT))
def test_a_wrong_identity_leaves_results_open(name: str, combine: str) -> None:
    """How often it takes part is the implementation's."""
    signed: dict[str, Any] = {"sgn": "signed"} if name in ("maxi", "mini") else {}

    def combined(f: BodyBuilder, identity: int) -> Value:
        with getattr(f, combine)(
            [f.constant(tile(I32, 1, 4), 7, 13, 15, 9)], 1, [IntegerAttribute(I32, identity)]
        ) as body:
            f.op("yield", args=[f.op(name, lhs=body.arguments[0], rhs=body.arguments[1], **signed)])
        result: Value = body.results[0]
        return result

    _, (right,) = run_ops(lambda f: combined(f, _NEUTRAL.get(name, 0)))
    assert right.taint is None
    wrong = {"andi": 0, "maxi": 100, "mini": -1}.get(name, 1 << 20)
    _, (left_open,) = run_ops(lambda f: combined(f, wrong))
    assert left_open.taint is not None
    assert (left_open.taint == UNSPECIFIED).all()
    assert np.array_equal(left_open.data, right.data)


@pytest.mark.parametrize(
    ("name", "identity", "mark"),
    [
        ("addf", 0x00000000, APPROXIMATE),
        ("addf", 0x3F800000, APPROXIMATE | UNSPECIFIED),  # a sum that begins at 1
        ("mulf", 0x3F800000, APPROXIMATE),
        ("mulf", 0x00000000, APPROXIMATE | UNSPECIFIED),
        ("maxf", 0xFF800000, 0),
        ("maxf", 0x3F000000, 0),  # below all lanes, which is as good for them
        ("maxf", 0x41200000, UNSPECIFIED),
    ],
)
def test_a_wrong_identity_of_floats(name: str, identity: int, mark: int) -> None:
    def reduced(f: BodyBuilder) -> Value:
        numbers = f.constant(tile(F32, 1, 4), 0x3F800000, 0x40000000, 0x40400000, 0x3F800000)
        with f.reduce([numbers], 1, [FloatAttribute(F32, identity)]) as body:
            f.op("yield", args=[f.op(name, lhs=body.arguments[0], rhs=body.arguments[1])])
        return body.results[0]

    _, (result,) = run_ops(reduced)
    assert (0 if result.taint is None else int(result.taint.max())) == mark


def test_what_a_reduction_hands_on_beside_its_sum_is_marked() -> None:
    """Which of the second input's lanes is left depends on the order."""

    def with_a_passenger(f: BodyBuilder) -> Value:
        zeros = [IntegerAttribute(I32, 0)] * 2
        with f.reduce([grid(f, 1, 4), grid(f, 1, 4)], 1, zeros) as body:
            left, right, passenger, _ = body.arguments
            f.op("yield", args=[f.op("addi", lhs=left, rhs=right), passenger])
        return body.results[1]

    _, (result,) = run_ops(with_a_passenger)
    assert result.taint is not None


def test_integer_matrix_product() -> None:
    def product(f: BodyBuilder, left: str, right: str) -> Value:
        value: Value = f.op(
            "mmai",
            lhs=f.constant(tile(I8, 1, 2), -1, 2),
            rhs=f.constant(tile(I8, 2, 1), 3, -4),
            acc=f.constant(tile(I32, 1, 1), 100),
            sl=left,
            sr=right,
        )
        return value

    assert lanes(lambda f: product(f, "signed", "signed")) == [[100 - 3 - 8]]
    assert lanes(lambda f: product(f, "unsigned", "signed")) == [[100 + 255 * 3 - 8]]
    assert lanes(lambda f: product(f, "signed", "unsigned")) == [[100 - 3 + 2 * 252]]


# ------------------------------------------------------------------------------------------- promises
@pytest.mark.parametrize(
    ("predicate", "values", "kept"),
    [
        (Bounded(0, None), (0, 5, 9, 1), True),
        (Bounded(0, None), (0, 5, -1, 1), False),
        (Bounded(-4, 4), (-4, 4, 0, 1), True),
        (Bounded(None, 4), (5, 0, 0, 0), False),
        (DivBy(16), (0, 16, 32, -16), True),
        (DivBy(16), (0, 16, 33, -16), False),
        (DivBy(4, 2, 0), (4, 5, 8, 9), True),
        (DivBy(4, 2, 0), (4, 6, 8, 9), False),
        (DivBy(4, 2, 0), (4, 5, 9, 10), False),
        (DivBy(4, 4, 0), (-4, -3, -2, -1), True),
        (SameElements((2,)), (3, 3, 7, 7), True),
        (SameElements((2,)), (3, 3, 7, 8), False),
    ],
)
def test_assume(predicate: object, values: tuple[int, ...], kept: bool) -> None:
    run, (result,) = run_ops(lambda f: f.op("assume", s=f.constant(tile(I32, 4), *values), pred=predicate))
    assert [event.code for event in run.log.events] == ([] if kept else ["TV401"])
    assert result.data.astype(np.int32).tolist() == list(values)


# ---------------------------------------------------------------------------------------- open values
def unknown(f: BodyBuilder, *shape: int) -> Value:
    """Lanes of fresh local memory: unspecified."""
    local = f.op("alloca", num_elem=16, align=4, results=[tile(pointer(I32))])
    value: Value
    value, _ = f.op("load_ptr_tko", ptr=local)
    if not shape:
        return value
    value = f.op("reshape", s=value, results=[tile(I32, *([1] * len(shape)))])
    spread: Value = f.op("broadcast", s=value, results=[tile(I32, *shape)])
    return spread


def marks(tile_: Tile) -> list[int]:
    taint = np.zeros((), np.uint8) if tile_.taint is None else tile_.taint
    result: list[int] = np.broadcast_to(taint, tile_.data.shape).tolist()
    return result


def test_open_values_spread_lane_by_lane() -> None:
    def build(f: BodyBuilder) -> list[Value]:
        known, open_ = f.constant(tile(I32, 2), 1), unknown(f, 2)
        mixed = f.op("select", c=f.constant(tile(I1, 2), 1, 0), t=known, f=open_)
        total = f.op("addi", lhs=mixed, rhs=known)
        both = f.op("cat", lhs=total, rhs=known, dim=0, results=[tile(I32, 4)])
        return [mixed, total, both]

    _, (mixed, total, both) = run_ops(build)
    assert marks(mixed) == marks(total) == [0, UNSPECIFIED]
    assert marks(both) == [0, UNSPECIFIED, 0, 0]


def test_open_values_stop_branches_and_break_no_promise() -> None:
    def branch(f: BodyBuilder) -> Value:
        open_ = unknown(f)
        with f.if_(f.op("cmpi", lhs=open_, rhs=open_, pred="equal")) as made, made.then():
            f.op("yield", args=[])
        return open_

    with pytest.raises(UnspecifiedUse, match="reaches the branch of if"):
        run_ops(branch)
    run, _ = run_ops(lambda f: f.op("divi", lhs=f.constant(tile(I32), 1), rhs=unknown(f), sgn="signed"))
    assert run.log.events == []
    run, _ = run_ops(lambda f: f.op("assume", s=unknown(f, 2), pred=Bounded(5, 6)))
    assert run.log.events == []


def test_an_open_mask_leaves_lanes_out() -> None:
    """Lane 0 is certain, lane 1 may or may not store: afterwards the whole memory is open."""

    def build(f: BodyBuilder) -> list[Value]:
        local = f.op("alloca", num_elem=2, align=4, results=[tile(pointer(I32))])
        places = f.op("reshape", s=local, results=[tile(pointer(I32), 1)])
        places = f.op("broadcast", s=places, results=[tile(pointer(I32), 2)])
        places = f.op("offset", ptr=places, off=f.op("iota", results=[tile(I32, 2)]))
        seven = f.constant(tile(I32, 2), 7)
        first = f.op("store_ptr_tko", ptr=places, val=seven)
        before, token = f.op("load_ptr_tko", ptr=places, token=first)
        choice = f.op("select", c=f.constant(tile(I1, 2), 1, 0), t=seven, f=unknown(f, 2))
        mask = f.op("cmpi", lhs=choice, rhs=seven, pred="equal")
        last = f.op("store_ptr_tko", ptr=places, val=seven, mask=mask, token=token)
        after, _ = f.op("load_ptr_tko", ptr=places, token=last)
        return [before, after]

    run, (before, after) = run_ops(build)
    assert marks(before) == [0, 0]
    assert marks(after) == [UNSPECIFIED, UNSPECIFIED]
    stored = [access for access in run.log.accesses if access.kind == "store"]
    assert [access.footprints[0].addresses().size for access in stored] == [2, 1]
    assert len(run.log.left_out) == 1


def test_masked_lanes() -> None:
    def build(f: BodyBuilder) -> list[Value]:
        local = f.op("alloca", num_elem=2, align=4, results=[tile(pointer(F32))])
        places = f.op("reshape", s=local, results=[tile(pointer(F32), 1)])
        places = f.op("broadcast", s=places, results=[tile(pointer(F32), 2)])
        one = f.constant(tile(F32, 2), 0x3F800000)
        token = f.op("store_ptr_tko", ptr=places, val=one)
        mask = f.constant(tile(I1, 2), 1, 0)
        bare, _ = f.op("load_ptr_tko", ptr=places, mask=mask, token=token)
        padded, _ = f.op("load_ptr_tko", ptr=places, mask=mask, pad=f.constant(tile(F32, 2), 0xBF800000), token=token)
        return [bare, padded]

    _, (bare, padded) = run_ops(build)
    assert marks(bare) == [0, UNSPECIFIED]
    assert (padded.data.tolist(), marks(padded)) == ([1.0, -1.0], [0, 0])
