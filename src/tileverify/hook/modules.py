"""Modules of Tile IR that host code loads: their bytecode, what each entry takes, and nvcc that makes some of them.

A module is known by its image: what was given to the driver.  That is bytecode itself, or a cubin of which the hook on
the compiler has noted the bytecode (``compilers``).
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import json
import os
import struct
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, SupportsInt, TypedDict

from .described_launch import Described, DescribedArray
from .notes import Notes
from .pointer_owners import Owner, PointerOwners

MAGIC = b"\x7fTileIR\0"
"""How Tile IR bytecode begins."""


class NotedParameter(TypedDict):
    """``dtype``: of the scalar, or of what the pointer points to, as specs call it; ``bits``: 0 for one without;
    ``divisor``: what the kernel takes for granted to divide it."""

    name: str
    is_pointer: bool
    dtype: str
    bits: int
    divisor: int


class NotedEntry(TypedDict):
    """``file`` is empty where the bytecode does not say from what it was made."""

    symbol: str
    name: str
    file: str
    line: int
    parameters: list[NotedParameter]


class NotedEntries(TypedDict, total=False):
    version: str
    entries: list[NotedEntry]
    error: str


class UnreadableModule(ValueError):
    """Bytecode that the recorder cannot read."""


@dataclass(frozen=True)
class TileModule:
    """One module with Tile IR.  ``digest``: the SHA-256 of ``bytecode``, under which it is stored."""

    bytecode: bytes
    digest: str
    version: str
    entries: dict[str, NotedEntry]


@dataclass
class Modules:
    """All modules of a process.  ``python``: the recorder's own interpreter, ``package``: the folder of tileverify."""

    notes: Notes
    python: str
    package: Path
    _bytecode: dict[str, bytes] = field(default_factory=dict)
    _known: dict[str, TileModule] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _reader: subprocess.Popen[str] | None = None
    _reader_of: int = -1

    def note(self, image: bytes, bytecode: bytes) -> None:
        """``image`` was made of ``bytecode``."""
        self._bytecode[hashlib.sha256(image).hexdigest()] = bytecode

    def holds_tile_ir(self, image: bytes) -> bool:
        """Whether `of_image` finds a module."""
        return image.startswith(MAGIC) or hashlib.sha256(image).hexdigest() in self._bytecode

    def of_image(self, image: bytes) -> TileModule | None:
        """The module; ``None`` for one without Tile IR.  Raises `UnreadableModule`."""
        digest = hashlib.sha256(image).hexdigest()
        bytecode = image if image.startswith(MAGIC) else self._bytecode.get(digest)
        if bytecode is None:
            return None
        with self._lock:
            if digest not in self._known:
                self._known[digest] = self._read(bytecode)
            return self._known[digest]

    def _read(self, bytecode: bytes) -> TileModule:
        stored = self.notes.store(bytecode)
        found = self._ask(self.notes.path(stored))
        if "error" in found:
            raise UnreadableModule(found["error"])
        entries = {entry["symbol"]: entry for entry in found["entries"]}
        return TileModule(bytecode, stored, found["version"], entries)

    def _ask(self, path: Path) -> NotedEntries:
        if self._reader is None or self._reader_of != os.getpid():
            self._reader, self._reader_of = self._start(), os.getpid()
            atexit.register(self._reader.kill)
        assert self._reader.stdin is not None
        assert self._reader.stdout is not None
        try:
            self._reader.stdin.write(json.dumps(str(path)) + "\n")
            self._reader.stdin.flush()
            answer = self._reader.stdout.readline()
        except OSError:
            answer = ""
        if not answer:
            self._reader = None
            return {"error": f"the reader of Tile IR modules, started with {self.python}, has ended"}
        found: NotedEntries = json.loads(answer)
        return found

    def _start(self) -> subprocess.Popen[str]:
        """It ends with its input, so that one whose program was killed does not stay."""
        environment = {name: each for name, each in os.environ.items() if not name.startswith("TILEVERIFY_RECORD_")}
        environment["PYTHONPATH"] = str(self.package.parent)
        command = [self.python, "-m", f"{self.package.name}.record.module_entries"]
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd=self.notes.path("any").parent,
            text=True,
            encoding="utf-8",
        )


# ----------------------------------------------------------------------------------------------------- packed arguments
# The arguments of a launch as the driver takes them, bytes, and what they mean to an entry.
#
# What a program passes decides the bytes; what the kernel reads of them its entry says, whatever the program thought.


_POINTER_BYTES = 8
_LARGEST_I32 = 2**31 - 1


class UnknownArgument(ValueError):
    """An argument that cannot be written down."""


def packed(value: object) -> bytes:
    """The bytes of one argument of ``cuda.core.launch`` or of CuPy: a scalar of Python, ctypes or NumPy, or an object
    with an address."""
    if isinstance(value, bool):
        return struct.pack("<?", value)
    if isinstance(value, int):
        return struct.pack("<Q", value % 2**64)
    if isinstance(value, float):
        return struct.pack("<d", value)
    if isinstance(value, complex):
        return struct.pack("<dd", value.real, value.imag)
    if isinstance(value, (ctypes._SimpleCData, ctypes.Structure, ctypes.Array)):
        return bytes(memoryview(value).cast("B"))
    if hasattr(value, "__array_interface__") and getattr(value, "ndim", 0) > 0:  # NumPy's array for one on the GPU
        return packed(int(value.__array_interface__["data"][0]))
    if hasattr(value, "__cuda_array_interface__"):
        return packed(int(value.__cuda_array_interface__["data"][0]))
    if hasattr(value, "tobytes") and hasattr(value, "dtype"):  # a scalar of NumPy
        content: bytes = value.tobytes()
        return content
    handle = getattr(value, "handle", value)  # a buffer of cuda.core; a handle of the driver
    if hasattr(handle, "__int__"):
        number: SupportsInt = handle
        return packed(int(number))
    if hasattr(handle, "getPtr"):
        raise UnknownArgument(f"an argument of type {type(value).__name__} is a structure, which is not followed")
    raise UnknownArgument(f"an argument of type {type(value).__name__} has no bytes that are known")


def kernel_parameters(given: object, parameters: Sequence[NotedParameter]) -> list[bytes]:
    """The arguments of ``cuLaunchKernel``: ``kernelParams`` as cuda.bindings takes it, a pair of values and ctypes, or
    the address (also that of a buffer) of as many addresses as there are parameters."""
    if given is None or (isinstance(given, int) and given == 0):
        return []
    if isinstance(given, tuple) and len(given) == 2:
        values, types = given
        return [_of_type(value, kind) for value, kind in zip(values, types, strict=True)]
    start = given if isinstance(given, int) else _buffer_address(given)
    addresses = (ctypes.c_void_p * len(parameters)).from_address(start)
    return [ctypes.string_at(at or 0, width(each)) for at, each in zip(addresses, parameters, strict=True)]


def _of_type(value: Any, kind: Callable[[object], object] | None) -> bytes:
    if kind is None:
        if hasattr(value, "getPtr"):
            return ctypes.string_at(value.getPtr(), _POINTER_BYTES)
        return packed(value)
    if isinstance(value, ctypes._SimpleCData):
        value = value.value
    if kind is ctypes.c_void_p:
        return packed(int(value or 0))
    return packed(kind(value))


def _buffer_address(given: object) -> int:
    if hasattr(given, "ctypes"):  # of NumPy
        return int(given.ctypes.data)
    if isinstance(given, (ctypes.Array, ctypes._Pointer)):
        return ctypes.addressof(given) if isinstance(given, ctypes.Array) else ctypes.addressof(given.contents)
    raise UnknownArgument(f"kernelParams of type {type(given).__name__} are not known")


def width(parameter: NotedParameter) -> int:
    """Bytes of a parameter."""
    return _POINTER_BYTES if parameter["is_pointer"] else max(1, parameter["bits"] // 8)


def described(
    parameters: Sequence[NotedParameter], arguments: Sequence[bytes], owners: PointerOwners
) -> tuple[list[Described], list[object]]:
    """What the arguments mean to an entry, and the arrays behind them, as far as these are known.

    Raises `UnknownArgument` for too few arguments, bytes of the wrong width, and addresses that belong to nobody.
    """
    if len(arguments) != len(parameters):
        raise UnknownArgument(f"{len(arguments)} arguments for an entry that takes {len(parameters)}")
    found: list[Described] = []
    arrays: list[object] = []
    for number, (parameter, content) in enumerate(zip(parameters, arguments, strict=True)):
        if len(content) < width(parameter):
            raise UnknownArgument(
                f"argument {number} ({parameter['name']}) has {len(content)} bytes, and the kernel reads "
                f"{width(parameter)}"
            )
        if not parameter["is_pointer"]:
            found.append(_scalar(parameter, content[: width(parameter)]))
            arrays.append(None)
            continue
        address = int.from_bytes(content[:_POINTER_BYTES], "little")
        owner = owners.of(address) if address else Owner(0, (0,), (1,), max(1, parameter["bits"] // 8), 0)
        if owner is None:
            raise UnknownArgument(
                f"argument {number} ({parameter['name']}) is the address {address:#x}, which belongs to no array of "
                "torch, NumPy or CuPy and to no allocation that was seen"
            )
        if address and owner.aligned < parameter["divisor"] and address % parameter["divisor"]:
            raise UnknownArgument(
                f"argument {number} ({parameter['name']}) begins at an address that is no multiple of "
                f"{parameter['divisor']}, which the kernel takes for granted"
            )
        found.append(_array(parameter, owner))
        arrays.append(owner.array)
    return found, arrays


def _scalar(parameter: NotedParameter, content: bytes) -> Described:
    """Integers are read as signed, as the entry's type does not say otherwise."""
    dtype = parameter["dtype"]
    if dtype[0] in "iu":
        return {"kind": "scalar", "dtype": dtype, "value": int.from_bytes(content, "little", signed=dtype[0] == "i")}
    if dtype == "bool":
        return {"kind": "scalar", "dtype": dtype, "value": content[0] & 1}
    formats = {"f16": "<e", "f32": "<f", "f64": "<d"}
    value = repr(struct.unpack(formats[dtype], content)[0]) if dtype in formats else content.hex()
    return {"kind": "scalar", "dtype": dtype, "value": value}


def _array(parameter: NotedParameter, owner: Owner) -> DescribedArray:
    """In elements of the kernel's type: the owner's own shape where its elements are as wide, else one run of them."""
    bits = parameter["bits"]
    shape, strides = list(owner.shape), list(owner.strides)
    if bits != 8 * owner.item_bytes or not shape:
        last = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        size = (last + 1) * owner.item_bytes if all(shape) else 0
        shape, strides = [size * 8 // bits], [1]
    return {
        "kind": "array",
        "dtype": parameter["dtype"],
        "bits": bits,
        "shape": shape,
        "strides": strides,
        "address": owner.address,
        "index_bits": 32 if all(each <= _LARGEST_I32 for each in (*shape, *strides)) else 64,
        "aligned": owner.aligned,
    }


# ------------------------------------------------------------------------------------------------------------ compilers
# nvcc, started by the recorded program to make kernels of CUDA Tile C++: the Tile IR of what it makes.
#
# On a machine with a GPU nvcc runs once more with ``--tilebc``, and what it made first is known by its bytes.  Without
# one it is asked for Tile IR in the first place: nobody will run a cubin, and the assembler takes the most time.
#
# NVRTC needs no hook: its Tile IR (``nvrtcGetTileIR``) is what the program itself hands to the driver.


_WANTED = ("tilebc", "tilecubin", "tilefatbin", "cubin", "fatbin")
"""Options that say what nvcc makes of tile code; the first is Tile IR."""
_TILE_CODE = ("enable-tile", "tile-only", *_WANTED[:3])
_LONGEST_S = 600.0


def tile_command(command: object) -> list[str] | None:
    """``command`` with ``--tilebc`` in the place of what it wants, if it has nvcc compile tile code to one file of
    another kind."""
    if not isinstance(command, (list, tuple)) or not command:
        return None
    words = [os.fsdecode(word) for word in command]
    options = [word.lstrip("-") if word.startswith("-") else "" for word in words]
    is_nvcc = os.path.basename(words[0]) in ("nvcc", "nvcc.exe")
    if not is_nvcc or not set(options) & set(_TILE_CODE) or output_of(words) is None:
        return None
    if "tilebc" in options or not set(options) & set(_WANTED):
        return None
    kept = [word for word, option in zip(words, options, strict=True) if option not in _WANTED]
    return [kept[0], "--tilebc", *kept[1:]]


def output_of(words: Sequence[str]) -> str | None:
    """The file that nvcc is to write."""
    for word, following in zip(words, (*words[1:], ""), strict=True):
        if word in ("-o", "--output-file"):
            return following or None
        if word.startswith("--output-file="):
            return word.partition("=")[2]
    return None


def watch_nvcc(modules: Modules, *, runs: bool) -> None:
    """Put a `subprocess.Popen` of ours in the place of Python's, in this process."""

    class Popen(subprocess.Popen):  # type: ignore[type-arg]
        __doc__ = subprocess.Popen.__doc__

        def __init__(self, args: Any, *rest: Any, **options: Any) -> None:
            self._tile: list[str] | None = None
            instead = tile_command(args)
            if instead is not None and runs:
                self._tile = instead
                self._folder, self._environment = options.get("cwd"), options.get("env")
            super().__init__(args if instead is None or runs else instead, *rest, **options)

        def poll(self) -> int | None:
            return self._noted(super().poll())

        def wait(self, timeout: float | None = None) -> int:
            code = super().wait(timeout)
            self._noted(code)
            return code

        def communicate(
            self, input: str | bytes | None = None, timeout: float | None = None
        ) -> tuple[object, object]:  # fmt: skip
            told = super().communicate(input, timeout)
            self._noted(self.returncode)
            return told

        def _noted(self, code: int | None) -> int | None:
            if code is not None and self._tile is not None:
                command, self._tile = self._tile, None
                if code == 0:
                    _note_output(modules, command, self._folder, self._environment)
            return code

    subprocess.Popen = Popen  # type: ignore[misc]


def _note_output(
    modules: Modules, command: list[str], folder: str | None, environment: Mapping[str, str] | None
) -> None:
    """Note the bytecode of what nvcc has just made; a second run that fails leaves it unknown."""
    output = output_of(command)
    assert output is not None
    with tempfile.TemporaryDirectory(prefix="tileverify-") as made:
        target = Path(made) / "module.tileirbc"
        words = [str(target) if word == output else word.replace(f"={output}", f"={target}") for word in command]
        try:
            subprocess.run(words, cwd=folder, env=environment, capture_output=True, timeout=_LONGEST_S, check=False)
            image, bytecode = Path(folder or ".", output).read_bytes(), target.read_bytes()
        except (OSError, subprocess.SubprocessError):
            return
    if bytecode.startswith(MAGIC):
        modules.note(image, bytecode)
