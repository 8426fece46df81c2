"""General launches of real recordings: kept only if proved, for what was recorded too."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tileverify.frontend.sources.discover import SourceFailure, discover
from tileverify.pipeline import CheckOptions, check_paths
from tileverify.record import general_proof
from tileverify.results import Verdict

from .conftest import Recorded, Run

TWO_SIZES = """
if __name__ == "__main__":
    for n in (64, 128, 128):
        x = np.zeros(n, np.float32)
        ct.launch(STREAM, (ct.cdiv(n, 16),), scale, (x, np.zeros_like(x), 3.0, 16))
"""


def launches(recorded: Recorded, file: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads((recorded.folder / file).read_text())["launch"]
    return found


def test_a_general_launch_stands_beside_those_that_were_made(run: Run) -> None:
    recorded = run(TWO_SIZES)
    (entry,) = recorded.specialisations
    first, second, general = launches(recorded, entry["spec"])
    assert (first["args"]["x"], second["args"]["x"]) == ("f32[64]", "f32[128]")
    assert general["name"] == "general"
    assert (general["grid"], general["args"]["x"]) == (["cdiv(x_0, 16)"], "f32[x_0]")
    assert general["requires"] == ["x_0 % 16 == 0"]
    assert "# launches 0, 1 in general: x_0 = 64, 128\n" in (recorded.folder / entry["spec"]).read_text()
    (kept,) = entry["generalised"]
    assert (kept["launches"], kept["names"]) == ([0, 1], {"x_0": [64, 128]})
    assert recorded.summary.generalised == 1
    report = check_paths([str(recorded.folder)], options=CheckOptions())
    results = {result.launch: result for result in report.results}
    assert results["general"].verdict is Verdict.PROVED
    assert list(results["general"].requires) == kept["clauses"]


def test_the_source_under_the_general_launch_is_the_recorded_bytecode(run: Run) -> None:
    recorded = run(TWO_SIZES)
    (entry,) = recorded.specialisations
    program, specs = Path(entry["source"]["file"]), recorded.folder / entry["source_spec"]
    units = [unit for unit in discover([str(program)], spec_file=specs) if not isinstance(unit, SourceFailure)]
    assert [unit.launch.name.split("-")[-1] for unit in units] == ["0", "1", "general"]
    assert len({unit.symbol for unit in units}) == 1


def test_without_it_recordings_have_numbers_alone(run: Run) -> None:
    recorded = run(TWO_SIZES, generalise=False)
    (entry,) = recorded.specialisations
    assert "generalised" not in entry
    assert len(launches(recorded, entry["spec"])) == 2
    assert recorded.summary.generalised == 0


def test_what_is_not_proved_is_not_kept_and_says_why(run: Run) -> None:
    recorded = run("""
        @ct.kernel
        def last(x, y):
            ct.store(y, (0,), ct.load(x, (ct.bid(0),), (16,)))
        for n in (64, 128):
            x = np.zeros(n, np.float32)
            ct.launch(STREAM, (ct.cdiv(n, 16),), last, (x, np.zeros_like(x)))
    """)
    (entry,) = recorded.specialisations
    assert "generalised" not in entry
    (left,) = entry["not_generalised"]
    assert left["launches"] == [0, 1]
    assert left["why"].startswith("in general it is refuted: two tile blocks store to the same element of `y` [TV101]")
    assert len(launches(recorded, entry["spec"])) == 2


def test_one_array_passed_twice_stays_one(run: Run) -> None:
    recorded = run(
        """
        for n in (64, 128):
            x = np.zeros((n, 32), np.float32)
            ct.launch(STREAM, (ct.cdiv(n, 16),), scale, (x[:, 0], np.zeros(n, np.float32), 3, 16))
            ct.launch(STREAM, (ct.cdiv(n, 16),), shift, ((x, x), n, True))
    """.replace(
            "        for n",
            """
        @ct.kernel
        def shift(pair, n, flag: ct.Constant[bool]):
            tile = ct.load(pair[0], (ct.bid(0), 0), (16, 32))
            if ct.bid(0) * 16 < n:
                ct.store(pair[1], (ct.bid(0), 0), tile + 1)
        for n""",
            1,
        )
    )
    scaled, shifted = recorded.specialisations
    strided = launches(recorded, scaled["spec"])[-1]
    assert strided["args"]["x"] == "f32[x_0; strides=(32,)]"
    (left,) = shifted["not_generalised"]
    assert "refuted" in left["why"]  # TV201: nothing orders the load and the store of one array under two names
    assert recorded.summary.failures == ()


def test_an_extended_recording_is_generalised_anew(run: Run) -> None:
    run(TWO_SIZES)
    recorded = run(TWO_SIZES.replace("(64, 128, 128)", "(192,)"), append=True)
    (entry,) = recorded.specialisations
    (kept,) = entry["generalised"]
    assert kept["launches"] == [0, 1, 2]
    assert kept["names"] == {"x_0": [64, 128, 192]}
    run(TWO_SIZES.replace("(64, 128, 128)", "(256,)"), append=True, generalise=False)
    assert "generalised" not in recorded.specialisations[0]


def test_specs_that_say_the_same_are_written_once(run: Run) -> None:
    recorded = run("""
        x = np.zeros(64, np.float32)
        for factor in (1.5, 2.5, 3.5):
            ct.launch(STREAM, (4,), scale, (x, np.zeros_like(x), factor, 16))
    """)
    (entry,) = recorded.specialisations
    assert len(entry["launches"]) == 3
    assert len(launches(recorded, entry["spec"])) == 1
    assert len(launches(recorded, entry["source_spec"])) == 1


def test_ctrl_c_while_launches_are_proved_keeps_the_recording(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(general_proof, "check_unit", interrupted)
    recorded = run(TWO_SIZES)
    assert (recorded.summary.launches, recorded.summary.generalised) == (2, 0)
    (entry,) = recorded.specialisations
    assert len(launches(recorded, entry["spec"])) == 2
