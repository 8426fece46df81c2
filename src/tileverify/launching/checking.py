"""`tileverify.check`: the verdicts of the command line, for programs and notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TypeAlias, cast

from ..backend.guard import LaunchRefused
from ..contract.gather import SourceSpecs
from ..contract.spec_files import raw_launches
from ..contract.written_calls import keys_of_call
from ..frontend.sources.cutile import function_of, is_kernel, kernel_of
from ..frontend.sources.discover import FoundLaunch, SourceFailure, candidates, discover, discover_kernel
from ..pipeline import CheckOptions, check_paths, check_unit, check_units
from ..reports.text import text_report
from ..results import Finding, KernelResult, Report, Verdict
from ..results.codes import TV
from ..system.errors import SourceError, SpecError, UsageError
from ..system.notebook_cells import cell_name
from .bundled import BundledKernel
from .calls import Kernel, grid_of
from .given import Arguments, GivenOptions
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
    kernel = kernel_of(Kernel.of(target).object)
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
    return is_kernel(target) and cell_name(function_of(target).__code__.co_filename) is not None


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
