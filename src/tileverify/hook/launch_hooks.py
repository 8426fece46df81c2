"""Every way in which ``cuda.tile`` launches a kernel, with the recorder in front of it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Protocol, TypeGuard

from . import described_launch
from .described_launch import Described
from .foreign import Grid, Interpret, JitSignature, Observer, TileKernel
from .interpreting import without_imitation
from .jax_calls import JaxCalls

Function = Callable[..., object]
"""One of ``cuda.tile``, or what stands in front of it."""

TUNING_TIME_US = 10.0
"""What a measurement reports when nothing runs: equal times make a tuner keep its first configuration."""


class LaunchHooks:
    """Replaces the launch functions.  With ``runs`` launches go on to the GPU, else they end here, after ``interpret``
    ran them if there is one.

    ``configurations`` is how many configurations of a tuning run are looked at when nothing runs.
    """

    def __init__(
        self, recorder: Observer, *, runs: bool, configurations: int, interpret: Interpret | None = None
    ) -> None:
        self._recorder = recorder
        self._runs = runs
        self._interpret = interpret
        self._configurations = configurations

    def install_extension(self, extension: ModuleType) -> None:
        """The C extension ``cuda.tile._cext`` was imported; ``cuda.tile`` fetches its launch functions from it next,
        or has done so."""
        public = sys.modules.get("cuda.tile")
        for name, hooked in (
            ("launch", self._launch_function),
            ("launch_extended", self._extended_launch_function),
            ("_benchmark", self._benchmark_function),
        ):
            original = getattr(extension, name, None)
            if original is None:  # not every version of cuda.tile has launch_extended
                continue
            replacement = hooked(original)
            setattr(extension, name, replacement)
            if getattr(public, name, None) is original:
                setattr(public, name, replacement)

    def install_launcher(self, launching: ModuleType) -> None:
        """``tileverify.launching.launcher`` was imported: launches that are verified are not made by ``cuda.tile``."""
        launching.Launcher.planned = self._planned_function(launching.Launcher.planned)

    def install_jax(self, module: ModuleType) -> None:
        """``cuda.tile.jax._jax`` was imported."""
        if module.HAS_JAX:
            JaxCalls(module, self._record_traced, runs=self._runs, interpret=self._interpret).install()

    def install_tune(self, tune: ModuleType) -> None:
        """``cuda.tile.tune._tune`` was imported."""
        if not self._runs:
            search = thinned_search(tune.exhaustive_search, self._configurations)
            tune.exhaustive_search = search  # type: ignore[attr-defined]

    def install_tune_utilities(self, utilities: ModuleType) -> None:
        """``cuda.tile.tune._tune_utils`` was imported: measurements in a second process."""
        name = "benchmark_with_timeout"
        setattr(utilities, name, self._benchmark_function(getattr(utilities, name)))

    def _launch_function(self, launch: Function) -> Function:
        def recorded_launch(
            stream: object, grid: Grid, kernel: TileKernel, kernel_args: Sequence[object], /, **options: object
        ) -> object:
            self._record(kernel, grid, kernel_args, "launch")
            if self._runs:
                return launch(stream, grid, kernel, kernel_args, **options)
            self._interpreted(kernel, grid, kernel_args)
            return None

        return recorded_launch

    def _extended_launch_function(self, launch: Function) -> Function:
        """``cuda.tile`` keeps it to itself, but tile kernels can be launched with it."""

        def recorded_launch(
            stream: object,
            blocks: Grid,
            threads: object,
            kernel: TileKernel,
            kernel_args: Sequence[object],
            /,
            **options: object,
        ) -> object:
            if not hasattr(kernel, "_annotated_function"):  # no tile kernel
                return launch(stream, blocks, threads, kernel, kernel_args, **options)
            self._record(kernel, blocks, kernel_args, "launch")
            if self._runs:
                return launch(stream, blocks, threads, kernel, kernel_args, **options)
            self._interpreted(kernel, blocks, kernel_args)
            return None

        return recorded_launch

    def _interpreted(self, kernel: TileKernel, grid: Grid, arguments: Sequence[object]) -> None:
        if self._interpret is not None:
            self._interpret(kernel, grid, arguments)

    def _benchmark_function(self, benchmark: Function) -> Function:
        def recorded_benchmark(
            stream: object, grid: Grid, kernel: TileKernel, arguments: Sequence[object], *rest: object
        ) -> object:
            self._record(kernel, grid, _one_launch(kernel, arguments), "tune")
            return benchmark(stream, grid, kernel, arguments, *rest) if self._runs else TUNING_TIME_US

        return recorded_benchmark

    def _planned_function(self, planned: Function) -> Function:
        def recorded_plan(
            launcher: object,
            stream: object,
            grid: Grid | None,
            kernel: TileKernel,
            arguments: Sequence[object],
            **options: object,
        ) -> object:
            if grid is not None and hasattr(kernel, "_annotated_function"):
                self._record(kernel, grid, arguments, "tileverify")
            with contextlib.nullcontext() if self._runs else without_imitation():
                return planned(launcher, stream, grid, kernel, arguments, **options)

        return recorded_plan

    def _record(self, kernel: TileKernel, grid: Grid, arguments: Sequence[object], how: str) -> None:
        """Where nothing runs, NumPy arrays stand for arrays on the GPU, and a refused launch raises here."""
        seen = arguments if self._runs else _all_as_cuda(arguments)
        refused = self._recorder.launch(kernel, grid, seen, how)
        if refused is not None and not self._runs:
            raise refused

    def _record_traced(
        self,
        kernel: TileKernel,
        grid: Grid,
        signature: JitSignature,
        described: Sequence[Described],
        alias: Sequence[Sequence[str]],
    ) -> None:
        refused = self._recorder.traced(kernel, grid, signature, described, alias, "jax")
        if refused is not None and not self._runs:
            raise refused


def thinned_search(search: Function, configurations: int) -> Function:
    """``exhaustive_search`` over so many configurations of its search space, with arguments made once for each."""

    def few_are_searched(
        search_space: Iterable[object],
        stream: object,
        grid_fn: object,
        kernel: TileKernel,
        args_fn: Callable[[object], tuple[object, ...]],
        *rest: object,
        **options: object,
    ) -> object:
        made: dict[int, tuple[object, ...]] = {}

        def args_once(configuration: object) -> tuple[object, ...]:
            if id(configuration) not in made:
                made[id(configuration)] = args_fn(configuration)
            return made[id(configuration)]

        few = _spread(list(search_space), configurations)
        return search(few, stream, grid_fn, kernel, args_once, *rest, **options)

    return few_are_searched


def _spread(configurations: list[object], count: int) -> list[object]:
    """At most ``count`` of them, the first and the last included."""
    if len(configurations) <= count:
        return configurations
    if count == 1:
        return configurations[:1]
    last = len(configurations) - 1
    return [configurations[position * last // (count - 1)] for position in range(count)]


def _one_launch(kernel: TileKernel, arguments: Sequence[object]) -> Sequence[object]:
    """``_benchmark`` takes the arguments of one launch, or a tuple with those of several."""
    count = len(kernel._annotated_function.pysig.parameters)
    launches = [each for each in arguments if isinstance(each, tuple) and len(each) == count]
    several = launches and len(launches) == len(arguments)
    return launches[0] if several and len(arguments) != count else arguments


class _WithDLPack(Protocol):
    def __dlpack__(self) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...


def _has_dlpack(value: object) -> TypeGuard[_WithDLPack]:
    return hasattr(value, "__dlpack_device__")


class _DLPackOnCuda:
    """An array of any other library in the host's memory, through DLPack."""

    def __init__(self, array: _WithDLPack) -> None:
        self._array = array

    def __dlpack__(self, **options: object) -> object:
        return described_launch.move_to_cuda(self._array.__dlpack__())

    def __dlpack_device__(self) -> tuple[int, int]:
        return described_launch.KDL_CUDA, 0


class _NumpyArray(Protocol):
    @property
    def __array_interface__(self) -> dict[str, object]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...


class _OnCuda:
    """A NumPy array through the CUDA array interface."""

    def __init__(self, array: _NumpyArray) -> None:
        interface = array.__array_interface__
        self.__cuda_array_interface__ = {key: interface[key] for key in ("shape", "typestr", "data", "version")}
        self.__cuda_array_interface__["strides"] = array.strides
        self._array = array


def numpy_as_cuda(value: object) -> object:
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _OnCuda(value)
    if isinstance(value, list):
        return [numpy_as_cuda(item) for item in value]
    if type(value) is tuple:
        return tuple(numpy_as_cuda(item) for item in value)
    return value


def host_as_cuda(value: object) -> object:
    """NumPy arrays, and what other libraries (JAX, CuPy's relatives) keep in the host's memory, as if on a GPU."""
    if isinstance(value, list):
        return [host_as_cuda(item) for item in value]
    if type(value) is tuple:
        return tuple(host_as_cuda(item) for item in value)
    if type(value).__module__.partition(".")[0] in ("numpy", "torch") or not _has_dlpack(value):
        return numpy_as_cuda(value)
    on_host = (
        not hasattr(value, "__cuda_array_interface__") and int(value.__dlpack_device__()[0]) == described_launch.KDL_CPU
    )
    return _DLPackOnCuda(value) if on_host else value


def _all_as_cuda(arguments: Sequence[object]) -> Sequence[object]:
    """What is no sequence is left to who refuses it."""
    return tuple(map(host_as_cuda, arguments)) if isinstance(arguments, (tuple, list)) else arguments
