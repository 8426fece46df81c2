"""Kernels of single ops on boundary values, so that the interpreter's rules meet the hardware's, op by op.

Each kernel takes 1024 lanes of one or two element types and stores what every op of a family makes of them, one
output array for each op.  Floats that must be exact are stored as their bits (0 for NaN, whose payload no rule fixes).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tests.corpus.problems import STORAGE, Problem

from tileverify.contract.launch import ConcreteArray, ConcreteLaunch, EntryParameter, KernelUnit, LaunchSpec, Role
from tileverify.frontend.bytecode import encode
from tileverify.frontend.bytecode.builder import (
    BF16,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    TOKEN,
    BodyBuilder,
    ModuleBuilder,
    pointer,
    scalar,
    tile,
)
from tileverify.frontend.bytecode.model import FloatAttribute, IntegerAttribute, ScalarType, TileType, Value

Array = NDArray[Any]
Build = Callable[[BodyBuilder, Sequence[Value]], Value]

LANES: Final = 1024
INTEGERS: Final = (I8, I16, I32, I64)
FLOATS: Final = (F16, BF16, F32, F64)
PREDICATES: Final = ("equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal")
SIGNS: Final = ("signed", "unsigned")


@dataclass(slots=True)
class Family:
    """Ops on the same inputs: name of the output -> how it is made."""

    name: str
    inputs: list[tuple[ScalarType, Array]]
    outputs: dict[str, Build] = field(default_factory=dict)


def op_problems() -> Iterator[tuple[str, Problem]]:
    """A name and a problem for each family."""
    families = [
        *(family(element) for element in INTEGERS for family in (_arithmetic, _division, _shifts, _widths)),
        *(_lists(element) for element in (I32, F32)),
        *(family(element) for element in FLOATS for family in (_exact_floats, _functions, _float_conversions)),
        _to_small_floats(),
        _whole_tiles(),
    ]
    for each in families:
        yield f"ops/{each.name}", problem_of(each)


# ---------------------------------------------------------------------------------------------- inputs
def _boundaries(element: ScalarType) -> list[int]:
    bits = element.bits
    return [0, 1, 2, 3, 5, 7, 10, -1, -2, -3, -7, (1 << bits - 1) - 1, -(1 << bits - 1), -(1 << bits - 1) + 1,
            1 << bits // 2, -(1 << bits // 2) + 1]  # fmt: skip


def integer_inputs(element: ScalarType, seed: int) -> tuple[Array, Array]:
    """All pairs of boundary values, then random ones."""
    pairs = np.array(list(itertools.product(_boundaries(element), repeat=2)), np.int64)
    drawn = np.random.default_rng(seed).integers(-(1 << 63), (1 << 63) - 1, (LANES - len(pairs), 2), endpoint=True)
    both = np.concatenate([pairs, drawn]).astype(STORAGE[element.name])
    return both[:, 0], both[:, 1]


FLOAT_BOUNDARIES: Final = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.0, 1e-4, -7.25, 100.0, 6e4, -3e-6, np.inf,
                           -np.inf, np.nan)  # fmt: skip


def float_inputs(element: ScalarType, seed: int, operands: int) -> list[tuple[ScalarType, Array]]:
    """All pairs of boundary values, then numbers of all magnitudes of the type, subnormal ones included."""
    source = np.random.default_rng(seed)
    boundary = np.array(list(itertools.product(FLOAT_BOUNDARIES, repeat=2)), np.float64)
    boundary = np.column_stack([boundary, *(source.permutation(boundary[:, 0]) for _ in range(operands - 2))])
    exponents = {"f16": 14, "bf16": 100, "f32": 100, "f64": 900}[element.name]
    count = LANES - len(boundary)
    near = source.normal(size=(count, operands)) * 4
    scaled = near * 2.0 ** source.integers(-exponents, exponents // 2, (count, 1))
    values = np.concatenate([boundary, np.where(np.arange(count)[:, None] % 2, near, scaled)])
    with np.errstate(over="ignore"):
        return [(element, _stored(element, values[:, k])) for k in range(operands)]


def _stored(element: ScalarType, values: Array) -> Array:
    if element is BF16:
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(STORAGE[element.name])


# -------------------------------------------------------------------------------------------- integer families
def binary(name: str, /, **attributes: Any) -> Build:
    return lambda f, v: f.op(name, lhs=v[0], rhs=v[1], **attributes)


def unary(name: str, /, **attributes: Any) -> Build:
    return lambda f, v: f.op(name, s=v[0], **attributes)


def _as_byte(build: Build) -> Build:
    return lambda f, v: f.op("exti", s=build(f, v), sgn="unsigned", results=[tile(I8, LANES)])


def _arithmetic(element: ScalarType) -> Family:
    a, b = integer_inputs(element, 1)
    names = ("addi", "subi", "muli", "mulhii", "andi", "ori", "xori")
    made = Family(f"arithmetic-{element.name}", [(element, a), (element, b)], {name: binary(name) for name in names})
    made.outputs |= {name: unary(name) for name in ("absi", "negi")}
    for sign in SIGNS:
        made.outputs |= {f"{name} {sign}": binary(name, sgn=sign) for name in ("maxi", "mini")}
        made.outputs |= {f"cmpi {p} {sign}": _as_byte(binary("cmpi", pred=p, sgn=sign)) for p in PREDICATES}
    return made


def _division(element: ScalarType) -> Family:
    a, b = integer_inputs(element, 2)
    lowest = np.iinfo(a.dtype).min
    b = np.where((b == 0) | ((a == lowest) & (b == -1)), 3, b).astype(b.dtype)
    made = Family(f"division-{element.name}", [(element, a), (element, b)])
    for sign in SIGNS:
        made.outputs[f"remi {sign}"] = binary("remi", sgn=sign)
        roundings = ("zero", "negative_inf", "positive_inf") if sign == "signed" else ("zero", "positive_inf")
        made.outputs |= {f"divi {sign} {rnd}": binary("divi", sgn=sign, rnd=rnd) for rnd in roundings}
    return made


def _shifts(element: ScalarType) -> Family:
    a, b = integer_inputs(element, 3)
    made = Family(f"shifts-{element.name}", [(element, a), (element, b & (element.bits - 1))])
    made.outputs = {"shli": binary("shli")} | {f"shri {sign}": binary("shri", sgn=sign) for sign in SIGNS}
    return made


def _widths(element: ScalarType) -> Family:
    made = Family(f"widths-{element.name}", [(element, integer_inputs(element, 4)[0])])
    for other in INTEGERS:
        if other.bits < element.bits:
            made.outputs[f"trunci {other.name}"] = unary("trunci", results=[tile(other, LANES)])
        for sign in SIGNS if other.bits > element.bits else ():
            made.outputs[f"exti {sign} {other.name}"] = unary("exti", sgn=sign, results=[tile(other, LANES)])
    for other, sign in itertools.product((F32, F64), SIGNS):
        made.outputs[f"itof {sign} {other.name}"] = bits_of(unary("itof", sgn=sign, results=[tile(other, LANES)]))
    return made


def _lists(element: ScalarType) -> Family:
    """Reductions and scans of whole numbers, which are exact in any order, and ops that only move lanes."""
    a = np.random.default_rng(5).integers(-50, 50, LANES).astype(STORAGE[element.name])
    add, most = ("addi", "maxi") if element is I32 else ("addf", "maxf")
    lowest = IntegerAttribute(I32, 1 << 31) if element is I32 else FloatAttribute(F32, 0xFF800000)
    zero = IntegerAttribute(I32, 0) if element is I32 else FloatAttribute(F32, 0)
    signed = {"sgn": "signed"} if element is I32 else {}

    def scan(reverse: bool) -> Build:
        def build(f: BodyBuilder, v: Sequence[Value]) -> Value:
            with f.scan([_shaped(f, v[0], 32, 32)], 1, [zero], reverse=reverse) as made:
                f.op("yield", args=[f.op(add, lhs=made.arguments[0], rhs=made.arguments[1])])
            return _shaped(f, made.results[0], LANES)

        return build

    def reduce(name: str, identity: object, attributes: dict[str, Any]) -> Build:
        def build(f: BodyBuilder, v: Sequence[Value]) -> Value:
            with f.reduce([_shaped(f, v[0], 32, 32)], 0, [identity]) as made:
                f.op("yield", args=[f.op(name, lhs=made.arguments[0], rhs=made.arguments[1], **attributes)])
            row = _shaped(f, made.results[0], 1, 32)
            return _shaped(f, f.op("broadcast", s=row, results=[tile(element, 32, 32)]), LANES)

        return build

    def permute(f: BodyBuilder, v: Sequence[Value]) -> Value:
        turned = f.op("permute", s=_shaped(f, v[0], 4, 8, 32), perm=(2, 0, 1), results=[tile(element, 32, 4, 8)])
        return _shaped(f, turned, LANES)

    def cat(f: BodyBuilder, v: Sequence[Value]) -> Value:
        square = _shaped(f, v[0], 32, 32)
        halves = [
            f.op("extract", s=square, index=[f.constant(tile(I32), 0), f.constant(tile(I32), k)], results=[
                tile(element, 32, 16)
            ])
            for k in (1, 0)
        ]  # fmt: skip
        return _shaped(f, f.op("cat", lhs=halves[0], rhs=halves[1], dim=1, results=[tile(element, 32, 32)]), LANES)

    made = Family(f"tiles-{element.name}", [(element, a)])
    made.outputs = {
        "scan": scan(False),
        "scan reverse": scan(True),
        "reduce sum": reduce(add, zero, {}),
        "reduce maximum": reduce(most, lowest, signed),
        "permute": permute,
        "extract cat": cat,
    }
    return made


def _shaped(f: BodyBuilder, value: Value, *shape: int) -> Value:
    assert isinstance(value.type, TileType)
    made: Value = f.op("reshape", s=value, results=[TileType(value.type.element, shape)])
    return made


# ---------------------------------------------------------------------------------------------- float families
def bits_of(build: Build) -> Build:
    """The bits of a float result, 0 for NaN."""

    def bits(f: BodyBuilder, v: Sequence[Value]) -> Value:
        value = build(f, v)
        assert isinstance(value.type, TileType)
        word = tile({8: I8, 16: I16, 32: I32, 64: I64}[value.type.element.bits], LANES)  # type: ignore[union-attr]
        known = f.op("cmpf", lhs=value, rhs=value, pred="equal", fcmp="ordered")
        made: Value = f.op("select", c=known, t=f.op("bitcast", s=value, results=[word]), f=f.constant(word, 0))
        return made

    return bits


def _exact_floats(element: ScalarType) -> Family:
    made = Family(f"exact-{element.name}", float_inputs(element, 6, 3))
    names = ["addf", "subf", "mulf", "divf", "maxf", "minf"]
    made.outputs = {name: bits_of(binary(name)) for name in names}
    made.outputs |= {name: bits_of(unary(name)) for name in ("absf", "negf", "ceil", "floor", "sqrt")}
    made.outputs |= {f"{name} nan": bits_of(binary(name, flags=["nan"])) for name in ("maxf", "minf")}
    if element is not F64:
        made.outputs["fma"] = bits_of(lambda f, v: f.op("fma", lhs=v[0], rhs=v[1], acc=v[2]))
    if element is F32:
        made.outputs |= {f"{name} ftz": bits_of(binary(name, flags=["ftz"])) for name in ("addf", "mulf", "maxf")}
    for predicate, order in itertools.product(PREDICATES, ("ordered", "unordered")):
        made.outputs[f"cmpf {predicate} {order}"] = _as_byte(binary("cmpf", pred=predicate, fcmp=order))
    return made


def _functions(element: ScalarType) -> Family:
    """Moderate arguments: far from zero, sines of short types say nothing."""
    source = np.random.default_rng(7)
    a, b = source.uniform(-6, 6, LANES), source.uniform(-3, 3, LANES)
    inputs = [(element, _stored(element, values)) for values in (a, b, np.abs(a) + 0.01)]
    made = Family(f"functions-{element.name}", inputs)
    made.outputs = {n: unary(n) for n in ("exp", "exp2", "sin", "cos", "tan", "sinh", "cosh", "tanh")}
    made.outputs |= {n: (lambda f, v, n=n: f.op(n, s=v[2])) for n in ("log", "log2", "rsqrt")}  # type: ignore[misc]
    made.outputs["fpowf"] = lambda f, v: f.op("fpowf", lhs=v[2], rhs=v[1])
    made.outputs["atan2"] = binary("atan2")
    made.outputs["remf"] = binary("remf")
    return made


def _float_conversions(element: ScalarType) -> Family:
    made = Family(f"conversions-{element.name}", float_inputs(element, 8, 2)[:1])
    for other in FLOATS:
        if other is not element:
            made.outputs[f"ftof {other.name}"] = bits_of(unary("ftof", results=[tile(other, LANES)]))
    for other, sign in itertools.product(INTEGERS, SIGNS):
        to = {"sgn": sign, "flags": ["sat"], "results": [tile(other, LANES)]}
        made.outputs[f"ftoi sat {sign} {other.name}"] = unary("ftoi", **to)
    return made


def _to_small_floats() -> Family:
    """From f32, within the range of each type: what lies beyond may become the largest value or none."""
    values = np.random.default_rng(9).normal(size=LANES) * 2.0 ** np.random.default_rng(10).integers(-12, 7, LANES)
    made = Family("small-floats", [(F32, values.astype(np.float32))])
    for name in ("f8E4M3FN", "f8E5M2"):
        made.outputs[f"ftof {name}"] = _through(scalar(name))
    made.outputs["ftof tf32"] = lambda f, v: f.op(
        "ftof", s=f.op("ftof", s=v[0], results=[tile(scalar("tf32"), LANES)]), results=[tile(F32, LANES)]
    )
    return made


def _through(element: ScalarType) -> Build:
    def build(f: BodyBuilder, v: Sequence[Value]) -> Value:
        small = f.op("ftof", s=v[0], results=[tile(element, LANES)])
        made: Value = f.op("bitcast", s=small, results=[tile(I8, LANES)])
        return made

    return build


def _whole_tiles() -> Family:
    """Integer matrix products, exact whatever the order."""
    values = np.random.default_rng(11).integers(-128, 128, LANES).astype(np.int8)
    made = Family("products", [(I8, values)])

    def product(left: str, right: str) -> Build:
        def build(f: BodyBuilder, v: Sequence[Value]) -> Value:
            square = _shaped(f, v[0], 32, 32)
            acc = f.constant(tile(I32, 32, 32), 7)
            return _shaped(f, f.op("mmai", lhs=square, rhs=square, acc=acc, sl=left, sr=right), LANES)

        return build

    made.outputs = {f"mmai {left} {right}": product(left, right) for left in SIGNS for right in SIGNS}
    return made


# ---------------------------------------------------------------------------------------------------- kernels
def problem_of(family: Family) -> Problem:
    elements: dict[str, ScalarType] = {}
    module = ModuleBuilder((13, 4))
    # The types of the outputs are known once they are built: once for the types, once for the entry.
    for attempt in range(2):
        module = ModuleBuilder((13, 4))
        names = [f"in{k}" for k in range(len(family.inputs))] + list(family.outputs)
        kinds = [element for element, _ in family.inputs] + [elements.get(name, I8) for name in family.outputs]
        with module.entry("kernel", [tile(pointer(kind)) for kind in kinds]) as f:
            values = [
                f.op("load_ptr_tko", ptr=_lanes(f, place), results=[tile(element, LANES), TOKEN])[0]
                for place, (element, _) in zip(f.parameters, family.inputs, strict=False)
            ]
            for name, place in zip(family.outputs, f.parameters[len(family.inputs) :], strict=True):
                result = family.outputs[name](f, values)
                assert isinstance(result.type, TileType)
                assert isinstance(result.type.element, ScalarType)
                elements[name] = result.type.element
                if attempt:
                    f.op("store_ptr_tko", ptr=_lanes(f, place), val=result)
            f.op("return")
    dtypes = {name: kind.name for name, kind in zip(names, kinds, strict=True)}
    contents = {name: np.full(LANES, 0x55, STORAGE[dtype]) for name, dtype in dtypes.items()}
    contents |= {f"in{k}": stored for k, (_, stored) in enumerate(family.inputs)}
    arrays = {name: ConcreteArray(dtype, (LANES,), (1,)) for name, dtype in dtypes.items()}
    parameters = tuple(EntryParameter(Role.POINTER, name) for name in names)
    spec = LaunchSpec(family.name, "ops", ())
    unit = KernelUnit(Path(__file__), family.name, spec, encode(module.build()), "kernel", parameters)
    return Problem(unit, ConcreteLaunch((1, 1, 1), arrays, {}), contents, dtypes)


def _lanes(f: BodyBuilder, base: Value) -> Value:
    """Pointers to all elements of an array."""
    assert isinstance(base.type, TileType)
    one = _shaped(f, base, 1)
    row = f.op("broadcast", s=one, results=[TileType(base.type.element, (LANES,))])
    made: Value = f.op("offset", ptr=row, off=f.op("iota", results=[tile(I32, LANES)]))
    return made
