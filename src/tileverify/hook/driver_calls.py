"""``cuda.bindings.driver``: what is loaded and launched through it is recorded.

On a GPU each function does what it did, and is told of afterwards.  Without one, stand-ins answer for a driver
(``driver_stand_ins``).
"""

from __future__ import annotations

import ctypes
import sys
import types
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_uint64, c_void_p
from types import ModuleType
from typing import Any, Protocol, SupportsInt

from .modules import NotedEntry, kernel_parameters
from .pointer_owners import host_memory
from .recorder import ModuleLaunches

Answer = tuple[Any, ...]
"""What a function of the driver returns: the result code, then what it gives."""

_HEADER_BYTES = 64
"""Of an ELF file (``Elf64_Ehdr``)."""


class LaunchConfig(Protocol):
    """``CUlaunchConfig``."""

    gridDimX: SupportsInt  # noqa: N815 (as the driver calls it)
    gridDimY: SupportsInt  # noqa: N815
    gridDimZ: SupportsInt  # noqa: N815


def image_bytes(image: Any) -> bytes:
    """What a program gives the driver as a module: bytes, or the address of a cubin or of Tile IR, whose end is sought.

    Empty where it is neither.
    """
    if isinstance(image, (bytes, bytearray, memoryview)):
        return bytes(image)
    if hasattr(image, "ctypes"):  # an array of NumPy
        return bytes(image)
    address = image if isinstance(image, int) else 0
    if not address or ctypes.string_at(address, 4) != b"\x7fELF":
        return b""
    header = ctypes.string_at(address, _HEADER_BYTES)
    sections, each, count = (int.from_bytes(header[a:b], "little") for a, b in ((40, 48), (58, 60), (60, 62)))
    return ctypes.string_at(address, sections + each * count)


def text(name: object) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)


class DriverCalls:
    """Watches the functions of ``driver``, a module that was just imported, while a GPU runs what is launched."""

    def __init__(self, driver: ModuleType, launches: ModuleLaunches) -> None:
        self._driver = driver
        self._launches = launches

    def install(self) -> None:
        followed: dict[str, Callable[..., None]] = {
            "cuModuleLoadData": self._loaded,
            "cuModuleLoadDataEx": self._loaded,
            "cuModuleLoadFatBinary": self._loaded,
            "cuLibraryLoadData": self._loaded,
            "cuModuleLoad": self._loaded_file,
            "cuLibraryLoadFromFile": self._loaded_file,
            "cuModuleGetFunction": self._kernel_asked,
            "cuLibraryGetKernel": self._kernel_asked,
            "cuModuleEnumerateFunctions": self._functions_listed,
            "cuLibraryEnumerateKernels": self._kernels_listed,
            "cuKernelGetFunction": self._function_of_kernel,
            "cuLibraryGetModule": self._module_of_library,
            "cuMemAlloc": self._allocated,
            "cuMemAllocAsync": self._allocated,
            "cuMemAllocManaged": self._allocated,
            "cuMemFree": self._freed,
            "cuMemFreeAsync": self._freed,
        }
        for name, after in followed.items():
            self._follow(name, after)
        self._precede("cuLaunchKernel", self._launched)
        self._precede("cuLaunchKernelEx", self._launched_with)

    def _follow(self, name: str, after: Callable[..., None]) -> None:
        """``after`` the function, if it succeeded: with what it returned, then its arguments."""
        original = getattr(self._driver, name, None)
        if original is None:
            return

        def followed(*arguments: object, **named: object) -> Answer:
            answer: Answer = original(*arguments, **named)
            if int(answer[0]) == 0:
                after(answer, *arguments, **named)
            return answer

        setattr(self._driver, name, followed)

    def _precede(self, name: str, before: Callable[..., None]) -> None:
        original = getattr(self._driver, name, None)
        if original is None:
            return

        def preceded(*arguments: object, **named: object) -> Answer:
            before(*arguments, **named)
            answer: Answer = original(*arguments, **named)
            return answer

        setattr(self._driver, name, preceded)

    # -------------------------------------------------------------------------------------------- modules
    def _loaded(self, answer: Answer, image: object = None, *rest: object, **named: object) -> None:
        content = image_bytes(image if image is not None else next(iter(named.values())))
        self._launches.load(content, int(answer[1]))

    def _loaded_file(self, answer: Answer, name: str | bytes, *rest: object, **named: object) -> None:
        with open(name, "rb") as file:
            self._launches.load(file.read(), int(answer[1]))

    def _kernel_asked(self, answer: Answer, module: SupportsInt, name: object) -> None:
        self._launches.kernel(int(module), text(name), int(answer[1]))

    def _functions_listed(self, answer: Answer, count: int, module: SupportsInt) -> None:
        self._listed(answer[1], int(module), self._driver.cuFuncGetName)

    def _kernels_listed(self, answer: Answer, count: int, library: SupportsInt) -> None:
        self._listed(answer[1], int(library), self._driver.cuKernelGetName)

    def _listed(self, found: Sequence[SupportsInt], module: int, name_of: Callable[[SupportsInt], Answer]) -> None:
        for each in found:
            error, name = name_of(each)
            if int(error) == 0:
                self._launches.kernel(module, text(name), int(each))

    def _function_of_kernel(self, answer: Answer, kernel: SupportsInt) -> None:
        self._launches.same_kernel(int(kernel), int(answer[1]))

    def _module_of_library(self, answer: Answer, library: SupportsInt) -> None:
        self._launches.same_module(int(library), int(answer[1]))

    # --------------------------------------------------------------------------------- memory and launches
    def _allocated(self, answer: Answer, size: int, *rest: object) -> None:
        self._launches.owners.note_allocated(int(answer[1]), int(size))

    def _freed(self, answer: Answer, address: SupportsInt, *rest: object) -> None:
        self._launches.owners.note_freed(int(address))

    def _launched(self, function: SupportsInt, *rest: object) -> None:
        launched_in_order(self._launches, function, rest)

    def _launched_with(
        self, config: LaunchConfig, function: SupportsInt, parameters: object, extra: SupportsInt = 0
    ) -> None:
        grid = (config.gridDimX, config.gridDimY, config.gridDimZ)
        launched(self._launches, function, grid, parameters, extra)


def launched_in_order(launches: ModuleLaunches, function: SupportsInt, rest: Sequence[Any]) -> None:
    """``rest``: what ``cuLaunchKernel`` takes behind the function."""
    launched(launches, function, rest[:3], rest[8], rest[9] if len(rest) > 9 else 0)


def launched(
    launches: ModuleLaunches,
    function: SupportsInt,
    grid: Sequence[SupportsInt],
    parameters: object,
    extra: SupportsInt,
) -> None:
    """A launch by ``cuLaunchKernel`` or ``cuLaunchKernelEx``."""

    def arguments(entry: NotedEntry) -> list[bytes]:
        if extra and int(extra):
            raise ValueError("its arguments are packed in one buffer (extra of cuLaunchKernel), which is not followed")
        return kernel_parameters(parameters, entry["parameters"])

    launches.launched(int(function), [int(axis) for axis in grid], arguments, "driver")


# ----------------------------------------------------------------------------------------------------- driver stand ins
# ``cuda.bindings.driver`` on a machine without a GPU: one device, modules of Tile IR, memory of the host.
#
# Kernels do not run.  A function that has no stand-in says so when it is called.


_CONTEXT = 0x1000
_STREAM = 0x2000
_EVENT = 0x3000
MILLISECONDS = 1.0
"""Between any two events."""


class DriverStandIns:
    """``name``: of the device; ``device``: who answers for its attributes."""

    def __init__(self, driver: ModuleType, launches: ModuleLaunches, device: NoDriver, name: str) -> None:
        self._driver = driver
        self._launches = launches
        self._device = device
        self._name = name
        self._success = driver.CUresult.CUDA_SUCCESS

    def install(self) -> None:
        """Every function of the module gets a stand-in, or one that tells that it has none."""
        known = self._answers()
        for name in [each for each in vars(self._driver) if each.startswith("cu") and each[2:3].isupper()]:
            if callable(getattr(self._driver, name)):
                setattr(self._driver, name, known.get(name) or missing(name, "cuda.bindings.driver"))

    def _answers(self) -> dict[str, Callable[..., Answer]]:
        driver = self._driver
        nothing = (
            "cuInit cuCtxSetCurrent cuCtxPushCurrent cuCtxSynchronize cuCtxDestroy cuDevicePrimaryCtxRelease "
            "cuStreamSynchronize cuStreamDestroy cuStreamWaitEvent cuStreamQuery cuEventRecord cuEventSynchronize "
            "cuEventDestroy cuEventQuery cuModuleUnload cuLibraryUnload cuFuncSetAttribute cuKernelSetAttribute "
            "cuFuncSetCacheConfig cuFuncLoad"
        )
        return {
            **{name: self._always() for name in nothing.split()},
            "cuDriverGetVersion": self._always(DRIVER_VERSION),
            "cuDeviceGet": self._always(driver.CUdevice(0)),
            "cuDeviceGetCount": self._always(1),
            "cuDeviceGetName": self._always(self._name.encode()),
            "cuDeviceGetAttribute": self._attribute,
            "cuCtxGetCurrent": self._always(driver.CUcontext(_CONTEXT)),
            "cuCtxCreate": self._always(driver.CUcontext(_CONTEXT)),
            "cuCtxPopCurrent": self._always(driver.CUcontext(_CONTEXT)),
            "cuDevicePrimaryCtxRetain": self._always(driver.CUcontext(_CONTEXT)),
            "cuCtxGetDevice": self._always(driver.CUdevice(0)),
            "cuStreamCreate": self._always(driver.CUstream(_STREAM)),
            "cuStreamCreateWithPriority": self._always(driver.CUstream(_STREAM)),
            "cuStreamIsCapturing": self._always(driver.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE),
            "cuEventCreate": self._always(driver.CUevent(_EVENT)),
            "cuEventElapsedTime": self._always(MILLISECONDS),
            "cuGetErrorName": self._always(b"CUDA_SUCCESS"),
            "cuGetErrorString": self._always(b"no error"),
            "cuModuleLoadData": self._load(driver.CUmodule),
            "cuModuleLoadDataEx": self._load(driver.CUmodule),
            "cuModuleLoadFatBinary": self._load(driver.CUmodule),
            "cuLibraryLoadData": self._load(driver.CUlibrary),
            "cuModuleLoad": self._load_file(driver.CUmodule),
            "cuLibraryLoadFromFile": self._load_file(driver.CUlibrary),
            "cuLibraryGetModule": lambda library: (self._success, driver.CUmodule(int(library))),
            "cuModuleGetFunction": self._get(driver.CUfunction),
            "cuLibraryGetKernel": self._get(driver.CUkernel),
            "cuKernelGetFunction": lambda kernel: (self._success, driver.CUfunction(int(kernel))),
            "cuModuleGetFunctionCount": self._count,
            "cuLibraryGetKernelCount": self._count,
            "cuModuleEnumerateFunctions": self._list(driver.CUfunction),
            "cuLibraryEnumerateKernels": self._list(driver.CUkernel),
            "cuFuncGetName": self._name_of,
            "cuKernelGetName": self._name_of,
            "cuMemAlloc": self._allocate,
            "cuMemAllocAsync": self._allocate,
            "cuMemAllocManaged": self._allocate,
            "cuMemFree": self._free,
            "cuMemFreeAsync": self._free,
            "cuMemcpyHtoD": self._copy,
            "cuMemcpyHtoDAsync": self._copy,
            "cuMemcpyDtoH": self._copy,
            "cuMemcpyDtoHAsync": self._copy,
            "cuMemcpyDtoD": self._copy,
            "cuMemcpyDtoDAsync": self._copy,
            "cuMemcpy": self._copy,
            "cuMemcpyAsync": self._copy,
            "cuMemsetD8": self._fill,
            "cuMemsetD8Async": self._fill,
            "cuLaunchKernel": self._launch,
            "cuLaunchKernelEx": self._launch_with,
        }

    def _always(self, *values: object) -> Callable[..., Answer]:
        return lambda *arguments, **named: (self._success, *values)

    def _attribute(self, attribute: SupportsInt, device: SupportsInt) -> Answer:
        return self._success, self._device.attribute(int(attribute))

    # -------------------------------------------------------------------------------------------- modules
    def _load(self, kind: type) -> Callable[..., Answer]:
        return lambda image, *rest: (self._success, kind(self._launches.load(image_bytes(image))))

    def _load_file(self, kind: type) -> Callable[..., Answer]:
        def load(name: str | bytes, *rest: object) -> Answer:
            with open(name, "rb") as file:
                return self._success, kind(self._launches.load(file.read()))

        return load

    def _get(self, kind: type) -> Callable[..., Answer]:
        def get(module: SupportsInt, name: object) -> Answer:
            entries = self._launches.entries(int(module))
            if entries and text(name) not in entries:
                return self._driver.CUresult.CUDA_ERROR_NOT_FOUND, None
            return self._success, kind(self._launches.kernel(int(module), text(name)))

        return get

    def _count(self, module: SupportsInt) -> Answer:
        return self._success, len(self._launches.entries(int(module)))

    def _list(self, kind: type) -> Callable[..., Answer]:
        def listed(count: int, module: SupportsInt) -> Answer:
            symbols = list(self._launches.entries(int(module)))[: int(count)]
            return self._success, [kind(self._launches.kernel(int(module), symbol)) for symbol in symbols]

        return listed

    def _name_of(self, kernel: SupportsInt) -> Answer:
        symbol = self._launches.symbol(int(kernel))
        if symbol is None:
            return self._driver.CUresult.CUDA_ERROR_INVALID_HANDLE, None
        return self._success, symbol.encode()

    # --------------------------------------------------------------------------------- memory and launches
    def _allocate(self, size: int, *rest: object) -> Answer:
        address, keeper = host_memory(int(size))
        self._launches.owners.note_allocated(address, int(size), keeper)
        return self._success, self._driver.CUdeviceptr(address)

    def _free(self, address: SupportsInt, *rest: object) -> Answer:
        self._launches.owners.note_freed(int(address))
        return (self._success,)

    def _copy(self, target: SupportsInt, source: SupportsInt, size: int, *stream: object) -> Answer:
        ctypes.memmove(address_of(target), address_of(source), int(size))
        return (self._success,)

    def _fill(self, target: SupportsInt, value: int, size: int, *stream: object) -> Answer:
        ctypes.memset(address_of(target), int(value), int(size))
        return (self._success,)

    def _launch(self, function: SupportsInt, *rest: object) -> Answer:
        launched_in_order(self._launches, function, rest)
        return (self._success,)

    def _launch_with(
        self, config: LaunchConfig, function: SupportsInt, parameters: object, extra: SupportsInt = 0
    ) -> Answer:
        grid = (config.gridDimX, config.gridDimY, config.gridDimZ)
        launched(self._launches, function, grid, parameters, extra)
        return (self._success,)


def address_of(memory: SupportsInt | bytes | bytearray) -> int:
    """Of a number of the driver, an array of NumPy, or any object with a buffer."""
    if hasattr(memory, "ctypes"):
        return int(memory.ctypes.data)
    if isinstance(memory, bytes):
        return int(ctypes.cast(ctypes.c_char_p(memory), ctypes.c_void_p).value or 0)
    if isinstance(memory, bytearray):
        return ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if isinstance(memory, ctypes.Array):
        return ctypes.addressof(memory)
    return int(memory)


def missing(name: str, module: str) -> Callable[..., Answer]:
    """What says that the function has no stand-in, when it is called."""

    def called(*arguments: object, **named: object) -> Answer:
        raise NotImplementedError(f"record --no-gpu has no stand-in for {name} of {module}")

    return called


# ------------------------------------------------------------------------------------------------------------ no driver
# A CUDA driver that does nothing, made of Python callbacks.
#
# ``cuda.tile``'s C extension reaches the driver through one number, ``cuGetProcAddress_v2_ptrptr`` of the module
# ``cuda.tile._load_libcuda``: the address of a pointer to ``cuGetProcAddress_v2``, read when the first array argument
# is looked at.  Offering that module with a callback of our own lets the extension derive JIT signatures on a machine
# without a GPU, and needs neither a C compiler nor a ``libcuda.so``.  Every entry point succeeds; only questions about
# the device get an answer.


_MODULE = "cuda.tile._load_libcuda"

DRIVER_VERSION = 13040
"""What ``cuDriverGetVersion`` answers: CUDA 13.4."""


# CUdevice_attribute numbers (cuda.h) and answers; the compute capability is added when the driver is made.
_MAX_THREADS_PER_BLOCK = 1
_MAX_GRID = {5: 2**31 - 1, 6: 65535, 7: 65535}
_MULTIPROCESSORS = 16
_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76


class NumberPointer(Protocol):
    """A pointer to one number."""

    def __setitem__(self, index: int, value: int | None, /) -> None: ...


class NoDriver:
    """The callbacks, kept alive for as long as the process runs.

    ``capability`` is the compute capability that the device claims, ``multiprocessors`` its number of SMs.
    """

    def __init__(self, capability: tuple[int, int], multiprocessors: int) -> None:
        self._attributes = {
            **_MAX_GRID,
            _MULTIPROCESSORS: multiprocessors,
            _CAPABILITY_MAJOR: capability[0],
            _CAPABILITY_MINOR: capability[1],
        }
        out_int, out_pointer = POINTER(c_int), POINTER(c_void_p)
        succeed = CFUNCTYPE(c_int)(lambda: 0)
        context: Callable[..., int] = _answer(_CONTEXT)
        self._entry_points: dict[bytes, ctypes._CFunctionType] = {
            b"cuDriverGetVersion": CFUNCTYPE(c_int, out_int)(_answer(DRIVER_VERSION)),
            b"cuDeviceGetCount": CFUNCTYPE(c_int, out_int)(_answer(1)),
            b"cuDeviceGet": CFUNCTYPE(c_int, out_int, c_int)(_answer(0)),
            b"cuDeviceGetAttribute": CFUNCTYPE(c_int, out_int, c_int, c_int)(self._device_attribute),
            b"cuDevicePrimaryCtxRetain": CFUNCTYPE(c_int, out_pointer, c_int)(context),
            b"cuCtxGetCurrent": CFUNCTYPE(c_int, out_pointer)(context),
            b"cuCtxGetDevice": CFUNCTYPE(c_int, out_int)(_answer(0)),
            b"cuCtxGetId": CFUNCTYPE(c_int, c_void_p, POINTER(c_uint64))(lambda _, out: _store(out, 1)),
            b"cuStreamGetCtx": CFUNCTYPE(c_int, c_void_p, out_pointer)(lambda _, out: _store(out, _CONTEXT)),
            b"cuStreamIsCapturing": CFUNCTYPE(c_int, c_void_p, out_int)(lambda _, out: _store(out, 0)),
        }
        self._succeed = succeed
        self._get_proc_address = CFUNCTYPE(c_int, c_char_p, out_pointer, c_int, c_uint64, out_int)(self._look_up)
        self._slot = c_void_p(ctypes.cast(self._get_proc_address, c_void_p).value)

    def _look_up(self, name: bytes, out: NumberPointer, version: int, flags: int, status: NumberPointer | None) -> int:
        out[0] = ctypes.cast(self._entry_points.get(name, self._succeed), c_void_p).value
        if status:
            status[0] = 0
        return 0

    def attribute(self, number: int) -> int:
        """Of the device (``CUdevice_attribute``)."""
        return self._attributes.get(number, 1024)

    def _device_attribute(self, out: NumberPointer, attribute: int, device: int) -> int:
        return _store(out, self.attribute(attribute))

    def offer(self) -> None:
        """Put the stand-in where ``cuda.tile`` looks for the driver; it must not have looked yet."""
        module = types.ModuleType(_MODULE, __doc__)
        module.cuGetProcAddress_v2_ptrptr = ctypes.addressof(self._slot)  # type: ignore[attr-defined]
        module.driver = self  # type: ignore[attr-defined]
        sys.modules[_MODULE] = module


def stand_in() -> NoDriver | None:
    """The driver that was offered in this process, if one was."""
    offered: NoDriver | None = getattr(sys.modules.get(_MODULE), "driver", None)
    return offered


def _store(out: NumberPointer, value: int) -> int:
    out[0] = value
    return 0


def _answer(value: int) -> Callable[..., int]:
    return lambda out, *_: _store(out, value)
