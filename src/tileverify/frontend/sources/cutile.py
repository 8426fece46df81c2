"""cuTile Python: find the kernels of a file and compile one of them for a launch spec, without a GPU.

``cuda.tile`` is imported only when a kernel is compiled or a file with kernels is imported.
"""

from __future__ import annotations

import importlib
import inspect
import io
import sys
import time
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...contract.decorator import DecoratedLaunch, decorated_launches
from ...contract.launch import KernelUnit, LaunchSpec
from ...contract.parameters import KernelParameter
from ...contract.spec_files import RawLaunch, raw_launches
from ...contract.written_places import mistake_in
from ...system.errors import SourceError, SpecError, TileVerifyError
from .abi import entry_parameters
from .importing import import_file
from .python_scan import PythonScan
from .refused import described, unexplained
from .signature import compiled_array_facts, kernel_signature
from .tampering import remember

BYTECODE_VERSIONS = ("13.3", "13.4")
"""Tile IR bytecode versions in the order they are tried: 13.3 is the oldest that needs no GPU architecture."""


@dataclass
class EndlessRecursion(SourceError):
    """A helper that calls itself without end: no description of the arguments mends that."""


@dataclass(frozen=True, slots=True)
class CutileKernel:
    """One ``@ct.kernel`` of a file: its name, its parameters, and cuda.tile's own object."""

    file: Path
    name: str
    line: int | None
    parameters: tuple[KernelParameter, ...]
    kernel: Any

    def names(self) -> frozenset[str]:
        """The names of its parameters."""
        return frozenset(parameter.name for parameter in self.parameters)

    def decorated(self) -> tuple[RawLaunch, ...]:
        """The launches that ``@tileverify.launch`` wrote on the kernel."""
        return tuple(
            raw
            for position, spec in enumerate(decorated_launches(self.kernel, function_of(self.kernel)))
            for raw in self._decorated(spec, position)
        )

    def _decorated(self, spec: DecoratedLaunch, position: int) -> Iterator[RawLaunch]:
        fields = {"kernel": self.name, **spec.fields}
        for raw in raw_launches(fields, spec.file or str(self.file), spec.line, position):
            if raw.kernel != self.name:
                raise raw.error("kernel", f"the decorator stands on '{self.name}'; leave the field out")
            yield raw


def kernels_of_file(path: Path, scan: PythonScan) -> tuple[CutileKernel, ...]:
    """Import ``path`` and return the kernels that stand in it, in the order of the source.

    Raises :class:`SourceError` when the import fails or cuda.tile is not installed.
    """
    _cuda_tile(path)
    remember()
    return kernels_of_module(import_file(path, package=scan.relative), path, scan)


def kernels_of_module(module: types.ModuleType, path: Path, scan: PythonScan) -> tuple[CutileKernel, ...]:
    """The kernels of a module that ``path`` became when it was imported."""
    cutile = _cuda_tile(path)
    found: dict[int, CutileKernel] = {}
    for name, kernel in _members(module, cutile.kernel, {module.__name__}):
        function = function_of(kernel)
        if Path(function.__code__.co_filename).resolve() != path.resolve():
            continue
        own_name = function.__qualname__.replace("<locals>.", "")
        known = found.get(id(function))
        if known is None or (name == own_name and known.name != own_name):
            line = scan.kernels.get(own_name, function.__code__.co_firstlineno)
            found[id(function)] = CutileKernel(path, name, line, _parameters(path, kernel), kernel)
    return tuple(sorted(found.values(), key=lambda kernel: (kernel.line or 0, kernel.name)))


def kernel_of(kernel: Any) -> CutileKernel:
    """A ``@ct.kernel`` of a running program, as if its file had been read."""
    code = function_of(kernel).__code__
    file, name = Path(code.co_filename), function_of(kernel).__qualname__.replace("<locals>.", "")
    return CutileKernel(file, name, code.co_firstlineno, _parameters(file, kernel), kernel)


def compile_kernel(kernel: CutileKernel, spec: LaunchSpec) -> KernelUnit:
    """Compile ``kernel`` for ``spec`` to Tile IR bytecode.

    Raises :class:`SpecError` where the spec does not fit the kernel's annotations and :class:`SourceError` at the
    user's line where cuTile rejects the kernel.
    """
    started = time.perf_counter()
    symbol = kernel.name.replace(".", "_")
    try:
        facts = compiled_array_facts(spec, kernel.parameters)
        signature = kernel_signature(spec, facts, symbol)
    except SpecError as error:
        raise mistake_in(spec, error.message) from None
    bytecode = export_bytecode(kernel, spec, signature)
    return KernelUnit(
        file=kernel.file,
        kernel=kernel.name,
        launch=spec,
        bytecode=bytecode,
        symbol=symbol,
        parameters=entry_parameters(spec, facts),
        compile_ms=(time.perf_counter() - started) * 1000,
        line=kernel.line,
        notes=spec.notes,
    )


def export_bytecode(kernel: CutileKernel, spec: LaunchSpec, signature: Any, architecture: str | None = None) -> bytes:
    """The bytecode of ``kernel`` for one signature, in the oldest version that can express it.

    ``architecture``: the GPU (``sm_90``) that hints are chosen for; none without it.
    """
    from cuda.tile.compilation import export_kernel

    failure: Exception | None = None
    for version in BYTECODE_VERSIONS:
        buffer = io.BytesIO()
        try:
            export_kernel(
                kernel.kernel,
                [signature],
                buffer,
                gpu_code=architecture,
                output_format="tileir_bytecode",
                bytecode_version=version,
            )
        except Exception as error:
            failure = error
            if type(error).__name__ != "UnsupportedFeatureError":
                break
        else:
            return buffer.getvalue()
    assert failure is not None
    raise compile_error(kernel, spec, failure) from None


def compile_error(kernel: CutileKernel, spec: LaunchSpec, error: Exception) -> TileVerifyError:
    """cuTile's error as one sentence at the user's line."""
    from cuda.tile import TileError, TileRecursionError

    if isinstance(error, TileRecursionError):
        told = f"the calls of helpers in '{kernel.name}' do not end here; cuTile inlines each of them, and gives up"
        return EndlessRecursion(told, *_user_place(kernel, error.loc))
    if isinstance(error, TileError):
        place = _user_place(kernel, error.loc)
        # Errors within errors bring their own, unknown, place along.
        message = " ".join(error.message.replace("Unknown location", "").split()) or unexplained(error, *place)
        told = f"cuTile rejects '{kernel.name}': {message}"
        return SourceError(told, *place, also=described(spec, *place, message))
    text = " ".join(str(error).split())
    if isinstance(error, TypeError) and text.startswith("Invalid"):
        return mistake_in(spec, f"'{kernel.name}' cannot be compiled for it: {text}")
    summary = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return SourceError(f"cuTile failed on '{kernel.name}': {summary}", str(kernel.file), kernel.line)


def _user_place(kernel: CutileKernel, location: Any) -> tuple[str, int | None, int | None]:
    """The innermost call in the kernel's own file, or the innermost anywhere, or the kernel itself."""
    chain = []
    while location is not None:
        if location.filename and location.line:
            chain.append(location)
        location = location.call_site
    own = [each for each in chain if Path(each.filename).resolve() == kernel.file.resolve()]
    for each in [*own, *chain]:
        return str(kernel.file) if own else str(each.filename), int(each.line), int(each.col)
    return str(kernel.file), kernel.line, None


# ------------------------------------------------------------------------------- reading kernel objects
def _cuda_tile(path: Path) -> types.ModuleType:
    try:
        return importlib.import_module("cuda.tile")
    except ImportError as error:
        message = f"cuTile kernels need the package cuda-tile ({error}); install it with: pip install cuda-tile"
        raise SourceError(message, str(path)) from None


def _members(owner: object, kernel_type: type, modules: set[str]) -> Iterator[tuple[str, Any]]:
    """Kernels among the attributes of a module and of the classes it defines, with dotted names."""
    for name, value in list(vars(owner).items()):
        if isinstance(value, staticmethod):
            value = value.__func__
        if isinstance(value, kernel_type):
            yield name, value
        elif isinstance(value, type) and value.__module__ in modules and value.__name__ == name:
            yield from ((f"{name}.{inner}", kernel) for inner, kernel in _members(value, kernel_type, modules))


def is_kernel(value: object) -> bool:
    """Whether ``value`` is a ``ct.kernel``; without ``cuda.tile`` nothing is."""
    cutile = sys.modules.get("cuda.tile")
    return cutile is not None and isinstance(value, cutile.kernel)


def function_of(kernel: Any) -> types.FunctionType:
    """The Python function under a ``ct.kernel``."""
    function: types.FunctionType = kernel._annotated_function.pyfunc
    return function


def _parameters(path: Path, kernel: Any) -> tuple[KernelParameter, ...]:
    annotated = kernel._annotated_function
    hints = {name: _plain_type(hint) for name, hint in typing.get_type_hints(annotated.pyfunc).items()}
    pairs = zip(annotated.pysig.parameters.values(), annotated.parameter_annotations, strict=True)
    parameters = []
    for declared, annotation in pairs:
        if declared.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise SourceError(f"a kernel cannot take '*{declared.name}'", str(path))
        parameter = replace(_parameter(declared.name, annotation), hint=hints.get(declared.name))
        if declared.default is not inspect.Parameter.empty:
            parameter = replace(parameter, has_default=True, default=declared.default)
        parameters.append(parameter)
    return tuple(parameters)


def _plain_type(hint: object) -> str | None:
    """``int`` for ``int`` and ``Constant[int]``: without extras, type hints come as the bare type."""
    return hint.__name__ if hint in (int, bool, float, str) and isinstance(hint, type) else None


_SCALARS: Mapping[str, str] = {"int32": "i32", "int64": "i64"}


def _parameter(name: str, node: Any) -> KernelParameter:
    items = getattr(node, "items", None)
    if items is not None:
        parts = tuple(_parameter(f"{name}[{i}]", item) for i, item in enumerate(items))
        return KernelParameter(name, constant=bool(parts) and all(part.constant for part in parts), items=parts)
    each = getattr(node, "each", None)
    if each is not None:
        part = _parameter(name, each)
        return KernelParameter(name, constant=part.constant, each=part)
    array = node.array if node.list is None else node.list.element
    return KernelParameter(
        name,
        constant=node.constant,
        scalar_dtype=None if node.scalar is None else _SCALARS[node.scalar.dtype.name],
        index_bits=None if array is None else array.index_dtype.bitwidth,
        static_shape=() if array is None else array.static_shape_dims,
        static_strides=() if array is None else array.static_stride_dims,
    )
