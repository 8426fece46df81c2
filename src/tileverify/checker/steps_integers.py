"""Steps: integers, as the specification of each op says.

An iN value is the number of its signed reading, an i1 value a condition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..contract.terms import (
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
from ..contract.terms import shift_left as bits_left
from ..contract.terms import shift_right as bits_right
from ..frontend.bytecode.model import Op
from ..frontend.bytecode.model import Value as SsaValue
from .agreement import NotFollowed
from .evaluator import Step, SummaryChecker, width


# ------------------------------------------------------------------------------------------------ two readings
def signed(term: Term, bits: int) -> Term:
    """With sign: a true i1 is -1."""
    return ite(term, const(-1), ZERO) if bits == 1 else term


def unsigned(ev: SummaryChecker, term: Term, bits: int) -> Term:
    """Without: a true i1 is 1."""
    return ite(term, ONE, ZERO) if bits == 1 else ev.without_sign(bits, term)


def stored(ev: SummaryChecker, number: Term, bits: int) -> Term:
    """The iN value that ``number`` becomes."""
    return eq(floormod(number, const(2)), ONE) if bits == 1 else ev.wrapped(bits, number)


def read_unsigned(ev: SummaryChecker, operand: SsaValue) -> Term:
    return unsigned(ev, ev.term(operand), width(operand))


def read(ev: SummaryChecker, op: Op, name: str, sign: str) -> Term:
    """An operand in the reading that ``sign`` names."""
    operand = op.value(name)
    return signed(ev.term(operand), width(operand)) if sign == "signed" else read_unsigned(ev, operand)


# ----------------------------------------------------------------------------------------------------- no wrap
def must_not_wrap(ev: SummaryChecker, op: Op, word: str, result: Callable[[str], Term]) -> None:
    """What the flags promise of ``result`` of one reading: ``nsw`` of the signed one, ``nuw`` of the other, ``nw``."""
    flag, bits = op.attributes["ovf"], width(op.result)
    half = 1 << (bits - 1)
    if flag in ("nsw", "nw"):
        number = result("signed")
        inside = and_(le(const(-half), number), lt(number, const(half)))
        ev.promise(op, inside, f"signed {word} does not overflow i{bits}")
    if flag in ("nuw", "nw"):
        number = result("unsigned")
        inside = and_(le(ZERO, number), lt(number, const(2 * half)))
        ev.promise(op, inside, f"unsigned {word} does not overflow i{bits}")


def _sum_like(combine: Callable[[Term, Term], Term], word: str) -> Step:
    def step(ev: SummaryChecker, op: Op) -> Term:
        def exact(sign: str) -> Term:
            return combine(read(ev, op, "lhs", sign), read(ev, op, "rhs", sign))

        must_not_wrap(ev, op, word, exact)
        return stored(ev, exact("signed"), width(op.result))

    return step


def negi(ev: SummaryChecker, op: Op) -> Term:
    must_not_wrap(ev, op, "negation", lambda sign: neg(read(ev, op, "s", sign)))
    return stored(ev, neg(read(ev, op, "s", "signed")), width(op.result))


def absi(ev: SummaryChecker, op: Op) -> Term:
    number = read(ev, op, "s", "signed")
    return stored(ev, maximum(number, neg(number)), width(op.result))


def trunci(ev: SummaryChecker, op: Op) -> Term:
    operand, bits = op.value("s"), width(op.result)
    must_not_wrap(
        ev, op, "truncation", lambda sign: ev.term(operand) if sign == "signed" else read_unsigned(ev, operand)
    )
    return stored(ev, ev.term(operand), bits)


def exti(ev: SummaryChecker, op: Op) -> Term:
    return ev.wrapped(width(op.result), read(ev, op, "s", op.attributes["sgn"]))


def mulhii(ev: SummaryChecker, op: Op) -> Term:
    bits = width(op.result)
    whole = mul(read(ev, op, "lhs", "unsigned"), read(ev, op, "rhs", "unsigned"))
    return stored(ev, floordiv(whole, const(1 << bits)), bits)


# ---------------------------------------------------------------------------------------------------- quotients
_ROUNDED: Final = {"zero": truncdiv, "negative_inf": floordiv, "positive_inf": ceildiv}


def divi(ev: SummaryChecker, op: Op) -> Term:
    if op.attributes["rnd"] not in _ROUNDED:
        raise NotFollowed(f"a quotient rounded '{op.attributes['rnd']}'")
    return stored(ev, _ROUNDED[op.attributes["rnd"]](*_divided(ev, op)), width(op.result))


def remi(ev: SummaryChecker, op: Op) -> Term:
    return stored(ev, truncmod(*_divided(ev, op)), width(op.result))


def _divided(ev: SummaryChecker, op: Op) -> tuple[Term, Term]:
    sign, bits = op.attributes["sgn"], width(op.result)
    dividend, divisor = read(ev, op, "lhs", sign), read(ev, op, "rhs", sign)
    if sign != "unsigned":
        overflow = and_(eq(dividend, const(-(1 << (bits - 1)))), eq(divisor, const(-1)))
        ev.promise(op, not_(overflow), "quotient fits its type")
    ev.promise(op, ne(divisor, ZERO), "divisor is not 0")
    return dividend, divisor


# --------------------------------------------------------------------------------------------------------- bits
def shli(ev: SummaryChecker, op: Op) -> Term:
    bits, amount, value = width(op.result), _amount(ev, op), ev.term(op.value("lhs"))

    def exact(sign: str) -> Term:
        return mul(read(ev, op, "lhs", sign), _cases(amount, bits, lambda k: const(1 << k), const(1 << bits)))

    must_not_wrap(ev, op, "shift", exact)
    if amount.kind is TermKind.CONST or bits == 1:
        return stored(ev, exact("signed"), bits)
    if value.kind is TermKind.CONST:
        return _cases(amount, bits, lambda k: element(value.value << k, bits), ZERO)
    return ev.wrapped(bits, bits_left(value, amount))


def _cases(amount: Term, bits: int, of: Callable[[int], Term], beyond: Term) -> Term:
    """``of`` the amount, if that is less than ``bits``, as is demanded."""
    chosen = beyond
    for k in reversed(range(bits)):
        chosen = ite(eq(amount, const(k)), of(k), chosen)
    return chosen


def shri(ev: SummaryChecker, op: Op) -> Term:
    bits, amount = width(op.result), _amount(ev, op)
    value = read(ev, op, "lhs", op.attributes["sgn"])
    if amount.kind is TermKind.CONST:
        return stored(ev, floordiv(value, const(1 << min(amount.value, bits))), bits)
    return ev.term(op.value("lhs")) if bits == 1 else stored(ev, bits_right(value, amount), bits)


def _amount(ev: SummaryChecker, op: Op) -> Term:
    amount, bits = read(ev, op, "rhs", "unsigned"), width(op.result)
    ev.promise(op, lt(amount, const(bits)), f"shift amount is less than {bits}")
    return amount


def andi(ev: SummaryChecker, op: Op) -> Term:
    a, b = ev.term(op.value("lhs")), ev.term(op.value("rhs"))
    if width(op.result) == 1:
        return and_(a, b)
    for value, mask in ((a, b), (b, a)):
        if mask.kind is TermKind.CONST and mask.value < 0 and (-mask.value).bit_count() == 1:
            return sub(value, floormod(value, const(-mask.value)))  # the lowest bits are cleared
    return bit_and(a, b)


def ori(ev: SummaryChecker, op: Op) -> Term:
    a, b = ev.term(op.value("lhs")), ev.term(op.value("rhs"))
    if width(op.result) == 1:
        return or_(a, b)
    for upper, lower in ((a, b), (b, a)):
        low, high = ev.sizes.interval(lower)
        if low is not None and low >= 0 and high is not None:
            unit = 1 << high.bit_length()
            constant, summands = linear_parts(upper)
            if not constant % unit and not any(factor % unit for factor, _ in summands):
                return ev.wrapped(width(op.result), add(upper, lower))  # no bit is set in both
    return bit_or(a, b)


def xori(ev: SummaryChecker, op: Op) -> Term:
    a, b = ev.term(op.value("lhs")), ev.term(op.value("rhs"))
    return not_(iff(a, b)) if width(op.result) == 1 else bit_xor(a, b)


# --------------------------------------------------------------------------------------------------- comparisons
def cmpi(ev: SummaryChecker, op: Op) -> Term:
    predicate, sign = op.attributes["pred"], op.attributes["sgn"]
    bits = width(op.value("lhs"))
    if predicate in ("equal", "not_equal"):
        a, b = ev.term(op.value("lhs")), ev.term(op.value("rhs"))
        same = iff(a, b) if bits == 1 else eq(a, b)
        return same if predicate == "equal" else not_(same)
    turned = predicate in ("greater_than", "less_than_or_equal")
    names = ("rhs", "lhs") if turned else ("lhs", "rhs")
    less = _less(ev, op, *names, sign)
    return less if predicate in ("less_than", "greater_than") else not_(less)


def _less(ev: SummaryChecker, op: Op, first: str, second: str, sign: str) -> Term:
    a, b, bits = ev.term(op.value(first)), ev.term(op.value(second)), width(op.value(first))
    if bits == 1:
        return and_(not_(a), b) if sign != "signed" else and_(a, not_(b))
    if sign == "signed":
        return lt(a, b)
    # A negative number reads as one that is larger than all that are not negative.
    if _not_negative(ev, b):
        return and_(le(ZERO, a), lt(a, b))
    if _not_negative(ev, a):
        return or_(lt(b, ZERO), lt(a, b))
    return lt(ev.without_sign(bits, a), ev.without_sign(bits, b))


def _not_negative(ev: SummaryChecker, term: Term) -> bool:
    low = ev.sizes.interval(term)[0]
    return low is not None and low >= 0


def _extreme(choose: Callable[[Term, Term], Term]) -> Step:
    def step(ev: SummaryChecker, op: Op) -> Term:
        sign, bits = op.attributes["sgn"], width(op.result)
        chosen = choose(read(ev, op, "lhs", sign), read(ev, op, "rhs", sign))
        return stored(ev, chosen, bits)

    return step


def element(raw: int, bits: int) -> Term:
    """One element of a constant; ``raw`` holds its bits, or its signed reading."""
    raw &= (1 << bits) - 1
    return (TRUE if raw else FALSE) if bits == 1 else const(raw - (1 << bits) if raw >> (bits - 1) else raw)


STEPS: Final[dict[str, Step]] = {
    "addi": _sum_like(add, "addition"),
    "subi": _sum_like(sub, "subtraction"),
    "muli": _sum_like(mul, "multiplication"),
    "negi": negi,
    "absi": absi,
    "trunci": trunci,
    "exti": exti,
    "mulhii": mulhii,
    "divi": divi,
    "remi": remi,
    "shli": shli,
    "shri": shri,
    "andi": andi,
    "ori": ori,
    "xori": xori,
    "cmpi": cmpi,
    "mini": _extreme(minimum),
    "maxi": _extreme(maximum),
}
