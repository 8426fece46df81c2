"""Translated kernels leave memory as Triton's own interpreter does, on Triton IR that is stored beside the tests."""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
import pytest

from tileverify.frontend.triton.translate import COMBINING, CONTROL, PURE
from tileverify.frontend.triton.ttir import TritonOp, TritonRegion
from tileverify.frontend.triton.ttir_memory import RULES
from tileverify.frontend.triton.ttir_reader import read_ttir

from .stored import DATA, differences, executed, races, stored_file, stored_launch

NAMES: Final = sorted(file.stem for file in DATA.glob("*.ttir"))


@pytest.mark.parametrize("name", NAMES)
def test_memory_is_left_as_triton_leaves_it(name: str) -> None:
    launch = stored_file(name)
    assert not differences(launch, executed(launch))


@pytest.mark.parametrize("name", NAMES)
def test_the_accesses_of_a_program_are_in_order(name: str) -> None:
    assert not {code for code in races(stored_file(name)) if code.startswith("TV2")}


@pytest.mark.parametrize("name", ["in_place_3", "counter", "flagged", "functions", "early", "branches", "atomics_u32"])
def test_without_an_order_of_ours_numbers_are_the_same(name: str) -> None:
    launch = stored_file(name)
    for order in ("triton", "most"):
        assert not differences(launch, executed(launch, order))


def test_triton_orders_no_accesses_of_one_place() -> None:
    assert "TV201" in races(stored_file("in_place_1"), "triton")


def test_each_file_says_what_changes() -> None:
    for name in NAMES:
        launch = stored_file(name)
        changed = [
            key for key, after in launch.after.items() if after.tobytes() != launch.arrays[key].elements.tobytes()
        ]
        assert changed, name
        assert set(changed) == set(launch.after), name


def test_a_file_is_read_as_it_was_written() -> None:
    for name in NAMES:
        launch = stored_file(name)
        again = stored_launch(launch.text().split("\nmodule")[0] + "\nmodule" + launch.ttir.split("\nmodule", 1)[1])
        assert again.grid == launch.grid
        assert again.scalars == launch.scalars
        for key, array in launch.arrays.items():
            assert np.array_equal(
                again.arrays[key].elements, array.elements, equal_nan=array.elements.dtype.kind == "f"
            )


def test_a_difference_is_seen() -> None:
    launch = stored_file("integers_u8")
    found = executed(launch)
    found["out"][3] ^= 1
    assert differences(launch, found) == [
        f"out[3] is {found['out'][3]}, not {launch.after['out'][3]}; 1 of {found['out'].size} differ"
    ]


# --------------------------------------------------------------------------------------------------- coverage
NOT_STORED: Final = {
    "arith.ceildivsi", "arith.ceildivui", "arith.floordivsi", "arith.bitcast", "gpu.barrier", "math.atan2",
    "math.cosh", "math.erf", "math.expm1", "math.log1p", "math.powf", "math.sinh", "math.tan", "math.tanh",
    "tt.elementwise_inline_asm", "tt.extern_elementwise", "tt.print", "tt.unsplat",
    "tt.int_to_ptr",
}  # fmt: skip
"""Ops that Triton 3.9 does not make of its language, whose values nothing here knows, or that do nothing."""


def _ops(region: TritonRegion) -> list[TritonOp]:
    own = [op for block in region.blocks for op in block.ops]
    return own + [op for each in own for inner in each.regions for op in _ops(inner)]


def test_each_translated_op_is_in_a_stored_launch() -> None:
    seen: Counter[str] = Counter()
    for name in NAMES:
        for function in read_ttir(stored_file(name).ttir, name).functions.values():
            seen.update(op.name for op in _ops(function.body))
    rules = {*PURE, *RULES, *COMBINING, *CONTROL}
    assert rules - set(seen) <= NOT_STORED, sorted(rules - set(seen) - NOT_STORED)
    assert not NOT_STORED & set(seen), sorted(NOT_STORED & set(seen))


# -------------------------------------------------------------------------------------------------- data flow
CALLED: Final = """// grid: 1 1 1
// array x i32: 1 * 8
module {
  tt.func private @f(%a: tensor<8xi32>, %q: tensor<8x!tt.ptr<i32>>) {
    tt.store %q, %a : tensor<8x!tt.ptr<i32>>
    tt.return
  }
  tt.func public @k(%x: !tt.ptr<i32>) {
    %c = arith.constant dense<2> : tensor<8xi32>
    %i = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %s = tt.splat %x : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
    %p = tt.addptr %s, %i : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
    %a = tt.load %p : tensor<8x!tt.ptr<i32>>
    tt.call @f(VALUE, %p) : (tensor<8xi32>, tensor<8x!tt.ptr<i32>>) -> ()
    tt.return
  }
}
"""


@pytest.mark.parametrize(("value", "ordered"), [("%a", True), ("%c", False)])
def test_a_function_shares_no_name_with_its_caller(value: str, ordered: bool) -> None:
    """A store follows a load whose value it stores; ``%a`` of the function is not ``%a`` of the kernel."""
    found = races(stored_launch(CALLED.replace("VALUE", value)), "triton")
    assert found == (set() if ordered else {"TV201"})


LOOPED: Final = """// grid: 1 1 1
// array x i32: 1 * 8
module {
  tt.func public @k(%x: !tt.ptr<i32>) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c = arith.constant dense<2> : tensor<8xi32>
    %i = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %s = tt.splat %x : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
    %p = tt.addptr %s, %i : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
    %w:2 = scf.while (%n = %zero, %v = %c) : (i32, tensor<8xi32>) -> (i32, tensor<8xi32>) {
      %a = tt.load %p : tensor<8x!tt.ptr<i32>>
      %more = arith.cmpi slt, %n, %one : i32
      scf.condition(%more) %n, %c : i32, tensor<8xi32>
    } do {
    ^bb0(%n: i32, %a: tensor<8xi32>):
      tt.store %p, %a : tensor<8x!tt.ptr<i32>>
      ttg.barrier all
      scf.yield %one, %c : i32, tensor<8xi32>
    }
    tt.return
  }
}
"""


def test_the_regions_of_a_while_share_no_name() -> None:
    assert races(stored_launch(LOOPED), "triton") == {"TV201"}
