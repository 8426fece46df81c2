"""What host functions ask of arrays beside their shapes; each raises `UsageError` with the name of the argument."""

from __future__ import annotations

from ..system.errors import UsageError
from .arrays import dtype_of, shape_of, value_of
from .jax_arrays import is_jax


def need_axes(form: str, **arrays: object) -> None:
    """Arrays with as many axes as ``form`` has, as in ``"(M, N)"``, or at least so many, as in ``"(..., M, N)"``."""
    named = [each for each in form.strip("()").replace(" ", "").split(",") if each]
    any_more = "..." in named
    least = len(named) - any_more
    for name, array in arrays.items():
        shape = shape_of(array)
        if len(shape) < least or (len(shape) > least and not any_more):
            raise UsageError(f"`{name}` has the shape {shape}, and it takes {form}")


def need_type(*dtypes: str, **arrays: object) -> None:
    """Arrays of one of these element types, as launch specs call them."""
    for name, array in arrays.items():
        found = dtype_of(array)
        if found not in dtypes:
            raise UsageError(f"`{name}` has elements of {found}, and it takes {' or '.join(dtypes)}")


def need_packed(**arrays: object) -> None:
    """Arrays that are written where they are: in one piece, with the last axis the fastest."""
    for name, array in arrays.items():
        value, step = value_of(array), 1
        for size, stride in zip(reversed(value.shape), reversed(value.strides), strict=True):
            if 0 not in value.shape and size != 1 and stride != step:
                raise UsageError(f"`{name}` is written where it is, and its elements do not lie side by side")
            step *= size


def need_writable(**arrays: object) -> None:
    """Arrays of a package that lets others write them."""
    for name, array in arrays.items():
        if is_jax(array):
            raise UsageError(f"`{name}` is written where it is, and nobody may write arrays of JAX")


def need_number(name: str, value: float, low: float, high: float) -> None:
    """A number from ``low`` to ``high``, both included."""
    if not low <= value <= high:
        raise UsageError(f"`{name}` is {value}, and it takes {low} to {high}")
