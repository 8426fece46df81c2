"""Second readings: what is proved agrees with runs, and what the symbolic executor misreads shows in them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from tileverify.backend.audit.legal_launches import drawn
from tileverify.backend.audit.reading import second_reading
from tileverify.backend.numbers.choose import ContractInNumbers
from tileverify.contract.launch import KernelUnit
from tileverify.contract.terms import ONE, TRUE, Term, add, sub
from tileverify.corpus import ROOT
from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.model import Op, Value
from tileverify.frontend.sources.discover import discover
from tileverify.frontend.symbolic import execute, integers, loops, memory, pointers
from tileverify.frontend.symbolic.machine import SymbolicExecutor
from tileverify.frontend.symbolic.summary import ViewFootprint
from tileverify.frontend.symbolic.tokens import EMPTY, Token
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.pipeline.unit_summary import entry_of, summary_of
from tileverify.results import KernelResult, SecondReading, Verdict, reading_lines

from ...profiles import tries

LAUNCHES = 12
SAMPLE = tries(short=10, long=400)
WITHOUT_ACCESSES = {"twins/subrange.py"}
"""In launches as small as those that are drawn, no block of these comes to an access."""
SOURCES = sorted(ROOT.glob("*/*.py"))
FILES = [str(path.relative_to(ROOT)) for path in SOURCES if path.with_suffix(".tileverify.toml").exists()]


@cache
def proofs(file: str) -> tuple[tuple[KernelUnit, KernelResult], ...]:
    """What is proved of a file of the corpus."""
    units = [unit for unit in discover([str(ROOT / file)]) if isinstance(unit, KernelUnit)]
    checked = [(unit, check_unit(unit, CheckOptions())) for unit in units]
    return tuple(pair for pair in checked if pair[1].verdict is Verdict.PROVED)


def proof(file: str, kernel: str) -> tuple[KernelUnit, KernelResult]:
    return next(pair for pair in proofs(file) if pair[0].kernel == kernel)


def reading(unit: KernelUnit, result: KernelResult, count: int = LAUNCHES) -> SecondReading:
    """The executor runs anew, so that what it misreads now is read."""
    module = decode(unit.bytecode)
    summary = summary_of(module, unit)
    assert result.proved_launch is not None
    return second_reading(
        module, entry_of(module, unit), unit.parameters, summary, result.proved_launch, result.requires, count
    )


@pytest.mark.parametrize("file", random.Random(23).sample(FILES, min(SAMPLE, len(FILES))))
def test_proofs_of_the_corpus_agree_with_runs(file: str) -> None:
    for unit, result in proofs(file):
        found = reading(unit, result)
        assert found.agrees, found.disagreement
        assert found.accesses or file in WITHOUT_ACCESSES, found.not_compared


def test_launches_begin_at_the_borders_and_keep_the_contract() -> None:
    unit, result = proof("race_free/reverse_tiles.py", "reverse_tiles")
    assert result.proved_launch is not None
    contract = ContractInNumbers(result.proved_launch, result.requires)
    not_made = Counter[str]()
    made = list(drawn(contract, entry_of(decode(unit.bytecode), unit), 30, not_made))
    assert len(made) == 30
    assert not not_made
    lengths = [inputs.launch.arrays["x"].shape[0] for inputs in made]
    assert {1, 255, 256, 257, 513} <= set(lengths[:8])
    assert max(lengths[:8]) >= 4096
    assert len(set(lengths)) == len(lengths)
    for inputs in made:
        assert not [condition.text for condition in contract.conditions if condition.broken_by(inputs.values)]


# ------------------------------------------------------------------------------------- planted misreadings
def _dropped_guard(patch: pytest.MonkeyPatch) -> None:
    """Masks of loads and stores are not looked at."""

    def everything(m: SymbolicExecutor, op: Op) -> Term:
        return TRUE

    patch.setattr(memory, "_mask", everything)


def _wrong_stride(patch: pytest.MonkeyPatch) -> None:
    """Rows of a view lie one element further apart."""
    plain = pointers.footprint

    def wider(*args: Any) -> ViewFootprint:
        place = plain(*args)
        return replace(place, strides=(*(add(stride, ONE) for stride in place.strides[:-1]), place.strides[-1]))

    patch.setattr(pointers, "footprint", wider)


def _lost_token(patch: pytest.MonkeyPatch) -> None:
    """Accesses wait for nothing."""

    def nothing(m: SymbolicExecutor, value: Value | None) -> Token:
        return EMPTY

    patch.setattr(SymbolicExecutor, "token", nothing)


def _loop_one_short(patch: pytest.MonkeyPatch) -> None:
    """The last iteration of a `for` does not happen."""
    plain = loops._bound

    def short(m: SymbolicExecutor, op: Op, name: str) -> Term:
        bound = plain(m, op, name)
        return sub(bound, ONE) if name == "upper" else bound

    patch.setattr(loops, "_bound", short)


def _sign(patch: pytest.MonkeyPatch) -> None:
    """Differences are read as sums."""
    patch.setitem(execute.RULES, "subi", integers.RULES["addi"])


PLANTED: dict[Callable[[pytest.MonkeyPatch], None], tuple[str, str, str]] = {
    _dropped_guard: ("explained/tv302.py", "copy_lanes_inside", "touched only in the proof"),
    _wrong_stride: ("race_free/elementwise_2d.py", "scale_columns", "is touched only in the"),
    _lost_token: ("race_free/relu_inplace.py", "relu", "in the proof it does not"),
    _loop_one_short: ("data/row_lengths.py", "sum_prefixes", "the proof has nothing, the run touches"),
    _sign: ("race_free/reverse_tiles.py", "reverse_tiles", "the run touches 64 elements"),
}
"""Each with a kernel, and what is said of it."""


@pytest.mark.parametrize("plant", PLANTED)
def test_planted_misreadings_are_caught(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, kernel, sentence = PLANTED[plant]
    unit, result = proof(file, kernel)
    assert reading(unit, result).agrees
    plant(monkeypatch)
    found = reading(unit, result)
    assert found.disagreement is not None
    assert not found.agrees
    assert sentence in found.disagreement
    assert f"{file}:" in found.disagreement
    assert "block (" in found.disagreement
    assert "launch with grid (" in found.disagreement


# -------------------------------------------------------------------------------------- what is not compared
def test_launches_too_large_to_run_are_said_to_be_not_compared() -> None:
    (unit, result), *_ = (pair for pair in proofs("integers/list_sizes.py") if pair[0].launch.name == "beyond-31-bits")
    found = reading(unit, result)
    assert found.agrees
    assert (found.launches, found.blocks, found.accesses) == (0, 0, 0)
    assert any("more than" in reason for reason in found.not_compared)
    first, *more = reading_lines(found)
    assert "nothing could be compared" in first
    assert "as the proof says" not in first
    assert any(line.startswith("not compared") for line in more)


def test_a_block_that_runs_out_of_steps_is_compared_as_far_as_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    unit, result = proof("data/row_lengths.py", "sum_prefixes")
    monkeypatch.setattr("tileverify.backend.audit.reading.STEPS", 1 << 15)
    found = reading(unit, result)
    assert found.agrees
    assert found.not_compared["the rest of a block: the run needs more steps than its budget"]


def test_a_clause_that_cannot_be_evaluated_is_said() -> None:
    (unit, result), *_ = proofs("race_free/relu_inplace.py")
    found = reading(unit, replace(result, requires=("nowhere < 1",)))
    assert found.launches == 0
    assert any("nothing gives nowhere a value" in reason for reason in found.not_compared)
