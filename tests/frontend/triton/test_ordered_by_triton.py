"""What Triton's compiler makes: the IR of a later stage, and PTX, executed thread by thread.

Thread 0 makes all scalar stores of a program, in the order of the program, but in loops that Triton pipelines.  Scalars
and small tiles are loaded by several threads for each lane.  Where these tests fail with another version of Triton,
`ttir_order` and `ttir_pipelines` promise too much.
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tileverify.backend.compiled.machine.machine import ThreadMachine
from tileverify.backend.compiled.machine.run import run
from tileverify.backend.compiled.machine.storage import GlobalMemory
from tileverify.backend.compiled.ptx import read
from tileverify.backend.compiled.thread_races import races
from tileverify.frontend.triton.ttir_pipelines import ops_within, rounds_overlap
from tileverify.frontend.triton.ttir_reader import read_ttir

pytest.importorskip("triton", reason="Triton's own compiler makes the code")

KERNELS = importlib.import_module("tests.frontend.triton.kernels.order")
CORPUS = importlib.import_module("tileverify.corpus.triton.scalars")
ELEMENTS = {"i32": "i4", "fp32": "f4", "fp16": "f2", "bf16": ml_dtypes.bfloat16, "i64": "i8"}
BASE, BYTES = 1 << 40, 1 << 16


def compiled(
    function: Any,
    types: Mapping[str, str],
    constants: Mapping[str, object],
    warps: int,
    capability: int = 90,
    ctas: int = 1,
) -> dict[str, str]:
    """The stages of the code of a kernel, by their names."""
    compiler = importlib.import_module("triton.compiler")
    ir = importlib.import_module("triton._C.libtriton").ir
    target = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", capability, 32)
    backend = compiler.make_backend(target)
    signature = {**types, **dict.fromkeys(constants, "constexpr")}
    divisible: dict[tuple[int, ...], list[list[object]]] = {
        (place,): [["tt.divisibility", 16]] for place, type in enumerate(types.values()) if type.startswith("*")
    }
    source = compiler.ASTSource(function, signature, constexprs=dict(constants), attrs=divisible)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = backend.parse_options({"num_warps": warps, "num_ctas": ctas, "enable_fp_fusion": True})
        context = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        codegen = backend.get_codegen_implementation(options)
        module = source.make_ir(target, options, codegen, backend.get_module_map(), context)
        stages: dict[str, Any] = {}
        backend.add_stages(stages, options, source.language)
        made, metadata = {}, {"target": target, **options.__dict__}
        for name in ("ttir", "ttgir", "llir", "ptx"):
            module = stages[name](module, metadata)
            made[name] = str(module)
    return made


def executed(ptx: str, name: str, numbers: Mapping[int, int]) -> ThreadMachine:
    """The end of a launch of one program on zeros; ``numbers``: those among the parameters that are no pointers."""
    text = re.sub(r"(?m)^\s*\.(loc|file)\b.*$", "", ptx).replace(".extern .shared .align 16 .b8 global_smem[];", "")
    entry = read(text.replace("\n{\n", "\n{\n\t.shared .align 16 .b8 global_smem[4096];\n", 1)).entry(name)
    values = {}
    for place, parameter in enumerate(entry.parameters):
        number = numbers.get(place, BASE * (place + 1))
        values[parameter.name] = number.to_bytes(parameter.size, "little")
    memory = GlobalMemory([(BASE * (place + 1), np.zeros(BYTES, "u1")) for place in range(2)])
    machine = ThreadMachine(entry, (1, 1, 1), [(0, 0, 0)], memory, values, {}, {})
    run(machine)
    return machine


# ------------------------------------------------------------------------------------------------ scalar stores
@pytest.mark.parametrize("kernel", KERNELS.STORED, ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize(("element", "warps"), [("i32", 4), ("fp16", 1), ("fp32", 8), ("i64", 4), ("bf16", 2)])
def test_thread_0_makes_all_scalar_stores_in_order(kernel: Any, element: str, warps: int) -> None:
    name = kernel.__name__
    machine = executed(compiled(kernel, {"x": f"*{element}", "n": "i32"}, {}, warps)["ptx"], name, {1: 5})
    stores = [access for access in machine.memory.log if access.writes and access.places[0] == 0]
    assert all(access.threads.tolist() == [0] for access in stores)
    found = []
    for access in stores:
        assert access.values is not None
        dtype = np.dtype(ELEMENTS[element] if access.bytes > 1 else "i1")
        found.append(int(access.values.view(dtype).reshape(-1)[0]))
    assert found == KERNELS.STORED[kernel]


@pytest.mark.parametrize("capability", [80, 90, 100, 120])
def test_so_it_is_on_each_gpu(capability: int) -> None:
    ptx = compiled(KERNELS.twice, {"x": "*i32", "n": "i32"}, {}, 4, capability)["ptx"]
    guards = re.findall(r"@(%p\d+) st\.global\.b32", ptx)
    assert len(guards) == 2
    assert len(set(guards)) == 1


def test_one_thread_of_a_cluster_makes_them() -> None:
    ptx = compiled(KERNELS.twice, {"x": "*i32", "n": "i32"}, {}, 4, ctas=2)["ptx"]
    both, guard = re.search(r"or\.b32 \t(%r\d+), %r\d+, %r\d+;\s+setp\.eq\.b32 \t(%p\d+), \1, 0;", ptx).groups()  # type: ignore[union-attr]
    assert both
    assert re.findall(r"@(%p\d+) st\.global\.b32", ptx) == [guard, guard]
    assert "%cluster_ctarank" in ptx


def test_functions_that_are_not_inlined_leave_them_to_it() -> None:
    ptx = compiled(KERNELS.called, {"x": "*i32", "n": "i32"}, {}, 4)["ptx"]
    thread = r"mov\.u32 \t(%r\d+), %tid\.x;\s+(?:and\.b32 \t(%r\d+), \1, 127;\s+)?setp\.eq\.b32 \t%p\d+, (?:\2|\1), 0;"
    assert len(re.findall(r"st\.global", ptx)) == len(re.findall(thread, ptx)) == 3


# ------------------------------------------------------------------------------------------------ loops
def test_a_pipelined_loop_stores_in_another_order() -> None:
    types = {"status": "*i32", "out": "*fp32", "x": "*fp16", "n": "i32"}
    made = compiled(CORPUS.progress_of_product, types, {"BLOCK": 16}, 4)
    stored = {stage: re.findall(r"tt\.store %status, (%[\w-]+)", made[stage]) for stage in ("ttir", "ttgir")}
    assert stored["ttir"] == ["%step", "%c-1_i32"]
    assert stored["ttgir"][0] == "%c-1_i32"


PIPELINED = {
    ("products", "atomic"): True,
    ("products", "barrier"): False,
    ("products", "barrier in a branch"): False,
    ("products", "barrier of a function"): True,
    ("products", "loop"): False,
    ("products", "loop in a branch"): True,
    ("sums", None): False,
    ("sums", 3): True,
    ("sums_by_descriptor", None): False,
    ("loops", False): True,  # the inner one
    ("loops", True): True,
}
"""Whether a load is made ahead, by the kernel and its last constant."""


@pytest.mark.parametrize("capability", [90, 100])
@pytest.mark.parametrize(("kernel", "constant"), PIPELINED)
def test_triton_pipelines_no_other_loops(kernel: str, constant: str | int | None, capability: int) -> None:
    function = getattr(KERNELS, kernel)
    size = 256 if kernel.startswith("sums") else 16
    constants = dict(zip(function.arg_names[3:], (size, constant), strict=False))
    made = compiled(function, {"x": "*fp16", "turns": "*i32", "n": "i32"}, constants, 4, capability)
    ahead = re.search(r"async_copy_global_to_local.*scf\.for", made["ttgir"], re.DOTALL) is not None
    assert ahead == PIPELINED[kernel, constant]
    if ahead:
        (entry,) = read_ttir(made["ttir"], "k.ttir").kernels
        assert any(rounds_overlap(op) for op in ops_within(entry.body))


def test_only_a_flat_loop_is_merged_with_the_loop_in_it() -> None:
    types = {"x": "*fp16", "turns": "*i32", "n": "i32"}
    apart, merged = (compiled(KERNELS.loops, types, {"SIZE": 16, "FLAT": flat}, 4) for flat in (False, True))
    outer = r"scf\.for[^\n]*\n[^\n]*tt\.atomic_rmw"
    assert re.search(outer + r".*scf\.for", apart["ttgir"], re.DOTALL)
    assert not re.search(outer + r".*scf\.for.*tt\.dot", merged["ttgir"].partition("} else {")[2], re.DOTALL)


# ------------------------------------------------------------------------------------------------ loads
@pytest.mark.parametrize(
    ("kernel", "constants", "warps", "race"),
    [
        ("count_and_tell", {"BLOCK": 128}, 4, True),
        ("count_behind_barrier", {"BLOCK": 128}, 4, False),
        ("count_rows_and_tell", {"ROWS": 16, "BLOCK": 128}, 4, True),
        ("count_rows_and_tell", {"ROWS": 128, "BLOCK": 128}, 4, False),
        ("count_rows_and_tell", {"ROWS": 128, "BLOCK": 128}, 8, True),
        ("subtract_mean_late", {"BLOCK": 64}, 4, True),
        ("subtract_mean_late", {"BLOCK": 64}, 2, False),
    ],
)
def test_the_kernels_that_are_not_proved_have_loads_behind_a_store(
    kernel: str, constants: dict[str, int], warps: int, race: bool
) -> None:
    function = getattr(CORPUS, kernel)
    element = "fp32" if kernel == "subtract_mean_late" else "i32"
    types = {name: f"*{element}" for name in function.arg_names if name not in constants}
    machine = executed(compiled(function, types, constants, warps)["ptx"], kernel, {})
    assert bool(races(machine.memory, machine.threads, machine.clocks).pairs) == race
