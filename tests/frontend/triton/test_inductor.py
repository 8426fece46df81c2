"""Files that `torch.compile` writes.  A few lines stand for torch, which need not be installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="triton is not installed")

HEURISTICS = """
import triton

class CachingAutotuner:
    def __init__(self, fn, configs, triton_meta, inductor_meta):
        self.fn, self.configs, self.triton_meta, self.inductor_meta = fn, configs, triton_meta, inductor_meta

def pointwise(size_hints, filename, triton_meta, inductor_meta):
    configs = [triton.Config({"XBLOCK": 128}, num_warps=4), triton.Config({"XBLOCK": 64}, num_warps=2)]
    return lambda fn: CachingAutotuner(fn, configs, triton_meta, inductor_meta)
"""
HELPERS = """
import triton
import triton.language as tl

def set_driver_to_gpu():
    raise RuntimeError("Could not find an active GPU backend")

@triton.jit
def maximum(a, b):
    return tl.maximum(a, b)
"""
KERNEL = """
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
triton_helpers.set_driver_to_gpu()

@triton_heuristics.pointwise(
    size_hints={'x': 1024},
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp16', 'ks0': 'i64', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'constants': {}, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'kernel_name': 'triton_poi_fused_relu_0'},
)
@triton.jit
def triton_poi_fused_relu_0(in_ptr0, out_ptr0, ks0, xnumel, XBLOCK : tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tmp1 = triton_helpers.maximum(tmp0, 0.0)
    tl.store(out_ptr0 + (x0), tmp1, xmask)
"""  # noqa: E501
CALLING = (
    """
from torch._inductor.async_compile import AsyncCompile
async_compile = AsyncCompile()

# kernel path: /tmp/c6/c6.py
triton_poi_fused_relu_0 = async_compile.triton('triton_poi_fused_relu_0', '''"""
    + KERNEL
    + """''', device_str='cuda')

async_compile.wait(globals())
del async_compile

class Runner:
    def call(self, args):
        arg0_1, s77, arg1_1 = args
        args.clear()
        assert_size_stride(arg1_1, (s77, 64), (64, 1))
        with torch.cuda._DeviceGuard(0):
            torch.cuda.set_device(0)
            buf0 = empty_strided_cuda((s77, SIZE), (SIZE, 1), torch.float16)
            stream0 = get_raw_stream(0)
            triton_poi_fused_relu_0.run(arg1_1, buf0, s77, 64*s77, stream=stream0)
            buf1 = reinterpret_tensor(buf0, (s77, 64), (64, 1), 0); del buf0  # reuse
            triton_poi_fused_relu_0.run(extern_kernels.made(), buf1, s77, 64*s77, stream=stream0)
            del arg1_1
        return (buf1, )
"""
)


@dataclass(frozen=True)
class Folder:
    path: Path

    def check(self, *arguments: str, heuristics: bool = True) -> tuple[int, dict[str, Any], str]:
        """Exit code, JSON, standard error."""
        own = [str(self.path / "site")] if heuristics else []
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*own, *sys.path])}
        command = [sys.executable, "-m", "tileverify", "check", *arguments, "--format", "json", "--no-cache"]
        done = subprocess.run(
            command, cwd=self.path, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        return done.returncode, json.loads(done.stdout or "{}"), done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    runtime = tmp_path / "site" / "torch" / "_inductor" / "runtime"
    runtime.mkdir(parents=True)
    for package in (runtime.parent.parent, runtime.parent, runtime):
        (package / "__init__.py").touch()
    (runtime / "triton_heuristics.py").write_text(HEURISTICS)
    (runtime / "triton_helpers.py").write_text(HELPERS)
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "right.py").write_text(CALLING.replace("SIZE", "64"))
    (tmp_path / "wrong.py").write_text(CALLING.replace("SIZE", "63"))
    return Folder(tmp_path)


def test_a_file_of_one_kernel_has_the_types_that_inductor_knows(folder: Folder) -> None:
    code, report, _ = folder.check("kernel.py")
    (result,) = report["results"]
    assert (code, result["verdict"], result["contract"]) == (0, "proved", "inferred")
    assert 'out_ptr0 = "f16[out_ptr0_size]"' in result["notes"][0]
    assert "XBLOCK = 128" in result["notes"][0]


def test_calling_code_says_how_large_arrays_are(folder: Folder) -> None:
    code, report, _ = folder.check("right.py")
    first, second = report["results"]  # of the second call nobody knows an argument
    assert (code, first["verdict"], second["verdict"]) == (0, "proved", "proved")
    number = next(n for n, line in enumerate(CALLING.splitlines(), 1) if ".run(arg1_1" in line)
    assert [each["launch"] for each in (first, second)] == [f"line {number} XBLOCK=128", f"line {number} XBLOCK=64"]
    assert first["requires"] == []


def test_a_buffer_that_is_too_small_is_found_at_the_line_of_the_kernel(folder: Folder) -> None:
    code, report, _ = folder.check("wrong.py")
    finding = report["results"][0]["findings"][0]
    number = next(n for n, line in enumerate(CALLING.splitlines(), 1) if "tl.store(" in line)
    assert (code, finding["code"], finding["sites"][0]["line"]) == (1, "TV302", number)
    assert finding["sites"][0]["array"] == "out_ptr0"


def test_without_torch_one_sentence_says_so(folder: Folder) -> None:
    if any((Path(place) / "torch").is_dir() for place in sys.path):
        pytest.skip("torch is installed")
    for name in ("kernel.py", "right.py"):
        code, report, _ = folder.check(name, heuristics=False)
        (result,) = report["results"]
        assert code == 2
        assert "kernels of torch.compile need torch: pip install torch" in result["findings"][0]["message"]


def test_arguments_that_share_memory_are_told(folder: Folder) -> None:
    text = CALLING.replace("SIZE", "64").replace("'*fp16'", "'*fp32'").replace("torch.float16", "torch.float32")
    inplace = text.replace(
        "triton_poi_fused_relu_0.run(arg1_1, buf0, s77", "triton_poi_fused_relu_0.run(buf0, buf0, s77"
    )
    (folder.path / "inplace.py").write_text(textwrap.dedent(inplace))
    code, report, _ = folder.check("inplace.py")
    assert (code, [each["verdict"] for each in report["results"]]) == (0, ["proved", "proved"])
    shifted = inplace.replace(
        "stream0 = get_raw_stream(0)", "buf2 = reinterpret_tensor(buf0, (s77 - 1, 64), (64, 1), 64)"
    ).replace("run(buf0, buf0, s77, 64*s77", "run(buf0, buf2, s77, 64*s77 - 64")
    (folder.path / "shifted.py").write_text(shifted)
    code, report, _ = folder.check("shifted.py")
    assert code == 1
    assert "TV102" in {finding["code"] for finding in report["results"][0]["findings"]}
