"""What the recorder knows of the objects of ``cuda.tile``, which it neither makes nor imports."""

from __future__ import annotations

import importlib.machinery
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Protocol, SupportsInt, TypeAlias, TypeGuard

if TYPE_CHECKING:
    from .described_launch import Described

Grid: TypeAlias = "SupportsInt | tuple[SupportsInt, ...] | list[SupportsInt]"
"""One axis, or up to three."""


class TileFunction(Protocol):
    """What ``@ct.kernel`` stands on."""

    pyfunc: FunctionType
    pysig: inspect.Signature


class TileKernel(Protocol):
    """A ``@ct.kernel``."""

    _annotated_function: TileFunction
    _compiler_options: object


class DataType(Protocol):
    """``ct.float32`` and its like."""

    @property
    def name(self) -> object: ...
    @property
    def bitwidth(self) -> SupportsInt: ...


class ArrayConstraint(Protocol):
    """What a signature says of an array; the other kinds of parameters follow."""

    dtype: DataType
    index_dtype: DataType


class ScalarConstraint(Protocol):
    dtype: DataType


class ConstantConstraint(Protocol):
    value: object


class ListConstraint(Protocol):
    element: ArrayConstraint


class TupleConstraint(Protocol):
    items: Sequence[object]


class DataclassConstraint(Protocol):
    fields: Sequence[object]


def is_array(constraint: object) -> TypeGuard[ArrayConstraint]:
    return _kind(constraint) == "ArrayConstraint"


def is_scalar(constraint: object) -> TypeGuard[ScalarConstraint]:
    return _kind(constraint) == "ScalarConstraint"


def is_constant(constraint: object) -> TypeGuard[ConstantConstraint]:
    return _kind(constraint) == "ConstantConstraint"


def is_list(constraint: object) -> TypeGuard[ListConstraint]:
    return _kind(constraint) == "ListConstraint"


def is_tuple(constraint: object) -> TypeGuard[TupleConstraint]:
    return _kind(constraint) == "TupleConstraint"


def is_dataclass(constraint: object) -> TypeGuard[DataclassConstraint]:
    return _kind(constraint) == "DataclassConstraint"


def is_data_type(value: object) -> TypeGuard[DataType]:
    return _kind(value) == "DType"


def _kind(value: object) -> str:
    """By name: the classes move between versions of ``cuda.tile``."""
    return type(value).__name__


class CallingConvention(Protocol):
    """How arguments are handed over."""

    @property
    def name(self) -> str: ...


class JitSignature(Protocol):
    """For what the JIT compiles a kernel."""

    @property
    def parameters(self) -> Sequence[object]: ...
    @property
    def symbol(self) -> str: ...
    @property
    def calling_convention(self) -> CallingConvention: ...


# ------------------------------------------------------------------------------------------- what is told of launches
Interpret: TypeAlias = Callable[[TileKernel, Grid, Sequence[object]], None]
"""Runs a launch of a kernel, its grid and its arguments on arrays in the host's memory."""


@dataclass(frozen=True, eq=False)
class TritonSpecialisation:
    """One specialisation of a ``@triton.jit`` function: the text of its Triton IR, under ``symbol``.

    ``parameters``: all of them, compile-time constants too, the parts of tuples one by one.  ``options``: ``num_warps``
    and its like.
    """

    function: FunctionType
    symbol: str
    text: str
    parameters: list[str]
    options: dict[str, int]


class Observer(Protocol):
    """Learns of every launch before the launch is made."""

    def launch(self, kernel: TileKernel, grid: Grid, arguments: Sequence[object], how: str) -> Exception | None:
        """What the launch itself would refuse is returned."""

    def traced(
        self,
        kernel: TileKernel,
        grid: Grid,
        signature: JitSignature,
        described: Sequence[Described],
        alias: Sequence[Sequence[str]],
        how: str,
    ) -> Exception | None:
        """The same of a launch whose arguments lie in no memory yet."""


class TritonObserver(Protocol):
    """Learns of every launch of a Triton kernel before the launch is made."""

    def triton_room(self, function: FunctionType) -> bool:
        """Whether one more specialisation of a Triton kernel is wanted."""

    def triton_launch(
        self,
        specialisation: TritonSpecialisation,
        grid: Grid,
        described: Sequence[Described],
        arrays: Sequence[object],
    ) -> bool:
        """``arrays``: the objects behind ``described``.  Whether nothing needs to be told of an equal launch: the same
        numbers, and arrays at the same places."""

    def triton_failed(self, function: FunctionType | None, error: Exception) -> None:
        """A launch that cannot be written down."""


# -------------------------------------------------------------------------------------------------------------- imports
# Run a callback right after a module was imported, whenever the program does so.


Callback = Callable[[ModuleType], None]


class AfterImport:
    """A finder at the head of ``sys.meta_path`` that finds nothing itself but adds a callback to what others find."""

    def __init__(self) -> None:
        self._callbacks: dict[str, list[Callback]] = {}

    def install(self) -> None:
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """What is imported from now on is nobody's concern."""
        sys.meta_path.remove(self)

    def call(self, name: str, callback: Callback) -> None:
        """Call ``callback(module)`` once module ``name`` has been executed; at once if it has been already."""
        if name in sys.modules:
            callback(sys.modules[name])
        else:
            self._callbacks.setdefault(name, []).append(callback)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self._callbacks:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                self._wrap(spec.loader, name)
                return spec
        return None

    def _wrap(self, loader: object, name: str) -> None:
        execute = loader.exec_module  # type: ignore[attr-defined]

        def exec_module(module: ModuleType) -> None:
            execute(module)
            for callback in self._callbacks.pop(name, ()):
                callback(module)

        loader.exec_module = exec_module  # type: ignore[attr-defined]
