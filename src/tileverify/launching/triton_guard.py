"""Triton's own launches, each let pass if it is proved and refused if it is not.

What then runs is what Triton's compiler made of the Triton IR that was proved, under the order that this compiler keeps
(``order = "triton"``).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import FunctionType

from ..backend.gpu import driver
from ..backend.guard import LaunchRefused
from ..backend.guard.arguments import Grid
from ..contract.launch import KernelUnit
from ..hook.described_launch import Described
from ..hook.foreign import TritonSpecialisation
from ..pipeline import CheckOptions
from . import calls
from .contents import contents_of
from .launch_types import GivenGrid
from .proofs import Request, Specialisation, admitted
from .triton_calls import CalledTritonKernel


@dataclass(frozen=True, slots=True)
class TritonGuard:
    """A `TritonObserver` that lets a launch pass if it is proved, and raises `LaunchRefused` for any other."""

    options: CheckOptions
    _known: dict[TritonSpecialisation, tuple[CalledTritonKernel, Specialisation]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def triton_room(self, function: FunctionType) -> bool:
        """All specialisations are looked at."""
        return True

    def triton_launch(
        self,
        specialisation: TritonSpecialisation,
        grid: GivenGrid,
        described: Sequence[Described],
        arrays: Sequence[object],
    ) -> bool:
        """Whether an equal launch needs no other look: not where the proof rests on what arrays hold, or there is none.

        Raises `LaunchRefused`, `UsageError` for arguments that launch specs cannot say, and `SourceError` for an op
        without a translation.
        """
        axes = calls.grid_of(grid)
        kernel, known = self._specialisation(specialisation, described, axes)
        named = dict(calls.named_values(kernel.parameters, described))
        contents = contents_of(named, not driver.present(), None)

        @cache
        def unit() -> KernelUnit:
            return replace(known.unit, launch=kernel.spec(described, contents, axes))

        proof = admitted(kernel, known, Request(named, axes, contents, False, unit), self.options)
        return proof is not None and not proof.assumed

    def triton_failed(self, function: FunctionType | None, error: Exception) -> None:
        """Raises `LaunchRefused`."""
        name = "a Triton kernel" if function is None else function.__qualname__
        raise LaunchRefused(f"{name} was not launched: {error} (TV502)") from error

    def _specialisation(
        self, made: TritonSpecialisation, described: Sequence[Described], grid: Grid
    ) -> tuple[CalledTritonKernel, Specialisation]:
        with self._lock:
            if made not in self._known:
                kernel = CalledTritonKernel(made)
                unit = kernel.compiled(kernel.spec(described, {}, grid))
                self._known[made] = kernel, Specialisation(unit)
            return self._known[made]
