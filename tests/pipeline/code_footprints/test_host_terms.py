"""Bits of arguments, as host code joins them."""

from __future__ import annotations

import pytest

from tileverify.contract import terms as t
from tileverify.contract.terms import Scope
from tileverify.contract.terms.evaluate import evaluate
from tileverify.pipeline.code_footprints.host_terms import HostBits

VALUE = t.var("value", Scope.LAUNCH, 0, 255)


@pytest.mark.parametrize("mask", [0, 1, 0x0F, 0xF0, 0x81, 0xFF, 0x1FF])
@pytest.mark.parametrize("value", [0, 1, 0x5A, 255])
def test_bits_joined_with_a_number_are_those_of_both(mask: int, value: int) -> None:
    """Also where the number has all bits that the argument may have, so that none of its own is left."""
    found = HostBits.of(VALUE, 8) | mask
    number = found if isinstance(found, int) else evaluate(found._term(), {VALUE: value})
    assert number == value | mask
