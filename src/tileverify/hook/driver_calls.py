"""``cuda.bindings.driver``: what is loaded and launched through it is recorded.

On a GPU each function does what it did, and is told of afterwards.  Without one, stand-ins answer for a driver
(``driver_stand_ins``).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Protocol, SupportsInt

from .module_launches import ModuleLaunches
from .modules import NotedEntry
from .packed_arguments import kernel_parameters

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
