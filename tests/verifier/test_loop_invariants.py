"""Invariants of loop values: which of them are stated for a question."""

from __future__ import annotations

from itertools import islice

from tileverify.contract import terms as t
from tileverify.contract.terms import Function, Scope
from tileverify.frontend.symbolic.summary import LoopValue
from tileverify.verifier.obligations.loop_invariants import FARTHEST, Candidate, LoopInvariants


def test_what_rounds_hand_on_to_each_other_is_not_followed_without_end() -> None:
    """A search in each round of a loop around it that begins where the one of the round before ended."""
    around, inside = (t.var(name, Scope.ITERATION, 0) for name in ("k0", "k1"))
    found = Function("found", Scope.BLOCK, -(2**31), 2**31 - 1)
    before = t.apply(found, t.sub(around, t.ONE), t.const(8))
    value = LoopValue(found, 1, 0, (around,), inside, (), before, t.apply(found, around, inside), t.TRUE, t.TRUE)
    positive = Candidate(t.le(t.ONE, t.var("the loop value", Scope.ITERATION)))
    invariants = LoopInvariants({found: value}, {found: (positive,)})
    said = list(islice(invariants.instances([t.le(t.ONE, t.apply(found, around, inside))]), 50))
    mentioned = {part for instance in said for part in instance.free}
    assert len(said) == FARTHEST + 1
    assert before in mentioned
