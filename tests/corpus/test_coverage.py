"""What the prover calls written whole, the reference interpreter sees written whole, in launches of the contract."""

from __future__ import annotations

import pytest

from tileverify.corpus import Labelled, corpus_launches
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import Verdict

from .compiled import units
from .launches import drawn_launches
from .written import written_elements

LAUNCHES_EACH = 4
MOST_BLOCKS = 300
"""A launch with more is left to others of its contract; kernels that always have more are too slow to run here."""

FEW = (
    "showcase/rope.py::rope[heads-up-to-32]",
    "showcase/permute.py::permute_heads[any-size]",
    "showcase/transpose.py::transpose[any-size]",
    "race_free/persistent_matmul.py::persistent_matmul[any-size-132-blocks]",
    "race_free/scatter_affine.py::reverse_rows[any-size]",
    "race_free/split_k_atomic.py::split_k[four-parts]",
)
NOT_WHOLE = (
    "race_free/strided_store.py::clear_even_halves[any-size]",
    "race_free/persistent_softmax.py::persistent_softmax[528-blocks]",
    "contract/fewer_blocks_than_tiles.py::negate_first_tiles[prefix]",
    "contract/any_grid.py::add_one[any-grid]",
)
PROVED = {label.id: label for label in corpus_launches() if label.verdict is Verdict.PROVED}


def claimed(label: Labelled) -> tuple[str, ...]:
    """The arrays that are called whole; each is looked at in some launches first."""
    unit = units()[str(label.file), label.kernel, label.launch]
    result = check_unit(unit, CheckOptions(complete=True))
    if result.verdict is not Verdict.PROVED:
        return ()
    assert result.written is not None, result.notes
    if result.written.whole and not result.requires:
        for launch in drawn_launches(unit.launch, LAUNCHES_EACH, seed=5, most_blocks=32):
            if launch.grid[0] * launch.grid[1] * launch.grid[2] <= MOST_BLOCKS:
                masks = written_elements(unit, launch)
                for name in result.written.whole:
                    assert masks[name].all(), f"{name} is not written whole in {launch}"
    return result.written.whole


@pytest.mark.parametrize("name", FEW)
def test_arrays_written_whole_are_seen_whole(name: str) -> None:
    assert claimed(PROVED[name])


@pytest.mark.parametrize("name", NOT_WHOLE)
def test_nothing_is_claimed_of_arrays_that_stay_unwritten_in_part(name: str) -> None:
    assert not claimed(PROVED[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", PROVED)
def test_what_is_claimed_is_seen_in_the_whole_corpus(name: str) -> None:
    claimed(PROVED[name])
