"""Launches of kernels that host code loads as modules: through ``cuda.bindings``, ``cuda.core``, and compiled by nvcc.

The packages are stand-ins (``no_driver``), so that the same programs run with a driver and without.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tileverify.frontend.sources.bytecode_file import compile_tile_cpp
from tileverify.pipeline import CheckOptions, check_paths
from tileverify.record.recorded_command import record
from tileverify.results import Verdict
from tileverify.system.errors import NoKernelFound

HERE = Path(__file__).parent
IMAGE = HERE.parent / "frontend" / "bytecode" / "data" / "pointers_nvcc_13.4.tileirbc"
SAXPY = "_Z5saxpyPfPKffi"

PRELUDE = f"""
import ctypes, subprocess, sys
import numpy as np
IMAGE = open({str(IMAGE)!r}, "rb").read()
SAXPY = {SAXPY!r}
x, y = np.zeros(300, np.float32), np.zeros(300, np.float32)
TYPES = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_float, ctypes.c_int)
VALUES = (x.ctypes.data, y.ctypes.data, 2.0, 300)
"""
DRIVER = """
from cuda.bindings import driver
error, module = driver.cuModuleLoadData(IMAGE)
error, saxpy = driver.cuModuleGetFunction(module, SAXPY.encode())
assert int(error) == 0

def launch(parameters, blocks=3):
    return driver.cuLaunchKernel(saxpy, blocks, 1, 1, 1, 1, 1, 0, 0, parameters, 0)
"""

ALIGNED = """
#include <cuda_tile.h>
namespace ct = cuda::tiles;
__tile_global__ void twice(int* values) {
  auto at = ct::assume_aligned<16>(values) + ct::iota<ct::tile<int, ct::shape<32>>>();
  ct::store(at, ct::load(at) * 2);
}
"""

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Record a program and give the index of the recording, which lies in ``tmp_path/out``."""
    monkeypatch.setenv("PYTHONPATH", str(HERE / "no_driver"))
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def run_text(*parts: str, no_gpu: bool = True, interpret: bool = False, ends: int = 0) -> dict[str, Any]:
        program = tmp_path / "program.py"
        program.write_text("\n".join([PRELUDE, *(textwrap.dedent(part) for part in parts)]))
        command = [sys.executable, str(program)]
        summary = record(command, output=tmp_path / "out", no_gpu=no_gpu, interpret=interpret)
        assert summary.exit_code == ends
        index: dict[str, Any] = json.loads((tmp_path / "out" / "index.json").read_text())
        return index

    return run_text


def launches(index: dict[str, Any]) -> list[tuple[list[int], list[object]]]:
    """Grid and arguments of all launches: the shape of an array, the value of a scalar."""
    return [
        (launch["grid"], [each.get("shape", each.get("value")) for each in launch["arguments"]])
        for entry in index["specialisations"]
        for launch in entry["launches"]
    ]


AS_LAUNCHED: list[tuple[list[int], list[object]]] = [([3, 1, 1], [[300], [300], "2.0", 300])]


def test_a_launch_by_the_driver_is_recorded_and_checked(run: Run, tmp_path: Path) -> None:
    index = run(DRIVER, "assert launch((VALUES, TYPES)) == (0,)")
    assert launches(index) == AS_LAUNCHED
    (entry,) = index["specialisations"]
    assert (entry["kernel"], entry["symbol"], entry["calling_convention"]) == ("saxpy", SAXPY, "plain")
    found = check_paths([f"{tmp_path}/out/{entry['bytecode']}::{SAXPY}"], options=CheckOptions()).results
    assert [(result.launch, result.verdict) for result in found] == [("0", Verdict.PROVED)]


def test_addresses_of_parameters(run: Run) -> None:
    index = run(
        DRIVER,
        """
        kept = [kind(value) for kind, value in zip(TYPES, VALUES)]
        launch(np.array([ctypes.addressof(each) for each in kept], np.uint64))
        """,
    )
    assert launches(index) == AS_LAUNCHED


def test_memory_of_the_driver_has_a_size_and_parts_of_arrays_their_own(run: Run) -> None:
    index = run(
        DRIVER,
        """
        error, memory = driver.cuMemAlloc(1204)
        driver.cuMemcpyHtoD(memory, x, 1200)
        part = y[44:]
        launch(((int(memory), part.ctypes.data, 2.0, 256), TYPES), 2)
        config = driver.CUlaunchConfig()
        config.gridDimX = 2
        driver.cuLaunchKernelEx(config, saxpy, ((int(memory) + 4, y.ctypes.data + 4, 2.0, 256), TYPES), 0)
        """,
    )
    assert launches(index) == [
        ([2, 1, 1], [[301], [256], "2.0", 256]),
        ([2, 1, 1], [[300], [299], "2.0", 256]),
    ]
    aligned = [each.get("aligned") for each in index["specialisations"][0]["launches"][1]["arguments"]]
    assert aligned == [4, 4, None, None]


def test_the_functions_of_a_module_are_listed(run: Run) -> None:
    index = run(
        DRIVER,
        """
        error, count = driver.cuModuleGetFunctionCount(module)
        error, functions = driver.cuModuleEnumerateFunctions(count, module)
        names = [driver.cuFuncGetName(each)[1] for each in functions]
        assert SAXPY.encode() in names and len(names) == count > 3
        saxpy = functions[names.index(SAXPY.encode())]
        launch((VALUES, TYPES))
        error, missing = driver.cuModuleGetFunction(module, b"no_such_kernel")
        assert error is driver.CUresult.CUDA_ERROR_NOT_FOUND
        """,
    )
    assert launches(index) == AS_LAUNCHED


def test_what_cannot_be_written_down_is_told(run: Run) -> None:
    index = run(
        DRIVER,
        """
        launch((VALUES, TYPES))
        launch(((64, *VALUES[1:]), TYPES))
        launch((VALUES[:3], TYPES[:3]))
        launch(((*VALUES[:3], 7), (*TYPES[:3], ctypes.c_short)))
        assert int(driver.cuModuleLoadData(IMAGE[:40])[0]) == 0
        try:
            driver.cuArray3DCreate(None)
        except NotImplementedError as error:
            assert str(error) == "record --no-gpu has no stand-in for cuArray3DCreate of cuda.bindings.driver"
        """,
    )
    assert launches(index) == AS_LAUNCHED
    told = [failure["message"] for failure in index["runs"][-1]["failures"]]
    assert told[:3] == [
        "argument 0 (arg0) is the address 0x40, which belongs to no array of torch, NumPy or CuPy and to no "
        "allocation that was seen",
        "3 arguments for an entry that takes 4",
        "argument 3 (arg3) has 2 bytes, and the kernel reads 4",
    ]
    assert len(told) == 4, told


def test_a_killed_program_leaves_what_it_launched(run: Run) -> None:
    index = run(DRIVER, "launch((VALUES, TYPES))", "import os", "os.kill(os.getpid(), 9)", ends=137)
    assert launches(index) == AS_LAUNCHED


def test_results_are_not_pretended(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    index = run(DRIVER, "launch((VALUES, TYPES))", interpret=True, ends=1)
    assert launches(index) == AS_LAUNCHED
    told = "record --interpret does not run saxpy, a kernel that host code loads; use --no-gpu alone"
    assert told in capfd.readouterr().err


CORE = """
from cuda.core import Device, LaunchConfig, ObjectCode, Program, Stream, launch
kernel = ObjectCode.from_cubin(IMAGE).get_kernel(SAXPY)
stream = None
"""


def test_a_launch_by_cuda_core_without_a_driver(run: Run) -> None:
    index = run(
        CORE,
        """
        device = Device(0)
        device.set_current()
        assert device.compute_capability == (10, 0)
        assert kernel.num_arguments == 4
        assert [(each.offset, each.size) for each in kernel.arguments_info] == [(0, 8), (8, 8), (16, 4), (20, 4)]
        buffer = device.allocate(1200)
        factor = np.float32(2)
        launch(Stream.from_handle(0), LaunchConfig(grid=3, block=1), kernel, buffer, VALUES[1], factor, np.int32(300))
        made = Program(IMAGE.hex(), "c++").compile("cubin").get_kernel(SAXPY)
        launch(device.default_stream, LaunchConfig(grid=(3,)), made, *map(np.uint64, VALUES[:2]), factor, 300)
        try:
            ObjectCode.from_cubin(IMAGE).get_kernel("no_such_kernel")
        except RuntimeError as error:
            assert "no_such_kernel" in str(error)
        else:
            raise AssertionError
        """,
    )
    assert launches(index) == AS_LAUNCHED


def test_a_launch_by_cuda_core_on_a_gpu(run: Run) -> None:
    """The package's own objects do what they did; the arrays lie on the host, where a GPU's would not be looked for."""
    index = run(
        """
        from cuda.bindings import driver
        error, memory = driver.cuMemAlloc(1200)
        """,
        CORE,
        """
        import cuda.core
        assert isinstance(Program(IMAGE.hex(), "c++").compile("cubin"), ObjectCode)
        launch(stream, LaunchConfig((3, 1, 1)), kernel, int(memory), int(memory), np.float32(2), np.int32(300))
        assert len(cuda.core.launched) == 1
        """,
        no_gpu=False,
    )
    assert launches(index) == AS_LAUNCHED
    assert index["specialisations"][0]["launches"][0]["overlaps"] == [{"first": "arg0", "second": "arg1", "same": True}]


NVCC = """#!{python}
import shutil, sys
output = sys.argv[sys.argv.index("-o") + 1]
if "--tilebc" in sys.argv:
    shutil.copyfile({image!r}, output)
else:
    open(output, "wb").write(b"a cubin")
"""
COMPILED = """
from cuda.bindings import driver
subprocess.run(["nvcc", "-tilecubin", "-arch=sm_100", "-o", "saxpy.cubin", "saxpy.cu"], check=True)
content = open("saxpy.cubin", "rb").read()
error, memory = driver.cuMemAlloc(1200)
error, module = driver.cuModuleLoadData(content)
error, saxpy = driver.cuModuleGetFunction(module, SAXPY.encode())
given = int(memory), int(memory), 2.0, 300
driver.cuLaunchKernel(saxpy, 3, 1, 1, 1, 1, 1, 0, 0, (given, TYPES), 0)
"""


@pytest.mark.parametrize("no_gpu", [True, False])
def test_what_nvcc_makes_of_tile_code_is_known(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    nvcc = tmp_path / "nvcc"
    nvcc.write_text(NVCC.format(python=sys.executable, image=str(IMAGE)))
    nvcc.chmod(0o755)
    expected = "content == IMAGE" if no_gpu else "content == b'a cubin'"
    index = run(COMPILED, f"assert {expected}", no_gpu=no_gpu)
    assert launches(index) == AS_LAUNCHED


def test_kernels_without_tile_ir_are_nobodys_concern(run: Run) -> None:
    with pytest.raises(NoKernelFound, match="launched no kernel of Tile IR"):
        run(DRIVER.replace("IMAGE", "b'PTX'"), "launch((VALUES, TYPES))")


@pytest.mark.assembler("nvcc")
def test_what_a_kernel_takes_for_granted_of_addresses(run: Run, tmp_path: Path) -> None:
    """A launch that breaks it is told, not recorded; `twice` of the image assumes that 16 divides both."""
    source = tmp_path / "aligned.cu"
    source.write_text(ALIGNED)
    (tmp_path / "aligned.tileirbc").write_bytes(compile_tile_cpp(source))
    index = run(
        f"IMAGE = open({str(tmp_path / 'aligned.tileirbc')!r}, 'rb').read()",
        """
        SAXPY = "_Z5twicePi"
        TYPES = (ctypes.c_void_p,)
        """,
        DRIVER,
        """
        launch(((x.ctypes.data,), TYPES))
        launch(((x.ctypes.data + 16,), TYPES))
        launch(((x.ctypes.data + 4,), TYPES))
        """,
    )
    assert [arguments for _, arguments in launches(index)] == [[[300]], [[296]]]
    (entry,) = index["specialisations"]
    assert (entry["parameters"], entry["source"]["module"]) == (["values"], "aligned")
    told = [failure["message"] for failure in index["runs"][-1]["failures"]]
    assert told == [
        "argument 0 (values) begins at an address that is no multiple of 16, which the kernel takes for granted"
    ]


def test_a_module_that_cupy_loads_from_a_file(run: Run) -> None:
    index = run(
        f"PATH = {str(IMAGE)!r}",
        """
        import cupy
        saxpy = cupy.RawModule(path=PATH).get_function(SAXPY)
        saxpy((3,), (1,), (x, y, np.float32(2), np.int32(300)))
        assert cupy.RawModule(code="extern", options=()).code == "extern"
        """,
    )
    assert launches(index) == AS_LAUNCHED
