"""What programs use: launches that are verified, and launch specs beside kernels."""

from __future__ import annotations

import inspect
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from .contract.decorator import written_at
from .errors import UsageError

if TYPE_CHECKING:
    from .gating import GateResult
    from .launching.in_flight import InFlight
    from .launching.launcher import Launcher


@cache
def launcher() -> Launcher:
    """The launcher of this process."""
    from .launching.launcher import Launcher

    return Launcher()


def launch(stream: Any = None, grid: Any = None, kernel: Any = None, arguments: Any = None, /, **fields: Any) -> Any:
    """Verify and run a kernel, or describe a launch of the kernel below.

    ``launch(stream, grid, kernel, args, data=[...], vouch=False)`` takes what ``cuda.tile.launch`` takes, and makes the
    launch only if a proof covers it (`Launcher.launch`, `LaunchOptions`); NumPy arrays run in the interpreter, no GPU
    is needed.

    ``@launch(args={...}, grid=[...], ...)`` writes down a launch spec with the fields of ``[[launch]]``.
    """
    try:
        again = kernel.tileverify_again
    except AttributeError:
        if kernel is None and arguments is None:
            return _written(fields, stream, grid)
    else:
        if not fields and again(stream, grid, arguments):
            return None
    return launcher().look_and_launch(stream, grid, kernel, arguments, **fields)


def _written(fields: dict[str, Any], *given: Any) -> Any:
    if any(each is not None for each in given):
        raise UsageError(
            "tileverify.launch takes a stream, a grid, a kernel and its arguments; a launch spec, names alone"
        )
    frame = inspect.currentframe()
    caller = frame.f_back.f_back if frame is not None and frame.f_back is not None else None
    return written_at(fields, caller)


def graph() -> Any:
    """Launches that are checked and made together; see `launching.graphs`."""
    from .launching.graphs import Graph, backend_of

    return Graph(partial(launcher().planned, None), backend_of)


def in_flight() -> InFlight:
    """What the launches of this process still use on GPUs; on a machine without one, everything is always done."""
    from .launching.in_flight import of_this_machine

    return of_this_machine()


def load(file: Any, **options: Any) -> Any:
    """The kernel of a bundle, for `launch`; see `launching.bundled.load`."""
    from .launching.bundled import load as load_bundle

    return load_bundle(file, **options)


def kernel(function: Any = None, /, **hints: Any) -> Any:
    """``@ct.kernel`` for kernels that run verified or not at all: ``cuda.tile.launch`` refuses them."""
    from .launching.programs import verified_kernel

    return verified_kernel(function, **hints)


def patch() -> Any:
    """Turn every ``cuda.tile.launch`` of this process into a verified one; gives what undoes it.

    ``with tileverify.patch(): ...`` undoes it at the end of the block.
    """
    from .launching.programs import Patch

    return Patch(launcher())


def tune(*call: Any, **options: Any) -> Any:
    """The fastest of the variants that are proved; see `launching.tuning`."""
    from .launching.tuning import on_device

    return on_device(launcher().planned).tune(*call, **options)


def gate(source: Any, *, file: str = "submission.py", own_spec: str | None = None, **options: Any) -> GateResult:
    """Judge an untrusted source (str or bytes) in a sandbox; see `gating`.

    ``file`` is its name in answers, ``own_spec`` the text of a launch spec that came with it; ``options`` are fields
    of `gating.GateOptions`, of which ``spec`` is the text of a launch spec that the caller vouches for.
    """
    from .gating import GateOptions, Submission, judge

    text = source.encode("utf-8", errors="surrogatepass") if isinstance(source, str) else source
    return judge(Submission(text, file, own_spec), GateOptions(**options))
