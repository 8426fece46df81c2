"""What a path says about the size of terms."""

from __future__ import annotations

import pytest

from tileverify.contract.terms import Scope, Term, add, and_, const, eq, floordiv, le, lt, mul, scale, sub, var
from tileverify.frontend.symbolic.machine import Bounds

K = var("k", Scope.ITERATION, 0)
N = var("n", Scope.LAUNCH, 0, 100)
B = var("b", Scope.BLOCK, 0, 7)
G = var("g", Scope.LAUNCH, 1, 9)
TILE = add(B, mul(K, G))


@pytest.mark.parametrize(
    ("condition", "term", "expected"),
    [
        (lt(K, N), K, (0, 99)),
        (le(K, N), K, (0, 100)),
        (lt(K, N), N, (1, 100)),
        (lt(const(3), N), N, (4, 100)),
        (le(N, const(3)), N, (0, 3)),
        (eq(N, const(5)), scale(2, N), (10, 10)),
        (lt(TILE, N), TILE, (0, 99)),
        (lt(TILE, N), add(scale(4, TILE), const(1)), (1, 397)),
        (lt(TILE, N), floordiv(TILE, const(10)), (0, 9)),
        (and_(lt(K, N), lt(N, const(10))), K, (0, 8)),
        (lt(sub(K, const(1)), N), K, (0, 100)),
    ],
)
def test_interval_under_a_condition(condition: Term, term: Term, expected: tuple[int, int]) -> None:
    assert Bounds().under(condition).interval(term) == expected


def test_a_known_range_is_never_widened() -> None:
    assert Bounds().within(N, -5, 1000).interval(N) == (0, 100)
    assert Bounds().under(lt(N, const(50))).under(lt(N, const(80))).interval(N) == (0, 49)


def test_fits() -> None:
    bounds = Bounds().under(lt(TILE, N))
    assert bounds.fits_signed(TILE, 8)
    assert not bounds.fits_signed(scale(2, TILE), 8)
    assert not Bounds().fits_signed(TILE, 8)
