"""In the sandbox: from a source to bytecode and launches.  This process runs the submission, so nothing it says counts.

What it sends is the screen's reasons, or a list of kernels under launches, each with bytecode or an error.
`prove_job` reads it in a process of its own.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from ...contract.descriptions import print_description
from ...contract.gather import SourceSpecs, named_launches
from ...contract.launch import INFERRED, KernelUnit
from ...contract.spec import build_launch
from ...contract.spec_files import RawLaunch, launches_of_text, raw_launch
from ...frontend.sources.cutile import CutileKernel, compile_kernel, kernels_of_module
from ...frontend.sources.importing import import_text
from ...frontend.sources.infer import infer_unit
from ...frontend.sources.python_scan import scan_text
from ...results.codes import TV
from ...system.errors import SpecError, TileVerifyError
from ...system.readings import stand_for
from ..gated import Reason
from ..sandbox.tripwire import set_tripwire
from ..screen.plain_values import NotPlain, plain_table, whole
from ..screen.screen import screen
from .compiled import CompiledItem, CompiledUnit, CompileFailure, items_bytes, parameter_words, reasons_bytes
from .requests import SubmissionRequest

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
        stop("no-kernel", "the submission holds no kernel")
    send(items_bytes(items))


def _failure(error: TileVerifyError) -> CompileFailure:
    code = TV.SPEC_ERROR if isinstance(error, SpecError) else TV.SOURCE_ERROR
    message = " ".join(error.message.split())  # a reason is one line
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[:_LONGEST_MESSAGE]} ..."
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
    for kernel in kernels_of_module(import_text(text, path), path, scan):
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


def _launches(kernel: CutileKernel, specs: SourceSpecs, only: str | None) -> Iterator[CompiledItem]:
    try:
        raws = specs.of_kernel((kernel.name,), kernel.decorated())
    except TileVerifyError as error:
        yield _failed(kernel, "", error)
        return
    if not raws and not specs.given:
        yield _inferred(kernel)
    for name, raw, twice in named_launches(raws):
        if only is not None and name != only:
            continue
        try:
            if twice is not None:
                raise twice
            unit = compile_kernel(kernel, build_launch(raw, name, kernel.parameters))
        except TileVerifyError as error:
            yield _failed(kernel, name, error)
        else:
            yield _compiled(kernel, unit, raw.fields)


def _failed(kernel: CutileKernel, launch: str, error: TileVerifyError) -> CompiledItem:
    return CompiledItem(kernel=whole(kernel.name), launch=whole(launch), line=kernel.line, failure=_failure(error))


def _inferred(kernel: CutileKernel) -> CompiledItem:
    try:
        unit = infer_unit(kernel)
    except TileVerifyError as error:
        return _failed(kernel, INFERRED, error)
    lines = "\n".join(f"{argument.name} = {print_description(argument)}" for argument in unit.launch.arguments)
    return _compiled(kernel, unit, {"kernel": kernel.name, "args": tomllib.loads(lines)})


def _compiled(kernel: CutileKernel, unit: KernelUnit, fields: Mapping[str, object]) -> CompiledItem:
    from cuda.tile import DType

    compiled = CompiledUnit(
        inferred=unit.launch.inferred,
        notes=tuple(map(whole, unit.notes)),
        symbol=unit.symbol,
        fields=dict(plain_table(fields, DType)),
        parameters=tuple(parameter_words(parameter, DType) for parameter in kernel.parameters),
        bytecode=unit.bytecode,
        compile_ms=unit.compile_ms,
    )
    return CompiledItem(kernel=whole(kernel.name), launch=whole(unit.launch.name), line=kernel.line, unit=compiled)


def raw_of(fields: Mapping[str, object], file: str) -> RawLaunch:
    """Fields that a submission sent as a launch; raises `SpecError`."""
    return raw_launch(fields, file, None, 0)
