"""What is collected of a kernel for pages: Tile IR, obligations, drawings; against results and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tileverify.backend.interpreter.memory import Provenance
from tileverify.corpus import ROOT
from tileverify.pipeline import CheckOptions, check_paths
from tileverify.reports.details.drawings import MOST_BOXES, boxes_of
from tileverify.results import KernelResult, Verdict
from tileverify.results.details import Drawing, KernelDetails, State


def checked(target: str) -> tuple[KernelResult, KernelDetails]:
    (result,) = check_paths([str(ROOT / target)], options=CheckOptions(details=True)).results
    assert result.details is not None
    return result, result.details


def drawing(target: str) -> Drawing:
    (found,) = (each for each in checked(target)[1].drawings if not each.wider)
    return found


# ------------------------------------------------------------------------------------------------ boxes
def origin(*shape: int) -> Provenance:
    strides = tuple(int(np.prod(shape[k + 1 :])) for k in range(len(shape)))
    return Provenance("x", 0, 4096, int(np.prod(shape)) * 4, 4, shape, strides)


@pytest.mark.parametrize(
    ("shape", "elements", "boxes"),
    [
        ((8,), [2, 3, 4], (((2, 5),),)),
        ((8,), [0, 2, 3], (((0, 1),), ((2, 4),))),
        ((4, 4), [0, 1, 4, 5], (((0, 2), (0, 2)),)),
        ((4, 4), [0, 1, 5], (((0, 1), (0, 2)), ((1, 2), (1, 2)))),
        ((4, 4), [3, 4], (((0, 1), (3, 4)), ((1, 2), (0, 1)))),
        ((2, 2, 4), [0, 1, 4, 5, 8, 9, 12, 13], (((0, 2), (0, 2), (0, 2)),)),
        ((4, 4), [0, 4, 12], (((0, 2), (0, 1)), ((3, 4), (0, 1)))),
        ((4,), [], ()),
    ],
)
def test_boxes(shape: tuple[int, ...], elements: list[int], boxes: object) -> None:
    assert boxes_of(origin(*shape), np.array(elements, np.int64)) == (boxes, False)


def test_boxes_cover_exactly_the_elements() -> None:
    source = np.random.default_rng(1)
    for _ in range(200):
        chosen = np.flatnonzero(source.random(60) < source.random())
        boxes, cut = boxes_of(origin(3, 4, 5), chosen)
        marks = np.zeros((3, 4, 5), np.int64)
        for box in boxes:
            marks[tuple(slice(*axis) for axis in box)] += 1
        assert not cut
        assert marks.max(initial=0) <= 1
        assert np.flatnonzero(marks).tolist() == chosen.tolist()


def test_too_many_boxes_are_cut() -> None:
    boxes, cut = boxes_of(origin(2048), np.arange(0, 2048, 2))
    assert (len(boxes), cut) == (MOST_BOXES, True)


# --------------------------------------------------------------------------------------------- drawings
def test_a_race_between_two_blocks() -> None:
    found = drawing("racy/overlapping_store.py")
    assert (found.finding, found.array, found.shape, found.grid) == (0, "out", (65,), (2, 1, 1))
    assert found.shared == (((64, 65),),)
    first, second = found.sides
    assert [track.steps[0].boxes for track in first.tracks] == [(((0, 65),),), (((64, 65),),)]
    assert (first.start, second.start) == ((0, 0), (1, 0))


def test_a_load_and_a_store_of_another_block() -> None:
    found = drawing("racy/stencil_inplace.py::smooth_inplace")
    load, store = found.sides
    assert (load.access, store.access) == ("load", "store")
    assert load.tracks[0].steps[0].boxes == (((1, 129),),)
    assert load.tracks[1].steps == ()
    assert store.tracks[1].steps[0].boxes == (((128, 129),),)


def test_iterations_of_a_loop_and_what_lies_outside() -> None:
    found = drawing("out_of_bounds/loop_too_far.py")
    (side,) = found.sides
    assert side.loops == ("loop at line 12",)
    assert [(step.boxes, step.iterations) for step in side.tracks[0].steps] == [
        ((((0, 1), (0, 1)),), (0,)),
        ((((0, 1), (128, 256)),), (1,)),
    ]
    assert side.start == (0, 1)


def test_a_tile_that_is_partly_outside_is_one_step() -> None:
    load, _ = checked("out_of_bounds/unchecked_tail.py")[1].drawings
    (step,) = load.sides[0].tracks[0].steps
    assert step.boxes == (((0, 1),), ((1, 256),))


def test_an_example_of_a_proof_covers_the_output_once() -> None:
    result, details = checked("showcase/matmul_swizzled.py")
    assert result.verdict is Verdict.PROVED
    (found,) = details.drawings
    assert (found.finding, found.array) == (None, "C")
    written = np.zeros(found.shape, np.int64)
    for track in found.sides[0].tracks:
        for step in track.steps:
            for box in step.boxes:
                written[tuple(slice(*axis) for axis in box)] += 1
    assert (written == 1).all()
    assert len(found.sides[0].tracks) == 16


# ------------------------------------------------------------------------------------------- obligations
@pytest.mark.parametrize("target", ["showcase/matmul_swizzled.py", "showcase/rope.py", "protocols/tickets.py"])
def test_every_obligation_of_a_proof_is_listed_once(target: str) -> None:
    for result in check_paths([str(ROOT / target)], options=CheckOptions(details=True)).results:
        assert result.details is not None
        if result.verdict is not Verdict.PROVED:
            continue
        listed = result.details.obligations
        assert len(listed) == result.obligations.total
        assert {each.code for each in listed} == set(result.proved_codes)
        assert all(each.state is State.PROVED and each.tier for each in listed)
        assert sum(each.tier == "structural" for each in listed) == result.obligations.structural


def test_what_is_broken_is_listed_beside_what_holds() -> None:
    _, details = checked("racy/overlapping_store.py")
    assert [(each.code, each.state) for each in details.obligations] == [
        ("TV101", State.REFUTED),
        ("TV301", State.PROVED),
        ("TV202", State.PROVED),
    ]


# --------------------------------------------------------------------------------------------- Tile IR
def test_tile_ir_knows_its_source_lines() -> None:
    result, details = checked("racy/overlapping_store.py")
    (store,) = [line for line in details.ir if "store_view_tko" in line.text]
    assert (store.file, store.line) == (result.file, 11)
    assert details.ir[0].text.startswith("entry @fill_windows(")
    assert details.ir[-1].text == "}"


def test_no_example_is_made_of_launches_that_are_too_large() -> None:
    for result in check_paths([str(ROOT / "integers" / "list_sizes.py")], options=CheckOptions(details=True)).results:
        assert result.details is not None
        assert result.verdict is not Verdict.ERROR
        assert not any(each.finding is None for each in result.details.drawings)


def test_a_failure_of_details_leaves_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: object) -> None:
        raise MemoryError("too much")

    monkeypatch.setattr("tileverify.reports.details.collect.fault_drawings", fails)
    (result,) = check_paths([str(ROOT / "racy" / "overlapping_store.py")], options=CheckOptions(details=True)).results
    assert (result.verdict, result.details) == (Verdict.REFUTED, None)
    assert "no details: tileverify failed (MemoryError: too much)" in result.notes[-1]


def test_details_cost_nothing_where_nobody_asks() -> None:
    (result,) = check_paths([str(ROOT / "racy" / "overlapping_store.py")]).results
    assert result.details is None
