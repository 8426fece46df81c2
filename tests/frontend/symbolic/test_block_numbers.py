"""Which block numbers a kernel reads: all that its accesses and promises mention, and what only its values hold."""

from __future__ import annotations

from collections.abc import Iterator

from tests.corpus.compiled import corpus_kernels

from tileverify.contract.terms import Term
from tileverify.contract.variables import BID
from tileverify.frontend.bytecode import decode
from tileverify.frontend.symbolic.summary import AccessSummary, Footprint, PointerFootprint
from tileverify.pipeline.unit_summary import summary_of


def mentioned(summary: AccessSummary) -> Iterator[Term]:
    for site in summary.sites:
        yield site.guard
        yield from _places(site.footprint)
        yield from (each for each in (site.argument, site.compare, site.origin.index) if each is not None)
        yield from (loop.reached for loop in site.loops)
    for value in summary.loop_values:
        yield value.entered


def _places(footprint: Footprint) -> Iterator[Term]:
    if isinstance(footprint, PointerFootprint):
        yield footprint.offset
    else:
        yield from (footprint.base, *footprint.coordinates, *footprint.index)


def test_what_an_access_depends_on_is_read() -> None:
    """Of every kernel of the corpus.  The other way round it need not be: a stored float is no term."""
    for unit in corpus_kernels():
        summary = summary_of(decode(unit.bytecode), unit)
        free = frozenset[Term]().union(*(term.free for term in mentioned(summary)))
        found = {axis for axis, bid in enumerate(BID) if bid in free}
        assert found <= summary.read_axes, f"{unit.file}::{unit.kernel}"
