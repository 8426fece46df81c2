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

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod
from types import MappingProxyType
from typing import Final, TypeAlias

from ..bytecode.floattext import FORMATS, is_finite, is_nan, is_negative, magnitude
from ..bytecode.model import FloatAttribute, IntegerAttribute, Op, TileType, Value
from .combining_choices import BETWEEN, HIGHEST, LOWEST, NAN, RANKS, IdentityRank, OtherBody, chooses_by_laws
from .combining_sums import adds_by_laws
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
