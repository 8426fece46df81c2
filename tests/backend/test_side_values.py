"""Which elements both sides of a fault touch, and what they read and write at the first of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tileverify.backend.interpreter.rounding import from_bits
from tileverify.backend.replay.replay import Replayer
from tileverify.backend.replay.side_values import counting_floats
from tileverify.contract.element_types import ELEMENT_TYPES
from tileverify.contract.launch import ConcreteLaunch
from tileverify.frontend.bytecode.model import ScalarType
from tileverify.results import ABOUT, Elements, SeenValues, SideValue
from tileverify.results.claim import Claim, Confirmation
from tileverify.results.codes import TV

from .helpers import array, launch, replayer

A, B = (0, 0, 0), (1, 0, 0)


def seen(kernel: str, concrete: ConcreteLaunch, code: str) -> Confirmation:
    check: Replayer = replayer("values", kernel)
    found = check(concrete, Claim(TV(code), A, B if code < "TV2" else None))
    assert found is not None, check.last_reason
    return found


def values(kernel: str, concrete: ConcreteLaunch, code: str) -> SeenValues:
    found = seen(kernel, concrete, code).values()
    assert found is not None
    return found


def two(n: int = 32, dtype: str = "f32") -> ConcreteLaunch:
    return launch((2, 1, 1), x=array(dtype, n), out=array(dtype, n))


# --------------------------------------------------------------------------------------------- elements
def test_the_whole_tile_is_named() -> None:
    found = seen("tile_zero", two(), "TV101")
    assert (found.element, found.elements) == ("out[0:16]", Elements("out", ((0, 16),), 16))


def test_a_tile_is_clipped_to_its_array() -> None:
    concrete = launch((2, 1, 1), x=array("f32", 32), out=array("f32", 5))
    assert seen("tile_zero", concrete, "TV101").element == "out[0:5]"


def test_elements_that_form_no_box_are_counted() -> None:
    """Rows 4 apart that are 10 wide: elements 4 to 9 of the storage, which are 4 of row 1 and 2 of row 2."""
    found = replayer("racy", "rows_without_second_axis")(
        launch((3, 1, 1), out=array("f32", 3, 10, strides=(4, 1))), Claim(TV.RACE_WRITE_WRITE, A, B)
    )
    assert found is not None
    assert (found.element, found.elements) == ("out[1, 0] and 5 more", Elements("out", (), 6))


def test_lanes_that_meet_in_several_places() -> None:
    contents = dict(enumerate([0, 0, 20, 21, 2, 2, 2, 23, 40, 41, 42, 43, 44, 7, 7, 45]))
    concrete = launch((1, 1, 1), idx=array("i32", 16, contents=contents), out=array("f32", 64))
    found = replayer("racy", "scattered")(concrete, Claim(TV.DUPLICATE_LANES, A, None))
    assert found is not None
    assert (found.element, found.elements) == ("out[0] and 2 more", Elements("out", (), 3))


def test_what_lies_outside_is_named() -> None:
    concrete = launch((1, 1, 1), x=array("f32", 10), out=array("f32", 16))
    found = seen("past_the_end", concrete, "TV302")
    assert (found.element, found.byte) == ("x[10:16]", 40)
    missing = replayer("values", "tile_zero")(
        launch((2, 1, 1), x=array("f32", 16), out=array("f32", 16)), Claim(TV.TILE_OUT_OF_INDEX_SPACE, B, None)
    )
    assert missing is not None
    assert (missing.element, missing.elements) == ("x[16:32]", Elements("x", ((16, 32),), 16))


# ----------------------------------------------------------------------------------------------- values
def test_two_stores() -> None:
    """x counts from 1, so block 1 copies 17."""
    found = values("tile_zero", two(), "TV101")
    assert found == SeenValues("out[0]", (SideValue("a", "store", "1.0"), SideValue("b", "store", "17.0")), True)
    assert not found.equal


def test_equal_stores_are_a_race_all_the_same() -> None:
    found = values("one_value", two(), "TV101")
    assert [side.value for side in found.sides] == ["1.0", "1.0"]
    assert found.equal


def test_what_a_device_may_round_is_about_right_and_never_called_equal() -> None:
    found = values("exponential", two(), "TV101")
    assert [float(side.value.removeprefix(ABOUT)) for side in found.sides] == pytest.approx([np.exp(1), np.exp(17)])
    assert all(side.value.startswith(ABOUT) for side in found.sides)
    same = SeenValues("out[0]", (SideValue("a", "store", "about 2.0"), SideValue("b", "store", "about 2.0")))
    assert not same.equal


def test_what_the_specification_leaves_open_is_not_shown() -> None:
    """Of block 1's tile only the first element lies inside x, no padding fills the others, and the last goes to 0."""
    found = values("left_open", launch((2, 1, 1), x=array("f32", 17), out=array("f32", 16)), "TV101")
    assert found == SeenValues("out[0]", (SideValue("a", "store", "16.0"),), True)


def test_a_load_before_and_after_the_store() -> None:
    concrete = launch((3, 1, 1), x=array("f32", 48))
    check = replayer("values", "from_the_left")
    reading_first = check(concrete, Claim(TV.RACE_READ_WRITE, (2, 0, 0), B))
    assert reading_first is not None
    assert (reading_first.element, reading_first.first.access) == ("x[16:32]", "load")
    load, store = SideValue("a", "load", "17.0", "1.0"), SideValue("b", "store", "1.0")
    assert reading_first.values() == SeenValues("x[16]", (load, store), True)
    writing_first = check(concrete, Claim(TV.RACE_READ_WRITE, B, (2, 0, 0)))
    assert writing_first is not None
    store, load = SideValue("a", "store", "1.0"), SideValue("b", "load", "17.0", "1.0")
    assert writing_first.values() == SeenValues("x[16]", (store, load), True)


def test_two_lanes_of_one_store() -> None:
    concrete = launch((1, 1, 1), x=array("f32", 16), out=array("f32", 16))
    found = values("lanes_meet", concrete, "TV202")
    assert found == SeenValues("out[0]", (SideValue("a", "store", "1.0"), SideValue("b", "store", "2.0")), True)


def test_floats_that_steer_keep_what_the_witness_gives_them() -> None:
    """With arrays that count up no block would store anything."""
    found = values("steered", two(), "TV101")
    assert found == SeenValues("out[0]", (SideValue("a", "store", "5.0"), SideValue("b", "store", "5.0")), False)


def test_atomics_have_no_value_of_their_own() -> None:
    found = values("store_beside_atomic", launch((2, 1, 1), out=array("i32", 4)), "TV103")
    assert found == SeenValues("out[0]", (SideValue("a", "store", "7"),))


def test_looking_at_values_changes_no_verdict() -> None:
    check = replayer("values", "tile_zero")
    first = check(two(), Claim(TV.RACE_WRITE_WRITE, A, B))
    assert first is not None
    first.values()
    assert check(two(), Claim(TV.RACE_WRITE_WRITE, A, B)) == first


# --------------------------------------------------------------------------------------------- counting
@pytest.mark.parametrize(
    ("dtype", "period"),
    [("f64", 2039), ("f32", 2039), ("tf32", 2039), ("f16", 2039), ("bf16", 251), ("f8e4m3", 13), ("f8e5m2", 7)],
)
def test_counting_is_exact_in_every_format(dtype: str, period: int) -> None:
    concrete = launch((1, 1, 1), n=array("i32", 4), x=array(dtype, 3000), out=array(dtype, 3000))
    contents = counting_floats(concrete)
    assert contents.keys() == {"x", "out"}
    for name, start in (("x", 101), ("out", 202)):
        assert _floats(contents[name], dtype) == [1.0 + (start + i) % period for i in range(3000)]


def _floats(data: np.ndarray[Any, Any], dtype: str) -> list[float]:
    (name,) = ELEMENT_TYPES[dtype].tile_ir
    element = ScalarType(name, ELEMENT_TYPES[dtype].bits)
    floats: list[float] = from_bits(data.view(f"u{element.bytes}"), element).tolist()
    return floats


def test_arrays_with_contents_of_their_own_do_not_count() -> None:
    given = array("f32", 4, contents={0: 0x3F800000})
    shared = {"first": array("f32", 4, allocation="m"), "second": array("f16", 8, allocation="m")}
    assert counting_floats(launch((1, 1, 1), given=given, filled=array("f32", 4, fill=1), **shared)) == {}
    assert counting_floats(launch((1, 1, 1), huge=array("f32", 1 << 30), empty=array("f32", 0))) == {}
