"""Reductions and scans that have one result, in whatever order an implementation combines the lanes.

"Either side may be an element, the identity or a partial result" (Tile IR specification, `reduce`, `scan`): the order
is the implementation's, and so is how often the identity takes part.  All ways give one result where, of the body ``f``
and the identity ``e``,

    f(f(a, b), c) = f(a, f(b, c))        f(a, b) = f(b, a)        f(e, x) = x

That is known of one op beside the identity of its declaration (rounding apart), also of magnitudes, as
in ``max(|a|, |b|)``, where two lanes or more are reduced: x is then a magnitude.  `combining_choices` finds it out of
bodies that compare and choose, `combining_sums` of those that add and multiply.  A scan keeps the order of its lanes,
so that the second law is not asked of it.  Any other body is taken for one that breaks the laws.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from math import prod
from operator import and_, or_, xor
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from ..bytecode.assembly_text import FORMATS, is_finite, is_nan, is_negative, magnitude
from ..bytecode.model import Block, FloatAttribute, IntegerAttribute, Op, TileType, Value
from .machine import element_bits, shape_of

Identity: TypeAlias = "IntegerAttribute | FloatAttribute"

_INFINITE: Final = float("inf")


def has_one_result(op: Op, makers: Mapping[Value, Op] = MappingProxyType({})) -> bool:
    """Whether the laws are known to hold of ``op``, a `reduce` or `scan`; ``makers``: the ops that its inputs come
    from, as far as they are known."""
    body, identities = op.regions[0].blocks[0], op.attributes["ident"]
    magnitudes = {each.result: each.value("s") for each in body.ops if each.name == "absf"}
    rest = [each for each in body.ops[:-1] if each.result not in magnitudes]
    if len(rest) != 1 or rest[0].declaration.identity is None or len(body.arguments) != 2:
        return _keeps_laws(op, [_is_numbered(op, each, makers) for each in op.group("inputs")])
    first, number = rest[0], _number(identities[0])
    taken = [first.value("lhs"), first.value("rhs")]
    if body.terminator.group("args") != first.results or number is None:
        return False
    if not magnitudes:
        return set(taken) == set(body.arguments) and number == _identity(first, identities[0].type.bits)
    # One lane is as it is, or its magnitude.
    several = op.name == "reduce" and shape_of(op.group("inputs")[0])[op.attributes["dim"]] > 1
    neutral = _identity(first, 0) if first.declaration.algebra != "maximum" else 0
    return several and {magnitudes.get(each) for each in taken} == set(body.arguments) and abs(number) == neutral


def _identity(op: Op, bits: int) -> int | float:
    """The identity of ``op``; integers of ``bits`` bits are read as signed (an i1 as 0 or 1)."""
    match op.declaration.identity:
        case "one":
            return 1
        case "ones":
            return 1 if bits == 1 else -1
        case "least":
            return _ends(op.attributes["sgn"], bits)[0] if "sgn" in op.attributes else -_INFINITE
        case "greatest":
            return _ends(op.attributes["sgn"], bits)[1] if "sgn" in op.attributes else _INFINITE
    return 0


def plain_sum(op: Op) -> Op | None:
    """The addition of integers that is all that ``op``, a `reduce` or `scan`, does beside the identity 0."""
    body, identities = op.regions[0].blocks[0], op.attributes["ident"]
    first = body.ops[0]
    if len(body.ops) != 2 or first.name != "addi" or not isinstance(identities[0], IntegerAttribute):
        return None
    operands, handed_on = {first.value("lhs"), first.value("rhs")}, body.terminator.group("args")
    plain = operands == set(body.arguments) and handed_on == first.results
    return first if plain and len(body.arguments) == 2 and identities[0].value == 0 else None


Number: TypeAlias = "int | float | Fraction"


def _ends(signedness: str, bits: int) -> tuple[int, int]:
    """The least and the greatest number, as numbers that are read as signed."""
    if bits == 1:
        return (0, 1) if signedness == "unsigned" else (1, 0)
    return (0, -1) if signedness == "unsigned" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def _number(identity: Identity) -> Number | None:
    """What ``identity`` stands for; None is NaN."""
    if isinstance(identity, IntegerAttribute):
        return identity.value
    form = FORMATS[identity.type.name]
    if is_nan(identity.bits, form):
        return None
    negative = identity.overlong or is_negative(identity.bits, form)  # the sign that was meant
    size = magnitude(identity.bits, form) if is_finite(identity.bits, form) else _INFINITE
    return -size if negative else size


def _is_numbered(op: Op, value: Value, makers: Mapping[Value, Op]) -> bool:
    """Whether the lanes of an input are 0, 1, 2, ... along the dimension that is combined, and none of them wraps."""
    dim: int = op.attributes["dim"]
    count = shape_of(value)[dim]
    if not isinstance(value.type, TileType) or count > 1 << (element_bits(value) - 1):
        return False
    while (maker := makers.get(value)) is not None and shape_of(value)[dim : dim + 1] == (count,):
        if maker.name == "iota":
            return dim == 0
        if maker.name == "reshape":
            source = maker.value("s")
            alone = prod(shape_of(value)) == count and shape_of(source) == (count,)
            return alone and source in makers and makers[source].name == "iota"
        if maker.name != "broadcast":
            return False
        value = maker.value("s")
    return False


def _keeps_laws(op: Op, numbered: Sequence[bool]) -> bool:
    """``numbered``: the inputs whose lanes are numbered from 0 along the combined dimension."""
    body = op.regions[0].blocks[0]
    identities: Sequence[Identity] = op.attributes["ident"]
    commutes = op.name == "reduce"
    count = shape_of(op.group("inputs")[0])[op.attributes["dim"]]
    first = next((number for number, each in enumerate(identities) if numbered[number]), None)

    def ranks(signs: Mapping[int, str]) -> Sequence[IdentityRank]:
        found = []
        for number, each in enumerate(identities):
            own = _rank(each, signs.get(number, "signed"))
            if not numbered[number]:
                found.append(IdentityRank(own))
                continue
            unsigned = signs.get(number) == "unsigned"
            assert isinstance(each, IntegerAttribute), "floats are not numbered"
            value = each.value % (1 << each.type.bits) if unsigned else each.value
            found.append(IdentityRank(own, _lane_ranks(own, value, count, has_lane=commutes and number == first)))
        return found

    try:
        floats = [isinstance(each, FloatAttribute) for each in identities]
        return chooses_by_laws(body, floats, ranks, commutes=commutes)
    except OtherBody:
        pass
    numbers = [_number(each) for each in identities]
    finite = [each for each in numbers if each is not None and abs(each) != _INFINITE]
    try:
        return len(finite) == len(numbers) and adds_by_laws(body, finite, commutes=commutes)
    except OtherBody:
        return False


def _lane_ranks(own: int, identity: int, count: int, *, has_lane: bool) -> frozenset[int]:
    """The ranks of lanes that are numbered from 0 to ``count`` - 1, of which the identity law is asked beside an
    ``identity`` of rank ``own``; ``has_lane``: of the lane alone whose number it is, where there is one."""
    if 0 <= identity < count:
        return frozenset({own}) if has_lane else frozenset(RANKS)
    return frozenset(rank for rank in RANKS if (rank < own if identity > 0 else rank > own))


def _rank(identity: Identity, signedness: str) -> int:
    """Whether the identity of an input is the least or the greatest that it can hold."""
    value = _number(identity)
    if value is None:
        return NAN
    if isinstance(identity, FloatAttribute):
        lowest, highest = -_INFINITE, _INFINITE
    else:
        lowest, highest = _ends(signedness, identity.type.bits)
    return LOWEST if value == lowest else HIGHEST if value == highest else BETWEEN


# ---------------------------------------------------------------------------------------------------- combining choices
# Reductions whose body compares and chooses alone, as that of an argmax.
#
# Such a body makes the same choice for all numbers that stand in the same order to each other, so that three ranks and
# NaN, for each input, stand for all numbers there are: the laws of `combining` are tried on all of them.
#
# ``f(e, x) = x`` is asked of every tuple x without NaN, also of one that equals e in some inputs alone: beside the
# identity (-inf, 0) an argmax of (-inf, 7) gives 7 or 0.  One lane that e leaves as it is suffices, though, where all
# lanes are combined: ``f(e, f(x, y)) = f(f(e, x), y)``.  `cuda.tile.argmax` has such a lane, the one with the number 0.


LOWEST, BETWEEN, HIGHEST, NAN = range(4)
RANKS: Final = (LOWEST, BETWEEN, HIGHEST)
_MOST_CASES: Final = 1 << 16

Ranks: TypeAlias = tuple[int, ...]
"""Of each rank a mask: bit i says that the value has this rank in case i."""


class OtherBody(Exception):
    """The body does something else."""


class IdentityRank(NamedTuple):
    """The rank of the identity of one input, and those that a lane may have of which the identity law is asked."""

    own: int
    lanes: frozenset[int] = frozenset(RANKS)


def chooses_by_laws(
    body: Block, floats: Sequence[bool], ranks: Callable[[Mapping[int, str]], Sequence[IdentityRank]], *, commutes: bool
) -> bool:
    """Whether the laws hold of ``body``, without the second one if it is not asked (``commutes``).

    ``floats``: which inputs are floats.  ``ranks``: of each identity among the numbers that its input can hold, if
    integers are compared as signed or unsigned as it is told.  Raises `OtherBody`.
    """
    sizes = [len(RANKS) + each for each in floats]
    cases = prod(sizes) ** 3
    if cases > _MOST_CASES:
        return False
    full = (1 << cases) - 1
    a, b, c = (_lanes(sizes, number, cases) for number in range(3))
    signs: dict[int, str] = {}

    def combine(left: Sequence[Ranks], right: Sequence[Ranks]) -> list[Ranks]:
        return _choices(body, left, right, full, signs)

    def same(one: Sequence[Ranks], other: Sequence[Ranks]) -> int:
        return reduce(and_, map(_equal, one, other), full)

    ab = combine(a, b)
    laws = same(combine(ab, c), combine(a, combine(b, c)))
    if commutes:
        laws &= same(ab, combine(b, a))
    places = ranks(signs)
    e = [tuple(full if rank == place.own else 0 for rank in (*RANKS, NAN)) for place in places]
    neutral = same(combine(e, a), a) & same(combine(a, e), a)
    asked = full
    for place, lanes in zip(places, a, strict=True):
        asked &= reduce(or_, (lanes[rank] for rank in place.lanes))
    return all(place.own != NAN for place in places) and laws == full and asked & ~neutral == 0


def _lanes(sizes: Sequence[int], number: int, cases: int) -> list[Ranks]:
    """The ranks of the ``number``-th of three lanes of all inputs: all that there can be are among the cases."""
    found, step = [], prod(sizes) ** number
    for size in sizes:
        period, run = step * size, (1 << step) - 1
        often = ((1 << cases) - 1) // ((1 << period) - 1)  # a bit in the first case of each period
        found.append(tuple(often * (run << rank * step) if rank < size else 0 for rank in range(4)))
        step = period
    return found


def _choices(
    body: Block, left: Sequence[Ranks], right: Sequence[Ranks], full: int, signs: dict[int, str]
) -> list[Ranks]:
    """What the body makes of two lanes of each input.  ``signs``: as what the integers of each are compared.

    Raises `OtherBody`.
    """
    chosen: dict[Value, tuple[int, Ranks]] = {}  # of which input a value is, and its ranks
    true: dict[Value, int] = {}  # the cases in which a condition holds
    for number, value in enumerate(body.arguments):
        chosen[value] = number // 2, (right if number % 2 else left)[number // 2]
    try:
        for op in body.ops[:-1]:
            match op.declaration.algebra:
                case "comparison":
                    (number, one), (other_number, other) = chosen[op.value("lhs")], chosen[op.value("rhs")]
                    sign = op.attributes.get("sgn", "")
                    if number != other_number or signs.setdefault(number, sign) != sign:
                        raise OtherBody
                    true[op.result] = _compared(op, one, other, full)
                case "and" | "or" | "xor" as join:
                    true[op.result] = _BOOLEAN[join](true[op.value("lhs")], true[op.value("rhs")])
                case "choice":
                    condition = true[op.value("c")]
                    (number, one), (other_number, other) = chosen[op.value("t")], chosen[op.value("f")]
                    if number != other_number:
                        raise OtherBody
                    ranks = ((condition & yes) | (full & ~condition & no) for yes, no in zip(one, other, strict=True))
                    chosen[op.result] = number, tuple(ranks)
                case _:
                    raise OtherBody
        results = [chosen[value] for value in body.terminator.group("args")]
    except KeyError:  # a value from elsewhere, or a choice between conditions
        raise OtherBody from None
    if [number for number, _ in results] != list(range(len(left))):
        raise OtherBody
    return [ranks for _, ranks in results]


_BOOLEAN: Final[Mapping[str, Callable[[int, int], int]]] = {"and": and_, "or": or_, "xor": xor}


def _equal(one: Ranks, other: Ranks) -> int:
    """The cases in which both have one rank; NaN is NaN."""
    return reduce(or_, (x & y for x, y in zip(one, other, strict=True)))


def _compared(op: Op, one: Ranks, other: Ranks, full: int) -> int:
    """The cases in which the comparison holds."""
    unordered = one[NAN] | other[NAN]
    less, greater = (
        reduce(or_, (x[low] & y[high] for low in RANKS for high in RANKS if low < high))
        for x, y in ((one, other), (other, one))
    )
    equal = full & ~(less | greater | unordered)
    found = {
        "equal": equal,
        "not_equal": less | greater,
        "less_than": less,
        "less_than_or_equal": less | equal,
        "greater_than": greater,
        "greater_than_or_equal": greater | equal,
    }[op.attributes["pred"]]
    return found | unordered if op.attributes.get("fcmp") == "unordered" else found


# ------------------------------------------------------------------------------------------------------- combining sums
# Reductions and scans whose body adds and multiplies alone, as that of a linear recurrence.
#
# Each result is a polynomial in the lanes, and the laws of `combining` hold where they hold of polynomials: of integers
# that wrap, too, and of floats but for rounding.


Polynomial: TypeAlias = Mapping[tuple[str, ...], Fraction]
"""The coefficient of each product of variables, in order; none of them is 0."""

_MOST_TERMS: Final = 200


def adds_by_laws(body: Block, identities: Sequence[int | float | Fraction], *, commutes: bool) -> bool:
    """Whether the laws hold of ``body``, without the second one if it is not asked.  Raises `OtherBody`."""
    a, b, c = (_variables(name, len(identities)) for name in "abc")
    e: list[Polynomial] = [{(): Fraction(each)} if each else {} for each in identities]
    ab = _results(body, a, b)
    if commutes and ab != _results(body, b, a):
        return False
    associative = _results(body, ab, c) == _results(body, a, _results(body, b, c))
    return associative and _results(body, e, a) == a == _results(body, a, e)


def _variables(name: str, count: int) -> list[Polynomial]:
    return [{(f"{name}{number}",): Fraction(1)} for number in range(count)]


def _results(body: Block, left: Sequence[Polynomial], right: Sequence[Polynomial]) -> list[Polynomial]:
    known: dict[Value, Polynomial] = {}
    for number, value in enumerate(body.arguments):
        known[value] = (right if number % 2 else left)[number // 2]
    try:
        for op in body.ops[:-1]:
            known[op.result] = _made(op, known)
        return [known[value] for value in body.terminator.group("args")]
    except KeyError:  # a value from elsewhere
        raise OtherBody from None


def _made(op: Op, known: Mapping[Value, Polynomial]) -> Polynomial:
    match op.declaration.algebra:
        case "sum":
            return _sum(known[op.value("lhs")], known[op.value("rhs")])
        case "difference":
            return _sum(known[op.value("lhs")], _negated(known[op.value("rhs")]))
        case "product":
            return _product(known[op.value("lhs")], known[op.value("rhs")])
        case "fused":
            return _sum(_product(known[op.value("lhs")], known[op.value("rhs")]), known[op.value("acc")])
        case "negation":
            return _negated(known[op.value("s")])
    raise OtherBody


def _sum(one: Polynomial, other: Polynomial) -> Polynomial:
    result = defaultdict(Fraction, one)
    for product, coefficient in other.items():
        result[product] += coefficient
    return {product: coefficient for product, coefficient in result.items() if coefficient}


def _negated(one: Polynomial) -> Polynomial:
    return {product: -coefficient for product, coefficient in one.items()}


def _product(one: Polynomial, other: Polynomial) -> Polynomial:
    if len(one) * len(other) > _MOST_TERMS:
        raise OtherBody
    result: Polynomial = {}
    for left, factor in one.items():
        result = _sum(result, {tuple(sorted(left + right)): factor * each for right, each in other.items()})
    return result
