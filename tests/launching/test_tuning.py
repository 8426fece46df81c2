"""Tuning: only what is proved runs, times are kept, the best two run off."""

from __future__ import annotations

import json
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tileverify.backend.assembler import CodeDiffers
from tileverify.backend.guard import LaunchRefused
from tileverify.backend.ledger import ByteAccess
from tileverify.launching.launch_cache import Planned
from tileverify.launching.launch_log import Use
from tileverify.launching.tuning import LONG, SHORT, Tuner
from tileverify.results.details import Amount, Traffic
from tileverify.system.errors import UsageError

Config = dict[str, int]


@dataclass
class Kernel:
    """A kernel of cuda.tile, as far as tuning knows it."""

    hints: tuple[tuple[str, Any], ...] = ()
    _annotated_function: Any = None
    made: list[dict[str, Any]] = field(default_factory=list)

    def replace_hints(self, **hints: Any) -> Kernel:
        self.made.append(hints)
        return Kernel(tuple(hints.items()))


@dataclass
class Bench:
    """Planner and timer: a tile of 3 is refused, of 5 compiled to other code, larger tiles are faster."""

    planned: list[tuple[Any, Any, Any]] = field(default_factory=list)
    timed: list[int] = field(default_factory=list)
    restored: list[int] = field(default_factory=list)
    machine: str = "GPU 1"
    drift: float = 0.0

    def plan(self, stream: Any, grid: Any, kernel: Any, arguments: Any) -> Planned:
        self.planned.append((grid, kernel, arguments))
        tile = arguments[0]
        if tile == 5:
            raise CodeDiffers("what tileiras makes of tile 5 differs (TV503)")
        if tile == 3:
            raise LaunchRefused("tile 3 is refuted [TV301]")
        plan: Any = SimpleNamespace(code=f"code {tile}".encode(), grid=grid, tile=tile)
        return Planned(plan, Use("k", 0, (ByteAccess(0, 64, True),)), again=True)

    def provenance(self, device: int) -> Mapping[str, str]:
        return {"device": self.machine}

    def saved(self, device: int, ranges: Sequence[tuple[int, int]], stream: Any) -> Bench:
        assert ranges == ((0, 64),)
        return self

    def restore(self, stream: Any) -> None:
        self.restored.append(self.timed[-1])

    def microseconds(self, plan: Any, stream: Any) -> float:
        self.timed.append(plan.tile)
        self.drift += 0.001
        return 100 / float(plan.tile) + self.drift


def tune(bench: Bench, tiles: list[int], **options: Any) -> Any:
    space = [{"tile": tile} for tile in tiles]
    kernel = options.pop("kernel", Kernel())
    return Tuner(bench.plan, bench).tune(
        space, "stream", lambda c: (16 // max(1, c["tile"]),), kernel, lambda c: (c["tile"],), **options
    )


def test_the_fastest_of_the_proved() -> None:
    bench = Bench()
    found = tune(bench, [1, 2, 3, 4, 8])
    assert found.best == {"tile": 8}
    assert [trial.refusal for trial in found.trials] == ["", "", "tile 3 is refuted [TV301]", "", ""]
    assert 3 not in bench.timed
    assert bench.timed.count(1) == SHORT + 1
    assert bench.timed.count(8) == bench.timed.count(4) == SHORT + 1 + LONG + 1
    assert bench.timed[-4:] == [8, 4, 8, 4]
    assert bench.restored == bench.timed, "each launch begins with what the first one found"


def test_a_variant_whose_code_differs_is_left_out() -> None:
    bench = Bench()
    found = tune(bench, [4, 5])
    assert found.best == {"tile": 4}
    assert str(found.trials[1]) == "{'tile': 5}: what tileiras makes of tile 5 differs (TV503)"
    assert 5 not in bench.timed


def test_nothing_proved_is_a_refusal() -> None:
    with pytest.raises(LaunchRefused, match=r"no variant is proved; the first: tile 3 is refuted \[TV301\]"):
        tune(Bench(), [3, 3])


def test_misuse() -> None:
    with pytest.raises(UsageError, match="the search space is empty"):
        tune(Bench(), [])


def test_a_search_goes_on_where_it_was(tmp_path: Path) -> None:
    file = tmp_path / "tuning.jsonl"
    tune(Bench(), [1, 2], record=file)
    with file.open("a") as text:
        text.write('{"key": "cut o')
    bench = Bench()
    found = tune(bench, [1, 2, 4], record=file)
    assert [trial.recorded for trial in found.trials] == [True, True, False]
    assert 1 not in bench.timed
    assert found.best == {"tile": 4}
    entries = [json.loads(line) for line in file.read_text().splitlines() if line.endswith("}")]
    assert [entry["config"] for entry in entries] == ["{'tile': 1}", "{'tile': 2}", "{'tile': 4}"]
    assert {entry["device"] for entry in entries} == {"GPU 1"}


def test_another_machine_measures_anew(tmp_path: Path) -> None:
    file = tmp_path / "tuning.jsonl"
    tune(Bench(), [1, 2], record=file)
    bench = Bench(machine="GPU 2")
    found = tune(bench, [1, 2], record=file)
    assert not any(trial.recorded for trial in found.trials)


def test_hints_make_kernels_once() -> None:
    bench, kernel = Bench(), Kernel()
    tune(bench, [1, 2, 4], kernel=kernel, hints_fn=lambda c: {"occupancy": 1 if c["tile"] < 4 else 2})
    assert kernel.made == [{"occupancy": 1}, {"occupancy": 2}]
    assert [dict(each.hints) for _, each, _ in bench.planned] == [{"occupancy": 1}] * 2 + [{"occupancy": 2}]


def test_a_function_chooses_the_kernel() -> None:
    bench, small, large = Bench(), Kernel(), Kernel((("large", True),))
    tune(bench, [1, 8], kernel=lambda config: small if config["tile"] < 4 else large)
    assert [kernel for _, kernel, _ in bench.planned] == [small, large]


def test_a_record_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="cannot write the record"):
        tune(Bench(), [1], record=tmp_path / "missing" / "tuning.jsonl")


def test_arrays_live_as_long_as_they_may_be_launched_on() -> None:
    """A plan knows arrays by address alone; ``args_fn`` may make them anew for each variant."""
    living: weakref.WeakValueDictionary[int, Kernel] = weakref.WeakValueDictionary()

    class Forgetful(Bench):
        def plan(self, stream: Any, grid: Any, kernel: Any, arguments: Any) -> Planned:
            planned = super().plan(stream, grid, kernel, arguments)
            self.planned.clear()
            return planned

        def microseconds(self, plan: Any, stream: Any) -> float:
            assert plan.tile in living
            assert len(living) <= 3  # the best two, and the one that is timed
            return super().microseconds(plan, stream)

    def fresh(config: Config) -> tuple[int, Kernel]:
        made = living[config["tile"]] = Kernel()  # stands for an array
        return config["tile"], made

    bench = Forgetful()
    space = [{"tile": tile} for tile in (1, 8, 2, 4)]
    assert Tuner(bench.plan, bench).tune(space, None, lambda c: (1,), Kernel(), fresh).best == {"tile": 8}


def test_what_a_variant_moves_is_counted_when_somebody_asks() -> None:
    """Never while it is tuned, which would take time."""
    asked: list[int] = []
    amount = Amount((206, 206))

    def count(called: tuple[Any, Any, Any]) -> Any:
        tile = called[2][0]

        def counted() -> Traffic:
            asked.append(tile)
            return Traffic({}, (1, 1, 1), amount, Amount((200, 200)))

        return counted

    bench = Bench()
    tuner = Tuner(bench.plan, bench, count=count)
    found = tuner.tune([2, 3, 8], "stream", lambda c: (1,), Kernel(), lambda c: (c,))
    assert asked == []
    lines = str(found).splitlines()
    assert asked == [2, 8]
    assert lines[0].endswith(" us, moves 1.03 times the least")
    assert lines[1] == "3: tile 3 is refuted [TV301]"
    assert found.trials[1].traffic is None
