"""What was proved beside the contract that the unit came with: all of it, fewer launches, or more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..results import Verdict

if TYPE_CHECKING:
    from ..contract.launch import KernelUnit, LaunchSpec
    from ..verifier.attempt import Outcome


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
