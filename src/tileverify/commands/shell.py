"""How the command line behaves: exit codes, errors in one sentence, streams, colour."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from ..contract.spec_files import SPEC_SUFFIX, spec_path
from ..system.atomic_file import write_whole
from ..system.crash_report import CrashContents, command_words, crash_folder, write_crash
from ..system.errors import TRACEBACK, TileVerifyError, UsageError, failure_sentence
from ..system.printable import display_path, printable

if TYPE_CHECKING:
    from ..pipeline.options import UnderWay

PATIENCE: Final = 2.0
"""Seconds that people wait for a kernel before they are told what it is at."""

SECONDS_BETWEEN: Final = 0.5
"""From one look at what is under way to the next."""

INTERRUPTED: Final = 130  # 128 + SIGINT, as shells count
NO_ROOM: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO))
"""What the system says where somebody's disk takes no more."""
BROKEN_PIPE: Final = 141  # 128 + SIGPIPE: a report that nobody read is no success
_NO_COMMAND: Final[Any] = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""What click raises for a group alone, since its version 8.2."""


class Shell(click.Group):
    """A group whose commands end with the documented exit codes, whatever happens.

    A `TileVerifyError` becomes its sentence on stderr and its exit code, anything unexpected exit code 2, an archive of
    what is needed to mend it, and a plea for a report.  A file under test that ends the program never decides the exit
    code.
    """

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run the command line and exit."""
        if sys.stdout is None:
            talk("error: cannot write: standard output is closed")
            sys.exit(2)
        extra["standalone_mode"] = False  # its exit codes for broken pipes, Ctrl-C and some errors would mean refuted
        try:
            code = super().main(*args, **extra)
        except _NO_COMMAND as error:  # its message is the help
            click.echo(error.format_message(), err=True)
            code = 2
        except click.ClickException as error:
            usage = (
                f" (try: {error.ctx.command_path} --help)" if isinstance(error, click.UsageError) and error.ctx else ""
            )
            talk(f"error: {error.format_message()}{usage}")
            code = 2
        except click.Abort:
            code = INTERRUPTED
        except Exception as error:  # on the way to a command
            code = _exit_code(error)
        except SystemExit as ended:  # click's way to end completion (0), and to answer a closed pipe (1)
            code = BROKEN_PIPE if ended.code else 0
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except (click.ClickException, click.exceptions.Exit):
            raise
        except BaseException as error:
            raise click.exceptions.Exit(_exit_code(error)) from None
        return result


def _exit_code(error: BaseException) -> int:
    """Say what happened on stderr; the exit code that belongs to it."""
    if isinstance(error, KeyboardInterrupt | click.Abort):
        talk("interrupted")
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        _let_go_of_stdout()
        return BROKEN_PIPE
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        _let_go_of_stdout()
        where = f" '{error.filename}'" if error.filename else ""
        talk(f"error: cannot write{where}: {error.strerror}")
        return 2
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, TileVerifyError):
        talk(f"error: {error}")
        return error.exit_code

    talk(f"error: {failure_sentence(error, archived(error))}")
    return 2


def _let_go_of_stdout() -> None:
    """What is left in its buffer can go nowhere; Python would complain about it at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# ----------------------------------------------------------------------------------------------- streams
def talk(text: str) -> None:
    """A line on stderr, free of terminal control codes."""
    if sys.stderr is None:  # closed by who started us; `print` would take stdout
        return
    with contextlib.suppress(OSError, ValueError):
        print(printable(text), file=sys.stderr, flush=True)


def emit(text: str, output: Path | None = None) -> None:
    """Data: to stdout, or whole to the file ``output``."""
    if output is None:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        write_whole(output, text)
    except OSError as error:
        raise UsageError(f"cannot write '{output}': {error.strerror or error}") from None


def use_color(choice: str, output: Path | None = None) -> bool:
    """``--color``; ``auto`` is for terminals that did not ask otherwise (https://no-color.org)."""
    if choice != "auto":
        return choice == "always"
    return (
        output is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


class Working:
    """While kernels are imported and verified nothing but data may reach stdout, and a terminal shows progress.

    ``under_way``: what is verified at the moment.  What takes longer than `PATIENCE` is shown on a live line, or told
    once in a while where there is no terminal, if it is to be ``told``.
    """

    def __init__(self, *, live: bool, under_way: UnderWay | None = None, told: bool = False) -> None:
        self._live = live and sys.stderr.isatty()
        self._count = 0
        self._line = ""
        self._since = time.monotonic()
        self._cleanup = contextlib.ExitStack()
        self._ended = threading.Event()
        shown = under_way is not None and (self._live or told)
        self._watcher = threading.Thread(target=self._watch, args=(under_way,), daemon=True) if shown else None

    def __enter__(self) -> Working:
        sys.stdout.flush()
        with contextlib.suppress(OSError):
            self._cleanup.callback(_restore_stdout, os.dup(1))
            os.dup2(2, 1)
        self._cleanup.enter_context(contextlib.redirect_stdout(sys.stderr))
        if self._watcher is not None:
            self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._watcher is not None:
            self._watcher.join()
        self._write("\r\x1b[K")
        self._cleanup.close()

    @property
    def live(self) -> bool:
        """Whether somebody sees the progress."""
        return self._live

    def progress(self, text: str, place: str = "", found: Iterable[str] = ()) -> None:
        """Replace the live line: ``12 done, PLACE, last: TEXT``.  Lines that were ``found`` stay above it, where
        people wait for longer than `PATIENCE`."""
        self._count += 1
        self._line = ", ".join(filter(None, (f"{self._count} done", place, f"last: {text}")))
        if time.monotonic() - self._since >= PATIENCE:
            for line in found:
                self._write(f"\r\x1b[K{printable(line)}\n")
        self._show(self._line)

    def _watch(self, under_way: UnderWay) -> None:
        """Show what takes long, until all is done; without a terminal after twice the time each."""
        next_told, waited = PATIENCE, False
        while not self._ended.wait(SECONDS_BETWEEN):
            seconds, words = under_way.seconds, under_way.words()
            if seconds < PATIENCE:
                if waited and self._live:
                    self._show(self._line)
                next_told, waited = PATIENCE, False
            elif self._live:
                self._show(words)
                waited = True
            elif seconds >= next_told:
                talk(words)
                next_told = 2 * seconds

    def _show(self, text: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        self._write("\r\x1b[K" + printable(text)[:width])

    def _write(self, text: str) -> None:
        if self._live:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write(text)
                sys.stderr.flush()


def _restore_stdout(saved: int) -> None:
    os.dup2(saved, 1)
    os.close(saved)


# -------------------------------------------------------------------------------------------------------------- options
# What several commands share: exit codes and checks of options.


EXIT_CODES: Final = """\b
Exit codes:
  0  everything proved
  1  something refuted, or undetermined (TV403) or a size limit (TV304) where that is denied
  2  bad usage, a kernel, spec or suppression with an error, or a failure of the tool
  3  something undecided, nothing refuted
  4  no kernel found
"""


def writable(output: Path | None, option: str = "--output") -> None:
    """A wrong --output is said before minutes of work, not after."""
    if output is not None and not output.parent.is_dir():
        raise UsageError(f"{option}: there is no folder '{output.parent}'")


def architectures(compiled: tuple[str, ...]) -> tuple[str, ...]:
    """Those of ``--compiled``, for which an assembler has to be here."""
    if not compiled:
        return ()
    from ..backend.assembler import ARCHITECTURES, find_assembler

    for name in compiled:
        if name not in ARCHITECTURES:
            raise UsageError(f"--compiled: '{name}' is not one of {', '.join(ARCHITECTURES)}")
    find_assembler()
    return tuple(dict.fromkeys(compiled))


# -------------------------------------------------------------------------------------------------------------- crashed
# What a failure of the tool outside of any kernel leaves behind: the archive, with the files of the command line.


_KERNELS: Final = (".py", ".cu", ".tileirbc", SPEC_SUFFIX)
"""How files end that are taken along: keys, settings and what else a command line names are not."""


def archived(error: BaseException) -> str | None:
    """Write the archive on ``error``; its path as people are told it, ``None`` without one."""
    files: dict[str, bytes] = {}
    with contextlib.suppress(Exception):  # whatever is wrong here, the failure itself has to be told
        for path in _named(command_words()):
            with contextlib.suppress(OSError):
                files[str(path)] = path.read_bytes()
    try:
        archive = write_crash(error, CrashContents(files=files), crash_folder())
    except Exception:
        return None
    return None if archive is None else display_path(archive)


def _named(words: list[str]) -> Iterator[Path]:
    """The kernels and launch specs that words speak of, with the specs beside them."""
    for word in words:
        path = Path(word.partition("::")[0])
        if path.name.endswith(_KERNELS) and path.is_file():
            yield path
            if not path.name.endswith(SPEC_SUFFIX):
                yield spec_path(path)
