"""What comparisons of the library on a GPU make of their trials."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.gpu import comparing
from benchmarks.gpu.comparing import Row, Trial

from tileverify import kernels
from tileverify.kernels import prepared


def right() -> Row:
    return Row("sum", "float32", (3,), 1e-7, (2e-7,), same_again=True, fine=True)


def wrong() -> Row:
    return Row("sum", "float16", (3,), 0.5, (), same_again=False, fine=False)


def fails() -> Row:
    raise ValueError("no such launch")


def trial(name: str, largest: int = 3) -> Trial:
    return Trial("sum", name, (3,), largest, {"right": right, "wrong": wrong, "fails": fails}[name])


def test_one_that_fails_does_not_end_the_others() -> None:
    rows = list(comparing.rows_of([trial("fails"), trial("right")], None, 60))
    assert [(row.fine, row.why) for row in rows] == [(False, "ValueError: no such launch"), (True, "")]


def test_what_is_large_is_left_out_and_what_comes_too_late_is_told() -> None:
    assert not list(comparing.rows_of([trial("right", 4)], 3, 60))
    (late,) = comparing.rows_of([trial("right")], None, -1)
    assert (late.fine, late.why) == (False, "no time was left for it")


@pytest.mark.parametrize(
    ("names", "status"), [(["right"], 0), (["right", "wrong"], 1), (["fails", "right"], 1), ([], 2)], ids=str
)
def test_the_end_tells_of_every_disagreement(
    names: list[str], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "use", lambda folder, **_: 7)
    monkeypatch.setattr(prepared, "kernel_of", None)

    def trials() -> Iterator[Trial]:
        yield from map(trial, names)

    assert comparing.main("sums", "Of sums.", trials, [str(tmp_path), "key.pub", str(tmp_path)]) == status
    document = json.loads((tmp_path / "sums.json").read_text())
    assert (document["bundles"], len(document["rows"])) == (7, len(names))
    text = (tmp_path / "sums.md").read_text()
    assert f"{names.count('right')} of {len(names)} agree" in text
    assert text.count("not fine") == len(names) - names.count("right")
