"""Functions of Triton IR that Tile IR has no op for: what becomes of them, and which are refused."""

from __future__ import annotations

import pytest

from tileverify.backend.assembler import AssemblyError, refuse_foreign_functions
from tileverify.frontend.bytecode import encode
from tileverify.frontend.bytecode.model import Op
from tileverify.frontend.bytecode.traverse import walk
from tileverify.frontend.triton.translate import translate
from tileverify.frontend.triton.translated import Untranslated
from tileverify.frontend.triton.ttir_reader import read_ttir

KERNEL = """module {{
  tt.func public @k(%p: !tt.ptr<f32>, %n: i32) attributes {{noinline = false}} {{
    %x = tt.load %p : !tt.ptr<f32>
    {op}
    tt.return
  }}
}}
"""


def ops(op: str) -> list[Op]:
    (entry,) = translate(read_ttir(KERNEL.format(op=op), "kernel.py"), file="kernel.py").entries
    return list(walk(entry.body))


@pytest.mark.parametrize(
    ("op", "callee", "operands"),
    [
        ("%y = math.erf %x : f32", "math.erf", 1),
        (
            '%y = tt.extern_elementwise %x, %n {libname = "", libpath = "", pure = true, symbol = "__nv_ldexpf"} : '
            "(f32, i32) -> f32",
            "__nv_ldexpf",
            2,
        ),
        (
            '%y = tt.elementwise_inline_asm "ex2.approx.f32 $0, $1;" {constraints = "=f,f", packed_element = 1 : i32, '
            "pure = true} %x : f32 -> f32",
            "asm ex2.approx.f32 $0, $1;",
            1,
        ),
        (
            '%y = tt.extern_elementwise %p {libname = "", libpath = "", pure = true, symbol = "__nv_of"} : '
            "(!tt.ptr<f32>) -> i32",
            "__nv_of",
            1,
        ),
    ],
)
def test_an_opaque_value(op: str, callee: str, operands: int) -> None:
    """A pointer goes in as its address."""
    (made,) = [each for each in ops(op) if each.name == "opaque"]
    assert made.attributes["callee"] == callee
    assert len(made.group("args")) == operands


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        (
            '%y = tt.extern_elementwise %n {libname = "", libpath = "", pure = true, symbol = "my_rank"} : '
            "(i32) -> i32",
            "my_rank may have effects, or depend on more than its operands",
        ),
        (
            '%y = tt.extern_elementwise %n {libname = "", libpath = "", pure = false, symbol = "__nv_f"} : '
            "(i32) -> i32",
            "__nv_f may have effects, or depend on more than its operands",
        ),
        (
            '%y = tt.elementwise_inline_asm "mov.u32 $0, %tid.x;" {constraints = "=r", packed_element = 1 : i32, '
            "pure = true} -> i32",
            "may touch memory, or depend on its thread or on time: mov.u32 $0, %tid.x;",
        ),
        (
            '%y = tt.elementwise_inline_asm "ld.global.b32 $0, [$1];" {constraints = "=r,l", packed_element = 1 : i32, '
            "pure = true} %p : !tt.ptr<f32> -> i32",
            "may touch memory, or depend on its thread or on time: ld.global.b32",
        ),
    ],
)
def test_what_may_do_more_is_refused(op: str, reason: str) -> None:
    with pytest.raises(Untranslated, match=r".*") as refusal:
        ops(op)
    assert reason in refusal.value.message


def test_a_swap_of_16_bits_is_not_built() -> None:
    """Triton has it, and Tile IR does not: it is proved and run, and refused before an assembler sees it."""
    swap = '%y = tt.atomic_cas acq_rel, gpu, %q, %s, %s : (!tt.ptr<i16>, i16, i16) -> i16 loc("kernel.py":7:5)'
    cast = "%q = tt.bitcast %p : !tt.ptr<f32> -> !tt.ptr<i16>\n    %s = arith.trunci %n : i32 to i16\n    "
    module = translate(read_ttir(KERNEL.format(op=cast + swap), "kernel.py"), file="kernel.py")
    with pytest.raises(AssemblyError, match="a compare-and-swap of i16 has no counterpart in Tile IR") as refusal:
        refuse_foreign_functions(encode(module))
    assert (refusal.value.file, refusal.value.line) == ("kernel.py", 7)
