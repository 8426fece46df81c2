"""torch with an imitated GPU: every tensor lies on the CPU and says that it lies on ``cuda:0``.

A ``TorchFunctionMode`` turns device "cuda" into "cpu" wherever a tensor is made or moved, and answers questions about
a tensor's device; ``torch.cuda`` gets stand-ins (``torch_runtime``).  Memory from ``empty`` is zeroed: index arrays
must not hold garbage.  Where kernels do not run, outputs stay zero, so comparisons of results pass, and products of
large matrices, which only reference computations make, are zeros as well.
"""

from __future__ import annotations

import threading
import types
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors

from . import described_launch, index_contents
from .index_contents import Span

_CPU = torch.device("cpu")
_CUDA = torch.device("cuda", 0)

HEAVY_FLOPS = 3e8
"""Matrix products with more floating-point operations than this give zeros."""

_WITH_OUT_DTYPE = ("mm", "bmm", "addmm", "baddbmm")

ZERO_ALREADY = 1 << 30
"""Bytes from which memory comes fresh from the operating system: zeros that take no room until they are written to, so
that tensors larger than this machine's memory can be launched with."""

Handler = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]


def _is_cuda(device: Any) -> bool:
    if isinstance(device, torch.device):
        return bool(device.type == "cuda")
    if isinstance(device, str):
        return device.startswith("cuda")
    return isinstance(device, int) and not isinstance(device, bool)


def _device(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    device = func(*args, **kwargs)
    return _CUDA if device.type == "cpu" else device


def _same_tensor(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[0]


def _always(answer: Any) -> Handler:
    return lambda func, args, kwargs: answer


def _to(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return func(*(_CPU if i and _is_cuda(a) and not isinstance(a, int) else a for i, a in enumerate(args)), **kwargs)


def _zeroed(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    made = func(*args, **kwargs)
    if made.device.type == "meta":
        return made
    size = made.untyped_storage().nbytes()
    index_contents.note_empty(made.data_ptr(), size)
    if size >= ZERO_ALREADY:
        return made
    return made.detach().zero_().requires_grad_(made.requires_grad)


def _filled(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    made = func(*args, **kwargs)
    if made.device.type == "cpu":
        index_contents.note_filled(made.data_ptr(), made.numel() * made.element_size())
    return made


def _put(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An operation that writes numbers into all of its first operand, or into the part that an index names."""
    made = func(*args, **kwargs)
    whole = args[0]
    part = whole[args[1]] if func is torch.Tensor.__setitem__ else whole
    same = part.device.type == "cpu" and part.untyped_storage().data_ptr() == whole.untyped_storage().data_ptr()
    if same and part.is_contiguous() and part.numel():
        given = _tensors([args[1:], list(kwargs.values())])
        known = not any(index_contents.is_unknown(_span(each)) for each in given)
        index_contents.note_put(part.data_ptr(), part.numel() * part.element_size(), known=known)
    return made


def _note_computed(made: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Integers that an operation put into memory of its own are known as far as what it was given is."""
    for tensor in _tensors(made):
        if (
            tensor.dtype.is_floating_point
            or tensor.dtype.is_complex
            or tensor.device.type != "cpu"
            or not tensor.numel()
        ):
            continue
        memory, given = tensor.untyped_storage(), _tensors([args, list(kwargs.values())])
        if any(memory.data_ptr() == each.untyped_storage().data_ptr() for each in given):
            continue  # the same memory, in place or seen otherwise
        known = not any(index_contents.is_unknown(_span(each)) for each in given)
        (index_contents.note_filled if known else index_contents.note_empty)(memory.data_ptr(), memory.nbytes())


def _span(tensor: torch.Tensor) -> Span:
    """The memory that a tensor is in, or more."""
    start = tensor.untyped_storage().data_ptr()
    return start, start + tensor.untyped_storage().nbytes()


def _tensors(values: Any) -> list[torch.Tensor]:
    if isinstance(values, torch.Tensor):
        return [values]
    if isinstance(values, (list, tuple)):
        return [tensor for value in values for tensor in _tensors(value)]
    return []


def _on_meta(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    if isinstance(value, (list, tuple)):
        return type(value)(map(_on_meta, value))
    return value


def _wider_product(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A matrix product whose result may have a wider type than its operands (``out_dtype``, which may be named or not):
    torch has that on GPUs alone, so the operands are widened."""
    wide = kwargs.get("out_dtype") or next((a for a in args if isinstance(a, torch.dtype)), None)
    if wide is None:
        return func(*args, **kwargs)
    operands = (a.to(wide) if isinstance(a, torch.Tensor) else a for a in args if not isinstance(a, torch.dtype))
    named = {k: v.to(wide) if isinstance(v, torch.Tensor) and k != "out" else v for k, v in kwargs.items()}
    return func(*operands, **{k: v for k, v in named.items() if k != "out_dtype"})


def _product(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A matrix product: computed while it is small, else zeros that still depend on the operands for autograd."""
    operands = _tensors([args, list(kwargs.values())])
    matrices = [t for t in operands if t.ndim >= 2]
    if len(matrices) < 2:
        return func(*args, **kwargs)
    shape = func(*_on_meta(args), **{k: _on_meta(v) for k, v in kwargs.items()})
    if not isinstance(shape, torch.Tensor):
        return func(*args, **kwargs)
    inner = max(max(t.shape[-2:]) for t in matrices[:2])
    if 2.0 * shape.numel() * inner < HEAVY_FLOPS:
        return func(*args, **kwargs)
    zeros = torch.zeros(shape.shape, dtype=shape.dtype)
    for t in operands:
        if t.requires_grad and torch.is_grad_enabled():
            zeros = zeros + (t.reshape(-1)[:1].sum() * 0).to(zeros.dtype)
    return zeros


def _small_product(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`_product` of what may have an ``out_dtype``."""
    return _wider_product(lambda *operands, **named: _product(func, operands, named), args, kwargs)


def _handlers(kernels_run: bool) -> dict[Any, Handler]:
    tensor = torch.Tensor
    table: dict[Any, Handler] = {
        tensor.device.__get__: _device,  # type: ignore[attr-defined]
        tensor.is_cuda.__get__: _always(True),  # type: ignore[attr-defined]
        tensor.is_cpu.__get__: _always(False),  # type: ignore[attr-defined]
        tensor.get_device: _always(0),
        tensor.cuda: _same_tensor,
        tensor.pin_memory: _same_tensor,
        tensor.is_pinned: _always(True),
        tensor.record_stream: _always(None),
        tensor.to: _to,
    }
    for name in ("empty", "empty_like", "empty_strided", "empty_permuted"):
        table[getattr(torch, name)] = _zeroed
    for name in ("new_empty", "new_empty_strided"):
        table[getattr(tensor, name)] = _zeroed
    for name in ("zeros", "zeros_like", "ones", "ones_like", "full", "full_like", "arange", "randint", "randperm"):
        table[getattr(torch, name)] = _filled
    table |= {getattr(tensor, name): _filled for name in ("new_zeros", "new_ones", "new_full")}
    table |= {getattr(tensor, name): _put for name in ("zero_", "fill_", "copy_", "__setitem__")}
    for owner in (torch, tensor):
        for name in _WITH_OUT_DTYPE:
            table[getattr(owner, name)] = _wider_product
    if kernels_run:
        return table
    table[torch.allclose] = _always(True)
    for owner in (torch, tensor):
        for name in _WITH_OUT_DTYPE:
            table[getattr(owner, name)] = _small_product
    for owner, names in (
        (torch, ("matmul", "einsum")),
        (tensor, ("matmul", "__matmul__", "__rmatmul__")),
        (torch.nn.functional, ("linear", "scaled_dot_product_attention")),
    ):
        for name in names:
            table[getattr(owner, name)] = _product
    return table


class PretendCuda(TorchFunctionMode):
    """See the module."""

    def __init__(self, *, kernels_run: bool) -> None:
        super().__init__()
        self._handlers = _handlers(kernels_run)
        self._constructors = set(_device_constructors())

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if _is_cuda(kwargs.get("device")):
            kwargs["device"] = _CPU
        if func in self._constructors:
            kwargs.pop("pin_memory", None)
            if kwargs.get("device") is None:  # named, or torch.set_default_device("cuda") would fill it in below
                kwargs["device"] = _CPU
        args = tuple(_CPU if isinstance(a, torch.device) and a.type == "cuda" else a for a in args)
        handler = self._handlers.get(func)
        made = func(*args, **kwargs) if handler is None else handler(func, args, kwargs)
        if handler is None or handler is _to:
            _note_computed(made, args, kwargs)
        return made


def install(capability: tuple[int, int], name: str, multiprocessors: int, *, kernels_run: bool) -> None:
    """Imitate a GPU in the torch that was just imported, in all threads that start from now on."""
    install_runtime(capability, name, multiprocessors)
    if not kernels_run:
        _pass_comparisons()
    export = torch._C._to_dlpack  # type: ignore[attr-defined]

    def export_as_cuda(*args: Any, **kwargs: Any) -> Any:
        with torch._C.DisableTorchFunction():
            return described_launch.move_to_cuda(export(*args, **kwargs))

    torch._C._to_dlpack = export_as_cuda  # type: ignore[attr-defined]
    PretendCuda(kernels_run=kernels_run).__enter__()
    _pretend_in_backward_passes(kernels_run)
    bootstrap = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def bootstrap_with_cuda(thread: threading.Thread) -> None:
        with PretendCuda(kernels_run=kernels_run):  # modes belong to threads
            bootstrap(thread)

    threading.Thread._bootstrap_inner = bootstrap_with_cuda  # type: ignore[attr-defined]


def _pretend_in_backward_passes(kernels_run: bool) -> None:
    """torch leaves the mode for ``backward`` as for every other function, and runs the backward passes of operations
    inside of it."""
    original = torch.autograd.graph._engine_run_backward

    def run_backward(*args: Any, **kwargs: Any) -> Any:
        with PretendCuda(kernels_run=kernels_run):
            return original(*args, **kwargs)

    torch.autograd._engine_run_backward = run_backward  # type: ignore[attr-defined]
    torch.autograd.graph._engine_run_backward = run_backward


def _pass_comparisons() -> None:
    def passes(*args: Any, **kwargs: Any) -> None:
        return None

    torch.testing.assert_close = passes
    torch.testing.assert_allclose = passes  # type: ignore[attr-defined]


# -------------------------------------------------------------------------------------------------------- torch runtime
# Stand-ins for ``torch.cuda``: devices, streams, events and graphs that exist and do nothing.


_MEMORY_BYTES = 180 << 30


class _Scope:
    """Any context manager or decorator of ``torch.cuda``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __call__(self, function: Any) -> Any:
        return function


class _Event:
    cuda_event = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def record(self, *args: Any) -> None:
        pass

    def wait(self, *args: Any) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Any) -> float:
        """Milliseconds; any positive constant."""
        return 1.0


class _Stream(_Scope):
    cuda_stream = 0
    stream_id = 0
    priority = 0
    device = torch.device("cuda", 0)
    device_index = 0

    def synchronize(self) -> None:
        pass

    def wait_stream(self, *args: Any) -> None:
        pass

    def wait_event(self, *args: Any) -> None:
        pass

    def record_event(self, *args: Any) -> _Event:
        return _Event()

    def query(self) -> bool:
        return True


class _Graph(_Scope):
    def capture_begin(self, *args: Any, **kwargs: Any) -> None:
        pass

    def capture_end(self) -> None:
        pass

    def replay(self) -> None:
        pass

    def reset(self) -> None:
        pass


def _constant(value: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: value


def install_runtime(capability: tuple[int, int], name: str, multiprocessors: int) -> None:
    """Replace the functions of ``torch.cuda`` that would need a driver."""
    properties = types.SimpleNamespace(
        name=name,
        major=capability[0],
        minor=capability[1],
        multi_processor_count=multiprocessors,
        total_memory=_MEMORY_BYTES,
        L2_cache_size=126 << 20,
        max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536,
        shared_memory_per_block=48 << 10,
        shared_memory_per_block_optin=227 << 10,
        shared_memory_per_multiprocessor=228 << 10,
        warp_size=32,
        is_integrated=0,
    )
    stream = _Stream()
    nothing = (
        "set_device synchronize empty_cache init _lazy_init ipc_collect "
        "reset_peak_memory_stats reset_max_memory_allocated set_stream check_error _sleep"
    )
    answers: dict[str, Any] = {
        "is_available": True,
        "is_initialized": True,
        "is_bf16_supported": True,
        "is_current_stream_capturing": False,
        "device_count": 1,
        "current_device": 0,
        "current_stream": stream,
        "default_stream": stream,
        "get_device_capability": capability,
        "get_device_properties": properties,
        "get_device_name": name,
        "get_arch_list": [f"sm_{capability[0]}{capability[1]}"],
        "max_memory_allocated": 0,
        "memory_allocated": 0,
        "memory_reserved": 0,
        "max_memory_reserved": 0,
        "mem_get_info": (_MEMORY_BYTES, _MEMORY_BYTES),
        "memory_stats": Counter(),
        "memory_stats_as_nested_dict": {},
        "memory_snapshot": [],
        "memory_summary": "no memory of a GPU is in use: record --no-gpu imitates one",
        "list_gpu_processes": "no process: record --no-gpu imitates a GPU",
        "utilization": 0,
        **dict.fromkeys(nothing.split()),
    }
    for attribute, value in answers.items():
        setattr(torch.cuda, attribute, _constant(value))
    for attribute, cls in {
        "Stream": _Stream,
        "Event": _Event,
        "CUDAGraph": _Graph,
        "graph": _Scope,
        "stream": _Scope,
        "device": _Scope,
        "device_of": _Scope,
    }.items():
        setattr(torch.cuda, attribute, cls)
    _install_randomness()
    torch.cuda.nvtx = types.SimpleNamespace(  # type: ignore[assignment]
        range_push=_constant(None), range_pop=_constant(None), range=_Scope, mark=_constant(None)
    )
    torch.version.cuda = "13.4"
    torch.compile = _compile_nothing  # type: ignore[assignment]
    torch.Generator = _generator_class()  # type: ignore[misc]


def _install_randomness() -> None:
    """Random numbers of the one device are the host's, so that seeds and states mean what they say."""

    def set_state(new_state: torch.Tensor, device: Any = "cuda") -> None:
        torch.set_rng_state(new_state)

    def set_states(new_states: Any) -> None:
        for state in new_states:
            torch.set_rng_state(state)

    for attribute, answer in {
        "get_rng_state": lambda device="cuda": torch.get_rng_state(),
        "get_rng_state_all": lambda: [torch.get_rng_state()],
        "set_rng_state": set_state,
        "set_rng_state_all": set_states,
        "manual_seed": _seed,
        "manual_seed_all": _seed,
        "seed": torch.default_generator.seed,
        "seed_all": torch.default_generator.seed,
        "initial_seed": torch.default_generator.initial_seed,
        "default_generators": (torch.default_generator,),
    }.items():
        setattr(torch.cuda, attribute, answer)


def _seed(seed: int) -> None:
    torch.default_generator.manual_seed(int(seed))


def _compile_nothing(model: Any = None, **options: Any) -> Any:
    """``torch.compile`` would trace past the imitation; the function itself does as well."""
    return model if model is not None else lambda function: function


def _generator_class() -> type:
    class Generator(torch._C.Generator):
        def __new__(cls, device: Any = None) -> Any:
            return super().__new__(cls, torch.device("cpu"))

    return Generator
