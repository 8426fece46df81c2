"""Reads the clauses that a verdict requires as a person would: the text alone, without the prover's terms."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final


class NotUnderstood(Exception):
    """A clause that says nothing to a person who knows the launch: cut off, or about other things."""


_SIZED: Final = re.compile(r"\b(wrap|unsigned)(\d+)\(")


def condition_of(text: str) -> Callable[[Mapping[str, int]], bool]:
    """The truth of ``text`` for values of the launch's names (``M``, ``grid.x``, ``x.shape[0]``).

    The text of a clause is Python but for its names.  Raises `NotUnderstood`, also when it is evaluated.
    """
    if "..." in text:
        raise NotUnderstood(text)
    sized = _SIZED.sub(lambda found: f"{found[1]}({found[2]}, ", text)

    def holds(known: Mapping[str, int]) -> bool:
        values: dict[str, Any] = {}
        plain = sized
        for number, name in enumerate(sorted(known, key=len, reverse=True)):
            plain = re.sub(rf"(?<![\w.\]]){re.escape(name)}(?![\w.\[])", f"_{number}", plain)
            values[f"_{number}"] = known[name]
        try:
            return bool(eval(plain, {"__builtins__": {}, **_FUNCTIONS}, values))
        except ZeroDivisionError:
            return False
        except (NameError, SyntaxError, TypeError) as error:
            raise NotUnderstood(text) from error

    return holds


def _wrap(bits: int, value: int) -> int:
    value %= 1 << bits
    return value - (value >> (bits - 1) << bits)


def _quotient(a: int, b: int) -> int:
    """Rounded towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_FUNCTIONS: Final[Mapping[str, Any]] = {
    "min": min,
    "max": max,
    "cdiv": lambda a, b: -(-a // b),
    "tdiv": _quotient,
    "trem": lambda a, b: a - b * _quotient(a, b),
    "wrap": _wrap,
    "unsigned": lambda bits, value: value % (1 << bits),
    "true": True,
    "false": False,
}
