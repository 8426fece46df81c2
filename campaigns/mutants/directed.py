"""The mistakes that people make in kernels, one small change each: what `mutators` draws at random, aimed.

An index operand swapped, a constant off by one, a comparison weakened, a loop bound shifted, a scope lowered, an order
relaxed, a tile or a stride of another size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any, Final

from tests.soundness.edits import Site, integer_bits, made_constant, made_op, sites
from tests.tiles import tile_of

from tileverify.frontend.bytecode.builder import constant
from tileverify.frontend.bytecode.model import (
    Constant,
    Entry,
    GatherScatterViewType,
    Op,
    PartitionViewType,
    StridedViewType,
    TileType,
    Type,
    Value,
)

_ATOMIC: Final = ("atomic_rmw_tko", "atomic_cas_tko", "atomic_red_view_tko")
_WEAKER: Final = {
    "less_than": "less_than_or_equal",
    "greater_than": "greater_than_or_equal",
    "less_than_or_equal": "less_than",
    "greater_than_or_equal": "greater_than",
    "equal": "not_equal",
    "not_equal": "equal",
}
"""A comparison that takes in one number more, or leaves one out; the first are the usual mistake."""
_ORDER: Final = {
    "acq_rel": ("acquire", "release", "relaxed"),
    "acquire": ("relaxed",),
    "release": ("relaxed",),
    "relaxed": ("weak",),
}
_NOT_COMMUTATIVE: Final = ("subi", "divi", "remi", "shli", "shri")


def swap_indices(entry: Entry, site: Site, random: Random) -> str | None:
    """Two indices of a view access change places, or the sides of an op that is not commutative."""
    op = site.op
    if op.name in _NOT_COMMUTATIVE:
        lhs, rhs = op.value("lhs"), op.value("rhs")
        op.operands = {**op.operands, "lhs": rhs, "rhs": lhs}
        return f"{op.name}: sides swapped" if lhs is not rhs else None
    index = op.operands.get("index")
    if not isinstance(index, tuple) or len(index) < 2:
        return None
    pairs = [
        (one, other)
        for one in range(len(index))
        for other in range(one)
        if index[one] is not index[other] and index[one].type == index[other].type
    ]
    if not pairs:
        return None
    one, other = random.choice(pairs)
    swapped = list(index)
    swapped[one], swapped[other] = swapped[other], swapped[one]
    op.operands = {**op.operands, "index": tuple(swapped)}
    return f"{op.name}: index {other} and {one} swapped"


def off_by_one(entry: Entry, site: Site, random: Random) -> str | None:
    """An integer constant is one more or less."""
    kind = site.op.results[0].type if site.op.name == "constant" else None
    if not isinstance(kind, TileType) or integer_bits(kind) < 2:
        return None
    old = site.op.attributes["value"]
    assert isinstance(old, Constant)
    step = random.choice((1, -1))
    values = [old.element(place) + step for place in range(1 if old.is_splat else old.count)]
    site.set_attribute("value", constant(kind, *values))
    return f"constant {values[0] - step} becomes {values[0]}"


def weaken_comparison(entry: Entry, site: Site, random: Random) -> str | None:
    if site.op.name != "cmpi" or integer_bits(site.op.value("lhs").type) < 2:
        return None
    old = site.op.attributes["pred"]
    site.set_attribute("pred", _WEAKER[old])
    return f"cmpi: {old} becomes {_WEAKER[old]}"


def shift_bound(entry: Entry, site: Site, random: Random) -> str | None:
    """A bound or the step of a ``for`` is one more or less."""
    if site.op.name != "for":
        return None
    name, by = random.choice(("upper", "upper", "lower", "step")), random.choice((1, -1))
    value = site.op.value(name)
    kind = value.type
    assert isinstance(kind, TileType)
    step = made_constant(kind, by)
    moved = made_op("addi", kind, {"lhs": value, "rhs": step.result}, {"ovf": "none"})
    site.insert_before(step, moved)
    site.set_operand((name, None), moved.result)
    return f"{site.op.name}: {name} {by:+}"


def lower_scope(entry: Entry, site: Site, random: Random) -> str | None:
    old = site.op.attributes.get("scope")
    if old not in ("device", "sys"):
        return None
    new = "tl_blk" if old == "device" else random.choice(("tl_blk", "device"))
    site.set_attribute("scope", new)
    return f"{site.op.name}: scope {old} becomes {new}"


def relax_order(entry: Entry, site: Site, random: Random) -> str | None:
    old = site.op.attributes.get("ord")
    weaker = [new for new in _ORDER.get(str(old), ()) if new != "weak" or site.op.name not in _ATOMIC]
    if not weaker:
        return None
    new = random.choice(weaker)
    site.set_attribute("ord", new)
    if new == "weak":
        site.set_attribute("scope", None)
        site.op.flags = site.op.flags - {"scope"}
    return f"{site.op.name}: {old} becomes {new}"


# ---------------------------------------------------------------------------------------- tiles and strides
def scale_stride(entry: Entry, site: Site, random: Random) -> str | None:
    """A stride of a tensor view, or the factor of a product, is another one: twice, half, one more, or the next one."""
    op = site.op
    name, place = ("strides", 0) if op.name == "make_tensor_view" else ("rhs", None)
    if op.name == "make_tensor_view":
        strides = op.group("strides")
        if not strides:
            return None
        place = random.randrange(len(strides))
        value = strides[place]
    elif op.name == "muli" and not tile_of(op.results[0]).shape:
        value = op.value("rhs")
    else:
        return None
    kind = value.type
    assert isinstance(kind, TileType)
    how, number = random.choice((("muli", 2), ("shri", 1), ("addi", 1), ("subi", 1)))
    other = made_constant(kind, number)
    attributes: dict[str, Any] = {"sgn": "signed"} if how == "shri" else {"ovf": "none"}
    made = made_op(how, kind, {"lhs": value, "rhs": other.result}, attributes)
    site.insert_before(other, made)
    site.set_operand((name, place), made.result)
    return f"{op.name}: {name} becomes {how} of itself and {number}"


def change_traversal(entry: Entry, site: Site, random: Random) -> str | None:
    """Tiles of a partition view lie nearer to each other, or further apart, than they are long."""
    value = site.op.results[0] if site.op.name == "make_partition_view" else None
    if value is None:
        return None
    kind = value.type
    assert isinstance(kind, PartitionViewType)
    axis = random.randrange(len(kind.tile))
    steps = list(kind.tile)
    steps[axis] = max(1, random.choice((steps[axis] // 2, steps[axis] - 1, steps[axis] * 2)))
    if steps[axis] == kind.tile[axis]:
        return None
    value.type = StridedViewType(kind.tile, tuple(steps), kind.tensor, kind.dim_map, kind.padding)
    made = made_op("make_strided_view", value.type, {"s": site.op.value("s")}, {})
    made.results = (value,)
    site.replace_by((made,))
    return f"tiles of {kind.tile} every {tuple(steps)}"


def resize_tile(entry: Entry, site: Site, random: Random) -> str | None:
    """Every tile dimension of one size gets another size, throughout the kernel; the arithmetic on indices stays."""
    shape = _accessed(site.op)
    sizes = sorted({size for size in shape if size > 1})
    if not sizes:
        return None
    old = random.choice(sizes)
    new = random.choice((old * 2, old // 2))
    for each in list(sites(entry.body)):
        for value in (*each.op.results, *(v for r in each.op.regions for b in r.blocks for v in b.arguments)):
            value.type = _resized(value.type, old, new)
        value_attribute = each.op.attributes.get("value")
        if isinstance(value_attribute, Constant):
            made = _resized_constant(value_attribute, each.op.results[0].type)
            if made is None:
                return None
            each.set_attribute("value", made)
    return f"tiles of {old} become tiles of {new}"


def _accessed(op: Op) -> tuple[int, ...]:
    """The shape of the tile that an access moves."""
    if op.declaration.effect not in ("read", "write", "read_write"):
        return ()
    for value in (*_values(op), *op.results):
        if isinstance(value.type, PartitionViewType | StridedViewType | GatherScatterViewType):
            return value.type.tile
        if isinstance(value.type, TileType) and value.type.shape:
            return value.type.shape
    return ()


def _values(op: Op) -> Iterator[Value]:
    for operand in op.operands.values():
        if isinstance(operand, Value):
            yield operand


def _resized(kind: Type, old: int, new: int) -> Type:
    def sizes(shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(new if size == old else size for size in shape)

    match kind:
        case TileType():
            return replace(kind, shape=sizes(kind.shape))
        case PartitionViewType() | GatherScatterViewType():
            return replace(kind, tile=sizes(kind.tile))
        case StridedViewType():
            return replace(kind, tile=sizes(kind.tile), traversal=sizes(kind.traversal))
        case _:
            return kind


def _resized_constant(value: Constant, kind: Type) -> Constant | None:
    """The same splat in another size; ``None`` for a constant whose elements differ."""
    assert isinstance(kind, TileType)
    if kind == value.type:
        return value
    if not value.is_splat:
        return None
    if value.scalar.bits == 1:
        return constant(kind, value.element(0))
    return Constant(kind, value.data)
