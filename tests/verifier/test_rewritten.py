"""Where addresses come from that pass through memory which the kernel writes."""

from __future__ import annotations

from dataclasses import replace

from tileverify.contract import terms as t
from tileverify.contract.terms import Function, Scope, Term
from tileverify.contract.variables import BID
from tileverify.frontend.bytecode.enums import MemoryScope
from tileverify.frontend.symbolic.summary import Access, Site
from tileverify.verifier.refute.witness_search import rewritten_arrays

from .builders import lanes, origin, tile_site

BLOCK = BID[0]
PLACES, OUT = origin("places", 1), origin("out", 1)
READ_BACK = t.apply(Function("load", Scope.BLOCK), BLOCK)
GIVEN = t.apply(Function("index", Scope.LAUNCH, array="index"), BLOCK)
COMPUTED = t.apply(Function("reduce", Scope.BLOCK), BLOCK)


def load(value: Term = READ_BACK, guard: Term = t.TRUE) -> Site:
    site = tile_site(1, Access.READ, PLACES, (BLOCK,), (1,), guard=guard)
    return replace(site, value=value)


def store(argument: Term | None, **more: object) -> Site:
    site = tile_site(2, Access.WRITE, PLACES, (BLOCK,), (1,))
    return replace(site, argument=argument, **more)  # type: ignore[arg-type]


def test_what_was_stored_counts_as_where_it_comes_from() -> None:
    found = rewritten_arrays([t.scale(4, READ_BACK)], [load(), store(t.floordiv(GIVEN, t.const(2)))])
    assert found == frozenset({"places", "index"})
    assert rewritten_arrays([READ_BACK], [load(), store(BLOCK)]) == frozenset({"places"})
    assert rewritten_arrays([READ_BACK], [load(), store(t.add(READ_BACK, t.ONE))]) == frozenset({"places"})


def test_what_the_kernel_computes_over_tiles_or_from_floats_is_not_followed() -> None:
    assert rewritten_arrays([COMPUTED], [load(), store(BLOCK)]) is None
    assert rewritten_arrays([READ_BACK], [load(), store(COMPUTED)]) is None
    assert rewritten_arrays([READ_BACK], [load(), store(None)]) is None


def test_atomics_are_not_followed() -> None:
    assert rewritten_arrays([READ_BACK], [load(), store(BLOCK, access=Access.ATOMIC, scope=MemoryScope.DEVICE)]) is None
    assert rewritten_arrays([READ_BACK], [replace(load(), scope=MemoryScope.DEVICE), store(BLOCK)]) is None


def test_other_arrays_may_be_written_as_they_like() -> None:
    other = replace(tile_site(3, Access.WRITE, OUT, (BLOCK,), (4,)), argument=None, lanes=lanes(4))
    assert rewritten_arrays([READ_BACK], [load(), other]) == frozenset({"places"})


def test_what_a_mask_depends_on_is_not_what_the_load_gave() -> None:
    masked = load(t.ite(t.lt(COMPUTED, t.ONE), READ_BACK, t.ZERO), guard=t.lt(COMPUTED, t.ONE))
    assert rewritten_arrays([READ_BACK], [masked, store(BLOCK)]) == frozenset({"places"})
    assert rewritten_arrays([COMPUTED], [masked, store(BLOCK)]) is None
