"""Changed kernels beside their references: what was changed is seen, what was rewritten is not."""

from __future__ import annotations

import random

import pytest
from tests.equality.corpus import decided

from tileverify.equality.deciding import Decision

from ..equality import campaign


@pytest.mark.slow
def test_every_kernel_of_the_corpus_is_its_reference_or_not_decided() -> None:
    answers = [decided(label).answer for label in campaign.with_numbers()]
    assert Decision.DIFFERENT not in answers
    assert answers.count(Decision.EQUAL) >= 0.9 * len(answers)


@pytest.mark.parametrize(("table", "expected"), [("mutants", Decision.DIFFERENT), ("rewrites", Decision.EQUAL)])
def test_changed_kernels(table: str, expected: Decision) -> None:
    """A few; thousands by ``python -m campaigns.equality.campaign``."""
    cases = campaign.cases(table, ("showcase/rope.py", "product_tail.py::product_padded[", "norm_backward[separate]"))
    cases = [case for case in cases if case[1].op.name != "constant"]  # what fills masked lanes changes nothing
    random.Random(4).shuffle(cases)
    found = [campaign.judged(name, one, mutant=table == "mutants") for name, one in cases[:14]]
    answers = [each.answer for each in found if each is not None]
    assert len(answers) >= 8
    assert set(answers) == {expected}


def test_rounds_that_are_left_out_and_other_axes_are_seen() -> None:
    kinds = {"one round short", "one round late", "right factor transposed", "along another axis"}
    places = "product_tail.py::product_padded[", "matmul[transposed-weights]", "sum_rows_by_wrong_axis[square]"
    seen = [
        (one.name, found.answer)
        for name, one in campaign.cases("mutants", places)
        if one.name in kinds and (found := campaign.judged(name, one, mutant=True)) is not None
    ]
    assert set(seen) == {(kind, Decision.DIFFERENT) for kind in kinds}
