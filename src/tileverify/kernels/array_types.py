"""Arrays of any package, as type checkers see them: what host functions ask of those that they are given.

A host function that takes an ``x: ArrayOf[A]`` and gives an ``A`` gives what ``x`` is: a tensor for a tensor, and for a
parameter of a torch module, too; an array of JAX for one of JAX; and an array of NumPy with the elements of ``x`` and
any number of axes.  Where the elements are others, NumPy has an overload of its own.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

NumPyArray: TypeAlias = NDArray[np.generic]
Float32s: TypeAlias = NDArray[np.float32]
Int32s: TypeAlias = NDArray[np.int32]


class Array(Protocol):
    """What a package makes: an operation on it gives another one."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def T(self) -> Self: ...  # noqa: N802 (as packages call it)

    def reshape(self, shape: tuple[int, ...], /) -> Self: ...

    def swapaxes(self, one: int, other: int, /) -> Self: ...

    def __getitem__(self, rows: slice, /) -> Self: ...


A = TypeVar("A", bound=Array)
B = TypeVar("B", bound=Array)
A_co = TypeVar("A_co", bound=Array, covariant=True)


class ArrayOf(Protocol[A_co]):
    """What a caller gives: of a package whose operations make an ``A`` of it."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def reshape(self, shape: tuple[int, ...], /) -> A_co: ...


AnyArray: TypeAlias = ArrayOf[Array]
"""Of any package."""


# ----------------------------------------------------------------------------------------------- packages
class TorchTensor(Protocol):
    @property
    def device(self) -> Hashable: ...

    @property
    def is_cuda(self) -> bool: ...

    def contiguous(self) -> Self: ...

    def detach(self) -> Self: ...

    def cpu(self) -> Self: ...

    def numpy(self) -> NumPyArray: ...


class CupyDevice(Protocol):
    """Within it, arrays are made there."""

    @property
    def attributes(self) -> dict[str, int]: ...

    def __enter__(self) -> object: ...

    def __exit__(self, *error: object) -> None: ...


class CupyArray(Protocol):
    @property
    def device(self) -> CupyDevice: ...

    def get(self) -> NumPyArray: ...


class JaxType(Protocol):
    @property
    def name(self) -> str: ...


class JaxDevice(Protocol):
    @property
    def platform(self) -> str: ...


class JaxArray(Protocol):
    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> JaxType: ...

    def devices(self) -> set[JaxDevice]: ...
