"""A second, larger launch for the picture of a race: legal, seen by the interpreter, and beside the finding."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.written_kernel import judged

pytest.importorskip("cuda.tile", reason="kernels are compiled")

from tileverify.pipeline import CheckOptions
from tileverify.reports.details import collect as wider
from tileverify.results import KernelResult
from tileverify.results.details import Drawing

HALVE = """import cuda.tile as ct

@ct.kernel
def halve(x, out):
    i = ct.bid(0)
    ct.store(out, ({place},), ct.load(x, (i,), (128,)))
"""
COLUMN = """import cuda.tile as ct

@ct.kernel
def column(x, out):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(out, (i, 0), ct.load(x, (i, j), (16, 32)))
"""
SPEC = '[[launch]]\nkernel = "halve"\ngrid = ["{grid}"]\nargs = {{ x = "f32[{size}]", out = "f32[{size}]" }}\n'


def checked(folder: Path, source: str, spec: str = "") -> KernelResult:
    return judged(folder, source, spec, CheckOptions(details=True), name="k")


def drawings(result: KernelResult) -> tuple[list[Drawing], list[Drawing]]:
    """Those of the witnesses, and the wider ones."""
    assert result.details is not None
    found = [each for each in result.details.drawings if each.finding is not None]
    return [each for each in found if not each.wider], [each for each in found if each.wider]


def test_two_tiles_along_the_axis(tmp_path: Path) -> None:
    result = checked(tmp_path, HALVE.format(place="i // 2"))
    (first,), (second,) = drawings(result)
    assert (first.shape, first.shared) == ((1,), (((0, 1),),))
    assert (second.finding, second.array, second.shape, second.tile) == (first.finding, "out", (256,), (128,))
    assert second.shared == (((0, 128),),)
    assert "out0 = 256" in second.launch
    blocks = [track.block for track in second.sides[0].tracks]
    assert len(set(blocks)) == 2


def test_two_tiles_along_each_axis(tmp_path: Path) -> None:
    _, (second,) = drawings(checked(tmp_path, COLUMN))
    assert (second.shape, second.tile, second.grid[:2]) == ((64, 64), (16, 32), (1, 2))


def test_the_finding_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = HALVE.format(place="i // 2")
    with_second = checked(tmp_path, source)
    monkeypatch.setattr("tileverify.reports.details.collect.wider_drawings", lambda *given: iter(()))
    without = checked(tmp_path, source)
    assert with_second.findings == without.findings
    assert drawings(with_second)[1]
    assert not drawings(without)[1]


def test_what_has_two_tiles_has_no_second(tmp_path: Path) -> None:
    spec = SPEC.format(grid="4", size="512")
    (first,), second = drawings(checked(tmp_path, HALVE.format(place="i // 2"), spec))
    assert not wider.is_narrow(first)
    assert not second


def test_a_contract_without_a_larger_launch_has_no_second(tmp_path: Path) -> None:
    spec = SPEC.format(grid="2", size="256").replace('out = "f32[256]"', 'out = "f32[128]"')
    (first,), second = drawings(checked(tmp_path, HALVE.format(place="0"), spec))
    assert wider.is_narrow(first)
    assert not second


def test_what_the_interpreter_does_not_see_is_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tileverify.backend.replay.replay import Replayer
    from tileverify.results.claim import Claim, Shown

    def nothing(replayer: object, launch: object, claim: Claim) -> Shown:
        return Shown(claim, None, True)

    monkeypatch.setattr(Replayer, "anywhere", nothing)
    assert not drawings(checked(tmp_path, HALVE.format(place="i // 2")))[1]
