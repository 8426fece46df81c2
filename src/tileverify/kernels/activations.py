"""Functions of single elements, gates among them, and dropout; computed in float32."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final, Protocol

from .arrays import A, AnyArray, Array, ArrayOf, contiguous, empty, need
from .gradients import Gradients, OfOne, Saved, with_gradient
from .prepared import launch

TILE: Final = 2048


def silu(x: ArrayOf[A]) -> A:
    """``x / (1 + exp(-x))``

    >>> import numpy as np
    >>> from tileverify.kernels import silu
    >>> print(silu(np.array([-1.0, 0.0, 2.0], np.float32)).round(4))
    [-0.2689  0.      1.7616]
    """
    return _SILU(x)


def gelu(x: ArrayOf[A]) -> A:
    """``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))``

    >>> import numpy as np
    >>> from tileverify.kernels import gelu
    >>> print(gelu(np.array([-1.0, 0.0, 2.0], np.float32)).round(4))
    [-0.1588  0.      1.9546]
    """
    return _GELU(x)


def relu(x: ArrayOf[A]) -> A:
    """``max(x, 0)``

    >>> import numpy as np
    >>> from tileverify.kernels import relu
    >>> relu(np.array([-1.0, 2.0], np.float32)).tolist()
    [0.0, 2.0]
    """
    return _RELU(x)


def silu_mul(gate: ArrayOf[A], up: AnyArray) -> A:
    """``silu(gate) * up``

    >>> import numpy as np
    >>> from tileverify.kernels import silu_mul
    >>> silu_mul(np.float32([2.0]), np.float32([0.5]))
    array([0.880797], dtype=float32)
    """
    need(gate.shape, up=up)
    return _SILU_MUL(gate, up)


def gelu_mul(gate: ArrayOf[A], up: AnyArray) -> A:
    """``gelu(gate) * up``

    >>> import numpy as np
    >>> from tileverify.kernels import gelu_mul
    >>> print(gelu_mul(np.float32([2.0]), np.float32([0.5])).round(4))
    [0.9773]
    """
    need(gate.shape, up=up)
    return _GELU_MUL(gate, up)


def dropout(x: ArrayOf[A], probability: float, seed: int, stream: int = 0) -> A:
    """``x / (1 - probability)``, or 0 with that probability.

    What is dropped depends on the place of the element, ``seed`` and ``stream`` alone; ``stream`` tells the dropouts of
    one program apart.

    >>> import numpy as np
    >>> from tileverify.kernels import dropout
    >>> sorted(set(dropout(np.ones(100, np.float32), 0.5, seed=1).tolist()))
    [0.0, 2.0]
    """
    return _DROPOUT(x, keep=1.0 - probability, seed=seed, stream=stream)


# ------------------------------------------------------------------------------------------------ elements
def _elements(
    kernel: str, like: ArrayOf[A], results: int, *arguments: AnyArray, numbers: Sequence[float] = ()
) -> list[A]:
    """The results of a kernel on arrays of one shape, element by element."""
    given = [contiguous(each).reshape((-1,)) for each in arguments]
    found = [empty((prod(like.shape),), like) for _ in range(results)]
    if found[0].shape[0]:
        grid = (-(-found[0].shape[0] // TILE),)
        launch(f"activations.{kernel}", grid, *given, *found, *numbers, TILE, like=like)
    return [each.reshape(like.shape) for each in found]


class OfTwo(Protocol):
    """Of a function of two arrays."""

    def __call__(self, gate: ArrayOf[A], up: AnyArray, /) -> A: ...


def _of_one(kernel: str) -> OfOne:
    def forward(x: ArrayOf[A]) -> tuple[A, Saved]:
        return _elements(kernel, x, 1, x)[0], (x,)

    def backward(saved: Sequence[Array], dout: Array, wanted: Sequence[bool]) -> Gradients:
        return tuple(_elements(f"{kernel}_backward", dout, 1, dout, *saved))

    return with_gradient(forward, backward)


def _gated(kernel: str) -> OfTwo:
    def forward(gate: ArrayOf[A], up: AnyArray) -> tuple[A, Saved]:
        return _elements(kernel, gate, 1, gate, up)[0], (gate, up)

    def backward(saved: Sequence[Array], dout: Array, wanted: Sequence[bool]) -> Gradients:
        return tuple(_elements(f"{kernel}_backward", dout, 2, dout, *saved))

    return with_gradient(forward, backward)


def _drop(x: ArrayOf[A], *, keep: float, seed: int, stream: int) -> A:
    return _elements("dropout", x, 1, x, numbers=(keep, stream, seed))[0]


def _drop_forward(x: ArrayOf[A], *, keep: float, seed: int, stream: int) -> tuple[A, Saved]:
    return _drop(x, keep=keep, seed=seed, stream=stream), ()


def _drop_backward(
    saved: Sequence[Array], dout: Array, wanted: Sequence[bool], *, keep: float, seed: int, stream: int
) -> Gradients:  # fmt: skip
    return (_drop(dout, keep=keep, seed=seed, stream=stream),)


_SILU: Final = _of_one("silu")
_GELU: Final = _of_one("gelu")
_RELU: Final = _of_one("relu")
_SILU_MUL: Final = _gated("silu_mul")
_GELU_MUL: Final = _gated("gelu_mul")
_DROPOUT: Final = with_gradient(_drop_forward, _drop_backward)
