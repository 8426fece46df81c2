"""Stable sorting of int32 by digits of 4 bits."""

from __future__ import annotations

from typing import Final

from ..system.errors import UsageError
from .array_types import A, AnyArray, Array, ArrayOf
from .arrays import contiguous, empty, filled, need
from .jax_arrays import takes_jax
from .needs import need_axes, need_type
from .prepared import launch
from .scans import prefix_sums

COUNTED: Final = 512
"""Keys of a tile in which digits are counted."""

MOVED: Final = 1024
DIGIT: Final = 4
"""Bits of a digit."""

BITS: Final = 32


@takes_jax
def radix_pass(keys: ArrayOf[A], values: AnyArray, shift: int) -> tuple[A, A]:
    """Keys in the order of their bits ``shift`` to ``shift + 3``, equal ones as they were, and values with them.

    keys and values int32 (N); ``shift`` is 0 to 28, and the highest bit of 28 is the sign.

    >>> import numpy as np
    >>> from tileverify.kernels import radix_pass
    >>> keys, values = radix_pass(np.array([0x21, 0x10, 0x11], np.int32), np.array([7, 8, 9], np.int32), 4)
    >>> keys.tolist(), values.tolist()
    ([16, 17, 33], [8, 9, 7])
    """
    if not 0 <= shift <= BITS - DIGIT:
        raise UsageError(f"`shift` is {shift}, and it takes 0 to {BITS - DIGIT}")
    need_axes("(N)", keys=keys)
    need(keys.shape, values=values)
    need_type("i32", keys=keys, values=values)
    return _passed(contiguous(keys), contiguous(values), shift)


def _passed(keys: A, values: Array, shift: int) -> tuple[A, A]:
    """`radix_pass` of packed arrays."""
    count, moved = keys.shape[0], (empty(keys.shape, keys), empty(keys.shape, keys))
    if count:
        tiles = -(-count // COUNTED)
        counts, places = empty((1 << DIGIT, tiles), keys), empty(keys.shape, keys)
        launch("sorting.digit_counts", (tiles,), keys, counts, shift, COUNTED, like=keys)
        starts = prefix_sums(counts.reshape((-1,)), exclusive=True).reshape(counts.shape)
        launch("sorting.digit_places", (tiles,), keys, starts, places, shift, COUNTED, like=keys)
        grid, facts = (-(-count // MOVED),), ["injective(places)", "range(places, 0, x.shape[0])"]
        for source, target in zip((keys, values), moved, strict=True):
            launch("sorting.move", grid, source, places, target, MOVED, like=keys, data=facts)
    return moved


@takes_jax
def sort(keys: ArrayOf[A], values: AnyArray | None = None) -> tuple[A, A]:
    """Keys in rising order, equal ones as they were, and values with them, or else the places where the keys stood.

    keys and values int32 (N).  Eight passes, one for each digit.  That no two keys are moved to one place is checked in
    each pass, as the kernel that moves them was proved for such places.

    >>> import numpy as np
    >>> from tileverify.kernels import sort
    >>> keys, places = sort(np.array([5, -2, 5, 0], np.int32))
    >>> keys.tolist(), places.tolist()
    ([-2, 0, 5, 5], [1, 3, 0, 2])
    """
    need_axes("(N)", keys=keys)
    if values is None:
        values = prefix_sums(filled(keys.shape, 1, keys, "i32"), exclusive=True)
    moved = radix_pass(keys, values, 0)
    for shift in range(DIGIT, BITS, DIGIT):
        moved = _passed(*moved, shift)
    return moved
