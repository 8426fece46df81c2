"""The command line over the configuration: what was said wins over what was set, and that over the defaults."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import click
from click.core import ParameterSource

from ..results import KernelResult, Report, Verdict

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
