"""Host functions on arrays of CuPy, by something that looks like one, and of JAX, where it is installed."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike
from tests.kernels.closeness import BFLOAT16, Array, assert_close, normal

from tileverify import kernels
from tileverify.kernels import arrays, prepared
from tileverify.kernels.references import elements, layers
from tileverify.launching.launcher import of_this_process
from tileverify.system.errors import UsageError


# ---------------------------------------------------------------------------------------------------- CuPy
class Device(nullcontext[None]):
    """The one that arrays lie on; to be on it is nothing here."""

    def __init__(self) -> None:
        super().__init__()
        self.attributes = {"MultiProcessorCount": 132}


class Imitation:
    """An array of CuPy, as far as it is asked; what it holds is on the host."""

    __module__ = "cupy._core.core"

    def __init__(self, held: Array) -> None:
        self.held = held
        self.device = Device()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "typestr": self.held.dtype.str,
            "shape": self.held.shape,
            "strides": self.held.strides,
            "data": (self.held.ctypes.data, False),
            "version": 3,
        }

    @property
    def shape(self) -> tuple[int, ...]:
        return self.held.shape

    @property
    def T(self) -> Imitation:  # noqa: N802 (as CuPy calls it)
        return Imitation(self.held.T)

    def reshape(self, shape: tuple[int, ...], /) -> Imitation:
        return Imitation(self.held.reshape(shape))

    def swapaxes(self, one: int, other: int, /) -> Imitation:
        return Imitation(self.held.swapaxes(one, other))

    def __getitem__(self, rows: slice) -> Imitation:
        return Imitation(self.held[rows])

    def __setitem__(self, place: Any, value: Any) -> None:
        self.held[place] = value.held if isinstance(value, Imitation) else value

    def get(self) -> Array:
        return self.held.copy()


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The streams of all launches, which run on what the imitations hold."""
    cupy: Any = ModuleType("cupy")
    cupy.empty = lambda shape, dtype: Imitation(np.empty(shape, dtype))
    cupy.ascontiguousarray = lambda array: Imitation(np.ascontiguousarray(array.held))
    cupy.cuda = SimpleNamespace(get_current_stream=lambda: "the current stream")
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    used: list[object] = []

    def held(value: Any) -> Any:
        if isinstance(value, list):
            return list(map(held, value))
        return value.held if isinstance(value, Imitation) else value

    def launch(stream: object, grid: Any, kernel: Any, arguments: Any, **options: Any) -> None:
        used.append(stream)
        of_this_process().launch(None, grid, kernel, tuple(map(held, arguments)), **options)

    monkeypatch.setattr(prepared, "of_this_process", lambda: SimpleNamespace(launch=launch))
    return used


def test_arrays_of_cupy_stay_arrays_of_cupy(streams: list[object]) -> None:
    x, weight = normal(5, 37), normal(37, seed=2)
    found = kernels.rms_norm(Imitation(x), Imitation(weight), 1e-6)
    assert isinstance(found, Imitation)
    assert_close(found.held, elements.rms_norm(x, weight, 1e-6)[0])
    assert streams == ["the current stream"]
    turned = kernels.softmax(Imitation(x.T))  # a copy in which the last axis is the fastest
    assert_close(turned.held, elements.softmax(x.T))


def test_what_is_fetched_from_cupy(streams: list[object]) -> None:
    left, right = Imitation(np.array([5, 5], np.int32)), Imitation(np.array([4, 5], np.int32))
    assert [column.held.tolist() for column in kernels.join(left, right)] == [[0, 1], [1, 1]]
    assert set(streams) == {"the current stream"}
    assert arrays.processors(left) == 132
    a, b = normal(3, 2000), normal(2000, 4, seed=1)
    assert_close(kernels.matmul(Imitation(a), Imitation(b)).held / 50, layers.matmul(a, b) / 50)


def test_elements_that_cupy_does_not_have_are_told(streams: list[object]) -> None:
    with pytest.raises(UsageError, match="CuPy has no arrays with elements of bf16: use torch's"):
        arrays.empty((3,), Imitation(normal(3)), "bf16")


# ----------------------------------------------------------------------------------------------------- JAX
def of_jax(array: Array) -> Any:
    return pytest.importorskip("jax.numpy").asarray(array)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, BFLOAT16], ids=["f32", "f16", "bf16"])
def test_arrays_of_jax_stay_arrays_of_jax(dtype: DTypeLike) -> None:
    jax = pytest.importorskip("jax")
    x, residual, weight = normal(5, 37, dtype=dtype), normal(5, 37, dtype=dtype, seed=1), normal(37, dtype=dtype)
    given = of_jax(x)
    found = kernels.silu(given)
    assert isinstance(found, jax.Array)
    assert found.dtype == dtype
    assert_close(np.asarray(found), elements.silu(x))
    np.testing.assert_array_equal(given, x)
    total, normed = kernels.add_rms_norm(given, of_jax(residual), of_jax(weight))
    assert_close(np.asarray(total), x.astype(np.float64) + residual.astype(np.float64))
    assert isinstance(normed, jax.Array)
    product = kernels.matmul(given, of_jax(residual), transposed=True)
    assert_close(np.asarray(product) / 8, layers.matmul_transposed(x, residual) / 8)


def test_tuples_and_lists_of_jax() -> None:
    jax = pytest.importorskip("jax")
    placed = kernels.place_tokens(of_jax(np.array([[0, 1], [1, 0]], np.int32)), 2)
    assert isinstance(placed, kernels.Placed)
    assert isinstance(placed.places, jax.Array)
    assert placed.places.tolist() == [[0, 64], [65, 1]]
    assert placed.rows == 128
    a, b = normal(2, 3), normal(3, 4)
    [found] = kernels.matmul_list([of_jax(a)], [of_jax(b)])
    assert_close(np.asarray(found), a @ b)
    pairs = kernels.join(*(of_jax(np.array(keys, np.int32)) for keys in ([7], [8, 7])))
    assert [column.tolist() for column in pairs] == [[0], [1]]


def test_gradients_are_those_of_jax() -> None:
    jax = pytest.importorskip("jax")
    x, weight, other = normal(4, 9), normal(9, seed=1), normal(9, 6, seed=2)

    def theirs(x: Any, weight: Any, other: Any) -> Any:
        normed = x / jax.numpy.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * weight
        return (jax.nn.log_softmax(jax.numpy.matmul(normed, other))[:, 2]).sum()

    def ours(x: Any, weight: Any, other: Any) -> Any:
        return kernels.log_softmax(kernels.matmul(kernels.rms_norm(x, weight, 1e-6), other))[:, 2].sum()

    given = tuple(map(of_jax, (x, weight, other)))
    found, expected = (jax.value_and_grad(function, (0, 1, 2))(*given) for function in (ours, theirs))
    assert_close(np.asarray(found[0]), expected[0])
    for one, two in zip(found[1], expected[1], strict=True):
        assert_close(np.asarray(one), two)
    labels = of_jax(np.array([1, -1, 0, 8], np.int32))
    loss = jax.grad(lambda logits: kernels.cross_entropy(logits, labels).sum())(given[0])
    assert not loss[1].any()
    assert_close(np.asarray(loss).sum(-1), np.zeros(4))


def test_every_function_says_what_it_does_with_jax() -> None:
    """What is not made to take arrays of JAX takes them as a `Differentiable`, or writes in place and refuses them."""
    functions = {name: getattr(kernels, name) for name in kernels.__all__ if name not in ("Placed", "use")}
    differentiable = {
        "cast", "cross_entropy", "dropout", "gelu", "gelu_mul", "layer_norm", "log_softmax", "matmul", "relu",
        "rms_norm", "rope", "silu", "silu_mul", "softmax", "swap_heads", "transpose",
    }  # fmt: skip
    in_place = {
        "cache_update", "decode_heads", "decode_normed_heads", "fill", "prefill_heads", "prefill_normed_heads",
        "rope_in_place", "to_stack",
    }  # fmt: skip
    plain = {name for name, function in functions.items() if not hasattr(function, "__wrapped__")}
    assert plain == differentiable | in_place


def test_arrays_that_jax_traces_are_told() -> None:
    jax = pytest.importorskip("jax")
    x = of_jax(normal(3, 4))
    for function in (kernels.softmax, kernels.array_sum):
        for traced in (jax.jit(function), jax.vmap(function)):
            with pytest.raises(UsageError, match=r"call functions of tileverify.kernels outside of jax.jit"):
                traced(x)
    with pytest.raises(UsageError, match=r"`weight` has the shape \(3,\), and it takes \(4,\)"):
        kernels.rms_norm(x, of_jax(normal(3)))


def test_arrays_of_jax_on_a_gpu_need_another_package(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays._exchange.cache_clear()
    monkeypatch.setattr(arrays, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="arrays of JAX on a GPU need torch or CuPy beside it"):
        arrays._exchange()
