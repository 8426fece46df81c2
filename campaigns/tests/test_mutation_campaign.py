"""The mutation campaign: its judge finds out wrong verdicts of either kind, its mutants are what their names say."""

from __future__ import annotations

import collections
import importlib.util
import json
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from tests.profiles import tries
from tests.shared import gathered

from tileverify.backend.numbers.inputs import violation
from tileverify.contract.expressions import evaluate
from tileverify.contract.launch import Apply, ConcreteLaunch, KernelUnit, LaunchSpec, Name, Number
from tileverify.corpus import corpus_launches
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import KernelResult, Verdict

from ..mutants import judgement
from ..mutants.campaign import Task, main, run
from ..mutants.judgement import Judge
from ..mutants.making import mutants_of
from ..mutants.mutators import MUTATORS
from ..mutants.subjects import Subject, corpus_subjects, units
from ..mutants.summary import Line, summary
from ..mutants.truth import Truths

SEED = 1
KERNELS = (
    "order/parallel_stores.py::", "race_free/stencil.py::", "race_free/reduction_atomic.py::",
    "race_free/scatter_permutation.py::", "twins/scopes.py::total_device_and_system",
)  # fmt: skip
DIRECTED = (
    "index-swap",
    "off-by-one",
    "comparison",
    "loop-bound",
    "scope",
    "relaxed",
    "stride",
    "traversal",
    "tile-size",
)
KINDS = (*DIRECTED, "grid", "index", "no-mask", "no-token")
LATER = {KERNELS[0]: ("traversal", "tile-size"), KERNELS[3]: ("comparison", "grid")}
"""Changes that take many seconds to judge; others of their kinds are judged in any run, these with `--long`."""


@cache
def subjects() -> tuple[Subject, ...]:
    found = corpus_subjects()
    return tuple(next(each for each in found if each.name.startswith(name)) for name in KERNELS)


@cache
def lines() -> tuple[Line, ...]:
    def judged(number: int) -> tuple[Line, ...]:
        later = tries(short=1, long=0) * LATER.get(KERNELS[number], ())
        kinds = tuple(kind for kind in KINDS if kind not in later)
        return tuple(run(Task(subjects()[number], SEED, 1, kinds, None, None)))

    return gathered("changed kernels", range(len(KERNELS)), judged)


@pytest.mark.random
def test_no_broken_mutant_is_proved_and_no_harmless_one_refuted() -> None:
    assert not [(line.mutant, line.wrong) for line in lines() if line.wrong]


def test_no_kernel_shows_a_fault_itself() -> None:
    own = [line for line in lines() if not line.kind]
    assert [line.outcome for line in own] == ["proved"] * len(KERNELS)
    assert not [line.mutant for line in own if line.shows]


def test_most_broken_mutants_are_refuted() -> None:
    counted = collections.Counter(line.outcome for line in lines() if line.kind and line.truth == "broken")
    assert counted.total() >= 15
    assert counted["refuted"] >= 0.85 * (counted.total() - counted["narrowed"])


def test_the_summary_counts_every_mutant_once() -> None:
    text = summary(lines(), SEED)
    mutants = [line for line in lines() if line.kind]
    assert text.startswith(f"{len(mutants)} mutants of {len(KERNELS)} proved kernels")
    assert "broken and proved: 0" in text


@pytest.mark.parametrize("kind", DIRECTED)
def test_every_aimed_change_has_its_place_in_some_kernel(kind: str) -> None:
    assert kind in MUTATORS
    made = [mutant for subject in subjects() for mutant in mutants_of(subject, SEED, 1, [kind])]
    assert made
    assert all(mutant.change and mutant.kind == kind for mutant in made)


def test_mutants_are_the_same_every_time() -> None:
    first, again = (list(mutants_of(subjects()[0], SEED, 1)) for _ in range(2))
    assert first == again
    assert len({mutant.bytecode for mutant in first}) == len(first)


# ------------------------------------------------------------------------------------------ chosen kernels
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")
def test_kernels_of_triton_are_changed_by_their_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are no part of the corpus that is changed without the option, because they need the extra."""
    assert main(["--folder", "triton", "--drawn", "5", "--json", str(tmp_path / "lines")]) == 0
    assert capsys.readouterr().out.startswith("5 mutants of ")
    lines = [json.loads(line) for line in (tmp_path / "lines").read_text(encoding="utf-8").splitlines()]
    assert sum(bool(line["kind"]) for line in lines) == 5
    assert all(line["mutant"].rpartition(" ")[2].startswith("triton/") for line in lines)
    assert not any(subject.name.startswith("triton/") for subject in corpus_subjects())


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")
def test_a_broken_order_of_a_triton_kernel_is_refuted() -> None:
    """Beside the kernel itself stands a version with more orders; it says nothing of what was changed."""
    subject = next(each for each in corpus_subjects("triton") if "relu_in_place[any-size]" in each.name)
    assert subject.unit.most_ordered is not None
    twice = next(mutants_of(subject, SEED, 1, ["repeat"]))
    judged = Judge(subject, check_unit(subject.unit).requires).judge(twice.unit(subject.unit))
    assert (judged.truth.kind, judged.outcome) == ("broken", "refuted")
    assert "TV201" in {finding.code for finding in judged.result.findings}


@pytest.mark.parametrize("options", [["--folder", "nowhere"], ["--folder", "triton", "--recorded", "recording"]])
def test_folders_are_those_of_the_corpus_and_no_recordings(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(options)
    assert stopped.value.code == 2
    assert "--folder" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------ wrong provers
def broken_mutant() -> tuple[Subject, KernelUnit]:
    line = next(line for line in lines() if line.truth == "broken" and line.outcome == "refuted")
    subject = next(each for each in subjects() if line.mutant.startswith(f"{each.name}/"))
    mutant = next(each for each in mutants_of(subject, SEED, 1, KINDS) if each.name == line.mutant)
    return subject, mutant.unit(subject.unit)


def test_a_prover_that_believes_everything_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def believed(unit: KernelUnit, options: object) -> KernelResult:
        return replace(check_unit(unit), verdict=Verdict.PROVED, findings=(), requires=())

    subject, unit = broken_mutant()
    monkeypatch.setattr(judgement, "check_unit", believed)
    judged = Judge(subject, ()).judge(unit)
    assert (judged.wrong or "").startswith("proved")


def test_a_witness_of_another_kernel_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    subject, unit = broken_mutant()
    refuted = check_unit(unit)
    monkeypatch.setattr(judgement, "check_unit", lambda unit, options=None: refuted)
    judged = Judge(subject, ()).judge(subject.unit)
    assert (judged.wrong or "").startswith("refuted")


def test_a_witness_outside_the_contract_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    subject, unit = broken_mutant()
    refuted = check_unit(unit)
    finding = next(each for each in refuted.findings if each.witness is not None)
    assert finding.witness is not None
    assert finding.witness.launch is not None
    far = replace(finding.witness, launch={**finding.witness.launch, "grid": [77, 7, 7]})
    told = replace(refuted, findings=(replace(finding, witness=far),))
    monkeypatch.setattr(judgement, "check_unit", lambda unit, options=None: told)
    assert "outside the contract: the grid" in (Judge(subject, ()).judge(unit).wrong or "")


# -------------------------------------------------------------------------------- contents of index arrays
@cache
def steered() -> tuple[Subject, ...]:
    """The kernels that index arrays steer."""
    return tuple(subject for subject in corpus_subjects() if subject.name.startswith("data/"))


def names(spec: LaunchSpec, launch: ConcreteLaunch) -> dict[str, int]:
    """The values of names in shapes: alone, behind a factor, before a summand."""
    known = dict(launch.scalars)
    for array in spec.arrays():
        for size, number in zip(array.shape, launch.arrays[array.name].shape, strict=True):
            match size:
                case Name(name=name):
                    known[name] = number
                case Apply(op="*", args=(Number(value=factor), Name(name=name))):
                    known[name] = number // factor
                case Apply(op="+", args=(Name(name=name), Number(value=more))):
                    known[name] = number - more
    return known | {"S": known["size"]} if "size" in known else known


@pytest.mark.random
def test_launches_of_the_judge_keep_the_facts_with_different_contents() -> None:
    every = tries(short=4, long=1)
    """A usual size and a tiny one of them: each has many contents."""
    for subject in steered():
        spec, truths = subject.unit.launch, Truths(subject, ())
        further = [truths._steered.resized((), each.values) for each in truths.own[::every]]
        drawn = [*truths.own, *filter(None, further)]
        different = max(len({str(launch.arrays) for launch in each.launches}) for each in truths.own)
        assert different >= (4 if spec.data else 1), subject.name
        for launch in (launch for each in drawn for launch in each.launches):
            known = names(spec, launch)
            for fact in spec.data:
                arrays = {name: launch.arrays[name] for name in fact.arrays}
                contents = {
                    name: np.array([*array.contents.values()], np.int64).reshape(array.shape)
                    for name, array in arrays.items()
                }
                problem = violation(fact, contents, partial(evaluate, environment=known))
                assert problem is None, f"{subject.name} {fact.text}: {problem}"


def test_values_without_room_are_crammed() -> None:
    subject = next(each for each in steered() if "write_groups[injective-and-range]" in each.name)
    truths = Truths(subject, ())
    spans = {}
    for drawn in truths.own:
        launch = drawn.launches[0]
        count, room = launch.arrays["numbers"].shape[0], launch.arrays["out"].shape[0] // 4
        spans[count, room] = truths.crammed(drawn)
    assert all(crammed == (room < 2 * count) for (count, room), crammed in spans.items() if count), spans
    assert set(spans.values()) == {True, False}


# --------------------------------------------------------------------------- broken, or a matter of contents
LABELLED = (
    "data/halved_tokens.py::write_at_half[permutation]", "data/halved_tokens.py::halve_then_write[permutation]",
    "data/float_places.py::move_pairs_by_float[any-scale]", "data/expert_shares.py::fill_shares[range]",
    "data/groups.py::write_groups[range]", "data/padded_tokens.py::write_named_tokens[injective-but-for-two-numbers]",
    "data/pages.py::append_to_page[range]", "data/segments.py::fill_row_segments[range]",
    "data/segments.py::fill_segments_by_whole_tiles[half-tiles]", "data/sorted_tokens.py::scale_by_expert[injective]",
    "data/unchecked_places.py::gather_unchecked[no-fact]", "data/own_parts.py::scatter_in_parts[range]",
)  # fmt: skip
"""Labelled `refuted`: broken whatever arrays hold, unless some launches are right; `undecided`: a fact is missing."""


@pytest.mark.parametrize("name", LABELLED)
def test_the_judge_agrees_with_labels(name: str) -> None:
    label = next(one for one in corpus_launches() if one.id == name)
    files = units([str(label.file)])
    unit = next(unit for unit in files if (unit.kernel, unit.launch.name) == (label.kernel, label.launch))
    truth = Truths(Subject(name, unit, recorded=False), ()).of(unit)
    broken = label.verdict is Verdict.REFUTED and not label.some
    assert truth.kind == ("broken" if broken else "data")


def mutant(name: str, change: str) -> tuple[Subject, KernelUnit]:
    subject = next(each for each in corpus_subjects() if each.name == name)
    made = next(each for each in mutants_of(subject, SEED, 1) if each.change == change)
    return subject, made.unit(subject.unit)


FORCED = (
    # More tokens than rows leave the rows in some lane; where there are more rows, a range would keep them inside.
    ("data/padded_tokens.py::write_tokens[injective-below-rows]", "store_ptr_tko: mask dropped", "data"),
    # A length that is not 0 makes a step; all of them are 0 only where there is no row.
    ("data/segments.py::fill_row_segments[nondecreasing-and-range]",
     "for: ('upper', None) and ('step', None) swapped", "data"),
    # Lanes behind the last number take no place from data: they are -1, whatever the data are.
    ("data/two_levels.py::scatter_through_two[both-injective]", "store_ptr_tko: mask dropped", "broken"),
    # Two stores to one place in no order, whichever place that is.
    ("data/float_places.py::mark_own_clamped[any-values]", "store_ptr_tko twice, in no order", "broken"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "change", "kind"), FORCED)
def test_launches_without_room_do_not_decide(name: str, change: str, kind: str) -> None:
    subject, unit = mutant(name, change)
    assert Truths(subject, check_unit(subject.unit).requires).of(unit).kind == kind


def test_an_undecided_rest_is_judged_under_the_clauses() -> None:
    """Of a contract that nobody wrote: one that somebody did gets no clauses, and is refuted."""
    subject, unit = mutant("data/packed_sequences.py::fill_sequences[segments]", "tiles of (1,) every (2,)")
    assert check_unit(unit).verdict is Verdict.REFUTED
    unit = replace(unit, launch=replace(unit.launch, origin="inferred"))
    judged = Judge(subject, check_unit(subject.unit).requires).judge(unit)
    assert judged.result.verdict is Verdict.UNDECIDED
    assert judged.result.requires
    assert (judged.truth.kind, judged.outcome) == ("broken", "narrowed-data")


WAITING = (
    ("protocols/turns.py::add_in_turn[up-to-8-blocks]", "if: branches swapped"),
    pytest.param(
        "protocols/hand_over.py::hand_over_across_system[one-consumer-or-more]",
        "subi becomes addi",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "protocols/atomic_waits.py::add_served[two-to-eight-blocks]", "if: branches swapped", marks=pytest.mark.slow
    ),
)
"""Faults behind a loop that waits for another block: alone, no block gets there."""


@pytest.mark.parametrize(("name", "change"), WAITING)
def test_faults_behind_a_wait_are_refuted(name: str, change: str) -> None:
    subject, unit = mutant(name, change)
    judged = Judge(subject, check_unit(subject.unit).requires).judge(unit)
    assert judged.truth.kind == "broken"
    assert judged.result.verdict is Verdict.REFUTED
    assert judged.wrong is None


KEPT_FROM_COUNTING = (
    ("data/segments.py::fill_segments_by_whole_tiles[whole-tiles]", "store_ptr_tko twice, in no order", "TV201"),
    ("data/expert_shares.py::fill_shares[shares]", "get_tile_block_id gives %16, %15, %17", "TV101"),
)
"""Faults of index arrays that cannot count up, or that get the kernel nowhere if they do."""


@pytest.mark.parametrize(("name", "change", "code"), KEPT_FROM_COUNTING)
def test_faults_where_no_array_counts_up_are_refuted(name: str, change: str, code: str) -> None:
    subject, unit = mutant(name, change)
    judged = Judge(subject, check_unit(subject.unit).requires).judge(unit)
    assert judged.truth.kind == "broken"
    assert [finding.code for finding in judged.result.findings] == [code]
    assert judged.result.verdict is Verdict.REFUTED
    assert judged.wrong is None


def test_rows_that_only_some_contents_make_meet_are_not_refuted() -> None:
    """Offsets that count up from 1 leave every segment its own row."""
    subject, unit = mutant("data/segments.py::fill_row_segments[nondecreasing-and-range]", ROWS_FROM_THE_NUMBER)
    judged = Judge(subject, check_unit(subject.unit).requires).judge(unit)
    assert judged.truth.kind == "data"
    assert judged.result.verdict is Verdict.UNDECIDED


ROWS_FROM_THE_NUMBER = "for: ('lower', None) rewired from %27 to %29"
