"""Writes down launches: the JIT's own signature, the bytecode it would compile, and the arguments."""

from __future__ import annotations

import hashlib
import inspect
import io
import itertools
import os
import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Literal, SupportsInt

from .described_launch import ConstraintWords, Described, conflicts, describe, describe_constraint
from .foreign import Grid, JitSignature, TileKernel, TritonSpecialisation
from .index_contents import Content, IndexContents, forget_numbers
from .interpreting import CannotInterpret
from .modules import Modules, NotedEntry, TileModule, described
from .notes import ArrayContents, NotedSpecialisation, Notes, Source
from .pointer_owners import PointerOwners

MAX_GRID_AXIS = 2**24 - 1
"""Tile blocks along one axis of a grid."""


class ImpossibleGrid(ValueError):
    """No such grid can be launched."""


@dataclass
class _Specialisation:
    """What is known of one (kernel, JIT signature); ``key`` is ``None`` when it is not recorded."""

    key: int | None
    seen: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Most:
    """How much of a kernel is kept: specialisations per kernel source, launches per specialisation; with ``repeats``
    it is noted, too, when an equal launch is made again."""

    specialisations: int
    launches: int
    repeats: bool = False


class Recorder:
    """One per process.  ``architecture`` is what bytecode is made for, e.g. ``sm_100``; ``None`` asks the GPU.

    ``on_device``: arrays lie in a GPU's memory.  ``kernels_run``: there or in the interpreter.
    """

    def __init__(
        self,
        notes: Notes,
        limits: Most,
        architecture: str | None,
        bytecode_version: str | None,
        *,
        on_device: bool,
        kernels_run: bool,
    ) -> None:
        self._notes = notes
        self._limits = limits
        self._architecture = architecture
        self._bytecode_version = bytecode_version
        self._contents = IndexContents(on_device=on_device, kernels_run=kernels_run)
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """A fork has a journal of its own, which knows nothing of what its parent wrote down."""
        self._known: dict[tuple[Hashable, str, str], _Specialisation] = {}
        self._per_source: dict[str, int] = {}
        self._lock = threading.RLock()
        self._next_key = 0
        self._noted: set[tuple[int, int, str]] = set()
        forget_numbers()

    def launch(self, kernel: TileKernel, grid: Grid, arguments: Sequence[object], how: str) -> Exception | None:
        """Record one launch.

        What the launch itself refuses (arguments without a signature, an impossible grid, a kernel that does not
        compile) is noted as ``rejected`` and returned; a failure of the recorder is noted as ``failed``.
        """
        from cuda.tile import TileError

        with self._lock:
            try:
                axes = _grid(grid)
                signature = _signature(kernel, tuple(arguments))
            except Exception as error:
                return self._note_failure(kernel, error, "rejected")
            try:
                self._record_made(kernel, axes, tuple(arguments), signature, how)
            except TileError as error:
                return self._note_failure(kernel, error, "rejected")
            except Exception as error:
                self._note_failure(kernel, error, "failed")
            return None

    def traced(
        self,
        kernel: TileKernel,
        grid: Grid,
        signature: JitSignature,
        described: Sequence[Described],
        alias: Sequence[Sequence[str]],
        how: str,
    ) -> Exception | None:
        """Record a launch that will be made: its arguments are described, and lie in no memory yet.

        ``alias``: groups of arguments that may be one array, as ``signature`` tells the compiler.  Returns what
        `launch` does.
        """
        from cuda.tile import TileError

        with self._lock:
            try:
                axes = _grid(grid)
                specialisation = self._specialisation(kernel, signature)
                self._record(specialisation, axes, described, how, alias=alias)
            except (TileError, ImpossibleGrid) as error:
                return self._note_failure(kernel, error, "rejected")
            except Exception as error:
                self._note_failure(kernel, error, "failed")
            return None

    def entry_launch(
        self,
        module: TileModule,
        entry: NotedEntry,
        grid: Sequence[int],
        described: Sequence[Described],
        arrays: Sequence[object],
        how: str,
    ) -> None:
        """Record one launch of an entry of a module that host code loaded; ``arrays``: behind its pointers, as far as
        they are known."""
        with self._lock:
            identity = (module.digest, "", entry["symbol"])
            if identity not in self._known:
                self._known[identity] = _Specialisation(self._specialise_entry(module, entry))
            specialisation = self._known[identity]
            names = [parameter["name"] for parameter in entry["parameters"]]
            contents = self._contents.of_launch(identity, names, arrays, described, specialisation.key)
            number = self._record(specialisation, _grid(tuple(grid)), described, how)
            if number is not None and specialisation.key is not None:
                self._record_contents(contents, specialisation.key, number)

    def entry_failed(self, entry: NotedEntry | None, error: Exception) -> None:
        """A launch of an entry (``None``: of a module that cannot be read) could not be written down."""
        with self._lock:
            self._note_error(entry_source(entry) if entry is not None else None, error, "failed")

    def triton_room(self, function: FunctionType) -> bool:
        """Whether one more specialisation of the kernel is kept; it is noted if not."""
        with self._lock:
            return self._has_room(describe_source(function), function.__name__)

    def triton_launch(
        self,
        specialisation: TritonSpecialisation,
        grid: Grid,
        described: Sequence[Described],
        arrays: Sequence[object],
    ) -> bool:
        """Record one launch of a ``@triton.jit`` function; ``arrays``: the objects behind what is described."""
        with self._lock:
            try:
                digest = self._notes.store(specialisation.text.encode(), "ttir")
                identity = (specialisation.function, "", digest)
                if identity not in self._known:
                    self._known[identity] = _Specialisation(self._specialise_triton(specialisation, described, digest))
                known = self._known[identity]
                contents = self._contents.of_launch(identity, specialisation.parameters, arrays, described, known.key)
                number = self._record(known, _grid(grid), described, "launch")
                if number is not None and known.key is not None:
                    self._record_contents(contents, known.key, number)
            except Exception as error:
                self.triton_failed(specialisation.function, error)
        return False

    def triton_failed(self, function: FunctionType | None, error: Exception) -> None:
        """A launch of a Triton kernel could not be written down."""
        with self._lock:
            self._note_error(describe_source(function) if function is not None else None, error, "failed")

    def _specialise_triton(self, made: TritonSpecialisation, described: Sequence[Described], digest: str) -> int:
        options = ", ".join(f"{name} = {value}" for name, value in made.options.items())
        return self._note_specialisation(
            {
                "event": "specialisation",
                "key": 0,
                "kernel": describe_source(made.function),
                "symbol": made.symbol,
                "options": f"{{ {options} }}" if options else "",
                "parameters": made.parameters,
                "signature": [_constraint(each["kind"] == "array") for each in described],
                "calling_convention": "triton",
                "bytecode_version": "",
                "architecture": self._architecture,
                "bytecode": digest,
                "producer": "triton",
            }
        )

    def _specialise_entry(self, module: TileModule, entry: NotedEntry) -> int | None:
        source = entry_source(entry)
        if not self._has_room(source, entry["symbol"]):
            return None
        return self._note_specialisation(
            {
                "event": "specialisation",
                "key": 0,
                "kernel": source,
                "symbol": entry["symbol"],
                "options": "",
                "parameters": [parameter["name"] for parameter in entry["parameters"]],
                "signature": [_constraint(parameter["is_pointer"]) for parameter in entry["parameters"]],
                "calling_convention": "plain",
                "bytecode_version": module.version,
                "architecture": self._architecture,
                "bytecode": module.digest,
            }
        )

    def _record_made(
        self, kernel: TileKernel, grid: list[int], arguments: tuple[object, ...], signature: JitSignature, how: str
    ) -> None:
        function = kernel._annotated_function.pyfunc
        specialisation = self._specialisation(kernel, signature)
        described = [describe(value, c) for value, c in zip(arguments, signature.parameters, strict=True)]
        names = list(inspect.signature(function).parameters)
        contents = self._contents.of_launch(function, names, arguments, described, specialisation.key)
        number = self._record(specialisation, grid, described, how)
        if number is not None and specialisation.key is not None:
            self._record_contents(contents, specialisation.key, number)

    def _specialisation(self, kernel: TileKernel, signature: JitSignature) -> _Specialisation:
        options = repr(kernel._compiler_options)
        identity = (kernel._annotated_function.pyfunc, options, signature.symbol)
        if identity not in self._known:
            self._known[identity] = _Specialisation(self._specialise(kernel, signature, options))
        return self._known[identity]

    def _record(
        self,
        specialisation: _Specialisation,
        grid: list[int],
        described: Sequence[Described],
        how: str,
        alias: Sequence[Sequence[str]] = (),
    ) -> int | None:
        """The number of the launch; ``None`` for one that is not kept."""
        if specialisation.key is None:
            return None
        fingerprint = repr((grid, _without_addresses(described), conflicts(described)))
        if fingerprint not in specialisation.seen:
            if len(specialisation.seen) >= self._limits.launches:
                return None
            specialisation.seen[fingerprint] = len(specialisation.seen)
            self._notes.write(
                {
                    "event": "launch",
                    "key": specialisation.key,
                    "grid": grid,
                    "arguments": described,
                    "alias": alias,
                    "how": how,
                    "test": os.environ.get("PYTEST_CURRENT_TEST", ""),
                }
            )
        elif self._limits.repeats:
            number = specialisation.seen[fingerprint]
            self._notes.write({"event": "again", "key": specialisation.key, "number": number})
        return specialisation.seen[fingerprint]

    def _record_contents(self, contents: dict[str, Content], key: int, number: int) -> None:
        """Note what the integer arrays of launch ``number`` of a specialisation hold, once for each content."""
        stored = {name: self._notes.store(content.elements, "contents") for name, content in contents.items()}
        doubts = {name: sorted(each.unless_written) for name, each in contents.items() if each.unless_written}
        event: ArrayContents = {"event": "contents", "key": key, "number": number, "arrays": stored}
        if doubts:
            event["unless_written"] = doubts
        noted = (key, number, repr((stored, doubts)))
        if noted not in self._noted:
            self._noted.add(noted)
            self._notes.write(event)

    def _specialise(self, kernel: TileKernel, signature: JitSignature, options: str) -> int | None:
        function = kernel._annotated_function.pyfunc
        source = describe_source(function)
        if not self._has_room(source, signature.symbol):
            return None
        bytecode, version = self._export(kernel, signature)
        return self._note_specialisation(
            {
                "event": "specialisation",
                "key": 0,
                "kernel": source,
                "symbol": signature.symbol,
                "options": options,
                "parameters": list(inspect.signature(function).parameters),
                "signature": [describe_constraint(c) for c in signature.parameters],
                "calling_convention": signature.calling_convention.name,
                "bytecode_version": version,
                "architecture": self._architecture,
                "bytecode": self._notes.store(bytecode),
            }
        )

    def _has_room(self, source: Source, symbol: str) -> bool:
        """Whether one more specialisation of the kernel is kept; it is noted if not."""
        room = self._per_source.get(source["id"], 0) < self._limits.specialisations
        if not room:
            self._notes.write({"event": "left_out", "kernel": source["qualname"], "symbol": symbol})
        return room

    def _note_specialisation(self, event: NotedSpecialisation) -> int:
        """Write it down under the next key."""
        identity = event["kernel"]["id"]
        self._per_source[identity] = self._per_source.get(identity, 0) + 1
        self._next_key += 1
        self._notes.write({**event, "key": self._next_key})
        return self._next_key

    def _export(self, kernel: TileKernel, signature: JitSignature) -> tuple[bytes, str]:
        """Bytecode for ``signature`` and its version; without ``tileiras`` to ask, the newest portable version."""
        from cuda.tile._compile import get_sm_arch
        from cuda.tile.compilation import export_kernel

        version = self._bytecode_version = self._bytecode_version or _newest_version()
        self._architecture = self._architecture or get_sm_arch()
        buffer = io.BytesIO()
        export_kernel(
            kernel,
            [signature],
            buffer,
            gpu_code=self._architecture,
            output_format="tileir_bytecode",
            bytecode_version=version,
        )
        content = buffer.getvalue()
        return content, f"{content[8]}.{content[9]}"

    def _note_failure(self, kernel: object, error: Exception, outcome: Literal["rejected", "failed"]) -> Exception:
        function = getattr(getattr(kernel, "_annotated_function", None), "pyfunc", None)
        return self._note_error(describe_source(function) if function is not None else None, error, outcome)

    def _note_error(self, source: Source | None, error: Exception, outcome: Literal["rejected", "failed"]) -> Exception:
        self._notes.write(
            {
                "event": "error",
                "outcome": outcome,
                "kernel": source,
                "type": type(error).__name__,
                "message": str(error)[:2000],
                "test": os.environ.get("PYTEST_CURRENT_TEST", ""),
            }
        )
        return error


def _signature(kernel: TileKernel, arguments: tuple[object, ...]) -> JitSignature:
    """The signature for which the JIT would compile ``kernel``."""
    from cuda.tile.compilation import CallingConvention, KernelSignature

    convention = getattr(CallingConvention, "cutile_python_v2", CallingConvention.cutile_python_v1)()
    made: JitSignature = KernelSignature.from_kernel_args(kernel, arguments, convention)
    return made


def _newest_version() -> str | None:
    """``None`` lets ``cuda.tile`` ask the assembler, as its JIT does; ``13.3`` where there is no assembler."""
    from cuda.tile._compile import _get_max_supported_bytecode_version, default_tile_context

    try:
        _get_max_supported_bytecode_version(default_tile_context.config.temp_dir)
    except Exception:
        return "13.3"
    return None


def describe_source(function: FunctionType) -> Source:
    """Where a kernel is written: name, module, file, lines, and the hash of its text.

    ``id`` tells kernels apart: qualified name and source text (bytecode of the function where there is no text).
    """
    code = function.__code__
    try:
        lines, first = inspect.getsourcelines(function)
        text, last = "".join(lines), first + len(lines) - 1
    except (OSError, TypeError):
        text, first, last = repr((code.co_code, code.co_consts)), code.co_firstlineno, None
    digest = hashlib.sha256(text.encode()).hexdigest()
    return {
        "name": function.__name__,
        "qualname": function.__qualname__,
        "module": function.__module__,
        "file": os.path.abspath(code.co_filename),
        "line": first,
        "last_line": last,
        "source_sha256": digest,
        "id": hashlib.sha256(f"{function.__qualname__}\n{text}".encode()).hexdigest(),
    }


def entry_source(entry: NotedEntry) -> Source:
    """The same of an entry whose bytecode says where it was written; all of that file is its text."""
    try:
        with open(entry["file"], "rb") as file:
            text = file.read()
    except OSError:
        text = entry["symbol"].encode()
    digest = hashlib.sha256(text).hexdigest()
    path = os.path.abspath(entry["file"]) if entry["file"] else ""
    return {
        "name": entry["name"],
        "qualname": entry["name"],
        "module": os.path.splitext(os.path.basename(path))[0],
        "file": path,
        "line": entry["line"],
        "last_line": None,
        "source_sha256": digest,
        "id": hashlib.sha256(f"{entry['name']}\n{digest}".encode()).hexdigest(),
    }


def _constraint(is_pointer: bool) -> ConstraintWords:
    """A signature has nothing to say of what is passed plainly."""
    return {"kind": "pointer" if is_pointer else "scalar"}


def _grid(grid: Grid) -> list[int]:
    """All three axes; `ImpossibleGrid` for one that ``cuda.tile`` or the driver refuses."""
    axes: list[SupportsInt] = list(grid) if isinstance(grid, (tuple, list)) else [grid]
    if not 1 <= len(axes) <= 3 or any(not 1 <= int(axis) <= MAX_GRID_AXIS for axis in axes):
        raise ImpossibleGrid(f"grid {tuple(axes)}: 1 to 3 axes of 1 to {MAX_GRID_AXIS} blocks can be launched")
    return [int(axis) for axis in axes] + [1] * (3 - len(axes))


def _without_addresses(described: object) -> object:
    if isinstance(described, dict):
        return {k: _without_addresses(v) for k, v in described.items() if k != "address"}
    return [_without_addresses(item) for item in described] if isinstance(described, list) else described


# ------------------------------------------------------------------------------------------------------ module launches
# Kernels of modules that host code loads, and their launches, whichever package it asks for them.
#
# A module and a kernel are known by the numbers that the driver gave them.  Kernels without Tile IR are nobody's
# concern.


_FIRST_HANDLE = 0x7E000000
"""Where numbers begin that stand for what a driver would give: no address that a program has."""


@dataclass
class ModuleLaunches:
    """What the process has loaded and launched.  ``runs``: on a GPU, else launches end here; ``results_matter``: then
    they are refused instead."""

    recorder: Recorder
    modules: Modules
    owners: PointerOwners
    runs: bool
    results_matter: bool = False
    _loaded: dict[int, TileModule | None] = field(default_factory=dict)
    _kernels: dict[int, tuple[int, str]] = field(default_factory=dict)
    _handles: itertools.count[int] = field(default_factory=lambda: itertools.count(_FIRST_HANDLE))

    def load(self, image: bytes, handle: int | None = None) -> int:
        """A module was loaded from ``image``; the driver called it ``handle``, or a number of ours stands for it."""
        number = next(self._handles) if handle is None else handle
        try:
            self._loaded[number] = self.modules.of_image(image)
        except ValueError as error:
            self.recorder.entry_failed(None, error)
            self._loaded[number] = None
        return number

    def same_module(self, handle: int, other: int) -> None:
        """``other`` is what the driver calls a loaded module elsewhere."""
        if handle in self._loaded:
            self._loaded[other] = self._loaded[handle]

    def holds_tile_ir(self, image: bytes) -> bool:
        return self.modules.holds_tile_ir(image)

    def entries(self, handle: int) -> dict[str, NotedEntry]:
        """Of a loaded module, by symbol; none where it holds no Tile IR."""
        module = self._loaded.get(handle)
        return {} if module is None else module.entries

    def kernel(self, module: int, symbol: str, handle: int | None = None) -> int:
        """The kernel ``symbol`` of a loaded module was asked for; numbered as modules are, once."""
        if handle is None:
            known = (number for number, kernel in self._kernels.items() if kernel == (module, symbol))
            handle = next(known, None)
        number = next(self._handles) if handle is None else handle
        self._kernels[number] = (module, symbol)
        return number

    def same_kernel(self, handle: int, other: int) -> None:
        """``other`` is what the driver calls a known kernel elsewhere."""
        if handle in self._kernels:
            self._kernels[other] = self._kernels[handle]

    def symbol(self, kernel: int) -> str | None:
        """``None`` for a kernel that is not known."""
        known = self._kernels.get(kernel)
        return None if known is None else known[1]

    def entry(self, kernel: int) -> NotedEntry | None:
        """``None`` for a kernel without Tile IR."""
        known = self._kernels.get(kernel)
        return None if known is None else self.entries(known[0]).get(known[1])

    def launched(
        self, kernel: int, grid: Sequence[int], arguments: Callable[[NotedEntry], Sequence[bytes]], how: str
    ) -> None:
        """Record the launch; what cannot be written down is noted, and never stops the program.

        Raises `CannotInterpret` where results are asked for, and nothing runs the kernel.
        """
        entry = self.entry(kernel)
        module = self._loaded.get(self._kernels[kernel][0]) if entry is not None else None
        if entry is None or module is None:
            return
        try:
            found, arrays = described(entry["parameters"], arguments(entry), self.owners)
            self.recorder.entry_launch(module, entry, grid, found, arrays, how)
        except Exception as error:
            self.recorder.entry_failed(entry, error)
        if self.results_matter:
            raise CannotInterpret(
                f"record --interpret does not run {entry['name']}, a kernel that host code loads; use --no-gpu alone"
            )
