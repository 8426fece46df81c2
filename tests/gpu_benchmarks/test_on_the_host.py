"""Benchmarks of the GPU that check results: their checks, with NumPy arrays in the interpreter."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import cuda.tile as ct
import numpy as np
import pytest
from benchmarks.gpu import facts, frameworks, interleavings
from benchmarks.gpu.interleavings import ARRAYS, KINDS, Run, differing, program
from benchmarks.gpu.kernels.elementwise import add

import tileverify
from tileverify.contract.launch import KernelUnit
from tileverify.frontend.bytecode import decode
from tileverify.frontend.sources.discover import discover
from tileverify.launching.reach import waits_first
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import Verdict

Array = np.ndarray[Any, np.dtype[Any]]
SIZE = 64


# ------------------------------------------------------------------------------------------------------ facts
def test_places_are_put_and_wrong_ones_refused() -> None:
    places = np.random.default_rng(1).permutation(3072).astype(np.int32)
    x, y = np.arange(3072, dtype=np.float32), np.zeros(3072, np.float32)
    launch = partial(facts.put_all, None, places, x, y)
    launch()
    assert np.array_equal(y[places], x)
    y[:] = 0
    said = list(facts.refusals(launch, places))
    assert [each.split(":")[0] for each in said] == ["refused, duplicate", "refused, outside", "refused, negative"]
    assert all("TV502" in each and "places" in each for each in said)
    assert not y.any(), "what is refused does not run"
    launch()
    assert np.array_equal(y[places], x)


def test_a_launch_that_should_have_been_refused_is_an_error() -> None:
    with pytest.raises(AssertionError, match="duplicate"):
        list(facts.refusals(lambda: None, np.arange(9)))


# ------------------------------------------------------------------------------------------------- frameworks
def with_numpy(kernel: Any, tile: int) -> None:
    x, y = frameworks.drawn()
    out = np.full_like(x, np.nan)
    frameworks.added(add_tiles, tile, None, x, y, out)
    assert np.array_equal(out, x + y)


@tileverify.kernel
def add_tiles(x, y, out):  # type: ignore[no-untyped-def]
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, (i,), (2048,)) + ct.load(y, (i,), (2048,)))


def absent(kernel: Any, tile: int) -> None:
    raise ImportError("no such framework")


def wrong(kernel: Any, tile: int) -> None:
    raise AssertionError("another sum")


def test_frameworks_that_are_here_decide(capsys: pytest.CaptureFixture[str]) -> None:
    assert frameworks.tried((with_numpy, absent), None, 2048) == 0
    assert frameworks.tried((with_numpy, wrong), None, 2048) == 1
    assert frameworks.tried((absent,), None, 2048) == 1, "nothing was tried"
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == ["with_numpy: right", "absent: not here (no such framework)"]
    assert "wrong: AssertionError: another sum" in said


# ---------------------------------------------------------------------------------------------- interleavings
class Host:
    """NumPy arrays; ``last`` of a run may be spoilt."""

    def full(self, value: float) -> Array:
        return np.full(SIZE, value, np.float32)

    def same(self, one: Array, other: Array) -> bool:
        return np.array_equal(one, other)


def expected(steps: list[interleavings.Step]) -> list[Array]:
    """The program without tileverify."""
    arrays = [Host().full(number / 8) for number in range(ARRAYS)]
    graphs: list[list[tuple[Array, Array, Array]]] = []

    def add_up(x: Array, y: Array, out: Array) -> None:
        out[:] = x + y

    for kind, _, chosen in steps:
        a, b, c = (arrays[each] for each in chosen)
        if kind == "launch":
            add_up(a, b, c)
        elif kind == "free":
            arrays[chosen[0]] = Host().full(chosen[1] / 4)
        elif kind == "capture":
            graphs = [*graphs[-2:], [(a, b, c), (b, c, a)]]
        elif kind == "replay" and graphs:
            for each in graphs[chosen[0] % len(graphs)]:
                add_up(*each)
    return arrays


def test_a_program_does_what_it_says() -> None:
    made: dict[str, int] = {}
    for seed in range(3):
        steps = program(seed)
        run = Run(Host(), [None] * 3, (1,), add, (SIZE,), made=made)
        for found, right in zip(run.result(steps), expected(steps), strict=True):
            assert np.array_equal(found, right), seed
    assert set(made) == set(KINDS), "a kind of step never came"


def test_a_difference_is_seen() -> None:
    steps = program(1)

    def run(alone: bool) -> Run:
        started = Run(Host(), [None] * 3, (1,), add, (SIZE,))
        started.arrays[0][3] += not alone
        return started

    assert differing(Host(), steps[:1], run) >= 1


# ----------------------------------------------------------------------------------------------- early starts
def test_the_kernel_that_waits_may_start_early() -> None:
    file = Path(interleavings.__file__).with_name("kernels") / "early.py"
    units = [unit for unit in discover([str(file)]) if isinstance(unit, KernelUnit)]
    assert {unit.kernel: waits_first(decode(unit.bytecode).entries[0]) for unit in units} == {
        "add_behind": True,
        "add_beside": False,
    }
    assert all(check_unit(unit).verdict is Verdict.PROVED for unit in units)
