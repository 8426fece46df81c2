"""In the sandbox: from a source to bytecode and launches.  This process runs the submission, so nothing it says counts.

What it sends is the screen's reasons, or a list of kernels under launches, each with bytecode or an error.
`prove_job` reads it in a process of its own.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Annotated, Final, TypeAlias

import msgspec

from ...contract.arguments import print_description
from ...contract.launch import INFERRED, KernelParameter, KernelUnit, LaunchSpec
from ...contract.spec import build_launch
from ...contract.spec_files import (
    CONFIGS,
    AutotuneConfiguration,
    ExpandedLaunch,
    RawLaunch,
    SourceSpecs,
    expanded_launches,
    launches_of_text,
    raw_launch,
)
from ...frontend.sources.cutile import CutileKernel, compile_kernel, kernels_of_module
from ...frontend.sources.fixed_inputs import scan_text
from ...frontend.sources.importing import import_text
from ...frontend.sources.infer import infer_unit
from ...frontend.triton.triton_kernels import (
    SpecialisedIr,
    TritonKernel,
    inferred_ir,
    need_triton,
    specialised_ir,
    triton_kernels_of_module,
)
from ...results.codes import TV
from ...system.errors import SpecError, TileVerifyError
from ...system.readings import stand_for
from ..gated import Reason
from ..screen import screen
from .job_messages import (
    DEEPEST,
    LONGEST_NAME,
    MOST_ITEMS,
    DataTypes,
    NotPlain,
    Plain,
    SubmissionRequest,
    heard,
    heard_table,
    plain,
    plain_table,
    text,
    whole,
)
from .job_messages import name as checked_name

Send: TypeAlias = Callable[[bytes], None]

_SPEC: Final = "spec.toml"
_OWN_SPEC: Final = "own_spec.toml"
"""Names of launch specs in messages."""
_LONGEST_MESSAGE: Final = 2000
_TOO_MUCH_MEMORY: Final = "importing or compiling it takes more memory than a submission may have"


def compile_submission(request: SubmissionRequest, source: bytes, send: Send) -> None:
    """Send the screen's reasons, or what was compiled."""

    def stop(id_: str, message: str) -> None:
        send(reasons_bytes([Reason(id_, whole(message))]))
        os._exit(0)

    if request.screen:
        reasons = screen(source)
        if reasons:
            send(reasons_bytes(reasons))
            return
    set_tripwire(stop)
    try:
        items = list(compiled_items(request, source))
    except TileVerifyError as error:
        if isinstance(error.__context__, MemoryError):
            stop("limit-memory", _TOO_MUCH_MEMORY)
        items = [CompiledItem(launch="", failure=_failure(error))]
    except NotPlain as problem:
        stop("launch-value", f"a launch holds what no launch spec can: {problem}")
    except MemoryError:
        stop("limit-memory", _TOO_MUCH_MEMORY)
    except RecursionError:
        stop("limit-recursion", "importing or compiling it recurs without end")
    if not items:
        stop("no-kernel", _no_kernel(request, source))
    send(items_bytes(items))


def _no_kernel(request: SubmissionRequest, source: bytes) -> str:
    scan = scan_text(source.decode("utf-8"), Path(request.file))
    there = ", ".join(f"'{name}'" for name in (*scan.kernels, *scan.triton))
    asked = dict.fromkeys(f"'{raw.kernel}'" for raw in specs_of(request).launches)
    wanted = f" {' or '.join(asked)}, which the launch spec asks for" if asked else ""
    return f"the submission holds no kernel{wanted}{f'; it has {there}' if there else ''}"


def _failure(error: TileVerifyError) -> CompileFailure:
    code = TV.SPEC_ERROR if isinstance(error, SpecError) else TV.SOURCE_ERROR
    message = " ".join(error.message.split())  # a reason is one line
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[:_LONGEST_MESSAGE]} ..."
    if error.file in (_SPEC, _OWN_SPEC):
        return CompileFailure(code, whole(message))  # a line of the spec is none of the source
    return CompileFailure(code, whole(message), error.line, error.column)


def compiled_items(request: SubmissionRequest, source: bytes) -> Iterator[CompiledItem]:
    """Import the source, and compile each of its kernels under each of its launches."""
    path = Path(request.file)
    text = source.decode("utf-8", errors="strict")
    # What cuTile refuses is looked up in the source and in the spec: here no file can be opened, not even these.
    stand_for({request.file: text, _SPEC: request.spec or "", _OWN_SPEC: request.own_spec or ""})
    specs = specs_of(request)
    scan = scan_text(text, path)
    count = 0
    only_kernel, only_launch = request.only or (None, None)
    if scan.triton:
        need_triton(request.file)
    module = import_text(text, path)
    kernels: list[CutileKernel | TritonKernel] = [*kernels_of_module(module, path, scan)]
    if scan.triton:
        kernels += triton_kernels_of_module(module, path, scan.helpers)
    for kernel in sorted(kernels, key=lambda kernel: kernel.line or 0):
        if only_kernel is not None and kernel.name != only_kernel:
            continue
        for item in _launches(kernel, specs, only_launch):
            count += 1
            if count > request.kernels:
                raise NotPlain("there are too many kernels and launches")
            yield item


def specs_of(request: SubmissionRequest) -> SourceSpecs:
    """The launches that are written outside of the source, those of the caller if there are any."""
    if request.spec is not None:
        return SourceSpecs(launches_of_text(request.spec, Path(_SPEC)), given=True)
    if request.own_spec is not None:
        return SourceSpecs(launches_of_text(request.own_spec, Path(_OWN_SPEC)))
    return SourceSpecs(())


def _launches(kernel: CutileKernel | TritonKernel, specs: SourceSpecs, only: str | None) -> Iterator[CompiledItem]:
    is_triton = isinstance(kernel, TritonKernel)
    configurations = kernel.configurations() if isinstance(kernel, TritonKernel) else ()
    try:
        raws = specs.of_kernel((kernel.name,), kernel.decorated())
    except TileVerifyError as error:
        yield _failed(kernel, "", error)
        return
    if not raws and not specs.given and not (isinstance(kernel, TritonKernel) and kernel.is_helper):
        yield _inferred(kernel)
    if configurations:  # whoever launches a tuned kernel may get any of them
        raws = tuple(replace(raw, fields={CONFIGS: "autotune", **raw.fields}) for raw in raws)
    for each in expanded_launches(raws, configurations):
        if only is not None and each.name != only:
            continue
        try:
            if each.problem is not None:
                raise each.problem
            if not is_triton:
                each.raw.refuse_triton_words()
            item = _compiled(kernel, each, build_launch(each.raw, each.name, kernel.parameters))
        except TileVerifyError as error:
            yield _failed(kernel, each.name, error, each.written)
        else:
            yield item


def _failed(
    kernel: CutileKernel | TritonKernel, launch: str, error: TileVerifyError, written: str = ""
) -> CompiledItem:
    return CompiledItem(
        kernel=whole(kernel.name), launch=whole(launch), line=kernel.line, written=whole(written),
        failure=_failure(error),
    )  # fmt: skip


def _inferred(kernel: CutileKernel | TritonKernel) -> CompiledItem:
    started = perf_counter()
    try:
        if isinstance(kernel, TritonKernel):
            launch, ir = inferred_ir(kernel, diagnostics=False)
            unit = _words_of_ir(kernel, launch, ir, None, started)
        else:
            made = infer_unit(kernel)
            launch, unit = made.launch, _words_of_unit(made)
    except TileVerifyError as error:
        return _failed(kernel, INFERRED, error)
    lines = "\n".join(f"{argument.name} = {print_description(argument)}" for argument in launch.arguments)
    return _item(kernel, launch, unit, {"kernel": kernel.name, "args": tomllib.loads(lines)})


def _compiled(kernel: CutileKernel | TritonKernel, expanded: ExpandedLaunch, launch: LaunchSpec) -> CompiledItem:
    started = perf_counter()
    if isinstance(kernel, TritonKernel):
        ir = specialised_ir(kernel, launch, diagnostics=False)
        unit = _words_of_ir(kernel, launch, ir, expanded.configuration, started)
    else:
        unit = _words_of_unit(compile_kernel(kernel, launch))
    return _item(kernel, launch, unit, expanded.raw.fields, expanded.written)


def _item(
    kernel: CutileKernel | TritonKernel,
    launch: LaunchSpec,
    unit: CompiledUnit,
    fields: Mapping[str, object],
    written: str = "",
) -> CompiledItem:
    types = _data_types()
    unit = msgspec.structs.replace(
        unit,
        inferred=launch.inferred,
        fields=dict(plain_table(fields, types)),
        parameters=tuple(parameter_words(parameter, types) for parameter in kernel.parameters),
    )
    name = whole(launch.name)
    return CompiledItem(kernel=whole(kernel.name), launch=name, line=kernel.line, written=whole(written), unit=unit)


def _words_of_unit(unit: KernelUnit) -> CompiledUnit:
    return CompiledUnit(
        notes=tuple(map(whole, unit.notes)), symbol=unit.symbol, bytecode=unit.bytecode, compile_ms=unit.compile_ms
    )


def _words_of_ir(
    kernel: TritonKernel,
    launch: LaunchSpec,
    ir: SpecialisedIr,
    configuration: AutotuneConfiguration | None,
    started: float,
) -> CompiledUnit:
    """The IR as it is: who proves it translates it, so that nobody has to believe which order a translation has."""
    tuned = None if configuration is None else TunedWords(
        dict(plain_table(configuration.values, _data_types())), dict(configuration.options)
    )  # fmt: skip
    return CompiledUnit(
        notes=tuple(map(whole, launch.notes)),
        symbol=kernel.name,
        ir=IrWords(whole(ir.text), ir.passed, tuned),
        compile_ms=(perf_counter() - started) * 1000,
    )


def _data_types() -> DataTypes:
    from cuda.tile import DType

    language = sys.modules.get("triton.language")
    return {DType: "ct"} if language is None else {DType: "ct", language.dtype: "tl"}


def raw_of(fields: Mapping[str, object], file: str) -> RawLaunch:
    """Fields that a submission sent as a launch; raises `SpecError`."""
    return raw_launch(fields, file, None, 0)


# ------------------------------------------------------------------------------------------------------------- compiled
# What the compiler's process sends: reasons why it was stopped, or kernels under launches, each compiled or failed.
#
# That process runs the submission, so it is hostile: every type is checked by who reads, lengths and names here or in
# `prove_job`.  What has another form inside of one kernel stops that kernel alone, so kernels are read when their turn
# comes.


Position: TypeAlias = Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)]
"""A line, a column, or a dimension."""
Axes: TypeAlias = Annotated[tuple[Position, ...], msgspec.Meta(max_length=MOST_ITEMS)]

_HINTS: Final = (None, "int", "bool", "float", "str")
_SCALARS: Final = (None, "i32", "i64")
_INDEX_BITS: Final = (None, 32, 64)


class CompileFailure(msgspec.Struct, frozen=True):
    """Why a kernel has no bytecode."""

    code: str
    message: str
    line: Position | None = None
    column: Position | None = None


class ParameterWords(msgspec.Struct, frozen=True, kw_only=True):
    """A `KernelParameter`.  ``default``: as `plain_values.plain` writes it."""

    name: str
    hint: str | None
    constant: bool
    has_default: bool
    default: object
    scalar_dtype: str | None
    index_bits: int | None
    static_shape: Axes
    static_strides: Axes
    items: Annotated[tuple[ParameterWords, ...], msgspec.Meta(max_length=MOST_ITEMS)] | None
    each: ParameterWords | None


class TunedWords(msgspec.Struct, frozen=True):
    """A `AutotuneConfiguration` of ``@triton.autotune``; values as `plain` writes them."""

    values: dict[str, object]
    options: dict[str, Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]]

    def configuration(self) -> AutotuneConfiguration:
        """Raises `NotPlain` for what no honest process sends."""
        if "num_warps" not in self.options or "num_stages" not in self.options:
            raise NotPlain("a configuration has no options")
        return AutotuneConfiguration(heard_table(self.values), self.options)


class IrWords(msgspec.Struct, frozen=True):
    """A `SpecialisedIr`, and the configuration that it was compiled with."""

    text: str
    passed: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST_ITEMS)]
    tuned: TunedWords | None


class CompiledUnit(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel that was compiled under a launch.  ``fields``: the words of the launch, as `plain_table` writes them.
    ``ir`` stands for the bytecode of a Triton kernel."""

    notes: tuple[str, ...]
    symbol: str
    compile_ms: float
    inferred: bool = False
    fields: dict[str, object] = {}
    parameters: tuple[ParameterWords, ...] = ()
    bytecode: bytes = b""
    ir: IrWords | None = None


class CompiledItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One kernel under one launch: a unit, or why there is none.  ``written``: the launch as it was written, where this
    is one of its configurations."""

    kernel: str = ""
    launch: str
    line: int | None = None
    written: str = ""
    failure: CompileFailure | None = None
    unit: CompiledUnit | None = None


class Claimed(msgspec.Struct, frozen=True, kw_only=True):
    """A `CompiledItem` as it is read: what it has inside is read with `failure_of` and `unit_claimed`."""

    kernel: str = ""
    launch: str
    line: Position | None = None
    written: str = ""
    failure: msgspec.Raw = msgspec.Raw()
    unit: msgspec.Raw = msgspec.Raw()


class Claims(msgspec.Struct, frozen=True):
    """All that the process sent.  ``reasons`` come instead of ``items``."""

    reasons: tuple[Reason, ...] | None = None
    items: tuple[Claimed, ...] | None = None


class _Items(msgspec.Struct, frozen=True):
    items: tuple[CompiledItem, ...]


class _Reasons(msgspec.Struct, frozen=True):
    reasons: tuple[Reason, ...]


# ------------------------------------------------------------------------------------------------- writing
def items_bytes(items: Iterable[CompiledItem]) -> bytes:
    return msgspec.json.encode(_Items(tuple(items)))


def reasons_bytes(reasons: Iterable[Reason]) -> bytes:
    return msgspec.json.encode(_Reasons(tuple(reasons)))


def parameter_words(parameter: KernelParameter, data_types: DataTypes) -> ParameterWords:
    """Raises `NotPlain` for a default that is no constant."""
    return ParameterWords(
        name=parameter.name,
        hint=parameter.hint,
        constant=bool(parameter.constant),
        has_default=bool(parameter.has_default),
        default=plain(parameter.default, data_types) if parameter.has_default else None,
        scalar_dtype=parameter.scalar_dtype,
        index_bits=parameter.index_bits,
        static_shape=tuple(parameter.static_shape),
        static_strides=tuple(parameter.static_strides),
        items=None if parameter.items is None else tuple(parameter_words(item, data_types) for item in parameter.items),
        each=None if parameter.each is None else parameter_words(parameter.each, data_types),
    )


# ------------------------------------------------------------------------------------------------- reading
def claims_of(data: bytes) -> Claims:
    """Raises `NotPlain`, ValueError or RecursionError for anything else."""
    claims = msgspec.json.decode(data, type=Claims)
    for item in claims.items or ():
        if item.kernel:
            checked_name(item.kernel)
        text(item.launch, 200)
        text(item.written, 200)
    return claims


def failure_of(claim: Claimed) -> CompileFailure | None:
    """Raises ValueError for what is none."""
    return msgspec.json.decode(claim.failure, type=CompileFailure | None) if bytes(claim.failure) else None


def unit_claimed(claim: Claimed) -> CompiledUnit:
    """Raises ValueError or RecursionError for what is none."""
    return msgspec.json.decode(claim.unit, type=CompiledUnit)


def parameter_of(words: ParameterWords, depth: int = 0) -> KernelParameter:
    """The inverse of `parameter_words`; raises `NotPlain` for what it never writes."""
    if depth > DEEPEST:
        raise NotPlain("a parameter is no table")
    if words.hint not in _HINTS or words.scalar_dtype not in _SCALARS:
        raise NotPlain("a parameter has an unknown type")
    if words.index_bits not in _INDEX_BITS:
        raise NotPlain("indices have 32 or 64 bits")
    return KernelParameter(
        name=_parameter_name(words.name),
        hint=words.hint,
        constant=words.constant,
        has_default=words.has_default,
        default=_tuples(heard(words.default)),
        scalar_dtype=words.scalar_dtype,
        index_bits=words.index_bits,
        static_shape=words.static_shape,
        static_strides=words.static_strides,
        items=None if words.items is None else tuple(parameter_of(item, depth + 1) for item in words.items),
        each=None if words.each is None else parameter_of(words.each, depth + 1),
    )


def _parameter_name(value: str) -> str:
    """``x``, or ``x[0]`` for an item of a tuple."""
    found = text(value, LONGEST_NAME)
    checked_name(found.replace("[", ".i").replace("]", ""))
    return found


def _tuples(value: Plain) -> object:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


# ------------------------------------------------------------------------------------------------------------- tripwire
# Audit hooks (PEP 578) that end a submission the moment it reaches for the system.
#
# No wall: native code can go around it, and the kernel's filter stands behind.  It is here for the reason: a submission
# that asks for a file, a socket or a process is told so by name, also where it would have swallowed the error.


_FORBIDDEN: Final = {
    "socket": "sandbox-network",
    "urllib": "sandbox-network",
    "ssl": "sandbox-network",
    "http": "sandbox-network",
    "ftplib": "sandbox-network",
    "smtplib": "sandbox-network",
    "subprocess": "sandbox-process",
    "pty": "sandbox-process",
    "signal": "sandbox-process",
    "ctypes": "sandbox-native-code",
    "shutil": "sandbox-files",
    "tempfile": "sandbox-files",
    "glob": "sandbox-files",
    "sqlite3": "sandbox-files",
    "fcntl": "sandbox-files",
    "mmap": "sandbox-files",
    "pickle": "sandbox-code",
    "marshal": "sandbox-code",
    "code": "sandbox-code",
    "gc": "sandbox-introspection",
    "resource": "sandbox-limits",
}
"""First part of an event's name -> reason."""

_PROCESSES: Final = frozenset(
    (
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.kill",
        "os.killpg",
        "os.posix_spawn",
        "os.spawn",
        "os.startfile",
        "os.system",
    )
)
_SILENT: Final = frozenset({"os.putenv", "os.unsetenv", "os.listdir", "os.scandir", "os.add_dll_directory"})
"""Folders are listed by the import system, and there is none to see."""


def set_tripwire(tripped: Callable[[str, str], None]) -> None:
    """From now on the first forbidden event calls ``tripped(reason id, sentence)``, which must not return."""
    sources = frozenset(getattr(module, "__file__", None) for module in list(sys.modules.values()))

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        reason = _reason(event, arguments, sources)
        if reason is not None:
            tripped(*reason)

    sys.addaudithook(hook)


def _reason(event: str, arguments: tuple[object, ...], sources: frozenset[object]) -> tuple[str, str] | None:
    family = event.partition(".")[0]
    if event == "open":
        if isinstance(arguments[0], str) and arguments[0] in sources:
            return None  # for the lines of a traceback; it hears that the file is not there
        return "sandbox-files", f"it tried to open {_quoted(arguments[0])}"
    if event in _PROCESSES:
        return "sandbox-process", f"it called {event}"
    if family == "os" and event not in _SILENT:
        return "sandbox-files", f"it called {event}"
    if family in _FORBIDDEN and event != "gc.get_referents":
        return _FORBIDDEN[family], f"it caused the event {event}"
    return None


def _quoted(path: object) -> str:
    return ascii(path)[:200] if isinstance(path, str | bytes | int) else "a file"
