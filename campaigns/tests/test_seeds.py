"""No verdict on the corpus contradicts its label, whatever the solver's seed and resource limit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.corpus.compiled import corpus_kernels
from tests.corpus.kept import keep, kept

from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline.stability import OneRun, OneVerdict, Stability
from tileverify.results import Verdict

from .. import seeds
from ..sabotage import FIVE, SABOTAGES
from ..seeds import LIMITS, SEEDS, Tried, labelled_units, tried

FEW = ("racy/half_block.py", "race_free/reverse_tiles.py", "integers/truncated_size.py")


def few() -> list[KernelUnit]:
    return [unit for unit in discover([str(ROOT / name) for name in FEW]) if isinstance(unit, KernelUnit)]


def test_few_launches_under_few_seeds() -> None:
    found = [tried(each, seeds=2, limits=LIMITS) for each in labelled_units(few())]
    runs = [run for each in found for run in each.found.runs]
    assert {run.limits for run in runs} == set(LIMITS)
    assert {run.told.verdict for run in runs} >= {Verdict.PROVED, Verdict.REFUTED}
    assert not [line for each in found for line in each.told]


def test_a_verdict_against_the_label_is_told() -> None:
    (one, *_) = labelled_units(few())
    found = replace(tried(one, seeds=1, limits=(1.0,)), label=seeds._OPPOSITE[one.label])
    assert found.wrong
    assert [line for line in found.told if line.startswith("WRONG ")]
    assert any("1 runs: 1 wrong" in line for line in seeds.summary([found]))


def test_clauses_that_hang_on_the_seed_are_told_and_verdicts_fail() -> None:
    def with_seeds(*verdicts: OneVerdict) -> Tried:
        runs = tuple(OneRun(seed, 1.0, told) for seed, told in enumerate(verdicts))
        return Tried("it", Verdict.PROVED, Stability("it.py", "it", "0", runs))

    proved, claused = (OneVerdict(Verdict.PROVED, "any", clauses, ()) for clauses in ((), ("N >= 1",)))
    narrow = with_seeds(proved, claused)
    assert [line for line in narrow.told if line.startswith("changes: ")]
    assert not narrow.failed
    for other in (Verdict.UNDECIDED, Verdict.REFUTED, Verdict.ERROR):
        assert with_seeds(proved, OneVerdict(other, "", (), ())).failed
    assert with_seeds(OneVerdict(Verdict.ERROR, "", (), ())).failed
    assert replace(narrow, died=True).failed


def test_units_that_were_kept_are_those_of_this_corpus(tmp_path: Path) -> None:
    units = few()
    keep(units, tmp_path / "units")
    assert list(kept(tmp_path / "units")) == units


def test_a_run_that_was_stopped_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(few(), tmp_path / "units")
    log = tmp_path / "log"
    words = ["--units", str(tmp_path / "units"), "--json", str(log), "--seeds", "1", "--limits", "1"]
    assert seeds.main(words) == 0
    assert f"{len(few())} launches" in capsys.readouterr().out
    first, *others = log.read_text().splitlines()
    kept_as_it_stands = first.replace('"label":"refuted"', '"label":"proved"')
    assert kept_as_it_stands != first
    log.write_text(f"{kept_as_it_stands}\n")
    assert seeds.main(words) == 1
    assert "WRONG" in capsys.readouterr().out
    assert log.read_text().splitlines() == [kept_as_it_stands, *others]


@pytest.mark.slow
def test_all_launches_under_all_seeds() -> None:
    found: list[Tried] = [tried(each, seeds=SEEDS, limits=LIMITS) for each in labelled_units(corpus_kernels())]
    assert not [run for each in found for run in each.wrong]


def test_the_five_flaws_are_in_the_list() -> None:
    assert set(FIVE) <= {chosen.name for chosen in SABOTAGES}
    assert len(FIVE) == 5
