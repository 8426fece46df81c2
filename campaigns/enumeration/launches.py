"""Triton's launches, each run by Triton's interpreter on copies of its arrays."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import inspect
import time
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

import numpy as np
import torch

from .arena import Arena, arrays_of, is_array
from .language import interpreted, speak_as_compiled
from .memory import Area, Fault
from .observation import Door, Observer, watch_builder

MOST_FAULTS: Final = 20
"""Of one launch; later ones are not kept."""


@dataclasses.dataclass
class Launch:
    """One launch.  ``outcome``: `clean`, `wrong`, `synchronised`, or `not run`, with ``why``.

    ``lines``: of each fault, where in the source the access stands.
    """

    kernel: str
    package: str
    grid: tuple[int, int, int]
    arguments: dict[str, str]
    outcome: str = ""
    why: str = ""
    faults: list[Fault] = dataclasses.field(default_factory=list)
    lines: list[str] = dataclasses.field(default_factory=list)
    counts: dict[str, int] = dataclasses.field(default_factory=dict)
    seconds: float = 0.0


def kernel_name(function: FunctionType) -> str:
    """Module inside of its package, qualified name, and six digits of a hash of the text: as reports have it."""
    try:
        text = "".join(inspect.getsourcelines(function)[0])
    except (OSError, TypeError):
        text = repr((function.__code__.co_code, function.__code__.co_consts))
    digest = hashlib.sha256(f"{function.__qualname__}\n{text}".encode()).hexdigest()
    module = function.__module__
    return f"{module.partition('.')[2] or module}:{function.__qualname__}#{digest[:6]}"


class Enumeration:
    """Stands in for the launches of Triton's kernels; hands each to ``report`` when it ran.

    ``seconds`` of processor time and ``most_bytes`` of arrays are the most that a launch may take.  After ``launches``
    of one kernel, further ones run only if it stores numbers that are not floats, which may steer later kernels.
    ``package``: what to count kernels under; if empty, the package of each kernel's module.
    """

    def __init__(
        self, report: Callable[[Launch], None], *, seconds: float, most_bytes: int, launches: int, package: str
    ) -> None:
        self.report = report
        self._package = package
        self.skipped = 0
        self._most_bytes = most_bytes
        self._launches = launches
        self._times: dict[FunctionType, int] = {}
        self._steers: set[FunctionType] = set()
        self._interpreter: Any = importlib.import_module("triton.runtime.interpreter")
        self._observer = Observer(self._interpreter, seconds)

    def install(self) -> None:
        """Put the observer and this in the places of Triton's own; a tuner takes its first configuration."""
        interpreter, jit = self._interpreter, importlib.import_module("triton.runtime.jit")
        interpreter._interpreter = Door(interpreter._interpreter, self._observer)
        watch_builder(interpreter, self._observer)
        speak_as_compiled(interpreter)
        enumeration = self

        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Relaunch:
            for hook in kernel.pre_run_hooks:
                hook(*args, **kwargs)
            names = [parameter.name for parameter in kernel.params]
            bound = inspect.signature(kernel.fn).bind(*args, **{k: v for k, v in kwargs.items() if k in names})
            bound.apply_defaults()
            if not warmup:
                enumeration.launch(kernel, bound.arguments, grid(bound.arguments) if callable(grid) else grid)
            return Relaunch(enumeration, kernel, dict(bound.arguments))

        def call(kernel: Any, *args: Any, **kwargs: Any) -> Any:
            function = interpreted(interpreter, kernel)
            interpreter._patch_lang(function)  # undone at the end of the launch
            return function(*args, **kwargs)

        jit.JITFunction.run = run
        jit.JITFunction.__call__ = call
        importlib.import_module("triton.runtime.autotuner").Autotuner._bench = lambda *args, **kwargs: [1.0, 1.0, 1.0]

    def launch(self, kernel: Any, arguments: dict[str, Any], grid: Any) -> None:
        function: FunctionType = kernel.fn
        x, y, z = (*(int(axis) for axis in grid), 1, 1)[:3]
        seen = self._times.get(function, 0)
        if x * y * z == 0 or (seen >= self._launches and function not in self._steers):
            self.skipped += 1
            return
        self._times[function] = seen + 1
        described = {name: _described(value) for name, value in arguments.items()}
        package = self._package or function.__module__.partition(".")[0]
        launch = Launch(kernel_name(function), package, (x, y, z), described)
        started = time.process_time()
        try:
            with torch._C.DisableTorchFunction():
                self._run(kernel, arguments, launch)
        except Exception as error:
            launch.outcome, launch.why = "not run", _reason(error)
        launch.seconds = round(time.process_time() - started, 3)
        self.report(launch)

    def _run(self, kernel: Any, arguments: dict[str, Any], launch: Launch) -> None:
        arena = Arena(arguments, self._most_bytes)
        moved = {name: arena.moved(value) for name, value in arguments.items()}
        observer = self._observer
        observer.begin(arena.areas)
        try:
            _execute(self._interpreter, kernel, moved, launch.grid)
        finally:
            memory = observer.memory
            launch.faults, launch.lines = memory.faults[:MOST_FAULTS], observer.lines[:MOST_FAULTS]
            launch.counts = memory.counts
            if any(_steers(arguments, area) for area in memory.written_areas()):
                self._steers.add(kernel.fn)
            arena.write_back()
        launch.outcome = "synchronised" if observer.order else "wrong" if memory.faults else "clean"
        launch.why = observer.order


class Relaunch:
    """What a launch returns: programs that keep it launch the same specialisation again."""

    def __init__(self, enumeration: Enumeration, kernel: Any, arguments: dict[str, Any]) -> None:
        self._enumeration = enumeration
        self._kernel = kernel
        self._arguments = arguments

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        def launch(*given: Any) -> None:
            names = list(self._arguments)
            if len(given) != len(names):  # without constants
                names = [each.name for each in self._kernel.params if not each.is_constexpr]
            self._enumeration.launch(self._kernel, {**self._arguments, **dict(zip(names, given, strict=True))}, grid)

        return launch


def _execute(interpreter: Any, kernel: Any, arguments: dict[str, Any], grid: tuple[int, int, int]) -> None:
    """One program of the grid after the other, on arrays that are in their places."""

    class InPlace(interpreter.GridExecutor):  # type: ignore[misc]
        def _init_args_hst(self, args: Any, kwargs: Any) -> Any:
            return args, kwargs

        def _restore_args_dev(self, *args: Any) -> None:
            pass

    constants = {parameter.name for parameter in kernel.params if parameter.is_constexpr}
    for name, value in arguments.items():
        if isinstance(value, float) and name not in constants:  # Triton's interpreter leaves it a float of Python
            handle = interpreter.TensorHandle(np.array([value], np.float32), interpreter.tl.float32)
            arguments[name] = interpreter.tl.tensor(handle, interpreter.tl.float32)
    function = interpreted(interpreter, kernel)
    with np.errstate(all="ignore"):
        InPlace(function, kernel.arg_names, grid)(**arguments)


def _described(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_described, value))})"
    if hasattr(value, "block_shape") and hasattr(value, "base"):
        return f"descriptor of {_described(value.base)}, blocks {list(value.block_shape)}"
    if is_array(value):
        with torch._C.DisableTorchFunction():
            return f"{value.dtype}{list(getattr(value, 'shape', []))}".removeprefix("torch.")
    return str(value)


def _steers(arguments: dict[str, Any], area: Area) -> bool:
    """Whether an allocation holds something else than floats."""
    arrays = [array for name, value in arguments.items() for _, array in arrays_of(name, value) if name in area.names]
    return not all("float" in str(array.dtype) or "fp" in str(array.dtype) for array in arrays)


def _reason(error: BaseException) -> str:
    """The first cause, as one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
