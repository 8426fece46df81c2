"""How large an array must be for what the blocks of a kernel touch: candidates, as an engineer would write them."""

from __future__ import annotations

import pytest

from tileverify.contract import terms as t
from tileverify.contract.terms import Function, Scope, Term
from tileverify.contract.variables import BID
from tileverify.verifier.abduction.clause_candidates import needed_sizes
from tileverify.verifier.abduction.clauses import clause_text

N, SIZE, STRIDE = (t.var(name, Scope.LAUNCH, 0, 2**31 - 1) for name in ("n", "x_size", "stride"))
LANE = t.var("l0", Scope.LANE, 0, 127)
STEP = t.var("k0", Scope.ITERATION, 0, 2**31)
BLOCK = BID[0]
IDS = t.apply(Function("ids", Scope.LAUNCH, -(2**31), 2**31 - 1, array="ids"), BLOCK)
PLACE = t.add(t.scale(128, BLOCK), LANE)
ROW = t.wrap(32, t.mul(BLOCK, STRIDE))
COLUMN = t.add(t.scale(128, STEP), LANE)


def behind(offset: Term) -> Term:
    """Elements of four bytes: it is asked whether this one lies behind the end."""
    extent = t.ite(t.eq(SIZE, t.ZERO), t.ZERO, t.scale(4, SIZE))
    return t.or_(t.lt(extent, t.add(t.scale(4, offset), t.const(4))), t.lt(t.scale(4, offset), t.ZERO))


@pytest.mark.parametrize(
    ("conditions", "wanted"),
    [
        ([behind(PLACE), t.lt(PLACE, N)], ["n <= x_size", "128 * grid.x <= x_size"]),
        ([behind(PLACE)], ["128 * grid.x <= x_size", "128 * grid.x <= x_size"]),
        ([behind(t.sub(PLACE, t.ONE)), t.not_(t.or_(t.le(N, PLACE), t.le(PLACE, t.ZERO)))], ["n <= x_size + 1"]),
        ([behind(t.add(ROW, LANE)), t.lt(LANE, N)], ["(grid.x - 1) * stride + n <= x_size"]),
        # rows without gaps, in tiles of which a loop has any number; the mask of the loop alone says less
        (
            [behind(t.add(t.mul(BLOCK, N), COLUMN)), t.lt(t.scale(128, STEP), N), t.lt(COLUMN, N)],
            ["grid.x * n <= x_size"],
        ),
        # rows that a list numbers
        ([behind(t.add(t.mul(IDS, STRIDE), LANE)), t.lt(IDS, N)], ["(n - 1) * stride + 128 <= x_size"]),
        # remainders of a block's number are at their largest
        ([behind(t.floormod(BLOCK, N))], ["n <= x_size"]),
    ],
)  # fmt: skip
def test_offers(conditions: list[Term], wanted: list[str]) -> None:
    found = [clause_text(each) for each in needed_sizes(conditions)]
    assert found[: len(wanted)] == wanted


@pytest.mark.parametrize(
    "offset",
    [IDS, COLUMN, t.neg(PLACE)],
    ids=["from memory", "a loop without an end", "backwards"],
)
def test_nothing_is_offered_without_a_largest_place(offset: Term) -> None:
    assert not list(needed_sizes([t.lt(t.scale(4, SIZE), t.add(t.scale(4, offset), t.const(4)))]))
