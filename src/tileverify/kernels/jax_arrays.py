"""Arrays of JAX, which nobody may write: a host function works on arrays of another package that share their memory.

On the host these are NumPy's, on a GPU torch's or CuPy's, exchanged by DLPack, which also puts the work of both in
order.  What a host function made goes back the same way, without a copy.  Where JAX traces a function, as for `jax.jit`
or `jax.vmap`, its arrays have no memory yet, and nothing can be launched.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache, wraps
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ParamSpec, TypeGuard, TypeVar

from ..system.errors import UsageError
from .array_types import JaxArray

P = ParamSpec("P")
R = TypeVar("R")


def is_jax(array: object) -> TypeGuard[JaxArray]:
    """Also for an array that JAX traces."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(array, jax.Array)


def takes_jax(function: Callable[P, R]) -> Callable[P, R]:
    """A host function of other arrays as one of JAX's, too; the results are JAX's if an argument is."""

    @wraps(function)
    def taking(*arguments: P.args, **named: P.kwargs) -> R:
        if not any(map(_has_jax, (*arguments, *named.values()))):
            return function(*arguments, **named)
        lent = {name: borrowed(value) for name, value in named.items()}
        found: R = handed_back(function(*map(borrowed, arguments), **lent))
        return found

    return taking


def differentiable(
    forward: Callable[..., tuple[object, Sequence[object]]], backward: Callable[..., Sequence[object]], count: int
) -> Callable[..., Any]:
    """A function of ``count`` arrays of JAX; ``forward`` and ``backward`` as for `gradients.with_gradient`."""
    import jax

    def ahead(*arrays: object) -> tuple[object, object]:
        out, saved = handed_back(forward(*map(borrowed, arrays)))
        return out, saved

    def back(saved: object, dout: object) -> tuple[object, ...]:
        return tuple(handed_back(backward(borrowed(saved), borrowed(dout), (True,) * count)))

    called: Callable[..., Any] = jax.custom_vjp(lambda *arrays: ahead(*arrays)[0])
    called.defvjp(ahead, back)  # type: ignore[attr-defined]
    return called


# ----------------------------------------------------------------------------------------------- exchange
def borrowed(value: object) -> Any:
    """Arrays of JAX as others on the same memory, in lists and tuples too; anything else as it is.

    Raises `UsageError` for an array that is traced, lies on several devices, or on a GPU where neither torch nor CuPy
    is installed.
    """
    if isinstance(value, list | tuple):
        return _each(borrowed, value)
    if not is_jax(value):
        return value
    import jax

    if isinstance(value, jax.core.Tracer):
        raise UsageError(
            "an array that JAX traces has no memory to launch a kernel on: "
            "call functions of tileverify.kernels outside of jax.jit, jax.vmap and the like"
        )
    if len(value.devices()) != 1:
        raise UsageError("an array of JAX lies on several devices: launch on the parts that each of them holds")
    if next(iter(value.devices())).platform == "cpu":
        import numpy

        return numpy.asarray(value)
    return _exchange().from_dlpack(value)


def handed_back(value: object) -> Any:
    """Arrays that a host function made, or borrowed, as JAX's, in lists and tuples too."""
    if isinstance(value, list | tuple):
        return _each(handed_back, value)
    if not hasattr(value, "__dlpack__"):
        return value
    import jax
    import numpy

    return jax.numpy.asarray(value) if isinstance(value, numpy.ndarray) else jax.dlpack.from_dlpack(value)


def _has_jax(value: object) -> bool:
    return any(map(is_jax, value)) if isinstance(value, list | tuple) else is_jax(value)


def _each(function: Callable[[object], object], values: Any) -> object:
    """The list, tuple or named tuple of what comes of each."""
    found = map(function, values)
    return type(values)(*found) if hasattr(values, "_fields") else type(values)(found)


@cache
def _exchange() -> Any:
    """The package that makes the results for JAX's arrays on a GPU."""
    if find_spec("torch") is not None and (torch := import_module("torch")).cuda.is_available():
        return torch
    if find_spec("cupy") is not None:
        return import_module("cupy")
    raise UsageError("arrays of JAX on a GPU need torch or CuPy beside it, which make the arrays of the results")
