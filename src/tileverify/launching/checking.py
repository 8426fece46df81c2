"""`tileverify.check`: the verdicts of the command line, for programs and notebooks."""

from __future__ import annotations

import argparse
import ast
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import CodeType
from typing import Any, NoReturn, Protocol, TypeAlias, cast

from ..backend.guard import LaunchRefused
from ..contract.spec_files import SourceSpecs, raw_launches
from ..contract.spec_text import MAGIC, keys_of_call
from ..frontend.sources.cutile import CutileKernel, function_of, is_kernel, kernel_of
from ..frontend.sources.discover import FoundLaunch, SourceFailure, candidates, discover, discover_kernel
from ..frontend.sources.fixed_inputs import helpers_among
from ..frontend.triton.triton_kernels import TritonKernel, is_triton_kernel, jit_function, triton_kernel_at_hand
from ..pipeline import CheckOptions, check_paths, check_units
from ..pipeline.unit_check import check_unit
from ..reports.text import text_report
from ..results import Finding, KernelResult, Report, Verdict
from ..results.codes import TV
from ..system.errors import SourceError, SpecError, TileVerifyError, UsageError
from ..system.readings import cell_name, cell_text, number_cell
from .bundled import BundledKernel
from .calls import Kernel, grid_of
from .launch_types import Arguments, GivenOptions
from .launcher import Launcher
from .proofs import Request, proof_of

Spec = Mapping[str, object]
Place: TypeAlias = tuple[str, int | None]
"""A file, or the name of a notebook's cell, and a line (from 1)."""


@dataclass(frozen=True, slots=True, repr=False)
class Checked(Report):
    """The results, one for each kernel and launch; true if all of them are proved; prints as ``tileverify check``."""

    @classmethod
    def of(cls, report: Report) -> Checked:
        return cls(**{each.name: getattr(report, each.name) for each in fields(Report)})

    def __bool__(self) -> bool:
        return self.exit_code == 0

    def __str__(self) -> str:
        return text_report(self).rstrip()

    __repr__ = __str__

    def _repr_html_(self) -> str | None:
        """What notebooks show: a card for each launch, if the libraries of the extra ``html`` are there."""
        from ..reports.html.notebook import notebook_html

        return notebook_html(self)


def check(
    launcher: Launcher,
    target: object,
    grid: object,
    arguments: Spec | Arguments | None,
    more: Spec,
    *,
    spec: Path | None,
    options: CheckOptions,
    place: Place | None = None,
) -> Checked:
    """See `tileverify.check`.  ``more``: what else was said of the launch, in the words of specs or of launches;
    ``place``: where, for errors."""
    if arguments is not None and not isinstance(arguments, Mapping):
        return Checked.of(check_units([_call(launcher, target, grid, arguments, more, spec, options)]))
    said = _said(grid, arguments, more)
    if said and spec is not None:
        raise UsageError("give launches in a spec file or as arguments, not both")
    if isinstance(target, str | Path):
        target = [target]
    if isinstance(target, Sequence):
        paths = [str(path) for path in target]
        if not said:
            return Checked.of(check_paths(paths, spec=spec, options=options))
        specs = _specs(_one_kernel(paths), said, (paths[0], None), place)
        return Checked.of(check_units(discover(paths, specs=specs), options))
    kernel = _at_hand(target)
    if spec is not None:
        given: SourceSpecs | None = SourceSpecs.from_file(spec)
    else:
        given = _specs(kernel.name, said, (str(kernel.file), kernel.line), place) if said else None
    return Checked.of(check_units(discover_kernel(kernel, given), options))


def runs_no_program(target: object) -> bool:
    """Whether edits of what is checked can be tried without running a program that is running: one that calls `check`
    would call it again.  So it is with paths, as for the command, and with kernels of a notebook's cell."""
    if isinstance(target, str | Path | Sequence):
        return True
    code = _code_of(target)
    return code is not None and cell_name(code.co_filename) is not None


def _at_hand(target: object) -> CutileKernel | TritonKernel:
    """The kernel that ``target`` is; raises `UsageError` for what is none."""
    found = kernel_of(target) if is_kernel(target) else triton_kernel_at_hand(target)
    if found is None:
        raise UsageError(f"{target!r} is not a kernel: decorate the function with @ct.kernel or @triton.jit")
    return found


def _code_of(target: object) -> CodeType | None:
    """Of the function that a kernel was made of; ``None`` if ``target`` is no kernel."""
    if (made := jit_function(target)) is not None:
        code: CodeType = made.fn.__code__
        return code
    return function_of(target).__code__ if is_kernel(target) else None


def _call(
    launcher: Launcher,
    kernel: object,
    grid: object,
    arguments: Arguments,
    more: Spec,
    spec: Path | None,
    options: CheckOptions,
) -> KernelResult | SourceFailure:
    """The verdict on a launch with these very arguments, which a proof under clauses need not cover."""
    if is_triton_kernel(kernel):
        raise UsageError(
            "describe the arguments of a Triton kernel by name, args={'x': 'f32[N]', ...}; what a program launches is "
            "checked with its own arguments by tileverify.patch()"
        )
    if isinstance(kernel, str | Path | BundledKernel):
        example = "args={'x': 'f32[N]', ...}"
        raise UsageError(f"{kernel!r} is no kernel at hand: describe its arguments by name, {example}")
    if spec is not None:
        raise UsageError("a launch with its own arguments takes no spec")
    asked = launcher.asked(None, kernel, arguments, **cast("GivenOptions", more))
    axes = None if grid is None else grid_of(grid)
    try:
        unit = asked.compiled(axes)
    except (SourceError, SpecError) as error:
        return SourceFailure(asked.kernel.file, asked.kernel.name, None, error)
    result = check_unit(unit, options, lambda changed: replace(asked, kernel=Kernel.of(changed.kernel)).compiled(axes))
    if axes is None or result.verdict is not Verdict.PROVED:
        return result
    try:
        proof_of(unit, result).check(Request(asked.named, axes, asked.contents, asked.said.vouch, lambda: unit))
    except LaunchRefused as refused:
        return replace(
            result, verdict=Verdict.UNDECIDED, holds_for=None, findings=(Finding(TV.LAUNCH_CONTRACT, refused.message),)
        )
    return result


def _said(grid: object, arguments: Spec | None, more: Spec) -> Spec:
    """The fields of one launch spec that were given."""
    axes = list(grid) if isinstance(grid, tuple) else grid
    given = {"grid": axes, "args": None if arguments is None else dict(arguments), **more}
    return {key: value for key, value in given.items() if value is not None}


def _specs(kernel: str, said: Spec, own: Place, place: Place | None) -> SourceSpecs:
    """``own``: the kernel's place, where errors point if the call at ``place`` cannot be read."""
    keys = () if place is None else keys_of_call(*place, said)
    file, line = place if place is not None and keys else own
    return SourceSpecs(tuple(raw_launches({"kernel": kernel, **said}, file, line, 0, keys=keys)), given=True)


def _one_kernel(paths: Sequence[str]) -> str:
    """The kernel that a launch is given for."""
    names = {each.kernel for each in candidates(paths) if isinstance(each, FoundLaunch)}
    if len(names) != 1:
        found = ", ".join(sorted(names)) or "none that can be read"
        raise UsageError(f"a launch is given for one kernel, FILE::KERNEL; there is {found} in {', '.join(paths)}")
    return names.pop()


# ----------------------------------------------------------------------------------------------------------- cell magic
# ``%load_ext tileverify`` and ``%%tileverify``: a cell that is run, and whose kernels are checked.


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
        raise UsageError("the cell defines no @ct.kernel and no @triton.jit kernel")
    by_name = {code.co_name: kernel for code, kernel in kernels}
    place = kernels[0][0].co_filename, 1
    number_cell(place[0], number)
    if unknown := [name for name in said.kernel if name not in by_name]:
        raise UsageError(f"the cell defines no kernel {unknown[0]}; there is {', '.join(by_name)}")
    return _check(launcher, place, [by_name[name] for name in said.kernel or by_name], said)


def _check(launcher: Launcher, place: tuple[str, int], kernels: Sequence[object], said: argparse.Namespace) -> Checked:
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


def _defined(namespace: Mapping[str, Any], known: Sequence[object]) -> Iterator[tuple[CodeType, object]]:
    """The kernels of ``namespace`` that a cell defined and that are none of ``known``, in the order of their lines.

    Functions that kernels of Triton call are none.
    """
    before = {id(each) for each in known}
    found = {id(each): each for each in list(namespace.values()) if id(each) not in before}
    codes = {number: code for number, each in found.items() if (code := _code_of(each)) is not None}
    helpers = _helpers([code for number, code in codes.items() if not is_kernel(found[number])])
    for number in sorted(codes, key=lambda number: codes[number].co_firstlineno):
        code = codes[number]
        if cell_name(code.co_filename) is not None and code.co_name not in helpers:
            yield code, found[number]


def _helpers(functions: Sequence[CodeType]) -> frozenset[str]:
    """Those of the functions of ``@triton.jit`` that others of them call, or that return a value."""
    names = {code.co_name for code in functions}
    cells = {cell for code in functions if (cell := cell_text(code.co_filename)) is not None}
    nodes = [node for cell in cells for node in ast.parse(cell).body]
    return frozenset(
        helpers_among({each.name: each for each in nodes if isinstance(each, ast.FunctionDef) and each.name in names})
    )
