"""How a field of a frozen dataclass stands in JSON, as its metadata; `json_report` reads and writes by it.

Without a mark, the field's key is always written, and a document may lack it if the field has a default: earlier
versions may not have written it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar

Mark: TypeAlias = dict[str, object]
_Value = TypeVar("_Value")

REQUIRED: Final[Mark] = {"required": True}
"""A document without the key is refused, whatever Python's default is."""

OMITTED: Final[Mark] = {"omitted": True}
"""The key is left out where the value is the default."""

HIDDEN: Final[Mark] = {"hidden": True}
"""JSON has no such key: the value is this process' alone."""

ROWS: Final[Mark] = {"rows": True}
"""The field's dataclasses are lists in JSON, with as many items as they have fields."""

LATER: Final[Mark] = {"later": True}
"""Lists of `ROWS` may end before it: those of earlier versions do."""


def keyed(*keys: str) -> Mark:
    """The field holds tuples, which are objects with these ``keys`` in JSON."""
    return {"keys": keys}


def named(key: str) -> Mark:
    """JSON calls the field ``key``."""
    return {"key": key}


def coded(kind: object, write: Callable[[_Value], object], read: Callable[..., _Value]) -> Mark:
    """The field is a ``kind`` in JSON; ``read`` gets all keys that were read, as attributes of its argument."""
    return {"kind": kind, "write": write, "read": read}


def read_as(value: Callable[..., object]) -> Mark:
    """A `HIDDEN` field whose value follows from the keys that were read, which are attributes of the argument."""
    return HIDDEN | {"read": value}
