"""Find ``@triton.jit`` kernels of a Python module, and compile one under a launch spec.

Triton's own frontend makes Triton IR (its stage ``ttir``), without a GPU and without a driver; the rest is ours.

What Triton's launcher establishes of each launch goes into the compilation only where the spec says it of every
launch: a scalar that is 1 is a constant, one that 16 divides, and an address that 16 divides, are marked so.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
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
from ..sources.bytecode_file import bytecode_entries
from ..sources.entry_launch import inferred_unit
from ..sources.fixed_inputs import PythonScan
from ..sources.importing import import_file
from .guessed_launch import configurations, guessed_parameters
from .in_place import with_equal_scalars
from .translate import translate
from .ttir import TritonFunction, TritonModule
from .ttir_reader import declared_parameters, read_ttir, read_ttir_text

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
    """A ``@triton.jit`` function: its name, its parameters, Triton's own object (the innermost one,
    `JITFunction`)."""

    file: Path
    name: str
    line: int | None
    parameters: tuple[KernelParameter, ...]
    function: Any
    decorated_function: object = None
    is_helper: bool = False

    def decorated(self) -> tuple[RawLaunch, ...]:
        return ()

    def configured(self, raw: RawLaunch) -> Iterator[RawLaunch]:
        """One launch for each configuration of ``@triton.autotune``, if ``raw`` asks for them; else ``raw``."""
        if "configs" not in raw.fields:
            yield raw
            return
        if raw.fields["configs"] != "autotune":
            raise raw.error("configs", "must be 'autotune'")
        found = configurations(self.decorated_function)
        if not found:
            raise raw.error("configs", f"'{self.name}' has no @triton.autotune")
        given = raw.fields.get("args", {})
        others = {key: value for key, value in raw.fields.items() if key != "configs"}
        for number, configuration in enumerate(found):
            values: dict[str, object] = dict(configuration.kwargs)
            twice = sorted(values.keys() & given.keys()) if isinstance(given, Mapping) else []
            if twice:
                raise raw.error(f"args.{twice[0]}", "the configurations of @triton.autotune give it a value")
            options = {"num_warps": configuration.num_warps, "num_stages": configuration.num_stages}
            named = "-".join((str(raw.fields.get("name", number)), *(f"{key}={each}" for key, each in values.items())))
            arguments = {**given, **values} if isinstance(given, Mapping) else given
            yield replace(raw, fields={**others, "name": f"{named}-w{options['num_warps']}", "args": arguments,
                                       "options": options})  # fmt: skip


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
        found.setdefault(id(function), kernel_of_function(value, path, name, is_helper=name in helpers))
    return tuple(sorted(found.values(), key=lambda kernel: (kernel.line or 0, kernel.name)))


def kernel_of_function(decorated: object, path: Path, name: str, *, is_helper: bool = False) -> TritonKernel:
    """The kernel that ``decorated`` is, a function of ``@triton.jit`` with whatever stands above it."""
    function = jit_function(decorated)
    lines, first = inspect.getsourcelines(function.fn)
    header = next((number for number, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)
    return TritonKernel(path, name, first + header, tuple(_parameters(function)), function, decorated, is_helper)


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
    """The unit of a kernel that nobody wrote a spec for: types and constants are guessed, sizes come out as clauses."""
    started = time.perf_counter()
    guess = guessed_parameters(kernel.function, kernel.decorated_function)
    signature, constants = {}, dict(guess.constants)
    for parameter in kernel.function.params:
        pointee = guess.pointers.get(parameter.name)
        plain = f"*{_TYPES[pointee]}" if pointee is not None else parameter.annotation_type or "i32"
        signature[parameter.name] = "constexpr" if parameter.is_constexpr else plain
    try:
        text = triton_ir(kernel, signature, constants, {})
    except SourceError as error:
        told = ", ".join(f"{name} = {value}" for name, value in constants.items())
        raise replace(error, message=f"{error.message} (no launch spec: assumed {told or 'no constants'})") from None
    module = translate(read_ttir(text, str(kernel.file)), file=str(kernel.file))
    (entry,) = bytecode_entries(encode(module), kernel.file)
    names = [name for name, kind in signature.items() if kind != "constexpr"]
    unit = inferred_unit(entry, names)
    launch = unit.launch
    fixed = tuple(ConstantArgument(name, value) for name, value in constants.items())
    told = "".join(f"; {name} = {value}" for name, value in constants.items())
    launch = replace(launch, kernel=kernel.name, notes=tuple(f"{note}{told}" for note in launch.notes))
    made = _translated(read_ttir(text, str(kernel.file)), None, kernel.file, launch, started)
    ordered = {argument.name: argument for argument in (*launch.arguments, *fixed)}
    whole = replace(made.launch, arguments=tuple(ordered[name] for name in signature if name in ordered))
    return replace(made, kernel=kernel.name, launch=whole, line=kernel.line, notes=launch.notes)


def compile_triton_kernel(kernel: TritonKernel, spec: LaunchSpec) -> KernelUnit:
    """Compile ``kernel`` under ``spec`` to Tile IR bytecode.

    Raises :class:`SpecError` where the spec does not fit the kernel, and :class:`SourceError` at the user's line where
    Triton rejects it or an op has no translation.
    """
    started = time.perf_counter()
    signature, constants, attributes = _specialisation(kernel, spec)
    text = triton_ir(kernel, signature, constants, attributes, dict(spec.options))
    passed = replace(spec, arguments=tuple(argument for argument in spec.arguments if argument.name not in constants))
    unit = _translated(read_ttir(text, str(kernel.file)), None, kernel.file, passed, started)
    launch = replace(unit.launch, arguments=spec.arguments)
    return replace(unit, kernel=kernel.name, launch=launch, line=kernel.line)


def _translated(module: TritonModule, kernel: str | None, file: Path, spec: LaunchSpec, started: float) -> KernelUnit:
    """The unit of a kernel of ``module`` under a spec that describes the parameters of its IR."""
    names = [argument.name for argument in spec.arguments]
    same = [frozenset(map(names.index, group & set(names))) for group in spec.same_arrays()]
    translated = partial(translate, module, kernel, file=str(file), same=same)
    made = translated(order=spec.order)
    if same and spec.order == "triton":
        spec, equal = with_equal_scalars(spec, made, lambda equal: translated(order="triton", equal=equal))
        made = translated(order="triton", equal=equal)
    most = translated(order="most") if spec.order == "triton" else made
    (entry,) = made.entries
    bytecode, most_ordered = encode(made), encode(most)
    return KernelUnit(
        file=file,
        kernel=entry.name,
        launch=spec,
        bytecode=bytecode,
        symbol=entry.name,
        parameters=fitting_parameters(spec, entry_types(entry), entry.name),
        compile_ms=(time.perf_counter() - started) * 1000,
        line=entry.location.line if entry.location else None,
        notes=spec.notes,
        producer="triton",
        most_ordered=b"" if most_ordered == bytecode else most_ordered,
    )


# ----------------------------------------------------------------------------------------------- Triton IR as a file
@dataclass(frozen=True, slots=True)
class TritonIrKernel:
    """A kernel in a file of Triton IR, as Triton's cache keeps one.

    ``parameters`` is ``None`` where the file does not name them.
    """

    file: Path
    name: str
    line: int | None
    parameters: tuple[KernelParameter, ...] | None
    module: TritonModule


def triton_ir_kernels(path: Path) -> tuple[TritonIrKernel, ...]:
    """The kernels of a ``.ttir`` file; :class:`SourceError` at a line that cannot be read."""
    return kernels_of_ir(read_ttir_text(path), path)


def kernels_of_ir(text: str, path: Path) -> tuple[TritonIrKernel, ...]:
    """The kernels of ``text``, which is named ``path`` in errors."""
    module = read_ttir(text, str(path))
    return tuple(
        TritonIrKernel(
            path,
            function.name,
            function.location.line if function.location else None,
            _named(function, declared_parameters(text)),
            module,
        )
        for function in module.kernels
    )


def _named(function: TritonFunction, declared: Sequence[str]) -> tuple[KernelParameter, ...] | None:
    """Names that are ``declared`` go before printed ones, which may be those of a variable that a parameter became."""
    names = [parameter.name for parameter in function.parameters]
    numbered = [f"arg{number}" for number in range(len(names))]
    if len(declared) == len(names):
        return tuple(map(KernelParameter, declared))
    return None if names == numbered else tuple(map(KernelParameter, names))


def compile_triton_ir(kernel: TritonIrKernel, spec: LaunchSpec) -> KernelUnit:
    """Translate ``kernel`` to Tile IR bytecode under ``spec``."""
    return _translated(kernel.module, kernel.name, kernel.file, spec, time.perf_counter())


def inferred_triton_ir_unit(kernel: TritonIrKernel) -> KernelUnit:
    """The unit of a kernel that nobody wrote a spec for: what it does with its parameters says what they are."""
    made = translate(kernel.module, kernel.name, file=str(kernel.file))
    names = None if kernel.parameters is None else [parameter.name for parameter in kernel.parameters]
    (entry,) = bytecode_entries(encode(made), kernel.file)
    return inferred_unit(entry, names)


# ------------------------------------------------------------------------------------------------ specialisations
def _specialisation(
    kernel: TritonKernel, spec: LaunchSpec
) -> tuple[dict[str, str], dict[str, object], dict[tuple[int, ...], list[list[object]]]]:
    """Signature, constants and attributes, as Triton's launcher would take them from every launch of ``spec``."""
    divisors = spec_divisors(spec)
    described = {argument.name: argument for argument in spec.arguments}
    signature: dict[str, str] = {}
    constants: dict[str, object] = {}
    attributes: dict[tuple[int, ...], list[list[object]]] = {}
    for position, parameter in enumerate(kernel.function.params):
        argument = described[parameter.name]
        fixed = _constant(argument, parameter)
        if fixed is not None:
            signature[parameter.name] = "constexpr"
            constants[parameter.name] = fixed[0]
            continue
        signature[parameter.name] = _type_word(kernel, spec, argument, parameter)
        name = f"{argument.name}{ADDRESS}" if isinstance(argument, ArrayArgument) else argument.name
        if divisors.get(name, 1) % _DIVISOR == 0 and not getattr(parameter, "do_not_specialize", False):
            attributes[(position,)] = [["tt.divisibility", _DIVISOR]]
    return signature, constants, attributes


def _constant(argument: Argument, parameter: Any) -> tuple[object] | None:
    """The value that is compiled in; ``None`` if there is none."""
    if isinstance(argument, ConstantArgument):
        return (_language_type(argument.value),)
    one = isinstance(argument, ScalarArgument) and argument.value is not None and constant_value(argument.value) == 1
    return (1,) if one and not getattr(parameter, "do_not_specialize", False) else None


def _language_type(value: object) -> object:
    """The data type that ``"tl.float16"`` names; any other constant as it is."""
    if not isinstance(value, str) or not value.startswith("tl."):
        return value
    found: object = getattr(importlib.import_module("triton.language"), value.removeprefix("tl."), value)
    return found


def _type_word(kernel: TritonKernel, spec: LaunchSpec, argument: Argument, parameter: Any) -> str:
    """Triton's word for the type of an argument; a scalar has that of the kernel's own annotation, if there is one."""
    match argument:
        case ArrayArgument(dtype=dtype) if dtype in _TYPES:
            return f"*{_TYPES[dtype]}"
        case ScalarArgument(dtype=dtype) if dtype in _TYPES:
            annotated: str = parameter.annotation_type or ""
            return annotated or _TYPES[dtype]
        case _:
            raise mistake_in(spec, f"args.{argument.name}: Triton has no such argument of '{kernel.name}'")


def triton_ir(
    kernel: TritonKernel,
    signature: Mapping[str, str],
    constants: Mapping[str, object],
    attributes: Mapping[tuple[int, ...], Sequence[Sequence[object]]],
    options: Mapping[str, object] | None = None,
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
    with warnings.catch_warnings(), _diagnostics() as told:
        warnings.simplefilter("ignore")
        chosen = backend.parse_options({"enable_fp_fusion": True, **(options or {})})
        try:
            module = source.make_ir(
                target, chosen, backend.get_codegen_implementation(chosen), backend.get_module_map(), context
            )
            stages: dict[str, Callable[[Any, dict[str, object]], Any]] = {}
            backend.add_stages(stages, chosen, source.language)
            module = stages["ttir"](module, {})
        except Exception as error:  # Triton raises whatever a kernel's own Python raises
            raise _of_mlir(kernel, told()) or _rejected(kernel, error) from error
    text: str = module.str()
    return text


@contextmanager
def _diagnostics() -> Iterator[Callable[[], str]]:
    """What MLIR writes to standard error meanwhile, which does not reach it."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)

        def text() -> str:
            file.seek(0)
            return file.read().decode("utf-8", "replace")

        try:
            yield text
        finally:
            os.dup2(kept, 2)
            os.close(kept)


_DIAGNOSTIC: Final = re.compile(r"^(?P<file>[^\n:]+):(?P<line>\d+):\d+: error: (?P<message>.*)$", re.MULTILINE)


def _of_mlir(kernel: TritonKernel, text: str) -> SourceError | None:
    """The first error that MLIR told."""
    match = _DIAGNOSTIC.search(text)
    if match is None:
        return None
    return SourceError(f"Triton rejects '{kernel.name}': {match['message']}", match["file"], int(match["line"]))


def _rejected(kernel: TritonKernel, error: BaseException) -> SourceError:
    """Triton's last words, at the line of the kernel where it was reading: an error in a helper is one at the call."""
    line = None
    innermost = error
    while True:
        node = getattr(error, "node", None)
        if line is None and node is not None and getattr(error, "src", None) == kernel.function.src and kernel.line:
            line = kernel.line + node.lineno - 1
        innermost = error
        if error.__cause__ is None:
            break
        error = error.__cause__
    words = [part.strip() for part in str(getattr(innermost, "error_message", None) or innermost).splitlines()]
    message = next((part for part in reversed(words) if part), type(innermost).__name__)
    return SourceError(f"Triton rejects '{kernel.name}': {message}", str(kernel.file), line or kernel.line)
