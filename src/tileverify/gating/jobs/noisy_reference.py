"""A reference whose every operation is off by a rounding, up or down at random: how uncertain its elements are.

What is so moved is what a kernel's own roundings may move (Monte Carlo arithmetic: Parker, "Monte Carlo arithmetic").
So an element's uncertainty is that of the numbers which enter it, however large its neighbours are, and whatever types
a reference computes in: ``np.sqrt(2 / np.pi) * x`` is float64 for NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from ...backend.numbers.elements import Array

_EXACT: Final = frozenset({
    "absolute", "ceil", "conjugate", "copysign", "fabs", "floor", "fmax", "fmin", "fmod", "maximum", "minimum",
    "negative", "positive", "remainder", "rint", "sign", "trunc",
})  # fmt: skip
_CONTRACTING: Final = frozenset({"dot", "einsum", "inner", "outer", "tensordot", "vdot"})
_MIXING: Final = ("numpy.fft", "numpy.linalg")
"""Whose functions lose of each element what the largest one has roundings of."""
_ADDING: Final = frozenset({"reduce", "accumulate", "reduceat"})


@dataclass(frozen=True, slots=True)
class Noise:
    """``widest``: float64 where arrays hold it, else float32: what is wider came of a Python or NumPy scalar."""

    source: np.random.Generator
    widest: np.dtype[np.float32] | np.dtype[np.float64]

    def on(self, values: Array) -> Array:
        """``values``, each off by about one rounding; integers and 0 are computed without."""
        if values.dtype.kind != "f":
            return values
        kind = min(values.dtype, self.widest, key=lambda each: each.itemsize)
        limits = np.finfo(kind)
        factor = self.source.choice([-0.5, 0.5], values.shape) * self.source.uniform(1, 3, values.shape)
        with np.errstate(all="ignore"):
            moved = np.asarray(values.astype(np.float64) * (1 + factor * float(limits.eps) / 2), values.dtype)
            least = values.dtype.type(limits.smallest_subnormal) * np.sign(factor).astype(values.dtype)
            moved = np.where(np.abs(values) < limits.smallest_normal, values + least, moved)
            moved = np.where(np.abs(moved) > limits.max, np.copysign(np.inf, moved), moved)
            whole = (values == np.rint(values)) & (np.abs(values) <= 1 / limits.eps)
        return np.asarray(np.where(whole, values, moved), values.dtype)

    def across(self, values: Array) -> Array:
        """``values``, real or complex, each off by about one rounding of the largest."""
        if values.dtype.kind not in "fc" or not values.size:
            return values
        with np.errstate(all="ignore"):
            largest = float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))
            step = largest * float(np.finfo(self.widest).eps)
            return np.asarray(values + self.source.uniform(-step, step, values.shape), values.dtype)


class NoisyArray(np.ndarray[tuple[int, ...], np.dtype[np.generic]]):
    """An array of which everything that is computed is noisy, too."""

    noise: Noise | None = None

    def __array_finalize__(self, of: object) -> None:
        self.noise = getattr(of, "noise", None)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, out: tuple[Array, ...] | None = None, **options: object
    ) -> object:
        noise = next(each.noise for each in (*inputs, *(out or ())) if isinstance(each, NoisyArray))
        assert noise is not None
        adding = method in _ADDING or ufunc is np.matmul
        given = [_plain(each) for each in inputs]
        if adding and ufunc.__name__ not in _EXACT:
            given = [noise.on(each) if isinstance(each, np.ndarray) else each for each in given]
        options = {name: _plain(each) for name, each in options.items()}
        targets = () if out is None else tuple(np.asarray(_plain(each)) for each in out)
        if out is not None:
            options["out"] = targets
        found = getattr(ufunc, method)(*given, **options)
        if out is not None:
            if ufunc.__name__ not in _EXACT:
                for each in targets:
                    each[...] = noise.on(each)
            return out[0] if len(out) == 1 else out
        if ufunc.__name__ in _EXACT:
            return _wrapped(found, noise, exact=True)
        return _wrapped(found, noise)

    def __array_function__(
        self,
        function: Callable[..., object],
        types: Iterable[type],
        args: Iterable[object],
        kwargs: Mapping[str, object],
    ) -> object:
        found = super().__array_function__(function, types, args, kwargs)
        if self.noise is not None and function.__module__.startswith(_MIXING) and isinstance(found, np.ndarray):
            return _wrapped(self.noise.across(np.asarray(_plain(found))), self.noise, exact=True)
        noisy = self.noise is not None and function.__name__ in _CONTRACTING
        return _wrapped(found, self.noise) if noisy and self.noise is not None else found

    def dot(self, other: Array, out: None = None) -> object:  # type: ignore[override]
        return np.dot(self, other, out)


def noisy(arrays: dict[str, Array], seed: int) -> dict[str, Array]:
    wide = any(array.dtype == np.float64 for array in arrays.values())
    noise = Noise(np.random.default_rng(seed), np.dtype(np.float64) if wide else np.dtype(np.float32))
    return {name: _noisy(array, noise) for name, array in arrays.items()}


def _plain(value: object) -> object:
    return value.view(np.ndarray) if isinstance(value, NoisyArray) else value


def _wrapped(found: object, noise: Noise, *, exact: bool = False) -> object:
    if isinstance(found, tuple):
        return tuple(_wrapped(each, noise, exact=exact) for each in found)
    if not isinstance(found, np.ndarray | np.generic):
        return found
    array = np.asarray(_plain(found))
    return _noisy(array if exact else noise.on(array), noise)


def _noisy(array: Array, noise: Noise) -> NoisyArray:
    result = array.view(NoisyArray)
    result.noise = noise
    return result
