"""`tileverify.patch` in front of Triton's own launches; a kernel that is loaded is imitated."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

import tileverify
from tileverify.frontend.sources.importing import import_file
from tileverify.frontend.triton.triton_kernels import triton_ir, triton_kernels_of_module

triton = pytest.importorskip("triton", reason="triton is not installed")

KERNELS = textwrap.dedent("""
    import triton
    import triton.language as tl

    @triton.jit
    def copy(x, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)

    @triton.jit
    def gather(x, index, out, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + tl.load(index + at)))

    @triton.jit
    def chunks(x, out, cu_seqlens, table, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        sequence = tl.load(table + 2 * row)
        first = tl.load(cu_seqlens + sequence) + tl.load(table + 2 * row + 1) * BLOCK
        at = first + tl.arange(0, BLOCK)
        inside = at < tl.load(cu_seqlens + sequence + 1)
        tl.store(out + at, tl.load(x + at, mask=inside), mask=inside)
""")


class Tensor:
    """An array of NumPy with what a tensor says of itself."""

    def __init__(self, array: NDArray[np.generic]) -> None:
        self.array, self.shape = array, array.shape
        self.__cuda_array_interface__ = {**array.__array_interface__, "strides": array.strides}

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def stride(self) -> tuple[int, ...]:
        return tuple(each // self.array.itemsize for each in self.array.strides)


@dataclass
class Loaded:
    """Kernels as Triton has them on a GPU, and what they ran."""

    kernel: Callable[..., SimpleNamespace]
    ran: list[tuple[object, ...]]

    def launch(self, kernel: SimpleNamespace, grid: tuple[int, int, int], *arguments: object) -> None:
        kernel.run(*grid, 0, None, (), None, None, None, *arguments)


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Loaded:
    ran: list[tuple[object, ...]] = []

    class CompiledKernel(SimpleNamespace):
        @property
        def run(self) -> Callable[..., None]:
            return lambda *given: ran.append(given)

    monkeypatch.setattr(triton.compiler.compiler, "CompiledKernel", CompiledKernel)
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    kernels = {each.name: each for each in triton_kernels_of_module(import_file(path), path)}

    def kernel(name: str, signature: dict[str, str], constants: dict[str, object]) -> SimpleNamespace:
        function = kernels[name].function
        places = {(function.arg_names.index(each),): value for each, value in constants.items()}
        source = SimpleNamespace(fn=function, signature=signature, constants=places, ext="ttir")
        text = triton_ir(kernels[name], signature, constants, {})
        options = SimpleNamespace(_asdict=lambda: {"num_warps": 4})
        return CompiledKernel(src=source, asm={"ttir": text}, name=name, metadata=options)

    return Loaded(kernel, ran)


COPY = ("copy", {"x": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 64})
CHUNKS = (
    "chunks",
    {"x": "*fp32", "out": "*fp32", "cu_seqlens": "*i32", "table": "*i32", "BLOCK": "constexpr"},
    {"BLOCK": 16},
)
GATHER = ("gather", {"x": "*fp32", "index": "*i32", "out": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": 16})


def _floats(size: int) -> Tensor:
    return Tensor(np.zeros(size, np.float32))


def test_what_is_proved_runs_and_nothing_else(loaded: Loaded) -> None:
    copy = loaded.kernel(*COPY)
    x, out = _floats(100), _floats(100)
    with tileverify.patch():
        loaded.launch(copy, (2, 1, 1), x, out, 100, 64)
        loaded.launch(copy, (2, 1, 1), x, out, 100, 64)
        loaded.launch(copy, (1, 1, 1), _floats(40), _floats(50), 40, 64)
        with pytest.raises(tileverify.LaunchRefused, match=r"copy was not launched, .* leaves the array `out`"):
            loaded.launch(copy, (2, 1, 1), x, _floats(99), 100, 64)
        with pytest.raises(tileverify.LaunchRefused, match="copy was not launched"):
            loaded.launch(copy, (2, 1, 1), x, x, 101, 64)
    assert len(loaded.ran) == 3
    loaded.launch(copy, (2, 1, 1), x, _floats(99), 100, 64)  # Triton's own again
    assert len(loaded.ran) == 4


def test_contents_are_looked_at_each_time(loaded: Loaded) -> None:
    gather = loaded.kernel(*GATHER)
    index = np.arange(16, dtype=np.int32)
    arguments = _floats(16), Tensor(index), _floats(16), 16
    with tileverify.patch():
        loaded.launch(gather, (1, 1, 1), *arguments)
        loaded.launch(gather, (1, 1, 1), *arguments)
        index[3] = 16
        with pytest.raises(tileverify.LaunchRefused):
            loaded.launch(gather, (1, 1, 1), *arguments)
        index[3] = 15
        loaded.launch(gather, (1, 1, 1), *arguments)
    assert len(loaded.ran) == 3


def test_rows_of_a_table_are_looked_at_each_time(loaded: Loaded) -> None:
    chunks = loaded.kernel(*CHUNKS)
    cu_seqlens, table = np.array([0, 5, 25], np.int32), np.array([[0, 0], [1, 0], [1, 1]], np.int32)
    arguments = _floats(25), _floats(25), Tensor(cu_seqlens), Tensor(table), 16
    with tileverify.patch():
        loaded.launch(chunks, (3, 1, 1), *arguments)
        table[0] = (1, 1)
        with pytest.raises(tileverify.LaunchRefused, match="chunks was not launched"):
            loaded.launch(chunks, (3, 1, 1), *arguments)
        table[0] = (2, 0)
        with pytest.raises(tileverify.LaunchRefused):
            loaded.launch(chunks, (3, 1, 1), *arguments)
        table[:] = [[1, 0], [0, 0], [1, 1]]
        loaded.launch(chunks, (3, 1, 1), *arguments)
    assert len(loaded.ran) == 2


def test_an_opt_out_lets_it_pass(loaded: Loaded) -> None:
    copy = loaded.kernel(*COPY)
    x, out = _floats(100), _floats(90)
    with tileverify.patch():
        with pytest.warns(tileverify.UnprovedLaunch), tileverify.unproved(reason="seen by eye"):
            loaded.launch(copy, (2, 1, 1), x, out, 100, 64)
        with pytest.raises(tileverify.LaunchRefused):
            loaded.launch(copy, (2, 1, 1), x, out, 100, 64)
    assert len(loaded.ran) == 1


def test_what_cannot_be_described_is_refused(loaded: Loaded) -> None:
    copy = loaded.kernel(*COPY)
    with tileverify.patch(), pytest.raises(tileverify.LaunchRefused, match="no array whose size is known"):
        loaded.launch(copy, (2, 1, 1), object(), _floats(100), 100, 64)
    assert loaded.ran == []
