"""Find kernels under the paths of a command line and make units of them, one at a time.

A target is a ``.py``, ``.cu`` or ``.ttir`` file, a bytecode file, a folder, or one of these files with ``::KERNEL`` or
``::KERNEL::LAUNCH`` behind it.
"""

from __future__ import annotations

import glob
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ...contract.launch import INFERRED, KernelParameter, KernelUnit, LaunchSpec
from ...contract.spec import build_launch
from ...contract.spec_files import AutotuneConfiguration, RawLaunch, SourceSpecs, expanded_launches
from ...system.errors import NoKernelFound, SourceError, TileVerifyError, UsageError
from .bytecode_file import BytecodeEntry, bytecode_entries, entry_unit, is_bytecode, read_bytecode
from .fixed_inputs import PythonScan, scan_python

if TYPE_CHECKING:
    from ..triton.triton_kernels import TritonKernel
    from .cutile import CutileKernel

_SUFFIXES = (".py", ".cu", ".ttir")
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages"})


@dataclass(frozen=True, slots=True)
class SourceFailure:
    """A file, kernel or launch that gives no unit; the others go on.  ``kernel`` and ``launch`` where known."""

    file: Path
    kernel: str | None
    launch: str | None
    error: TileVerifyError


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file that needs no look, because what its kernels come to is known: ``answers``, whatever they are."""

    file: Path
    answers: tuple[Any, ...]


Known: TypeAlias = Callable[[Path], Sequence[Any] | None]
"""What is known of a file; ``None``: nothing."""

Skip: TypeAlias = Callable[[Path], bool]
"""Whether a file or folder that is found in a folder shall be left out; what is named itself never is."""


def nothing(path: Path) -> bool:
    """Skip nothing."""
    return False


@dataclass(frozen=True, slots=True)
class FoundLaunch:
    """A kernel under one launch, found but not compiled; ``launch`` is ``None`` where the spec must be inferred."""

    file: Path
    kernel: str
    launch: LaunchSpec | None
    line: int | None
    compile: Callable[[], KernelUnit]


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A kernel of any kind of source.

    ``alias`` is another name that targets and specs may use; ``parameters`` is ``None`` where only the spec can tell
    their meaning.  ``is_helper``: it is a kernel only where a spec says so.  ``configurations``: of its
    ``@triton.autotune``.
    """

    name: str
    alias: str
    line: int | None
    parameters: tuple[KernelParameter, ...] | None
    decorated: Callable[[], tuple[RawLaunch, ...]]
    compile: Callable[[LaunchSpec], KernelUnit]
    infer: Callable[[], KernelUnit]
    is_triton: bool = False
    is_helper: bool = False
    configurations: tuple[AutotuneConfiguration, ...] = ()


@dataclass(frozen=True, slots=True)
class _Source:
    """What stands in a file: its kernels, the launches written for them, and functions that no import makes.

    ``error``: why there is no more of it.
    """

    kernels: Sequence[_Kernel]
    nested: Mapping[str, int]
    specs: SourceSpecs
    error: TileVerifyError | None = None


@dataclass(frozen=True, slots=True)
class _Target:
    path: Path
    kernel: str | None = None
    launch: str | None = None

    def wants(self, kernel: _Kernel) -> bool:
        return self.kernel in (None, kernel.name, kernel.alias)


def discover(
    targets: Sequence[str], *, spec_file: Path | None = None, skip: Skip = nothing, specs: SourceSpecs | None = None
) -> Iterator[KernelUnit | SourceFailure]:
    """Every kernel under ``targets`` with every launch, compiled when it is asked for, in a fixed order.

    ``spec_file``, or ``specs`` themselves, stand for all that is written beside the kernels.

    Raises :class:`UsageError` at once for a path that does not exist, and :class:`NoKernelFound` at the end when
    there was nothing.
    """
    given = specs if spec_file is None else SourceSpecs.from_file(spec_file)
    found = _all_candidates(targets, given, None, skip)
    return (_compiled(each) for each in found if not isinstance(each, KnownFile))


def discover_kernel(
    kernel: CutileKernel | TritonKernel, specs: SourceSpecs | None = None
) -> Iterator[KernelUnit | SourceFailure]:
    """A kernel at hand, with the launches that are written for it (those of ``specs`` alone, if given) or guessed."""
    from .cutile import CutileKernel

    if specs is None:
        specs = SourceSpecs.beside(kernel.file) if kernel.file.is_file() else SourceSpecs(())
    known = _python_kernel(kernel) if isinstance(kernel, CutileKernel) else _triton_kernel(kernel)
    return map(_compiled, _launches(kernel.file, known, specs, _Target(kernel.file)))


def discover_unless(
    known: Known, targets: Sequence[str], *, spec_file: Path | None = None, skip: Skip = nothing
) -> Iterator[KernelUnit | SourceFailure | KnownFile]:
    """As :func:`discover`, but files that are ``known`` are neither run nor compiled."""
    specs = None if spec_file is None else SourceSpecs.from_file(spec_file)
    found = _all_candidates(targets, specs, known, skip)
    return (each if isinstance(each, KnownFile) else _compiled(each) for each in found)


def candidates(
    targets: Sequence[str], *, spec_file: Path | None = None, skip: Skip = nothing
) -> Iterator[FoundLaunch | SourceFailure]:
    """As :func:`discover`, before compilation; cheap enough to list."""
    specs = None if spec_file is None else SourceSpecs.from_file(spec_file)
    return (each for each in _all_candidates(targets, specs, None, skip) if not isinstance(each, KnownFile))


def _all_candidates(
    targets: Sequence[str], specs: SourceSpecs | None, known: Known | None, skip: Skip
) -> Iterator[FoundLaunch | SourceFailure | KnownFile]:
    if not targets:
        raise UsageError("no path given: name a .py, .cu or bytecode file, a folder, or FILE::KERNEL")
    parsed = [_parse_target(target) for target in targets]
    return _candidates(parsed, specs, known or (lambda path: None), skip)


def _compiled(candidate: FoundLaunch | SourceFailure) -> KernelUnit | SourceFailure:
    if isinstance(candidate, SourceFailure):
        return candidate
    try:
        return candidate.compile()
    except TileVerifyError as error:
        name = candidate.launch.name if candidate.launch else None
        return SourceFailure(candidate.file, candidate.kernel, name, error)


def _parse_target(target: str) -> _Target:
    path, *rest = target.split("::")
    if len(rest) > 2 or not all([path, *rest]):
        raise UsageError(f"'{target}' is not PATH, FILE::KERNEL or FILE::KERNEL::LAUNCH")
    place = Path(path)
    if not place.is_file() and not place.is_dir():
        raise UsageError(f"there is no file or folder '{path}'")
    if rest and place.is_dir():
        raise UsageError(f"'{target}': a kernel is named after a file, not after a folder")
    if place.is_file() and place.suffix not in _SUFFIXES and not is_bytecode(place):
        raise UsageError(f"'{path}' is neither a .py, .cu or .ttir file nor Tile IR bytecode")
    return _Target(place, *rest)


def _candidates(
    targets: Sequence[_Target], specs: SourceSpecs | None, known: Known, skip: Skip
) -> Iterator[FoundLaunch | SourceFailure | KnownFile]:
    seen: set[tuple[Path, str | None, str | None, str | None]] = set()
    kernels: set[str] = set()
    empty: list[NoKernelFound] = []
    complete = all(target.kernel is None for target in targets)
    # Kernels and launches that are named one by one mostly are of one file, which is then read and run once.
    read = lru_cache(maxsize=1)(partial(_source, given=specs))
    for target in targets:
        count = 0
        names: list[str] = []
        for path in source_files(target.path, skip):
            answers = known(path)
            if answers:
                count += 1
                seen.add((path.resolve(), None, None, None))
                yield KnownFile(path, tuple(answers))
                continue
            for found in _file_candidates(path, target, read(path), specs is not None, names):
                count += 1
                key = (path.resolve(), *_identity(found))
                if key not in seen:
                    seen.add(key)
                    yield found
        kernels.update(names)
        if not count:
            empty.append(_nothing_found(target, names))
    if specs is not None and complete:
        for raw, error in specs.strangers(sorted(kernels)):
            yield SourceFailure(Path(raw.file), raw.kernel, None, error)
    if not seen:
        raise empty[0]
    for each in empty:
        yield SourceFailure(Path(each.file or ""), None, None, each)


def files_under(targets: Sequence[str], skip: Skip = nothing) -> tuple[Path, ...]:
    """The files that ``targets`` are searched in, in that order; raises `UsageError` as `discover` does."""
    found = (path for target in targets for path in source_files(_parse_target(target).path, skip))
    return tuple(dict.fromkeys(found))


def _identity(found: FoundLaunch | SourceFailure) -> tuple[str | None, str | None, str | None]:
    """What makes two results of one file the same: kernel, launch, and what is wrong."""
    if isinstance(found, SourceFailure):
        return found.kernel, found.launch, str(found.error)
    return found.kernel, found.launch.name if found.launch else None, None


def _nothing_found(target: _Target, kernels: Sequence[str]) -> NoKernelFound:
    if target.kernel is None:
        return NoKernelFound("no tile kernel found", str(target.path))
    if target.kernel in kernels:
        return NoKernelFound(f"kernel '{target.kernel}' has no launch named '{target.launch}'", str(target.path))
    known = f"; it has {', '.join(sorted(set(kernels)))}" if kernels else ""
    return NoKernelFound(f"there is no kernel '{target.kernel}'{known}", str(target.path))


def source_files(path: Path, skip: Skip = nothing) -> Iterator[Path]:
    """The file, or the sources of a folder and then of the folders in it; a folder that cannot be read comes back."""
    if path.is_file():
        yield path
        return
    folders = []
    try:
        entries = sorted(path.iterdir(), key=lambda each: each.name)
    except OSError:
        yield path
        return
    for entry in entries:
        if entry.name.startswith(".") or skip(entry):
            continue
        if entry.is_dir():
            # A link to a folder could lead in a circle.
            if entry.name not in _SKIPPED_FOLDERS and not entry.is_symlink() and not (entry / "pyvenv.cfg").exists():
                folders.append(entry)
        elif entry.is_file() and (entry.suffix in _SUFFIXES or is_bytecode(entry)):
            yield entry
    for folder in folders:
        yield from source_files(folder, skip)


def _source(path: Path, *, given: SourceSpecs | None) -> _Source:
    """Read and run a file; ``given`` stand for the specs that are written beside it."""
    nested: Mapping[str, int] = {}
    kernels: Sequence[_Kernel] = ()
    specs = given or SourceSpecs(())
    try:
        if path.is_dir():
            raise SourceError("the folder cannot be read", str(path))
        if path.suffix == ".py":
            scan = scan_python(path)
            nested = scan.nested
            kernels = _python_kernels(path, scan)
        elif path.suffix == ".cu":
            kernels = _tile_cpp_kernels(path)
        elif path.suffix == ".ttir":
            kernels = _triton_ir_kernels(path)
        else:
            kernels = _entry_kernels(bytecode_entries(read_bytecode(path), path))
        if kernels and given is None:
            specs = SourceSpecs.beside(path)
    except TileVerifyError as error:
        return _Source(kernels, nested, specs, error)
    return _Source(kernels, nested, specs)


def _file_candidates(
    path: Path, target: _Target, source: _Source, given: bool, names: list[str]
) -> Iterator[FoundLaunch | SourceFailure]:
    """The candidates of one file; ``names`` receives all its kernels, also those that the target does not want."""
    yield from _nested(path, source.nested, target, names)
    names.extend(name for kernel in source.kernels for name in dict.fromkeys((kernel.name, kernel.alias)))
    if source.error is not None:
        yield SourceFailure(path, None, None, source.error)
        return
    if source.kernels and not given and target.kernel is None and not _shares_spec(path):
        for raw, error in source.specs.strangers(names):
            yield SourceFailure(path, raw.kernel, None, error)
    for kernel in source.kernels:
        if target.wants(kernel):
            yield from _launches(path, kernel, source.specs, target)


def _launches(
    path: Path, kernel: _Kernel, specs: SourceSpecs, target: _Target
) -> Iterator[FoundLaunch | SourceFailure]:
    try:
        launches = specs.of_kernel((kernel.name, kernel.alias), kernel.decorated())
    except TileVerifyError as error:
        yield SourceFailure(path, kernel.name, None, error)
        return
    if not launches and target.launch in (None, INFERRED) and not (kernel.is_helper and target.kernel is None):
        yield FoundLaunch(path, kernel.name, None, kernel.line, kernel.infer)
    for each in expanded_launches(launches, kernel.configurations):
        if target.launch not in (None, each.name):
            continue
        try:
            if not kernel.is_triton:
                each.raw.refuse_triton_words()
            if each.problem is not None:
                raise each.problem
            spec = build_launch(each.raw, each.name, kernel.parameters)
        except TileVerifyError as error:
            yield SourceFailure(path, kernel.name, each.name, error)
        else:
            yield FoundLaunch(path, kernel.name, spec, kernel.line, partial(kernel.compile, spec))


def _nested(path: Path, nested: Mapping[str, int], target: _Target, names: list[str]) -> Iterator[SourceFailure]:
    for name, line in nested.items():
        names.append(name)
        if target.kernel is None or target.kernel in (name, name.rpartition(".")[2]):
            problem = f"the kernel '{name}' exists only while the function around it runs; move it to module level"
            yield SourceFailure(path, name, None, SourceError(problem, str(path), line))


def _shares_spec(path: Path) -> bool:
    """Whether another source, such as ``matmul.cu`` beside ``matmul.py``, reads the same spec file."""
    return any(
        other != path and (other.suffix in _SUFFIXES or is_bytecode(other))
        for other in path.parent.glob(glob.escape(path.stem) + ".*")
        if other.stem == path.stem and other.is_file()
    )


# ------------------------------------------------------------------------------------ kernels of a file
def _python_kernels(path: Path, scan: PythonScan) -> list[_Kernel]:
    """The kernels of both kinds that a file holds; it is run once."""
    kernels: list[_Kernel] = []
    if scan.may_hold_kernels:
        from .cutile import kernels_of_file

        kernels += [_python_kernel(kernel) for kernel in kernels_of_file(path, scan)]
    if scan.triton or scan.calls_inductor:
        from ..triton.triton_kernels import triton_kernels_of_file

        kernels += [_triton_kernel(kernel) for kernel in triton_kernels_of_file(path, scan)]
    return sorted(kernels, key=lambda kernel: kernel.line or 0)


def _triton_kernel(kernel: TritonKernel) -> _Kernel:
    from ..triton.triton_kernels import compile_triton_kernel, inferred_triton_unit

    return _Kernel(
        name=kernel.name,
        alias=kernel.name,
        line=kernel.line,
        parameters=kernel.parameters,
        decorated=kernel.decorated,
        compile=partial(compile_triton_kernel, kernel),
        infer=partial(inferred_triton_unit, kernel),
        is_triton=True,
        is_helper=kernel.is_helper,
        configurations=kernel.configurations(),
    )


def _triton_ir_kernels(path: Path) -> list[_Kernel]:
    """The kernels of a file that Triton's cache keeps: its IR, as text."""
    from ..triton.triton_kernels import compile_triton_ir, inferred_triton_ir_unit, triton_ir_kernels

    return [
        _Kernel(
            name=kernel.name,
            alias=kernel.name,
            line=kernel.line,
            parameters=kernel.parameters,
            decorated=tuple,
            compile=partial(compile_triton_ir, kernel),
            infer=partial(inferred_triton_ir_unit, kernel),
            is_triton=True,
        )
        for kernel in triton_ir_kernels(path)
    ]


def _python_kernel(kernel: CutileKernel) -> _Kernel:
    from .cutile import compile_kernel
    from .infer import infer_unit

    return _Kernel(
        name=kernel.name,
        alias=kernel.name,
        line=kernel.line,
        parameters=kernel.parameters,
        decorated=kernel.decorated,
        compile=partial(compile_kernel, kernel),
        infer=partial(infer_unit, kernel),
    )


def _tile_cpp_kernels(path: Path) -> list[_Kernel]:
    from .bytecode_file import compile_tile_cpp, holds_tile_code

    if not holds_tile_code(path):
        return []
    started = time.perf_counter()
    data = compile_tile_cpp(path)
    compile_ms = (time.perf_counter() - started) * 1000
    return _entry_kernels(bytecode_entries(data, path, plain_names=True, compile_ms=compile_ms))


def _entry_kernels(entries: Iterable[BytecodeEntry]) -> list[_Kernel]:
    from .entry_launch import inferred_unit

    return [
        _Kernel(
            name=entry.name,
            alias=entry.alias,
            line=entry.line,
            parameters=None,
            decorated=tuple,
            compile=partial(entry_unit, entry),
            infer=partial(inferred_unit, entry),
        )
        for entry in entries
    ]
