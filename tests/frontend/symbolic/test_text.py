"""``tileverify footprint`` as text."""

from __future__ import annotations

import re

import pytest

from tileverify.frontend.symbolic.execute import footprint_text

from .compiled import summary

KERNELS = ("copy", "persistent", "gathered", "left_by_break", "nested", "from_list", "work_queue")


@pytest.mark.parametrize("kernel", KERNELS)
def test_footprint(kernel: str, golden: str) -> None:
    text = re.sub(r"\S*/(?=\w+\.py:)", "", footprint_text(summary(kernel)))
    assert text == golden
