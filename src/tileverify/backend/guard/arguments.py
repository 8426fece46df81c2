"""Arguments of a launch as the contract speaks of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ...results.codes import TV
from ...system.errors import TileVerifyError


class ArrayValue(NamedTuple):
    """An array in memory: the address of its first element, sizes, strides in elements, and its element type.

    ``read_only``: its owner forbids writing, where that is known.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    read_only: bool = False


Value: TypeAlias = ArrayValue | int | float
Grid: TypeAlias = tuple[int, int, int]


@dataclass
class LaunchRefused(TileVerifyError):
    """TV501 (arguments overlap) or TV502 (outside the contract): the launch was not made.

    >>> import cuda.tile as ct
    >>> import numpy as np
    >>> import tileverify
    >>> @ct.kernel
    ... def clear(out):
    ...     ct.store(out, (ct.bid(0),), ct.zeros((128,), ct.float32))
    >>> try:
    ...     tileverify.launch(None, (3,), clear, (np.ones(256, np.float32),))
    ... except tileverify.LaunchRefused as refused:
    ...     print(refused.code)
    TV502
    """

    __module__ = "tileverify"
    code: TV = TV.LAUNCH_CONTRACT

    exit_code = 1
