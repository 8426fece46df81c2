"""Programs that launch ``@triton.jit`` kernels, recorded without a GPU and without torch."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tileverify.contract.launch import KernelUnit
from tileverify.frontend.sources.discover import discover
from tileverify.frontend.triton.triton_kernels import triton_ir_kernels
from tileverify.hook.described_launch import Described
from tileverify.hook.foreign import Grid, TritonSpecialisation
from tileverify.hook.triton_launches import TritonHooks
from tileverify.pipeline import check_paths
from tileverify.pipeline.unit_check import check_unit
from tileverify.record.recorded_command import RecordOptions, record
from tileverify.results import Verdict
from tileverify.system.errors import NoKernelFound

from .conftest import Recorded

pytest.importorskip("triton", reason="triton is not installed")

PRELUDE = '''
import numpy as np
import triton
import triton.language as tl


class Tensor:
    """An array of NumPy with what Triton asks a tensor for."""

    def __init__(self, array):
        self.array, self.dtype, self.shape = array, array.dtype, array.shape
        self.__cuda_array_interface__ = {**array.__array_interface__, "strides": array.strides}

    def data_ptr(self):
        return self.array.ctypes.data

    def stride(self):
        return tuple(each // self.array.itemsize for each in self.array.strides)


def aligned(*shape, dtype=np.float32):
    """Zeros whose address 64 divides."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype).reshape(shape)


@triton.jit
def scale(x, out, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    source = x
    tl.store(out + at, tl.load(source + at, mask=at < n) * factor, mask=at < n)
'''
TritonRun = Callable[..., Recorded]


@pytest.fixture
def run(tmp_path: Path) -> TritonRun:
    """Record a program given as text (`PRELUDE` stands in front of it) into ``tmp_path/out``."""

    def run_text(text: str, *, interpret: bool = False, **options: object) -> Recorded:
        program = tmp_path / "program.py"
        program.write_text(PRELUDE + textwrap.dedent(text))
        output = tmp_path / "out"
        limits = RecordOptions(**options)  # type: ignore[arg-type]
        command = [sys.executable, "-W", "ignore", str(program)]
        summary = record(command, output=output, no_gpu=True, interpret=interpret, options=limits)
        return Recorded(summary, output)

    return run_text


def test_a_launch_leaves_triton_ir_and_a_spec(run: TritonRun) -> None:
    recorded = run("""
        for n in (1000, 77):
            x = Tensor(aligned(n))
            scale[(triton.cdiv(n, 128),)](x, Tensor(aligned(n)), n, 2.0, BLOCK=128)
    """)
    assert recorded.summary.failures == ()
    (entry,) = recorded.specialisations
    assert entry["producer"] == "triton"
    assert entry["source"]["name"] == "scale"
    kernel_file = recorded.folder / entry["bytecode"]
    (kernel,) = triton_ir_kernels(kernel_file)
    assert kernel.parameters is not None
    assert [each.name for each in kernel.parameters] == ["x", "out", "n", "factor"]  # and not `source`
    general = (recorded.folder / entry["spec"]).read_text().split("# launches 0, 1 in general")[1]
    assert general == textwrap.dedent("""\
        : n = 1000, 77
        [[launch]]
        kernel = "scale"
        name = "general"
        origin = "recorded"
        grid = ["cdiv(n, 128)"]
        requires = ["x.address % 16 == 0", "out.address % 16 == 0"]

        [launch.args]
        x = "f32[n]"
        out = "f32[n]"
        n = "i32"
        factor = "f32"
        """)
    source = (recorded.folder / entry["source_spec"]).read_text()
    assert "options = { num_warps = 4, num_stages = 3, num_ctas = 1 }" in source
    assert "BLOCK = 128" in source
    report = check_paths([str(recorded.folder)])
    assert {each.verdict for each in report.results} == {Verdict.PROVED}


def test_what_is_wrong_with_a_launch_comes_out_of_its_recording(run: TritonRun) -> None:
    recorded = run("""
        @triton.jit
        def tail(out, n, BLOCK: tl.constexpr):
            at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out + at, 0.0)
        tail[(1,)](Tensor(aligned(100)), 100, BLOCK=128)
    """)
    (result,) = check_paths([str(recorded.folder)]).results
    assert (result.verdict, result.findings[0].code) == (Verdict.REFUTED, "TV302")


def test_every_configuration_of_an_autotuned_kernel_is_launched_once(run: TritonRun) -> None:
    recorded = run("""
        @triton.autotune([triton.Config({"BLOCK": size}, num_warps=2) for size in (32, 64, 256)], key=["n"])
        @triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
        @triton.jit
        def tuned(out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
            at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            if EVEN:
                tl.store(out + at, 1.0)
            else:
                tl.store(out + at, 1.0, mask=at < n)
        for _ in range(3):
            tuned[lambda meta: (triton.cdiv(96, meta["BLOCK"]),)](Tensor(aligned(96)), 96)
    """)
    launches = [(each, launch) for each in recorded.specialisations for launch in each["launches"]]
    assert [launch["grid"][0] for _, launch in launches] == [3, 2, 1]
    assert {each["options"] for each, _ in launches} == {"{ num_warps = 2, num_stages = 3, num_ctas = 1 }"}
    assert [argument["value"] for argument in launches[0][1]["arguments"][1:]] == [96, 32, True]
    assert {each.verdict for each in check_paths([str(recorded.folder)]).results} == {Verdict.PROVED}


def test_arguments_of_every_kind(run: TritonRun) -> None:
    recorded = run("""
        @triton.jit
        def kinds(bits, half, nothing, flag, wide, one, real, pair, kind: tl.constexpr, word: tl.constexpr):
            at = tl.arange(0, 16)
            value = tl.load(bits + at).to(kind)
            if nothing is not None:
                value += 1
            tl.store(half + at * one, value.to(tl.float16), mask=at < wide)
            tl.store(pair[0] + at, tl.load(pair[0] + at) + pair[1])
        half = aligned(3, 16, dtype=np.float16)
        pair = (Tensor(aligned(16, dtype=np.int32)), 5)
        bits = Tensor(aligned(16, dtype=np.bool_))
        kinds[(1,)](bits, Tensor(half[1]), None, True, 1 << 40, 1, 0.5, pair, tl.float32, "a")
    """)
    assert recorded.summary.failures == ()
    (entry,) = recorded.specialisations
    (launch,) = entry["launches"]
    named = dict(zip(entry["parameters"], launch["arguments"], strict=True))
    assert (named["bits"]["dtype"], named["half"]["dtype"], named["half"]["shape"]) == ("bool", "f16", [16])
    assert named["nothing"] == {"kind": "constant", "value": None}
    assert named["flag"] == {"kind": "scalar", "dtype": "bool", "value": True}
    assert named["wide"] == {"kind": "scalar", "dtype": "i64", "value": 1 << 40}
    assert named["one"] == {"kind": "constant", "value": 1}
    assert named["real"] == {"kind": "scalar", "dtype": "f32", "value": "0.5"}
    assert named["pair_0"]["dtype"] == "i32"
    assert named["kind"] == {"kind": "constant", "value": "tl.float32", "type": "dtype"}
    assert named["word"] == {"kind": "constant", "value": "a"}
    (result,) = check_paths([str(recorded.folder)]).results
    assert result.verdict is Verdict.PROVED


def test_the_recorded_spec_fits_the_source(run: TritonRun, tmp_path: Path) -> None:
    recorded = run("""
        if __name__ == "__main__":
            @triton.jit
            def nested(out):
                tl.store(out, 1)
            scale[(2,)](Tensor(aligned(256)), Tensor(aligned(256)), 256, 1.5, BLOCK=128, num_warps=8)
    """)
    (entry,) = recorded.specialisations
    spec = recorded.folder / entry["source_spec"]
    (found,) = discover([f"{tmp_path / 'program.py'}::scale"], spec_file=spec)
    assert isinstance(found, KernelUnit)
    assert check_unit(found).verdict is Verdict.PROVED


def test_overlaps_and_contents_are_seen(run: TritonRun) -> None:
    recorded = run("""
        @triton.jit
        def move(index, x, out, BLOCK: tl.constexpr):
            at = tl.arange(0, BLOCK)
            tl.store(out + tl.load(index + at), tl.load(x + at))
        index = aligned(16, dtype=np.int32)
        index[:] = np.arange(16)[::-1]
        memory = aligned(32)
        move[(1,)](Tensor(index), Tensor(memory[:16]), Tensor(memory[8:24]), BLOCK=16)
        move[(1,)](Tensor(index), Tensor(memory[:16]), Tensor(memory[16:]), BLOCK=16)
    """)
    first, second = [launch for each in recorded.specialisations for launch in each["launches"]]
    assert first["overlaps"] == [{"first": "x", "second": "out", "same": False}]
    assert second["overlaps"] == []
    assert second["observed"] == ["range(index, 0, 16)", "injective(index)", "shares(index, 120)"]


def test_what_makes_no_launch(run: TritonRun) -> None:
    recorded = run("""
        x = Tensor(aligned(256))
        kernel = scale.warmup(x, x, 256, 2.0, BLOCK=128, grid=(1,))
        kernel._init_handles()
        assert kernel.metadata.shared == 0 and kernel.metadata.num_warps == 4 and kernel.n_regs and not kernel.n_spills
        scale[(0,)](x, x, 256, 2.0, BLOCK=128)
        kernel[(2, 1, 1)](x, x, 256, 2.0, 128)
        properties = triton.runtime.driver.active.utils.get_device_properties(0)
        assert properties["multiprocessor_count"] == 148
        assert triton.runtime.driver.active.get_current_target().arch == 100
    """)
    (entry,) = recorded.specialisations
    assert [launch["grid"] for launch in entry["launches"]] == [[2, 1, 1]]


def test_an_error_of_triton_is_the_programs_own(run: TritonRun) -> None:
    recorded = run("""
        @triton.jit
        def wrong(out):
            tl.store(out + tl.arange(0, 3), 1.0)
        try:
            wrong[(1,)](Tensor(aligned(3)))
        except triton.CompilationError:
            scale[(1,)](Tensor(aligned(8)), Tensor(aligned(8)), 8, 2.0, BLOCK=16)
    """)
    assert [each["kernel"] for each in recorded.specialisations] == ["scale"]


def test_specialisations_beyond_the_limit_are_counted(run: TritonRun) -> None:
    recorded = run(
        """
        for block in (16, 32, 64):
            scale[(1,)](Tensor(aligned(8)), Tensor(aligned(8)), 8, 2.0, BLOCK=block)
        """,
        specialisations=2,
    )
    assert (recorded.summary.specialisations, recorded.summary.left_out) == (2, 1)


def test_what_cannot_be_described_is_told(run: TritonRun) -> None:
    with pytest.raises(NoKernelFound, match=r"the first failed with UnknownTritonArgument: .* no array whose size"):
        run("""
            class Pointer:
                dtype = "float32"
                def data_ptr(self):
                    return 1 << 20
            scale[(1,)](Pointer(), Pointer(), 8, 2.0, BLOCK=16)
        """)


def test_stand_ins_of_tensors_are_arrays_within_their_storage(run: TritonRun) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    recorded = run("""
        import torch
        class Buffer:
            def __init__(self, base, shape, strides, offset):
                self.memory, self.dtype, self.offset = base, base.dtype, offset
                self.shape, self.strides = shape, strides
            def data_ptr(self):
                return self.memory.data_ptr() + self.offset * self.dtype.itemsize
            def stride(self):
                return self.strides
            def untyped_storage(self):
                return self.memory.untyped_storage()
        x, out = torch.zeros(4, 100, device="cuda"), torch.zeros(300, device="cuda")
        scale[(3,)](Buffer(x, (300,), (1,), 100), out, 300, 2.0, BLOCK=128)
        scale[(3,)](Buffer(x, (301,), (1,), 100), out, 301, 2.0, BLOCK=128)
        scale[(3,)](Buffer(x, (100,), (-1,), 99), out, 100, 2.0, BLOCK=128)
    """)
    (known,) = recorded.folder.glob("scale.*.tileverify.toml")
    assert 'x = "f32[300]"' in known.read_text()
    assert recorded.summary.launches == 1


def test_both_kinds_of_kernels_in_one_program(run: TritonRun) -> None:
    pytest.importorskip("cuda.tile")
    recorded = run("""
        import cuda.tile as ct
        @ct.kernel
        def clear(out):
            ct.store(out, (ct.bid(0),), ct.zeros((16,), ct.float32))
        x = aligned(64)
        ct.launch(0, (4,), clear, (x,))
        scale[(1,)](Tensor(x), Tensor(x), 64, 2.0, BLOCK=64)
    """)
    assert [Path(each["bytecode"]).suffix for each in recorded.specialisations] == [".tileirbc", ".ttir"]


def test_the_interpreter_gives_results(run: TritonRun) -> None:
    recorded = run(
        """
        x = aligned(100)
        x[:] = np.arange(100)
        out = aligned(100)
        scale[(2,)](Tensor(x), Tensor(out), 100, 2.0, BLOCK=64)
        assert (out == 2 * x).all()
        """,
        interpret=True,
    )
    assert recorded.summary.exit_code == 0


# ------------------------------------------------------------------------------------------------------ hooks alone
class _Told:
    """Remembers launches; ``again``: whether equal ones need not be told."""

    def __init__(self, *, again: bool) -> None:
        self.again = again
        self.launches: list[tuple[str, Grid, list[Described]]] = []

    def triton_room(self, function: object) -> bool:
        return True

    def triton_launch(
        self, made: TritonSpecialisation, grid: Grid, described: list[Described], arrays: list[object]
    ) -> bool:
        self.launches.append((made.symbol, grid, described))
        return self.again

    def triton_failed(self, function: object, error: Exception) -> None:
        raise error


def _loaded(told: _Told) -> tuple[TritonHooks, SimpleNamespace, list[tuple[object, ...]]]:
    """A kernel that a GPU runs, and what it ran."""
    ran: list[tuple[object, ...]] = []

    class CompiledKernel(SimpleNamespace):
        @property
        def run(self) -> Callable[..., None]:
            return lambda *given: ran.append(given)

    def scale(x: object, n: int, block: int) -> None:
        pass

    signature = {"x": "*fp32", "n": "i32", "block": "constexpr"}
    source = SimpleNamespace(
        fn=SimpleNamespace(fn=scale, arg_names=list(signature)), signature=signature, constants={(2,): 64}, ext="ttir"
    )
    options = SimpleNamespace(_asdict=lambda: {"num_warps": 4})
    kernel = CompiledKernel(src=source, asm={"ttir": "tt.func public @scale_0(%x)"}, name="scale", metadata=options)
    compiler = ModuleType("triton.compiler.compiler")
    compiler.CompiledKernel = CompiledKernel  # type: ignore[attr-defined]
    hooks = TritonHooks(told, runs=True)  # type: ignore[arg-type]
    hooks.install_compiler(compiler)
    return hooks, kernel, ran


class _Tensor:
    def __init__(self, shape: tuple[int, ...], address: int) -> None:
        self.shape, self.address = shape, address
        self.__cuda_array_interface__ = {"shape": shape, "typestr": "<f4", "data": (address, False), "strides": None}

    def data_ptr(self) -> int:
        return self.address

    def stride(self) -> tuple[int, ...]:
        return (1,)


def test_launches_on_a_gpu_go_on_and_equal_ones_are_told_once() -> None:
    told = _Told(again=True)
    hooks, kernel, ran = _loaded(told)

    def launch(grid: tuple[int, int, int], *arguments: object) -> None:
        kernel.run(*grid, 0, None, (), None, None, None, *arguments)

    x = _Tensor((100,), 4096)
    launch((2, 1, 1), x, 100, 64)
    launch((2, 1, 1), x, 100, 64)
    assert (len(told.launches), len(ran)) == (1, 2)
    for grid, *arguments in (
        ((3, 1, 1), x, 100, 64),
        ((2, 1, 1), x, 99, 64),
        ((2, 1, 1), _Tensor((99,), 4096), 100, 64),
        ((2, 1, 1), _Tensor((100,), 4100), 100, 64),
    ):
        launch(grid, *arguments)
    assert (len(told.launches), len(ran)) == (5, 6)
    assert [each["aligned"] for _, _, (each, *_) in told.launches if each["kind"] == "array"] == [16, 16, 16, 16, 4]
    hooks.undo()
    launch((9, 1, 1), x, 100, 64)
    assert (len(told.launches), len(ran)) == (5, 7)


def test_what_an_observer_refuses_does_not_run() -> None:
    class Refuses(_Told):
        def triton_launch(self, *of: object) -> bool:
            raise RuntimeError("no")

    _, kernel, ran = _loaded(Refuses(again=False))
    with pytest.raises(RuntimeError, match="no"):
        kernel.run(2, 1, 1, 0, None, (), None, None, None, _Tensor((100,), 4096), 100, 64)
    assert ran == []


def test_a_recording_is_extended(run: TritonRun, tmp_path: Path) -> None:
    recorded = run("scale[(1,)](Tensor(aligned(8)), Tensor(aligned(8)), 8, 2.0, BLOCK=16)")
    program = tmp_path / "again.py"
    program.write_text(f"{PRELUDE}\nscale[(1,)](Tensor(aligned(9)), Tensor(aligned(9)), 9, 2.0, BLOCK=32)\n")
    record([sys.executable, "-W", "ignore", str(program)], output=recorded.folder, no_gpu=True, append=True)
    index = json.loads((recorded.folder / "index.json").read_text())
    assert [launch["arguments"][0]["shape"] for each in index["specialisations"] for launch in each["launches"]] == [
        [8],
        [9],
    ]
    assert len(list(recorded.folder.glob("*.ttir"))) == 2
