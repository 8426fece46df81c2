"""What the detector says of hand-labelled traces, which `races.txt` holds.

Rules used: only tokens order the accesses of a block; a release publishes what its token waits for, an acquire
protects what waits for its token; they synchronise if the acquire reads the release's value, or what atomics made of
it, on the same location, with scopes that include each other's block; happens-before is the closure of both; a race
is a conflict that it does not order and that is not morally strong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .traces import parsed


def labelled() -> Iterator[Any]:
    """The lines of a trace, the op that stands in a loop, and the races in the order in which the two happened."""
    _, *cases = (Path(__file__).parent / "races.txt").read_text(encoding="utf-8").split("\n= ")
    for case in cases:
        name, *lines = case.partition("\n==")[0].splitlines()
        found: dict[str, list[str]] = {"#": [], "loop": [], ">": [], "": []}
        for line in filter(None, lines):
            mark = next(mark for mark in found if line.startswith(mark))
            found[mark].append(line.removeprefix(mark).strip())
        races = {tuple(race.split()) for race in found[">"]}
        yield pytest.param("\n".join(found[""]), "".join(found["loop"]), races, id=name.replace(" ", "-"))


@pytest.mark.parametrize(("trace", "loop", "races"), [*labelled()])
def test_the_detector_sees_what_the_label_says(trace: str, loop: str, races: set[tuple[str, ...]]) -> None:
    assert parsed(trace, loop).races() == races


@pytest.mark.parametrize(
    ("block", "waits", "race"),
    [(0, "-", {("TV201", "A", "B")}), (0, "A", set()), (1, "-", {("TV103", "A", "B")})],
)
def test_atomics_of_two_widths_need_an_order(block: int, waits: str, race: set[tuple[str, str, str]]) -> None:
    table = f"""
        0       A atomic relaxed device f[0:4] -       ?
        {block} B atomic relaxed device f[0:8] {waits} ?
        """
    assert parsed(table, sources=False).races() == race


# ----------------------------------------------------------------------------------------- the tables
def test_a_table_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(AssertionError, match="reads from"):
        parsed(
            """
            0 W store weak - x[0:4] - -
            1 L load  weak - x[0:4] - -
            """
        )
