"""Numbers: `arith`, `math` and the casts of `tt`, lane by lane.

Triton IR has no signs in its types; its ops have them in their names, as Tile IR has them in attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from ..bytecode.builder import I1, I64
from ..bytecode.inline_assembly import only_computes
from ..bytecode.model import ASSEMBLY, PointerType, ScalarType, TileType, Value
from .translated import Descriptor, TileBuilder, Translated, TritonPointer, shape_of, tile_of, tiles
from .ttir import TritonOp
from .ttir_constants import constant_bits

Rule: TypeAlias = Callable[[TileBuilder, TritonOp, Sequence[Translated]], Translated]

_SIGNED: Final = {"sgn": "signed"}
_UNSIGNED: Final = {"sgn": "unsigned"}
_LANE_BY_LANE: Final[Mapping[str, tuple[str, Mapping[str, Any], tuple[str, ...]]]] = {
    "arith.addi": ("addi", {}, ()),
    "arith.subi": ("subi", {}, ()),
    "arith.muli": ("muli", {}, ()),
    "arith.divsi": ("divi", {**_SIGNED, "rnd": "zero"}, ()),
    "arith.divui": ("divi", {**_UNSIGNED, "rnd": "zero"}, ()),
    "arith.ceildivsi": ("divi", {**_SIGNED, "rnd": "positive_inf"}, ()),
    "arith.ceildivui": ("divi", {**_UNSIGNED, "rnd": "positive_inf"}, ()),
    "arith.floordivsi": ("divi", {**_SIGNED, "rnd": "negative_inf"}, ()),
    "arith.remsi": ("remi", _SIGNED, ()),
    "arith.remui": ("remi", _UNSIGNED, ()),
    "arith.andi": ("andi", {}, ()),
    "arith.ori": ("ori", {}, ()),
    "arith.xori": ("xori", {}, ()),
    "arith.shli": ("shli", {}, ()),
    "arith.shrsi": ("shri", _SIGNED, ()),
    "arith.shrui": ("shri", _UNSIGNED, ()),
    "arith.maxsi": ("maxi", _SIGNED, ()),
    "arith.maxui": ("maxi", _UNSIGNED, ()),
    "arith.minsi": ("mini", _SIGNED, ()),
    "arith.minui": ("mini", _UNSIGNED, ()),
    "tt.mulhiui": ("mulhii", {}, ()),
    "arith.addf": ("addf", {}, ()),
    "arith.subf": ("subf", {}, ()),
    "arith.mulf": ("mulf", {}, ()),
    "arith.divf": ("divf", {}, ()),
    "tt.precise_divf": ("divf", {}, ()),
    "arith.remf": ("remf", {}, ()),
    "arith.maxnumf": ("maxf", {}, ()),
    "arith.minnumf": ("minf", {}, ()),
    "arith.maximumf": ("maxf", {}, ("nan",)),
    "arith.minimumf": ("minf", {}, ("nan",)),
    "math.powf": ("fpowf", {}, ()),
    "math.atan2": ("atan2", {}, ()),
}
"""Op of two operands: its counterpart, attributes and flags."""

_OF_ONE: Final[Mapping[str, str]] = {
    "arith.negf": "negf", "math.absf": "absf", "math.absi": "absi", "math.ceil": "ceil", "math.cos": "cos",
    "math.cosh": "cosh", "math.exp": "exp", "math.exp2": "exp2", "math.floor": "floor", "math.log": "log",
    "math.log2": "log2", "math.rsqrt": "rsqrt", "math.sin": "sin", "math.sinh": "sinh", "math.sqrt": "sqrt",
    "tt.precise_sqrt": "sqrt", "math.tan": "tan", "math.tanh": "tanh",
}  # fmt: skip
_OF_LIBDEVICE: Final = "__nv_"
_LIBDEVICE: Final[Mapping[str, str]] = {
    "fabs": "absf", "ceil": "ceil", "cos": "cos", "cosh": "cosh", "exp": "exp", "exp2": "exp2", "floor": "floor",
    "log": "log", "log2": "log2", "rsqrt": "rsqrt", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "tan": "tan",
    "tanh": "tanh", "pow": "fpowf", "fmod": "remf", "fmax": "maxf", "fmin": "minf", "atan2": "atan2", "fma": "fma",
    "abs": "absi",
}  # fmt: skip
"""Functions of CUDA's libdevice (``__nv_`` and, for f32, an ``f`` behind it) that are ops of Tile IR."""

_ORDERS: Final[Mapping[str, str]] = {
    "eq": "equal", "ne": "not_equal", "lt": "less_than", "le": "less_than_or_equal", "gt": "greater_than",
    "ge": "greater_than_or_equal",
}  # fmt: skip


def opaque(b: TileBuilder, op: TritonOp, operands: Sequence[Translated], what: str) -> Value:
    """The value of a pure function that Tile IR has no op for: anything, but the same for the same operands."""
    type = op.result_type
    if not isinstance(type, TileType) or not isinstance(type.element, ScalarType):
        raise b.cannot(op, f"{what} gives no numbers")
    given = [pointer_to_integer(b, value) if isinstance(value, TritonPointer) else value for value in operands]
    if not all(isinstance(value, Value) for value in given):
        raise b.cannot(op, f"{what} takes a tensor descriptor")
    shape = max((shape_of(value) for value in given), key=len, default=type.shape)
    made: Value = b.body.op("opaque", args=given, callee=what, results=[TileType(type.element, shape)])
    return made


def _levelled(b: TileBuilder, operands: Sequence[Translated]) -> list[Value]:
    """Operands in one shape: the body of a reduction is applied to whole tiles, its constants have no dimensions."""
    shape = max((shape_of(value) for value in operands), key=len)
    return [b.stretched(value, shape) for value in tiles(operands)]


def lane_by_lane(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    name, attributes, flags = _LANE_BY_LANE[op.name]
    lhs, rhs = _levelled(b, operands)
    made: Value = b.body.op(name, lhs=lhs, rhs=rhs, flags=flags, **attributes)
    return made


def of_one(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    made: Value = b.body.op(_OF_ONE[op.name], s=operands[0])
    return made


def fused(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    lhs, rhs, acc = _levelled(b, operands)
    made: Value = b.body.op("fma", lhs=lhs, rhs=rhs, acc=acc)
    return made


def compare_integers(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    word = op.word(0)
    lhs, rhs = _levelled(b, [_as_number(b, value) for value in operands])
    sign = "unsigned" if word.startswith("u") else "signed"
    made: Value = b.body.op("cmpi", lhs=lhs, rhs=rhs, pred=_ORDERS[word[-2:]], sgn=sign)
    return made


def _as_number(b: TileBuilder, value: Translated) -> Translated:
    return pointer_to_integer(b, value) if isinstance(value, TritonPointer) else value


def compare_floats(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    word = op.word(0)
    lhs, rhs = _levelled(b, operands)
    if word in ("ord", "uno"):  # whether neither is NaN, whether one of them is
        pred, order, join = ("equal", "ordered", "andi") if word == "ord" else ("not_equal", "unordered", "ori")
        alone = [b.body.op("cmpf", lhs=each, rhs=each, pred=pred, fcmp=order) for each in (lhs, rhs)]
        made: Value = b.body.op(join, lhs=alone[0], rhs=alone[1])
        return made
    order = "unordered" if word[0] == "u" else "ordered"
    compared: Value = b.body.op("cmpf", lhs=lhs, rhs=rhs, pred=_ORDERS[word[1:]], fcmp=order)
    return compared


def select(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    condition, first, second = operands
    if isinstance(first, TritonPointer) and isinstance(second, TritonPointer):
        (chosen_by,) = tiles([condition])
        return _select_pointers(b, chosen_by, first, second)
    if isinstance(first, Descriptor) and isinstance(second, Descriptor):
        (chosen_by,) = tiles([condition])
        return _select_descriptors(b, chosen_by, first, second)
    c, t, f = _levelled(b, operands)
    made: Value = b.body.op("select", c=c, t=t, f=f)
    return made


def _select_pointers(b: TileBuilder, condition: Value, first: TritonPointer, second: TritonPointer) -> TritonPointer:
    shape = first.shape
    c = b.stretched(condition, shape)
    if first.base is second.base and first.pointee == second.pointee:
        offset = b.body.op("select", c=c, t=b.offset(first), f=b.offset(second))
        return replace(first, offset=offset)
    among = b.joint_choice(first, second)
    one, other = (b.numbered(each, among) for each in (first, second))
    if one is not None and other is not None and first.pointee == second.pointee:
        lanes = max(map(shape_of, (condition, one, other)), key=len)
        which = b.body.op(
            "select", c=b.stretched(condition, lanes), t=b.stretched(one, lanes), f=b.stretched(other, lanes)
        )
        offset = b.body.op("select", c=c, t=b.offset(first), f=b.offset(second))
        return b.chosen(which, among, shape, offset)
    return TritonPointer(b.body.op("select", c=c, t=b.address(first), f=b.address(second)), first.pointee, shape)


def _select_descriptors(b: TileBuilder, condition: Value, first: Descriptor, second: Descriptor) -> Descriptor:
    def chosen(one: Value, other: Value) -> Value:
        made: Value = b.body.op("select", c=condition, t=one, f=other)
        return made

    nan, *others = (b.number(int(each), I1) if isinstance(each, bool) else each for each in (first.nan, second.nan))
    return replace(
        first,
        base=_select_pointers(b, condition, first.base, second.base),
        sizes=tuple(map(chosen, first.sizes, second.sizes)),
        strides=tuple(map(chosen, first.strides, second.strides)),
        nan=first.nan if first.nan is second.nan else chosen(nan, *others),
    )


def clamp(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    value, low, high = _levelled(b, operands)
    flags = ("nan",) if op.attributes.get("propagateNan") == "all" else ()
    raised = b.body.op("maxf", lhs=value, rhs=low, flags=flags)
    made: Value = b.body.op("minf", lhs=raised, rhs=high, flags=flags)
    return made


def constant(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    type = op.result_type
    assert isinstance(type, TileType)
    literal = op.attributes["value"]
    assert isinstance(literal, (str, bool, int, float))
    try:
        made: Value = b.body.constant(type, *constant_bits(literal, type))
    except KeyError:
        raise b.cannot(op, f"Tile IR has no type for constants of {type.element}") from None
    return made


# ------------------------------------------------------------------------------------------------------- casts
def _cast(name: str, **attributes: Any) -> Rule:
    def rule(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
        (value,) = operands
        made: Value = b.body.op(name, s=value, results=[TileType(_wanted(b, op), shape_of(value))], **attributes)
        return made

    return rule


def _wanted(b: TileBuilder, op: TritonOp) -> ScalarType:
    type = op.result_type
    assert isinstance(type, TileType)
    assert isinstance(type.element, ScalarType)
    return type.element


def float_to_float(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    (value,) = operands
    rounding = {"rtz": "zero"}.get(str(op.attributes.get("rounding", "rtne")), "nearest_even")
    type = TileType(_wanted(b, op), shape_of(value))
    made: Value = b.body.op("ftof", s=value, rnd=rounding, results=[type])
    return made


def bitcast(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    (operand,) = operands
    type = op.result_type
    assert isinstance(type, TileType)
    if isinstance(operand, TritonPointer):
        assert isinstance(type.element, PointerType)
        return b.retyped(operand, type.element.pointee)
    (value,) = tiles(operands)
    wanted = TileType(type.element, shape_of(value))
    if wanted == tile_of(value):
        return value
    made: Value = b.body.op("bitcast", s=value, results=[wanted])
    return made


def pointer_to_integer(b: TileBuilder, place: TritonPointer) -> Value:
    address = b.address(place)
    made: Value = b.body.op("ptr_to_int", s=address, results=[TileType(I64, place.shape)])
    return made


def _pointer_to_integer(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    (place,) = operands
    assert isinstance(place, TritonPointer)
    return pointer_to_integer(b, place)


def integer_to_pointer(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    (value,) = operands
    type = op.result_type
    assert isinstance(type, TileType)
    assert isinstance(type.element, PointerType)
    shape = shape_of(value)
    made = b.body.op("int_to_ptr", s=value, results=[TileType(type.element, shape)])
    return TritonPointer(made, type.element.pointee, shape)


# ---------------------------------------------------------------------------------------------- other functions
def extern(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    """A function of libdevice."""
    symbol = str(op.attributes.get("symbol", ""))
    plain = symbol.removeprefix(_OF_LIBDEVICE)
    known = _LIBDEVICE.get(plain) or _LIBDEVICE.get(plain.removesuffix("f"))
    if known is None or not symbol.startswith(_OF_LIBDEVICE):
        if op.attributes.get("pure") is not True or not symbol.startswith(_OF_LIBDEVICE):
            raise b.cannot(op, f"{symbol} may have effects, or depend on more than its operands")
        return opaque(b, op, operands, symbol)
    names = ("s",) if len(operands) == 1 else ("lhs", "rhs", "acc")
    parts: dict[str, Any] = dict(zip(names, operands, strict=False))
    made: Value = b.body.op(known, **parts)
    return made


def mathematical(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    """A function of `math` that Tile IR lacks, such as ``math.erf``."""
    return opaque(b, op, operands, op.name)


def inline_assembly(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    text = op.word(0)
    if op.attributes.get("pure") is not True:
        raise b.cannot(op, f"inline assembly with effects that nothing states: {text}")
    if len(op.results) != 1:
        raise b.cannot(op, f"inline assembly with {len(op.results)} results: {text}")
    if not only_computes(text):
        raise b.cannot(op, f"inline assembly that may touch memory, or depend on its thread or on time: {text}")
    return opaque(b, op, operands, f"{ASSEMBLY}{text}")


def program_id(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    ids: tuple[Value, ...] = b.body.op("get_tile_block_id")
    return ids["xyz".index(op.word(0))]


def program_count(b: TileBuilder, op: TritonOp, operands: Sequence[Translated]) -> Translated:
    counts: tuple[Value, ...] = b.body.op("get_num_tile_blocks")
    return counts["xyz".index(op.word(0))]


RULES: Final[Mapping[str, Rule]] = {
    **dict.fromkeys(_LANE_BY_LANE, lane_by_lane),
    **dict.fromkeys(_OF_ONE, of_one),
    "math.fma": fused,
    "arith.cmpi": compare_integers,
    "arith.cmpf": compare_floats,
    "arith.select": select,
    "tt.clampf": clamp,
    "arith.constant": constant,
    "arith.extsi": _cast("exti", **_SIGNED),
    "arith.extui": _cast("exti", **_UNSIGNED),
    "arith.trunci": _cast("trunci"),
    "arith.sitofp": _cast("itof", **_SIGNED),
    "arith.uitofp": _cast("itof", **_UNSIGNED),
    "arith.fptosi": _cast("ftoi", rnd="nearest_int_to_zero", **_SIGNED),
    "arith.fptoui": _cast("ftoi", rnd="nearest_int_to_zero", **_UNSIGNED),
    "arith.extf": float_to_float,
    "arith.truncf": float_to_float,
    "tt.fp_to_fp": float_to_float,
    "arith.bitcast": bitcast,
    "tt.bitcast": bitcast,
    "tt.ptr_to_int": _pointer_to_integer,
    "tt.int_to_ptr": integer_to_pointer,
    "tt.extern_elementwise": extern,
    "tt.elementwise_inline_asm": inline_assembly,
    "math.erf": mathematical,
    "math.log1p": mathematical,
    "math.expm1": mathematical,
    "tt.get_program_id": program_id,
    "tt.get_num_programs": program_count,
}
