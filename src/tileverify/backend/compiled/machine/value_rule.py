"""What a rule of a computing instruction is: a function of arrays, with the type of each operand and of the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from .types import Array

Function: TypeAlias = Callable[..., Array]


@dataclass(frozen=True, slots=True)
class ValueRule:
    """``function`` of operands read as ``sources`` is an array of type ``result``."""

    function: Function
    sources: tuple[str, ...]
    result: str


class UnknownInstruction(Exception):
    """An instruction without a rule."""
