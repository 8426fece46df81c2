"""What programs use: launches that are verified, and launch specs beside kernels."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, Unpack, cast, overload

from .contract.spec_files import written_at

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .equality.targets import JudgedKernel
    from .gating import GateResult
    from .gating.gated import GivenGateOptions
    from .launching.bundled import BundledKernel
    from .launching.checking import Checked, NotebookShell
    from .launching.graphs import Graph
    from .launching.in_flight import InFlight
    from .launching.launch_types import Arguments, GivenGrid, GivenOptions, LaunchedKernel, Stream
    from .launching.launcher import Launcher, Patch
    from .launching.tuning import Called, Likeness, Tuned

K = TypeVar("K")
T = TypeVar("T")


@cache
def launcher() -> Launcher:
    """The launcher of this process, which launches need without asking for it."""
    from .launching.launcher import of_this_process

    return of_this_process()


def check(
    target: object,
    /,
    *,
    grid: GivenGrid = None,
    args: Mapping[str, object] | Arguments | None = None,
    spec: str | Path | None = None,
    timeout: float | None = None,
    effort: float = 1,
    deny_requires: bool = False,
    deny_limits: bool = False,
    complete: bool | Sequence[str] = False,
    audit: bool = False,
    repair: bool = False,
    jobs: int = 1,
    cache: bool = True,
    **more: object,
) -> Checked:
    """The verdicts of ``tileverify check``; true if all that was found is proved, and prints as the command does.

    ``target``: a kernel of cuda.tile or Triton, or the paths that the command takes (one, or a sequence).  How it is
    launched:

    * ``args={"x": "f32[N]", ...}``, ``grid=["cdiv(N, 128)"]`` and the other fields of ``[[launch]]``, for one kernel;
    * ``args=(x, out)``, ``grid=(8,)``: this very launch of a kernel at hand, with arrays of NumPy, torch, CuPy or JAX;
      ``data`` and ``vouch`` as for `launch` (not for Triton);
    * neither: what is written beside the kernel, or a guess.

    ``spec``: a file whose launches stand for those beside the kernel.  ``timeout``: seconds for each kernel;
    ``effort``: times the usual resources of the solver.
    ``deny_requires``: add no clause to the contract.  ``deny_limits``: size limits are errors.
    ``complete``: find the arrays that are written whole; a list of names is the field of ``[[launch]]``.
    ``audit``: compare what is proved with runs of the interpreter.
    ``repair``: try repairs of what is refuted.  ``jobs``: processes, 0 for as many as pay off; more than one needs a
    guarded ``__main__``.  ``cache``: use and keep verdicts on disk.

    A kernel that cannot be compiled becomes a result that says so.  Raises `UsageError` for what cannot be checked,
    and `SpecError` for a launch that is not written well.

    >>> import cuda.tile as ct
    >>> import tileverify
    >>> @ct.kernel
    ... def double(x, out):
    ...     i = ct.bid(0)
    ...     ct.store(out, (i,), ct.load(x, (i,), (128,)) * 2)
    >>> checked = tileverify.check(double, args={"x": "f32[N]", "out": "f32[N]"}, grid=["cdiv(N, 128)"])
    >>> bool(checked), checked.results[0].deterministic
    (True, True)
    >>> twice = tileverify.check(double, args={"x": "f32[N]", "out": "f32[N]"}, grid=["cdiv(N, 128)", 2])
    >>> bool(twice), twice.results[0].findings[0].code
    (False, 'TV101')
    """
    from .launching.checking import check as check_target
    from .launching.checking import runs_no_program
    from .pipeline import CheckOptions
    from .pipeline.verdict_cache import default_folder

    frame = inspect.currentframe()
    caller = None if frame is None else frame.f_back
    options = CheckOptions(
        timeout_s=timeout,
        effort=effort,
        deny_requires=deny_requires,
        deny_limits=deny_limits,
        jobs=jobs,
        cache=default_folder() if cache else None,
        complete=complete is True,
        audit=audit,
        repair=repair,
        quick_repairs=runs_no_program(target),
    )
    fields = more if isinstance(complete, bool) else {**more, "complete": complete}
    file = None if spec is None else Path(spec)
    place = None if caller is None else (caller.f_code.co_filename, caller.f_lineno)
    return check_target(launcher(), target, grid, args, fields, spec=file, options=options, place=place)


@overload
def launch(
    stream: Stream, grid: GivenGrid, kernel: object, arguments: Arguments, /, **options: Unpack[GivenOptions]
) -> None: ...
@overload
def launch(**fields: object) -> Callable[[K], K]: ...
def launch(
    stream: Stream = None,
    grid: GivenGrid = None,
    kernel: object = None,
    arguments: Arguments | None = None,
    /,
    **fields: object,
) -> object:
    """Verify and run a kernel, or describe a launch of the kernel below.

    ``launch(stream, grid, kernel, args, data=[...], vouch=False)`` takes what ``cuda.tile.launch`` takes, and makes the
    launch only if a proof covers it (`Launcher.launch`, `LaunchOptions`); NumPy arrays run in the interpreter, no GPU
    is needed.

    ``@launch(args={...}, grid=[...], ...)`` writes down a launch spec with the fields of ``[[launch]]``.

    >>> import cuda.tile as ct
    >>> import numpy as np
    >>> import tileverify
    >>> @tileverify.launch(args={"x": "f32[N]", "out": "f32[N]"}, grid=["cdiv(N, 128)"])
    ... @ct.kernel
    ... def negate(x, out):
    ...     i = ct.bid(0)
    ...     ct.store(out, (i,), -ct.load(x, (i,), (128,)))
    >>> x, out = np.ones(256, np.float32), np.zeros(256, np.float32)
    >>> tileverify.launch(None, (2,), negate, (x, out))
    >>> float(out.sum())
    -256.0
    """
    again = getattr(kernel, "tileverify_again", None)
    if again is not None:
        if not fields and again(stream, grid, arguments):
            return None
    elif kernel is None and arguments is None:
        return _written(fields, stream, grid)
    # What was given in place of arguments or options, the launcher says.
    given, options = cast("Arguments", arguments), cast("GivenOptions", fields)
    launcher().look_and_launch(stream, grid, kernel, given, **options)
    return None


def _written(fields: dict[str, object], *given: object) -> Callable[[K], K]:
    frame = inspect.currentframe()
    caller = frame.f_back.f_back if frame is not None and frame.f_back is not None else None
    return written_at(fields, given, caller)


def graph() -> Graph:
    """Launches that are checked together and made together, as often as wanted; see `launching.graphs`.

    A launch comes behind the latest one, or behind those of ``after``.  Those without such a path between them may run
    at once; `InFlightConflict` for two that must not.

    >>> import cuda.tile as ct
    >>> import numpy as np
    >>> import tileverify
    >>> @ct.kernel
    ... def double(x, out):
    ...     i = ct.bid(0)
    ...     ct.store(out, (i,), ct.load(x, (i,), (128,)) * 2)
    >>> x, y, z = (np.ones(256, np.float32) for _ in range(3))
    >>> with tileverify.graph() as both:
    ...     first = both.launch((2,), double, (x, y))
    ...     last = both.launch((2,), double, (y, z), after=[first])
    >>> both.replay(None)
    >>> float(z[0])
    4.0
    """
    from .launching.graphs import Graph, backend_of

    return Graph(partial(launcher().planned, None), backend_of)


def in_flight() -> InFlight:
    """What the launches of this process still use on GPUs; on a machine without one, everything is always done.

    >>> import tileverify
    >>> tileverify.in_flight().strict
    False
    >>> tileverify.in_flight().synchronize()
    """
    from .launching.in_flight import of_this_machine

    return of_this_machine()


def load(
    file: str | Path, *, keys: Sequence[str | Path] = (), only_signed: bool = False, trust_proof: bool = False
) -> BundledKernel:
    """The kernel of a bundle, for `launch`; see `launching.bundled.load`.

    ``keys``: Ed25519 public keys (PEM files) of those who are believed; the bundles of all others are proved again.
    ``only_signed``: refuse those instead.  ``trust_proof``: believe the proof of an unsigned bundle.  `BundleRefused`
    for a file that is damaged, changed or signed wrongly.

    >>> import numpy as np
    >>> import tileverify
    >>> source = '''
    ... import cuda.tile as ct
    ... import tileverify
    ... @tileverify.launch(args={"x": "f32[N]", "out": "f32[N]"}, grid=["cdiv(N, 128)"])
    ... @ct.kernel
    ... def negate(x, out):
    ...     i = ct.bid(0)
    ...     ct.store(out, (i,), -ct.load(x, (i,), (128,)))
    ... '''
    >>> with open("negate.tvk", "wb") as file:
    ...     size = file.write(tileverify.gate(source, bundles=True).kernels[0].bundle)
    >>> x, out = np.ones(256, np.float32), np.zeros(256, np.float32)
    >>> tileverify.launch(None, (2,), tileverify.load("negate.tvk"), (x, out))
    >>> float(out.sum())
    -256.0
    """
    from .launching.bundled import load as load_bundle

    return load_bundle(file, keys=keys, only_signed=only_signed, trust_proof=trust_proof)


@overload
def kernel(function: Callable[..., object], /, **hints: object) -> LaunchedKernel: ...
@overload
def kernel(**hints: object) -> Callable[[Callable[..., object]], LaunchedKernel]: ...
def kernel(function: Callable[..., object] | None = None, /, **hints: object) -> object:
    """``@ct.kernel`` for kernels that run verified or not at all: ``cuda.tile.launch`` refuses them.

    >>> import cuda.tile as ct
    >>> import numpy as np
    >>> import tileverify
    >>> @tileverify.kernel
    ... def clear(out):
    ...     ct.store(out, (ct.bid(0),), ct.zeros((128,), ct.float32))
    >>> tileverify.launch(None, (3,), clear, (np.ones(256, np.float32),))  # two tiles, three blocks
    Traceback (most recent call last):
        ...
    tileverify.LaunchRefused: clear was not launched, ...
    """
    from .launching.launcher import verified_kernel

    return verified_kernel(function, **hints)


def patch() -> Patch:
    """Turn every launch of cuda.tile and of Triton in this process into a verified one; gives what undoes it.

    What runs of a Triton kernel is what Triton's own compiler makes of the Triton IR that was proved.

    ``with tileverify.patch(): ...`` undoes it at the end of the block.

    >>> import cuda.tile as ct
    >>> import numpy as np
    >>> import tileverify
    >>> @ct.kernel
    ... def clear(out):
    ...     ct.store(out, (ct.bid(0),), ct.zeros((128,), ct.float32))
    >>> out = np.ones(256, np.float32)
    >>> with tileverify.patch():
    ...     ct.launch(None, (2,), clear, (out,))
    >>> float(out.sum())
    0.0
    """
    from .launching.launcher import Patch

    return Patch(launcher())


def tune(
    search_space: Iterable[T],
    stream: Stream,
    grid_fn: Callable[[T], GivenGrid],
    kernel: object,
    args_fn: Callable[[T], Arguments],
    hints_fn: Callable[[T], Mapping[str, object]] | None = None,
    *,
    record: str | Path | None = None,
    equal: bool | Callable[[T], tuple[GivenGrid, Arguments]] = False,
) -> Tuned[T]:
    """The fastest of the variants that are proved; see `launching.tuning`.

    Takes what ``cuda.tile.tune.exhaustive_search`` takes, and ``record``, a file that keeps what was timed.  The result
    has the ``best`` configuration, its median time in ``microseconds``, and all ``trials`` with why some did not run.
    ``equal=True`` refuses variants that are not the same function as the first, ``equal=lambda config: (grid,
    arguments)`` compares them at a smaller launch; see `docs/equality.md`.

    >>> import cuda.tile as ct
    >>> import numpy as np
    >>> import tileverify
    >>> @ct.kernel
    ... def clear(out, TILE: ct.Constant[int]):
    ...     ct.store(out, (ct.bid(0),), ct.zeros((TILE,), ct.float32))
    >>> out = np.ones(256, np.float32)
    >>> tuned = tileverify.tune([64, 128], None, lambda tile: (2,), clear, lambda tile: (out, tile))
    >>> tuned.best in (64, 128), len(tuned.trials)
    (True, 2)

    ``print(tuned)`` shows each variant's time and the bytes that it moves:

    >>> print(str(tuned.trials[0]).partition(", ")[2])
    moves 1.00 times the least
    """
    from .launching.tuning import counting, on_device

    def likeness(variant: Called, first: Called) -> Likeness:
        from .equality.answer_text import likeness_of

        (unit, proof), (plain, earlier) = (launcher().proved_unit(*each) for each in (variant, first))
        return likeness_of((unit, proof.result), (plain, earlier.result), (variant[2], first[2]))

    tuner = on_device(launcher().planned, likeness, lambda called: counting(launcher(), called))
    return tuner.tune(search_space, stream, grid_fn, kernel, args_fn, hints_fn, record=record, equal=equal)


def equal(
    target: str,
    reference: str | Callable[..., object],
    /,
    *,
    seed: int = 0,
    sizes: Mapping[str, int] | None = None,
    inputs: Mapping[str, ArrayLike] | None = None,
) -> list[JudgedKernel]:
    """Whether a kernel computes exactly what a reference does, as ``tileverify equal`` says; see `docs/equality.md`.

    ``target``: ``FILE::KERNEL``.  ``reference``: a function on NumPy arrays, ``REF.py::FN``, or another
    ``FILE::KERNEL``.  ``sizes``: the one launch to look at; ``inputs``: with these contents alone, arrays and float
    scalars by name.  One answer for each launch spec.

    >>> import numpy as np
    >>> import tileverify
    >>> source = '''
    ... import cuda.tile as ct
    ... import tileverify
    ... @tileverify.launch(args={"x": "f32[N]", "out": "f32[N]"}, grid=["cdiv(N, 128)"])
    ... @ct.kernel
    ... def halve(x, out):
    ...     i = ct.bid(0)
    ...     ct.store(out, (i,), ct.load(x, (i,), (128,)) * 0.5)
    ... '''
    >>> with open("halve.py", "w") as file:
    ...     size = file.write(source)
    >>> [found.equality.answer.value for found in tileverify.equal("halve.py::halve", lambda x: {"out": x / 2})]
    ['equal']
    >>> [found.equality.answer.value for found in tileverify.equal("halve.py::halve", lambda x: {"out": x / 2.0001})]
    ['different']
    """
    from .equality.points import Options
    from .equality.targets import EqualOptions, judge

    return judge(target, reference, EqualOptions(Options(seed=seed, values=sizes, inputs=inputs)))


def gate(
    source: str | bytes,
    *,
    file: str = "submission.py",
    own_spec: str | None = None,
    **options: Unpack[GivenGateOptions],
) -> GateResult:
    """Judge an untrusted source (str or bytes) in a sandbox; see `gating`.

    ``file`` is its name in answers, ``own_spec`` the text of a launch spec that came with it; ``options`` are fields
    of `gating.GateOptions`, of which ``spec`` is the text of a launch spec that the caller vouches for.

    >>> import tileverify
    >>> judged = tileverify.gate("import os; os.system('id')")
    >>> judged.accepted, judged.kernels[0].verdict
    (False, 'rejected')
    """
    from .gating import GateOptions, Submission, judge

    text = source.encode("utf-8", errors="surrogatepass") if isinstance(source, str) else source
    return judge(Submission(text, file, own_spec), GateOptions(**options))


def load_ipython_extension(shell: NotebookShell) -> None:
    """``%load_ext tileverify``: the cell magic ``%%tileverify`` for notebooks; see `launching.checking`."""
    from .launching.checking import register

    register(shell, launcher())
