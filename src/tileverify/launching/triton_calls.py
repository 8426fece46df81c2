"""A ``@triton.jit`` function as a program launches it, in the words of launch specs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..backend.guard.arguments import Grid
from ..contract.launch import KernelUnit, LaunchSpec
from ..contract.spec import build_launch
from ..frontend.triton.triton_kernels import TritonIrKernel, compile_triton_ir, kernels_of_ir
from ..hook.described_launch import Described
from ..hook.foreign import TritonSpecialisation
from . import calls


@dataclass(frozen=True)
class CalledTritonKernel:
    """One specialisation of a Triton kernel: what Triton made for it is what is proved."""

    specialisation: TritonSpecialisation

    @property
    def name(self) -> str:
        return self.specialisation.function.__qualname__

    @property
    def parameters(self) -> Sequence[str]:
        return self.specialisation.parameters

    @property
    def file(self) -> Path:
        return Path(self.specialisation.function.__code__.co_filename)

    @property
    def line(self) -> int:
        return self.specialisation.function.__code__.co_firstlineno

    def spec(
        self, descriptions: Sequence[Described], contents: Mapping[str, NDArray[np.generic]], grid: Grid | None
    ) -> LaunchSpec:
        """The launch with its own numbers as its contract; raises what `calls.raw_call` raises, and `SourceError` for
        Triton IR that cannot be read."""
        raw = calls.raw_call(self, descriptions, contents, False, grid)
        return build_launch(raw, calls.LAUNCH, self._kernel.parameters)

    def compiled(self, spec: LaunchSpec) -> KernelUnit:
        """The translation; raises `SourceError` at the user's line for an op that has none."""
        unit = compile_triton_ir(self._kernel, spec)
        return replace(unit, kernel=self.name, file=self.file, line=self.line)

    @cached_property
    def _kernel(self) -> TritonIrKernel:
        kernels = kernels_of_ir(self.specialisation.text, self.file)
        return next(each for each in kernels if each.name == self.specialisation.symbol)
