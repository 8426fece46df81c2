"""A submission with a launch of its own: what is wrong with it is told, and no file is opened for that."""

from __future__ import annotations

import pytest

pytest.importorskip("cuda.tile", reason="kernels are compiled")

import tileverify

SOURCE = """
import cuda.tile as ct
import tileverify
@tileverify.launch(args={{"x": "f32[N]", "out": "f32[N]"}}, grid=["cdiv({size}, 128)"])
@ct.kernel
def negate(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), -ct.load(x, (i,), (128,)))
"""


def test_a_decorated_launch_is_taken() -> None:
    (kernel,) = tileverify.gate(SOURCE.format(size="N")).kernels
    assert (kernel.accepted, kernel.reasons) == (True, ())


def test_a_wrong_one_is_told() -> None:
    result = tileverify.gate(SOURCE.format(size="M"))
    (reason,) = result.kernels[0].reasons
    assert not result.accepted
    assert (reason.id, reason.line) == ("TV002", 4)
    assert "unknown name 'M'" in reason.message
