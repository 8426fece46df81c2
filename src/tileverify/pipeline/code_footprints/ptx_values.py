"""What instructions of PTX compute, as terms, and what loops make of registers.

A register of N bits is the integer that its bits are in two's complement, a predicate a condition.  What is no integer,
or of no rule here, is ``None``: whoever executes puts a value in its place of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import Final, TypeAlias

from ...backend.compiled.ptx import Instruction
from ...contract import terms as t
from ...contract.terms import Sort, Term, TermKind
from ...contract.terms.evaluate import evaluate
from ...contract.terms.rendering import unsigned_reading
from ...contract.terms.sums import fits_signed
from ...contract.variables import BID, GRID

Values: TypeAlias = "Sequence[Term]"
Rule: TypeAlias = "Callable[[Instruction, Values], Term | None]"

WARP: Final = 32
_WIDTHS: Final = {f"{kind}{bits}": bits for kind in "bsu" for bits in (8, 16, 32, 64)}


def width_of(type_: str) -> int | None:
    """Bits of an integer type; ``None`` of all other types."""
    return _WIDTHS.get(type_)


def value(instruction: Instruction, sources: Values) -> Term | None:
    """What the instruction gives, of ``sources`` in the order of its operands; of a division, if that is not by 0."""
    rule = _RULES.get(instruction.opcode[0])
    if rule is None:
        return None
    integer = width_of(instruction.type) is not None or instruction.type == "pred"
    return rule(instruction, sources) if integer else None


def divides_by(instruction: Instruction, sources: Values) -> Term | None:
    """What it divides by."""
    integer = instruction.opcode[0] in ("div", "rem") and width_of(instruction.type) is not None
    return _as(instruction.type, sources[1]) if integer else None


# ------------------------------------------------------------------------------------------- readings
def signed(bits: int, term: Term) -> Term:
    """The lowest bits of ``term``, signed."""
    reading = unsigned_reading(term)
    return t.wrap(bits, term if reading is None or reading[0] < bits else reading[1])


def _as(type_: str, term: Term) -> Term:
    """The lowest bits of ``term``, signed or not, as the type says."""
    bits = _WIDTHS[type_]
    signed_ = signed(bits, term)
    return t.unsigned(bits, signed_) if type_[0] == "u" else signed_


def _number(term: Term) -> Term:
    return t.ite(term, t.ONE, t.ZERO) if term.sort is Sort.BOOL else term


def _as_condition(term: Term) -> Term:
    return term if term.sort is Sort.BOOL else t.not_(t.eq(term, t.ZERO))


def _bits(instruction: Instruction) -> int:
    return _WIDTHS[instruction.type]


def special(name: str, thread: Term, threads: int, cluster: int) -> Term | None:
    """What a special register holds for ``thread``: of a cluster, which makes one tile block, all threads count."""
    base, _, axis = name.partition(".")
    place = "xyz".index(axis) if axis in ("x", "y", "z") else 0
    size, parts = t.const(threads), cluster if place == 0 else 1
    rank = t.floordiv(thread, size) if parts > 1 else t.ZERO
    match base:
        case "%tid":
            return t.ZERO if place else thread if parts == 1 else t.floormod(thread, size)
        case "%clusterid":
            return BID[place]
        case "%nclusterid":
            return GRID[place]
        case "%ctaid":
            return t.add(t.scale(parts, BID[place]), rank)
        case "%nctaid":
            return t.scale(parts, GRID[place])
        case "%ntid":
            return size if place == 0 else t.ONE
        case "%laneid":
            return t.floormod(thread, t.const(WARP))
        case "%cluster_ctaid" | "%cluster_ctarank":
            return rank
        case "%cluster_nctaid" | "%cluster_nctarank":
            return t.const(parts)
    return None


# ------------------------------------------------------------------------------------------- arithmetic
def _add(instruction: Instruction, s: Values) -> Term | None:
    if instruction.has("cc") or instruction.has("sat"):
        return None
    return signed(_bits(instruction), t.add(s[0], s[1]))


def _sub(instruction: Instruction, s: Values) -> Term | None:
    if instruction.has("cc") or instruction.has("sat"):
        return None
    return signed(_bits(instruction), t.sub(s[0], s[1]))


def _product(instruction: Instruction, s: Values) -> tuple[Term, int]:
    """``mul`` without a sum: the part that the opcode asks for, and the bits of the result."""
    type_, bits = instruction.type, _bits(instruction)
    whole = t.mul(_as(type_, s[0]), _as(type_, s[1]))
    if instruction.has("wide"):
        return whole, 2 * bits
    if instruction.has("hi"):
        return t.floordiv(whole, t.const(1 << bits)), bits
    return t.mul(s[0], s[1]), bits


def _mul(instruction: Instruction, s: Values) -> Term | None:
    product, bits = _product(instruction, s)
    return signed(bits, product)


def _mad(instruction: Instruction, s: Values) -> Term | None:
    if instruction.has("cc") or instruction.has("sat"):
        return None
    product, bits = _product(instruction, s)
    return signed(bits, t.add(product, s[2]))


def _divided(by: Callable[[Term, Term], Term]) -> Rule:
    def rule(instruction: Instruction, s: Values) -> Term | None:
        a, b = (_as(instruction.type, each) for each in s)
        return signed(_bits(instruction), by(a, b))

    return rule


def _least(of: Callable[[Term, Term], Term]) -> Rule:
    def rule(instruction: Instruction, s: Values) -> Term | None:
        if instruction.has("relu"):
            return None
        found = _as(instruction.type, s[0])
        for each in s[1:]:
            found = of(found, _as(instruction.type, each))
        return signed(_bits(instruction), found)

    return rule


def _neg(instruction: Instruction, s: Values) -> Term | None:
    return signed(_bits(instruction), t.neg(s[0]))


def _abs(instruction: Instruction, s: Values) -> Term | None:
    return signed(_bits(instruction), t.maximum(s[0], t.neg(s[0])))


# ------------------------------------------------------------------------------------------- bits
def _power_in(term: Term) -> int:
    """A power of two that divides the term, the largest that shows."""
    match term.kind:
        case TermKind.CONST | TermKind.SUM:
            constant, parts = t.linear_parts(term)
            common = gcd(constant, *(factor * _power_in(part) for factor, part in parts))
            return common & -common if common else _EVERY
        case TermKind.PRODUCT:
            return prod(_power_in(each) for each in term.args)
        case TermKind.WRAP:
            return min(_power_in(term.args[0]), 1 << int(term.payload))
        case TermKind.ITE | TermKind.MOD:
            return min(map(_power_in, term.args[-2:]))
    return 1


_EVERY: Final = 1 << 66


def _apart(a: Term, b: Term) -> bool:
    """Whether no bit is set in both: one is a multiple of what the other is smaller than."""
    return any(
        small.low is not None and small.low >= 0 and small.high is not None and small.high < _power_in(large)
        for large, small in ((a, b), (b, a))
    )


def _logic(numbers: Callable[[Term, Term], Term], conditions: Callable[[Term, Term], Term], sums: bool) -> Rule:
    """``sums``: the operation is a sum where no bit is set in both."""

    def rule(instruction: Instruction, s: Values) -> Term | None:
        if instruction.type == "pred":
            return conditions(_as_condition(s[0]), _as_condition(s[1]))
        bits = _bits(instruction)
        a, b = (signed(bits, _number(each)) for each in s)
        if sums and _apart(a, b):
            return signed(bits, t.add(a, b))
        return signed(bits, numbers(a, b))

    return rule


def _exclusive(a: Term, b: Term) -> Term:
    return t.not_(t.iff(a, b))


def _not(instruction: Instruction, s: Values) -> Term | None:
    if instruction.type == "pred":
        return t.not_(_as_condition(s[0]))
    return t.sub(t.const(-1), s[0])


def _shl(instruction: Instruction, s: Values) -> Term | None:
    bits, amount = _bits(instruction), t.unsigned(32, signed(32, s[1]))
    if amount.kind is TermKind.CONST:
        return t.ZERO if amount.value >= bits else signed(bits, t.scale(1 << amount.value, s[0]))
    return t.ite(t.lt(amount, t.const(bits)), signed(bits, t.shift_left(s[0], amount)), t.ZERO)


def _shr(instruction: Instruction, s: Values) -> Term | None:
    bits, amount = _bits(instruction), t.unsigned(32, signed(32, s[1]))
    keeps_sign = instruction.type[0] == "s"
    read = _as(instruction.type if keeps_sign else f"u{bits}", s[0])
    most = t.const(bits - 1 if keeps_sign else bits)
    return signed(bits, t.shift_right(read, t.minimum(amount, most)))


def _bfe(instruction: Instruction, s: Values) -> Term | None:
    if s[1].kind is not TermKind.CONST or s[2].kind is not TermKind.CONST or instruction.type[0] != "u":
        return None
    bits, start, count = _bits(instruction), s[1].value & 0xFF, s[2].value & 0xFF
    return signed(bits, t.floormod(t.floordiv(_as(instruction.type, s[0]), t.const(1 << start)), t.const(1 << count)))


# ------------------------------------------------------------------------------------------- moves
def _mov(instruction: Instruction, s: Values) -> Term | None:
    if len(s) != 1:
        return None
    return _as_condition(s[0]) if instruction.type == "pred" else signed(_bits(instruction), _number(s[0]))


def _cvt(instruction: Instruction, s: Values) -> Term | None:
    target, source = instruction.opcode[-2:]
    if width_of(target) is None or width_of(source) is None or instruction.has("sat"):
        return None
    return signed(_WIDTHS[target], _as(source, s[0]))


def _selp(instruction: Instruction, s: Values) -> Term | None:
    if instruction.type == "pred":
        return t.ite(_as_condition(s[2]), _as_condition(s[0]), _as_condition(s[1]))
    return t.ite(_as_condition(s[2]), signed(_bits(instruction), s[0]), signed(_bits(instruction), s[1]))


_ORDERS: Final[dict[str, Callable[[Term, Term], Term]]] = {
    "eq": t.eq,
    "ne": lambda a, b: t.not_(t.eq(a, b)),
    "lt": t.lt,
    "le": t.le,
    "gt": lambda a, b: t.lt(b, a),
    "ge": lambda a, b: t.le(b, a),
    "lo": t.lt,
    "ls": t.le,
    "hi": lambda a, b: t.lt(b, a),
    "hs": lambda a, b: t.le(b, a),
}
_JOINED: Final = {"and": lambda a, b: t.and_(a, b), "or": lambda a, b: t.or_(a, b), "xor": _exclusive}


def _setp(instruction: Instruction, s: Values) -> Term | None:
    order, type_ = instruction.opcode[1], instruction.type
    if order not in _ORDERS:
        return None
    if order in ("lo", "ls", "hi", "hs"):
        type_ = f"u{_WIDTHS[type_]}"
    holds = _ORDERS[order](_as(type_, s[0]), _as(type_, s[1]))
    if len(s) == 2:
        return holds
    joined = _JOINED.get(instruction.opcode[2])
    return None if joined is None else joined(holds, _as_condition(s[2]))


_RULES: Final[dict[str, Rule]] = {
    "abs": _abs,
    "add": _add,
    "and": _logic(t.bit_and, lambda a, b: t.and_(a, b), sums=False),
    "bfe": _bfe,
    "cvt": _cvt,
    "div": _divided(t.truncdiv),
    "mad": _mad,
    "max": _least(t.maximum),
    "min": _least(t.minimum),
    "mov": _mov,
    "mul": _mul,
    "neg": _neg,
    "not": _not,
    "or": _logic(t.bit_or, lambda a, b: t.or_(a, b), sums=True),
    "rem": _divided(t.truncmod),
    "selp": _selp,
    "setp": _setp,
    "shl": _shl,
    "shr": _shr,
    "sub": _sub,
    "xor": _logic(t.bit_xor, _exclusive, sums=True),
}


# ---------------------------------------------------------------------------------------------------------- loop values
# What the registers that a loop changes hold as round k begins.
#
# r(k)  =  r(0) + k * step      where a round adds the same to it each time
# r(k)  =  what round k - 1 hands on, made of registers whose r(k - 1) is known


Registers: TypeAlias = "dict[str, Term]"


def closed(
    handed_on: Mapping[str, Term], standing: Mapping[str, Term], begins: Mapping[str, Term], number: Term, begun: int
) -> Registers:
    """The registers whose value in iteration ``number`` is known."""
    owners = {variable: name for name, variable in standing.items()}
    known: Registers = {}
    waiting = dict(handed_on)
    while True:
        found = {}
        for name, term in waiting.items():
            begin = begins.get(name)
            closed = None if begin is None else _closed_form(name, term, begin, standing, owners, known, number, begun)
            if closed is not None:
                found[name] = closed
        if not found:
            return known
        known |= found
        waiting = {name: term for name, term in waiting.items() if name not in known}


def _closed_form(
    name: str, term: Term, begin: Term, standing: Mapping[str, Term], owners: Mapping[Term, str], known: Registers,
    number: Term, begun: int,
) -> Term | None:  # fmt: skip
    own = standing[name]
    if term is own:
        return begin
    carried = {owners[each] for each in term.free if each in owners}
    if any(_made_inside(each, begun) for each in term.free):
        return None
    before = {standing[other]: t.substitute(known[other], {number: t.sub(number, t.ONE)})
              for other in carried if other in known}  # fmt: skip
    if name not in carried and carried <= known.keys():
        return t.ite(t.eq(number, t.ZERO), begin, t.substitute(term, before))
    bits, inner = (term.payload, term.args[0]) if term.kind is TermKind.WRAP else (None, term)
    step = t.sub(inner, own)
    if own in step.free or own.sort is Sort.BOOL:
        return None
    others = {owners[each] for each in step.free if each in owners}
    constant = {standing[other]: known[other] for other in others if other in known and number not in known[other].free}
    if len(constant) < len(others) or number in step.free:
        return None
    moved = t.add(begin, t.mul(number, t.substitute(step, constant)))
    if bits is None:
        return moved
    return signed(bits, moved) if fits_signed(begin, bits) else t.ite(t.eq(number, t.ZERO), begin, signed(bits, moved))


def _made_inside(term: Term, begun: int) -> bool:
    """Whether it is a value of which nothing is known, made after so many others."""
    if term.kind is not TermKind.APPLY:
        return False
    _, numbered, number = term.function.name.rpartition("#")
    return bool(numbered) and int(number) > begun


# ---------------------------------------------------------------------------------------------------------- loop counts
# The rounds of a loop that counts to a number that stands fast.
#
# Its counter v(k) = v(0) + k * step is looked at as round k ends, read as a number of N bits, signed or not:
#
#     goes on while  v(k) != end    last round (end - v(0)) / step      if that divides, and end is not behind v(0)
#     goes on while  v(k) < end     last round ceil((end - v(0)) / step), at least 0       step > 0
#     goes on while  v(k) > end     last round ceil((v(0) - end) / -step), at least 0      step < 0
#     goes on as long as k says     last round the first of which it says no
#
# if no v(k) that is looked at leaves the numbers of N bits.  That, and what stands behind "if", is the premise.


MOST_ROUNDS: Final = 256
"""That are gone through one by one."""


@dataclass(frozen=True, slots=True)
class RoundCount:
    """``reached``: where the round with the loop's number is made; ``last``: the number of the last one."""

    reached: Term
    last: Term
    premise: Term


@dataclass(frozen=True, slots=True)
class _Counter:
    """``value``: as an integer, of the round; ``first``: of round 0; ``low`` to ``high``: what its register holds."""

    value: Term
    first: Term
    step: Term
    low: int
    high: int


def counted(goes_on: Term, number: Term) -> RoundCount | None:
    """What is known of a loop whose round ``number`` is followed by another one where ``goes_on`` holds."""
    if goes_on.free == {number}:
        last = next((k for k in range(MOST_ROUNDS) if not evaluate(goes_on, {number: k})), None)
        return None if last is None else RoundCount(t.le(number, t.const(last)), t.const(last), t.TRUE)
    if goes_on.kind is TermKind.NOT and goes_on.args[0].kind is TermKind.EQ:
        for one, other in (goes_on.args[0].args, goes_on.args[0].args[::-1]):
            if (counter := _counter(one, number)) is not None and number not in other.free:
                return _until_equal(counter, other, number)
        return None
    if goes_on.kind not in (TermKind.LT, TermKind.LE):
        return None
    strict = goes_on.kind is TermKind.LT
    small, large = goes_on.args
    if (counter := _counter(small, number)) is not None and number not in large.free:
        return _while_below(counter, large if strict else t.add(large, t.ONE), number) if _grows(counter) else None
    if (counter := _counter(large, number)) is not None and number not in small.free:
        return _while_above(counter, small if strict else t.sub(small, t.ONE), number) if not _grows(counter) else None
    return None


def _counter(term: Term, number: Term) -> _Counter | None:
    if term.kind is TermKind.WRAP:
        half = 1 << term.payload - 1
        low, high, value = -half, half - 1, term.args[0]
    elif (reading := unsigned_reading(term)) is not None:
        low, high = 0, (1 << reading[0]) - 1
        inner = reading[1]
        value = inner.args[0] if inner.kind is TermKind.WRAP and inner.payload == reading[0] else inner
    else:
        return None
    first, second = (t.substitute(value, {number: each}) for each in (t.ZERO, t.ONE))
    step = t.sub(second, first)
    if number in step.free or t.add(first, t.mul(number, step)) is not value or step.low is None or step.high is None:
        return None
    return _Counter(value, first, step, low, high) if step.low > 0 or step.high < 0 else None


def _grows(c: _Counter) -> bool:
    return c.step.low is not None and c.step.low > 0


def _until_equal(c: _Counter, end: Term, number: Term) -> RoundCount:
    way = t.sub(end, c.first) if _grows(c) else t.sub(c.first, end)
    step = c.step if _grows(c) else t.neg(c.step)
    premise = t.and_(
        t.le(t.ZERO, way), t.eq(t.floormod(way, step), t.ZERO), t.le(t.const(c.low), c.first),
        t.le(c.first, t.const(c.high)),
    )  # fmt: skip
    return RoundCount(t.le(t.mul(number, step), way), t.floordiv(way, step), premise)


def _while_below(c: _Counter, end: Term, number: Term) -> RoundCount:
    before = t.substitute(c.value, {number: t.sub(number, t.ONE)})
    reached = t.or_(t.eq(number, t.ZERO), t.lt(before, end))
    last = t.maximum(t.ZERO, t.ceildiv(t.sub(end, c.first), c.step))
    furthest = t.add(end, t.sub(c.step, t.ONE))
    fits = (t.le(t.const(c.low), c.first), t.le(c.first, t.const(c.high)), t.le(furthest, t.const(c.high)))
    return RoundCount(reached, last, t.and_(*fits))


def _while_above(c: _Counter, end: Term, number: Term) -> RoundCount:
    before = t.substitute(c.value, {number: t.sub(number, t.ONE)})
    reached = t.or_(t.eq(number, t.ZERO), t.lt(end, before))
    last = t.maximum(t.ZERO, t.ceildiv(t.sub(c.first, end), t.neg(c.step)))
    furthest = t.add(end, t.add(c.step, t.ONE))
    fits = (t.le(c.first, t.const(c.high)), t.le(t.const(c.low), c.first), t.le(t.const(c.low), furthest))
    return RoundCount(reached, last, t.and_(*fits))
