"""Numbers with digits whose bases are sizes (`obligations.digits`): what is put together or split says the same."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from tests.written_kernel import judged

from tileverify.contract import terms as t
from tileverify.contract.terms import Scope, Term
from tileverify.contract.terms.evaluate import evaluate
from tileverify.pipeline import CheckOptions
from tileverify.results import KernelResult, Verdict
from tileverify.verifier.certificate.recheck import Rechecking, recheck
from tileverify.verifier.certificate.second_solver import SecondSolver
from tileverify.verifier.obligations.digits import by_digits

P, Q = (t.var(name, Scope.BLOCK, 0, 20) for name in "pq")
A, B, C = (t.var(name, Scope.LAUNCH, 0, 3) for name in "abc")
WILD = t.var("w", Scope.LAUNCH, -3, 3)
BLOCKS = t.product((A, B, C))
SIZES = frozenset({t.lt(P, BLOCKS), t.le(t.ONE, BLOCKS)})


def number(p: Term, b: Term, c: Term) -> Term:
    """``((p // (b*c)) * b + (p // c) % b) * c + p % c``."""
    high, middle, low = t.floordiv(p, t.mul(b, c)), t.floormod(t.floordiv(p, c), b), t.floormod(p, c)
    return t.add(t.mul(t.add(t.mul(high, b), middle), c), low)


def turned(p: Term, b: Term, c: Term) -> Term:
    """``((p % c) * b + (p // c) % b) * a + p // (b*c)``, of which the last digit is below a for all p of the grid."""
    high, middle, low = t.floordiv(p, t.mul(b, c)), t.floormod(t.floordiv(p, c), b), t.floormod(p, c)
    return t.add(t.mul(t.add(t.mul(low, b), middle), A), high)


def agree(conditions: tuple[Term, ...], facts: frozenset[Term]) -> bool:
    """Whether something was found; what was found must hold wherever the facts do and the conditions hold, only."""
    found = by_digits(conditions, facts)
    if found is None:
        return False
    for p, q, a, b, c, w in product(range(20), range(0, 20, 3), *[range(4)] * 3, (-2, 0, 3)):
        values = {P: p, Q: q, A: a, B: b, C: c, WILD: w}
        try:
            if all(evaluate(fact, values) for fact in facts):
                left, right = (all(evaluate(each, values) for each in some) for some in (conditions, found))
                assert left == right, (values, found)
        except ZeroDivisionError:
            continue
    return True


def test_a_number_is_put_together_from_its_digits() -> None:
    assert by_digits((t.eq(number(P, B, C), Q),), SIZES) == (t.eq(P, Q),)
    assert agree((t.eq(number(P, B, C), Q),), SIZES)
    assert by_digits((t.le(t.const(7), number(P, B, C)),), SIZES) == (t.le(t.const(7), P),)


def test_digits_in_another_order_tell_numbers_apart() -> None:
    facts = SIZES | {t.lt(Q, BLOCKS)}
    assert agree((t.eq(turned(P, B, C), turned(Q, B, C)),), facts)


def test_other_conditions_are_known_beside_one() -> None:
    """A mask ``p < a*b*c`` says that there are elements, so that no base is 0; what a bound says it keeps."""
    equation, masks = t.eq(number(P, B, C), number(Q, B, C)), (t.lt(P, BLOCKS), t.lt(Q, BLOCKS))
    assert by_digits((equation, *masks), frozenset()) == (t.eq(P, Q), *masks)
    assert agree((equation, *masks), frozenset())
    assert agree((t.eq(turned(P, B, C), turned(Q, B, C)), *masks), frozenset())
    assert by_digits((equation,), frozenset()) is None
    assert by_digits((t.eq(turned(P, B, C), turned(Q, B, C)), masks[0]), frozenset()) is None
    assert agree((t.le(BLOCKS, number(P, B, C)), t.lt(number(P, B, C), BLOCKS)), frozenset())


def test_a_bound_is_one_of_the_digits_before() -> None:
    bound = t.le(BLOCKS, turned(P, B, C))
    assert by_digits((bound,), SIZES) == (t.FALSE,)
    assert agree((bound,), SIZES)
    assert agree((t.le(t.product((B, C)), t.add(t.mul(Q, C), t.floormod(P, C))),), SIZES)
    assert by_digits((t.le(t.product((B, C)), t.add(t.mul(Q, C), P)),), SIZES) is None


@pytest.mark.parametrize("base", [WILD, t.add(B, t.const(-1))])
def test_a_base_that_may_be_negative_nests_no_quotients(base: Term) -> None:
    """``(p // c) // w`` is not ``p // (c*w)`` for negative w."""
    agree((t.eq(number(P, base, C), Q),), SIZES)
    found = by_digits((t.eq(number(P, base, C), Q),), SIZES)
    assert found is None or t.eq(P, Q) not in found


def test_a_base_that_may_be_0_tells_nothing_apart() -> None:
    equation = t.eq(t.add(t.mul(P, C), t.floormod(Q, C)), t.add(t.mul(Q, C), t.floormod(P, C)))
    assert by_digits((equation,), frozenset()) is None
    assert agree((equation,), SIZES)


def test_a_digit_that_may_reach_its_base_tells_nothing_apart() -> None:
    equation = t.eq(t.add(t.mul(P, C), Q), t.add(t.mul(Q, C), P))
    assert by_digits((equation,), SIZES) is None
    below = SIZES | {t.lt(P, C), t.lt(Q, C)}
    assert agree((equation,), below)
    assert by_digits((equation,), SIZES | {t.lt(P, C)}) is None


# ------------------------------------------------------------------------------------------------------ as kernels
SOURCE = """import cuda.tile as ct

@ct.kernel
def kernel(x, out, na, nb, nc):
    p = ct.bid(0)
{digits}    ct.store(out, ({to}), ct.load(x, (p, 0), (1, 16)))
"""
AT_ONCE = "    a = p // (nb * nc)\n    b = (p // nc) % nb\n    c = p % nc\n"
BY_REST = "    a = p // (nb * nc)\n    r = p % (nb * nc)\n    b = r // nc\n    c = r % nc\n"
IN_TURN = "    c = p % nc\n    q = p // nc\n    b = q % nb\n    a = q // nb\n"
BY_DIFFERENCE = "    a = p // (nb * nc)\n    b = (p - a * nb * nc) // nc\n    c = p - a * nb * nc - b * nc\n"
SPELLINGS = {"at once": AT_ONCE, "by the rest": BY_REST, "in turn": IN_TURN, "by difference": BY_DIFFERENCE}
FLAT, TURNED = "(a * nb + b) * nc + c, 0", "(c * nb + b) * na + a, 0"
SPEC = """kernel = "kernel"
grid = ["A * B * C"]
args = { x = "f32[A * B * C, 16]", out = "f32[A * B * C, 16]", na = "i32 = A", nb = "i32 = B", nc = "i32 = C" }
"""


def checked(folder: Path, digits: str, to: str, spec: str = SPEC, **options: object) -> KernelResult:
    result = judged(folder, SOURCE.format(digits=digits, to=to), spec, CheckOptions(cache=None, **options))  # type: ignore[arg-type]
    assert result.verdict is not Verdict.ERROR, result.findings
    return result


INDICES = (FLAT, TURNED, "(a * nc + c) * nb + b, 0", "a * nb * nc + c * nb + b, 0")
# Digits that are differences are not told apart as such: alone the number as a whole is put together of them.
RIGHT = [*product(("at once", "by the rest", "in turn"), INDICES), ("by difference", FLAT)]


@pytest.mark.parametrize(("spelling", "to"), RIGHT)
def test_every_spelling_is_proved_soon_and_confirmed(tmp_path: Path, spelling: str, to: str) -> None:
    result = checked(tmp_path, SPELLINGS[spelling], to, certificate=True, witnesses=False)
    assert result.verdict is Verdict.PROVED, result.findings
    assert not result.requires
    assert result.time_ms.prove < 6_000  # far below what it took: minutes
    assert result.certificate is not None
    found = recheck(
        result.certificate.text, "kernel", bytecode=result.certificate.bytecode, solver=SecondSolver(limit=400_000)
    )
    assert found.answer is Rechecking.CONFIRMED


WRONG = {
    "another base": (AT_ONCE, "(c * nb + b) * nc + a, 0"),
    "a digit of another number": (AT_ONCE.replace("(p // nc) % nb", "(p // nb) % nb"), FLAT),
    "a digit left out": (AT_ONCE, "a * nb + b, 0"),
    "one digit twice": (AT_ONCE, "(b * nb + b) * nc + c, 0"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_digits_are_not_proved(tmp_path: Path, what: str) -> None:
    result = checked(tmp_path, *WRONG[what], effort=0.3)
    assert result.verdict is not Verdict.PROVED


def test_more_blocks_than_the_digits_count_are_not_proved(tmp_path: Path) -> None:
    more = SPEC.replace('grid = ["A * B * C"]', 'grid = ["A * B * C + 1"]')
    assert checked(tmp_path, AT_ONCE, TURNED, more, effort=0.3).verdict is not Verdict.PROVED
