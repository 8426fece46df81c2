"""A contradictory contract (TV004) is shown at each of the fewest lines that contradict each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_line import CommandLine

KERNEL = """\
import cuda.tile as ct

@ct.kernel
def copy(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(64,)))
"""
SPEC = """\
[[launch]]
kernel = "copy"
grid = ["cdiv(N, 64)"]
requires = [
  "N >= 1",
  "N <= 200",   # of no concern
  "K <= 7",
  "N % 64 == 0",
  "K >= N",
]

[launch.args]
x = "f32[N]"
out = "f32[K]"
"""


@pytest.mark.parametrize(
    ("spec", "places"),
    [
        (SPEC, [(5, 2), (7, 2), (8, 2), (9, 2)]),
        (SPEC.replace('"K <= 7"', '"K <= 700"').replace("cdiv(N, 64)", "cdiv(N, 64) - 5"), [(3, 0), (6, 2)]),
    ],
)
def test_each_member_is_shown(spec: str, places: list[tuple[int, int]], tileverify: CommandLine) -> None:
    Path("copy_it.py").write_text(KERNEL)
    Path("copy_it.tileverify.toml").write_text(spec)
    (result,) = json.loads(tileverify("check", "copy_it.py", "--format", "json").out)["results"]
    (finding,) = result["findings"]
    assert finding["code"] == "TV004"
    assert [(site["line"], site["column"]) for site in finding["sites"]] == places
    assert {site["file"] for site in finding["sites"]} == {"copy_it.tileverify.toml"}
    shown = tileverify("check", "copy_it.py").out
    assert all(f"--> copy_it.tileverify.toml:{line}:{column + 1}\n" in shown for line, column in places)
