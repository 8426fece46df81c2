"""What is known of quotients of a block's number where the launch has a grid of numbers."""

from __future__ import annotations

from tileverify.contract import terms as t
from tileverify.contract.as_terms import build_contract
from tileverify.contract.variables import BID
from tileverify.verifier.obligations.answers import Limits
from tileverify.verifier.obligations.prepare import Preparer, launch_facts
from tileverify.verifier.smt import Solver, SolverContext

from .builders import spec, summary

DIVISOR = t.var("n", t.Scope.LAUNCH, 0, 100)


def prepared(term: t.Term, blocks: int | str) -> t.Term:
    grid = (blocks,) if isinstance(blocks, int) else None
    contract = build_contract(spec({"x": (8,)}, grid))
    solver = Solver(launch_facts(contract), Limits(), None, solver_context=SolverContext(0))
    return Preparer(summary(), contract, solver).term(term)


def test_a_number_below_the_divisor_is_all_that_is_left_over() -> None:
    block, divisor = BID[0], t.const(32)
    for blocks, known in ((16, True), (32, True), (33, False), ("any", False)):
        quotient, rest = (prepared(make(block, divisor), blocks) for make in (t.floordiv, t.floormod))
        assert (quotient is t.ZERO) is known, blocks
        assert (rest is block) is known, blocks


def test_a_divisor_that_is_no_number_is_left_alone() -> None:
    quotient = t.floordiv(BID[0], DIVISOR)
    assert prepared(quotient, 16) is quotient


def test_a_sign_that_the_grid_decides() -> None:
    """C++ divides towards zero: ``block % (4 - block / 32 * 8)`` is a remainder by 4 in a grid of 16."""
    block = BID[0]
    rows = t.sub(t.const(4), t.scale(8, t.floordiv(block, t.const(32))))
    assert prepared(t.truncmod(block, rows), 16) is t.floormod(block, t.const(4))
