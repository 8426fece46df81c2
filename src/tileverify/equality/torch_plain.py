"""A reference in torch on ordinary tensors of the CPU.  This module imports torch; it is imported late."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

from .field import Array
from .torch_tensors import FORMATS, Given, Named

_CASTS: Final = frozenset({torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16})


class _InFloat64(TorchFunctionMode):
    """While it is open, all types of floats that a program names are float64."""

    def __torch_function__(
        self, func: Callable[..., object], types: Sequence[type], args: Given = (), kwargs: Named | None = None
    ) -> object:
        own = torch.Tensor.double if func in _CASTS else func
        return own(*tree_map(_wide, args), **tree_map(_wide, dict(kwargs or {})))


def _wide(value: object) -> object:
    return torch.float64 if isinstance(value, torch.dtype) and value.is_floating_point else value


def run_in_float64(function: Callable[..., object], arguments: Mapping[str, object]) -> object:
    """What ``function`` returns; its tensors are the arrays of ``arguments``, which change where it changes them."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with _InFloat64():
            return _arrays(function(**tree_map(_tensor, dict(arguments))))
    finally:
        torch.set_default_dtype(before)


def run_in_types(function: Callable[..., object], arguments: Mapping[str, object], dtypes: Mapping[str, str]) -> object:
    """The same with tensors of the element types ``dtypes``."""
    taken = {name: _tensor(value) for name, value in arguments.items()}
    for name, value in taken.items():
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            taken[name] = value.to(FORMATS.get(dtypes.get(name, "f32"), torch.float32))
    result = _arrays(function(**taken))
    for name, value in taken.items():
        given = arguments[name]
        if isinstance(given, np.ndarray):
            given[...] = _arrays(value)
    return result


def _tensor(value: object) -> object:
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def _arrays(result: object) -> object:
    """Tensors as arrays, floats as float64."""

    def array(each: object) -> object:
        if not isinstance(each, torch.Tensor):
            return each
        found: Array = (each.detach().to(torch.float64) if each.is_floating_point() else each.detach()).numpy()
        return found

    return tree_map(array, tuple(result) if isinstance(result, list) else result)
