"""The search for faults of the assembler: what it draws, what it says of known faults, and its command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from benchmarks.compiler_search import main, searched
from benchmarks.searched_kernels import (
    ATOMIC_TYPES,
    CHANGES,
    COURSES,
    LOADS,
    STORES,
    TYPES,
    SearchedKernel,
    drawn_kernel,
    patterns,
)

ADDED = SearchedKernel(
    1, "view", "view", "column sums", "once", "f32", 1, 32, axis=0, depth=64, ragged=False, aligned=False
)  # fmt: skip
"""``out += sum(x, axis=0)``, which several threads hold."""


def test_patterns_come_with_every_type() -> None:
    drawn = set(patterns(0))
    for rank in (1, 2):
        for load, store in product(LOADS[rank], STORES[rank]):
            types = {element for *pattern, element in drawn if pattern == [rank, load, store]}
            assert types == set(ATOMIC_TYPES if "atomic" in (load, store) else TYPES)


def test_a_kernel_is_the_same_for_one_number_and_another_for_the_next() -> None:
    texts = [drawn_kernel(0, number).text for number in range(200)]
    assert texts == [drawn_kernel(0, number).text for number in range(200)]
    assert len(set(texts)) > 195
    assert texts != [drawn_kernel(1, number).text for number in range(200)]


def _one_of_each() -> Sequence[SearchedKernel]:
    """Every load, store, change and course in one of a few kernels."""
    found = []
    for rank in (1, 2):
        parts = (LOADS[rank], STORES[rank], tuple(CHANGES[rank]), tuple(COURSES))
        for place in range(max(map(len, parts))):
            load, store, change, course = (each[place % len(each)] for each in parts)
            element = (
                "f16" if change == "product" else "f32" if "atomic" in (load, store) else TYPES[place % len(TYPES)]
            )
            kernel = replace(ADDED, rank=rank, load=load, store=store, change=change, course=course, element=element)
            found.append(replace(kernel, rows=1 if rank == 1 else 32, axis=place % 2, aligned=place % 3 == 0))
    return found


@pytest.mark.parametrize("kernel", _one_of_each(), ids=lambda each: f"{each.pattern}-{each.change}-{each.course}")
def test_what_is_drawn_is_proved(kernel: SearchedKernel) -> None:
    line = searched(kernel, ())
    assert (line["verdict"], line["message"]) == ("proved", "")


@pytest.mark.assembler("tileiras")
@pytest.mark.parametrize(
    ("kernel", "outcome", "kind"),
    [
        (ADDED, "differs", "order"),
        (replace(ADDED, columns=256), "equal", None),
        (replace(ADDED, store="scoped", change="doubled"), "differs", "times"),
    ],
)
def test_known_faults_are_told(kernel: SearchedKernel, outcome: str, kind: str | None) -> None:
    target = searched(kernel, ["sm_90"])["targets"]["sm_90"]
    assert (target["outcome"], target.get("kind")) == (outcome, kind)
    if kind is not None:
        assert target["line"] in range(6, 10)
        assert all("global" in each for each in target["ptx"])


@pytest.mark.assembler("tileiras")
def test_a_search_goes_on_where_it_was_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "lines.jsonl"
    command = ["--arch", "sm_90", "--lines", str(file), "--count"]
    assert main([*command, "2"]) == 0
    first = file.read_text()
    assert main([*command, "4"]) == 0
    lines = [json.loads(each) for each in file.read_text().splitlines()]
    assert file.read_text().startswith(first)
    assert [line["number"] for line in lines] == [0, 1, 2, 3]
    report = capsys.readouterr().out
    assert "4 kernels" in report
    assert all(line["pattern"] in report for line in lines if line["targets"])
    with pytest.raises(SystemExit):
        main(["--arch", "sm_9"])
    assert "'sm_9' is not one of" in capsys.readouterr().err
    assert main(["--show", "3"]) == 0
    assert "@ct.kernel" in capsys.readouterr().out
