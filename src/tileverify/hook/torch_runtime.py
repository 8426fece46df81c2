"""Stand-ins for ``torch.cuda``: devices, streams, events and graphs that exist and do nothing."""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

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
