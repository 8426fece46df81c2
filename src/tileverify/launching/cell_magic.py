"""``%load_ext tileverify`` and ``%%tileverify``: a cell that is run, and whose kernels are checked."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from ..contract.written_calls import MAGIC
from ..frontend.sources.cutile import function_of, is_kernel
from ..pipeline import CheckOptions
from ..system.errors import TileVerifyError, UsageError
from ..system.notebook_cells import cell_name, number_cell
from .checking import check
from .given import LaunchedKernel

if TYPE_CHECKING:
    from .checking import Checked
    from .launcher import Launcher


class _Arguments(argparse.ArgumentParser):
    """What stands behind ``%%tileverify``, in the words of the command and of launch specs."""

    def __init__(self) -> None:
        super().__init__("%%tileverify", description="Run the cell, then check the kernels that it defines.")
        add = self.add_argument
        add("kernel", nargs="*", help="names of kernels of the cell; default: all")
        add(
            "--grid",
            action="append",
            metavar="EXPR",
            help="an axis of the grid: 'cdiv(N, 128)'; up to three",
        )
        add("--arg", action="append", default=[], metavar="NAME=TYPE", help="an argument: 'x=f32[N]', 'TILE=128'")
        add("--requires", action="append", metavar="EXPR", help="a fact about sizes and scalars")
        add("--data", action="append", metavar="FACT", help="a fact about the contents of index arrays")
        add("--spec", type=Path, metavar="FILE", help="launch specs of this file")
        add("--effort", type=float, default=1.0, metavar="X", help="times the usual resources of the solver")
        add("--deny-requires", action="store_true", help="add no clause to the contract")
        add("--complete", action="store_true", help="find the arrays that are written whole")
        add("--audit", action="store_true", help="compare what is proved with runs of the interpreter")
        add("--repair", action="store_true", help="try repairs of what is refuted")
        add("--no-cache", action="store_true", help="neither use nor keep verdicts on disk")

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%%tileverify: {message}; %%tileverify --help lists what it takes")


class CellRun(Protocol):
    @property
    def success(self) -> bool: ...


class NotebookShell(Protocol):
    """What is asked of an IPython."""

    @property
    def user_ns(self) -> dict[str, Any]: ...

    def run_cell(self, cell: str, /) -> CellRun: ...

    def register_magic_function(self, function: Callable[[str, str], object], kind: str, name: str, /) -> None: ...


def register(shell: NotebookShell, launcher: Launcher) -> None:
    """Give ``shell``, an IPython, the cell magic."""

    def magic(line: str, cell: str) -> Checked | None:
        try:
            return checked_cell(shell, launcher, line, cell)
        except SystemExit:  # --help
            return None
        except TileVerifyError as error:
            from IPython.core.error import UsageError as WithoutTraceback

            raise WithoutTraceback(str(error)) from None

    shell.register_magic_function(magic, "cell", "tileverify")


def checked_cell(shell: NotebookShell, launcher: Launcher, line: str, cell: str) -> Checked | None:
    """Run ``cell`` and give the verdicts on its kernels; nothing if it ends with an error, which has been shown.

    Raises `UsageError` where ``line`` is wrong, or the cell defines no kernel that it means.
    """
    try:
        said = _Arguments().parse_args(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"%%tileverify: {error}") from None
    known = list(shell.user_ns.values())
    number = len(shell.user_ns["In"]) - 1  # what is run from within a cell, IPython counts as the next one
    if not shell.run_cell(f"#{MAGIC} {line}\n{cell}").success:  # lines have the numbers that people see
        return None
    kernels = list(_defined(shell.user_ns, known))
    if not kernels:
        raise UsageError("the cell defines no @ct.kernel")
    number_cell(function_of(kernels[0]).__code__.co_filename, number)
    by_name = {function_of(kernel).__name__: kernel for kernel in kernels}
    if unknown := [name for name in said.kernel if name not in by_name]:
        raise UsageError(f"the cell defines no kernel {unknown[0]}; there is {', '.join(by_name)}")
    place = function_of(kernels[0]).__code__.co_filename, 1
    return _check(launcher, place, [by_name[name] for name in said.kernel or by_name], said)


def _check(
    launcher: Launcher, place: tuple[str, int], kernels: Sequence[LaunchedKernel], said: argparse.Namespace
) -> Checked:
    from ..pipeline.verdict_cache import default_folder

    options = CheckOptions(
        effort=said.effort,
        deny_requires=said.deny_requires,
        complete=said.complete,
        audit=said.audit,
        repair=said.repair,
        quick_repairs=True,
        cache=None if said.no_cache else default_folder(),
    )
    launch = {key: getattr(said, key) for key in ("requires", "data") if getattr(said, key)}
    arguments = dict(map(_argument, said.arg)) or None
    if arguments and len(kernels) > 1:
        raise UsageError("--arg describes one kernel: name it behind %%tileverify")
    reports = [
        check(launcher, kernel, said.grid, arguments, launch, spec=said.spec, options=options, place=place)
        for kernel in kernels
    ]
    first, *others = reports
    return replace(first, results=tuple(each for report in (first, *others) for each in report.results))


def _argument(text: str) -> tuple[str, int | str]:
    name, separator, kind = text.partition("=")
    if not separator or not name.strip():
        raise UsageError(f"--arg '{text}': give NAME=TYPE, for example --arg 'x=f32[N]'")
    value = kind.strip()
    return name.strip(), int(value) if value.lstrip("-").isdecimal() else value


def _defined(namespace: Mapping[str, Any], known: Sequence[object]) -> Iterator[LaunchedKernel]:
    """The kernels of ``namespace`` that a cell defined and that are none of ``known``, in the order of their lines."""
    before = {id(each) for each in known}
    found = {id(each): each for each in list(namespace.values()) if is_kernel(each) and id(each) not in before}
    codes = {number: function_of(kernel).__code__ for number, kernel in found.items()}
    for number in sorted(found, key=lambda number: codes[number].co_firstlineno):
        if cell_name(codes[number].co_filename) is not None:
            yield found[number]
