"""A launch that a test made beside its reference: the same sizes and integers, exact numbers in the place of floats."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ...contract.element_types import ELEMENT_TYPES
from ...contract.expressions import print_expression
from ...contract.facts.columns import Array
from ...contract.launch import KernelUnit, flat
from ...equality.answer_text import sentence, text
from ...equality.deciding import Decision, ExactAnswer
from ...equality.points import Options
from ...equality.reference_runs import other_of
from ...equality.targets import EqualOptions, JudgedKernel, compared, written_by
from ...frontend.bytecode import decode
from ...frontend.symbolic.summary import Access
from ...hook.described_launch import Described
from ...pipeline.unit_summary import summary_of
from ...results import KernelResult
from ...system.errors import TileVerifyError, UsageError
from .judged import UNUSABLE, LaunchEquality
from .stated_references import Function, StatedReference

STEPS: Final = 1 << 23
"""Of the interpreter, for all contents of one launch."""


@dataclass(frozen=True, slots=True)
class ComparedLaunch:
    """``unit``: the kernel under the launch's own numbers, with its verdict; ``constants``: its compile-time numbers by
    name; ``held``: what its integer arrays hold, of those that are known."""

    unit: KernelUnit
    verdict: KernelResult
    constants: Mapping[str, bool | int | float]
    held: Mapping[str, Array]


def constants_of(parameters: Sequence[str], descriptions: Sequence[Described]) -> dict[str, bool | int | float]:
    """The constants of a launch that are numbers."""
    found: dict[str, bool | int | float] = {}
    for name, each in zip(parameters, descriptions, strict=True):
        if each["kind"] == "constant":
            value = each["value"]
            if each.get("type") == "float":
                found[name] = float(str(value))
            elif isinstance(value, int):
                found[name] = value
    return found


def equality_of(launch: ComparedLaunch, stated: StatedReference) -> LaunchEquality:
    """The answer; a reference that cannot be asked at all is a mistake of the tests, and no answer."""
    try:
        return _answered(launch, stated)
    except TileVerifyError as error:
        said = f"'{launch.unit.kernel}' was not compared with its reference: {error.message}"
        return LaunchEquality(UNUSABLE, said, said, 0.0)


def _answered(launch: ComparedLaunch, stated: StatedReference) -> LaunchEquality:
    unit = launch.unit
    function = stated.function()
    _need_arguments(function, unit, launch.constants)
    other = replace(other_of(function, written_by(unit)), constants=launch.constants)  # specs of launches lack them
    beyond = _beyond(launch)
    if beyond:
        found = ExactAnswer(Decision.NOT_DECIDED, reason=beyond)
    else:
        exact = Options(steps=STEPS, values={}, held=launch.held)
        found = compared(unit, launch.verdict, other, EqualOptions(exact=exact, rounding=False))
    told = JudgedKernel(f"{unit.file}::{unit.kernel}", stated.name, launch.verdict, found)
    said = f"'{unit.kernel}' and {stated.name} at {_sizes(unit)}: {sentence(found)}"
    report = text([told]) if found.answer is Decision.DIFFERENT else said
    return LaunchEquality(found.answer.value, said, report, found.bits)


def _beyond(launch: ComparedLaunch) -> str:
    """Why no point stands for the launch, or nothing."""
    same, written = launch.unit.launch.same_arrays(), set(written_by(launch.unit))
    for group in launch.unit.launch.overlap:
        if group & written and not any(group <= one for one in same):
            return f"{' and '.join(sorted(group))} share a part of their memory"
    unknown = sorted(_integers_read(launch.unit) - launch.held.keys())
    return f"what the integers of {unknown[0]} were is not known" if unknown else ""


def _integers_read(unit: KernelUnit) -> set[str]:
    """The arrays of integers whose contents the kernel depends on."""
    sites = summary_of(decode(unit.bytecode, file=str(unit.file)), unit).sites
    read = {site.origin.name for site in sites if site.access is not Access.WRITE}
    integers = {array.name for array in unit.launch.arrays() if ELEMENT_TYPES[array.dtype].kind in "iu"}
    return integers & read | {
        each.name for each in unit.launch.lists() if ELEMENT_TYPES[each.element.dtype].kind in "iu"
    }


def _need_arguments(function: Function, unit: KernelUnit, constants: Mapping[str, bool | int | float]) -> None:
    """Raises `UsageError` for a parameter that no argument of the kernel is."""
    known = {each.name for each in flat(unit.launch.arguments)} | constants.keys()
    taken = (each for each in inspect.signature(function).parameters.values() if each.default is each.empty)
    for each in (each for each in taken if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)):
        if each.name not in known:
            there = ", ".join(sorted(known))
            raise UsageError(f"it takes '{each.name}', which the launch lacks (there are: {there})")


def _sizes(unit: KernelUnit) -> str:
    """``x[64], y[64]``"""
    shapes = ((array.name, ", ".join(map(print_expression, array.shape))) for array in unit.launch.arrays())
    return ", ".join(f"{name}[{shape}]" for name, shape in shapes)
