"""General launches of real recordings: kept only if proved, for what was recorded too."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tileverify.backend.numbers.blocks import Executed, execute_launch
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


TILED = """
    @ct.kernel
    def tiled(x, y, tile: ct.Constant[int]):
        wide = ct.cdiv(x.shape[1], tile)
        row, column = ct.bid(0) // wide, ct.bid(0) % wide
        part = ct.load(x, (row, column), (tile, tile), padding_mode=ct.PaddingMode.ZERO)
        ct.store(y, (row, column), part + 1)

    for m, n in {sizes}:
        x = np.zeros((m, n), np.float32)
        ct.launch(STREAM, ({grid},), tiled, (x, np.zeros_like(x), 32))
"""
STRIDED = """
    @ct.kernel
    def strided(x, y, tile: ct.Constant[int]):
        for i in range(ct.bid(0), ct.num_tiles(x, 0, (tile,)), ct.num_blocks(0)):
            ct.store(x, (i,), ct.full((tile,), 1.0, np.float32))
        for i in range(ct.bid(0), ct.num_tiles(y, 0, (tile,)), ct.num_blocks(0)):
            ct.store(y, (i,), ct.full((tile,), 1.0, np.float32))

    for m, n, blocks in {launches}:
        ct.launch(STREAM, (blocks,), strided, (np.zeros(m, np.float32), np.zeros(n, np.float32), 64))
"""


def general_launch(recorded: Recorded) -> dict[str, Any]:
    (entry,) = recorded.specialisations
    (found,) = (launch for launch in launches(recorded, entry["spec"]) if launch["name"] == "general")
    return found


@pytest.mark.parametrize("sizes", [((66, 96), (15, 48)), ((40, 96), (33, 64)), ((96, 48), (64, 16))])
def test_a_grid_that_fits_by_chance_gives_way_to_the_one_that_was_meant(
    run: Run, sizes: tuple[tuple[int, int], ...]
) -> None:
    recorded = run(TILED.format(sizes=sizes, grid="ct.cdiv(m, 32) * ct.cdiv(n, 32)"))
    assert general_launch(recorded)["grid"] == ["cdiv(x_0, 32) * cdiv(x_1, 32)"]


def test_no_launch_is_run_twice_to_tell_grids_apart(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many grids fit, and most of them are one at small sizes: what is run is each launch, not each grid with each."""
    ran: list[tuple[object, ...]] = []

    def counted(*arguments: Any) -> Executed:
        launch = arguments[3]
        ran.append((launch.grid, *((name, array.shape) for name, array in sorted(launch.arrays.items()))))
        return execute_launch(*arguments)

    monkeypatch.setattr("tileverify.record.general_proof.execute_launch", counted)
    run(STRIDED.format(launches=((128, 127, 2), (320, 300, 5))))
    assert len(ran) > 2
    assert len(ran) == len(set(ran))


def test_tiles_that_stand_in_the_kernel_alone_are_known(run: Run) -> None:
    text = TILED.replace(", tile: ct.Constant[int]", "").replace("tile", "32").replace("32d", "tiled")
    text = text.replace("np.zeros_like(x), 32)", "np.zeros_like(x))")
    recorded = run(text.format(sizes=((66, 96), (15, 48)), grid="ct.cdiv(m, 32) * ct.cdiv(n, 32)"))
    assert general_launch(recorded)["grid"] == ["cdiv(x_0, 32) * cdiv(x_1, 32)"]


def test_a_guess_that_leaves_elements_unwritten_is_dropped(run: Run) -> None:
    """More blocks than tiles, by a rule that no form has: what fits by chance is too few for wide arrays."""
    guarded = TILED.replace("    part =", "    if row < ct.cdiv(x.shape[0], tile):\n            part =")
    guarded = guarded.replace("    ct.store(y", "        ct.store(y")
    recorded = run(guarded.format(sizes=((66, 96), (15, 48)), grid="33 if m == 66 else 8"))
    assert "grid" not in general_launch(recorded)
    text = (recorded.folder / recorded.specialisations[0]["spec"]).read_text()
    assert "any grid: these grids fit, but leave elements unwritten at other sizes: (cdiv(x_0, 2))" in text


def test_a_number_of_blocks_that_stayed_is_no_promise_for_other_sizes(run: Run) -> None:
    recorded = run(TWO_SIZES.replace("(64, 128, 128)", "(480, 496, 512)").replace("16", "128"))
    assert general_launch(recorded)["grid"] == ["cdiv(x_0, 128)"]


def test_blocks_that_take_turns_may_be_a_fixed_number(run: Run) -> None:
    recorded = run(STRIDED.format(launches=((208, 208, 3), (640, 640, 3))))
    assert general_launch(recorded)["grid"] == ["3"]


def test_of_several_grids_that_write_everything_none_is_taken(run: Run) -> None:
    recorded = run(STRIDED.format(launches=((208, 240, 4), (480, 512, 8))))
    assert "grid" not in general_launch(recorded)
    text = (recorded.folder / recorded.specialisations[0]["spec"]).read_text()
    assert "any grid: several grids fit: (cdiv(x_0, 64)), (cdiv(y_0, 64))" in text
