"""Run a command with the recorder inside and make a recording of what it launched."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from ..system.errors import NoKernelFound, UsageError
from ..system.own_files import PACKAGE
from ..system.printable import plural
from .recorded import Gpu, LaunchFailure
from .recording import INDEX, Recording, read_index

_HOOK = PACKAGE / "hook"
_CACHES = ("TILECPP_CACHE_DIR",)
"""Where programs keep cubins of CUDA Tile C++ from run to run.  A recorded one has its kernels compiled anew: a cubin
does not say of what Tile IR it was made."""
_COMPILED = {"TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER": "0", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
"""What has `torch.compile` launch its kernels by Triton's own launcher, compiled in the process that is recorded."""
_ENDING = (signal.SIGTERM, signal.SIGHUP)
_ENDED = {128 + number for number in (*_ENDING, signal.SIGINT)}
"""Exit codes of a command after which nobody waits for more."""


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """``specialisations``: kept for each kernel source; ``launches``: looked at for each specialisation;
    ``configurations``: of a tuning run, looked at when no GPU is there to measure them; ``capability``: of the
    imitated GPU; ``bytecode_version``: e.g. ``"13.3"``, by default the newest that the installed ``tileiras`` reads;
    ``generalise``: look for one launch with names for the sizes where several launches differ in numbers alone;
    ``repeats``: let journals say when an equal launch is made again."""

    specialisations: int = 16
    launches: int = 6
    configurations: int = 3
    capability: tuple[int, int] = (10, 0)
    bytecode_version: str | None = None
    generalise: bool = True
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class RecordSummary:
    """What a run gave.  ``exit_code`` is the command's own; ``generalised`` counts the launches with names that stand
    for several; ``left_out`` counts launches of specialisations beyond the limit; ``failures`` are launches that could
    not be written down (``outcome``: ``rejected`` by ``cuda.tile`` itself, or ``failed``), each with ``kernel`` (its
    qualified name, if known), ``file``, ``line``, ``type`` and ``message``."""

    output: Path
    exit_code: int
    kernels: int
    specialisations: int
    launches: int
    left_out: int
    failures: tuple[LaunchFailure, ...]
    generalised: int = 0


def record(
    command: Sequence[str],
    *,
    output: Path,
    no_gpu: bool,
    interpret: bool = False,
    append: bool = False,
    options: RecordOptions = RecordOptions(),
    tell: Callable[[str], None] = lambda text: None,
) -> RecordSummary:
    """Run ``command`` and write every ``cuda.tile`` launch of it and its child processes to the folder ``output``.

    With ``no_gpu`` a CUDA device is imitated (for torch too, if the program uses it), and kernels do not run, or with
    ``interpret``, which implies it, are run by the interpreter, so that the program's results are right.  A former
    recording in ``output`` is replaced, or extended with ``append``.  A command that fails still leaves what it
    launched; its exit code is in the summary.  ``tell`` hears of what takes time after it has ended.  Ctrl-C, SIGTERM
    and SIGHUP end what is under way, and the recording is written as it is.  Raises `UsageError` for a command that
    cannot be started or an ``output`` that is something else, `NoKernelFound` if nothing was launched (``output`` stays
    as it was).
    """
    if not command:
        raise UsageError("no command to record; write it behind --, for example: tileverify record -- python prog.py")
    _check_output(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    # What a command that was ended leaves running may still write there.
    with tempfile.TemporaryDirectory(
        prefix=f".{output.name}.record-", dir=output.parent, ignore_cleanup_errors=True
    ) as name:
        staging = Path(name)
        journals, startup, made = staging / "journals", staging / "startup", staging / "made"
        for folder in (journals, startup, made):
            folder.mkdir()
        gpu = Gpu.INTERPRETED if interpret else Gpu.NONE if no_gpu else Gpu.REAL
        with _ended_by_signals():
            exit_code = _run(command, _environment(journals, startup, gpu, options))
        recording = Recording()
        if append and output.exists():
            recording.read_folder(output, options.launches)
        recording.read_journals(journals, options.launches)
        if not recording.observed:
            raise NoKernelFound(_nothing(command, exit_code, recording))
        several = sum(len(entry["launches"]) > 1 for entry in recording.specialisations.values())
        if options.generalise and several and exit_code not in _ENDED:
            known = plural(several, "specialisation")
            tell(f"proving launches with names for {known} that had several launches")
            with contextlib.suppress(KeyboardInterrupt), _ended_by_signals():
                _generalise(recording)
        recording.write(made, {"command": list(command), "exit_code": exit_code, "gpu": gpu})
        _publish(made, output, staging / "replaced")
    return RecordSummary(
        output=output,
        exit_code=exit_code,
        kernels=recording.kernels,
        specialisations=len(recording.specialisations),
        launches=recording.launches,
        left_out=recording.left_out,
        failures=tuple(recording.failures),
        generalised=recording.generalised,
    )


def _generalise(recording: Recording) -> None:
    from ..pipeline import CheckOptions
    from ..pipeline.verdict_cache import default_folder
    from .general_proof import generalise

    generalise(recording.specialisations, recording.bytecode, CheckOptions(cache=default_folder()))


def _check_output(output: Path) -> None:
    if output.is_dir() and any(output.iterdir()):
        if not (output / INDEX).exists():
            raise UsageError("the output folder holds files that are no recording; name another one", str(output))
        read_index(output)
    elif output.exists() and not output.is_dir():
        raise UsageError("the output is a file; name a folder", str(output))


def _environment(journals: Path, startup: Path, gpu: Gpu, options: RecordOptions) -> dict[str, str]:
    """The command's environment: ours, less the name of a test that this process may itself be running."""
    own = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    return {**own, **recording_environment(journals, startup, gpu, options)}


def recording_environment(journals: Path, startup: Path, gpu: Gpu, options: RecordOptions) -> dict[str, str]:
    """What makes every Python that sees it write its launches into the folder ``journals``.

    ``startup``: an empty folder for its start-up file.
    """
    shutil.copyfile(_HOOK / "sitecustomize.py", startup / "sitecustomize.py")
    path = os.environ.get("PYTHONPATH")
    return {
        "PYTHONPATH": f"{startup}{os.pathsep}{path}" if path else str(startup),
        "TILEVERIFY_RECORD_OUT": str(journals.resolve()),
        "TILEVERIFY_RECORD_HOOK": str(_HOOK.resolve()),
        "TILEVERIFY_RECORD_PACKAGE": str(_HOOK.parent.resolve()),
        "TILEVERIFY_RECORD_PYTHON": sys.executable,
        "TILEVERIFY_RECORD_GPU": gpu.value,
        "TILEVERIFY_RECORD_CAPABILITY": ".".join(map(str, options.capability)),
        "TILEVERIFY_RECORD_BYTECODE_VERSION": options.bytecode_version or "",
        "TILEVERIFY_RECORD_SPECIALISATIONS": str(options.specialisations),
        "TILEVERIFY_RECORD_LAUNCHES": str(options.launches),
        "TILEVERIFY_RECORD_REPEATS": "1" if options.repeats else "",
        "TILEVERIFY_RECORD_CONFIGURATIONS": str(options.configurations),
        **{name: str(journals.resolve() / "compiled") for name in _CACHES},
        **_COMPILED,
    }


class _EndedBySignal(KeyboardInterrupt):
    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Turn signals that would end this process into exceptions, so that what was recorded is written."""
    if threading.current_thread() is not threading.main_thread():  # which alone gets them
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        raise _EndedBySignal(number)

    before = {number: signal.signal(number, end) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """The command's exit code, ``128 + N`` if signal N ended it."""
    try:
        code = subprocess.run(list(command), env=environment, check=False).returncode
    except FileNotFoundError:
        raise UsageError(f"cannot run {command[0]!r}: there is no such program on PATH") from None
    except OSError as error:
        hint = "; write python in front of it" if command[0].endswith(".py") else ""
        raise UsageError(f"cannot run {command[0]!r}: {error.strerror}{hint}") from None
    except _EndedBySignal as ended:
        return ended.exit_code
    except KeyboardInterrupt:
        return 130
    return code if code >= 0 else 128 - code


def _nothing(command: Sequence[str], exit_code: int, recording: Recording) -> str:
    ended = f"{command[0]!r} ended with exit code {exit_code} and"
    if recording.failures:
        first = recording.failures[0]
        reason = first["message"].splitlines()[0] if first["message"] else ""
        return f"{ended} none of its launches could be recorded; the first failed with {first['type']}: {reason}"
    if recording.imported_cuda_tile:
        return f"{ended} launched no kernel of Tile IR; nothing was recorded"
    return (
        f"{ended} imported neither cuda.tile nor triton nor cuda.core nor cuda.bindings; nothing was recorded "
        "(a Python started with -I, -E or -S cannot be recorded, it ignores PYTHONPATH)"
    )


def _publish(made: Path, output: Path, replaced: Path) -> None:
    """Put ``made`` in the place of ``output`` with two renames; all three are on one file system."""
    if output.exists():
        output.rename(replaced)
    made.rename(output)
