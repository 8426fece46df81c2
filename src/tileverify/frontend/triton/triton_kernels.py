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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from ...contract.expressions import constant_value
from ...contract.launch import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    DescriptorBlock,
    KernelParameter,
    KernelUnit,
    LaunchSpec,
    ListArgument,
    ScalarArgument,
)
from ...contract.scope import ADDRESS
from ...contract.spec_files import AutotuneConfiguration, RawLaunch, launches_on
from ...contract.spec_text import mistake_in
from ...system.errors import SourceError
from ..bytecode.encoder import encode
from ..bytecode.model import Module
from ..sources.abi import entry_types, fitting_parameters, spec_divisors
from ..sources.bytecode_file import bytecode_entries
from ..sources.entry_launch import inferred_unit
from ..sources.fixed_inputs import PythonScan
from ..sources.importing import import_file
from .guessed_launch import GuessedParameters, configurations, guessed_parameters
from .heuristics import DEFAULTS, heuristic_notes
from .host_descriptors import described_parameters, entry_names, passed_descriptors
from .in_place import with_equal_scalars
from .inductor import calling_code, forget_the_driver, is_inductor, speaks_of_inductor
from .translate import MOST_THREADS, SharedArrays, translate
from .ttir import TritonFunction, TritonModule
from .ttir_reader import declared_parameters, read_ttir, read_ttir_text
from .ttir_uses import only_as_floats

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
    launches: tuple[RawLaunch, ...] = ()

    def decorated(self) -> tuple[RawLaunch, ...]:
        """The launches that the file itself makes, or that ``@tileverify.launch`` wrote, wherever it stands
        among the decorators."""
        return (*self.launches, *launches_on(self.name, self.file, *_layers(self.decorated_function)))

    def configurations(self) -> tuple[AutotuneConfiguration, ...]:
        """Those of ``@triton.autotune``, if it stands above the kernel."""
        return tuple(
            AutotuneConfiguration(dict(each.kwargs), {"num_warps": each.num_warps, "num_stages": each.num_stages})
            for each in configurations(self.decorated_function)
        )


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


def _layers(decorated: object) -> Iterator[object]:
    """What stands in the module under a kernel's name, and what that is made of, down to the Python function."""
    while decorated is not None:
        yield decorated
        decorated = getattr(decorated, "fn", None) if type(decorated).__module__.startswith("triton.") else None


def jit_function(value: object) -> Any:
    """Triton's `JITFunction` under ``@triton.autotune`` and ``@triton.heuristics``; ``None`` if there is none."""
    jit = sys.modules.get("triton.runtime.jit")
    while jit is not None and value is not None:
        if isinstance(value, jit.JITFunction):
            return value
        inside = type(value).__module__.startswith("triton.") or is_inductor(value)
        value = getattr(value, "fn", None) if inside else None
    return None


def triton_kernels_of_file(path: Path, scan: PythonScan) -> tuple[TritonKernel, ...]:
    """Import ``path`` and return the kernels that stand in it, in the order of the source.

    Raises :class:`SourceError` where `triton` is not installed or the import fails.
    """
    need_triton(str(path))
    code = calling_code(path) if scan.calls_inductor else None
    if code is not None:
        module = code.module()
        made = {name: value for name, value in vars(module).items() if is_inductor(value)}
        launches = code.launches(made)
        kernels = triton_kernels_of_module(module, path)
        return tuple(replace(kernel, launches=tuple(launches.get(kernel.name, ()))) for kernel in kernels)
    if speaks_of_inductor(path):
        forget_the_driver(path)
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


def triton_kernel_at_hand(value: object) -> TritonKernel | None:
    """The kernel that ``value`` of a running program is, as if its file had been read; ``None`` if it is none."""
    if (function := jit_function(value)) is None:
        return None
    code = function.fn.__code__
    return kernel_of_function(value, Path(code.co_filename), code.co_name)


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
    launch, ir = inferred_ir(kernel)
    return unit_of_ir(ir, kernel.name, kernel.file, launch, kernel.line, started)


def inferred_ir(kernel: TritonKernel, *, diagnostics: bool = True) -> tuple[LaunchSpec, SpecialisedIr]:
    """The launch that is guessed for ``kernel``, and its IR under it; as `specialised_ir`."""
    guess = guessed_parameters(kernel.function, kernel.decorated_function)
    signature, constants, text = _compiled_guess(kernel, guess, diagnostics=diagnostics)
    module = read_ttir(text, str(kernel.file))
    (entry,) = bytecode_entries(encode(translate(module, file=str(kernel.file))), kernel.file)
    names = [name for name, kind in signature.items() if kind != "constexpr"]
    launch = inferred_unit(entry, *entry_names(module.kernels[0], names)).launch
    fixed = tuple(ConstantArgument(name, value) for name, value in constants.items())
    told = "".join(f"; {name} = {value}" for name, value in constants.items())
    ordered = {argument.name: argument for argument in (*launch.arguments, *fixed)}
    whole = replace(
        launch,
        kernel=kernel.name,
        notes=tuple(f"{note}{told}" for note in launch.notes),
        arguments=tuple(ordered[name] for name in signature if name in ordered),
    )
    return whole, SpecialisedIr(text, tuple(names))


def _compiled_guess(
    kernel: TritonKernel, guess: GuessedParameters, *, diagnostics: bool
) -> tuple[dict[str, str], dict[str, object], str]:
    """The signature, the constants and the IR, with the first element type for floats that Triton accepts: a product
    wants operands of one type, and bits are those of integers."""
    constants = dict(guess.constants)
    first: SourceError | None = None
    for element in ("f32", "f16", "i32"):
        signature = _signature(kernel, guess, element)
        try:
            text = triton_ir(kernel, signature, constants, {}, diagnostics=diagnostics)
            told = {each.name for each in kernel.function.params if each.annotation_type} | guess.words.keys()
            floats = [name for name in only_as_floats(read_ttir(text, str(kernel.file))) if name not in told]
            with suppress(SourceError):
                typed = signature | dict.fromkeys(floats, "fp32")
                if floats:
                    return typed, constants, triton_ir(kernel, typed, constants, {}, diagnostics=diagnostics)
            return signature, constants, text
        except SourceError as error:
            first = first or error
        if "f32" not in guess.pointers.values():
            break
    assert first is not None
    blocks = {f"{name} in blocks of": list(block) for name, block in guess.descriptors.items()}
    assumed = ", ".join(
        (*(f"{name} {block}" for name, block in blocks.items()), *(f"{n} = {v}" for n, v in constants.items()))
    )
    raise replace(first, message=f"{first.message} (no launch spec: assumed {assumed or 'no constants'})") from None


def _signature(kernel: TritonKernel, guess: GuessedParameters, floats: str) -> dict[str, str]:
    signature = {}
    for parameter in kernel.function.params:
        pointee, block = guess.pointers.get(parameter.name), guess.descriptors.get(parameter.name)
        element = floats if pointee == "f32" else pointee
        plain = f"*{_TYPES[element]}" if element is not None else parameter.annotation_type or "i32"
        if block is not None:
            plain = f"tensordesc<fp32[{', '.join(map(str, block))}]>"
        known = guess.words.get(parameter.name, plain)
        signature[parameter.name] = "constexpr" if parameter.is_constexpr else known
    return signature


@dataclass(frozen=True, slots=True)
class SpecialisedIr:
    """``text``: Triton IR of a kernel under a launch; ``passed``: the arguments that are left in it, in their order."""

    text: str
    passed: tuple[str, ...]


def compile_triton_kernel(kernel: TritonKernel, spec: LaunchSpec) -> KernelUnit:
    """Compile ``kernel`` under ``spec`` to Tile IR bytecode.

    Raises :class:`SpecError` where the spec does not fit the kernel, and :class:`SourceError` at the user's line where
    Triton rejects it or an op has no translation.
    """
    started = time.perf_counter()
    spec = replace(spec, notes=(*spec.notes, *heuristic_notes(spec, kernel.decorated_function)))
    return unit_of_ir(specialised_ir(kernel, spec), kernel.name, kernel.file, spec, kernel.line, started)


def specialised_ir(kernel: TritonKernel, spec: LaunchSpec, *, diagnostics: bool = True) -> SpecialisedIr:
    """The IR of ``kernel`` under ``spec``; raises as `compile_triton_kernel` does.

    ``diagnostics``: tell what MLIR writes, for which a file and a descriptor are needed.
    """
    signature, constants, attributes = _specialisation(kernel, spec)
    text = triton_ir(kernel, signature, constants, attributes, dict(spec.options), diagnostics=diagnostics)
    return SpecialisedIr(text, tuple(name for name in signature if name not in constants))


def unit_of_ir(
    ir: SpecialisedIr, kernel: str, file: Path, spec: LaunchSpec, line: int | None, started: float
) -> KernelUnit:
    """The unit of ``kernel`` with this IR under ``spec``; ``started``: when its compilation began, in seconds.

    Nothing of ``ir`` is trusted: an argument that a launch passes is missing in it only where its value is fixed.
    Raises :class:`SpecError` where the two do not fit, :class:`SourceError` where an op has no translation.
    """
    passed = [argument for argument in spec.arguments if argument.name in ir.passed]
    for argument in spec.arguments:
        if argument.name not in ir.passed and not _is_fixed(argument):
            raise mistake_in(spec, f"args.{argument.name}: the IR of '{kernel}' does not take it")
    described = replace(spec, arguments=tuple(passed))
    unit = _translated(read_ttir(ir.text, str(file)), None, file, described, started, _threads(spec))
    compiled_in = tuple(
        ConstantArgument(argument.name, 1) if _is_one(argument) and argument.name not in ir.passed else argument
        for argument in spec.arguments
    )
    return replace(unit, kernel=kernel, launch=replace(unit.launch, arguments=compiled_in), line=line)


def _is_fixed(argument: Argument) -> bool:
    return isinstance(argument, ConstantArgument) or _is_one(argument)


def _is_one(argument: Argument) -> bool:
    return isinstance(argument, ScalarArgument) and argument.value is not None and constant_value(argument.value) == 1


def _threads(spec: LaunchSpec) -> int:
    """Of a program of a kernel that is compiled under ``spec``."""
    options: dict[str, int] = {**DEFAULTS, **dict(spec.options)}
    return 32 * options["num_warps"] * options["num_ctas"]


def _translated(
    module: TritonModule,
    kernel: str | None,
    file: Path,
    spec: LaunchSpec,
    started: float,
    threads: int = MOST_THREADS,
) -> KernelUnit:
    """The unit of a kernel of ``module`` under a spec that describes the parameters of its IR."""
    shared, passed = _shared_arrays(spec), passed_descriptors(module, kernel, spec)
    translated = partial(translate, module, kernel, file=str(file), shared=shared, descriptors=passed, threads=threads)
    made = translated(order=spec.order)
    if shared.same and spec.order == "triton":
        spec, equal = with_equal_scalars(spec, made, lambda equal: translated(order="triton", equal=equal))
        made = translated(order="triton", equal=equal)
    (entry,) = made.entries
    return KernelUnit(
        file=file,
        kernel=entry.name,
        launch=spec,
        bytecode=encode(made),
        symbol=entry.name,
        parameters=fitting_parameters(spec, entry_types(entry), entry.name),
        compile_ms=(time.perf_counter() - started) * 1000,
        line=entry.location.line if entry.location else None,
        notes=spec.notes,
        producer="triton",
        most_ordered=partial(_encoded, partial(translated, order="most")) if spec.order == "triton" else None,
    )


def _encoded(translated: Callable[[], Module]) -> bytes:
    return encode(translated())


def _shared_arrays(spec: LaunchSpec) -> SharedArrays:
    """The groups of ``spec`` by the positions of its arguments."""
    names = [argument.name for argument in spec.arguments]
    places = {name: position for position, name in enumerate(names)}

    def positions(groups: Iterable[frozenset[str]]) -> tuple[frozenset[int], ...]:
        found = (frozenset(places[name] for name in group if name in places) for group in groups)
        return tuple(group for group in found if len(group) > 1)

    return SharedArrays(positions(spec.sharing()), positions(spec.same_arrays()))


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
    names = [parameter.name for parameter in described_parameters(function)]
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
    function = next(each for each in kernel.module.kernels if each.name == kernel.name)
    names = [parameter.name for parameter in kernel.parameters or ()]
    if kernel.parameters is None:
        names = [f"arg{number}" for number, _ in enumerate(described_parameters(function))]
    (entry,) = bytecode_entries(encode(made), kernel.file)
    return inferred_unit(entry, *entry_names(function, names))


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
        if isinstance(argument, ArrayArgument) and argument.descriptor is not None:
            continue  # Triton's launcher tells the compiler nothing more of it
        name = f"{argument.name}{ADDRESS}" if isinstance(argument, ArrayArgument) else argument.name
        if divisors.get(name, 1) % _DIVISOR == 0 and not getattr(parameter, "do_not_specialize", False):
            attributes[(position,)] = [["tt.divisibility", _DIVISOR]]
    return signature, constants, attributes


def _constant(argument: Argument, parameter: Any) -> tuple[object] | None:
    """The value that is compiled in; ``None`` if there is none."""
    if isinstance(argument, ConstantArgument):
        return (_language_type(argument.value),)
    return (1,) if _is_one(argument) and not getattr(parameter, "do_not_specialize", False) else None


def _language_type(value: object) -> object:
    """The data type that ``"tl.float16"`` names; any other constant as it is."""
    if not isinstance(value, str) or not value.startswith("tl."):
        return value
    found: object = getattr(importlib.import_module("triton.language"), value.removeprefix("tl."), value)
    return found


def _type_word(kernel: TritonKernel, spec: LaunchSpec, argument: Argument, parameter: Any) -> str:
    """Triton's word for the type of an argument; a scalar has that of the kernel's own annotation, if there is one."""
    match argument:
        case ArrayArgument(dtype=dtype, descriptor=DescriptorBlock(block=block)) if dtype in _TYPES:
            return f"tensordesc<{_TYPES[dtype]}[{', '.join(map(str, block))}]>"
        case ArrayArgument(dtype=dtype) if dtype in _TYPES:
            return f"*{_TYPES[dtype]}"
        case ListArgument(addresses=True):
            return "*i64"
        case ListArgument():
            raise mistake_in(spec, f"args.{argument.name}: Triton has no lists; describe what it gets by 'addresses'")
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
    *,
    diagnostics: bool = True,
) -> str:
    """The text of Triton IR of one specialisation, with locations.  ``diagnostics``: as in `specialised_ir`.

    Raises :class:`SourceError` at the user's line where Triton rejects the kernel.
    """
    need_triton(str(kernel.file))
    compiler = importlib.import_module("triton.compiler")
    target = _target()
    backend = compiler.make_backend(target)
    source = compiler.ASTSource(kernel.function, dict(signature), constexprs=dict(constants), attrs=dict(attributes))
    context = _spare.pop() if _spare else _context(backend)
    with warnings.catch_warnings(), _diagnostics() if diagnostics else nullcontext(str) as told:
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


_spare: list[Any] = []


def keep_spare_ir_context() -> None:
    """Make an unused context for the first kernel that a process forked from now on compiles: it takes 6 ms."""
    compiler = importlib.import_module("triton.compiler")
    _spare.append(_context(compiler.make_backend(_target())))


def _target() -> Any:
    return importlib.import_module("triton.backends.compiler").GPUTarget("cuda", 90, 32)


def _context(backend: Any) -> Any:
    ir = importlib.import_module("triton._C.libtriton").ir
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    return context


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


_RECURSION: Final = re.compile(r"KeyError\('(?:\w+\.)*(\w+?)__\w*'\)")
"""What Triton says of a call of a function that it is compiling."""


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
    if recursion := _RECURSION.fullmatch(message):
        message = f"'{recursion[1]}' calls itself, and Triton compiles no recursion"
    return SourceError(f"Triton rejects '{kernel.name}': {message}", str(kernel.file), line or kernel.line)
