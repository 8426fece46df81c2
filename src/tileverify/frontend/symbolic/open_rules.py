"""Which lanes of an op's result are *open*: left to the implementation by the specification.

``open(v)`` is a boolean term over the lanes of ``v`` and stands for

    load of a view without padding    the lane lies outside the layout
    load through masked pointers      not mask, without a padding value; else the padding value's own
    masked atomic                     not mask
    select(c, a, b)                   c ? open(a) : open(b), or open(c)
    a and b, of booleans              open(a) where b holds, if b is not open itself (a false b decides); dually for or
    moving lanes                      open(source) at the lane that is moved
    reduce, scan, matrix product      some lane that goes into it is open; all, where its order decides (`combining`)
    inline assembly                   some lane of some operand is; all, unless it is known to compute only
    everything else                   some operand is: a product with 0 may still be NaN

"Some lane" is a fresh variable: openness is only ever asked for, never denied, so that a question in which it occurs
holds for some value of the variable just where such a lane exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from ...contract.terms import (
    FALSE,
    TRUE,
    ZERO,
    Term,
    TermKind,
    add,
    and_,
    const,
    floordiv,
    le,
    lt,
    not_,
    or_,
    scale,
    sub,
    substitute,
)
from ..bytecode.inline_assembly import only_computes
from ..bytecode.model import ASSEMBLY, Op, TileType, Value
from .combining import has_one_result
from .integers import zero_extended
from .machine import element_bits, shape_of
from .summary import Site, ViewFootprint
from .values import lane, moved, permuted, reshaped

if TYPE_CHECKING:
    from .open_values import OpenValues

OpenRule: TypeAlias = "Callable[[OpenValues, Op], Term]"


def values_of(op: Op) -> Iterator[Value]:
    """Every operand, those of groups included."""
    for operand in op.operands.values():
        if isinstance(operand, tuple):
            yield from operand
        elif operand is not None:
            yield operand


def asks_machine(op: Op) -> bool:
    """Whether it is inline assembly that may depend on more than its operands and the number of its block."""
    return not op.is_function and not only_computes(op.attributes["callee"].removeprefix(ASSEMBLY))


def result_open(o: OpenValues, op: Op) -> Term:
    """The open lanes of every result of ``op``, which has no branch or loop inside and touches no memory."""
    if not op.regions and not asks_machine(op) and not o.any_of(op):
        return FALSE
    return RULES.get(op.name, _elementwise)(o, op)


def inside(place: ViewFootprint) -> Term:
    """The lanes that lie inside the layout.

    Nothing is said of dimensions of one element per tile, whose index is in the index space (TV301), and of those with
    a promise of whole tiles inside (TV303).
    """
    limits = []
    for d, dim in enumerate(place.dim_map):
        by_element = place.index_space[d] is None
        if (place.tile[d] > 1 or by_element) and not place.inbounds[d]:
            limits.append((place.coordinates[dim], place.shape[dim]))
    return and_(*(and_(le(ZERO, c), lt(c, size)) for c, size in limits))


def outside(place: ViewFootprint) -> Term:
    """All other lanes."""
    within = inside(place)
    return or_(*map(not_, within.args)) if within.kind is TermKind.AND else not_(within)


def live_lanes(site: Site) -> Term:
    """The lanes of an access that touch memory."""
    place = site.footprint
    return and_(site.in_mask, inside(place)) if isinstance(place, ViewFootprint) else site.in_mask


def _shape(value: Value) -> tuple[int, ...]:
    return value.type.shape if isinstance(value.type, TileType) else ()


def any_lane(o: OpenValues, op: Op, value: Value, which: str = "") -> Term:
    """Whether some lane of ``value`` is open."""
    return _at(o, op, value, [o.some(op, f"{which}{d}", size) for d, size in enumerate(_shape(value))])


def _at(o: OpenValues, op: Op, value: Value, coordinates: Sequence[Term]) -> Term:
    """The openness of one lane of ``value``."""
    found = o.of(value)
    return found if found is FALSE else substitute(found, moved(_shape(value), coordinates))


def _elementwise(o: OpenValues, op: Op) -> Term:
    shape = _shape(op.results[0])
    return or_(
        *(
            o.of(value) if _shape(value) == shape else any_lane(o, op, value, f"{number}.")
            for number, value in enumerate(values_of(op))
        )
    )


# -------------------------------------------------------------------------------------------- moving lanes
def _same(o: OpenValues, op: Op) -> Term:
    return o.of(op.value("s"))


def _reshape(o: OpenValues, op: Op) -> Term:
    source = op.value("s")
    return substitute(o.of(source), reshaped(shape_of(source), shape_of(op.result)))


def _permute(o: OpenValues, op: Op) -> Term:
    source = op.value("s")
    return substitute(o.of(source), permuted(shape_of(source), op.attributes["perm"]))


def _cat(o: OpenValues, op: Op) -> Term:
    left, right = op.value("lhs"), op.value("rhs")
    dim, size, shape = op.attributes["dim"], shape_of(left)[op.attributes["dim"]], shape_of(op.result)
    position = lane(dim, shape[dim])
    in_left = lt(position, const(size))

    def along(source: Value, coordinate: Term) -> Term:
        return _at(o, op, source, [coordinate if d == dim else lane(d, n) for d, n in enumerate(_shape(source))])

    return or_(and_(in_left, along(left, position)), and_(not_(in_left), along(right, sub(position, const(size)))))


def _starts(o: OpenValues, op: Op, part: Sequence[int]) -> list[Term]:
    """First element of the subtile per dimension; an open index is a fault of its own."""
    index = op.group("index")
    return [scale(part[d], zero_extended(o.m, o.m.term(each), element_bits(each))) for d, each in enumerate(index)]


def _extract(o: OpenValues, op: Op) -> Term:
    source, part = op.value("s"), shape_of(op.result)
    return _at(o, op, source, [add(start, lane(d, part[d])) for d, start in enumerate(_starts(o, op, part))])


def _insert(o: OpenValues, op: Op) -> Term:
    source, target = op.value("s"), op.value("dest")
    whole, part = shape_of(target), shape_of(source)
    offsets = [sub(lane(d, whole[d]), start) for d, start in enumerate(_starts(o, op, part))]
    covered = and_(*(and_(le(ZERO, at), lt(at, const(part[d]))) for d, at in enumerate(offsets)))
    return or_(and_(covered, _at(o, op, source, offsets)), and_(not_(covered), o.of(target)))


def _repack(o: OpenValues, op: Op) -> Term:
    """Each element of the result is a part of one element of the source, or made of several."""
    source = op.value("s")
    before, after = shape_of(source)[0], shape_of(op.result)[0]
    here = lane(0, after)
    if after >= before:
        return _at(o, op, source, [floordiv(here, const(after // before))])
    parts = before // after
    return _at(o, op, source, [add(scale(parts, here), o.some(op, "part", parts))])


# ------------------------------------------------------------------------------------------------ choosing
def _select(o: OpenValues, op: Op) -> Term:
    condition = o.m.term(op.value("c"))
    then, otherwise = o.of(op.value("t")), o.of(op.value("f"))
    return or_(and_(condition, then), and_(not_(condition), otherwise), o.of(op.value("c")))


def _and(o: OpenValues, op: Op) -> Term:
    return _decided_by(o, op, lambda other: other)


def _or(o: OpenValues, op: Op) -> Term:
    return _decided_by(o, op, not_)


def _decided_by(o: OpenValues, op: Op, leaves_open: Callable[[Term], Term]) -> Term:
    """Of booleans: one side alone may decide, if it is not open itself."""
    left, right = op.value("lhs"), op.value("rhs")
    if element_bits(op.result) == 1:
        if o.of(left) is FALSE:
            return and_(o.of(right), leaves_open(o.m.term(left)))
        if o.of(right) is FALSE:
            return and_(o.of(left), leaves_open(o.m.term(right)))
    return or_(o.of(left), o.of(right))


# ----------------------------------------------------------------------------------------------- combining
def _reduce(o: OpenValues, op: Op) -> Term:
    dim = op.attributes["dim"]
    size = shape_of(op.group("inputs")[0])[dim]
    return _combined(o, op, o.some(op, "along", size), keep=False)


def _scan(o: OpenValues, op: Op) -> Term:
    dim = op.attributes["dim"]
    size = shape_of(op.group("inputs")[0])[dim]
    before, here = o.some(op, "along", size), lane(dim, size)
    earlier = le(here, before) if op.attributes["reverse"] else le(before, here)
    return and_(earlier, _combined(o, op, before, keep=True))


def _combined(o: OpenValues, op: Op, along: Term, *, keep: bool) -> Term:
    """Whether an input is open at ``along`` in the combined dimension, or the body uses what is open everywhere."""
    if not has_one_result(op, o.makers):
        return TRUE
    dim = op.attributes["dim"]
    parts = []
    for value in op.group("inputs"):
        shape = shape_of(value)
        result = [n for d, n in enumerate(shape) if keep or d != dim]
        kept = [lane(d, n) for d, n in enumerate(result)]
        if not keep:
            kept.insert(dim, along)
        else:
            kept[dim] = along
        parts.append(_at(o, op, value, kept))
    body = op.regions[0].blocks[0]
    return or_(*parts, *(o.of(value) for value in values_of(body.ops[-1])))


def _product(o: OpenValues, op: Op) -> Term:
    """A lane of a product depends on one row of ``lhs``, one column of ``rhs`` and one lane of ``acc``."""
    parts = [o.of(op.value("acc"))]
    for name, axis in (("lhs", -1), ("rhs", -2), ("ls", -1), ("rs", -2)):
        if name in op.operands:
            value = op.value(name)
            shape = shape_of(value)
            coordinates = [lane(d, n) for d, n in enumerate(shape)]
            coordinates[axis] = o.some(op, name, shape[axis])
            parts.append(_at(o, op, value, coordinates))
    return or_(*parts)


def _called(o: OpenValues, op: Op) -> Term:
    """Inline assembly may work on several lanes at a time, so that one open lane opens its neighbours.  All lanes are
    open where it may ask a clock."""
    if op.is_function:
        return _elementwise(o, op)
    if asks_machine(op):
        return TRUE
    return or_(*(any_lane(o, op, value, f"{number}.") for number, value in enumerate(values_of(op))))


RULES: Final[dict[str, OpenRule]] = {
    "broadcast": _same,
    "reshape": _reshape,
    "permute": _permute,
    "cat": _cat,
    "extract": _extract,
    "insert": _insert,
    "pack": _repack,
    "unpack": _repack,
    "select": _select,
    "andi": _and,
    "ori": _or,
    "reduce": _reduce,
    "scan": _scan,
    "mmaf": _product,
    "mmai": _product,
    "mmaf_scaled": _product,
    "opaque": _called,
}
