"""Operations on bits: of the two's complement of an integer, wide enough for every machine integer.

An iN value, in its signed or unsigned reading, is one of 66 bits, so that ``a & b`` of two readings is the reading of
what the machine computes, whatever N is.  Beyond 66 bits, where no value of a kernel lies, the upper ones are lost.

Where one side is a constant with few runs of equal bits, the operation is arithmetic: of

    a  =  2**k2 * (a // 2**k2)  +  2**k1 * ((a // 2**k1) % 2**(k2 - k1))  +  a % 2**k1

each piece is kept, cleared, set (to ones) or flipped (to ones minus itself).  A mask that is not negative clears the
bits above it, whatever they are, so that it needs no bounds of a.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .logic import and_, iff, ite, not_, or_
from .nodes import ONE, ZERO, Term, TermKind, const, make
from .sums import add, floordiv, floormod, scale, sub

WIDTH: Final = 66
"""Bits of the operands and of the result; 65 hold both readings of an i64."""

MOST_RUNS: Final = 6
"""Runs of equal bits in a constant up to which the operation is written as arithmetic."""

BITWISE: Final = (TermKind.BITAND, TermKind.BITOR, TermKind.BITXOR)
SHIFTS: Final = (TermKind.SHL, TermKind.SHR)
OPERATIONS: Final = frozenset((*BITWISE, *SHIFTS))


def signed(value: int) -> int:
    """The signed reading of the lowest 66 bits."""
    half = 1 << (WIDTH - 1)
    return (value + half) % (2 * half) - half


def number_of(kind: TermKind, a: int, b: int) -> int:
    """The operation on numbers.  A shift by less than 0 or more than 65 shifts everything out."""
    a, b = signed(a), signed(b)
    match kind:
        case TermKind.BITAND:
            return a & b
        case TermKind.BITOR:
            return a | b
        case TermKind.BITXOR:
            return a ^ b
        case TermKind.SHL:
            return signed(a << b) if 0 <= b < WIDTH else 0
        case _:
            return a >> b if 0 <= b < WIDTH else -(a < 0)


def bit_and(a: Term, b: Term) -> Term:
    return _bitwise(TermKind.BITAND, a, b)


def bit_or(a: Term, b: Term) -> Term:
    return _bitwise(TermKind.BITOR, a, b)


def bit_xor(a: Term, b: Term) -> Term:
    return _bitwise(TermKind.BITXOR, a, b)


def shift_left(a: Term, amount: Term) -> Term:
    """``a * 2**amount``, for an amount from 0 to 65."""
    return _shift(TermKind.SHL, a, amount)


def shift_right(a: Term, amount: Term) -> Term:
    """``a // 2**amount``, for an amount from 0 to 65."""
    return _shift(TermKind.SHR, a, amount)


# --------------------------------------------------------------------------------------------- bit by bit
def _bitwise(kind: TermKind, a: Term, b: Term) -> Term:
    if a.kind is TermKind.CONST and b.kind is TermKind.CONST:
        return const(number_of(kind, a.value, b.value))
    if a.kind is TermKind.CONST:
        a, b = b, a
    if a is b and fits(a):
        return ZERO if kind is TermKind.BITXOR else a
    flags = _flag(a), _flag(b)
    if flags[0] is not None and flags[1] is not None:
        return ite(_OF_FLAGS[kind](flags[0], flags[1]), ONE, ZERO)
    if b.kind is TermKind.CONST and (fits(a) or (kind is TermKind.BITAND and signed(b.value) >= 0)):
        runs = list(_runs(signed(b.value)))
        if len(runs) <= MOST_RUNS:
            return _by_pieces(kind, a, runs)
    first, second = sorted((a, b))
    low, high = _interval(kind, a, b)
    return make(kind, (first, second), low=low, high=high)


def _flag(term: Term) -> Term | None:
    """The condition of which ``term`` is the bit: C++ computes with its booleans as with numbers."""
    if term.kind is TermKind.ITE and {*term.args[1:]} == {ONE, ZERO}:
        return term.args[0] if term.args[1] is ONE else not_(term.args[0])
    return None


_OF_FLAGS: Final = {
    TermKind.BITAND: and_,
    TermKind.BITOR: or_,
    TermKind.BITXOR: lambda a, b: not_(iff(a, b)),
}


def fits(term: Term) -> bool:
    """Whether the static interval of ``term`` lies inside the bits that operations are defined on."""
    half = 1 << (WIDTH - 1)
    return term.low is not None and term.high is not None and -half <= term.low and term.high < half


def _runs(mask: int) -> Iterator[tuple[int, int | None, bool]]:
    """``(first bit, bit after the last or None for all above, whether they are ones)``, from the lowest on."""
    start = 0
    while True:
        ones = bool(mask >> start & 1)
        rest = ~(mask >> start) if ones else mask >> start
        if rest == 0:
            yield start, None, ones
            return
        end = start + (rest & -rest).bit_length() - 1
        yield start, end, ones
        start = end


def _piece(kind: TermKind, beside_ones: bool, piece: Term, ones: Term) -> Term:
    """What the operation makes of a piece beside ones, or beside zeros."""
    match kind:
        case TermKind.BITAND:
            return piece if beside_ones else ZERO
        case TermKind.BITOR:
            return ones if beside_ones else piece
        case _:
            return sub(ones, piece) if beside_ones else piece


def _by_pieces(kind: TermKind, a: Term, runs: list[tuple[int, int | None, bool]]) -> Term:
    pieces = []
    for start, end, ones in runs:
        piece = floordiv(a, const(1 << start))
        if end is not None:
            piece = floormod(piece, const(1 << (end - start)))
        all_ones = const(-1 if end is None else (1 << (end - start)) - 1)
        pieces.append(scale(1 << start, _piece(kind, ones, piece, all_ones)))
    return add(*pieces)


def _interval(kind: TermKind, a: Term, b: Term) -> tuple[int, int]:
    """Two numbers of k bits give one of k bits; where the sign is known, so is that of the result."""
    sides = [_range(side) for side in (a, b)]
    bits = max((~low if low < 0 else low).bit_length() for side in sides for low in side)
    low, high = -(1 << bits), (1 << bits) - 1
    positive = [side for side in sides if side[0] >= 0]
    negative = [side for side in sides if side[1] < 0]
    match kind:
        case TermKind.BITAND:  # never above a side that is not negative
            high = min([high, *(side[1] for side in positive)])
            return (0 if positive else low), (-1 if len(negative) == 2 else high)
        case TermKind.BITOR:  # never below a side that is negative, nor below two that are not
            low = max([low, *(side[0] for side in (positive if len(positive) == 2 else negative))])
            return low, (-1 if negative else high)
        case _:
            same = len(positive) == 2 or len(negative) == 2
            return (0 if same else low), (-1 if positive and negative else high)


_ALL: Final = (-(1 << (WIDTH - 1)), (1 << (WIDTH - 1)) - 1)


def _range(term: Term) -> tuple[int, int]:
    """The static interval of what the operation sees of a term."""
    if term.low is None or term.high is None or not fits(term):
        return _ALL
    return term.low, term.high


# ------------------------------------------------------------------------------------------------ shifts
def _shift(kind: TermKind, a: Term, amount: Term) -> Term:
    if amount.kind is TermKind.CONST and (0 <= amount.value < WIDTH):
        factor = const(1 << amount.value)
        if kind is TermKind.SHR and fits(a):
            return floordiv(a, factor)
        widened = scale(factor.value, a)
        if kind is TermKind.SHL and fits(a) and fits(widened):
            return widened
    if a.kind is TermKind.CONST and amount.kind is TermKind.CONST:
        return const(number_of(kind, a.value, amount.value))
    if a is ZERO:
        return ZERO
    low, high = _shifted_interval(kind, a, amount)
    return make(kind, (a, amount), low=low, high=high)


def _shifted_interval(kind: TermKind, a: Term, amount: Term) -> tuple[int, int]:
    low, high = _range(a)
    if kind is TermKind.SHR:
        return min(low, 0), max(high, -1 if high < 0 else 0)
    least, most = _range(amount)
    if least >= 0 and most < WIDTH and _ALL[0] <= low << most and high << most <= _ALL[1]:
        return min(low << most, 0), max(high << most, 0)
    return _ALL
