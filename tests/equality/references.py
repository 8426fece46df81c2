"""What the kernels of `cheats` should compute, in NumPy, as anybody would write it."""

from typing import Any

import numpy as np


def softmax(x: Any) -> Any:
    power = np.exp(x - x.max(axis=1, keepdims=True))
    return {"out": power / power.sum(axis=1, keepdims=True)}


def softmax_unshifted(x: Any) -> Any:
    out = np.zeros(x.shape)
    for row in range(len(x)):
        out[row] = np.exp(x[row]) / np.sum(np.exp(x[row]))
    return {"out": out}


def gelu(x: Any) -> Any:
    return {"out": 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))}


def powers(x: Any) -> Any:
    return {"out": np.exp(x)}


def centred(x: Any) -> Any:
    return {"out": x - x.mean()}


def step(w: Any, g: Any) -> None:
    w -= 1e-5 * g


def step_returned(w: Any, g: Any) -> Any:
    return w - 1e-5 * g


def step_and_gradient(w: Any, g: Any) -> Any:
    return w - 1e-5 * g, g


def silu(x: Any) -> Any:
    return {"out": x / (1 + np.exp(-x))}
