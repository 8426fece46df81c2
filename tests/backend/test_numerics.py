"""cuTile kernels over the whole grid, against NumPy."""

from __future__ import annotations

import time

import numpy as np

from tileverify.backend.interpreter import Budget, Memory, bind_launch, run_block

from .helpers import array, compiled, decoded, launch, run_kernel

RANDOM = np.random.default_rng(7)


def test_vector_add_with_a_partial_tile() -> None:
    x, y = RANDOM.random((2, 300), np.float32)
    run = run_kernel("numeric", "vector_add", (3, 1, 1), {"x": x, "y": y, "out": np.zeros_like(x)})
    np.testing.assert_array_equal(run.arrays["out"], x + y)
    assert not any(log.events for log in run.logs)


def test_matmul() -> None:
    a, b = RANDOM.random((70, 130)).astype(np.float16), RANDOM.random((130, 40)).astype(np.float16)
    run = run_kernel("numeric", "matmul", (3, 3, 1), {"a": a, "b": b, "c": np.zeros((70, 40), np.float32)})
    np.testing.assert_allclose(run.arrays["c"], a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5)


def test_softmax() -> None:
    x = RANDOM.normal(size=(5, 100)).astype(np.float32)
    run = run_kernel("numeric", "softmax", (5, 1, 1), {"x": x, "out": np.zeros_like(x)})
    weights = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(run.arrays["out"], weights / weights.sum(1, keepdims=True), rtol=1e-5)


def test_scan() -> None:
    x = RANDOM.integers(-(2**31), 2**31, (4, 64), np.int64).astype(np.int32)
    run = run_kernel("numeric", "prefix_sums", (4, 1, 1), {"x": x, "out": np.zeros_like(x)})
    np.testing.assert_array_equal(run.arrays["out"], np.cumsum(x, axis=1, dtype=np.int32))


def test_gather_pads_what_lies_outside() -> None:
    x, idx = RANDOM.random(50, np.float32), np.array([0, 49, 50, -1, 7] * 8, np.int32)
    run = run_kernel("numeric", "gather_rows", (3, 1, 1), {"x": x, "idx": idx, "out": np.ones(40, np.float32)})
    inside = (idx >= 0) & (idx < 50)
    np.testing.assert_array_equal(run.arrays["out"], np.where(inside, x[idx * inside], 0))


def test_atomics_meet_on_one_element() -> None:
    x = RANDOM.integers(0, 5, 256).astype(np.int32)
    run = run_kernel("numeric", "histogram", (4, 1, 1), {"x": x, "counts": np.zeros(5, np.int32)})
    np.testing.assert_array_equal(run.arrays["counts"], np.bincount(x, minlength=5))


def test_while_and_if() -> None:
    x = np.array([1, 2, 7, 27], np.int32)
    run = run_kernel("numeric", "collatz", (4, 1, 1), {"x": x, "out": np.zeros(4, np.int32)})
    assert run.arrays["out"].tolist() == [0, 1, 16, 111]


def test_reduction_with_several_operands() -> None:
    x = RANDOM.random((6, 64), np.float32)
    x[:, 20] = x[:, 50] = 2
    run = run_kernel("numeric", "largest", (6, 1, 1), {"x": x, "out": np.zeros(6, np.int32)})
    assert run.arrays["out"].tolist() == [20] * 6


def test_a_block_of_128_by_128_takes_milliseconds() -> None:
    module, entry = decoded("speed", "scale_tiles")
    concrete = launch((8, 8, 1), x=array("f32", 1024, 1024), out=array("f32", 1024, 1024))
    bound = bind_launch(module, entry, compiled("speed", "scale_tiles").parameters, concrete)
    best = 1.0
    for _ in range(5):
        started = time.perf_counter()
        log = run_block(bound.program, bound.arguments, Memory(bound.image), (8, 8, 1), (1, 2, 0), Budget(1 << 28))
        best = min(best, time.perf_counter() - started)
        assert log.stopped is None
    assert best < 0.05
