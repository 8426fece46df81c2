"""Triton's launches: what stands in front of its compiler, and the driver that is imitated where there is no GPU.

``JITFunction.run`` binds the arguments of a launch, asks the compiler for a kernel of their specialisation, and has
that kernel make the launch.  So one place sees all of it, in every version from 3.4 on: the kernel that the compiler
gives.  Triton IR, its first stage, is what is kept of a specialisation.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from .described_launch import (
    Described,
    DescribedArray,
    DescribedConstant,
    DescribedDescriptor,
    Geometry,
    geometry,
)
from .foreign import Grid, TritonObserver, TritonSpecialisation
from .pointer_owners import alignment

if TYPE_CHECKING:
    from .cuda_core import Imitated

_ELEMENTS = {
    "i1": ("bool", 8), "u1": ("bool", 8), "i8": ("i8", 8), "u8": ("u8", 8), "i16": ("i16", 16), "u16": ("u16", 16),
    "i32": ("i32", 32), "u32": ("u32", 32), "i64": ("i64", 64), "u64": ("u64", 64), "fp16": ("f16", 16),
    "bf16": ("bf16", 16), "fp32": ("f32", 32), "fp64": ("f64", 64), "fp8e4nv": ("f8e4m3", 8), "fp8e5": ("f8e5m2", 8),
}  # fmt: skip
"""What launch specs call the types of Triton, and their bits in memory."""

_DESCRIPTOR = re.compile(r"tensordesc<(?P<element>\w+)\[(?P<block>[\d, ]*)\].*>")
_KERNEL = re.compile(r'tt\.func public @"?(?P<name>[\w$.]+)"?')
_LARGEST_I32 = 2**31 - 1
_SHARED_BYTES = 232448


class UnknownTritonArgument(ValueError):
    """An argument that launch specs have no words for."""


class AstSource(Protocol):
    """``ASTSource``: one specialisation of a function."""

    fn: JitFunction
    signature: Mapping[str, object]
    constants: Mapping[tuple[int, ...], object]


class JitFunction(Protocol):
    """``JITFunction``."""

    fn: FunctionType
    arg_names: list[str]


InterpretTriton = Callable[[TritonSpecialisation, Grid, "Sequence[Described]"], None]
"""Runs a launch on arrays in the host's memory."""


Launch: TypeAlias = "tuple[object, ...]"
"""The grid, places and sizes of arrays, and all other arguments."""

_MOST_TOLD = 1024


@dataclass
class _Made:
    """What the compiler gave for one source, how its launches are described, and those that need no other look."""

    specialisation: TritonSpecialisation
    source: AstSource
    told: dict[Launch, None] = field(default_factory=dict)


class TritonHooks:
    """Stands in front of the launches of Triton's kernels.  With ``runs`` they go on to the GPU, else they end here.

    ``interpret``: runs those that would end here, for programs that need the results.
    """

    def __init__(self, observer: TritonObserver, *, runs: bool, interpret: InterpretTriton | None = None) -> None:
        self._observer = observer
        self._runs = runs
        self._interpret = interpret
        self._undo: Callable[[], None] = _nothing

    def install_compiler(self, compiler: ModuleType) -> None:
        """``triton.compiler.compiler`` was imported; the rest of Triton fetches its ``compile`` from it next, or has
        done so."""
        kernels = compiler.CompiledKernel
        loaded: property = kernels.run

        def run(kernel: Any) -> Callable[..., object]:
            return functools.partial(self._launched, kernel, loaded.__get__(kernel) if self._runs else None)

        kernels.run = property(run)
        self._undo = functools.partial(setattr, kernels, "run", loaded)
        if not self._runs:
            kernels._init_handles = _nothing
            self._replace_compile(compiler)

    def undo(self) -> None:
        """Launches go on as they did before `install_compiler`."""
        self._undo()

    def install_autotuner(self, autotuner: ModuleType) -> None:
        """``triton.runtime.autotuner`` was imported: where nothing runs, all configurations are launched once each."""
        if self._runs:
            return
        bench = autotuner.Autotuner._bench

        def launched_once(tuner: Any, *args: Any, **options: Any) -> Any:
            tuner.__dict__["do_bench"] = _once
            return bench(tuner, *args, **options)

        autotuner.Autotuner._bench = launched_once

    def _replace_compile(self, compiler: ModuleType) -> None:
        original = compiler.compile

        @functools.wraps(original)
        def only_ir(src: Any, target: Any = None, options: Any = None, **rest: Any) -> Any:
            kernel = object.__new__(compiler.CompiledKernel)
            kernel.__dict__.update(_unloaded(src, target, options))
            made = self._make(src, options, lambda: triton_ir(compiler, src, target, options))
            kernel.__dict__.update(triton_made=made, asm={} if made is None else {"ttir": made.specialisation.text})
            return kernel

        for module in ("triton.compiler.compiler", "triton.compiler", "triton"):
            if getattr(sys.modules.get(module), "compile", None) is original:
                setattr(sys.modules[module], "compile", only_ir)  # noqa: B010

    def _make(self, source: Any, options: Any, text: Callable[[], str]) -> _Made | None:
        """``None`` for what is not kept: one specialisation too many, or none of ``@triton.jit``."""
        function = getattr(getattr(source, "fn", None), "fn", None)
        if not inspect.isfunction(function) or getattr(source, "ext", "") != "ttir":
            self._observer.triton_failed(None, UnknownTritonArgument("a kernel that is no function of @triton.jit"))
            return None
        if not self._observer.triton_room(function):
            return None
        named = [(name, kind) for name, _, kind in leaves(source, None)]
        content = f"// parameters: {', '.join(name for name, kind in named if kind != 'constexpr')}\n{text()}"
        found = _KERNEL.search(content)
        symbol = found["name"] if found is not None else function.__name__
        return _Made(
            TritonSpecialisation(function, symbol, content, [name for name, _ in named], _words(options)), source
        )

    def _launched(self, kernel: Any, run: Callable[..., object] | None, *given: Any) -> None:
        """``given``: three axes of the grid, six things of Triton's own, and the arguments."""
        grid, arguments = tuple(map(int, given[:3])), given[9:]
        if "triton_made" not in kernel.__dict__:
            kernel.triton_made = self._make(kernel.src, kernel.metadata._asdict(), lambda: str(kernel.asm["ttir"]))
        if kernel.triton_made is not None and all(axis > 0 for axis in grid):  # an empty grid is not launched
            self._tell(kernel.triton_made, grid, arguments)
        if run is not None:
            run(*given)

    def _tell(self, made: _Made, grid: Grid, arguments: Sequence[object]) -> None:
        launch = _launch_of(made.source, grid, arguments)
        if launch is not None and launch in made.told:
            return
        try:
            found = list(leaves(made.source, arguments))
            described = [describe(name, value, kind, on_host=not self._runs) for name, value, kind in found]
        except Exception as error:
            self._observer.triton_failed(made.specialisation.function, error)
            return
        arrays = [_array_of(value) for _, value, _ in found]
        if self._observer.triton_launch(made.specialisation, grid, described, arrays) and launch is not None:
            if len(made.told) >= _MOST_TOLD:
                made.told.pop(next(iter(made.told)))
            made.told[launch] = None
        if self._interpret is not None:
            self._interpret(made.specialisation, grid, described)


def _launch_of(source: AstSource, grid: Grid, arguments: Sequence[Any]) -> Launch | None:
    """What equal launches of a specialisation have in common; ``None`` for one with arguments that may change."""
    kinds = source.signature.values()
    if len(kinds) != len(arguments):
        return None
    launch: list[object] = [grid]
    for kind, each in zip(kinds, arguments, strict=True):
        if kind == "constexpr":
            continue
        if type(each) in (int, float, bool):
            launch.append(each)
        elif isinstance(kind, str) and kind.startswith("*") and hasattr(each, "stride"):
            launch.append((each.data_ptr(), each.shape, each.stride()))
        else:
            return None
    return tuple(launch)


def _nothing(*of: object) -> None:
    pass


def _once(launch: Callable[[], object], **options: object) -> list[float]:
    """Instead of a measurement: equal times make a tuner keep its first configuration."""
    launch()
    return [1.0, 1.0, 1.0]


# ------------------------------------------------------------------------------------------------------- what is made
def triton_ir(compiler: ModuleType, source: Any, target: Any, options: Mapping[str, object] | None) -> str:
    """The text of Triton IR that Triton's first stage makes of ``source``, with locations."""
    active = importlib.import_module("triton.runtime.driver").driver.active
    target = target or active.get_current_target()
    backend = compiler.make_backend(target)
    ir = importlib.import_module("triton._C.libtriton").ir
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    chosen = backend.parse_options(dict(options or {}, **source.parse_options()))
    given = [chosen, backend.get_codegen_implementation(chosen), backend.get_module_map(), context]
    if "target" in inspect.signature(source.make_ir).parameters:  # since 3.5
        given.insert(0, target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = source.make_ir(*given)
        stages: dict[str, Callable[[Any, dict[str, object]], Any]] = {}
        language = getattr(source, "language", None)
        backend.add_stages(stages, chosen, *([] if language is None else [language]))
        module = stages["ttir"](module, {})
    text: str = module.str()
    return text


def _unloaded(source: Any, target: Any, options: Any) -> dict[str, object]:
    """What programs ask of a kernel before they launch it, of one that no GPU has."""
    name = getattr(source, "name", "kernel")
    known = {"shared": 0, "global_scratch_size": 0, "tmem_size": 0, "cluster_dims": (1, 1, 1), "warp_size": 32}
    return {
        "src": source,
        "name": name,
        "hash": "",
        "metadata": SimpleNamespace(**{**known, **dict(options or {}), "name": name, "target": target}),
        "packed_metadata": (),
        "metadata_group": {},
        "module": None,
        "function": None,
        "n_regs": 32,
        "n_spills": 0,
        "n_max_threads": 1024,
    }


def _words(options: Mapping[str, object] | None) -> dict[str, int]:
    """The options that launch specs have."""
    known = options or {}
    found = {name: known.get(name) for name in ("num_warps", "num_stages", "num_ctas")}
    return {name: value for name, value in found.items() if isinstance(value, int)}


# ------------------------------------------------------------------------------------------------------- arguments


def leaves(source: AstSource, arguments: Sequence[object] | None) -> Iterator[tuple[str, object, str]]:
    """The parameters of a specialisation, the parts of tuples one by one: name, argument, Triton's word for its type
    (``*fp32``, ``i32``, ``constexpr``).

    ``arguments``: those of a launch, one for each parameter, or one for each that is no constant; ``None``: there is
    none.
    """
    names = source.fn.arg_names
    kinds = [source.signature.get(name, "constexpr") for name in names]
    given: list[object] = [None] * len(names)
    if arguments is not None:
        if len(arguments) != len(names):
            runtime = iter(arguments)
            arguments = [None if kind == "constexpr" else next(runtime, None) for kind in kinds]
        given = list(arguments)
    for position, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        yield from _parts(source, name, given[position], kind, (position,))


def _parts(
    source: AstSource, name: str, value: object, kind: object, path: tuple[int, ...]
) -> Iterator[tuple[str, object, str]]:
    if isinstance(kind, (tuple, list)):
        parts = list(value) if isinstance(value, (tuple, list)) else [None] * len(kind)
        for number, part in enumerate(kind):
            yield from _parts(source, f"{name}_{number}", parts[number], part, (*path, number))
    elif kind == "constexpr":
        yield name, source.constants.get(path, value), "constexpr"
    else:
        yield name, value, str(kind)


def describe(name: str, value: object, kind: str, *, on_host: bool) -> Described:
    """One argument, as Triton's word for its type has it.  Raises `UnknownTritonArgument`."""
    descriptor = _DESCRIPTOR.match(kind)
    if kind == "constexpr":
        return _constant(value)
    if descriptor is not None:
        return _descriptor(name, value, descriptor, on_host=on_host)
    dtype, bits = _element(name, kind.lstrip("*").removeprefix("k"))
    if kind.startswith("*"):
        return _array(value, dtype, bits, on_host=on_host)
    if dtype[0] in "iu":
        return {"kind": "scalar", "dtype": dtype, "value": int(value)}  # type: ignore[call-overload]
    if dtype == "bool":
        return {"kind": "scalar", "dtype": dtype, "value": bool(value)}
    return {"kind": "scalar", "dtype": dtype, "value": float.__repr__(float(value))}  # type: ignore[arg-type]


def _element(name: str, word: str) -> tuple[str, int]:
    if word not in _ELEMENTS:
        raise UnknownTritonArgument(f"'{name}' is of type {word}, which launch specs have no word for")
    return _ELEMENTS[word]


def _array(value: object, dtype: str, bits: int, *, on_host: bool) -> DescribedArray:
    """The tensor that a pointer is taken of; a number without dimensions is one element."""
    at, item_bytes = _place(value)
    shape, strides = list(at.shape) or [1], list(at.strides) or [1]
    if item_bytes * 8 != bits:  # seen as elements of another width: one run of them
        last = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        shape, strides = [(last + 1) * item_bytes * 8 // bits if all(shape) else 0], [1]
    return {
        "kind": "array",
        "dtype": dtype,
        "bits": bits,
        "shape": shape,
        "strides": strides,
        "address": at.address,
        "index_bits": 32 if all(each <= _LARGEST_I32 for each in (*shape, *strides)) else 64,
        "aligned": alignment(at.address - _base(value) if on_host else at.address),
    }


def _descriptor(name: str, value: object, kind: re.Match[str], *, on_host: bool) -> DescribedDescriptor:
    """``TensorDescriptor``: its own sizes and strides, which need not be those of the tensor that it is made of."""
    dtype, bits = _element(name, kind["element"])
    array = _array(getattr(value, "base", None), dtype, bits, on_host=on_host)
    shape, strides = (list(map(int, getattr(value, each))) for each in ("shape", "strides"))
    described: DescribedArray = {**array, "shape": shape, "strides": strides}
    return {"kind": "descriptor", "array": described, "block": [int(each) for each in kind["block"].split(",") if each]}


def _constant(value: object) -> DescribedConstant:
    value = getattr(value, "value", value) if type(value).__name__ == "constexpr" else value
    if value is None or type(value) is bool or type(value) is int or type(value) is str:
        return {"kind": "constant", "value": value}
    if isinstance(value, float):
        return {"kind": "constant", "value": float.__repr__(value), "type": "float"}
    if type(value).__name__ == "dtype" and hasattr(value, "name"):
        return {"kind": "constant", "value": f"tl.{_type_name(str(value))}", "type": "dtype"}
    return {"kind": "constant", "value": repr(value), "type": type(value).__qualname__}


def _type_name(word: str) -> str:
    """What kernels call the type that Triton prints as ``fp16``, ``bf16``, ``int32``."""
    return word.replace("bf", "bfloat") if word.startswith("bf") else word.replace("fp", "float")


def _array_of(value: object) -> object:
    """The tensor of ``triton.reinterpret``, of a descriptor, or of a stand-in; else the argument itself."""
    inner = getattr(value, "base", None)
    return inner if inner is not None and not hasattr(value, "untyped_storage") else _tensor_of(value)


def _tensor_of(value: Any) -> object:
    """The tensor that an object stands in for which has a storage of torch, a shape and strides of its own
    (flag-gems' ``StridedBuffer``).  The object itself if no tensor can be like that: strides below 0, or elements
    outside of the storage."""
    torch = sys.modules.get("torch")
    if torch is None or isinstance(value, torch.Tensor) or not hasattr(value, "stride"):
        return value
    with torch._C.DisableTorchFunction():
        storage = value.untyped_storage() if hasattr(value, "untyped_storage") else None
        if not isinstance(storage, torch.UntypedStorage):
            return value
        whole = torch.empty(0, dtype=value.dtype, device=storage.device).set_(storage)
        first, rest = divmod(value.data_ptr() - storage.data_ptr(), whole.element_size())
        try:
            return whole.as_strided(tuple(value.shape), tuple(value.stride()), first) if rest == 0 else value
        except RuntimeError:
            return value


def _place(value: object) -> tuple[Geometry, int]:
    """Where a tensor lies, and the bytes of its elements."""
    array = _array_of(value)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        with torch._C.DisableTorchFunction():
            return geometry(array), array.element_size()
    if hasattr(array, "__cuda_array_interface__"):
        return geometry(array), int(array.__cuda_array_interface__["typestr"][2:])
    raise UnknownTritonArgument(f"an argument of type {type(value).__name__} is no array whose size is known")


def _base(value: object) -> int:
    """The first byte of the allocation."""
    torch, array = sys.modules.get("torch"), _array_of(value)
    if torch is not None and isinstance(array, torch.Tensor):
        with torch._C.DisableTorchFunction():
            base: int = array.untyped_storage().data_ptr()
            return base
    return 0


# -------------------------------------------------------------------------------------------------- imitated driver
class ImitatedDriver:
    """``triton.runtime.driver.active`` of a GPU that is not there."""

    def __init__(self, device: Imitated) -> None:
        self._device = device
        self.utils = _Utilities(device)

    def install(self, driver: ModuleType) -> None:
        """``triton.runtime.driver`` was imported."""
        driver.driver.set_active(self)

    def is_active(self) -> bool:
        return True

    def get_current_target(self) -> object:
        major, minor = self._device.capability
        target: object = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", 10 * major + minor, 32)
        return target

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_active_torch_device(self) -> object:
        return importlib.import_module("torch").device("cuda", 0)

    def get_device_interface(self) -> object:
        interface: object = importlib.import_module("torch").cuda
        return interface

    def get_benchmarker(self) -> object:
        return _once

    def get_empty_cache_for_benchmark(self) -> object:
        made: object = importlib.import_module("torch").zeros(1)
        return made

    def clear_cache(self, cache: object) -> None:
        pass

    def map_python_to_cpp_type(self, type_word: str) -> str:
        return type_word


@dataclass
class _Utilities:
    device: Imitated

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {
            "max_shared_mem": _SHARED_BYTES,
            "max_num_regs": 65536,
            "multiprocessor_count": self.device.multiprocessors,
            "warpSize": 32,
            "sm_clock_rate": 1_980_000,
            "mem_clock_rate": 2_619_000,
            "mem_bus_width": 5120,
        }
