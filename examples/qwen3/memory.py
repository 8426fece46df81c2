"""Where arrays lie: NumPy's in the host's memory, where kernels run in the interpreter, or torch's on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np

from .errors import EngineError

Array = Any
"""Of NumPy or torch."""

TORCH: Final = {"bf16": "bfloat16", "f16": "float16", "f32": "float32", "i32": "int32"}


class Memory(Protocol):
    """Of one device."""

    name: str
    on_gpu: bool

    def empty(self, shape: Sequence[int], dtype: str) -> Array:
        """A new array of any contents."""

    def put(self, values: np.ndarray[Any, Any]) -> Array:
        """A copy there, of the same element type."""

    def fill(self, target: Array, values: Any) -> None:
        """``target[...] = values`` of any float type; values of NumPy, or of torch."""

    def numbers(self, array: Array) -> np.ndarray[Any, Any]:
        """A copy here; floats as float32."""

    def later(self, array: Array) -> Callable[[], list[int]]:
        """What the array holds when all work so far is done; the call waits for that, and for nothing behind it."""

    def normal(self, seed: int, scale: float) -> Callable[[Array], None]:
        """A source of random numbers, which fills one array after the other."""

    def wait(self) -> None:
        """For all work so far."""

    @property
    def stream(self) -> Any:
        """Where launches go."""


class HostMemory:
    """NumPy's arrays; bf16 by `ml_dtypes`."""

    name, on_gpu, stream = "the interpreter", False, None

    def empty(self, shape: Sequence[int], dtype: str) -> Array:
        return np.empty(tuple(shape), numpy_type(dtype))

    def put(self, values: np.ndarray[Any, Any]) -> Array:
        return np.array(values)

    def fill(self, target: Array, values: Any) -> None:
        target[...] = values

    def numbers(self, array: Array) -> np.ndarray[Any, Any]:
        return np.array(array if array.dtype.kind == "i" else array.astype(np.float32))

    def later(self, array: Array) -> Callable[[], list[int]]:
        found: list[int] = array.tolist()
        return lambda: found

    def normal(self, seed: int, scale: float) -> Callable[[Array], None]:
        random = np.random.default_rng(seed)

        def fill(target: Array) -> None:
            target[...] = random.standard_normal(target.shape, np.float32) * scale

        return fill

    def wait(self) -> None:
        pass


class GpuMemory:
    """torch's tensors on its current device and stream."""

    on_gpu = True

    def __init__(self) -> None:
        import torch

        if not torch.cuda.is_available():
            raise EngineError("torch sees no GPU: use --device cpu and --random tiny")
        self._torch = torch
        self._device = torch.device("cuda", torch.cuda.current_device())
        self.name = torch.cuda.get_device_name(self._device)

    @property
    def stream(self) -> Any:
        return self._torch.cuda.current_stream(self._device)

    def empty(self, shape: Sequence[int], dtype: str) -> Array:
        return self._torch.empty(tuple(shape), dtype=getattr(self._torch, TORCH[dtype]), device=self._device)

    def put(self, values: np.ndarray[Any, Any]) -> Array:
        return self._torch.from_numpy(np.ascontiguousarray(values)).to(self._device)

    def fill(self, target: Array, values: Any) -> None:
        target.copy_(self._torch.from_numpy(values) if isinstance(values, np.ndarray) else values)

    def numbers(self, array: Array) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = (array.float() if array.is_floating_point() else array).cpu().numpy()
        return found

    def later(self, array: Array) -> Callable[[], list[int]]:
        here = self._torch.empty(array.shape, dtype=array.dtype, pin_memory=True)
        here.copy_(array, non_blocking=True)
        done = self._torch.cuda.Event()
        done.record(self.stream)

        def numbers() -> list[int]:
            done.synchronize()
            found: list[int] = here.tolist()
            return found

        return numbers

    def normal(self, seed: int, scale: float) -> Callable[[Array], None]:
        generator = self._torch.Generator(self._device)
        generator.manual_seed(seed)

        def fill(target: Array) -> None:
            target.normal_(0.0, scale, generator=generator)

        return fill

    def wait(self) -> None:
        self._torch.cuda.synchronize(self._device)


def numpy_type(dtype: str) -> np.dtype[Any]:
    """Raises `EngineError` for bf16 without `ml_dtypes`."""
    if dtype != "bf16":
        return np.dtype(TORCH[dtype])
    try:
        import ml_dtypes
    except ImportError:
        raise EngineError("NumPy has no bf16: pip install ml-dtypes, or use --dtype f32") from None
    found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return found
