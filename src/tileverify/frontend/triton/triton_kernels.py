"""Find ``@triton.jit`` kernels of a Python module, and compile one under a launch spec.

Triton's own frontend makes Triton IR (its stage ``ttir``), without a GPU and without a driver; the rest is ours.

What Triton's launcher establishes of each launch goes into the compilation only where the spec says it of every
launch: a scalar that is 1 is a constant, one that 16 divides, and an address that 16 divides, are marked so.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import time
import types
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from ...contract.expressions import constant_value
from ...contract.launch import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    KernelParameter,
    KernelUnit,
    LaunchSpec,
    ScalarArgument,
)
from ...contract.scope import ADDRESS
from ...contract.spec_files import RawLaunch
from ...contract.spec_text import mistake_in
from ...system.errors import SourceError
from ..bytecode.encoder import encode
from ..sources.abi import entry_types, fitting_parameters, spec_divisors
from ..sources.fixed_inputs import PythonScan
from ..sources.importing import import_file
from .translate import translate
from .ttir_reader import read_ttir

EXTRA: Final = "triton"
_DIVISOR: Final = 16

_TYPES: Final[Mapping[str, str]] = {
    "bool": "i1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "u8": "u8", "u16": "u16", "u32": "u32",
    "u64": "u64", "f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp64", "f8e4m3": "fp8e4nv",
    "f8e5m2": "fp8e5",
}  # fmt: skip
"""What Triton calls the element types of specs."""


@dataclass(frozen=True, slots=True)
class TritonKernel:
    """A ``@triton.jit`` function: its name, its parameters, and Triton's own object (the innermost one,
    `JITFunction`)."""

    file: Path
    name: str
    line: int | None
    parameters: tuple[KernelParameter, ...]
    function: Any
    is_helper: bool = False

    def decorated(self) -> tuple[RawLaunch, ...]:
        return ()


def need_triton(file: str | None) -> types.ModuleType:
    """The package `triton`; :class:`SourceError` says how to get it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module("triton")
    except ImportError as error:
        message = (
            f"Triton kernels need the package triton ({error}); install it with: pip install 'tileverify[{EXTRA}]'"
        )
        raise SourceError(message, file) from None


def is_triton_kernel(value: object) -> bool:
    """Whether ``value`` is a function of ``@triton.jit``, tuned or not; without `triton` nothing is."""
    return jit_function(value) is not None


def jit_function(value: object) -> Any:
    """Triton's `JITFunction` under ``@triton.autotune`` and ``@triton.heuristics``; ``None`` if there is none."""
    jit = sys.modules.get("triton.runtime.jit")
    while jit is not None and value is not None:
        if isinstance(value, jit.JITFunction):
            return value
        value = getattr(value, "fn", None) if type(value).__module__.startswith("triton.") else None
    return None


def triton_kernels_of_file(path: Path, scan: PythonScan) -> tuple[TritonKernel, ...]:
    """Import ``path`` and return the kernels that stand in it, in the order of the source.

    Raises :class:`SourceError` where `triton` is not installed or the import fails.
    """
    need_triton(str(path))
    return triton_kernels_of_module(import_file(path, package=scan.relative), path, scan.helpers)


def triton_kernels_of_module(
    module: types.ModuleType, path: Path, helpers: frozenset[str] = frozenset()
) -> tuple[TritonKernel, ...]:
    """The kernels that stand in ``path``, which became ``module``, in the order of the source."""
    found: dict[int, TritonKernel] = {}
    for name, value in list(vars(module).items()):
        function = jit_function(value)
        if function is None or Path(function.fn.__code__.co_filename).resolve() != path.resolve():
            continue
        found.setdefault(id(function), kernel_of_function(function, path, name, is_helper=name in helpers))
    return tuple(sorted(found.values(), key=lambda kernel: (kernel.line or 0, kernel.name)))


def kernel_of_function(function: Any, path: Path, name: str, *, is_helper: bool = False) -> TritonKernel:
    lines, first = inspect.getsourcelines(function.fn)
    header = next((number for number, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)
    return TritonKernel(path, name, first + header, tuple(_parameters(function)), function, is_helper)


def _parameters(function: Any) -> Iterator[KernelParameter]:
    for parameter in function.params:
        yield KernelParameter(
            parameter.name,
            constant=parameter.is_constexpr,
            has_default=parameter.has_default,
            default=parameter.default if parameter.has_default else None,
        )


# ------------------------------------------------------------------------------------------------- compiling
def inferred_triton_unit(kernel: TritonKernel) -> KernelUnit:
    """The unit of a kernel that nobody wrote a spec for."""
    raise SourceError(
        f"'{kernel.name}' has no launch spec, and its parameters have no types; describe a launch, or record one",
        str(kernel.file),
        kernel.line,
    )


def compile_triton_kernel(kernel: TritonKernel, spec: LaunchSpec) -> KernelUnit:
    """Compile ``kernel`` under ``spec`` to Tile IR bytecode.

    Raises :class:`SpecError` where the spec does not fit the kernel, and :class:`SourceError` at the user's line where
    Triton rejects it or an op has no translation.
    """
    started = time.perf_counter()
    signature, constants, attributes = _specialisation(kernel, spec)
    text = triton_ir(kernel, signature, constants, attributes, dict(spec.options))
    read = read_ttir(text, str(kernel.file))
    module = translate(read, file=str(kernel.file), order=spec.order)
    most = translate(read, file=str(kernel.file), order="most") if spec.order == "triton" else module
    (entry,) = module.entries
    bytecode, most_ordered = encode(module), encode(most)
    passed = replace(spec, arguments=tuple(argument for argument in spec.arguments if argument.name not in constants))
    return KernelUnit(
        file=kernel.file,
        kernel=kernel.name,
        launch=spec,
        bytecode=bytecode,
        symbol=entry.name,
        parameters=fitting_parameters(passed, entry_types(entry), entry.name),
        compile_ms=(time.perf_counter() - started) * 1000,
        line=kernel.line,
        notes=spec.notes,
        most_ordered=b"" if most_ordered == bytecode else most_ordered,
    )


def _specialisation(
    kernel: TritonKernel, spec: LaunchSpec
) -> tuple[dict[str, str], dict[str, Any], dict[tuple[int, ...], list[list[Any]]]]:
    """Signature, constants and attributes, as Triton's launcher would take them from every launch of ``spec``."""
    divisors = spec_divisors(spec)
    described = {argument.name: argument for argument in spec.arguments}
    signature: dict[str, str] = {}
    constants: dict[str, Any] = {}
    attributes: dict[tuple[int, ...], list[list[Any]]] = {}
    for position, parameter in enumerate(kernel.function.params):
        argument = described[parameter.name]
        fixed = _constant(argument, parameter)
        if fixed is not None:
            signature[parameter.name] = "constexpr"
            constants[parameter.name] = fixed[0]
            continue
        signature[parameter.name] = _type_word(kernel, spec, argument)
        name = f"{argument.name}{ADDRESS}" if isinstance(argument, ArrayArgument) else argument.name
        if divisors.get(name, 1) % _DIVISOR == 0 and not getattr(parameter, "do_not_specialize", False):
            attributes[(position,)] = [["tt.divisibility", _DIVISOR]]
    return signature, constants, attributes


def _constant(argument: Argument, parameter: Any) -> tuple[Any] | None:
    """The value that is compiled in; ``None`` if there is none."""
    if isinstance(argument, ConstantArgument):
        return (argument.value,)
    one = isinstance(argument, ScalarArgument) and argument.value is not None and constant_value(argument.value) == 1
    return (1,) if one and not getattr(parameter, "do_not_specialize", False) else None


def _type_word(kernel: TritonKernel, spec: LaunchSpec, argument: Argument) -> str:
    match argument:
        case ArrayArgument(dtype=dtype) if dtype in _TYPES:
            return f"*{_TYPES[dtype]}"
        case ScalarArgument(dtype=dtype) if dtype in _TYPES:
            return _TYPES[dtype]
        case _:
            raise mistake_in(spec, f"args.{argument.name}: Triton has no such argument of '{kernel.name}'")


def triton_ir(
    kernel: TritonKernel,
    signature: Mapping[str, str],
    constants: Mapping[str, Any],
    attributes: Mapping[tuple[int, ...], Sequence[Sequence[Any]]],
    options: Mapping[str, Any] | None = None,
) -> str:
    """The text of Triton IR of one specialisation, with locations.

    Raises :class:`SourceError` at the user's line where Triton rejects the kernel.
    """
    need_triton(str(kernel.file))
    compiler = importlib.import_module("triton.compiler")
    target = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", 90, 32)
    ir = importlib.import_module("triton._C.libtriton").ir
    backend = compiler.make_backend(target)
    source = compiler.ASTSource(kernel.function, dict(signature), constexprs=dict(constants), attrs=dict(attributes))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = backend.parse_options({"enable_fp_fusion": True, **(options or {})})
        try:
            module = source.make_ir(
                target, chosen, backend.get_codegen_implementation(chosen), backend.get_module_map(), context
            )
            stages: dict[str, Any] = {}
            backend.add_stages(stages, chosen, source.language)
            module = stages["ttir"](module, {})
        except Exception as error:  # Triton raises whatever a kernel's own Python raises
            raise _rejected(kernel, error) from error
    text: str = module.str()
    return text


_PLACE: Final = re.compile(r"^at (\d+):(\d+):$", re.MULTILINE)


def _rejected(kernel: TritonKernel, error: BaseException) -> SourceError:
    """Triton's last words, at the line of the innermost frame that it names."""
    while error.__cause__ is not None and type(error).__module__.startswith("triton."):
        error, before = error.__cause__, error
        if not type(error).__module__.startswith("triton."):
            return _error_at(kernel, before, str(error) or type(error).__name__)
    return _error_at(kernel, error, str(error))


def _error_at(kernel: TritonKernel, error: BaseException, text: str) -> SourceError:
    node, source = getattr(error, "node", None), getattr(error, "src", None)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    message = getattr(error, "error_message", None) or (lines[-1] if lines else type(error).__name__)
    line = None
    if node is not None and source is not None and kernel.function.src == source:
        line = kernel.function.starting_line_number + node.lineno - 1
    return SourceError(f"Triton rejects '{kernel.name}': {message}", str(kernel.file), line or kernel.line)
