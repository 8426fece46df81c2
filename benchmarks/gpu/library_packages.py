"""Host functions of the library on a GPU with arrays of CuPy and of JAX, from signed bundles, against NumPy.

    tileverify build src/tileverify/kernels/device/norms.py -o FOLDER --arch sm_90 --sign KEY.pem
    (softmax, products, scans, sorting and join likewise, and moving.py::column_sums)
    python -m benchmarks.gpu.library_packages FOLDER KEY.pub OUT

A package that is not installed, or has no GPU, is told and left out.  What else it takes and does: `comparing`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from tileverify import kernels
from tileverify.kernels.references import elements

from .comparing import Row, Trial, main

Array = np.ndarray[Any, Any]

CLOSE, CLOSE_GRADIENTS = 2e-5, 1e-4
"""Relative to the larger of 1 and the number."""


def cases() -> Iterator[tuple[str, Callable[..., Any], Any, tuple[Array, ...]]]:
    """Name, function, the expected result or results, and the arguments."""
    draw = np.random.default_rng(0)
    x, weight = draw.standard_normal((37, 1030), np.float32), draw.standard_normal(1030, np.float32)
    yield "rms_norm", kernels.rms_norm, elements.rms_norm(x, weight, 1e-6)[0], (x, weight)
    yield "softmax of a transpose", lambda a: kernels.softmax(a.T), elements.softmax(x.T), (x,)
    a, b = (draw.integers(-2, 3, shape).astype(np.float16) for shape in ((16, 2048), (300, 2048)))
    product = a.astype(np.float64) @ b.astype(np.float64).T
    yield "matmul", lambda a, b: kernels.matmul(a, b, transposed=True), product, (a, b)
    keys = draw.integers(-(2**31), 2**31, 5000).astype(np.int32)
    yield "prefix_sums", kernels.prefix_sums, np.cumsum(keys // 5000, dtype=np.int32), (keys // 5000,)
    order = np.argsort(keys, kind="stable")
    yield "sort", kernels.sort, (keys[order], order), (keys,)
    left, right = (draw.integers(0, 999, 1000).astype(np.int32) for _ in range(2))
    pairs = np.nonzero(left[:, None] == right[None, :])
    yield "join", lambda i, j: kernels.join(i, j, ordered=True), pairs, (left, right)


def of_cupy() -> tuple[Callable[[Array], Any], Callable[[Any], Array]]:
    """How an array is made of one of NumPy, and back; raises `LookupError` where there is no GPU."""
    cupy = import_module("cupy")
    if not cupy.is_available():
        raise LookupError("CuPy finds no GPU")
    return cupy.asarray, cupy.asnumpy


def of_jax() -> tuple[Callable[[Array], Any], Callable[[Any], Array]]:
    jax = import_module("jax")
    if jax.default_backend() != "gpu":
        raise LookupError(f"JAX computes on the {jax.default_backend()}")
    return jax.numpy.asarray, np.asarray


def error(found: Array, expected: Array) -> float:
    """Relative to the larger of 1 and the number; integers have to be the same."""
    if found.shape != expected.shape or (found.dtype.kind == "i" and not np.array_equal(found, expected)):
        return float("inf")
    wide = expected.astype(np.float64)
    return float((np.abs(found - wide) / np.maximum(1, np.abs(wide))).max(initial=0))


def gradients_of_jax() -> float:
    """The largest difference between gradients by the library and by JAX itself."""
    jax = import_module("jax")
    draw = np.random.default_rng(1)
    given = [jax.numpy.asarray(draw.standard_normal(shape, np.float32)) for shape in ((5, 64), (64,), (64, 9))]

    def ours(x: Any, weight: Any, b: Any) -> Any:
        return kernels.log_softmax(kernels.matmul(kernels.rms_norm(x, weight), b))[:, 2].sum()

    def theirs(x: Any, weight: Any, b: Any) -> Any:
        normed = x / jax.numpy.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * weight
        return jax.nn.log_softmax(jax.numpy.matmul(normed, b, precision="highest"))[:, 2].sum()

    found, expected = (jax.grad(function, (0, 1, 2))(*given) for function in (ours, theirs))
    return max(error(np.asarray(one), np.asarray(two)) for one, two in zip(found, expected, strict=True))


def row(package: str, name: str, run: Callable[[], Any], expected: Any, back: Callable[[Any], Array]) -> Row:
    """Results have to be arrays of the package."""
    results, again = (found if isinstance(found, tuple) else (found,) for found in (run(), run()))
    wanted = expected if isinstance(expected, tuple) else (expected,)
    kinds = {type(each).__module__.partition(".")[0].removesuffix("lib") for each in results}
    largest = max(error(back(one), two) for one, two in zip(results, wanted, strict=True))
    same = all(np.array_equal(back(one), back(two)) for one, two in zip(results, again, strict=True))
    fine = same and kinds == {package} and largest <= CLOSE
    why = "" if kinds == {package} else f"the results are arrays of {', '.join(sorted(kinds))}"
    return Row(name, package, tuple(wanted[0].shape), largest, (), same, fine, why)


def of_gradients() -> Row:
    largest, again = gradients_of_jax(), gradients_of_jax()
    fine = largest == again and largest <= CLOSE_GRADIENTS
    return Row("gradients", "jax", (5, 64), 0.0, (largest,), largest == again, fine)


def trials() -> Iterator[Trial]:
    for package, of in (("cupy", of_cupy), ("jax", of_jax)):
        try:
            given, back = of()
        except (ImportError, LookupError) as why:
            print(f"{package} is left out: {why}")
            continue
        for name, function, expected, arguments in cases():

            def compare(
                package: str = package, name: str = name, function: Any = function, expected: Any = expected,
                arguments: Any = arguments, given: Any = given, back: Any = back,
            ) -> Row:  # fmt: skip
                return row(package, name, lambda: function(*map(given, arguments)), expected, back)

            yield Trial(name, package, arguments[0].shape, max(each.size for each in arguments), compare)
        if package == "jax":
            yield Trial("gradients", package, (5, 64), 5 * 64, of_gradients)


if __name__ == "__main__":
    sys.exit(main("library_packages", __doc__, trials))
