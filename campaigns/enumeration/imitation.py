"""A GPU for programs that ask for one: torch's tensors stay on the host and say that they lie on ``cuda:0``.

Triton's driver says that the GPU has compute capability 9.0.  Nothing here runs a kernel, or knows what one does.
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
from torch.overrides import TorchFunctionMode

HOST: Final = torch.device("cpu")
GPU: Final = torch.device("cuda", 0)
CAPABILITY: Final = (9, 0)
MULTIPROCESSORS: Final = 132
SHARED_BYTES: Final = 232448


def on_host(value: Any) -> Any:
    """``value``, or the host where it names a GPU."""
    if isinstance(value, torch.device):
        return HOST if value.type == "cuda" else value
    if isinstance(value, str) and value.split(":")[0] == "cuda":
        return HOST
    return value


def _device_of(function: Callable[..., torch.device], *args: Any, **kwargs: Any) -> torch.device:
    device = function(*args, **kwargs)
    return GPU if device.type == "cpu" else device


def _zeroed(function: Callable[..., torch.Tensor], *args: Any, **kwargs: Any) -> torch.Tensor:
    """Memory that holds the same in every run."""
    made = function(*args, **kwargs)
    return made if made.is_meta else made.detach().zero_().requires_grad_(made.requires_grad)


def _itself(function: Callable[..., object], tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    return tensor


def _always(answer: object) -> Callable[..., object]:
    return lambda *args, **kwargs: answer


_TENSOR: Final[Any] = torch.Tensor
SPECIAL: Final[Mapping[Any, Callable[..., Any]]] = {
    _TENSOR.device.__get__: _device_of,
    _TENSOR.is_cuda.__get__: _always(True),
    _TENSOR.is_cpu.__get__: _always(False),
    _TENSOR.get_device: _always(0),
    _TENSOR.cuda: _itself,
    _TENSOR.pin_memory: _itself,
    _TENSOR.is_pinned: _always(True),
    _TENSOR.record_stream: _always(None),
    **{getattr(torch, f"empty{of}"): _zeroed for of in ("", "_like", "_strided", "_permuted")},
    **{getattr(_TENSOR, f"new_empty{of}"): _zeroed for of in ("", "_strided")},
}


class TensorsOnGpu(TorchFunctionMode):  # type: ignore[misc]
    """Where this is active, tensors lie on the host, whatever device a program names, and call it the GPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = {name: on_host(value) for name, value in (kwargs or {}).items()}
        if func in _CONSTRUCTORS:
            named.pop("pin_memory", None)
            named["device"] = named.get("device") or HOST  # else torch fills the default device in
        given = tuple(on_host(each) for each in args)
        special = SPECIAL.get(func)
        return func(*given, **named) if special is None else special(func, *given, **named)


_CONSTRUCTORS: Final = frozenset(importlib.import_module("torch.utils._device")._device_constructors())


class _Scope:
    """Streams, events, graphs and devices: context managers whose methods do nothing."""

    cuda_stream = cuda_event = stream_id = device_index = priority = 0
    device = GPU

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass

    def __enter__(self) -> _Scope:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def elapsed_time(self, other: object) -> float:
        return 1.0

    def query(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Callable[..., object]:
        if name.startswith("__"):
            raise AttributeError(name)
        return _always(None)


def _runtime() -> dict[str, object]:
    properties = types.SimpleNamespace(
        name="an imitated GPU", major=CAPABILITY[0], minor=CAPABILITY[1], multi_processor_count=MULTIPROCESSORS,
        total_memory=1 << 37, L2_cache_size=50 << 20, warp_size=32, max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536, shared_memory_per_block=49152, shared_memory_per_block_optin=SHARED_BYTES,
        shared_memory_per_multiprocessor=233472, is_integrated=0, gcnArchName="",
    )  # fmt: skip
    answers = {
        "is_available": True, "is_initialized": True, "is_bf16_supported": True, "device_count": 1, "current_device": 0,
        "get_device_capability": CAPABILITY, "get_device_properties": properties, "get_device_name": properties.name,
        "get_arch_list": ["sm_90"], "current_stream": _Scope(), "default_stream": _Scope(), "memory_allocated": 0,
        "max_memory_allocated": 0, "mem_get_info": (1 << 37, 1 << 37), "is_current_stream_capturing": False,
    }  # fmt: skip
    nothing = "synchronize set_device empty_cache init _lazy_init set_stream reset_peak_memory_stats manual_seed_all"
    scopes = ("Stream", "Event", "CUDAGraph", "graph", "stream", "device", "device_of")
    return {
        **{name: _always(answer) for name, answer in answers.items()},
        **{name: _always(None) for name in nothing.split()},
        **dict.fromkeys(scopes, _Scope),
        "manual_seed": lambda seed: torch.default_generator.manual_seed(int(seed)),
        "get_rng_state": lambda device=None: torch.get_rng_state(),
        "set_rng_state": lambda state, device=None: torch.set_rng_state(state),
        "default_generators": (torch.default_generator,),
    }


def _not_compiled(model: Any = None, **options: object) -> Any:
    return model if model is not None else lambda function: function


class _Driver:
    """``triton.runtime.driver.active``."""

    class utils:  # noqa: N801 (the name that Triton asks for)
        @staticmethod
        def get_device_properties(device: int) -> dict[str, int]:
            return {
                "max_shared_mem": SHARED_BYTES, "max_num_regs": 65536, "multiprocessor_count": MULTIPROCESSORS,
                "warpSize": 32, "sm_clock_rate": 1_980_000, "mem_clock_rate": 2_619_000, "mem_bus_width": 5120,
            }  # fmt: skip

    def is_active(self) -> bool:
        return True

    def get_current_target(self) -> object:
        return importlib.import_module("triton.backends.compiler").GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return GPU

    def get_device_interface(self) -> object:
        return torch.cuda

    def get_benchmarker(self) -> Callable[..., list[float]]:
        return lambda launch, **options: [1.0, 1.0, 1.0]

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        return torch.zeros(1)

    def clear_cache(self, cache: object) -> None:
        pass


def install() -> None:
    """Imitate a GPU in this process, for good; in backward passes too, which torch runs outside of every mode."""
    for name, value in _runtime().items():
        setattr(torch.cuda, name, value)
    torch.cuda.nvtx = types.SimpleNamespace(range_push=_always(None), range_pop=_always(None), range=_Scope)
    torch.version.cuda = "13.0"
    torch.compile = _not_compiled
    graph: Any = torch.autograd.graph
    run_backward = graph._engine_run_backward

    def run_on_gpu(*args: Any, **kwargs: Any) -> Any:
        with TensorsOnGpu():
            return run_backward(*args, **kwargs)

    graph._engine_run_backward = run_on_gpu
    autograd: Any = torch.autograd
    autograd._engine_run_backward = run_on_gpu
    importlib.import_module("triton.runtime.driver").driver.set_active(_Driver())
    TensorsOnGpu().__enter__()
