"""torch with an imitated GPU: every tensor lies on the CPU and says that it lies on ``cuda:0``.

A ``TorchFunctionMode`` turns device "cuda" into "cpu" wherever a tensor is made or moved, and answers questions about
a tensor's device; ``torch.cuda`` gets stand-ins (``torch_runtime``).  Memory from ``empty`` is zeroed: index arrays
must not hold garbage.  Where kernels do not run, outputs stay zero, so comparisons of results pass, and products of
large matrices, which only reference computations make, are zeros as well.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors

from . import dlpack, unfilled
from .spans import Span
from .torch_runtime import install_runtime

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
    unfilled.note_empty(made.data_ptr(), size)
    if size >= ZERO_ALREADY:
        return made
    return made.detach().zero_().requires_grad_(made.requires_grad)


def _filled(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    made = func(*args, **kwargs)
    if made.device.type == "cpu":
        unfilled.note_filled(made.data_ptr(), made.numel() * made.element_size())
    return made


def _put(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An operation that writes numbers into all of its first operand, or into the part that an index names."""
    made = func(*args, **kwargs)
    whole = args[0]
    part = whole[args[1]] if func is torch.Tensor.__setitem__ else whole
    same = part.device.type == "cpu" and part.untyped_storage().data_ptr() == whole.untyped_storage().data_ptr()
    if same and part.is_contiguous() and part.numel():
        given = _tensors([args[1:], list(kwargs.values())])
        known = not any(unfilled.is_unknown(_span(each)) for each in given)
        unfilled.note_put(part.data_ptr(), part.numel() * part.element_size(), known=known)
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
        known = not any(unfilled.is_unknown(_span(each)) for each in given)
        (unfilled.note_filled if known else unfilled.note_empty)(memory.data_ptr(), memory.nbytes())


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
            return dlpack.move_to_cuda(export(*args, **kwargs))

    torch._C._to_dlpack = export_as_cuda  # type: ignore[attr-defined]
    PretendCuda(kernels_run=kernels_run).__enter__()
    bootstrap = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def bootstrap_with_cuda(thread: threading.Thread) -> None:
        with PretendCuda(kernels_run=kernels_run):  # modes belong to threads
            bootstrap(thread)

    threading.Thread._bootstrap_inner = bootstrap_with_cuda  # type: ignore[attr-defined]


def _pass_comparisons() -> None:
    def passes(*args: Any, **kwargs: Any) -> None:
        return None

    torch.testing.assert_close = passes
    torch.testing.assert_allclose = passes  # type: ignore[attr-defined]
