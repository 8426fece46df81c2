"""The TOML of recorded launches, read back by the parser of launch specs."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from tileverify.contract.arguments import parse_description
from tileverify.contract.as_table import NotExpressible, launch_table


def array(shape: list[int], strides: list[int], dtype: str = "f16", index_bits: int = 32) -> dict[str, Any]:
    return {"kind": "array", "dtype": dtype, "shape": shape, "strides": strides, "index_bits": index_bits, "bits": 16}


def constant(value: Any, kind: str | None = None) -> dict[str, Any]:
    return {"kind": "constant", "value": value, **({"type": kind} if kind else {})}


def arguments(*described: dict[str, Any], constants: bool = True) -> dict[str, Any]:
    names = [f"a{position}" for position in range(len(described))]
    launch = {"grid": [2, 3, 1], "arguments": described, "overlaps": [], "test": ""}
    (table,) = tomllib.loads(launch_table("k", names, launch, constants=constants, name="0"))["launch"]
    assert table["grid"] == ["2", "3"]
    found: dict[str, Any] = table["args"]
    return found


def test_a_list_that_overlaps_itself_is_a_group_of_its_own() -> None:
    items = {"kind": "list", "items": [array([8], [1])]}
    pairs = [{"first": "xs", "second": "xs", "same": False}, {"first": "xs", "second": "y", "same": False}]
    launch = {"grid": [1, 1, 1], "arguments": [items, array([8], [1])], "overlaps": pairs, "test": ""}
    (table,) = tomllib.loads(launch_table("k", ["xs", "y"], launch, constants=True, name="0"))["launch"]
    assert table["overlap"] == [["xs"], ["xs", "y"]]


@pytest.mark.parametrize(
    ("described", "text"),
    [
        (array([64, 128], [128, 1]), "f16[64, 128]"),
        (array([1, 128], [7, 1]), "f16[1, 128]"),
        (array([64, 1], [1, 1]), "f16[64, 1]"),
        (array([64, 128], [200, 1]), "f16[64, 128; strides=(200, 1)]"),
        (array([64], [2]), "f16[64; strides=(2,)]"),
        (array([4, 4], [0, 1]), "f16[4, 4; strides=(0, 1)]"),
        (array([], []), "f16[]"),
        (array([8], [1], dtype="bool", index_bits=64), "bool[8; index=i64]"),
        ({"kind": "scalar", "dtype": "i32", "value": -5}, "i32 = -5"),
        ({"kind": "scalar", "dtype": "bool", "value": True}, "bool = 1"),
        ({"kind": "scalar", "dtype": "f32", "value": "0.5"}, "f32"),
    ],
)
def test_descriptions_are_what_the_reader_of_specs_accepts(described: dict[str, Any], text: str) -> None:
    assert arguments(described)["a0"] == text
    assert parse_description("a0", text).name == "a0"


def test_constants_have_their_values_in_source_specs_only() -> None:
    described = [
        constant(128),
        constant(True),
        constant("0.1", "float"),
        constant("inf", "float"),
        constant(None),
        constant("ct.float16", "dtype"),
        constant('say "hi"\n'),
    ]
    found = arguments(*described)
    assert list(found.values()) == [128, True, 0.1, float("inf"), "None", "ct.float16", 'say "hi"\n']
    assert arguments(*described, constants=False) == {}


def test_tuples_lists_and_dataclasses() -> None:
    pair = {"kind": "tuple", "items": [array([4], [1]), constant(3)]}
    fields = {"kind": "tuple", "items": [array([4], [1]), constant(3)], "fields": ["x", "n"]}
    only_constants = {"kind": "tuple", "items": [constant(1), constant(2)]}
    rows = {"kind": "list", "items": [array([4, 8], [8, 1]), array([5, 8], [8, 1])]}
    strided = {"kind": "list", "items": [array([4, 8], [9, 1]), array([4, 8], [16, 1])]}
    found = arguments(pair, fields, only_constants, rows, strided)
    assert found == {
        "a0": ["f16[4]", 3],
        "a1": {"x": "f16[4]", "n": 3},
        "a2": [1, 2],
        "a3": {"list": "f16[a3_size_0, 8]", "length": "2", "elements": ["f16[4, 8]", "f16[5, 8]"]},
        "a4": {
            "list": "f16[4, 8; strides=(a4_stride_0, 1)]",
            "length": "2",
            "elements": ["f16[4, 8; strides=(9, 1)]", "f16[4, 8; strides=(16, 1)]"],
        },
    }
    bytecode = arguments(pair, fields, only_constants, constants=False)
    assert bytecode == {"a0": ["f16[4]"], "a1": {"x": "f16[4]"}}


def test_what_the_compiler_was_promised_of_every_array_of_a_list() -> None:
    """Where they lie, and strides that are not said in numbers; in a tuple, under the path of the list."""
    alike = {"kind": "list", "items": [array([4, 8], [8, 1]), array([4, 8], [8, 1])]}
    unlike = {"kind": "list", "items": [array([4, 8], [16, 1]), array([4, 8], [24, 1])]}
    element = {"base_addr_divisible_by": 16, "stride_divisible_by": [16, 1], "shape_divisible_by": [1, 1]}
    promised, plain = {"element": element}, {"element": {**element, "base_addr_divisible_by": 1}}
    signature: list[dict[str, Any]] = [promised, {"items": [promised, plain]}]
    pair = {"kind": "tuple", "items": [unlike, alike]}
    launch = {"grid": [1, 1, 1], "arguments": [alike, pair], "overlaps": [], "test": ""}
    text = launch_table("k", ["xs", "pair"], launch, constants=True, name="0", signature=signature)
    (table,) = tomllib.loads(text)["launch"]
    assert table["requires"] == [
        "xs.address % 16 == 0",
        "pair[0].address % 16 == 0",
        "pair[0].strides[0] % 8 == 0",
    ]


@pytest.mark.parametrize(
    "described",
    [
        {"kind": "opaque", "type": "StreamConstraint"},
        constant("<Color.RED: 1>", "Color"),
        constant("None"),
        constant("ct.float16"),
        {"kind": "list", "items": []},
        {"kind": "list", "items": [array([4], [1]), array([4, 4], [4, 1])]},
    ],
)
def test_what_specs_cannot_say_is_refused(described: dict[str, Any]) -> None:
    with pytest.raises(NotExpressible):
        arguments(described)
