"""Every way in which ``cuda.tile`` launches a kernel, with the recorder in front of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from .recorder import Recorder

TUNING_TIME_US = 10.0
"""What a measurement reports when nothing runs: equal times make a tuner keep its first configuration."""


class LaunchHooks:
    """Replaces the launch functions.  With ``runs`` launches go on to the GPU, else they end here.

    ``configurations`` is how many configurations of a tuning run are looked at when nothing runs.
    """

    def __init__(self, recorder: Recorder, *, runs: bool, configurations: int) -> None:
        self._recorder = recorder
        self._runs = runs
        self._configurations = configurations

    def install_extension(self, extension: ModuleType) -> None:
        """The C extension ``cuda.tile._cext`` was imported; ``cuda.tile`` fetches its launch functions from it next."""
        for name, hooked in (("launch", self._launch_function), ("_benchmark", self._benchmark_function)):
            setattr(extension, name, hooked(getattr(extension, name)))

    def install_tune(self, tune: ModuleType) -> None:
        """``cuda.tile.tune._tune`` was imported."""
        if not self._runs:
            tune.exhaustive_search = self._search_function(tune.exhaustive_search)  # type: ignore[attr-defined]

    def install_tune_utilities(self, utilities: ModuleType) -> None:
        """``cuda.tile.tune._tune_utils`` was imported: measurements in a second process."""
        name = "benchmark_with_timeout"
        setattr(utilities, name, self._benchmark_function(getattr(utilities, name)))

    def _launch_function(self, launch: Callable[..., Any]) -> Callable[..., Any]:
        def recorded_launch(stream: Any, grid: Any, kernel: Any, kernel_args: Any, /, **options: Any) -> Any:
            self._record(kernel, grid, kernel_args, "launch")
            return launch(stream, grid, kernel, kernel_args, **options) if self._runs else None

        return recorded_launch

    def _benchmark_function(self, benchmark: Callable[..., Any]) -> Callable[..., Any]:
        def recorded_benchmark(stream: Any, grid: Any, kernel: Any, arguments: Any, *rest: Any) -> Any:
            self._record(kernel, grid, _one_launch(kernel, arguments), "tune")
            return benchmark(stream, grid, kernel, arguments, *rest) if self._runs else TUNING_TIME_US

        return recorded_benchmark

    def _search_function(self, search: Callable[..., Any]) -> Callable[..., Any]:
        def recorded_search(
            search_space: Sequence[Any],
            stream: Any,
            grid_fn: Any,
            kernel: Any,
            args_fn: Callable[[Any], tuple[Any, ...]],
            *rest: Any,
            **options: Any,
        ) -> Any:
            made: dict[int, tuple[Any, ...]] = {}

            def args_once(configuration: Any) -> tuple[Any, ...]:
                if id(configuration) not in made:
                    made[id(configuration)] = args_fn(configuration)
                return made[id(configuration)]

            few = _spread(list(search_space), self._configurations)
            return search(few, stream, grid_fn, kernel, args_once, *rest, **options)

        return recorded_search

    def _record(self, kernel: Any, grid: Any, arguments: Any, how: str) -> None:
        """Where nothing runs, NumPy arrays stand for arrays on the GPU, and a refused launch raises here."""
        refused = self._recorder.launch(kernel, grid, arguments if self._runs else numpy_as_cuda(arguments), how)
        if refused is not None and not self._runs:
            raise refused


def _spread(configurations: list[Any], count: int) -> list[Any]:
    """At most ``count`` of them, the first and the last included."""
    if len(configurations) <= count:
        return configurations
    if count == 1:
        return configurations[:1]
    last = len(configurations) - 1
    return [configurations[position * last // (count - 1)] for position in range(count)]


def _one_launch(kernel: Any, arguments: Any) -> Any:
    """``_benchmark`` takes the arguments of one launch, or a tuple with those of several."""
    count = len(kernel._annotated_function.pysig.parameters)
    several = arguments and all(isinstance(a, tuple) and len(a) == count for a in arguments)
    return arguments[0] if several and len(arguments) != count else arguments


class _OnCuda:
    """A NumPy array through the CUDA array interface."""

    def __init__(self, array: Any) -> None:
        interface = array.__array_interface__
        self.__cuda_array_interface__ = {key: interface[key] for key in ("shape", "typestr", "data", "version")}
        self.__cuda_array_interface__["strides"] = array.strides
        self._array = array


def numpy_as_cuda(value: Any) -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _OnCuda(value)
    if isinstance(value, list):
        return [numpy_as_cuda(item) for item in value]
    if type(value) is tuple:
        return tuple(numpy_as_cuda(item) for item in value)
    return value
