"""``cuda.core``: kernels of modules that it loads, and ``launch``.

On a GPU its own objects stay, and this watches where they come from.  Without one, ``cuda_core_stand_ins`` take the
place of those that need a driver.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple, Protocol, SupportsInt, TypeAlias

from .driver_calls import DRIVER_VERSION, MILLISECONDS, Answer, NoDriver, address_of, missing, text
from .modules import NotedEntry, packed, width
from .pointer_owners import PointerOwners, host_memory
from .recorder import ModuleLaunches

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


# -------------------------------------------------------------------------------------------------- cuda core stand ins
# What of ``cuda.core`` needs a driver, on a machine without a GPU: one device, streams and events that do nothing,
# memory of the host, modules of Tile IR, and launches that end here.


class Capability(NamedTuple):
    major: int
    minor: int


class Imitated(NamedTuple):
    """The device that is imitated."""

    capability: tuple[int, int]
    multiprocessors: int
    name: str


class CudaStream(Protocol):
    """Of any package."""

    def __cuda_stream__(self) -> tuple[int, int]: ...


class CoreStream:
    """Of any handle; everything on it has happened."""

    def __init__(self, handle: int = 0) -> None:
        self.handle = handle

    @staticmethod
    def from_handle(handle: SupportsInt) -> CoreStream:
        return CoreStream(int(handle))

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle

    def sync(self) -> None:
        pass

    def close(self) -> None:
        pass

    def record(self, event: CoreEvent | None = None, options: object = None) -> CoreEvent:
        return event or CoreEvent()

    def wait(self, event_or_stream: object) -> None:
        pass


class CoreEvent:
    """``later - earlier`` is a millisecond."""

    handle = 0
    is_done = True

    def sync(self) -> None:
        pass

    def close(self) -> None:
        pass

    def __sub__(self, other: CoreEvent) -> float:
        return 1.0


class CoreBuffer:
    """Memory of the host under an address."""

    def __init__(self, handle: int, size: int, keeper: object, launches: ModuleLaunches) -> None:
        self.handle = handle
        self.size = size
        self._launches = launches
        launches.owners.note_allocated(handle, size, keeper)

    def close(self, stream: object = None) -> None:
        self._launches.owners.note_freed(self.handle)


class CoreLaunchConfig:
    """``grid``: blocks along three axes; the rest is no matter of tile kernels."""

    def __init__(self, grid: Axes, cluster: object = None, block: Axes | None = None, **options: object) -> None:
        self.grid = tuple(three_axes(grid))
        self.block = tuple(three_axes(1 if block is None else block))
        self.cluster = cluster
        for name, value in options.items():
            setattr(self, name, value)


class CoreKernel:
    """One entry of a module."""

    def __init__(self, handle: int, entry: NotedEntry | None) -> None:
        self.handle = handle
        self._entry = entry

    @property
    def num_arguments(self) -> int:
        return 0 if self._entry is None else len(self._entry["parameters"])

    @property
    def arguments_info(self) -> list[SimpleNamespace]:
        found, offset = [], 0
        for each in () if self._entry is None else self._entry["parameters"]:
            size = width(each)
            offset += -offset % size
            found.append(SimpleNamespace(offset=offset, size=size))
            offset += size
        return found


class CoreObjectCode:
    """A module that is loaded when a kernel of it is asked for."""

    launches: ModuleLaunches

    def __init__(
        self, code: bytes, kind: str, name: str = "", symbol_mapping: Mapping[object, object] | None = None
    ) -> None:
        self.code = code
        self.code_type = kind
        self.name = name
        self.symbol_mapping = dict(symbol_mapping or {})
        self._handle: int | None = None

    @property
    def handle(self) -> int:
        if self._handle is None:
            self._handle = self.launches.load(self.code)
        return self._handle

    def get_kernel(self, name: str | bytes) -> CoreKernel:
        """`RuntimeError` for one that a module of Tile IR does not have."""
        asked = text(name)
        symbol = text(self.symbol_mapping.get(asked, self.symbol_mapping.get(asked.encode(), asked)))
        entries = self.launches.entries(self.handle)
        if entries and symbol not in entries:
            raise RuntimeError(f"CUDA_ERROR_NOT_FOUND: the module has no kernel {symbol!r}")
        return CoreKernel(self.launches.kernel(self.handle, symbol), entries.get(symbol))


def _constructor(kind: str) -> staticmethod[..., CoreObjectCode]:
    def make(module: Image, *, name: str = "", symbol_mapping: Mapping[object, object] | None = None) -> CoreObjectCode:
        return CoreObjectCode(content_of(module), kind, name, symbol_mapping)

    return staticmethod(make)


for _kind in ("cubin", "fatbin", "ptx", "ltoir", "object", "library"):
    setattr(CoreObjectCode, f"from_{_kind}", _constructor(_kind))


class CoreDevice:
    """The one device, whatever its number."""

    device_id = 0
    uuid = "00000000-0000-0000-0000-000000000000"
    name: str
    arch: str
    compute_capability: Capability
    default_stream = CoreStream()
    properties: SimpleNamespace
    launches: ModuleLaunches

    def __init__(self, device_id: object = None) -> None:
        pass

    @classmethod
    def imitate(cls, imitated: Imitated, launches: ModuleLaunches) -> None:
        cls.name, cls.launches = imitated.name, launches
        cls.compute_capability = Capability(*imitated.capability)
        cls.arch = "".join(map(str, imitated.capability))
        cls.properties = SimpleNamespace(
            multiprocessor_count=imitated.multiprocessors,
            compute_capability_major=imitated.capability[0],
            compute_capability_minor=imitated.capability[1],
            warp_size=32,
            max_grid_dim_x=2**31 - 1,
            max_grid_dim_y=65535,
            max_grid_dim_z=65535,
        )

    @staticmethod
    def get_all_devices() -> tuple[CoreDevice, ...]:
        return (CoreDevice(),)

    def set_current(self, context: object = None) -> None:
        pass

    def sync(self) -> None:
        pass

    def create_stream(self, obj: CudaStream | None = None, options: object = None) -> CoreStream:
        return CoreStream() if obj is None else CoreStream(int(obj.__cuda_stream__()[1]))

    def create_event(self, options: object = None) -> CoreEvent:
        return CoreEvent()

    def allocate(self, size: int, stream: object = None) -> CoreBuffer:
        address, keeper = host_memory(size)
        return CoreBuffer(address, size, keeper, self.launches)


class RealProgram(Protocol):
    """cuda.core's own."""

    def compile(self, *arguments: object, **named: object) -> CoreObjectCode: ...

    def close(self) -> None: ...


class CoreProgram:
    """cuda.core's own compiles, which asks no driver; what it makes is a module of ours."""

    real: Callable[..., RealProgram]

    def __init__(self, *arguments: object, **named: object) -> None:
        self._program = self.real(*arguments, **named)

    def compile(self, *arguments: object, **named: object) -> CoreObjectCode:
        made = self._program.compile(*arguments, **named)
        code = made.code if isinstance(made.code, bytes) else str(made.code).encode()
        return CoreObjectCode(code, str(made.code_type), made.name, made.symbol_mapping)

    def close(self) -> None:
        self._program.close()


def install(core: ModuleType, launches: ModuleLaunches, imitated: Imitated) -> None:
    """``core`` was just imported."""

    def launch(stream: object, config: CoreLaunchConfig, kernel: CoreKernel, *kernel_args: object) -> None:
        def arguments(entry: NotedEntry) -> list[bytes]:
            return packed_all(kernel_args)

        launches.launched(kernel.handle, list(config.grid), arguments, "cuda.core")

    CoreObjectCode.launches = launches
    CoreDevice.imitate(imitated, launches)
    if core.Program is not CoreProgram:
        CoreProgram.real = core.Program
    stand_ins = (
        CoreDevice,
        CoreStream,
        CoreEvent,
        CoreBuffer,
        CoreLaunchConfig,
        CoreObjectCode,
        CoreKernel,
        CoreProgram,
    )
    named = [(each.__name__.removeprefix("Core"), each) for each in stand_ins]
    for name, value in [*named, ("launch", launch)]:
        if hasattr(core, name):
            setattr(core, name, value)


# ---------------------------------------------------------------------------------------------------- runtime stand ins
# ``cuda.bindings.runtime`` on a machine without a GPU: one device, events that lie a millisecond apart, memory of the
# host.
#
# A function that has no stand-in says so when it is called.


MEMORY_BYTES = 180 << 30
_STREAM = 0x2000
_EVENT = 0x3000


class RuntimeStandIns:
    """``owners``: who keeps memory that is allocated; ``device``: the one that is imitated."""

    def __init__(self, runtime: ModuleType, owners: PointerOwners, device: Imitated) -> None:
        self._runtime = runtime
        self._owners = owners
        self._device = device
        self._attributes = NoDriver(device.capability, device.multiprocessors)
        self._success = runtime.cudaError_t.cudaSuccess

    def install(self) -> None:
        """Every function of the module gets a stand-in, or one that tells that it has none."""
        known = self._answers()
        for name, value in list(vars(self._runtime).items()):
            if name.startswith("cuda") and name[4:5].isupper() and callable(value) and not isinstance(value, type):
                setattr(self._runtime, name, known.get(name) or missing(name, "cuda.bindings.runtime"))

    def _answers(self) -> dict[str, Callable[..., Answer]]:
        runtime = self._runtime
        nothing = (
            "cudaSetDevice cudaInitDevice cudaDeviceSynchronize cudaDeviceReset cudaSetDeviceFlags cudaStreamDestroy "
            "cudaStreamSynchronize cudaStreamQuery cudaStreamWaitEvent cudaEventRecord cudaEventRecordWithFlags "
            "cudaEventSynchronize cudaEventQuery cudaEventDestroy cudaGetLastError cudaPeekAtLastError "
            "cudaProfilerStart cudaProfilerStop cudaMemPrefetchAsync cudaMemAdvise cudaHostRegister cudaHostUnregister "
            "cudaFuncSetAttribute cudaKernelSetAttributeForDevice"
        )
        return {
            **{name: self._always() for name in nothing.split()},
            "cudaDriverGetVersion": self._always(DRIVER_VERSION),
            "cudaRuntimeGetVersion": self._always(DRIVER_VERSION),
            "cudaGetDevice": self._always(0),
            "cudaGetDeviceCount": self._always(1),
            "cudaGetDeviceProperties": self._properties,
            "cudaDeviceGetAttribute": lambda number, device=0: (
                self._success, self._attributes.attribute(int(number))
            ),
            "cudaDeviceGetStreamPriorityRange": self._always(0, 0),
            "cudaMemGetInfo": self._always(MEMORY_BYTES, MEMORY_BYTES),
            "cudaStreamIsCapturing": lambda stream: (
                self._success, runtime.cudaStreamCaptureStatus.cudaStreamCaptureStatusNone
            ),
            "cudaGetErrorName": self._always(b"cudaSuccess"),
            "cudaGetErrorString": self._always(b"no error"),
            **dict.fromkeys(
                ("cudaStreamCreate", "cudaStreamCreateWithFlags", "cudaStreamCreateWithPriority"),
                lambda *flags: (self._success, runtime.cudaStream_t(_STREAM)),
            ),
            **dict.fromkeys(
                ("cudaEventCreate", "cudaEventCreateWithFlags"),
                lambda *flags: (self._success, runtime.cudaEvent_t(_EVENT)),
            ),
            "cudaEventElapsedTime": self._always(MILLISECONDS),
            **dict.fromkeys(
                ("cudaMalloc", "cudaMallocAsync", "cudaMallocManaged", "cudaMallocHost", "cudaHostAlloc"),
                self._allocate,
            ),
            **dict.fromkeys(("cudaFree", "cudaFreeAsync", "cudaFreeHost"), self._free),
            **dict.fromkeys(("cudaMemcpy", "cudaMemcpyAsync"), self._copy),
            **dict.fromkeys(("cudaMemset", "cudaMemsetAsync"), self._fill),
        }  # fmt: skip

    def _always(self, *values: object) -> Callable[..., Answer]:
        return lambda *arguments, **named: (self._success, *values)

    def _properties(self, device: SupportsInt) -> Answer:
        found = self._runtime.cudaDeviceProp()
        found.name = self._device.name.encode()
        found.major, found.minor = self._device.capability
        found.multiProcessorCount = self._device.multiprocessors
        found.totalGlobalMem = MEMORY_BYTES
        found.warpSize = 32
        return self._success, found

    def _allocate(self, size: int, *rest: object) -> Answer:
        address, keeper = host_memory(int(size))
        self._owners.note_allocated(address, int(size), keeper)
        return self._success, address

    def _free(self, address: SupportsInt, *rest: object) -> Answer:
        self._owners.note_freed(int(address))
        return (self._success,)

    def _copy(self, target: SupportsInt, source: SupportsInt, size: int, *rest: object) -> Answer:
        ctypes.memmove(address_of(target), address_of(source), int(size))
        return (self._success,)

    def _fill(self, target: SupportsInt, value: int, size: int, *stream: object) -> Answer:
        ctypes.memset(address_of(target), int(value), int(size))
        return (self._success,)
