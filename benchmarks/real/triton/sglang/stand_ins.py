"""Imports sglang's files of Triton kernels: they come from an unpacked wheel, and all else that they import is made up.

A file is itself if it has ``@triton.jit`` in it, or is among `HELPERS`; every other module of sglang, and each package
that is not installed, is a module whose every attribute is a `Nothing`.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

HELPERS = {
    "sglang.srt.layers.attention.fla.index",
    "sglang.srt.layers.attention.fla.utils",
    "sglang.srt.layers.attention.fla.op",
    "sglang.srt.layers.attention.mamba.ops",
    "sglang.srt.lora.utils",
}
MISSING = (
    "sgl_kernel",
    "deep_gemm",
    "flashinfer",
    "aiter",
    "vllm",
    "sentencepiece",
    "pybase64",
    "wave_lang",
    "cutlass",
)
KNOWN: dict[str, Any] = {
    "is_cuda": lambda: True,
    "get_device_core_count": lambda *of: 132,
    "get_device_name": lambda *of: "NVIDIA_H200",
    "next_power_of_2": lambda n: 1 << max(n - 1, 0).bit_length(),
    "cdiv": lambda a, b: -(-a // b),
    "ceil_div": lambda a, b: -(-a // b),
    "ceil_align": lambda a, b: -(-a // b) * b,
    "get_bool_env_var": lambda *of: False,
    "is_sm90_supported": lambda *of: True,
    "cached_triton_kernel": lambda key: lambda kernel: kernel,
    "PAD_SLOT_ID": -1,
    "support_triton": lambda *of: True,
    "torch_release": (2, 13),
    "device_context": lambda *of: contextlib.nullcontext(),
}
"""What sglang's own helpers answer on the GPU that is imitated."""


class Nothing:
    """False, callable, subscriptable, without end; as a decorator it gives back the function, as a base no class."""

    def __call__(self, *given: Any, **options: Any) -> Any:
        return given[0] if len(given) == 1 and not options and callable(given[0]) else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return KNOWN.get(name, self)

    def __getitem__(self, key: Any) -> Any:
        return self

    def __bool__(self) -> bool:
        return False

    def __or__(self, other: Any) -> Any:
        return self

    __ror__ = __or__

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return ()


class _MadeUp(ModuleType):
    __path__: Sequence[str] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return KNOWN.get(name, Nothing())


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """See the module."""

    def __init__(self, wheel: Path) -> None:
        self._wheel = wheel

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        top = name.partition(".")[0]
        if top != "sglang" and top not in MISSING:
            return None
        if top == "sglang":
            file = self._wheel.joinpath(*name.split(".")).with_suffix(".py")
            if (
                file.exists()
                and name != "sglang.srt.utils.common"
                and (name in HELPERS or "@triton.jit" in file.read_text(encoding="utf-8"))
            ):
                return importlib.util.spec_from_file_location(name, file)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _MadeUp(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def install(wheel: Path) -> None:
    """Imports of sglang are answered from ``wheel`` from now on."""
    sys.meta_path.insert(0, Finder(wheel))
