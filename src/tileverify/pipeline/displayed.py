"""How results are shown: files under the names that bytecode has, and the contract that the unit came with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..results import Finding, Hint, SourceSite, SpecPlace, Verdict
from ..system.printable import display_path

if TYPE_CHECKING:
    from ..contract.launch import KernelUnit, LaunchSpec
    from ..results.details import KernelDetails
    from ..results.traffic import Traffic
    from ..verifier.case import Outcome


class Displayed:
    """What a result of ``unit`` says, with short paths."""

    def __init__(self, unit: KernelUnit) -> None:
        self.unit = unit
        self._names: dict[str, str] = {}

    def findings(self, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        return tuple(
            replace(finding, sites=tuple(map(self.site, finding.sites)), hints=tuple(map(self._hint, finding.hints)))
            for finding in findings
        )

    def _hint(self, hint: Hint) -> Hint:
        """One that asks for more in the contract says where that is written."""
        launch = self.unit.launch
        if not hint.requires or not launch.file or launch.line is None:
            return hint
        return replace(hint, spec=SpecPlace(display_path(Path(launch.file)), launch.line))

    def site(self, site: SourceSite) -> SourceSite:
        chain = tuple((self.name(file), line, column) for file, line, column in site.call_chain)
        return replace(site, file=None if site.file is None else self.name(site.file), call_chain=chain)

    def details(self, details: KernelDetails) -> KernelDetails:
        return replace(
            details,
            ir=tuple(line if line.file is None else replace(line, file=self.name(line.file)) for line in details.ir),
            obligations=tuple(replace(each, sites=tuple(map(self.site, each.sites))) for each in details.obligations),
            accesses=tuple(replace(each, site=self.site(each.site)) for each in details.accesses),
            drawings=tuple(
                replace(
                    drawing,
                    sides=tuple(
                        side if side.site is None else replace(side, site=self.site(side.site))
                        for side in drawing.sides
                    ),
                )
                for drawing in details.drawings
            ),
            traffic=None if details.traffic is None else self.traffic(details.traffic),
        )

    def traffic(self, traffic: Traffic) -> Traffic:
        named = (each if each.file is None else replace(each, file=self.name(each.file)) for each in traffic.accesses)
        return replace(traffic, accesses=tuple(named))

    def name(self, file: str) -> str:
        """`_name`, once for each file."""
        if file not in self._names:
            self._names[file] = self._name(file)
        return self._names[file]

    def _name(self, file: str) -> str:
        """A short path; the unit's own file is spelled as the user spelled it, links and all."""
        from ..frontend.sources.bytecode_file import noted_source

        own = self.unit.file
        if Path(file) == own.resolve():
            return display_path(own)
        beside = own.parent / file
        # A producer may have noted its sources relative to where the bytecode lies.
        found = beside if not Path(file).exists() and beside.exists() else Path(file)
        compiled_here = own.suffix in (".py", ".cu")
        return display_path(found if compiled_here else noted_source(found, own.parent))


# --------------------------------------------------------------------------------------------------------- own contract
# What was proved beside the contract that the unit came with: all of it, fewer launches, or more.


def is_conditional(unit: KernelUnit, outcome: Outcome) -> bool:
    """Whether it is a proof of fewer launches than the unit's contract has."""
    return outcome.verdict is Verdict.PROVED and bool(outcome.requires) and not is_wider(unit, outcome.launch)


def stated(unit: KernelUnit, outcome: Outcome) -> tuple[str, ...]:
    """The contract that was proved; one of any grid names the grid that was written."""
    from ..contract.as_terms import ANY_GRID

    own = ", ".join(unit.launch.grid_text)
    if not own or not is_wider(unit, outcome.launch):
        return outcome.contract
    return tuple(f"{ANY_GRID}; the launch's own is ({own})" if line == ANY_GRID else line for line in outcome.contract)


def arguments(unit: KernelUnit, outcome: Outcome) -> tuple[str, ...]:
    """What launches of the contract that is `stated` pass, as a spec has it."""
    from ..contract.descriptions import argument_text

    return tuple(argument_text(outcome.launch or unit.launch))


def is_wider(unit: KernelUnit, proved: LaunchSpec | None) -> bool:
    """Whether what was proved is another contract than the unit's own, which holds it."""
    own = unit.launch
    return proved is not None and (proved.arguments, proved.grid, proved.requires) != (
        own.arguments, own.grid, own.requires,
    )  # fmt: skip
