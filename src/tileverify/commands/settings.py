"""What ``check`` is about: the command line over the configuration, and the files that a commit touches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

import click
from click.core import ParameterSource

from ..results import KernelResult, Report, Verdict
from ..system.errors import SourceError, UsageError
from .shell import talk

if TYPE_CHECKING:
    from ..pipeline.configuration import Configuration, FileSettings


Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Settings:
    """``context``: the command line of this run."""

    context: click.Context
    configuration: Configuration

    def of(self, option: str, value: Value, configured: Value | None) -> Value:
        """``value`` of the command line, unless it says nothing and the configuration does."""
        return value if configured is None or self._said(option) else configured

    @property
    def per_file(self) -> tuple[FileSettings, ...]:
        """Without what the command line says for all files."""
        timeout, deny, effort = map(self._said, ("timeout", "deny_requires", "effort"))
        return tuple(
            replace(
                each,
                timeout=None if timeout else each.timeout,
                effort=None if effort else each.effort,
                deny_requires=None if deny else each.deny_requires,
            )
            for each in self.configuration.per_file
        )

    def exit_code(self, report: Report, strict: bool, *, exit_zero: bool = False) -> int:
        """The exit code of the report, in which undecided kernels do not count where that is not strict.

        With ``exit_zero`` refuted ones do not, either; errors always do.
        """

        def counts(result: KernelResult) -> bool:
            if result.counts_as is Verdict.REFUTED:
                return not exit_zero
            if result.counts_as is not Verdict.UNDECIDED:
                return True
            configured = self.configuration.strict_for(result.file)
            return self.of("strict", strict, self.configuration.strict if configured is None else configured)

        counting = replace(report, results=tuple(filter(counts, report.results)))
        return 0 if report.results and counting.exit_code == 4 else counting.exit_code

    def _said(self, option: str) -> bool:
        return self.context.get_parameter_source(option) is not ParameterSource.DEFAULT


_SETTINGS: Final = "pyproject.toml"


def changed_targets(files: Sequence[str], settings: Configuration) -> tuple[str, ...]:
    """The sources with kernels among ``files``, and those whose launch specs are; ``paths`` where settings changed.

    Files that are gone, and those that the configuration excludes, are left out.  What imports a changed file is not
    looked for.
    """
    targets: dict[str, None] = {}
    for name in files:
        path = Path(name)
        if path.name == _SETTINGS:
            targets.update(dict.fromkeys(settings.paths))
        for source in _sources(path):
            if source.is_file() and not settings.excludes(source) and _may_hold_kernels(source):
                targets[str(source)] = None
    return tuple(targets)


def nothing_to_check(context: click.Context, *, changed: bool) -> NoReturn:
    """Without paths: no error where they are what changed, else `UsageError`."""
    if not changed:
        raise UsageError("no PATH given: name a file, a folder or FILE::KERNEL, or `paths` in [tool.tileverify]")
    talk("nothing to check: no changed file holds kernels")
    context.exit(0)


def _sources(path: Path) -> Iterator[Path]:
    """The file itself, or what a launch spec stands beside."""
    from ..contract.spec_files import SPEC_SUFFIX

    if not path.name.endswith(SPEC_SUFFIX):
        yield path
        return
    stem = path.name.removesuffix(SPEC_SUFFIX)
    if path.parent.is_dir():
        yield from sorted(each for each in path.parent.iterdir() if each.stem == stem)


def _may_hold_kernels(source: Path) -> bool:
    from ..frontend.sources.bytecode_file import holds_tile_code, is_bytecode
    from ..frontend.sources.fixed_inputs import scan_python

    if source.suffix == ".py":
        try:
            scan = scan_python(source)
        except SourceError:
            return True  # for `check` to complain about
        return scan.may_hold_kernels or bool(scan.nested)
    return holds_tile_code(source) if source.suffix == ".cu" else is_bytecode(source)
