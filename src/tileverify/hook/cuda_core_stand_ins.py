"""What of ``cuda.core`` needs a driver, on a machine without a GPU: one device, streams and events that do nothing,
memory of the host, modules of Tile IR, and launches that end here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType, SimpleNamespace
from typing import NamedTuple, Protocol, SupportsInt

from .cuda_core import Axes, Image, content_of, packed_all, three_axes
from .driver_calls import text
from .module_launches import ModuleLaunches
from .modules import NotedEntry
from .packed_arguments import width
from .pointer_owners import host_memory


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
