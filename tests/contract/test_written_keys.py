"""Where the keys of a spec stand, and what an error in one points at."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileverify.contract.launch import KernelParameter
from tileverify.contract.spec import build_launch
from tileverify.contract.spec_files import launches_of_text
from tileverify.contract.spec_text import place_of, written_keys
from tileverify.system.errors import SpecError

TEXT = """[[launch]]
kernel = "first"

[[launch]]  # the second
kernel = "second"
requires = [
  "N > 5",  # [ no bracket
  "M > 3",
]
"grid" = ["cdiv(N, 128)"]
args = { x = "f32[N]", y = "f32[N]" }
"""


def test_keys_and_their_lines() -> None:
    assert [(key.name, key.line, key.column, len(key.lines)) for key in written_keys(TEXT, 4)] == [
        ("kernel", 5, 0, 1),
        ("requires", 6, 0, 4),
        ("grid", 10, 1, 1),
        ("args", 11, 0, 1),
    ]
    assert [(key.name, key.line) for key in written_keys(TEXT, 1)] == [("kernel", 2)]


def read(text: str) -> None:
    *_, second = launches_of_text(text, Path("k.tileverify.toml"))
    build_launch(second, "0", None)


@pytest.mark.parametrize(
    ("old", "new", "line", "column"),
    [
        ('"grid" =', "gird =", 10, 0),
        ("cdiv(N, 128)", "cdiv(N, 128", 10, 15),
        ('kernel = "second"', "kernel = 3", 5, 0),
    ],
)
def test_an_error_stands_at_its_key(old: str, new: str, line: int, column: int) -> None:
    with pytest.raises(SpecError) as raised:
        read(TEXT.replace(old, new))
    assert (raised.value.line, raised.value.column) == (line, column)


TABLES = """[[launch]]
kernel = "k"
grid = ["cdiv(N, 128)", "N // 2"]

[launch.args]
x = "f32[N]"
"out" = "f32[N, 2]"  # x, too
n = "i32"

[[launch]]
kernel = "other"
args = { x = "f32[N]", out = "f32[N, 2]", n = "i32" }
"""


@pytest.mark.parametrize(
    ("old", "new", "place", "which"),
    [
        ('n = "i32"\n', 'n = "i32 = Q"\n', (8, 11), 0),  # in a table of its own
        ('x = "f32[N]"\n', 'x = "f33[N]"\n', (6, 5), 0),
        ('"f32[N, 2]"  #', '"f32[N, 2; index=i16]"  #', (7, 1), 0),  # nothing is quoted: the parameter's key
        ('n = "i32" }', 'n = "i32 = x" }', (12, 53), 1),  # not the parameter x
        ('out = "f32[N, 2]", n', 'out = "f32[-1, 2]", n', (12, 23), 1),
        ('"N // 2"]', '"cdiv(N, 2"]', (3, 29), 0),  # the second axis
        ('"cdiv(N, 128)", ', '"N", "M", ', (3, 14), 0),
        ("[launch.args]\n", "[launch.args]\nm = 5\n", (6, 0), 0),
        ('kernel = "other"\n', 'kernel = "other"\ntrust = ["assert-stop"]\n', (12, 10), 1),
    ],
)
def test_an_error_stands_where_it_was_made(old: str, new: str, place: tuple[int, int], which: int) -> None:
    """In tables of their own and in inline ones, at the entry of a list, and at whole words alone."""
    text = TABLES.replace(old, new)
    assert text != TABLES
    parameters = [KernelParameter(name, None) for name in ("x", "out", "n")]
    with pytest.raises(SpecError) as raised:
        build_launch(launches_of_text(text, Path("k.tileverify.toml"))[which], "0", parameters)
    assert (raised.value.line, raised.value.column) == place


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("\n[[launch]]\n", (2, None)),
        ('# launch\n[launch]\nkernel = "k"\n', (2, 1)),
        ('\n[[lunch]]\nkernel = "k"\n', (2, 2)),
        ("launch = 5\n", (1, 0)),
        ('[tool.tileverify.launch]\nkernel = "k"\n', (1, 1)),
    ],
)
def test_an_error_of_the_file_stands_at_its_table(text: str, place: tuple[int, int | None]) -> None:
    with pytest.raises(SpecError) as raised:
        launches_of_text(text, Path("k.tileverify.toml"))
    assert (raised.value.line, raised.value.column) == place


@settings(max_examples=300)
@given(st.integers(0, len(TABLES)), st.text(alphabet="[]{}=,.'\"# \n\tax", max_size=3), st.integers(0, 6))
def test_whatever_is_written_has_a_place_or_none(at: int, new: str, left_out: int) -> None:
    """A place is looked for in texts that may be anything, and is one of the text."""
    text = TABLES[:at] + new + TABLES[at + left_out :]
    for header in range(1, text.count("\n") + 1):
        for key in written_keys(text, header):
            for field in ("grid[1]", "args.x", "args", "kernel"):
                place = place_of([key], field, "'x' at column 2: odd")
                assert place is None or 1 <= place[0] <= text.count("\n") + 1
