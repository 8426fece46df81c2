"""Values of untrusted code as plain JSON, and back, with every type and size checked.  Nothing is taken on trust."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from math import inf, isfinite, nan
from typing import Final, TypeAlias, TypeVar

from ..system.printable import printable

LONGEST_TEXT: Final = 4096
MOST_ITEMS: Final = 4096
DEEPEST: Final = 16
LONGEST_NAME: Final = 200

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"
"""What JSON can say."""

_NO_JSON: Final = {"\0inf": inf, "\0-inf": -inf, "\0nan": nan}
"""Words for floats that JSON has none for; no text of a launch begins like this."""

Few = TypeVar("Few", bound=Sized)


class NotPlain(Exception):
    """A value that no honest worker sends, with the reason."""


def plain(value: object, data_type: type, depth: int = 0) -> Plain:
    """``value`` with lists for tuples and ``"ct.float32"`` for objects of ``data_type``; exact types alone count."""
    if depth > DEEPEST:
        raise NotPlain("a value is nested too deeply")
    if value is None or type(value) is bool:
        return value
    if type(value) is float:
        return value if isfinite(value) else f"\0{value}"
    if type(value) is int:
        if value.bit_length() > 1024:
            raise NotPlain("an integer is too large")
        return value
    if type(value) is str:
        return _plain_text(value)
    if type(value) is list or type(value) is tuple:
        return [plain(item, data_type, depth + 1) for item in _few(value)]
    if type(value) is dict:
        return plain_table(value, data_type, depth)
    if isinstance(value, data_type):
        return f"ct.{text(str(value))}"
    raise NotPlain(f"a {text(type(value).__name__)} describes no part of a launch")


def plain_table(value: Mapping[str, object], data_type: type, depth: int = 0) -> dict[str, Plain]:
    """The same for a table."""
    return {text(key): plain(item, data_type, depth + 1) for key, item in _few(value).items()}


def _plain_text(value: str) -> str:
    if len(value) > LONGEST_TEXT:
        raise NotPlain("a text is too long")
    if value.startswith("\0") or whole(value) != value:
        raise NotPlain("a text holds half a character, or begins with none")
    return value


def heard(value: object) -> Plain:
    """The inverse of `plain`, but for tuples, of a JSON value."""
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            if value.startswith("\0") and value not in _NO_JSON:
                raise NotPlain("a text begins with no character")
            return _NO_JSON.get(value, value)
        case list():
            return list(map(heard, value))
        case dict():
            return heard_table(value)
    raise NotPlain("it is no value of JSON")


def heard_table(value: Mapping[str, object]) -> dict[str, Plain]:
    """The same for a table."""
    return {key: heard(item) for key, item in value.items()}


def whole(value: str) -> str:
    """A text with escapes for lone surrogates, which UTF-8 has no bytes for."""
    return value.encode("utf-8", errors="backslashreplace").decode("utf-8")


def text(value: object, longest: int = LONGEST_TEXT) -> str:
    """A string, and no longer than that."""
    if type(value) is not str or len(value) > longest:
        raise NotPlain("a text is missing or too long")
    return value


def name(value: str) -> str:
    """The name of a kernel or parameter: identifiers in ASCII, joined by dots."""
    found = text(value, LONGEST_NAME)
    if not found.isascii() or not all(part.isidentifier() for part in found.split(".")):
        raise NotPlain("a name is no identifier")
    return found


def _few(value: Few) -> Few:
    if len(value) > MOST_ITEMS:
        raise NotPlain("a list is too long")
    return value


# -------------------------------------------------------------------------------------------------- results
def harmless(value: Plain) -> Plain:
    """A JSON value whose texts can be shown in a terminal, cut where they are long; raises ValueError for a float that
    JSON cannot say."""
    if isinstance(value, str):
        return harmless_text(value)
    if isinstance(value, list):
        return [harmless(item) for item in value]
    if isinstance(value, dict):
        return harmless_table(value)
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"{value} is no number of JSON")
    return value


def harmless_table(table: Mapping[str, Plain]) -> dict[str, Plain]:
    """The same for a table."""
    return {harmless_text(key): harmless(item) for key, item in table.items()}


def harmless_text(value: str) -> str:
    """The same for a text."""
    return printable(value if len(value) <= LONGEST_TEXT else value[:LONGEST_TEXT] + " ...")
