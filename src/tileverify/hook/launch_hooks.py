"""Every way in which ``cuda.tile`` launches a kernel, JAX programs included, with the recorder in front of it."""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from types import ModuleType
from typing import Any, Protocol, TypeGuard

from . import described_launch
from .described_launch import Described, DescribedArray, contiguous_strides, describe, spec_dtype
from .foreign import Grid, Interpret, JitSignature, Observer, TileKernel
from .interpreting import without_imitation

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


# ------------------------------------------------------------------------------------------------------------ jax calls
# Kernels that JAX programs call with ``cuda.tile.jax.cutile_call``.
#
# Such a call is traced, and becomes a launch when JAX lowers it: sizes, grid and scalars are known then, the memory is
# not.  XLA hands every operand and result over contiguous, in memory of its own, except for operands that are one
# array, which the compiler is told (alias groups).  ``cuda.tile`` lowers for CUDA alone; where no kernel runs on a GPU,
# a lowering for the CPU takes its place.


Traced = Callable[[Any, Any, Any, Sequence[Described], Sequence[Sequence[str]]], None]
"""Told of a kernel, its grid, its signature, the described arguments, and groups of arguments that are one array."""

_PAGE = 4096


class _Described(Exception):
    """Nothing is compiled where nothing runs on a GPU."""


class JaxCalls:
    """Stands in front of the lowering of ``module``, which is ``cuda.tile.jax._jax``."""

    def __init__(self, module: ModuleType, traced: Traced, *, runs: bool, interpret: Interpret | None) -> None:
        self._module = module
        self._traced = traced
        self._runs = runs
        self._interpret = interpret
        self._call = threading.local()
        self._compile = module.compile_kernel_cached
        self._lower = module._cutile_call_ffi_p_lower
        self._register = module.register_primitive

    def install(self) -> None:
        """``cuda.tile.jax`` registers the lowering next, or has done so."""
        self._module.compile_kernel_cached = self._recorded_compile  # type: ignore[attr-defined]
        self._module._cutile_call_ffi_p_lower = self._recorded_lower  # type: ignore[attr-defined]
        if not self._runs:
            self._module.register_primitive = self._register_on_host  # type: ignore[attr-defined]
        if self._module.cutile_call_ffi_p is not None:
            self._module.register_primitive()

    def _recorded_lower(self, context: Any, *operands: Any, **call: Any) -> Any:
        self._call.made = (context, call)
        return self._lower(context, *operands, **call)

    def _recorded_compile(self, kernel: Any, constraints: Sequence[Any]) -> Any:
        """``cuda.tile`` has made the constraints of the call that is being lowered."""
        context, call = self._call.made
        plain = self._module.KernelSignature(constraints, self._module._calling_convention_for(constraints))
        signature = plain.with_mangled_symbol(kernel._annotated_function.pyfunc.__name__)
        names = list(kernel._annotated_function.pysig.parameters)
        leaves = _Leaves(context, call)
        described = leaves.of(zip(names, call["roles"], constraints, strict=True))
        self._traced(kernel, call["grid"], signature, described, leaves.alias())
        if not self._runs:
            raise _Described
        return self._compile(kernel, constraints)

    # ------------------------------------------------------------------------------------------ without a GPU
    def _register_on_host(self) -> None:
        self._register()
        from jax.interpreters import mlir

        mlir.register_lowering(self._module.cutile_call_ffi_p, self._lower_on_host, platform="cpu")

    def _lower_on_host(self, context: Any, *operands: Any, **call: Any) -> Any:
        from jax.interpreters import mlir

        with contextlib.suppress(_Described):
            self._recorded_lower(context, *operands, **call)
        return mlir.lower_fun(lambda *arrays: self._on_host(arrays, call), multiple_results=True)(context, *operands)

    def _on_host(self, arrays: Sequence[Any], call: Mapping[str, Any]) -> Sequence[Any]:
        """The results of a call as JAX traces it: by the interpreter, or zeros and what was there before."""
        import jax

        shapes = call["output_shape_dtypes"]
        if self._interpret is not None:
            results: Sequence[Any] = jax.pure_callback(lambda *given: self._interpreted(given, call), shapes, *arrays)
            return results
        before = _in_place(call["roles"])
        return [
            arrays[before[number]] if number in before else jax.numpy.zeros(shape.shape, shape.dtype)
            for number, shape in enumerate(shapes)
        ]

    def _interpreted(self, arrays: Sequence[Any], call: Mapping[str, Any]) -> tuple[Any, ...]:
        import numpy

        groups: dict[str, Any] = {}
        inputs = []
        for array, group in zip(arrays, call["alias_group"], strict=True):
            copy = numpy.array(array)
            inputs.append(copy if group is None else groups.setdefault(group, copy))
        before = _in_place(call["roles"])
        outputs = [
            inputs[before[number]] if number in before else numpy.zeros(shape.shape, shape.dtype)
            for number, shape in enumerate(call["output_shape_dtypes"])
        ]
        new = (output for number, output in enumerate(outputs) if number not in before)
        given = {"i": iter(inputs), "o": new, "s": iter(call["scalars"]), "c": iter(call["constants"])}
        given["io"] = given["i"]

        def arguments(roles: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(arguments(role) if isinstance(role, tuple) else next(given[role]) for role in roles)

        assert self._interpret is not None
        self._interpret(call["kernel"], call["grid"], arguments(call["roles"]))
        return tuple(outputs)


class _Leaves:
    """Describes the arguments of one call in order, and puts them into memory that does not exist: arrays apart."""

    def __init__(self, context: Any, call: Mapping[str, Any]) -> None:
        self._inputs, self._outputs = iter(context.avals_in), iter(context.avals_out)
        self._scalars, self._groups = iter(call["scalars"]), iter(call["alias_group"])
        self._named: dict[str, list[str]] = {}
        self._end = _PAGE

    def of(self, parts: Iterator[tuple[str, Any, Any]]) -> list[Described]:
        """Each (name, role, constraint) as `described_launch.describe` would."""
        return [self._one(name, role, constraint) for name, role, constraint in parts]

    def alias(self) -> list[list[str]]:
        return [names for names in self._named.values() if len(names) > 1]

    def _one(self, name: str, role: Any, constraint: Any) -> Described:
        if isinstance(role, tuple):
            parts = ((f"{name}[{n}]", *part) for n, part in enumerate(zip(role, constraint.items, strict=True)))
            return {"kind": "tuple", "items": self.of(parts)}
        if role == "c":
            return describe(constraint.value, constraint)
        if role == "s":
            return describe(next(self._scalars), constraint)
        if role == "o":
            return self._array(next(self._outputs), constraint)
        group = next(self._groups)
        if group is not None:
            self._named.setdefault(group, []).append(name)
        if role == "io":
            next(self._outputs)
        return self._array(next(self._inputs), constraint)

    def _array(self, aval: Any, constraint: Any) -> DescribedArray:
        shape, bits = tuple(map(int, aval.shape)), int(constraint.dtype.bitwidth)
        address, self._end = self._end, self._end + (prod(shape) * bits // 8 // _PAGE + 1) * _PAGE
        return {
            "kind": "array",
            "dtype": spec_dtype(constraint.dtype),
            "bits": bits,
            "shape": list(shape),
            "strides": list(contiguous_strides(shape)),
            "address": address,
            "index_bits": int(constraint.index_dtype.bitwidth),
        }


def _in_place(roles: Sequence[Any]) -> dict[int, int]:
    """The operand that each result is written over, by the numbers of both."""
    inputs, outputs = itertools.count(), itertools.count()
    found = {}
    for role in _flat(roles):
        operand = next(inputs) if role in ("i", "io") else -1
        result = next(outputs) if role in ("o", "io") else -1
        if role == "io":
            found[result] = operand
    return found


def _flat(roles: Sequence[Any]) -> Iterator[str]:
    for role in roles:
        if isinstance(role, tuple):
            yield from _flat(role)
        else:
            yield role
