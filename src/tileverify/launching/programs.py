"""Whole programs: kernels that run verified or not at all, and every launch of ``cuda.tile`` made a verified one."""

from __future__ import annotations

from functools import cache
from types import FunctionType, TracebackType
from typing import TYPE_CHECKING, Any, Final

from ..backend.launch import LaunchRefused
from ..errors import UsageError

if TYPE_CHECKING:
    from .launcher import Launcher

_BESIDE: Final = ("launch_extended", "_benchmark")
"""Ways into cuda.tile's C extension that launch something else than a proof speaks of."""


@cache
def _verified_kernel_class() -> Any:
    import cuda.tile as ct

    class VerifiedKernel(ct.kernel):  # type: ignore[misc]
        """A kernel that ``cuda.tile`` cannot compile, and so cannot launch, on its own."""

        def _compile(self, *arguments: Any, **options: Any) -> Any:
            name = self._annotated_function.pyfunc.__qualname__
            raise LaunchRefused(
                f"'{name}' is a tileverify.kernel: launch it with tileverify.launch or after tileverify.patch() (TV502)"
            )

        def replace_hints(self, **hints: Any) -> Any:
            other = super().replace_hints(**hints)
            return VerifiedKernel(other._pyfunc, **_hints(other))

    return VerifiedKernel


def _hints(kernel: Any) -> dict[str, Any]:
    options = kernel._compiler_options
    return {name: getattr(options, name) for name in options.__dataclass_fields__}


def verified_kernel(function: Any = None, /, **hints: Any) -> Any:
    """``@ct.kernel``, with its compiler options, for kernels that run verified or not at all."""
    if function is None:
        return lambda each: verified_kernel(each, **hints)
    if not isinstance(function, FunctionType):
        raise UsageError(f"@tileverify.kernel decorates a function, not {function!r}")
    return _verified_kernel_class()(function, **hints)


class Patch:
    """``cuda.tile.launch`` replaced by a verified launch, until `undo`.

    Other ways to launch a kernel, such as ``launch_extended``, are refused meanwhile.
    """

    def __init__(self, launcher: Launcher) -> None:
        import cuda.tile as ct
        from cuda.tile import _cext

        self._launcher = launcher
        self._before: list[tuple[Any, str, Any]] = []
        for owner in (ct, _cext):
            self._replace(owner, "launch", self._launch)
            for name in _BESIDE:
                if hasattr(owner, name):
                    self._replace(owner, name, _refusal(name))

    def _replace(self, owner: Any, name: str, function: Any) -> None:
        self._before.append((owner, name, getattr(owner, name)))
        setattr(owner, name, function)

    def _launch(
        self, stream: Any, grid: Any, kernel: Any, kernel_args: Any, /, *, programmatic_dependent_launch: bool = False
    ) -> None:
        self._launcher.launch(
            stream, grid, kernel, kernel_args, programmatic_dependent_launch=programmatic_dependent_launch
        )

    def undo(self) -> None:
        """Put ``cuda.tile`` back as it was."""
        while self._before:
            owner, name, function = self._before.pop()
            setattr(owner, name, function)

    def __enter__(self) -> Patch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()


def _refusal(name: str) -> Any:
    def refuse(*arguments: Any, **options: Any) -> Any:
        raise LaunchRefused(f"cuda.tile's {name} is not verified, and refused by tileverify.patch() (TV502)")

    return refuse
