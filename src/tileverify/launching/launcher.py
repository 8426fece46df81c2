"""`tileverify.launch`: a launch is covered by a proof, or it is not made; and programs whose launches all are."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib.util
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from types import CellType, FrameType, FunctionType, ModuleType, TracebackType
from typing import Final, NoReturn, Unpack

from ..backend.assembler import Assembled, Assembler, CodeDiffers, find_assembler
from ..backend.compiled.cubin_look import ProvedEntry, looked, refuse_differences
from ..backend.gpu import driver
from ..backend.gpu.loaded import GpuKernel, Plan
from ..backend.guard import LaunchRefused
from ..backend.guard.arguments import Grid, Value
from ..contract.launch import KernelUnit, LaunchSpec
from ..hook.described_launch import Described
from ..hook.foreign import AfterImport, JitSignature
from ..hook.launch_hooks import numpy_as_cuda
from ..hook.triton_launches import TritonHooks
from ..pipeline import CheckOptions
from ..pipeline.verdict_cache import default_folder
from ..system.atomic_file import is_private, read_private, write_private
from ..system.errors import UsageError
from ..system.printable import display_path
from . import bundled, calls, on_cpu
from .bundle.manifest import parameter_types
from .bundled import BundledKernel
from .calls import Kernel, device_of, use_of
from .contents import Contents, contents_of
from .launch_cache import Planned, Remembered, never
from .launch_types import Arguments, GivenGrid, GivenOptions, Key, LaunchedKernel, LaunchOptions, Stream, options_of
from .on_cpu import HOST, HostPlan
from .proofs import BrokenFact, LaunchProof, Request, Specialisation, admitted
from .triton_guard import TritonGuard


@dataclass
class Launcher:
    """All kernels that a process launches, and what was proved of them; threads may share it."""

    options: CheckOptions = field(default_factory=lambda: CheckOptions(cache=default_folder()))
    _specialisations: dict[Key, Specialisation] = field(default_factory=dict)
    _kernels: weakref.WeakKeyDictionary[object, Kernel] = field(default_factory=weakref.WeakKeyDictionary)
    _loaded: dict[tuple[int, int], GpuKernel] = field(default_factory=dict)
    _remembered: weakref.WeakKeyDictionary[object, Remembered] = field(default_factory=weakref.WeakKeyDictionary)
    _early: weakref.WeakKeyDictionary[object, Remembered] = field(default_factory=weakref.WeakKeyDictionary)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def launch(
        self, stream: Stream, grid: GivenGrid, kernel: object, arguments: Arguments, **options: Unpack[GivenOptions]
    ) -> None:
        """Verify and run.

        ``kernel``: of cuda.tile, or a `BundledKernel`.  ``grid``: as cuda.tile takes it, or ``None`` for the one that
        covers the arrays, where the contract says which that is.  ``options``: fields of `LaunchOptions`.

        Raises `LaunchRefused` (TV501, TV502), `UsageError` for arguments that make no launch, and errors of the
        compiler at the user's line.
        """
        again = never if options else getattr(kernel, "tileverify_again", never)
        if not again(stream, grid, arguments):
            self.look_and_launch(stream, grid, kernel, arguments, **options)

    def look_and_launch(
        self, stream: Stream, grid: GivenGrid, kernel: object, arguments: Arguments, **options: Unpack[GivenOptions]
    ) -> None:
        """`launch` for what the kernel's ``tileverify_again`` did not make, which it gets with its first launch."""
        if isinstance(kernel, BundledKernel):
            kernel.look_and_launch(stream, grid, arguments, **options)
            return
        early = options_of(options).programmatic_dependent_launch
        launches = self._early if early else self._remembered
        remembered = launches.get(kernel)
        if remembered is not None and remembered.made(stream, grid, arguments, untried=early):
            return
        remembered = launches.setdefault(kernel, Remembered())
        try:
            remembered.first(
                stream, grid, arguments, self.planned(stream, grid, kernel, arguments, looked=False, **options)
            )
        except BrokenFact:  # another proof, or none
            remembered.first(stream, grid, arguments, self.planned(stream, grid, kernel, arguments, **options))
        if not early:
            self._kernel(kernel).object.tileverify_again = remembered.again

    def planned(
        self,
        stream: Stream,
        grid: GivenGrid,
        kernel: object,
        arguments: Arguments,
        *,
        looked: bool = True,
        **options: Unpack[GivenOptions],
    ) -> Planned:
        """A launch that is verified and ready to be made.  What it raises is what `launch` raises.

        ``looked``: at contents, too; else whoever makes it has to (`Planned.look`).
        """
        if isinstance(kernel, BundledKernel):
            return kernel.planned(stream, grid, arguments, looked=looked, **options)
        asked = self.asked(stream, kernel, arguments, **options)
        known, named, device = asked.kernel, asked.named, asked.device
        specialisation = self._specialisation(asked)

        def request(axes: Grid | None) -> Request:
            @cache
            def unit() -> KernelUnit:
                return replace(specialisation.unit, launch=asked.spec(axes))

            return Request(named, axes, asked.contents, asked.said.vouch, unit)

        axes = specialisation.covering_grid(request(None), self.options) if grid is None else calls.grid_of(grid)
        wanted = request(axes)
        proof = admitted(known, specialisation, wanted, self.options, looked=looked)
        look = None if proof is None else proof.look(wanted)
        lists = dict(calls.lists_of(known.parameters, asked.descriptions))
        if proof is not None and proof.guard is not None:
            named = dict(zip(named, proof.guard.passed(tuple(named.values())), strict=True))
        touched = specialisation.touched
        if proof is None:  # nobody showed that it stays within its arrays' elements
            touched = touched.anywhere()
        plan: Plan | HostPlan
        if device is None:
            on_cpu.refuse_read_only(known.name, named, lists, touched.written)
            unit = wanted.unit()
            run = partial(on_cpu.run, unit, tuple(named.values()), lists, axes, touched.written, look)
            plan = HostPlan(specialisation, unit.bytecode, axes, run)
        else:
            bundled.tell(known.name, str(known.file), () if proof is None else proof.launch.trust)
            early = (
                asked.said.programmatic_dependent_launch and proof is not None and specialisation.ahead == frozenset()
            )
            plan = self._on(device, specialisation).plan(axes, named, lists, early=early)
        use = use_of(known.name, HOST if device is None else device, axes, named, touched, lists)
        # What depends on contents, or ran by an opt-out, is asked again each time.
        ahead = None if proof is None or device is None else specialisation.ahead
        return Planned(plan, use, again=proof is not None and not proof.assumed, ahead=ahead, look=look)

    def asked(self, stream: Stream, kernel: object, arguments: Arguments, **options: Unpack[GivenOptions]) -> Asked:
        """A launch looked at, not verified; ``options`` and errors are those of `launch`."""
        return Asked.of(self._kernel(kernel), arguments, options_of(options), stream)

    def proof(self, grid: GivenGrid, kernel: object, arguments: Arguments) -> LaunchProof:
        """The proof that covers a launch of a kernel of cuda.tile; what it raises is what `launch` raises."""
        return self.proved_unit(grid, kernel, arguments)[1]

    def proved_unit(self, grid: GivenGrid, kernel: object, arguments: Arguments) -> tuple[KernelUnit, LaunchProof]:
        """The kernel with the numbers of a launch as its contract, and the proof that covers it, as `proof` has it."""
        asked = self.asked(None, kernel, arguments)
        axes = calls.grid_of(grid)
        specialisation = self._specialisation(asked)

        @cache
        def unit() -> KernelUnit:
            return replace(specialisation.unit, launch=asked.spec(axes))

        return unit(), specialisation.admit(Request(asked.named, axes, asked.contents, False, unit), self.options)

    def unit_of(self, grid: GivenGrid, kernel: object, arguments: Arguments) -> KernelUnit:
        """The kernel with the numbers of a launch as its contract, whatever a proof says of it."""
        asked = self.asked(None, kernel, arguments)
        return replace(self._specialisation(asked).unit, launch=asked.spec(calls.grid_of(grid)))

    def _kernel(self, kernel: object) -> Kernel:
        try:
            known = self._kernels.get(kernel)
            if known is None:
                known = self._kernels[kernel] = Kernel.of(kernel)
        except TypeError:
            raise UsageError(f"{kernel!r} is not a kernel: decorate the function with @ct.kernel") from None
        return known

    def _specialisation(self, asked: Asked) -> Specialisation:
        kernel = asked.kernel.object
        options = repr(kernel._compiler_options)
        key = (kernel._annotated_function.pyfunc, options, asked.signature.symbol, asked.architecture)
        with self._lock:
            found = self._specialisations.get(key)
            if found is None:
                found = self._specialisations[key] = Specialisation(asked.compiled(None))
        return found

    @cached_property
    def _cubins(self) -> CubinCache:
        return CubinCache((self.options.cache or default_folder()) / "cubins", find_assembler())

    def _on(self, device: int, specialisation: Specialisation) -> GpuKernel:
        key = (id(specialisation), device)
        with self._lock:
            if key not in self._loaded:
                unit = specialisation.unit
                architecture = driver.architecture(device)
                proved = ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch)
                try:
                    cubin = self._cubins.cubin(
                        unit.bytecode, architecture, lambda made: refuse_differences(looked(proved, made, architecture))
                    )
                except CodeDiffers as error:
                    raise _with_command(error, unit, architecture) from None
                types = parameter_types(unit.bytecode, unit.symbol, str(unit.file))
                self._loaded[key] = GpuKernel(cubin, unit.symbol, unit.parameters, types, device)
        return self._loaded[key]


def _with_command(error: CodeDiffers, unit: KernelUnit, architecture: str) -> CodeDiffers:
    """``error`` with the command that tries repairs: to try them here would run the program in which we are again."""
    if unit.file.suffix != ".py":
        return error
    command = f"tileverify check --compiled {architecture} {display_path(unit.file)}::{unit.kernel}"
    return CodeDiffers(f"{error.message}; repairs are tried by: {command}", error.file, error.line)


@cache
def of_this_process() -> Launcher:
    """The launcher that all of a process shares, so that it knows of each launch what it must not meet."""
    return Launcher()


# ---------------------------------------------------------------------------------------------------------------- asked
# A launch as a program asks for it: its arguments are looked at once, and nothing is decided yet.


@dataclass(frozen=True, slots=True)
class Asked:
    """``signature``: what cuda.tile compiles for these arguments.  ``named``: what a guard is told of them.

    ``device``: the GPU that they lie on, ``None`` for the host's memory.
    """

    kernel: Kernel
    signature: JitSignature
    descriptions: Sequence[Described]
    named: Mapping[str, Value]
    contents: Contents
    device: int | None
    said: LaunchOptions

    @classmethod
    def of(cls, kernel: Kernel, arguments: Arguments, said: LaunchOptions, stream: Stream) -> Asked:
        """Raises `UsageError` and `LaunchRefused` for arguments that make no launch."""
        given = tuple(map(on_cpu.host_arrays, arguments))
        on_host = on_cpu.lies_on_host(kernel.name, given)
        seen = tuple(map(numpy_as_cuda, given))
        signature = calls.signature_of(kernel, seen)
        descriptions = calls.described(seen, signature)
        named = dict(calls.named_values(kernel.parameters, descriptions))
        arrays = (array for _, array in calls.named_arrays(kernel.parameters, descriptions))
        device = None if on_host else device_of(kernel.name, arrays)
        return cls(kernel, signature, descriptions, named, contents_of(named, on_host, stream), device, said)

    @property
    def architecture(self) -> str | None:
        """Of its GPU."""
        return None if self.device is None else driver.architecture(self.device)

    def spec(self, axes: Grid | None) -> LaunchSpec:
        """The launch with its own numbers as its contract; any grid for ``None``."""
        data = (*self.kernel.facts(), *self.said.data)
        return calls.spec_of(self.kernel, self.descriptions, self.contents, data, self.said.vouch, axes)

    def compiled(self, axes: Grid | None) -> KernelUnit:
        """The kernel for it, under that contract."""
        return calls.compiled(self.kernel, self.signature, self.spec(axes), self.architecture)


# --------------------------------------------------------------------------------------------------------------- cubins
# Machine code that this machine's assembler made, kept on disk.
#
# One file for each bytecode, architecture and version of ``tileiras``, with its own hash in front: a file that is
# damaged counts as absent, and so does everything where others may write.  Files are written whole, so that processes
# may share the folder; the oldest ones go when all of them take too much space.


MOST_BYTES: Final = 512 << 20
_HASH: Final = 32
_LOOKED_AT: Final = "1"
"""How cubins are looked at before they are kept; those of other numbers are not found."""


@dataclass
class CubinCache:
    """``folder`` is made when something is put into it.  Threads that want the same cubin wait for one of them."""

    folder: Path
    assembler: Assembler
    most_bytes: int = MOST_BYTES
    _locks: dict[str, threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def cubin(self, bytecode: bytes, architecture: str, look: Callable[[Assembled], None]) -> bytes:
        """The machine code of ``bytecode``; raises `AssemblyError`, as ``look`` may, which sees what is new."""
        words = f"{_LOOKED_AT}\0{architecture}\0{self.assembler.version}\0"
        key = hashlib.sha256(words.encode() + bytecode).hexdigest()
        with self._lock:
            one_at_a_time = self._locks.setdefault(key, threading.Lock())
        with one_at_a_time:
            known = self._read(key)
            if known is not None:
                return known
            made = self.assembler.assembled(bytecode, architecture)
            look(made)
            self._write(key, made.cubin)
            return made.cubin

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.cubin"

    def _read(self, key: str) -> bytes | None:
        path = self._path(key)
        if not is_private(self.folder):
            return None
        try:
            data = read_private(path)
        except OSError:
            return None
        with contextlib.suppress(OSError):
            path.touch()
        digest, cubin = data[:_HASH], data[_HASH:]
        return cubin if hashlib.sha256(key.encode() + cubin).digest() == digest else None

    def _write(self, key: str, cubin: bytes) -> None:
        if not is_private(self.folder):
            return
        with contextlib.suppress(OSError):
            write_private(self._path(key), hashlib.sha256(key.encode() + cubin).digest() + cubin)
            self._shrink()

    def _shrink(self) -> None:
        found = []
        for path in self.folder.glob("*.cubin"):
            with contextlib.suppress(FileNotFoundError):  # another process makes room, too
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path))
        found.sort()
        total = sum(size for _, size, _ in found)
        for _, size, path in found[:-1]:  # the newest stays, however large it is
            if total <= self.most_bytes:
                break
            path.unlink(missing_ok=True)
            total -= size


# ------------------------------------------------------------------------------------------------------------- programs
# Whole programs: kernels that run verified or not at all, and every launch of ``cuda.tile`` made a verified one.


_OWN: Final = __name__.partition(".")[0]
_BESIDE: Final = (
    "launch_extended", "_benchmark", "_export_ipc_benchmark_payload", "_benchmark_with_ipc_payload", "cutile_call",
    "xla_ffi_get_call_handler",
)  # fmt: skip
"""Ways into cuda.tile's C extension that launch something else than a proof speaks of: a tuner's measurements, also in
a process of their own, which nobody patched (`single_run_timeout_sec`), and what XLA calls for JAX."""
_JAX: Final = "cuda.tile.jax._jax"


@cache
def _verified_kernel_class() -> Callable[..., LaunchedKernel]:
    import cuda.tile as ct

    class VerifiedKernel(ct.kernel):  # type: ignore[misc]
        """A kernel that ``cuda.tile`` cannot compile, and so cannot launch, on its own."""

        def _compile(self, *arguments: object, **options: object) -> NoReturn:
            name = self._annotated_function.pyfunc.__qualname__
            raise LaunchRefused(
                f"'{name}' is a tileverify.kernel: launch it with tileverify.launch or after tileverify.patch() (TV502)"
            )

        def replace_hints(self, **hints: object) -> VerifiedKernel:
            other = super().replace_hints(**hints)
            return VerifiedKernel(other._pyfunc, **_hints(other))

    return VerifiedKernel


def _hints(kernel: LaunchedKernel) -> dict[str, object]:
    options = kernel._compiler_options
    return {name: getattr(options, name) for name in options.__dataclass_fields__}


def verified_kernel(function: object = None, /, **hints: object) -> object:
    """``@ct.kernel``, with its compiler options, for kernels that run verified or not at all."""
    if function is None:
        return lambda each: verified_kernel(each, **hints)
    if not isinstance(function, FunctionType):
        raise UsageError(f"@tileverify.kernel decorates a function, not {function!r}")
    return _verified_kernel_class()(function, **hints)


class Patch:
    """``cuda.tile.launch`` and launches of Triton replaced by verified ones, until `undo`, also where modules or
    classes took them before.

    Other ways to launch a kernel, such as ``launch_extended``, are refused meanwhile.  What was taken into other places
    (a closure, a table, ``functools.partial``) cannot be replaced: a RuntimeWarning names it.
    """

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._before: list[tuple[object, str, object]] = []
        triton = TritonHooks(TritonGuard(launcher.options), runs=True)
        self._triton, self._imports = triton, AfterImport()
        if _installed("triton"):
            self._imports.call("triton.compiler.compiler", triton.install_compiler)
        if not _installed("triton") or _installed("cuda.tile"):
            self._replace_cutile()
        self._imports.install()

    def _replace_cutile(self) -> None:
        import cuda.tile as ct
        from cuda.tile import _cext

        replaced: dict[int, tuple[object, Callable[..., object]]] = {}
        for owner in (ct, _cext, *([sys.modules[_JAX]] if _JAX in sys.modules else [])):
            for name in ("launch", *_BESIDE):
                if hasattr(owner, name):
                    original = getattr(owner, name)
                    replaced[id(original)] = (original, self._launch if name == "launch" else _refusal(name))
        for owner in _namespaces():
            for name, value in list(vars(owner).items()):
                static = isinstance(value, staticmethod)
                if (found := replaced.get(id(value.__func__ if static else value))) is not None:
                    self._replace(owner, name, staticmethod(found[1]) if static else found[1])
        left = list(dict.fromkeys(each for original, _ in replaced.values() for each in _left(original, self._before)))
        if left:
            warnings.warn(
                f"tileverify.patch(): what was taken before it stays unverified in {', '.join(left)}; patch first",
                RuntimeWarning,
                stacklevel=4,
            )

    def _replace(self, owner: object, name: str, function: object) -> None:
        self._before.append((owner, name, vars(owner)[name]))
        setattr(owner, name, function)

    def _launch(
        self,
        stream: Stream,
        grid: GivenGrid,
        kernel: object,
        kernel_args: Arguments,
        /,
        *,
        programmatic_dependent_launch: bool = False,
    ) -> None:
        self._launcher.launch(
            stream, grid, kernel, kernel_args, programmatic_dependent_launch=programmatic_dependent_launch
        )

    def undo(self) -> None:
        """Put ``cuda.tile`` and Triton back as they were."""
        if self._imports in sys.meta_path:
            self._imports.remove()
        self._triton.undo()
        while self._before:
            owner, name, function = self._before.pop()
            setattr(owner, name, function)

    def __enter__(self) -> Patch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()


def _installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # no ``cuda``
        return False


def _namespaces() -> Iterator[ModuleType | type]:
    """All modules but those of tileverify, and the classes that they define."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == _OWN or not isinstance(module, ModuleType):
            continue
        yield module
        for value in list(vars(module).values()):
            if isinstance(value, type) and value.__module__ == name:
                yield value


def _left(original: object, before: list[tuple[object, str, object]]) -> Iterator[str]:
    """Where else the program holds a function, in words."""
    ours = {id(before), *map(id, before)}
    namespaces = {id(vars(module)) for module in list(sys.modules.values()) if isinstance(module, ModuleType)}
    for holder in gc.get_referrers(original):
        if id(holder) in ours | namespaces or isinstance(holder, FrameType):
            continue
        if isinstance(holder, CellType):
            users = [each for each in gc.get_referrers(holder) if isinstance(each, tuple)]
            functions = [f for each in users for f in gc.get_referrers(each) if isinstance(f, FunctionType)]
            if all(function.__module__.partition(".")[0] == _OWN for function in functions):
                continue
            yield f"a closure of {' and '.join(function.__qualname__ for function in functions)}"
        elif isinstance(holder, partial):
            yield "a functools.partial"
        elif isinstance(holder, dict | list | set):
            yield f"a {type(holder).__name__}"
        elif isinstance(holder, tuple):
            functions = [each for each in gc.get_referrers(holder) if isinstance(each, FunctionType)]
            yield from (f"the defaults of {each.__qualname__}" for each in functions if each.__defaults__ is holder)


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(*arguments: object, **options: object) -> NoReturn:
        raise LaunchRefused(f"cuda.tile's {name} is not verified, and refused by tileverify.patch() (TV502)")

    return refuse
