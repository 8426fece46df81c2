"""Whole programs: kernels that run verified or not at all, and every launch of ``cuda.tile`` made a verified one."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from types import CellType, FrameType, FunctionType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Final, NoReturn

from ..backend.guard import LaunchRefused
from ..system.errors import UsageError
from .launch_types import Arguments, GivenGrid, LaunchedKernel, Stream

if TYPE_CHECKING:
    from .launcher import Launcher

_OWN: Final = __name__.partition(".")[0]
_BESIDE: Final = (
    "launch_extended", "_benchmark", "_export_ipc_benchmark_payload", "_benchmark_with_ipc_payload", "cutile_call",
    "xla_ffi_get_call_handler",
)  # fmt: skip
"""Ways into cuda.tile's C extension that launch something else than a proof speaks of: a tuner's measurements, also in
a process of their own, which nobody patched (`single_run_timeout_sec`), and what XLA calls for JAX."""
_JAX: Final = "cuda.tile.jax._jax"


@cache
def _verified_kernel_class() -> Callable[..., LaunchedKernel]:
    import cuda.tile as ct

    class VerifiedKernel(ct.kernel):  # type: ignore[misc]
        """A kernel that ``cuda.tile`` cannot compile, and so cannot launch, on its own."""

        def _compile(self, *arguments: object, **options: object) -> NoReturn:
            name = self._annotated_function.pyfunc.__qualname__
            raise LaunchRefused(
                f"'{name}' is a tileverify.kernel: launch it with tileverify.launch or after tileverify.patch() (TV502)"
            )

        def replace_hints(self, **hints: object) -> VerifiedKernel:
            other = super().replace_hints(**hints)
            return VerifiedKernel(other._pyfunc, **_hints(other))

    return VerifiedKernel


def _hints(kernel: LaunchedKernel) -> dict[str, object]:
    options = kernel._compiler_options
    return {name: getattr(options, name) for name in options.__dataclass_fields__}


def verified_kernel(function: object = None, /, **hints: object) -> object:
    """``@ct.kernel``, with its compiler options, for kernels that run verified or not at all."""
    if function is None:
        return lambda each: verified_kernel(each, **hints)
    if not isinstance(function, FunctionType):
        raise UsageError(f"@tileverify.kernel decorates a function, not {function!r}")
    return _verified_kernel_class()(function, **hints)


class Patch:
    """``cuda.tile.launch`` replaced by a verified launch, until `undo`, also where modules or classes took it before.

    Other ways to launch a kernel, such as ``launch_extended``, are refused meanwhile.  What was taken into other places
    (a closure, a table, ``functools.partial``) cannot be replaced: a RuntimeWarning names it.
    """

    def __init__(self, launcher: Launcher) -> None:
        import cuda.tile as ct
        from cuda.tile import _cext

        self._launcher = launcher
        self._before: list[tuple[object, str, object]] = []
        replaced: dict[int, tuple[object, Callable[..., object]]] = {}
        for owner in (ct, _cext, *([sys.modules[_JAX]] if _JAX in sys.modules else [])):
            for name in ("launch", *_BESIDE):
                if hasattr(owner, name):
                    original = getattr(owner, name)
                    replaced[id(original)] = (original, self._launch if name == "launch" else _refusal(name))
        for owner in _namespaces():
            for name, value in list(vars(owner).items()):
                static = isinstance(value, staticmethod)
                if (found := replaced.get(id(value.__func__ if static else value))) is not None:
                    self._replace(owner, name, staticmethod(found[1]) if static else found[1])
        left = list(dict.fromkeys(each for original, _ in replaced.values() for each in _left(original, self._before)))
        if left:
            warnings.warn(
                f"tileverify.patch(): what was taken before it stays unverified in {', '.join(left)}; patch first",
                RuntimeWarning,
                stacklevel=3,
            )

    def _replace(self, owner: object, name: str, function: object) -> None:
        self._before.append((owner, name, vars(owner)[name]))
        setattr(owner, name, function)

    def _launch(
        self,
        stream: Stream,
        grid: GivenGrid,
        kernel: object,
        kernel_args: Arguments,
        /,
        *,
        programmatic_dependent_launch: bool = False,
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


def _namespaces() -> Iterator[ModuleType | type]:
    """All modules but those of tileverify, and the classes that they define."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == _OWN or not isinstance(module, ModuleType):
            continue
        yield module
        for value in list(vars(module).values()):
            if isinstance(value, type) and value.__module__ == name:
                yield value


def _left(original: object, before: list[tuple[object, str, object]]) -> Iterator[str]:
    """Where else the program holds a function, in words."""
    ours = {id(before), *map(id, before)}
    namespaces = {id(vars(module)) for module in list(sys.modules.values()) if isinstance(module, ModuleType)}
    for holder in gc.get_referrers(original):
        if id(holder) in ours | namespaces or isinstance(holder, FrameType):
            continue
        if isinstance(holder, CellType):
            users = [each for each in gc.get_referrers(holder) if isinstance(each, tuple)]
            functions = [f for each in users for f in gc.get_referrers(each) if isinstance(f, FunctionType)]
            if all(function.__module__.partition(".")[0] == _OWN for function in functions):
                continue
            yield f"a closure of {' and '.join(function.__qualname__ for function in functions)}"
        elif isinstance(holder, partial):
            yield "a functools.partial"
        elif isinstance(holder, dict | list | set):
            yield f"a {type(holder).__name__}"
        elif isinstance(holder, tuple):
            functions = [each for each in gc.get_referrers(holder) if isinstance(each, FunctionType)]
            yield from (f"the defaults of {each.__qualname__}" for each in functions if each.__defaults__ is holder)


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(*arguments: object, **options: object) -> NoReturn:
        raise LaunchRefused(f"cuda.tile's {name} is not verified, and refused by tileverify.patch() (TV502)")

    return refuse
