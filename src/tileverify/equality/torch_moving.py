"""What torch's operators that make and move elements do to arrays of numbers; as in `torch_rules`, torch is not needed.

A view of torch's is a view of NumPy's, so that what is written to the one is written to the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from . import exact, formulas
from .field import Array, Undecided
from .primitives import Index, cast, combine_at, filled, is_numbers, lifted, triangle, truth
from .torch_rules import Dim, Rule, scaled

_UNWRITTEN: Final = float("nan")
"""Nothing that is computed of it is equal to anything."""


# ------------------------------------------------------------------------------------------------- views
def _view(x: Array, size: Sequence[int] | str) -> Array:
    if isinstance(size, str):
        raise Undecided("the bits of exact numbers as another type")
    found = x.reshape(tuple(size))
    if x.size and not np.shares_memory(found, x):
        raise Undecided("aten.view of elements that lie apart")
    return found


def _squeeze(x: Array, dim: Dim = None) -> Array:
    places = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    gone = {place % max(x.ndim, 1) for place in places}
    return x.reshape(tuple(n for place, n in enumerate(x.shape) if n != 1 or place not in gone))


def _expand(x: Array, size: Sequence[int], implicit: bool = False) -> Array:
    shape = list(size)
    for place in range(1, x.ndim + 1):
        if shape[-place] == -1:
            shape[-place] = x.shape[-place]
    return np.broadcast_to(x, shape)


def _select(x: Array, dim: int, index: int) -> Array:
    return np.asarray(np.moveaxis(x, dim, 0)[index, ...])


def _slice(x: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Array:
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


def _split(x: Array, size: int | Sequence[int], dim: int = 0) -> list[Array]:
    length = x.shape[dim]
    sizes = [size] * max(-(-length // max(size, 1)), 1) if isinstance(size, int) else list(size)
    ends = np.cumsum([0, *sizes]).tolist()
    return [_slice(x, dim, first, last) for first, last in pairwise(ends)]


def _diagonal(x: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    found = np.diagonal(x, offset, dim1, dim2)
    found.flags.writeable = x.flags.writeable
    return found


def _unfold(x: Array, dimension: int, size: int, step: int) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, size, dimension % x.ndim, writeable=x.flags.writeable)
    return _slice(windows, dimension % x.ndim, None, None, step)


# ------------------------------------------------------------------------------------------------ copies
def _copied(x: Array, dtype: str | None = None) -> Array:
    """A copy, as elements of the type ``dtype``: floats of all formats are one."""
    if dtype is None or (str(dtype).startswith(("float", "bfloat")) and lifted(x).dtype == np.asarray(x).dtype):
        return exact.copied(x)
    return exact.copied(lifted(x)) if str(dtype).startswith(("float", "bfloat")) else np.asarray(cast(x, dtype))


def _copy(x: Array, source: ArrayLike, non_blocking: bool = False) -> Array:
    """``source`` in the shape and type of ``x``."""
    if is_numbers(x):
        return np.broadcast_to(lifted(source), x.shape)
    held = np.asarray(cast(source, x.dtype) if is_numbers(source) else source, x.dtype)
    return np.broadcast_to(held, x.shape)


def _cat(parts: Sequence[ArrayLike], dim: int = 0) -> Array:
    kept = [lifted(part) for part in parts if np.shape(part) != (0,)]
    return np.concatenate(kept, dim) if kept else lifted(parts[0])


def _roll(x: Array, shifts: int | Sequence[int], dims: int | Sequence[int] = ()) -> Array:
    return np.roll(x, shifts, tuple(dims) or None) if not isinstance(dims, int) else np.roll(x, shifts, dims)


def _pad(x: Array, pad: Sequence[int], value: ArrayLike = 0) -> Array:
    """``pad``: before and behind, the last axis first; negative ones cut off."""
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    inner = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, x.shape, strict=True))]
    wide = [(max(a, 0), max(b, 0)) for a, b in pairs]
    shape = [n + a + b for (a, b), n in zip(wide, inner.shape, strict=True)]
    found = filled(shape, value)
    found[tuple(slice(a, a + n) for (a, _), n in zip(wide, inner.shape, strict=True))] = inner
    return found


# ----------------------------------------------------------------------------------------------- indices
def _places(indices: Sequence[ArrayLike | None]) -> tuple[Array | slice, ...]:
    return tuple(slice(None) if each is None else _whole(each) for each in indices)


def _whole(index: ArrayLike) -> Array:
    found = np.asarray(index)
    if found.dtype.kind not in "iub":
        raise Undecided("an exact number as an index")
    return found.astype(np.bool_) if found.dtype == np.uint8 else found


def _touched(x: Array, place: Index) -> tuple[Array, Array]:
    """A copy of ``x`` as numbers, and the flat places that an index touches."""
    return exact.copied(lifted(x)), np.asarray(np.arange(x.size).reshape(x.shape)[place])


def _summed_into(target: Array, places: Array, values: Array) -> Array:
    """``values`` added at flat ``places``."""
    combine_at(target.reshape(-1), places.reshape(-1), values.reshape(-1), exact.add)
    return target


def _once(places: Array, what: str) -> Array:
    """:raises Undecided: two elements go to one place, in an order that torch does not say."""
    if len(np.unique(places)) != places.size:
        raise Undecided(f"aten.{what} with several elements for one place")
    return places


def _index_put(x: Array, indices: Sequence[ArrayLike | None], values: ArrayLike, accumulate: bool = False) -> Array:
    found, places = _touched(x, _places(indices))
    given = np.broadcast_to(lifted(values), places.shape)
    if accumulate:
        return _summed_into(found, places, given)
    found.reshape(-1)[_once(places, "index_put")] = given
    return found


def _along(x: Array, dim: int, index: Array) -> tuple[Array, ...]:
    """The index of ``x`` that ``gather`` and ``scatter`` mean."""
    if not x.ndim:
        raise Undecided("places in a tensor without axes")
    place = np.indices(index.shape, sparse=True)
    return tuple(_whole(index) if axis == dim % max(x.ndim, 1) else place[axis] for axis in range(x.ndim))


def _scatter(x: Array, dim: int, index: Array, source: ArrayLike, *, reduce: str | None = None) -> Array:
    if reduce is not None:
        raise Undecided("aten.scatter with reduce= has no exact rule")
    found, places = _touched(x, _along(x, dim, index))
    if not isinstance(source, np.ndarray) or not source.ndim:  # one number for all places, in whatever order
        found.reshape(-1)[places] = lifted(source)
    else:
        found.reshape(-1)[_once(places, "scatter")] = lifted(source)[tuple(map(slice, index.shape))]
    return found


def _scatter_add(x: Array, dim: int, index: Array, source: ArrayLike) -> Array:
    found, places = _touched(x, _along(x, dim, index))
    return _summed_into(found, places, lifted(source)[tuple(map(slice, index.shape))])


def _in_axis(x: Array, dim: int, index: Array) -> tuple[Array | slice, ...]:
    """The index that takes places along one axis."""
    return (slice(None),) * (dim % np.ndim(x)) + (_whole(index),)


def _index_add(x: Array, dim: int, index: Array, source: ArrayLike, alpha: ArrayLike = 1) -> Array:
    found, places = _touched(x, _in_axis(x, dim, index))
    return _summed_into(found, places, np.broadcast_to(scaled(source, alpha), places.shape))


def _index_copy(x: Array, dim: int, index: Array, source: ArrayLike) -> Array:
    found, places = _touched(x, _in_axis(x, dim, index))
    found.reshape(-1)[_once(places, "index_copy")] = lifted(source)
    return found


def _index_fill(x: Array, dim: int, index: Array, value: ArrayLike) -> Array:
    found, places = _touched(x, _in_axis(x, dim, index))
    found.reshape(-1)[places] = lifted(value)
    return found


def _index_select(x: Array, dim: int, index: Array) -> Array:
    places = _whole(index).reshape(-1)
    return np.take(x, places, dim) if x.ndim else x.reshape(1)[places].reshape(())


def _embedding(
    weight: Array, index: Array, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Array:
    return np.asarray(weight[_whole(index)])


def _masked_select(x: Array, mask: Array) -> Array:
    wide, lanes = np.broadcast_arrays(x, truth(mask))
    return np.asarray(wide[lanes])


# ---------------------------------------------------------------------------------------------- creation
def _arange(first: ArrayLike, second: ArrayLike | None = None, step: ArrayLike = 1, dtype: object = None) -> Array:
    """From ``first`` to before ``second``; from 0 to before ``first`` where it is alone."""
    start, end = (0, first) if second is None else (first, second)
    count = int(np.ceil((_shadow(end) - _shadow(start)) / _shadow(step)))
    steps = exact.of_integers(np.arange(max(count, 0)))
    return exact.add(lifted(start), exact.multiply(steps, lifted(step)))


def _linspace(start: ArrayLike, end: ArrayLike, steps: int, dtype: object = None) -> Array:
    places = exact.of_integers(np.arange(steps))
    width = exact.divide(exact.subtract(lifted(end), lifted(start)), formulas.integers(max(steps - 1, 1)))
    return exact.add(lifted(start), exact.multiply(places, width))


def _shadow(value: ArrayLike) -> float:
    return float(exact.certain(lifted(value)))


RULES: Final[dict[str, Rule]] = {
    "view": _view,
    **dict.fromkeys(("_unsafe_view", "reshape"), lambda x, size: x.reshape(tuple(size))),
    **dict.fromkeys(("detach", "alias", "lift_fresh", "lift"), lambda x: x),
    **dict.fromkeys(("clone", "contiguous", "_to_copy", "to"), _copied),
    "permute": lambda x, dims: x.transpose(dims), "transpose": lambda x, a, b: x.swapaxes(a, b) if x.ndim else x,
    "t": lambda x: x.T, "unsqueeze": lambda x, dim: np.expand_dims(x, dim), "squeeze": _squeeze, "expand": _expand,
    "select": _select, "slice": _slice, "split": _split, "split_with_sizes": _split, "diagonal": _diagonal,
    "unbind": lambda x, dim=0: list(np.moveaxis(x, dim, 0)[:, ...]), "unfold": _unfold, "copy": _copy, "cat": _cat,
    "stack": lambda parts, dim=0: np.stack([lifted(part) for part in parts], dim),
    "repeat": lambda x, repeats: np.tile(x, tuple(repeats)), "roll": _roll, "constant_pad_nd": _pad,
    "fill": lambda x, value: filled(x.shape, value), "zero": lambda x: filled(x.shape, 0),
    "flip": lambda x, dims: np.flip(x, tuple(dims)), "tril": lambda x, diagonal=0: triangle(x, diagonal, True),
    "triu": lambda x, diagonal=0: triangle(x, diagonal, False),
    **dict.fromkeys(("index", "_unsafe_index"), lambda x, indices: np.asarray(x[_places(indices)])),
    **dict.fromkeys(("index_put", "_unsafe_index_put"), _index_put),
    "gather": lambda x, dim, index, sparse_grad=False: np.asarray(x[_along(x, dim, index)]),
    "scatter": _scatter, "scatter_add": _scatter_add, "index_add": _index_add, "index_copy": _index_copy,
    "index_fill": _index_fill, "index_select": _index_select, "embedding": _embedding,
    "masked_select": _masked_select, "arange": _arange, "linspace": _linspace,
    "eye": lambda rows, columns=None, dtype=None: exact.of_integers(np.eye(rows, columns, dtype=np.int64)),
    # The type is given by who asks the rule: what is made of one number is made so in any.
    "full": lambda size, value, dtype=None: filled(size, value),
    "new_full": lambda x, size, value, dtype=None: filled(size, value),
    "full_like": lambda x, value, dtype=None: filled(np.shape(x), value),
    "scalar_tensor": lambda value, dtype=None: filled((), value),
    "empty_strided": lambda size, stride, dtype=None: filled(size, _UNWRITTEN),
    "zeros": lambda size, dtype=None: filled(size, 0), "ones": lambda size, dtype=None: filled(size, 1),
    "empty": lambda size, dtype=None: filled(size, _UNWRITTEN),
    "new_zeros": lambda x, size, dtype=None: filled(size, 0), "new_ones": lambda x, size, dtype=None: filled(size, 1),
    "new_empty": lambda x, size, dtype=None: filled(size, _UNWRITTEN),
    "zeros_like": lambda x, dtype=None: filled(x.shape, 0), "ones_like": lambda x, dtype=None: filled(x.shape, 1),
    "empty_like": lambda x, dtype=None: filled(x.shape, _UNWRITTEN),
}  # fmt: skip
