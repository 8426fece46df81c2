"""Rules for integer arithmetic: what the machine computes, as terms over mathematical integers.

An iN value is the term of its signed reading, an i1 value a boolean term.  Every result passes through
`SymbolicExecutor.wrap`; ``nsw``/``nuw``/``nw`` and undefined cases become promises (TV402), and nothing here relies on
them.
Proofs of the encodings that are not definitions stand with their functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...contract.terms import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Term,
    TermKind,
    add,
    and_,
    bit_and,
    bit_or,
    bit_xor,
    ceildiv,
    const,
    eq,
    floordiv,
    floormod,
    iff,
    ite,
    le,
    linear_parts,
    lt,
    maximum,
    minimum,
    mul,
    ne,
    neg,
    not_,
    or_,
    sub,
    truncdiv,
    truncmod,
)
from ...contract.terms import shift_left as bit_shift_left
from ...contract.terms import shift_right as bit_shift_right
from ...results.codes import TV
from ..bytecode.model import Op, signed
from .machine import Rule, SymbolicExecutor, element_bits, shape_of


# ------------------------------------------------------------------------------------------- readings
def number(term: Term, bits: int) -> Term:
    """The signed reading as an integer term; a true i1 is -1."""
    return ite(term, const(-1), ZERO) if bits == 1 else term


def from_number(m: SymbolicExecutor, term: Term, bits: int) -> Term:
    """The iN value congruent to the mathematical ``term``."""
    return eq(floormod(term, const(2)), ONE) if bits == 1 else m.wrap(bits, term)


def zero_extended(m: SymbolicExecutor, term: Term, bits: int) -> Term:
    """The unsigned reading as an integer term; a true i1 is 1."""
    return ite(term, ONE, ZERO) if bits == 1 else m.unsigned(bits, term)


def _operands(m: SymbolicExecutor, op: Op) -> tuple[Term, Term, int]:
    return m.term(op.value("lhs")), m.term(op.value("rhs")), element_bits(op.value("lhs"))


# ---------------------------------------------------------------------------------------- ring operations
def _ring(combine: Callable[[Term, Term], Term], sign: str) -> Rule:
    def rule(m: SymbolicExecutor, op: Op) -> Term:
        a, b, bits = _operands(m, op)
        exact = combine(number(a, bits), number(b, bits))

        def as_unsigned() -> Term:
            return combine(zero_extended(m, a, bits), zero_extended(m, b, bits))

        overflow_promises(m, op, bits, exact, as_unsigned, sign)
        return from_number(m, exact, bits)

    return rule


def overflow_promises(
    m: SymbolicExecutor,
    op: Op,
    bits: int,
    as_signed: Term,
    as_unsigned: Callable[[], Term],
    sign: str,
    shape: Sequence[int] | None = None,
) -> None:
    """``nsw``: the signed result fits; ``nuw``: the unsigned one does; ``nw``: both.  For every lane of ``shape``, that
    of the op's result by default."""
    flag = op.attributes["ovf"]
    shape = shape_of(op.result) if shape is None else shape
    if flag in ("nsw", "nw"):
        m.promise(op, TV.ARITHMETIC_UNDEFINED, fits(as_signed, bits), f"signed {sign} does not overflow i{bits}", shape)
    if flag in ("nuw", "nw"):
        exact = as_unsigned()
        in_range = and_(le(ZERO, exact), lt(exact, const(1 << bits)))
        m.promise(op, TV.ARITHMETIC_UNDEFINED, in_range, f"unsigned {sign} does not overflow i{bits}", shape)


def fits(term: Term, bits: int) -> Term:
    """The condition that ``term`` is a signed iN value."""
    half = 1 << (bits - 1)
    return and_(le(const(-half), term), lt(term, const(half)))


def negate(m: SymbolicExecutor, op: Op) -> Term:
    a, bits = m.term(op.value("s")), element_bits(op.result)
    exact = neg(number(a, bits))
    overflow_promises(m, op, bits, exact, lambda: neg(zero_extended(m, a, bits)), "negation")
    return from_number(m, exact, bits)


def absolute(m: SymbolicExecutor, op: Op) -> Term:
    """The result is read unsigned, so INT_MIN keeps its bits: wrap(|INT_MIN|) = INT_MIN."""
    bits = element_bits(op.result)
    a = number(m.term(op.value("s")), bits)
    return from_number(m, maximum(a, neg(a)), bits)


def shift_left(m: SymbolicExecutor, op: Op) -> Term:
    a, amount, bits = _operands(m, op)
    amount = _shift_amount(m, op, amount, bits)
    if op.attributes["ovf"] != "none":
        factor = _power_of_two(amount, bits)
        exact = mul(number(a, bits), factor)
        overflow_promises(m, op, bits, exact, lambda: mul(zero_extended(m, a, bits), factor), "shift")
    if amount.kind is TermKind.CONST or bits == 1:
        return from_number(m, mul(number(a, bits), _power_of_two(amount, bits)), bits)
    if a.kind is TermKind.CONST:
        return _shifted_constant(a.value, amount, bits)
    return m.wrap(bits, bit_shift_left(a, amount))


def _shifted_constant(value: int, amount: Term, bits: int) -> Term:
    """One of the ``bits`` numbers that ``value`` can be shifted to."""
    shifted: Term = ZERO
    for k in reversed(range(bits)):
        shifted = ite(eq(amount, const(k)), const(signed((value << k) % (1 << bits), bits)), shifted)
    return shifted


def _power_of_two(exponent: Term, bits: int) -> Term:
    """``2**exponent`` for an exponent up to ``bits``; larger ones are excluded by the promise on the amount."""
    if exponent.kind is TermKind.CONST:
        return const(1 << min(exponent.value, bits))
    power: Term = const(1 << bits)
    for k in reversed(range(bits)):
        power = ite(eq(exponent, const(k)), const(1 << k), power)
    return power


def shift_right(m: SymbolicExecutor, op: Op) -> Term:
    """By a constant: floor division by a power of two, of the reading that ``sgn`` names."""
    a, amount, bits = _operands(m, op)
    amount = _shift_amount(m, op, amount, bits)
    is_signed = op.attributes["sgn"] == "signed"
    value = number(a, bits) if is_signed else zero_extended(m, a, bits)
    if amount.kind is TermKind.CONST:
        return from_number(m, floordiv(value, const(1 << min(amount.value, bits))), bits)
    if bits == 1:
        return a  # the only defined amount is 0
    return from_number(m, bit_shift_right(value, amount), bits)


def _shift_amount(m: SymbolicExecutor, op: Op, amount: Term, bits: int) -> Term:
    """The amount, read unsigned; at or beyond the width the shift is not defined."""
    amount = zero_extended(m, amount, bits)
    m.promise(
        op, TV.ARITHMETIC_UNDEFINED, lt(amount, const(bits)), f"shift amount is less than {bits}", shape_of(op.result)
    )
    return amount


def multiply_high(m: SymbolicExecutor, op: Op) -> Term:
    """The upper half of the unsigned product, exactly."""
    a, b, bits = _operands(m, op)
    product = mul(zero_extended(m, a, bits), zero_extended(m, b, bits))
    return from_number(m, floordiv(product, const(1 << bits)), bits)


# --------------------------------------------------------------------------------------------- division
_QUOTIENT: Final[dict[str, Callable[[Term, Term], Term]]] = {
    "zero": truncdiv,
    "negative_inf": floordiv,
    "positive_inf": ceildiv,
}


def divide(m: SymbolicExecutor, op: Op) -> Term:
    a, b = _division_operands(m, op)
    rounding = op.attributes["rnd"]
    if rounding not in _QUOTIENT:
        raise m.unsupported(op, f"integer division with rounding '{rounding}'")
    return from_number(m, _QUOTIENT[rounding](a, b), element_bits(op.result))


def remainder(m: SymbolicExecutor, op: Op) -> Term:
    a, b = _division_operands(m, op)
    return from_number(m, truncmod(a, b), element_bits(op.result))


def _division_operands(m: SymbolicExecutor, op: Op) -> tuple[Term, Term]:
    """Dividend and divisor in the reading of ``sgn``, with the promises that make the quotient defined."""
    a, b, bits = _operands(m, op)
    shape = shape_of(op.result)
    if op.attributes["sgn"] == "unsigned":
        a, b = zero_extended(m, a, bits), zero_extended(m, b, bits)
    else:
        a, b = number(a, bits), number(b, bits)
        lowest = const(-(1 << (bits - 1)))
        m.promise(
            op, TV.ARITHMETIC_UNDEFINED, not_(and_(eq(a, lowest), eq(b, const(-1)))), "quotient fits its type", shape
        )
    m.promise(op, TV.ARITHMETIC_UNDEFINED, ne(b, ZERO), "divisor is not 0", shape)
    return a, b


# --------------------------------------------------------------------------------------- bitwise operations
def bitwise_and(m: SymbolicExecutor, op: Op) -> Term:
    a, b, bits = _operands(m, op)
    if bits == 1:
        return and_(a, b)
    for value, mask in ((a, b), (b, a)):
        if mask.kind is TermKind.CONST and mask.value < 0 and -mask.value & (-mask.value - 1) == 0:
            return sub(value, floormod(value, const(-mask.value)))
    return bit_and(a, b)


def bitwise_or(m: SymbolicExecutor, op: Op) -> Term:
    a, b, bits = _operands(m, op)
    if bits == 1:
        return or_(a, b)
    for high_part, low_part in ((a, b), (b, a)):
        low, high = m.bounds.interval(low_part)
        if low is not None and low >= 0 and high is not None:
            # No common bits: high_part is a multiple of 2**k and 0 <= low_part < 2**k, so the bits just add up.
            constant, summands = linear_parts(high_part)
            unit = 1 << high.bit_length()
            if constant % unit == 0 and all(c % unit == 0 for c, _ in summands):
                return m.wrap(bits, add(high_part, low_part))
    return bit_or(a, b)


def bitwise_xor(m: SymbolicExecutor, op: Op) -> Term:
    a, b, bits = _operands(m, op)
    return not_(iff(a, b)) if bits == 1 else bit_xor(a, b)


# ------------------------------------------------------------------------------------ comparison and choice
def compare(m: SymbolicExecutor, op: Op) -> Term:
    a, b, bits = _operands(m, op)
    predicate = op.attributes["pred"]
    if predicate in ("equal", "not_equal"):
        same = iff(a, b) if bits == 1 else eq(a, b)
        return same if predicate == "equal" else not_(same)
    if predicate in ("greater_than", "less_than_or_equal"):
        a, b = b, a
    if op.attributes["sgn"] == "signed":
        less = lt(number(a, bits), number(b, bits))
    elif bits == 1:
        less = and_(not_(a), b)
    else:
        less = unsigned_less(m, a, b, bits)
    return less if predicate in ("less_than", "greater_than") else not_(less)


def unsigned_less(m: SymbolicExecutor, a: Term, b: Term, bits: int) -> Term:
    """``a < b`` in the unsigned reading of iN.

    With ``b >= 0``: a negative a reads as at least 2**(N-1) > b, a nonnegative one as itself, so the comparison is
    ``0 <= a < b``: the bounds check of a gather.  With ``a >= 0``: a negative b reads as larger than any such a.
    """
    if (low := m.bounds.interval(b)[0]) is not None and low >= 0:
        return and_(le(ZERO, a), lt(a, b))
    if (low := m.bounds.interval(a)[0]) is not None and low >= 0:
        return or_(lt(b, ZERO), lt(a, b))
    return lt(m.unsigned(bits, a), m.unsigned(bits, b))


def _extremum(choose: Callable[[Term, Term], Term]) -> Rule:
    def rule(m: SymbolicExecutor, op: Op) -> Term:
        a, b, bits = _operands(m, op)
        if op.attributes["sgn"] == "signed":
            chosen = choose(number(a, bits), number(b, bits))
            return eq(chosen, const(-1)) if bits == 1 else chosen
        return from_number(m, choose(zero_extended(m, a, bits), zero_extended(m, b, bits)), bits)

    return rule


# -------------------------------------------------------------------------------------------- conversion
def extend(m: SymbolicExecutor, op: Op) -> Term:
    a, bits = m.term(op.value("s")), element_bits(op.value("s"))
    if op.attributes["sgn"] == "signed":
        return number(a, bits)
    return m.wrap(element_bits(op.result), zero_extended(m, a, bits))


def truncate(m: SymbolicExecutor, op: Op) -> Term:
    """``nsw``: the signed value survives; ``nuw``: the unsigned one does."""
    a, wide, bits = m.term(op.value("s")), element_bits(op.value("s")), element_bits(op.result)
    overflow_promises(m, op, bits, a, lambda: zero_extended(m, a, wide), "truncation")
    return from_number(m, a, bits)


def constant_element(raw: int, bits: int) -> Term:
    """One element of a constant tile."""
    return (TRUE if raw else FALSE) if bits == 1 else const(signed(raw & ((1 << bits) - 1), bits))


RULES: Final[dict[str, Rule]] = {
    "addi": _ring(add, "addition"),
    "subi": _ring(sub, "subtraction"),
    "muli": _ring(mul, "multiplication"),
    "negi": negate,
    "absi": absolute,
    "shli": shift_left,
    "shri": shift_right,
    "mulhii": multiply_high,
    "divi": divide,
    "remi": remainder,
    "andi": bitwise_and,
    "ori": bitwise_or,
    "xori": bitwise_xor,
    "cmpi": compare,
    "mini": _extremum(minimum),
    "maxi": _extremum(maximum),
    "exti": extend,
    "trunci": truncate,
}
