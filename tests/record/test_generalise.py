"""Several launches of one specialisation as one with names for sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from tileverify.record.generalise import general_launches
from tileverify.record.recorded import RecordedSpecialisation


@dataclass(frozen=True)
class Found:
    """A `GeneralLaunch`, whose launch may be asked for any key."""

    positions: tuple[int, ...]
    launch: dict[str, Any]
    names: dict[str, tuple[int, ...]]
    grids: list[list[tuple[int | str, ...]]]


def array(shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> dict[str, Any]:
    if strides is None:
        steps = [1]
        for size in reversed(shape[1:]):
            steps.insert(0, steps[0] * size)
        strides = tuple(steps[: len(shape)])
    common = {"kind": "array", "dtype": "f16", "bits": 16, "index_bits": 32}
    return {**common, "shape": list(shape), "strides": list(strides)}


def scalar(value: Any, dtype: str = "i32") -> dict[str, Any]:
    return {"kind": "scalar", "dtype": dtype, "value": value}


def constant(value: int) -> dict[str, Any]:
    return {"kind": "constant", "value": value}


def promised(rank: int, shape: int = 1, stride: int = 1) -> dict[str, Any]:
    divisors = {"shape_divisible_by": [shape] * rank, "stride_divisible_by": [stride] * (rank - 1) + [1]}
    return {"kind": "array", **divisors, "base_addr_divisible_by": 16}


def general(
    *launches: tuple[list[int], list[dict[str, Any]]],
    names: list[str],
    signature: list[Any] | None = None,
    overlaps: list[list[dict[str, Any]]] | None = None,
) -> list[Found]:
    kinds = launches[0][1]
    plain = [promised(len(each["shape"])) if each["kind"] == "array" else {"kind": each["kind"]} for each in kinds]
    pairs = overlaps or [[] for _ in launches]
    entry = {
        "parameters": names,
        "signature": signature or plain,
        "launches": [
            {"grid": grid, "arguments": arguments, "overlaps": pair, "test": ""}
            for (grid, arguments), pair in zip(launches, pairs, strict=True)
        ],
    }
    found = general_launches(cast("RecordedSpecialisation", entry))
    return [
        Found(each.positions, dict(each.launch), each.names, [[grid.axes for grid in group] for group in each.grids])
        for each in found
    ]


def test_equal_numbers_share_a_name_and_constant_ones_stay() -> None:
    (found,) = general(
        ([2, 1, 1], [array((128, 64)), array((64, 32)), array((128, 32)), constant(64)]),
        ([4, 1, 1], [array((256, 16)), array((16, 32)), array((256, 32)), constant(64)]),
        names=["a", "b", "c", "tile"],
    )
    assert [each["shape"] for each in found.launch["arguments"][:3]] == [["a_0", "a_1"], ["a_1", 32], ["a_0", 32]]
    assert found.launch["arguments"][0]["strides"] is None
    assert found.launch["grid"] is None
    assert found.grids[0] == [("cdiv(a_0, 64)", 1, 1)]
    assert found.names == {"a_0": (128, 256), "a_1": (64, 16)}
    assert found.launch["remark"] == "launches 0, 1 in general: a_0 = 128, 256; a_1 = 64, 16"


def test_a_scalar_gives_its_name_to_the_size_that_it_is() -> None:
    (found,) = general(
        ([1, 1, 1], [array((7,)), scalar(7), scalar(7), scalar(3), scalar("0.5", "f32"), scalar(True, "bool")]),
        ([1, 1, 1], [array((9,)), scalar(9), scalar(9), scalar(3), scalar("1.5", "f32"), scalar(False, "bool")]),
        names=["x", "n", "m", "three", "scale", "flag"],
    )
    x, n, m, three, scale, flag = found.launch["arguments"]
    assert x["shape"] == ["n"]
    assert (n["tied"], m["tied"], three["tied"], scale["tied"], flag["tied"]) == (None, "n", 3, None, None)


def test_strides_are_products_of_sizes_or_names() -> None:
    (found,) = general(
        ([1, 1, 1], [array((2, 5, 7), (5, 1, 10)), array((5, 7), (100, 1)), array((5, 7), (16, 1))]),
        ([1, 1, 1], [array((3, 5, 9), (5, 1, 15)), array((5, 9), (100, 1)), array((5, 9), (24, 1))]),
        names=["x", "y", "z"],
    )
    x, y, z = found.launch["arguments"]
    assert (x["shape"], x["strides"]) == (["x_0", 5, "x_2"], [5, 1, "x_0 * 5"])
    assert (y["shape"], y["strides"]) == ([5, "x_2"], [100, 1])
    assert z["strides"] == ["z_stride_0", 1]


def test_what_the_compiler_was_promised_becomes_a_fact() -> None:
    signature = [promised(2, shape=16, stride=8), promised(2, stride=8), promised(2, stride=16)]
    (found,) = general(
        ([1, 1, 1], [array((32, 48)), array((5, 24)), array((7, 2), (2 * 48, 1))]),
        ([1, 1, 1], [array((64, 16)), array((5, 40)), array((7, 2), (2 * 16, 1))]),
        names=["x", "y", "z"],
        signature=signature,
    )
    assert found.launch["arguments"][2]["strides"] == ["z_stride_0", 1]
    assert found.launch["requires"] == ["x_0 % 16 == 0", "x_1 % 16 == 0", "y_1 % 8 == 0", "z_stride_0 % 16 == 0"]


def test_only_launches_that_differ_in_numbers_alone_are_one() -> None:
    same = [{"first": "x", "second": "y", "same": True}]
    launches = [([n, 1, 1], [array((n,)), array((n,))]) for n in (4, 5, 6, 7)]
    found = general(*launches, names=["x", "y"], overlaps=[[], same, [], same])
    assert [each.positions for each in found] == [(0, 2), (1, 3)]
    assert found[1].launch["overlaps"] == same
    floats = [([1, 1, 1], [array((4,)), scalar(value, "f32")]) for value in ("0.5", "1.5")]
    assert general(*floats, names=["x", "s"]) == []


def test_a_grid_that_fits_nothing_is_any_grid() -> None:
    (found,) = general(
        ([17, 1, 1], [array((4,))]),
        ([13, 2, 1], [array((5,))]),
        names=["x"],
    )
    assert found.launch["grid"] is None
    assert found.grids == []


def test_names_are_those_of_no_parameter_and_no_function() -> None:
    (found,) = general(
        ([1, 1, 1], [array((4,)), scalar(3), scalar(8), array((3,))]),
        ([1, 1, 1], [array((5,)), scalar(3), scalar(9), array((6,))]),
        names=["x", "x_0", "min", "y"],
    )
    assert found.launch["arguments"][0]["shape"] == ["x_0_"]
    assert found.launch["arguments"][2]["tied"] is None
    assert found.names == {"x_0_": (4, 5), "y_0": (3, 6)}


def test_tuples_are_taken_apart_and_lists_left_alone() -> None:
    def pair(n: int) -> dict[str, Any]:
        return {"kind": "tuple", "items": [array((n,)), scalar(n)]}

    signature = [{"kind": "tuple", "items": [promised(1, shape=16), {"kind": "scalar"}]}]
    (found,) = general(([1, 1, 1], [pair(16)]), ([1, 1, 1], [pair(32)]), names=["p"], signature=signature)
    first, second = found.launch["arguments"][0]["items"]
    assert (first["shape"], second["tied"]) == (["p_0_0"], "p_0_0")
    assert found.launch["requires"] == ["p_0_0 % 16 == 0"]
    lists = [([1, 1, 1], [{"kind": "list", "items": [array((n,))]}]) for n in (4, 5)]
    assert general(*lists, names=["xs"], signature=[{"kind": "list"}]) == []
