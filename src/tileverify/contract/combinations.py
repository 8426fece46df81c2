"""One table for many launches: ``each = { T = ["f16", "f32"], TILE = [512, 1024] }`` makes one for every combination.

``{T}`` in a text of the table stands for the value; a text that is nothing but ``{TILE}`` is the value itself.  What
neither ``name`` nor ``kernel`` mentions comes behind the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Final, TypeAlias

from .descriptions import suggestion

EACH: Final = "each"
MOST_LAUNCHES: Final = 1000
"""Of one table."""

_PLACE: Final = re.compile(r"\{([^{}]*)\}")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")

Value: TypeAlias = "str | int | float"


class Uncombined(Exception):
    """What is wrong with ``each``."""


def combined(fields: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """The launches that the table stands for, each without ``each``; itself where it has none.

    Raises `Uncombined`.
    """
    rest: Mapping[str, object] = {key: value for key, value in fields.items() if key != EACH}
    if EACH not in fields:
        yield dict(rest)
        return
    choices = _choices(fields[EACH])
    used = dict.fromkeys(_places(rest))
    for unused in choices.keys() - used.keys():
        raise Uncombined(f"'{{{unused}}}' stands nowhere in the launch")
    for place in used:
        if place not in choices:
            raise Uncombined(f"there is no '{place}'{suggestion(place, list(choices))} for '{{{place}}}'")
    for values in product(*choices.values()):
        chosen = dict(zip(choices, values, strict=True))
        found = {key: _filled(value, chosen) for key, value in rest.items()}
        if (name := _named(rest, found, chosen)) is not None:
            found["name"] = name
        yield found


def _choices(each: object) -> dict[str, list[Value]]:
    if not isinstance(each, Mapping) or not each:
        raise Uncombined('must be a table of names with lists of values, as in { T = ["f16", "f32"] }')
    for name, values in each.items():
        if not _NAME.fullmatch(str(name)):
            raise Uncombined(f"'{name}' is no name")
        if not isinstance(values, list | tuple) or not values:
            raise Uncombined(f"'{name}' must be a list of values")
        if not all(isinstance(value, str | int | float) for value in values):
            raise Uncombined(f"the values of '{name}' must be texts or numbers")
        if len(set(map(str, values))) < len(values):
            raise Uncombined(f"'{name}' has a value twice")
    if prod(map(len, each.values())) > MOST_LAUNCHES:
        raise Uncombined(f"makes more than {MOST_LAUNCHES} launches")
    return {str(name): list(values) for name, values in each.items()}


def _places(value: object) -> Iterator[str]:
    match value:
        case str():
            yield from _PLACE.findall(value)
        case Mapping():
            for part in value.values():
                yield from _places(part)
        case list() | tuple():
            for part in value:
                yield from _places(part)


def _filled(value: object, chosen: Mapping[str, Value]) -> object:
    match value:
        case str():
            alone = _PLACE.fullmatch(value)
            return chosen[alone[1]] if alone else _PLACE.sub(lambda place: str(chosen[place[1]]), value)
        case Mapping():
            return {key: _filled(part, chosen) for key, part in value.items()}
        case list() | tuple():
            return [_filled(part, chosen) for part in value]
    return value


def _named(written: Mapping[str, object], found: Mapping[str, object], chosen: Mapping[str, Value]) -> object:
    """The name with the values that are not mentioned; what is no text is told where names are checked."""
    name = found.get("name")
    if name is not None and not isinstance(name, str):
        return name
    mentioned = {*_places(written.get("name")), *_places(written.get("kernel"))}
    parts = [*([] if name is None else [name]), *(str(chosen[each]) for each in chosen if each not in mentioned)]
    return "-".join(parts) or None
