"""The printed form of Triton IR: every part of it, locations, and errors at their lines."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tileverify.frontend.bytecode import decode, encode
from tileverify.frontend.bytecode.builder import I32, pointer, scalar, tile
from tileverify.frontend.bytecode.location import Location, user_frame
from tileverify.frontend.triton.translate import translate
from tileverify.frontend.triton.ttir import DescriptorType, TritonBlock, TritonOp
from tileverify.frontend.triton.ttir_constants import constant_bits
from tileverify.frontend.triton.ttir_reader import read_ttir, read_ttir_text
from tileverify.frontend.triton.ttir_words import SCALAR_TYPES, type_of
from tileverify.system.errors import SourceError

PRINTED: Final = Path(__file__).parent / "printed"
F32: Final = scalar("f32")


def body(lines: str) -> TritonBlock:
    """The ops of a kernel with these lines."""
    return (
        read_ttir(f"module {{\n  tt.func public @k() {{\n{lines}\n    tt.return\n  }}\n}}", "k.ttir")
        .kernels[0]
        .body.blocks[0]
    )


def op(line: str) -> TritonOp:
    return body(line).ops[0]


@pytest.mark.parametrize("file", sorted(PRINTED.glob("*.ttir")), ids=lambda file: file.stem)
def test_what_triton_prints_is_read_and_translated(file: Path) -> None:
    module = read_ttir(read_ttir_text(file), str(file))
    (kernel,) = module.kernels
    assert kernel.name == file.stem
    made = decode(encode(translate(module, file=str(file))), file=str(file))
    assert made.entries[0].name == file.stem
    assert len(made.entries[0].parameters) == len(kernel.parameters)


def printed(name: str) -> dict[str, TritonOp]:
    """The ops of a printed kernel by the names of their results."""
    (kernel,) = read_ttir(read_ttir_text(PRINTED / f"{name}.ttir"), name).kernels
    return {result: each for block in kernel.body.blocks for each in block.ops for result in each.results}


# ---------------------------------------------------------------------------------------------- locations
def test_a_named_location_that_follows_the_module() -> None:
    assert printed("add")["%y_9"].location == Location("/kernels/add.py", 8, 8)


def test_a_location_of_an_inlined_function_has_its_callers() -> None:
    text = """#loc1 = loc("lib.py":3:5)
module {
  tt.func public @k() {
    %a = arith.constant 1 : i32 loc(#loc9)
    %b = arith.constant 1 : i32 loc(callsite("inner.py":1:2 at callsite(#loc1 at "k.py":7:1)))
    %c = arith.constant 1 : i32 loc(fused<{a = 1}>["x"(#loc1), "k.py":9:1])
    %d = arith.constant 1 : i32 loc(unknown)
    %e = arith.constant 1 : i32 loc("k.py":5:3 to :9)
    tt.return loc(#loc)
  } loc(#loc)
}
#loc = loc("k.py":1:1)
#loc2 = loc("name"(#loc1))
#loc9 = loc(callsite(#loc2 at #loc))
"""
    (kernel,) = read_ttir(text, "k.ttir").kernels
    a, b, c, d, e, end = (each.location for each in kernel.body.block.ops)
    assert a is not None
    assert b is not None
    assert [(frame.file, frame.line, frame.column) for frame in a.chain()] == [("lib.py", 3, 4), ("k.py", 1, 0)]
    assert [frame.file for frame in b.chain()] == ["inner.py", "lib.py", "k.py"]
    assert user_frame(b) == Location("k.py", 7, 0)
    assert c == Location("lib.py", 3, 4)
    assert d is None
    assert e == Location("k.py", 5, 2)
    assert end == kernel.location == Location("k.py", 1, 0)


def test_an_alias_of_itself_has_no_place() -> None:
    text = "#loc1 = loc(#loc1)\nmodule {\n  tt.func public @k() {\n    tt.return loc(#loc1)\n  }\n}"
    assert read_ttir(text, "k.ttir").kernels[0].body.block.ops[0].location is None


@pytest.mark.parametrize("text", ["!tt.tensordesc<16x8xf32>", "!tt.tensordesc<tensor<16x8xf32>>", "<tensor<16x8xf32>>"])
def test_descriptors_of_every_version(text: str) -> None:
    assert type_of(text) == DescriptorType(SCALAR_TYPES["f32"], (16, 8))


# ------------------------------------------------------------------------------------------------- ops
def test_operands_words_and_types() -> None:
    lines = """    %c-1_i32 = arith.constant -1 : i32
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %v = tt.load %p, %m, %o cacheModifier = cg evictionPolicy = evict_last {isVolatile = true} : tensor<8x!tt.ptr<f32>>
    %c = arith.cmpi slt, %a, %b : tensor<8xi32>
    %s = arith.select %c, %a, %b : tensor<8xi1>, tensor<8xi32>
    %r:2 = tt.call @f(%a, %b) : (i32, i32) -> (i32, tensor<4xf32>)
    %l, %h = tt.split %v : tensor<4x2xf32> -> tensor<4xf32>
    %w = tt.atomic_rmw fadd, acq_rel, gpu, %p, %v : (tensor<8x!tt.ptr<f32>>, tensor<8xf32>) -> tensor<8xf32>
    tt.store %p, %v, %m : tensor<8x!tt.ptr<f32>>
    tt.print " v: " {hex = false, isSigned = array<i32: 1>} : %v : tensor<8xf32>"""
    constant, splat, load, compare, select, call, split, atomic, store, print_, _ = body(lines).ops
    assert constant.results == ("%c-1_i32",)
    assert constant.attributes["value"] == "-1"
    assert splat.result_type == tile(pointer(F32), 8)
    assert load.result_type == tile(F32, 8)
    assert load.operands == ("%p", "%m", "%o")
    assert load.attributes["isVolatile"] is True
    assert load.attributes["cacheModifier"] == "cg"
    assert compare.result_type == tile(scalar("i1"), 8)
    assert compare.word(0) == "slt"
    assert select.result_type == tile(I32, 8)
    assert call.results == ("%r#0", "%r#1")
    assert call.result_types == (tile(I32), tile(F32, 4))
    assert call.attributes["callee"] == "f"
    assert split.results == ("%l", "%h")
    assert split.result_types == (tile(F32, 4),) * 2
    assert [word for word, _ in atomic.words] == ["fadd", "acq_rel", "gpu"]
    assert atomic.result_type == tile(F32, 8)
    assert store.operands == ("%p", "%v", "%m")
    assert print_.words == ((" v: ", 0),)
    assert print_.operands == ("%v",)
    assert print_.attributes["isSigned"] == (1,)


@pytest.mark.parametrize(
    ("printed", "unsigned"),
    [("<4x8xsi32>", False), ("<4x8xui32>", True), ("<tensor<4x8xui32>>", True), ("<4x8xi32>", False)],
)
def test_a_descriptor_has_the_sign_of_its_integers(printed: str, unsigned: bool) -> None:
    load = op(f"    %v = tt.descriptor_load %d[%a, %b] : !tt.tensordesc{printed} -> tensor<4x8xi32>")
    assert load.groups == (2,)
    assert load.result_type == tile(I32, 4, 8)
    if not printed.startswith("<tensor"):
        made = op(f"    %d = tt.make_tensor_descriptor %x, [%a, %b], [%s, %t] : <i32>, {printed}")
        assert made.result_type == DescriptorType(I32, (4, 8), unsigned)
        assert made.groups == (2, 2)


def test_regions() -> None:
    lines = """    %r = "tt.reduce"(%v) <{axis = 1 : i32}> ({
    ^bb0(%a: i32 loc("k.py":1:1), %b: i32):
      %s = arith.addi %a, %b : i32
      tt.reduce.return %s : i32
    }) : (tensor<4x8xi32>) -> tensor<4xi32>
    %w:2 = scf.while (%i = %x, %j = %y) : (i32, i32) -> (i32, i32) {
      scf.condition(%c) %i, %j : i32, i32
    } do {
    ^bb0(%i: i32, %j: i32):
      scf.yield %j, %i : i32, i32
    }
    scf.for %k = %l to %u step %s  : i32 {
    }
    %f = scf.for unsigned %k = %l to %u step %s iter_args(%a = %b) -> (f32)  : i64 {
      scf.yield %a : f32
    }
    scf.if %c {
    } else {
    }"""
    reduce, while_, plain, unsigned, if_, _ = body(lines).ops
    assert reduce.integer("axis") == 1
    assert reduce.regions[0].block.arguments == ("%a", "%b")
    assert [region.block.arguments for region in while_.regions] == [("%i", "%j")] * 2
    assert while_.regions[0].block.ops[0].operands == ("%c", "%i", "%j")
    assert while_.result_types == (tile(I32), tile(I32))
    assert plain.operands == ("%l", "%u", "%s")
    assert plain.regions[0].block.ops == ()
    assert unsigned.words == (("unsigned", 0),)
    assert unsigned.regions[0].block.types == (tile(scalar("i64")), tile(F32))
    assert len(if_.regions) == 2


def test_jumps() -> None:
    text = """module {
  tt.func public @k(%c: i1, %n: i32) -> i32 attributes {noinline = true} {
    cf.cond_br %c, ^bb1, ^bb2(%n, %c : i32, i1)
  ^bb1:  // pred: ^bb0
    tt.return %n : i32
  ^bb2(%a: i32 loc("k.py":2:2), %b: i1):
    cf.br ^bb1
  }
}"""
    (kernel,) = read_ttir(text, "k.ttir").kernels
    assert [block.label for block in kernel.body.blocks] == ["", "^bb1", "^bb2"]
    jump = kernel.body.blocks[0].ops[0]
    assert [(each.block, each.arguments) for each in jump.successors] == [("^bb1", ()), ("^bb2", ("%n", "%c"))]
    assert [block.label for block in kernel.forwards()] == ["", "^bb2", "^bb1"]
    assert kernel.result_types == (tile(I32),)


# ----------------------------------------------------------------------------------------------- constants
@pytest.mark.parametrize(
    ("literal", "type", "bits"),
    [
        ("-1", tile(I32), (0xFFFFFFFF,)),
        ("true", tile(scalar("i1")), (1,)),
        ("-0.000000e+00", tile(F32), (0x80000000,)),
        ("dense<-0.0>", tile(scalar("f16"), 4), (0x8000,)),
        ("dense<[1.0, -2.5]>", tile(F32, 2), (0x3F800000, 0xC0200000)),
        ("dense<0xFF800000>", tile(F32, 4), (0xFF800000,)),
        ("1.000000e-01", tile(F32), (0x3DCCCCCD,)),
        ("1.401298e-45", tile(F32), (1,)),
        ("9.99994e-41", tile(F32), (71362,)),
        ("3.4028236e+38", tile(F32), (0x7F800000,)),
        ("1.0", tile(scalar("bf16")), (0x3F80,)),
        ('dense<"0x0100FFFF">', tile(scalar("i16"), 2), (1, 0xFFFF)),
        ("dense<[[1, 2], [3, -4]]>", tile(scalar("i8"), 2, 2), (1, 2, 3, 252)),
    ],
)
def test_constants(literal: str, type: object, bits: tuple[int, ...]) -> None:
    assert constant_bits(literal, type) == bits  # type: ignore[arg-type]


# -------------------------------------------------------------------------------------------------- errors
BROKEN: Final = {
    "there is no module": ("\n\n", 4),
    "function 'k' has no body": ("module {\n  tt.func private @k(%x: i32)\n}", 3),
    "unexpected '$' in Triton IR": ("module {\n  tt.func public @k() {\n    $\n", 3),
    "a bracket of this line is never closed": ("module {\n  tt.func public @k(%x: tensor<8xi32", 2),
    "'tensor<8xi32, #blocked>' is no type of Triton IR before its layouts": (
        "module {\n  tt.func public @k() {\n    %a = arith.addi %b, %c : tensor<8xi32, #blocked>\n", 3),
    "tt.splat has 2 results, but 1 types": (
        "module {\n  tt.func public @k() {\n    %a, %b = tt.splat %c : i32 -> tensor<8xi32>\n    tt.return\n", 4),
    "expected =, found '%c'": ("module {\n  tt.func public @k() {\n    %a %c\n", 3),
    "expected an op, found '-1'": ("module {\n  tt.func public @k() {\n    %a = -1\n", 3),
    "expected tt.func": ("module {\n  llvm.func @k() {\n", 2),
}  # fmt: skip


@pytest.mark.parametrize("sentence", BROKEN)
def test_errors_stand_at_their_lines(sentence: str) -> None:
    text, line = BROKEN[sentence]
    with pytest.raises(SourceError) as caught:
        read_ttir(text, "k.ttir")
    assert sentence in str(caught.value)
    assert (caught.value.file, caught.value.line) == ("k.ttir", line)


@pytest.mark.parametrize("file", sorted(PRINTED.glob("*.ttir")), ids=lambda file: file.stem)
def test_a_text_that_is_cut_off_is_an_error(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    end = text.index("\n} loc(") if "\n} loc(" in text else text.rindex("\n}")
    for cut in range(text.index("module"), end, 97):
        with pytest.raises(SourceError):
            read_ttir(text[:cut], "k.ttir")


def test_a_name_without_a_value() -> None:
    text = "module {\n  tt.func public @k() {\n    %a = arith.addi %b, %b : i32\n    tt.return\n  }\n}"
    with pytest.raises(SourceError, match="uses %b before it is defined"):
        translate(read_ttir(text, "k.ttir"), file="k.ttir")
