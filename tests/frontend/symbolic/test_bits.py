"""Operations on bits are what Python computes, inside their intervals, whether written as arithmetic or named."""

from __future__ import annotations

import operator

from hypothesis import given
from hypothesis import strategies as st

from tileverify.contract import terms as t
from tileverify.contract.terms import Scope, TermKind
from tileverify.contract.terms.bits import number_of
from tileverify.contract.terms.evaluate import evaluate

WORDS = {bits: st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)}
PYTHON = {
    TermKind.BITAND: (t.bit_and, operator.and_),
    TermKind.BITOR: (t.bit_or, operator.or_),
    TermKind.BITXOR: (t.bit_xor, operator.xor),
}
SHIFTS = {TermKind.SHL: (t.shift_left, operator.lshift), TermKind.SHR: (t.shift_right, operator.rshift)}


@given(st.data(), st.sampled_from(sorted(WORDS)), st.sampled_from(list(PYTHON)))
def test_bit_by_bit(data: st.DataObject, bits: int, kind: TermKind) -> None:
    build, compute = PYTHON[kind]
    a, b = data.draw(WORDS[bits]), data.draw(st.one_of(WORDS[bits], st.sampled_from([1, 5, -8, 0x5A, -1])))
    low, high = sorted((a, data.draw(WORDS[bits])))
    x = t.var("x", Scope.BLOCK, low, high)
    low, high = sorted((b, data.draw(WORDS[bits])))
    y = t.var("y", Scope.BLOCK, low, high)
    for other in (t.const(b), y):
        built = build(x, other)
        value = evaluate(built, {x: a, y: b})
        assert value == compute(a, b) == number_of(kind, a, b)
        assert built.low is not None
        assert built.high is not None
        assert built.low <= value <= built.high


@given(st.integers(-(2**90), 2**90), st.integers(0, 2**65 - 1) | st.sampled_from([1, 7, 0xF0, 0x5A, 2**64 - 1]))
def test_a_mask_takes_bits_out_of_any_number(a: int, mask: int) -> None:
    """Bounds are what is not known of numbers that a loop makes; few runs of bits are arithmetic all the same."""
    x = t.var("x", Scope.BLOCK)
    built = t.bit_and(x, t.const(mask))
    assert evaluate(built, {x: a}) == number_of(TermKind.BITAND, a, mask)
    if mask in (1, 7, 0xF0, 2**64 - 1):
        assert not {part.kind for part in t.postorder(built)} & set(PYTHON)


@given(st.booleans(), st.booleans(), st.booleans(), st.sampled_from(list(PYTHON)))
def test_bits_of_conditions_are_the_bit_of_a_condition(a: bool, b: bool, turned: bool, kind: TermKind) -> None:
    """As C++ writes ``first & second``, with numbers 0 and 1 for its booleans."""
    build, compute = PYTHON[kind]
    x, y = t.var("x", Scope.BLOCK, 0, 9), t.var("y", Scope.BLOCK, 0, 9)
    first = t.ite(t.lt(x, t.const(5)), t.ONE, t.ZERO)
    second = t.ite(t.lt(y, t.const(5)), t.ZERO, t.ONE) if turned else t.ite(t.lt(y, t.const(5)), t.ONE, t.ZERO)
    built = build(first, second)
    values = {x: 1 if a else 8, y: 1 if b is not turned else 8}
    assert evaluate(built, values) == compute(a, b)
    assert not {part.kind for part in t.postorder(built)} & set(PYTHON)


@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(-9, 9), st.booleans(), st.booleans())
def test_bits_of_other_choices(a: int, b: int, c: int, first: bool, second: bool) -> None:
    x, y = t.var("x", Scope.BLOCK, 0, 9), t.var("y", Scope.BLOCK, 0, 9)
    one = t.ite(t.lt(x, t.const(5)), t.const(a), t.const(b))
    other = t.ite(t.lt(y, t.const(5)), t.const(c), t.ZERO)
    values = {x: 1 if first else 8, y: 1 if second else 8}
    for build, compute in PYTHON.values():
        assert evaluate(build(one, other), values) == compute(a if first else b, c if second else 0)


@given(WORDS[64], st.integers(0, 63), st.sampled_from(list(SHIFTS)))
def test_shifts(a: int, amount: int, kind: TermKind) -> None:
    build, compute = SHIFTS[kind]
    x = t.var("x", Scope.BLOCK, -(2**63), 2**63 - 1)
    s = t.var("s", Scope.BLOCK, 0, 63)
    wanted = compute(a, amount)
    for by in (t.const(amount), s):
        built = t.wrap(64, build(x, by))
        assert evaluate(built, {x: a, s: amount}) == evaluate(t.wrap(64, t.const(wanted)), {})
