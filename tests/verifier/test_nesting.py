"""Named strides keep elements apart: races are shown in layouts that do, and those formulas are what counting says."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from tileverify.contract import terms as t
from tileverify.pipeline import check_paths
from tileverify.results import Verdict
from tileverify.results.claim import claim_from_json
from tileverify.verifier.refute.witness import nested

KERNEL = """
import cuda.tile as ct

@ct.kernel
def k(x, out, TILE: ct.Constant[int]):
    b, m = ct.bid(0), ct.bid(1)
    ct.store(out, index=({index}), tile=ct.load(x, index=({index}), shape=({tile})) + b)
"""


def places(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    return [sum(i * s for i, s in zip(index, strides, strict=True)) for index in product(*map(range, shape))]


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_elements_of_nested_layouts_are_apart(rank: int) -> None:
    names = [t.var(f"s{d}", t.Scope.LAUNCH, 0, 64) for d in range(rank)]
    held = 0
    for shape in product((1, 2, 3), repeat=rank):
        condition = nested([t.const(size) for size in shape], names)
        for strides in product((1, 2, 3, 6, 12), repeat=rank):
            numbers = {name: t.const(stride) for name, stride in zip(names, strides, strict=True)}
            if t.substitute(condition, numbers) is t.TRUE:
                held += 1
                found = places(shape, strides)
                assert len(set(found)) == len(found)
    assert held > 100


@pytest.mark.parametrize("sizes", ["B, M, 64", "4, 8, 64", "4, M, 64", "3, 2, 1, 64"])
@pytest.mark.parametrize("last", ["1", "n"])
def test_a_race_shows_whatever_the_named_strides_are(tmp_path: Path, sizes: str, last: str) -> None:
    """The batch is missing from the index; the witness has a layout in which elements are apart."""
    rank = sizes.count(",") + 1
    strides = ", ".join([*(f"s{d}" for d in range(rank - 1)), last])
    index = ", ".join(["0", "m", *["0"] * (rank - 2)])
    tile = ", ".join([*["1"] * (rank - 1), "TILE"])
    (tmp_path / "k.py").write_text(KERNEL.format(index=index, tile=tile))
    names = [name for name in ("B", "M") if name in sizes]
    requires = ", ".join(f'"{name} >= 2"' for name in names)
    batch, rows = sizes.split(", ")[:2]
    (tmp_path / "k.tileverify.toml").write_text(
        f'[[launch]]\nkernel = "k"\ngrid = ["{batch}", "{rows}"]\nrequires = [{requires}]\n'
        f'args = {{ x = "f32[{sizes}; strides=({strides})]", out = "f32[{sizes}; strides=({strides})]", TILE = 64 }}\n'
    )
    (result,) = check_paths([str(tmp_path / "k.py")]).results
    assert result.verdict is Verdict.REFUTED, result.findings
    (finding,) = result.findings
    assert finding.code == "TV101"
    assert finding.witness is not None
    assert finding.witness.launch is not None
    launch, _ = claim_from_json(finding.witness.launch)
    for array in launch.arrays.values():
        found = places(array.shape, array.strides)
        assert len(set(found)) == len(found)
