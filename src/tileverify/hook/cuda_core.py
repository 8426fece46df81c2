"""``cuda.core``: kernels of modules that it loads, and ``launch``.

On a GPU its own objects stay, and this watches where they come from.  Without one, ``cuda_core_stand_ins`` take the
place of those that need a driver.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Protocol, SupportsInt, TypeAlias

from .module_launches import ModuleLaunches
from .modules import NotedEntry
from .packed_arguments import packed

Image: TypeAlias = "bytes | bytearray | str | os.PathLike[str]"
Axes: TypeAlias = "SupportsInt | Sequence[SupportsInt]"


class Core(Protocol):
    """A module or kernel of cuda.core."""

    @property
    def handle(self) -> SupportsInt: ...


class Config(Protocol):
    """``LaunchConfig``."""

    @property
    def grid(self) -> Axes: ...


def content_of(module: Image) -> bytes:
    """What ``ObjectCode.from_cubin`` takes: the image, or the path of its file."""
    if isinstance(module, (bytes, bytearray)):
        return bytes(module)
    with open(os.fspath(module), "rb") as file:
        return file.read()


def three_axes(axes: Axes) -> list[int]:
    """A grid or block of ``LaunchConfig``."""
    given = list(axes) if isinstance(axes, Sequence) else [axes]
    return [int(axis) for axis in given] + [1] * (3 - len(given))


def packed_all(arguments: Sequence[object]) -> list[bytes]:
    return [packed(argument) for argument in arguments]


class CudaCore:
    """Watches ``core``, a module that was just imported, while a GPU runs what is launched."""

    def __init__(self, core: ModuleType, launches: ModuleLaunches) -> None:
        self._core = core
        self._launches = launches
        self._made: list[tuple[Core, bytes]] = []

    def install(self) -> None:
        self._core.ObjectCode = self._object_code()  # type: ignore[attr-defined]
        self._core.Program = self._program()  # type: ignore[attr-defined]
        self._core.launch = self._launch()  # type: ignore[attr-defined]

    def _object_code(self) -> type:
        original = self._core.ObjectCode
        made = self._made

        class _AsTheOriginal(type):
            def __instancecheck__(cls, instance: object) -> bool:
                return isinstance(instance, original)

        class ObjectCode(metaclass=_AsTheOriginal):
            """Makes cuda.core's own objects, and keeps what they were made of."""

            __doc__ = original.__doc__

        def watched(name: str) -> staticmethod[..., object]:
            make = getattr(original, name)

            def watched_make(module: Image, *rest: object, **named: object) -> object:
                found = make(module, *rest, **named)
                made.append((found, content_of(module)))
                return found

            return staticmethod(watched_make)

        for name in ("from_cubin", "from_fatbin", "from_ptx", "from_ltoir", "from_object", "from_library"):
            if hasattr(original, name):
                setattr(ObjectCode, name, watched(name))
        return ObjectCode

    def _program(self) -> type:
        original: Any = self._core.Program
        made = self._made

        class Program(original):  # type: ignore[misc]
            __doc__ = original.__doc__

            def compile(self, *arguments: object, **named: object) -> object:
                found = super().compile(*arguments, **named)
                if isinstance(found.code, bytes):
                    made.append((found, found.code))
                return found

        return Program

    def _launch(self) -> Callable[..., None]:
        original = self._core.launch

        def launch(stream: object, config: Config, kernel: Core, *kernel_args: object) -> None:
            self._note(config, kernel, kernel_args)
            original(stream, config, kernel, *kernel_args)

        return launch

    def _note(self, config: Config, kernel: Core, arguments: Sequence[object]) -> None:
        def all_packed(entry: NotedEntry) -> list[bytes]:
            return packed_all(arguments)

        number = self._number(kernel)
        if number is not None:
            self._launches.launched(number, three_axes(config.grid), all_packed, "cuda.core")

    def _number(self, kernel: Core) -> int | None:
        """The kernel's handle, once its module and its name are known."""
        from cuda.bindings import driver

        number = int(kernel.handle)
        if self._launches.symbol(number) is not None:
            return number
        self._load_all()
        (error, library), (failed, name) = (
            driver.cuKernelGetLibrary(kernel.handle),
            driver.cuKernelGetName(kernel.handle),
        )
        if int(error) or int(failed):
            return None
        symbol = name.decode() if isinstance(name, bytes) else str(name)
        return self._launches.kernel(int(library), symbol, number)

    def _load_all(self) -> None:
        """Tell of the modules that were made since the last time, under the driver's numbers."""
        made, self._made[:] = list(self._made), []
        for each, image in made:
            if self._launches.holds_tile_ir(image):
                self._launches.load(image, int(each.handle))
