"""What programs pass to a launch and what a launch is made of, as types.

Arguments are `object`: arrays, numbers, and tuples, lists and dataclasses of them.  Whoever takes one asks it for what
it offers (`backend.guard.views`, `record.hook.arguments`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from types import FunctionType
from typing import ClassVar, Protocol, TypeAlias, TypedDict, TypeGuard

from ..backend.guard.arguments import Grid

Arguments: TypeAlias = Sequence[object]

GivenGrid: TypeAlias = object
"""As cuda.tile takes it, or ``None`` for the one that covers the arrays; `calls.grid_of` reads it."""

Stream: TypeAlias = object
"""Of torch, CuPy, cuda.core or Numba, the driver's handle, or ``None``; `backend.gpu.driver.stream_handle` reads it."""

GivenKernel: TypeAlias = object
"""A `LaunchedKernel`, where the program is right; `calls.Kernel.of` looks."""

Key: TypeAlias = tuple[Hashable, ...]


# ----------------------------------------------------------------------------------------------- streams
class TorchStream(Protocol):
    @property
    def cuda_stream(self) -> int: ...


# ------------------------------------------------------------------------------------------------ arrays
class Interface(TypedDict):
    """What ``__cuda_array_interface__`` gives."""

    shape: tuple[int, ...]
    typestr: str
    data: tuple[int, bool]
    version: int


class DeviceArray(Protocol):
    """``count`` elements of 4 bytes at an address of a device, as an array that kernels take."""

    @property
    def address(self) -> int: ...

    @property
    def count(self) -> int: ...


# ----------------------------------------------------------------------------------------------- kernels
class Annotated(Protocol):
    pyfunc: FunctionType


class CompilerOptions(Protocol):
    """A dataclass of cuda.tile."""

    __dataclass_fields__: ClassVar[Mapping[str, object]]


class LaunchedKernel(Protocol):
    """A ``@ct.kernel``.  ``tileverify_again`` is there once it was launched."""

    tileverify_again: Callable[[Stream, GivenGrid, Arguments], bool]

    @property
    def _annotated_function(self) -> Annotated: ...

    @property
    def _compiler_options(self) -> CompilerOptions: ...

    def replace_hints(self, **hints: object) -> LaunchedKernel: ...


def is_kernel(value: object) -> TypeGuard[LaunchedKernel]:
    return getattr(getattr(value, "_annotated_function", None), "pyfunc", None) is not None


class GivenOptions(TypedDict, total=False):
    """The fields of `options.LaunchOptions`, as keyword arguments."""

    data: Sequence[str]
    vouch: bool
    programmatic_dependent_launch: bool


# ------------------------------------------------------------------------------------------------- plans
class AnyPlan(Protocol):
    """A launch that was checked, on a GPU or on the host."""

    @property
    def kernel(self) -> object: ...

    @property
    def code(self) -> bytes: ...

    @property
    def grid(self) -> Grid: ...

    @property
    def alive(self) -> Arguments: ...

    def launch(self, stream: Stream) -> None: ...


class Repeatable(AnyPlan, Protocol):
    """One on a GPU: ``bound`` gives the driver's call; ``retry`` makes it again after a status that can be mended, and
    explains all others."""

    def bound(self, stream: int) -> Callable[[], int]: ...

    def retry(self, status: int, call: Callable[[], int]) -> None: ...
