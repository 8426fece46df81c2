"""What has no translation is refused at its line, with its name."""

from __future__ import annotations

from typing import Final

import pytest

from tileverify.frontend.triton.translate import translate
from tileverify.frontend.triton.translated import Untranslated
from tileverify.frontend.triton.ttir_reader import read_ttir
from tileverify.system.errors import SourceError

HEAD: Final = """module {
  tt.func public @k(%x: !tt.ptr<i32>, %h: !tt.ptr<f16>, %f: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i64
    %true = arith.constant true
    %i = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %t = arith.constant dense<1> : tensor<8xi16>
    %b = arith.constant dense<1.0> : tensor<8xf16>
    %p = tt.splat %x : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
    %q = tt.bitcast %p : tensor<8x!tt.ptr<i32>> -> tensor<8x!tt.ptr<i16>>
    %r = tt.splat %h : !tt.ptr<f16> -> tensor<8x!tt.ptr<f16>>
    %e = tt.bitcast %p : tensor<8x!tt.ptr<i32>> -> tensor<8x!tt.ptr<i8>>
    %s = arith.constant dense<1> : tensor<8xi8>
    %m = arith.constant dense<true> : tensor<8xi1>
"""
TAIL: Final = """
    tt.return
  }
}
"""
LINE: Final = HEAD.count("\n") + 1


def in_kernel(text: str) -> str:
    return f'{HEAD}    {text.strip()} loc("k.py":{LINE}:5){TAIL}'


REFUSED: Final = {
    "Tile IR has no atomic add of i16":
        "%o = tt.atomic_rmw add, acq_rel, gpu, %q, %t, %m : (tensor<8x!tt.ptr<i16>>, tensor<8xi16>, tensor<8xi1>) -> "
        "tensor<8xi16>",
    "Tile IR has no atomic max of f16":
        "%o = tt.atomic_rmw max, acq_rel, gpu, %r, %b, %m : (tensor<8x!tt.ptr<f16>>, tensor<8xf16>, tensor<8xi1>) -> "
        "tensor<8xf16>",
    "Tile IR has no atomic inc of i32":
        "%o = tt.atomic_rmw inc, acq_rel, gpu, %p, %i, %m : (tensor<8x!tt.ptr<i32>>, tensor<8xi32>, tensor<8xi1>) -> "
        "tensor<8xi32>",
    "atomic_cas_tko: there is no compare-and-swap of i8":
        "%o = tt.atomic_cas acq_rel, gpu, %e, %s, %s : (tensor<8x!tt.ptr<i8>>, tensor<8xi8>, tensor<8xi8>) -> "
        "tensor<8xi8>",
    "tt.grid_dependency_wait": "tt.grid_dependency_wait",
    "inline assembly with effects":
        '%o = tt.elementwise_inline_asm "st.global $0" {constraints = "=r,r", packed_element = 1 : i32, pure = false} '
        "%i : tensor<8xi32> -> tensor<8xi32>",
    "__nv_printf may have effects":
        '%o = tt.extern_elementwise %i {libname = "", libpath = "", pure = false, symbol = "__nv_printf"} : '
        "(tensor<8xi32>) -> tensor<8xi32>",
    "tt.contiguity of 3": "%o = arith.addi %i, %i {tt.contiguity = dense<3> : tensor<1xi32>} : tensor<8xi32>",
    "function 'gone' is not in the module": "tt.call @gone(%n) : (i32) -> ()",
    "tt.new_op": "%o = tt.new_op %i : tensor<8xi32>",
}  # fmt: skip


@pytest.mark.parametrize("sentence", REFUSED)
def test_refused_at_its_line(sentence: str) -> None:
    text = in_kernel(REFUSED[sentence])
    with pytest.raises(Untranslated) as caught:
        translate(read_ttir(text, "k.ttir"), file="k.ttir")
    assert sentence in str(caught.value)
    assert (caught.value.file, caught.value.line) == ("k.py", LINE)


REGIONS: Final = {
    "a pointer whose elements change their size cannot be handed on here": """%s = arith.constant 1 : i32
    %y = tt.bitcast %x : !tt.ptr<i32> -> !tt.ptr<i16>
    %a = tt.addptr %y, %s : !tt.ptr<i16>, i32
    %z = tt.bitcast %a : !tt.ptr<i16> -> !tt.ptr<i32>
    %o = scf.if %true -> (!tt.ptr<i32>) {
      scf.yield %z : !tt.ptr<i32>
    } else {
      scf.yield %x : !tt.ptr<i32>
    }
    tt.store %o, %n : !tt.ptr<i32>""",
    "tt.map_elementwise of a function that branches": """%o = "tt.map_elementwise"(%i) <{pack = 1 : i32}> ({
    ^bb0(%a: i32):
      %c = arith.cmpi sgt, %a, %c0 : i32
      %s = scf.if %c -> (i32) {
        scf.yield %a : i32
      } else {
        scf.yield %c0 : i32
      }
      tt.map_elementwise.return %s : i32
    }) : (tensor<8xi32>) -> tensor<8xi32>""",
    "a gather of 1024 of 2048 lanes is too wide": """%s = arith.constant dense<1> : tensor<2048xi32>
    %j = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
    %o = tt.gather %s[%j] {axis = 0 : i32} : (tensor<2048xi32>, tensor<1024xi32>) -> tensor<1024xi32>""",
}


@pytest.mark.parametrize("sentence", REGIONS)
def test_refused_with_a_region(sentence: str) -> None:
    with pytest.raises(Untranslated) as caught:
        translate(read_ttir(in_kernel(REGIONS[sentence]), "k.ttir"), file="k.ttir")
    assert sentence in str(caught.value)


def test_a_descriptor_without_its_sizes() -> None:
    text = 'module {\n  tt.func public @k(%d: !tt.tensordesc<8xf32>) {\n    tt.return\n  } loc("k.py":3:1)\n}'
    with pytest.raises(Untranslated, match=r"k\.py:3: the sizes and strides of the tensor descriptor 'd' do not"):
        translate(read_ttir(text, "k.ttir"), file="k.ttir")


def test_a_function_that_calls_itself() -> None:
    text = """module {
  tt.func private @f(%n: i32) {
    tt.call @f(%n) : (i32) -> ()
    tt.return
  }
  tt.func public @k(%n: i32) {
    tt.call @f(%n) : (i32) -> ()
    tt.return
  }
}"""
    with pytest.raises(Untranslated, match="function 'f' calls itself"):
        translate(read_ttir(text, "k.ttir"), file="k.ttir")


def test_which_kernel() -> None:
    text = "module {\n  tt.func public @a() {\n    tt.return\n  }\n  tt.func public @b() {\n    tt.return\n  }\n}"
    module = read_ttir(text, "k.ttir")
    with pytest.raises(SourceError, match="the module holds 2 kernels; name one"):
        translate(module, file="k.ttir")
    with pytest.raises(SourceError, match="no kernel 'c', but a, b"):
        translate(module, "c", file="k.ttir")
    assert translate(module, "b").entries[0].name == "b"
