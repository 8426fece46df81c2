"""The parts of the GPU benchmarks that run anywhere: names, statistics, files, comparison, tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.gpu.build import key_of
from benchmarks.gpu.corpus import differences, markdown
from benchmarks.gpu.paired import paired_ratio
from benchmarks.gpu.report import markdown as report
from benchmarks.gpu.stored import StoredArray, StoredLaunch, numbers
from benchmarks.gpu.variants import variants
from tests.corpus.problems import interpret, problem, without_failures
from tests.corpus.references import NUMBERS

from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover

WAYS = (problem, without_failures)


def test_every_variant_has_a_name_and_a_recording_of_its_own() -> None:
    known = list(variants())
    assert len({each.name for each in known}) == len(known)
    assert len({key_of(each) for each in known}) == len(known)


def test_a_ratio_tells_what_the_noise_allows() -> None:
    """Times with two usual values and an outlier, the second way 2 % slower: seen, and told from none."""
    source = np.random.default_rng(3)
    both = [27.3, 28.4]
    first = [*source.choice(both, 400), 400.0]
    same, slower = [*source.choice(both, 401)], [*(1.02 * source.choice(both, 401))]
    equal, less = paired_ratio(first, same), paired_ratio(first, slower)
    assert equal.low < 1 < equal.high
    assert 0.995 < equal.low <= equal.value <= equal.high < 1.005
    assert less.high < 0.99
    assert less.low < 1 / 1.02 < less.high


def launch(after: list[float], known: list[bool] | None = None) -> StoredLaunch:
    before = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    marks = {} if known is None else {"x": np.repeat(np.array(known), 4)}
    return StoredLaunch(
        grid=(2, 1, 1),
        arrays={"x": StoredArray("f32", (2, 2), (2, 1), "x", 0)},
        scalars={"n": 3, "alpha": 0.5},
        lists={"xs": (StoredArray("f32", (4,), (1,), "x", 0),)},
        types={"x": "f32"},
        before={"x": before.view(np.uint8)},
        after={"x": np.array(after, np.float32).view(np.uint8)},
        known=marks,
        about={"label": "racy/a.py::b[c]"},
    )


def test_a_stored_launch_is_read_as_it_was_written(tmp_path: Path) -> None:
    for written in (launch([1, 2, 3, 4]), launch([1, 2, 3, 9], [True, True, False, True])):
        written.save(tmp_path / "launch.npz")
        read = StoredLaunch.load(tmp_path / "launch.npz")
        assert (read.grid, read.arrays, read.scalars, read.lists) == (
            written.grid, written.arrays, written.scalars, written.lists,
        )  # fmt: skip
        assert read.about == written.about
        for name in ("before", "after", "known"):
            own, other = getattr(read, name), getattr(written, name)
            assert own.keys() == other.keys()
            assert all(np.array_equal(own[each], other[each]) for each in own)


def test_comparison_with_the_interpreter() -> None:
    """Floats may differ a little where they were written, and not at all elsewhere."""

    def seen(*values: float) -> dict[str, object]:
        return {"x": np.array(values, np.float32).view(np.uint8)}

    expected = launch([1, 2, 30, 40])
    assert not differences(expected, seen(1, 2, 30, 40 * (1 + 1e-5)))
    assert differences(expected, seen(1, 2, 30, 40 * (1 + 1e-3)))
    assert differences(expected, seen(1 + 1e-6, 2, 30, 40))
    assert differences(expected, seen(1, 2, 30, float("nan")))
    assert not differences(launch([1, 2, 30, 40], [True, True, True, False]), seen(1, 2, 30, 7))


def test_memory_as_numbers() -> None:
    assert numbers(np.array([0x3FC0], "<u2").view(np.uint8), "bf16").tolist() == [1.5]
    assert numbers(np.array([-2], np.int32).view(np.uint8), "i32").tolist() == [-2]
    assert numbers(np.array([1, 0], np.uint8), "bool").tolist() == [1, 0]


def test_tables() -> None:
    rows: list[dict[str, Any]] = [
        {"label": "racy/a.py::b[c]", "outcome": "agrees", "what": []},
        {"label": "racy/a.py::d[e]", "outcome": "differs", "what": ["x: 1 of 4"], "deterministic": True},
    ]
    assert "| racy | 2 | 1 | 1 |" in markdown(rows)
    assert "d[e] (deterministic): differs: x: 1 of 4" in markdown(rows)
    times = {"proved": [2.0] * 6, "bare": [2.0] * 6, "torch": [1.0] * 6}
    row = {
        "family": "add f32", "label": "2^3", "unit": "TB/s", "work": 0.006, "times": times, "errors": {"tile": 0.0},
        "chosen": "tile", "notes": ["no Triton"], "wrong": [],
    }  # fmt: skip
    text = report({"machine": {"GPU": "none"}, "rows": [row]})
    assert "| 2^3 | 3 | 6 | 0.500 | 1.0000 (1.0000 to 1.0000) | 0.0e+00 | tile |" in text
    assert "add f32, 2^3: no Triton" in text


def test_indices_that_the_corpus_is_launched_with_fail_no_assertion() -> None:
    """One that fails on a GPU ends the program that measures; contracts that trust it to stop a block admit such."""
    positions = "cutile_rust/positions.tileirbc"
    units = [unit for unit in discover([str(ROOT / positions)]) if isinstance(unit, KernelUnit) and unit.launch.trust]
    cases = {f"{positions}::{unit.kernel}[{unit.launch.name}]": unit for unit in units}
    known = cases.keys() & NUMBERS.keys()
    assert len(known) == 2
    failed = {
        name: [sum(len(log.assertions) for log in interpret(made(cases[name], NUMBERS[name])).logs) for made in WAYS]
        for name in known
    }
    assert all(without == 0 for _, without in failed.values()), failed
    assert any(usual for usual, _ in failed.values()), "the contract admits indices that fail"
