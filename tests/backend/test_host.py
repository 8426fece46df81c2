"""What a kernel tells the host: formatted prints, failed assertions.

``observed/printed.json`` holds what an H100 printed (driver 580.159.04, tileiras 13.4.92): format, element type, shape,
bits of the lanes, text.  Lanes with NaNs of negative sign and conversions that the specification leaves undefined are
not in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tileverify.backend.interpreter import BlockLog, Budget, Memory, bind_launch, run_block
from tileverify.backend.interpreter.host import UNDEFINED_TEXT
from tileverify.frontend.bytecode.builder import F32, I1, I32, I64, TOKEN, BodyBuilder, pointer, scalar, tile
from tileverify.frontend.bytecode.model import Value

from .helpers import array, hand_made, launch, pointers, run_ops

OBSERVED = json.loads((Path(__file__).parent / "observed" / "printed.json").read_text())


def printed(text: str, build: Callable[[BodyBuilder], list[Value]]) -> str:
    """What one `print_tko` of the values that ``build`` makes writes."""

    def body(f: BodyBuilder) -> Any:
        f.op("print_tko", str=text, args=build(f), results=[TOKEN])
        return f.constant(tile(I32), 0)

    run, _ = run_ops(body)
    (line,) = run.log.printed
    return line.text


@pytest.mark.parametrize(
    ("text", "element", "shape", "values", "seen"), OBSERVED, ids=[f"{row[1]} {row[0]}" for row in OBSERVED]
)
def test_prints_what_a_device_printed(text: str, element: str, shape: list[int], values: list[int], seen: str) -> None:
    assert printed(text, lambda f: [f.constant(tile(scalar(element), *shape), *values)]) == seen


def test_several_operands_and_literal_text() -> None:
    def build(f: BodyBuilder) -> list[Value]:
        return [f.constant(tile(I32, 2), 1, 2), f.constant(tile(F32), 0x3F000000)]

    assert printed("two %d and %f.\n", build) == "two [1, 2] and 0.500000.\n"
    assert printed("100%% %%d", lambda f: []) == "100% %d"
    assert printed("", lambda f: []) == ""


@pytest.mark.parametrize(
    ("text", "element"),
    [("%d", I64), ("%lld", I32), ("%hhd", I32), ("%f", I32), ("%d", F32), ("%Lf", F32), ("%s", I32), ("%n", I32),
     ("%zd", I32), ("%1$d", I32), ("%p", I32), ("%c", I64)],
)  # fmt: skip
def test_a_conversion_that_does_not_fit_is_undefined(text: str, element: Any) -> None:
    """What the H100 printed there was parts of other operands, or the program died."""
    found = printed(f"a {text} b", lambda f: [f.constant(tile(element), 0)])
    assert found.startswith(f"a {UNDEFINED_TEXT}")
    assert found.endswith(" b")


def test_operands_that_no_conversion_takes() -> None:
    assert printed("%d %d", lambda f: [f.constant(tile(I32), 1)]) == UNDEFINED_TEXT
    assert printed("none", lambda f: [f.constant(tile(I32), 1)]) == UNDEFINED_TEXT


def test_unspecified_lanes_are_no_numbers() -> None:
    def build(f: BodyBuilder) -> list[Value]:
        beyond = f.constant(tile(F32, 3 + 1), *(int(np.float32(v).view(np.uint32)) for v in (1.5, 3e9, -2, np.nan)))
        return [f.op("ftoi", s=beyond, sgn="signed", results=[tile(I32, 4)])]

    assert printed("%5d", build) == "[    1, <unspecified>,    -2, <unspecified>]"


# ---------------------------------------------------------------------------------------------- in a launch
def log_of(build: Callable[[BodyBuilder, Value], None], block: int = 0) -> BlockLog:
    module, entry = hand_made([tile(pointer(F32))], lambda f: build(f, f.parameters[0]))
    concrete = launch((4, 1, 1), x=array("f32", 4, 8))
    bound = bind_launch(module, entry, pointers("x"), concrete)
    return run_block(bound.program, bound.arguments, Memory(bound.image), (4, 1, 1), (block, 0, 0), Budget(1 << 24))


def test_pointers_are_named() -> None:
    def build(f: BodyBuilder, x: Value) -> None:
        behind = f.op("offset", ptr=x, off=f.constant(tile(I32), 11))
        f.op("print_tko", str="%p %llx %d", args=[x, behind, x], results=[TOKEN])

    (line,) = log_of(build).printed
    assert line.text == f"&x[0, 0] &x[1, 3] {UNDEFINED_TEXT}"


def test_prints_keep_their_order_and_pass_their_token_on() -> None:
    def build(f: BodyBuilder, x: Value) -> None:
        _, token = f.op("load_ptr_tko", ptr=x)
        bid, _, _ = f.op("get_tile_block_id")
        for text in ("first %d", "second %d"):
            token = f.op("print_tko", str=text, args=[bid], token=token, results=[TOKEN])
        f.op("store_ptr_tko", ptr=x, val=f.constant(tile(F32), 0), token=token)

    log = log_of(build, block=3)
    assert [line.text for line in log.printed] == ["first 3", "second 3"]
    load, store = log.accesses
    assert load.orders(store)


def test_failed_assertions_are_recorded_and_the_block_runs_on() -> None:
    def build(f: BodyBuilder, x: Value) -> None:
        f.op("assert", c=f.constant(tile(I1, 2, 2), 1, 1, 0, 0), msg="bottom row")
        f.op("assert", c=f.constant(tile(I1), 0), msg="scalar")
        f.op("assert", c=f.constant(tile(I1, 2), 1), msg="fine")
        f.op("print_tko", str="after", args=[], results=[TOKEN])

    log = log_of(build)
    assert [(each.message, each.position, each.lanes) for each in log.assertions] == [
        ("bottom row", (1, 0), 2),
        ("scalar", (), 1),
    ]
    assert not any(each.unspecified for each in log.assertions)
    assert [line.text for line in log.printed] == ["after"]
    assert (log.events, log.left_out) == ([], [])


def test_an_assertion_in_a_loop_is_recorded_once() -> None:
    def build(f: BodyBuilder, x: Value) -> None:
        zero, ten, step = (f.constant(tile(I32), value) for value in (0, 10, 1))
        with f.for_(zero, ten, step) as loop:
            small = f.op("cmpi", lhs=loop.arguments[0], rhs=f.constant(tile(I32), 4), pred="less_than", sgn="signed")
            f.op("assert", c=small, msg="below four")
            f.op("continue", args=[])

    (failure,) = log_of(build).assertions
    assert (failure.message, failure.position) == ("below four", ())


def test_a_condition_that_is_open_counts_as_failed() -> None:
    def build(f: BodyBuilder, x: Value) -> None:
        one = f.op("reshape", s=x, results=[tile(pointer(F32), 1)])
        row = f.op("broadcast", s=one, results=[tile(pointer(F32), 2)])
        value, _ = f.op("load_ptr_tko", ptr=row, mask=f.constant(tile(I1, 2), 1, 0))
        f.op("assert", c=f.op("cmpf", lhs=value, rhs=value, pred="equal", fcmp="ordered"), msg="open")

    (failure,) = log_of(build).assertions
    assert (failure.unspecified, failure.position, failure.lanes) == (True, (1,), 1)
