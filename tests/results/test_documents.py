"""A dataclass is its own JSON: what its marks say is written, and what is read is what was written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileverify.results import Finding, FindingLevel, SeenValues, SideValue
from tileverify.results.json_fields import HIDDEN, LATER, OMITTED, REQUIRED, ROWS, coded, keyed, named, read_as
from tileverify.results.json_report import Json, from_json, to_json


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int | None = None
    later: str | None = field(default=None, metadata=LATER)


@dataclass(frozen=True, slots=True)
class Drawing:
    name: str
    line: int | None = field(default=None, kw_only=True)
    colour: Colour
    corners: tuple[Point, ...] = field(default=(), metadata=ROWS)
    by_name: Mapping[str, Point] = field(default_factory=dict, metadata=ROWS)
    single: Point | None = field(default=None, metadata=OMITTED)
    points: tuple[Point, ...] = ()
    frames: tuple[tuple[str, int], ...] = field(default=(), metadata=keyed("file", "line"))
    tier: str = field(default="low", metadata=named("rung"))
    words: tuple[str, ...] = field(default=(), metadata=REQUIRED)
    cut: bool = field(default=False, metadata=OMITTED)
    code: int = field(default=0, metadata=coded(str, hex, lambda read: int(read.code, 16)))
    count: int = field(init=False, compare=False, metadata=REQUIRED)
    twice: int = field(default=0, metadata=read_as(lambda read: 2 * len(read.points)))
    own: object = field(default=None, metadata=HIDDEN)

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", len(self.points))


PLAIN: Json = {
    "name": "a",
    "line": None,
    "colour": "red",
    "corners": [],
    "by_name": {},
    "points": [],
    "frames": [],
    "rung": "low",
    "words": [],
    "code": "0x0",
    "count": 0,
}


def test_keys_stand_in_the_order_of_the_fields() -> None:
    written = to_json(Drawing("a", Colour.RED, own=object()))
    assert written == PLAIN
    assert list(written) == list(PLAIN)


def test_what_marks_say_is_written() -> None:
    point = Point(1, 2)
    drawn = Drawing(
        "a", Colour.BLUE, (point,), {"p": Point(3)}, Point(4), (point,), (("f", 1),), "high", ("w",), True, 255, line=9
    )
    assert to_json(drawn) == {
        "name": "a",
        "line": 9,
        "colour": "blue",
        "corners": [[1, 2, None]],
        "by_name": {"p": [3, None, None]},
        "single": {"x": 4, "y": None, "later": None},
        "points": [{"x": 1, "y": 2, "later": None}],
        "frames": [{"file": "f", "line": 1}],
        "rung": "high",
        "words": ["w"],
        "cut": True,
        "code": "0xff",
        "count": 1,
    }


points = st.builds(Point, st.integers(), st.none() | st.integers(), st.none() | st.text())


@given(
    st.builds(
        Drawing,
        name=st.text(),
        line=st.none() | st.integers(),
        colour=st.sampled_from(Colour),
        corners=st.lists(points).map(tuple),
        by_name=st.dictionaries(st.text(), points),
        single=st.none() | points,
        points=st.lists(points, max_size=3).map(tuple),
        frames=st.lists(st.tuples(st.text(), st.integers())).map(tuple),
        tier=st.text(),
        words=st.lists(st.text()).map(tuple),
        cut=st.booleans(),
        code=st.integers(0),
        twice=st.just(0),
        own=st.none(),
    )
)
def test_what_was_written_is_read(drawn: Drawing) -> None:
    read = from_json(json.loads(json.dumps(to_json(drawn))), Drawing)
    assert read.twice == 2 * read.count == 2 * len(drawn.points)
    assert to_json(read) == to_json(drawn)
    assert (read.corners, read.by_name, read.single, read.code) == (
        drawn.corners,
        drawn.by_name,
        drawn.single,
        drawn.code,
    )


def test_unknown_keys_and_those_of_hidden_fields_are_passed_over() -> None:
    assert from_json({**PLAIN, "own": 1, "twice": 7, "later": 1}, Drawing) == Drawing("a", Colour.RED)


@pytest.mark.parametrize("key", ["name", "colour", "words", "count"])
def test_a_key_that_is_missing_is_named(key: str) -> None:
    document = {name: value for name, value in PLAIN.items() if name != key}
    with pytest.raises(KeyError, match=key):
        from_json(document, Drawing)


@pytest.mark.parametrize("key", ["line", "corners", "by_name", "points", "frames", "rung"])
def test_a_key_with_a_default_may_be_missing(key: str) -> None:
    document = {name: value for name, value in PLAIN.items() if name != key}
    assert from_json(document, Drawing) == Drawing("a", Colour.RED)


@pytest.mark.parametrize(
    ("key", "value", "where"),
    [
        ("name", 1, r"\$\.name"),
        ("colour", "green", r"\$\.colour"),
        ("rung", 1, r"\$\.rung"),
        ("corners", [[1]], r"\$\.corners\[0\]"),
        ("corners", [[1, 2, None, 4]], r"\$\.corners\[0\]"),
        ("corners", [{"x": 1}], r"\$\.corners\[0\]"),
        ("by_name", {"p": [None, 1]}, r"\$\.by_name"),
        ("single", None, r"\$\.single"),
        ("points", [[1, 2]], r"\$\.points\[0\]"),
        ("frames", [["f", 1]], r"\$\.frames\[0\]"),
        ("frames", [{"file": "f"}], "line"),
        ("code", 1, r"\$\.code"),
    ],
)
def test_what_is_wrong_is_refused_at_its_place(key: str, value: object, where: str) -> None:
    with pytest.raises((ValueError, KeyError), match=where):
        from_json({**PLAIN, key: value}, Drawing)


def test_rows_of_earlier_versions_end_before_what_is_later() -> None:
    assert from_json({**PLAIN, "corners": [[1, 2]]}, Drawing).corners == (Point(1, 2),)


def test_what_has_no_json_is_refused() -> None:
    with pytest.raises(TypeError):
        to_json(Drawing("a", Colour.RED, words=(object(),)))  # type: ignore[arg-type]


def test_structs_are_their_own_json_as_well() -> None:
    class Pair(msgspec.Struct, frozen=True):
        first: tuple[int, ...]

    assert to_json(Pair((1, 2))) == {"first": [1, 2]}
    assert from_json({"first": [1, 2]}, Pair) == Pair((1, 2))


@pytest.mark.parametrize("denied", [False, True])
def test_a_level_is_read_as_whether_a_warning_is_denied(denied: bool) -> None:
    finding = Finding("TV403", "m", denied=denied)
    assert to_json(finding)["level"] == ("error" if denied else "warning")
    assert from_json(to_json(finding), Finding) == finding
    assert finding.level is (FindingLevel.ERROR if denied else FindingLevel.WARNING)


def test_equality_of_values_is_written_and_found_again() -> None:
    sides = tuple(SideValue(side, "store", "1") for side in ("a", "b"))
    assert to_json(SeenValues("x[0]", sides))["equal"] is True
    document = {**to_json(SeenValues("x[0]", sides)), "equal": False}
    assert from_json(document, SeenValues).equal
