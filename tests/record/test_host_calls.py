"""What host code asks of a GPU that is not there, beside launches: arrays of CuPy, events, memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Recorded, Run

HERE = Path(__file__).parent

CUPY = """
    import cupy as cp

    @ct.kernel
    def add(x, y, index, out, tile: ct.Constant[int]):
        block = ct.bid(0)
        ct.store(out, (block,), ct.load(x, (block,), (tile,)) + ct.load(y, (block,), (tile,)))

    def prepared(n):
        cp.random.seed(n)
        x = cp.random.rand(n, dtype=cp.float32)
        return x, cp.arange(n, dtype=cp.float32), cp.asarray(np.arange(n, dtype=np.int32)), cp.empty_like(x)
"""


@pytest.fixture
def host(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("PYTHONPATH", str(HERE / "no_driver"))
    return run


def succeeded(recorded: Recorded) -> Recorded:
    assert recorded.summary.exit_code == 0
    return recorded


def test_arrays_of_cupy_are_launched_with(host: Run) -> None:
    recorded = succeeded(
        host(
            CUPY
            + """
    for n in (512, 1024):
        x, y, index, out = prepared(n)
        with cp.cuda.Stream(non_blocking=True) as stream:
            ct.launch(stream, (n // 128,), add, (x, y, index, out, 128))
        stream.synchronize()
        ct.launch(cp.cuda.get_current_stream(), (n // 256,), add, (x[::2], y[: n // 2], index, out, 128))
        assert cp.allclose(out, x + y)
    """
        )
    )
    entries = recorded.specialisations
    seen = [(launch["grid"], launch["arguments"][0]["shape"]) for entry in entries for launch in entry["launches"]]
    assert seen == [([4, 1, 1], [512]), ([8, 1, 1], [1024]), ([2, 1, 1], [256]), ([4, 1, 1], [512])]
    assert entries[1]["launches"][0]["arguments"][0]["strides"] == [2]
    assert "injective(index)" in entries[0]["launches"][0]["observed"]
    assert entries[0]["generalised"][0]["grid"] == ["cdiv(x_0, 128)", 1, 1]


def test_they_hold_what_the_interpreter_computes(host: Run) -> None:
    program = """
    x, y, index, out = prepared(512)
    ct.launch(cp.cuda.get_current_stream(), (4,), add, (x, y, index, out, 128))
    assert (cp.asnumpy(out) == x.get() + y.get()).all()
    assert type(out.get()) is np.ndarray
    out[0] += 1
    assert not cp.allclose(out, x + y)
    """
    succeeded(host(CUPY + program, interpret=True))


def test_they_are_arrays_of_cupy(host: Run) -> None:
    program = """
    x, y, index, out = prepared(512)
    ct.launch(0, (4,), add, (x, y, index, out, 128))
    assert all(isinstance(each, cp.ndarray) for each in (x + y, x[1:], x[3], x.sum(), cp.where(x > y, x, y), x.T))
    assert x.sum().get().shape == ()
    assert cp.get_array_module(x) is cp and cp.get_array_module(np.zeros(3)) is np
    assert x.__cuda_array_interface__["data"][0] == x.data.ptr
    assert cp.random.default_rng(1).random(3).dtype == np.float64
    assert cp.cuda.Device(0).compute_capability == "100" and int(x.device) == 0
    assert cp.cuda.runtime.getDeviceProperties(0)["multiProcessorCount"] == 148
    assert cp.cuda.get_elapsed_time(cp.cuda.Event(), cp.cuda.Event()) > 0
    assert cp.get_default_memory_pool().used_bytes() == 0
    """
    succeeded(host(CUPY + program))


def test_kernels_of_its_own_say_that_they_cannot_run(host: Run) -> None:
    program = """
    double = cp.ElementwiseKernel("T x", "T y", "y = 2 * x", "double")
    x, y, index, out = prepared(512)
    ct.launch(0, (4,), add, (x, y, index, out, 128))
    try:
        double(x)
    except NotImplementedError as error:
        assert str(error) == "record --no-gpu cannot run a cupy.ElementwiseKernel"
    else:
        raise AssertionError
    """
    succeeded(host(CUPY + program))


def test_the_runtime_has_events_memory_and_a_device(host: Run) -> None:
    program = """
    from cuda.bindings import runtime

    def asked(answer):
        assert answer[0] == runtime.cudaError_t.cudaSuccess
        return answer[1] if len(answer) > 1 else None

    first, last = asked(runtime.cudaEventCreate()), asked(runtime.cudaEventCreate())
    asked(runtime.cudaEventRecord(first, asked(runtime.cudaStreamCreate())))
    x = np.zeros(64, np.float32)
    ct.launch(0, (4,), scale, (x, np.zeros_like(x), 3.0, 16))
    asked(runtime.cudaEventRecord(last, 0))
    assert asked(runtime.cudaEventElapsedTime(first, last)) > 0
    memory = asked(runtime.cudaMalloc(16))
    asked(runtime.cudaMemset(memory, 7, 16))
    host = np.zeros(16, np.uint8)
    asked(runtime.cudaMemcpy(host, memory, 16, 2))
    assert (host == 7).all()
    asked(runtime.cudaFree(memory))
    assert asked(runtime.cudaGetDeviceCount()) == 1
    assert asked(runtime.cudaGetDeviceProperties(0)).multiProcessorCount == 148
    assert asked(runtime.cudaDeviceGetAttribute(16, 0)) == 148
    try:
        runtime.cudaGraphCreate(0)
    except NotImplementedError as error:
        assert str(error) == "record --no-gpu has no stand-in for cudaGraphCreate of cuda.bindings.runtime"
    else:
        raise AssertionError
    """
    succeeded(host(program))
