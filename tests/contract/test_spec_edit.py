"""Clauses that are written into a spec: what stands there stays as it is, and the document says what was meant."""

from __future__ import annotations

import tomllib

import pytest

from tileverify.contract.spec_text import with_requires
from tileverify.system.errors import SpecError

PLAIN = """[[launch]]
kernel = "copy"
grid = ["cdiv(N, 128)"]  # one block a tile

[launch.args]
x = "f32[N]"

[[launch]]
kernel = "other"
requires = ["M >= 1"]
"""


def requires_of(text: str, number: int) -> list[str]:
    found: list[str] = tomllib.loads(text)["launch"][number].get("requires", [])
    return found


def test_a_line_of_its_own_stands_behind_the_keys_of_the_launch() -> None:
    text = with_requires(PLAIN, 1, ["N % 128 == 0"], "k.toml")
    assert text.splitlines()[:5] == [*PLAIN.splitlines()[:3], 'requires = ["N % 128 == 0"]', ""]
    assert (requires_of(text, 0), requires_of(text, 1)) == (["N % 128 == 0"], ["M >= 1"])


@pytest.mark.parametrize(
    "written",
    ['["M >= 1"]', '["M >= 1",]', '[\n  "M >= 1",  # rows\n]', '[ "M >= 1" ]', "['M >= 1']", '["""M >= 1"""]'],
)
def test_a_clause_is_added_to_those_that_stand_there(written: str) -> None:
    text = PLAIN.replace('["M >= 1"]', written)
    found = with_requires(text, 8, ["M % 4 == 0", "M < 9"], "k.toml")
    assert requires_of(found, 1) == ["M >= 1", "M % 4 == 0", "M < 9"]
    assert found.startswith(text[: text.index('kernel = "other"')])


def test_an_empty_list_is_filled() -> None:
    found = with_requires(PLAIN.replace('["M >= 1"]', "[]"), 8, ["M >= 2"], "k.toml")
    assert requires_of(found, 1) == ["M >= 2"]


def test_a_file_without_a_last_line_end_is_no_hindrance() -> None:
    found = with_requires('[[launch]]\nkernel = "copy"', 1, ["N >= 1"], "k.toml")
    assert requires_of(found, 0) == ["N >= 1"]


def test_brackets_in_a_comment_are_no_end() -> None:
    text = PLAIN.replace('requires = ["M >= 1"]', 'requires = ["M >= 1"]  # see [1]')
    assert requires_of(with_requires(text, 8, ["M % 4 == 0"], "k.toml"), 1) == ["M >= 1", "M % 4 == 0"]


def test_what_is_not_understood_is_left_alone() -> None:
    text = PLAIN.replace('["M >= 1"]', '"M >= 1"')
    with pytest.raises(SpecError, match="add it by hand"):
        with_requires(text, 8, ["M % 4 == 0"], "k.toml")
