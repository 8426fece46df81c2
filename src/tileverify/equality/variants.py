"""Two launches of a program beside each other: the variants that `tileverify.tune` chooses from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TypeAlias

import numpy as np

from ..contract.launch import KernelUnit
from ..results import KernelResult
from ..system.errors import UsageError
from .answer_text import sentence
from .deciding import Decision
from .points import Options
from .targets import EqualOptions, compared, float_scalars, rival_of

ProvedUnit: TypeAlias = tuple[KernelUnit, KernelResult]
"""A kernel with the numbers of one launch as its contract, and the proof that covers it."""


@dataclass(frozen=True, slots=True)
class VariantLikeness:
    """``text``: the answer in a sentence."""

    different: bool
    text: str


def likeness_of(variant: ProvedUnit, first: ProvedUnit, arguments: Sequence[object]) -> VariantLikeness:
    """Whether ``variant`` computes what ``first`` does at their launch, over the real numbers, whatever arrays and
    float scalars hold.  ``arguments``: those that each of the two is called with."""
    unit, plain = _without_clauses(variant), _without_clauses(first)
    if float_scalars(unit[0]) and len({tuple(_floats(each)) for each in arguments}) > 1:
        return VariantLikeness(False, "not decided: the two are called with other float scalars")
    try:
        other = rival_of(*plain).beside(unit[0], unit[0].kernel)
        found = compared(*unit, other, EqualOptions(Options(values={}), rounding=False))
    except UsageError as error:
        return VariantLikeness(False, f"not decided: {error.message}")
    return VariantLikeness(found.answer is Decision.DIFFERENT, sentence(found))


def _without_clauses(proved: ProvedUnit) -> ProvedUnit:
    """The proof may be of a wider contract; its clauses were seen to hold of the launch."""
    unit, result = proved
    return unit, replace(result, requires=())


def _floats(argument: object) -> Iterator[float]:
    """All floats in an argument, constants among them."""
    if isinstance(argument, float | np.floating):
        yield float(argument)
    elif isinstance(argument, tuple | list):
        for each in argument:
            yield from _floats(each)
    elif is_dataclass(argument):
        for field in fields(argument):
            yield from _floats(getattr(argument, field.name))
