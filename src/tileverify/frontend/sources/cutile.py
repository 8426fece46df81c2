"""cuTile Python: find the kernels of a file and compile one of them for a launch spec, without a GPU.

``cuda.tile`` is imported only when a kernel is compiled or a file with kernels is imported.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import re
import sys
import tempfile
import time
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from ...contract.element_types import ELEMENT_TYPES
from ...contract.launch import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    KernelParameter,
    KernelUnit,
    LaunchSpec,
    ListArgument,
    ScalarArgument,
    TupleArgument,
)
from ...contract.spec_files import RawLaunch, launches_on
from ...contract.spec_text import keys_of_launch, mistake_in, place_of
from ...system.errors import SourceError, SpecError, TileVerifyError
from ...system.printable import syntax_tree
from ...system.readings import cell_text, flags_of_cells, names_of_cells, text_of
from .abi import ArrayFacts, array_facts, element_facts, entry_parameters, spec_divisors
from .fixed_inputs import PythonScan, scan_python
from .import_purity import remember
from .importing import import_file, visible

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
        return launches_on(self.name, self.file, self.kernel, function_of(self.kernel))


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


# ------------------------------------------------------------------------------------------------------------ signature
# From a launch spec to the signature that cuda.tile compiles a kernel for.


def compiled_array_facts(spec: LaunchSpec, parameters: Sequence[KernelParameter]) -> dict[str, ArrayFacts]:
    """What is compiled in for every array (by name; a list's name stands for its elements)."""
    divisors = spec_divisors(spec)
    facts: dict[str, ArrayFacts] = {}

    def collect(argument: Argument, parameter: KernelParameter | None) -> None:
        match argument:
            case ArrayArgument(name=name):
                facts[name] = array_facts(argument, parameter or KernelParameter(name), divisors)
            case ListArgument(name=name):
                facts[name] = element_facts(argument, divisors)
            case TupleArgument(items=items):
                for index, item in enumerate(items):
                    collect(item, parameter.item(index) if parameter else None)

    for argument, parameter in zip(spec.arguments, parameters, strict=True):
        collect(argument, parameter)
    return facts


def kernel_signature(spec: LaunchSpec, facts: Mapping[str, ArrayFacts], symbol: str) -> Any:
    """The ``cuda.tile.compilation.KernelSignature`` of a spec.

    Alias groups come from ``alias`` alone: of an ``overlap`` the compiler is not told, as in the JIT.
    """
    from cuda.tile.compilation import CallingConvention, KernelSignature

    groups: dict[str, tuple[str, ...]] = {}
    for number, group in enumerate(spec.alias):
        for name in sorted(group):
            groups[name] = (*groups.get(name, ()), f"alias{number}")
    constraints = [_constraint(argument, facts, groups) for argument in spec.arguments]
    return KernelSignature(constraints, CallingConvention.cutile_python_v2(), symbol)


def _constraint(argument: Argument, facts: Mapping[str, ArrayFacts], groups: Mapping[str, tuple[str, ...]]) -> Any:
    from cuda.tile.compilation import ListConstraint, ScalarConstraint, TupleConstraint

    match argument:
        case ArrayArgument(name=name):
            return _array_constraint(argument, facts[name], groups.get(name, ()))
        case ScalarArgument(dtype=dtype):
            return ScalarConstraint(_data_type(dtype))
        case ConstantArgument(name=name, value=value):
            return _constant_constraint(name, value)
        case ListArgument(name=name, addresses=True):
            raise SpecError(f"cuTile takes no array of addresses; write args.{name} as a 'list'")
        case ListArgument(name=name, element=element):
            constraint = _array_constraint(element, facts[name], groups.get(name, ()))
            return ListConstraint(constraint, alias_groups=(), elements_may_alias=True)
        case TupleArgument(items=items, fields=None):
            return TupleConstraint([_constraint(item, facts, groups) for item in items])
        case TupleArgument(name=name):
            raise SpecError(f"'{name}' is a dataclass, which this version of cuda-tile cannot take as a parameter")


def _array_constraint(array: ArrayArgument, facts: ArrayFacts, groups: tuple[str, ...]) -> Any:
    import cuda.tile
    from cuda.tile.compilation import ArrayConstraint

    return ArrayConstraint(
        _data_type(array.dtype),
        len(array.shape),
        index_dtype=cuda.tile.int64 if array.index_bits == 64 else cuda.tile.int32,
        stride_lower_bound_incl=0,
        alias_groups=groups,
        may_alias_internally=facts.may_alias_internally,
        stride_constant=facts.stride_constant,
        shape_constant=facts.shape_constant,
        stride_divisible_by=facts.stride_divisible_by,
        shape_divisible_by=facts.shape_divisible_by,
        base_addr_divisible_by=facts.address_divisible_by,
    )


def _constant_constraint(name: str, value: Any) -> Any:
    import cuda.tile
    from cuda.tile.compilation import ConstantConstraint, TupleConstraint

    if isinstance(value, tuple):
        return TupleConstraint([_constant_constraint(f"{name}[{i}]", item) for i, item in enumerate(value)])
    if isinstance(value, str) and value.startswith("ct."):
        data_type = getattr(cuda.tile, value.removeprefix("ct."), None)
        if not isinstance(data_type, cuda.tile.DType):
            raise SpecError(f"constant '{name}': cuda.tile has no data type '{value}'")
        value = data_type
    try:
        return ConstantConstraint(value)
    except TypeError:
        raise SpecError(
            f"constant '{name}': this version of cuda-tile takes only bool, int and float constants, not {value!r}"
        ) from None


def _data_type(name: str) -> Any:
    import cuda.tile

    return getattr(cuda.tile, ELEMENT_TYPES[name].cutile)


# -------------------------------------------------------------------------------------------------------------- refused
# Where a launch spec says what cuTile refuses: the constant, data type or rank that its message names.


Place: TypeAlias = tuple[str, int, int | None]
"""File, line from 1, column from 0."""

_RANK: Final = re.compile(r"\brank (\d+)")


def described(spec: LaunchSpec, file: str, line: int | None, column: int | None, message: str) -> tuple[Place, ...]:
    """The lines of ``spec`` for what is refused at a place of the kernel: of parameters that stand there, and of which
    ``message`` names the value, the data type or the rank."""
    if not spec.file or spec.line is None or line is None or column is None:
        return ()
    standing = set(_names_at(file, line, column))
    keys = keys_of_launch(spec.file, spec.line)
    named = [each.name for each in spec.arguments if each.name in standing and _is_named(each, message)]
    found = (place_of(keys, f"args.{name}", "") for name in named)
    return tuple((spec.file, *place) for place in dict.fromkeys(found) if place is not None)


def unexplained(error: Exception, file: str, line: int | None, column: int | None) -> str:
    """What is wrong where cuTile's compiler fails without a message: it has no code for a loop that is never left."""
    loops = (node for node in _nodes(file) if isinstance(node, ast.While) and node.lineno == line)
    if any(not any(isinstance(node, ast.Break | ast.Return) for node in ast.walk(loop)) for loop in loops):
        return "this `while` loop is never left; give it a condition that becomes false, or a `break`"
    cause = type(error.__cause__ or error).__name__
    return f"its compiler fails here without a message ({cause}); write this line in another way"


def _nodes(file: str) -> Iterator[ast.AST]:
    try:
        tree = syntax_tree(text_of(Path(file)))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    yield from ast.walk(tree)


def _names_at(file: str, line: int, column: int) -> Iterator[str]:
    """The names in what begins at a place."""
    for node in _nodes(file):
        if isinstance(node, ast.expr) and (node.lineno, node.col_offset) == (line, column):
            yield from (part.id for part in ast.walk(node) if isinstance(part, ast.Name))


def _is_named(argument: Argument, message: str) -> bool:
    match argument:
        case ConstantArgument(value=value):
            values = value if isinstance(value, tuple) else (value,)
            return any(_has_word(str(each).removeprefix("ct."), message) for each in values)
        case ScalarArgument(dtype=dtype):
            return _has_word(ELEMENT_TYPES[dtype].cutile, message)
        case ArrayArgument(dtype=dtype, shape=shape):
            return _has_word(ELEMENT_TYPES[dtype].cutile, message) or str(len(shape)) in _RANK.findall(message)
        case ListArgument(element=element):
            return _is_named(element, message)
    return False


def _has_word(word: str, text: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(word)}(?![\w.])", text) is not None


# --------------------------------------------------------------------------------------------------------------- edited
# A kernel whose source was changed, compiled for the launch that the unchanged one has.


def edited_unit(unit: KernelUnit, text: str, compiled: Compile | None = None) -> KernelUnit:
    """``unit`` compiled from ``text`` in place of its file, which is not touched, or of its notebook's cell.

    ``compiled``: how a kernel is compiled for its launch, where that does not say it all, as those of calls do not.
    Raises `SourceError` or `SpecError` where the text does not compile, and where it cannot be imported from elsewhere
    (relative imports).
    """
    if unit.producer == "triton":
        from ..triton.triton_kernels import compile_triton_kernel, triton_kernel_at_hand, triton_kernels_of_file

        triton = _Language(triton_kernels_of_file, triton_kernel_at_hand)
        return _edited(unit, text, triton, partial(compile_triton_kernel, spec=unit.launch))
    cutile = _Language(kernels_of_file, lambda value: kernel_of(value) if is_kernel(value) else None)
    return _edited(unit, text, cutile, compiled or partial(compile_kernel, spec=unit.launch))


class _Named(Protocol):
    """A kernel of a file, whichever language it is written in."""

    @property
    def name(self) -> str: ...


_Kernel = TypeVar("_Kernel", bound=_Named)


@dataclass(frozen=True, slots=True)
class _Language(Generic[_Kernel]):
    """Its kernels in a file that is imported, and the kernel that a value of a running program is, if it is one."""

    of_file: Callable[[Path, PythonScan], Sequence[_Kernel]]
    at_hand: Callable[[object], _Kernel | None]


def _edited(
    unit: KernelUnit, text: str, language: _Language[_Kernel], compiled: Callable[[_Kernel], KernelUnit]
) -> KernelUnit:
    cell = cell_text(str(unit.file))
    if cell is not None:
        return _edited_cell(unit, cell, text, language, compiled)
    return _edited_file(unit, text, language, compiled)


def _edited_file(
    unit: KernelUnit, text: str, language: _Language[_Kernel], compiled: Callable[[_Kernel], KernelUnit]
) -> KernelUnit:
    """``unit`` from a copy of its file that holds ``text``, which is imported."""
    with tempfile.TemporaryDirectory(prefix="tileverify-") as folder:
        file = Path(folder) / unit.file.name
        file.write_text(text, encoding="utf-8")
        scan = scan_python(file)
        if scan.relative:
            raise SourceError("a file with relative imports cannot be tried elsewhere", str(unit.file))
        with visible(unit.file.resolve().parent):
            kernels = language.of_file(file, scan)
        for kernel in kernels:
            if kernel.name == unit.kernel:
                return replace(compiled(kernel), notes=unit.notes)
    raise SourceError(f"the changed source has no kernel '{unit.kernel}'", str(unit.file))


# ---------------------------------------------------------------------------------------------------------- edited cell
# A kernel of a notebook's cell whose text was changed, compiled for the launch that the unchanged one has.
#
# A cell is not run a second time: it may have done anything.  The kernel alone is defined anew, in a copy of the names
# that the notebook has, and only if that is known to make the kernel that the cell made.


Compile: TypeAlias = Callable[[CutileKernel], KernelUnit]
"""A kernel as it is compiled for the launch."""

_OURS: Final = ("cuda.tile", "triton", "tileverify")
"""What they offer does nothing but describe when a kernel is defined."""


def _edited_cell(
    unit: KernelUnit, cell: str, text: str, language: _Language[_Kernel], compiled: Callable[[_Kernel], KernelUnit]
) -> KernelUnit:
    """``unit``, which ``compiled`` made, from ``text`` in the place of its ``cell``.

    Raises `SourceError` where more than the kernel itself was changed, where to define the kernel alone does not give
    what the cell gave, or runs what it may not, and what ``compiled`` raises.
    """
    before, after = _parsed(unit, cell), _parsed(unit, text)
    if _others(before, unit.kernel) != _others(after, unit.kernel):
        raise _no(unit, "more than the kernel was changed")
    if compiled(_defined(unit, unit.file, before, language)).bytecode != unit.bytecode:
        raise _no(unit, "its definition alone does not make the kernel that the cell made")
    with tempfile.TemporaryDirectory(prefix="tileverify-") as folder:
        file = Path(folder) / "cell.py"  # the compiler reads the source
        file.write_text(text, encoding="utf-8")
        return replace(compiled(_defined(unit, file, after, language)), file=unit.file, notes=unit.notes)


def _no(unit: KernelUnit, reason: str) -> SourceError:
    return SourceError(f"a changed '{unit.kernel}' cannot be tried: {reason}", str(unit.file))


def _parsed(unit: KernelUnit, text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _no(unit, f"the cell is no Python ({error})") from None


def _others(tree: ast.Module, kernel: str) -> list[str]:
    """All statements but the definition of ``kernel``, of which the name alone is left."""
    return [kernel if _is_definition(each, kernel) else ast.dump(each) for each in tree.body]


def _is_definition(statement: ast.stmt, name: str) -> bool:
    return isinstance(statement, ast.FunctionDef) and statement.name == name


def _defined(unit: KernelUnit, file: Path, tree: ast.Module, language: _Language[_Kernel]) -> _Kernel:
    """The kernel once its function in ``tree``, which is the text of ``file``, is defined anew."""
    names = names_of_cells()
    found = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == unit.kernel]
    if len(found) != 1 or not _only_describes(found[0], names):
        raise _no(unit, "it is defined twice, in another function, or by more than its decorators describe")
    try:
        exec(compile(ast.Module(list(found), []), str(file), "exec", flags_of_cells(), dont_inherit=True), names)
    except Exception as error:
        raise _no(unit, f"{type(error).__name__}: {error}") from None
    kernel = language.at_hand(names[unit.kernel])
    if kernel is None:
        raise _no(unit, "it is no kernel any more")
    return kernel


def _only_describes(function: ast.FunctionDef, names: Mapping[str, Any]) -> bool:
    """Whether to define ``function`` calls nothing but what `_OURS` offer: its decorators, defaults and hints."""
    parts: list[ast.AST] = [*function.decorator_list, function.args]
    called = [node.func for part in parts for node in ast.walk(part) if isinstance(node, ast.Call)]
    return all(_is_ours(each, names) for each in (*called, *function.decorator_list) if not isinstance(each, ast.Call))


def _is_ours(node: ast.expr, names: Mapping[str, Any]) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    value = names.get(node.id) if isinstance(node, ast.Name) else None
    module = getattr(value, "__module__", None) or getattr(value, "__name__", None)
    return isinstance(module, str) and any(f"{module}.".startswith(f"{each}.") for each in _OURS)
