"""What programs pass to a launch and what a launch is made of, as types.

Arguments are `object`: arrays, numbers, and tuples, lists and dataclasses of them.  Whoever takes one asks it for what
it offers (`backend.guard.views`, `record.hook.arguments`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import ClassVar, Final, Protocol, TypeAlias, TypedDict, TypeGuard

from ..backend.guard.arguments import Grid
from ..system.errors import UsageError

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


# -------------------------------------------------------------------------------------------------------------- options
# What a caller may say of a launch beside stream, grid, kernel and arguments.


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """``data``: facts about index arrays, in the words of launch specs; they are checked at every launch.

    ``vouch``: the caller answers for facts on contents, and nobody looks.  ``programmatic_dependent_launch``: the
    kernel may be started before the one ahead of it on its stream has ended, as in ``cuda.tile.launch``.  That is a
    permission: it is used where the kernel waits before it touches anything (`launching.reach`).
    """

    data: Sequence[str] = ()
    vouch: bool = False
    programmatic_dependent_launch: bool = False


PLAIN: Final = LaunchOptions()


def options_of(given: GivenOptions) -> LaunchOptions:
    """The keyword arguments of a call; raises `UsageError` for one that there is not."""
    try:
        return LaunchOptions(**given) if given else PLAIN
    except TypeError:
        known = LaunchOptions.__dataclass_fields__
        wrong = ", ".join(f"'{name}'" for name in given if name not in known)
        raise UsageError(f"a launch takes no {wrong}, only {', '.join(known)}") from None
