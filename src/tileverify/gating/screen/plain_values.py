"""Values of untrusted code as plain JSON, and back, with every type and size checked.  Nothing is taken on trust."""

from __future__ import annotations

from typing import Any, Final

from ...contract.parameters import KernelParameter
from ...system.printable import printable

LONGEST_TEXT: Final = 4096
MOST_ITEMS: Final = 4096
DEEPEST: Final = 16
LONGEST_NAME: Final = 200


class NotPlain(Exception):
    """A value that no honest worker sends, with the reason."""


def plain(value: Any, data_type: type, depth: int = 0) -> Any:
    """``value`` with lists for tuples and ``"ct.float32"`` for objects of ``data_type``; exact types alone count."""
    kind = type(value)
    if depth > DEEPEST:
        raise NotPlain("a value is nested too deeply")
    if value is None or kind in (bool, float):
        return value
    if kind is int:
        if value.bit_length() > 1024:
            raise NotPlain("an integer is too large")
        return value
    if kind is str:
        if len(value) > LONGEST_TEXT:
            raise NotPlain("a text is too long")
        return value
    if kind in (list, tuple):
        return [plain(item, data_type, depth + 1) for item in _few(value)]
    if kind is dict:
        return {text(key): plain(item, data_type, depth + 1) for key, item in _few(value).items()}
    if isinstance(value, data_type):
        return f"ct.{text(str(value))}"
    raise NotPlain(f"a {text(kind.__name__)} describes no part of a launch")


def text(value: Any, longest: int = LONGEST_TEXT) -> str:
    """A string, and no longer than that."""
    if type(value) is not str or len(value) > longest:
        raise NotPlain("a text is missing or too long")
    return value


def name(value: Any) -> str:
    """The name of a kernel or parameter: identifiers in ASCII, joined by dots."""
    found = text(value, LONGEST_NAME)
    if not found.isascii() or not all(part.isidentifier() for part in found.split(".")):
        raise NotPlain("a name is no identifier")
    return found


def number(value: Any) -> int | None:
    """A line, column or count, or none."""
    if value is None:
        return None
    if type(value) is not int or not -(1 << 31) <= value < 1 << 31:
        raise NotPlain("a number is missing or out of range")
    return value


def _few(value: Any) -> Any:
    if len(value) > MOST_ITEMS:
        raise NotPlain("a list is too long")
    return value


# ----------------------------------------------------------------------------------------------- parameters
def parameter_to_json(parameter: KernelParameter, data_type: type) -> dict[str, Any]:
    """Raises `NotPlain` for a default that is no constant."""
    return {
        "name": parameter.name,
        "hint": parameter.hint,
        "constant": bool(parameter.constant),
        "has_default": bool(parameter.has_default),
        "default": plain(parameter.default, data_type) if parameter.has_default else None,
        "scalar_dtype": parameter.scalar_dtype,
        "index_bits": parameter.index_bits,
        "static_shape": list(parameter.static_shape),
        "static_strides": list(parameter.static_strides),
        "items": None if parameter.items is None else [parameter_to_json(item, data_type) for item in parameter.items],
        "each": None if parameter.each is None else parameter_to_json(parameter.each, data_type),
    }


def parameter_from_json(document: Any, depth: int = 0) -> KernelParameter:
    """The inverse; raises `NotPlain` for anything else."""
    if type(document) is not dict or depth > DEEPEST:
        raise NotPlain("a parameter is no table")
    items, each = document.get("items"), document.get("each")
    hint, dtype = document.get("hint"), document.get("scalar_dtype")
    if hint not in (None, "int", "bool", "float", "str") or dtype not in (None, "i32", "i64"):
        raise NotPlain("a parameter has an unknown type")
    if document.get("index_bits") not in (None, 32, 64):
        raise NotPlain("indices have 32 or 64 bits")
    return KernelParameter(
        name=_parameter_name(document.get("name")),
        hint=hint,
        constant=document.get("constant") is True,
        has_default=document.get("has_default") is True,
        default=_tuples(document.get("default")),
        scalar_dtype=dtype,
        index_bits=document.get("index_bits"),
        static_shape=_dims(document.get("static_shape")),
        static_strides=_dims(document.get("static_strides")),
        items=None if items is None else tuple(parameter_from_json(item, depth + 1) for item in _list(items)),
        each=None if each is None else parameter_from_json(each, depth + 1),
    )


def _parameter_name(value: Any) -> str:
    """``x``, or ``x[0]`` for an item of a tuple."""
    found = text(value, LONGEST_NAME)
    name(found.replace("[", ".i").replace("]", ""))
    return found


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if type(value) is list else value


def _dims(value: Any) -> tuple[int, ...]:
    return tuple(number(each) or 0 for each in _list(value))


def _list(value: Any) -> list[Any]:
    if type(value) is not list or len(value) > MOST_ITEMS:
        raise NotPlain("a list is missing or too long")
    return value


# -------------------------------------------------------------------------------------------------- results
def harmless(value: Any) -> Any:
    """A JSON value whose texts can be shown in a terminal, cut where they are long."""
    if isinstance(value, str):
        cut = value if len(value) <= LONGEST_TEXT else value[:LONGEST_TEXT] + " ..."
        return printable(cut)
    if isinstance(value, list):
        return [harmless(item) for item in value]
    if isinstance(value, dict):
        return {harmless(key): harmless(item) for key, item in value.items()}
    return value
