"""The schema that ships with the reports and the types that reports are written from say the same."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec
import pytest

from tileverify.results.claim import LaunchDocument
from tileverify.results.json_report import ReportDocument, schema_text, shape_of

Json: TypeAlias = dict[str, Any]
Shapes: TypeAlias = frozenset[Any]
"""What a value may be: names of plain types, texts in an enum, and tuples for what holds others."""


def shapes(schema: Json, definitions: Json) -> Shapes:
    """All that decides which keys there are, whether they are required, and what kind of value each has.

    Limits of numbers and texts, and conditions between keys, are left aside: types do not say them.
    """
    return frozenset(_shapes(schema, definitions))


def _shapes(schema: Json, definitions: Json) -> Iterator[Any]:
    def within(inner: Json) -> Shapes:
        return shapes(inner, definitions)

    if "$ref" in schema:
        yield from _shapes(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)
    elif "properties" in schema:
        keys = frozenset((key, within(value)) for key, value in schema["properties"].items())
        yield "object", keys, frozenset(schema.get("required", ()))
    elif alternatives := schema.get("anyOf", schema.get("oneOf")):
        for each in alternatives:
            yield from _shapes(each, definitions)
    elif "enum" in schema or "const" in schema:
        yield from (("text", each) for each in schema.get("enum", [schema.get("const")]))
    elif "items" in schema or "prefixItems" in schema:
        items = schema.get("prefixItems") or [schema["items"]]
        least, most = schema.get("minItems"), schema.get("maxItems")
        yield "array", frozenset().union(*map(within, items)), least if least == most else None
    elif "additionalProperties" in schema:
        yield "table", within(schema["additionalProperties"])
    else:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        yield from (("text", None) if each == "null" else each for each in types)


def of_types(*types: type[msgspec.Struct]) -> list[Shapes]:
    (*made,), definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    return [shapes(each, definitions) for each in made]


def shipped(document: Json) -> list[Shapes]:
    """The report and the launch of a witness, which is read by who replays it and stands for itself in the types."""
    definitions = document["$defs"]
    launch = shapes({"$ref": "#/$defs/concrete_launch"}, definitions)
    without = definitions | {"concrete_launch": {"type": "object"}}
    return [shapes(document, without), launch]


DOCUMENT: Json = json.loads(schema_text())


def test_schema_and_types_say_the_same() -> None:
    assert shipped(DOCUMENT) == of_types(shape_of(ReportDocument), shape_of(LaunchDocument))


def _keys(schema: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Where the schema describes an object's keys."""
    for key, value in schema.items():
        if isinstance(value, dict):
            if key == "properties" and "type" in schema:
                yield (*path, key)
            yield from _keys(value, (*path, key))


def _at(document: Json, path: tuple[str, ...]) -> Json:
    for key in path:
        document = document[key]
    return document


def _one_more(properties: Json, _: Json) -> None:
    properties["surplus"] = {"type": "string"}


def _one_less(properties: Json, _: Json) -> None:
    del properties[next(iter(properties))]


def _one_that_may_be_missing(_: Json, owner: Json) -> None:
    owner["required"] = owner["required"][1:]


def _another_type(properties: Json, _: Json) -> None:
    properties[next(iter(properties))] = {"type": ["number", "array"]}


@pytest.mark.parametrize("change", [_one_more, _one_less, _one_that_may_be_missing, _another_type])
@pytest.mark.parametrize("path", sorted(set(_keys(DOCUMENT))), ids="/".join)
def test_what_is_changed_in_one_of_them_is_seen(path: tuple[str, ...], change: Callable[[Json, Json], None]) -> None:
    changed = copy.deepcopy(DOCUMENT)
    change(_at(changed, path), _at(changed, path[:-1]))
    assert shipped(changed) != of_types(shape_of(ReportDocument), shape_of(LaunchDocument))


@pytest.mark.parametrize("path", [("finding", "level"), ("hint", "applicability"), ("result", "verdict")], ids="/".join)
def test_a_value_that_is_added_is_seen(path: tuple[str, str]) -> None:
    changed = copy.deepcopy(DOCUMENT)
    changed["$defs"][path[0]]["properties"][path[1]]["enum"].append("perhaps")
    assert shipped(changed) != of_types(shape_of(ReportDocument), shape_of(LaunchDocument))
