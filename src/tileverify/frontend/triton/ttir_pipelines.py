"""Loops of which Triton's compiler executes parts of several rounds at once, and in another order than the program's.

Its pipeliner loads for later rounds ahead.  With these loads goes all that decides where they go, and with that the
stores beside it: in a branch that hands such a value on, say.  It looks at no memory, so that what moves passes atomics
of any semantics, calls of functions that are not inlined, and stores.  Triton 3.9 leaves these loops as they are:

    ``while``                                                   it knows ``scf.for`` alone
    a loop that holds a barrier, in whatever branch
    a loop whose own rounds hold loops                          unless it is merged with them: ``flatten=True``
    a loop without a product                                    unless it says ``num_stages=``

``warp_specialize=True`` hands parts of the rounds to warps of their own.  `test_ordered_by_triton.py` shows each line
at what Triton makes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .ttir import TritonOp, TritonRegion

_LOOPS: Final = frozenset({"scf.for", "scf.while"})
_BARRIERS: Final = frozenset({"ttg.barrier", "gpu.barrier"})
_PRODUCTS: Final = frozenset({"tt.dot", "tt.dot_scaled"})
SPLITS_WARPS: Final = "tt.warp_specialize"


def ops_within(region: TritonRegion) -> Iterator[TritonOp]:
    """The ops of ``region``, and those of regions inside of it."""
    for block in region.blocks:
        for op in block.ops:
            yield op
            for inner in op.regions:
                yield from ops_within(inner)


def rounds_overlap(loop: TritonOp) -> bool:
    """Whether Triton may execute parts of several rounds of ``loop`` at once."""
    if loop.name != "scf.for":
        return False
    if loop.attributes.keys() & {"tt.flatten", SPLITS_WARPS}:
        return True
    (body,) = loop.regions
    inside = {op.name for op in ops_within(body)}
    if inside & _BARRIERS or any(op.name in _LOOPS for op in body.block.ops):
        return False
    return "tt.num_stages" in loop.attributes or bool(inside & _PRODUCTS)
