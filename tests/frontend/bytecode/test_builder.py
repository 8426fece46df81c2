"""The builder: numbering, scopes, defaults, and what it refuses."""

from __future__ import annotations

import pytest

from tileverify.frontend.bytecode import decode, encode, print_module
from tileverify.frontend.bytecode.builder import F32, I1, I32, I64, BodyBuilder, ModuleBuilder, constant, pointer, tile
from tileverify.frontend.bytecode.location import Location
from tileverify.frontend.bytecode.model import Bounded
from tileverify.system.errors import EncodeError


def test_numbers_return_at_the_end_of_a_block() -> None:
    module = ModuleBuilder()
    with module.entry("k", [tile(I32), tile(I1)]) as f:
        n, c = f.parameters
        with f.if_(c, [tile(I32)]) as branch:
            with branch.then():
                first = f.op("addi", lhs=n, rhs=n)
                f.op("yield", args=[first])
            with branch.otherwise():
                second = f.op("subi", lhs=n, rhs=n)
                f.op("yield", args=[second])
        f.op("return")
    assert first.number == second.number == branch.results[0].number == 2
    assert print_module(module.build()) == print_module(decode(encode(module.build())))


def test_text_of_a_small_module() -> None:
    module = ModuleBuilder(producer="hand")
    module.add_global("table", constant(tile(I32, 2), 1, 2), 4)
    with module.entry("k", [tile(pointer(F32)), tile(I32)]) as f:
        p, n = f.parameters
        bounded = f.op("assume", s=n, pred=Bounded(0, None))
        x, token = f.op("load_ptr_tko", ptr=f.op("offset", ptr=p, off=bounded))
        f.op("store_ptr_tko", ptr=p, val=x, token=token)
        f.op("return")
    assert print_module(module.build()) == (
        "// Producer: hand\n"
        "global  @table alignment = 4 <i32: [1, 2]> : tile<2xi32>\n"
        "entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>) {\n"
        "  %assume = assume bounded<0, ?>, %arg1 : tile<i32>\n"
        "  %0 = offset %arg0, %assume : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>\n"
        "  %result, %result_token = load_ptr_tko weak %0 : tile<ptr<f32>> -> tile<f32>, token\n"
        "  %1 = store_ptr_tko weak %arg0, %result token=%result_token : tile<ptr<f32>>, tile<f32> -> token\n"
        "  return\n"
        "}\n"
    )


def test_locations_survive() -> None:
    module = ModuleBuilder()
    here = Location("/src/a.py", 3, 4, "f")
    inlined = Location("/lib/b.py", 9, 0, "g", caller=here)
    with module.entry("k", [tile(I32)], location=here) as f:
        f.location = inlined
        f.op("addi", lhs=f.parameters[0], rhs=f.parameters[0])
        f.location = None
        f.op("return")
    entry = decode(encode(module.build())).entries[0]
    assert entry.location == here
    assert [op.location for op in entry.body.ops] == [inlined, None]


def fill(f: BodyBuilder, case: str) -> None:
    n, w = f.parameters
    match case:
        case "types":
            f.op("addi", lhs=n, rhs=w)
        case "operand":
            f.op("addi", lhs=n)
        case "attribute":
            f.op("addi", lhs=n, rhs=n, rnd="zero")
        case "required attribute":
            f.op("permute", s=n, results=[tile(I32)])
        case "value of an attribute":
            f.op("addi", lhs=n, rhs=n, ovf="maybe")
        case "results":
            f.op("reshape", s=n)
        case "region":
            f.op("loop")
        case "terminator":
            f.op("break")
        case "unfinished":
            return
    f.op("return")


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("types", "differ in type"),
        ("operand", "needs an operand rhs"),
        ("attribute", "addi has no rnd"),
        ("required attribute", "needs an attribute perm"),
        ("value of an attribute", "'maybe' is no overflow"),
        ("results", "do not follow from its operands"),
        ("region", "has regions"),
        ("terminator", "outside any region"),
        ("unfinished", "must end in"),
    ],
)
def test_mistakes_are_refused(case: str, reason: str) -> None:
    module = ModuleBuilder()

    def make() -> bytes:
        with module.entry("k", [tile(I32), tile(I64)]) as f:
            fill(f, case)
        return encode(module.build())

    with pytest.raises(EncodeError, match=reason):
        make()
