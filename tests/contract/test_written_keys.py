"""Where the keys of a spec stand, and what an error in one points at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileverify.contract.spec import build_launch
from tileverify.contract.spec_files import launches_of_text
from tileverify.contract.written_keys import written_keys
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
