"""Which reductions have one result, held to their bodies run by hand in all orders."""

from __future__ import annotations

import itertools
import operator
import random
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import pytest
from tests.profiles import tries

from tileverify.frontend.bytecode.builder import F32, I1, I8, I32, BodyBuilder, ModuleBuilder, tile
from tileverify.frontend.bytecode.model import Entry, FloatAttribute, IntegerAttribute, Op, Value
from tileverify.frontend.bytecode.traverse import makers
from tileverify.frontend.symbolic.combining import has_one_result

Identity = IntegerAttribute | FloatAttribute
Combine = Callable[[BodyBuilder, tuple[Value, ...]], Sequence[Value]]
"""Adds the ops of a body that takes (left, right) of each input."""


def f32(value: float) -> FloatAttribute:
    return FloatAttribute(F32, struct.unpack("<I", struct.pack("<f", value))[0])


def i32(value: int) -> IntegerAttribute:
    return IntegerAttribute(I32, value)


def combined(
    name: str, identities: Sequence[Identity], combine: Combine, *, lanes: int = 4, numbered: bool = False
) -> Op:
    """The `reduce` or `scan` with this body; ``numbered``: of lanes whose last input counts from 0."""
    return next(
        op
        for op in entry_of(name, identities, combine, lanes, numbered).body.ops
        if op.declaration.body == "combination"
    )


def entry_of(name: str, identities: Sequence[Identity], combine: Combine, lanes: int, numbered: bool) -> Entry:
    module = ModuleBuilder((13, 4))
    types = [tile(each.type, 2, lanes) for each in identities]
    with module.entry("combine", types) as f:
        inputs = list(f.parameters)
        if numbered:
            numbers = f.op("iota", results=[tile(identities[-1].type, lanes)])
            row = f.op("reshape", s=numbers, results=[tile(identities[-1].type, 1, lanes)])
            inputs[-1] = f.op("broadcast", s=row, results=[types[-1]])
        add = f.reduce if name == "reduce" else f.scan
        with add(inputs, 1, list(identities)) as body:
            f.op("yield", args=list(combine(f, body.arguments)))
        f.op("return")
    return module.build().entries[0]


def one(name: str, **attributes: Any) -> Combine:
    return lambda f, lanes: [f.op(name, lhs=lanes[0], rhs=lanes[1], **attributes)]


def difference(f: BodyBuilder, lanes: tuple[Value, ...]) -> Sequence[Value]:
    return [f.op("subi", lhs=lanes[0], rhs=lanes[1])]


def largest_magnitude(f: BodyBuilder, lanes: tuple[Value, ...]) -> Sequence[Value]:
    return [f.op("maxf", lhs=f.op("absf", s=lanes[0]), rhs=f.op("absf", s=lanes[1]))]


def place_of_largest(f: BodyBuilder, lanes: tuple[Value, ...], sign: str = "signed") -> Sequence[Value]:
    value, other, _, _ = lanes
    if value.type == tile(I32):
        greater, equal = (f.op("cmpi", lhs=value, rhs=other, pred=pred, sgn=sign) for pred in ("greater_than", "equal"))
    else:
        greater, equal = (
            f.op("cmpf", lhs=value, rhs=other, pred=pred, fcmp="ordered") for pred in ("greater_than", "equal")
        )
    return first_where(f, greater, equal, lanes)


def place_of_largest_number(f: BodyBuilder, lanes: tuple[Value, ...]) -> Sequence[Value]:
    """NaN is the least of all."""
    value, other, _, _ = lanes

    def compared(lhs: Value, rhs: Value, pred: str) -> Value:
        holds: Value = f.op("cmpf", lhs=lhs, rhs=rhs, pred=pred, fcmp="unordered" if pred == "not_equal" else "ordered")
        return holds

    is_nan, other_is_nan = (compared(each, each, "not_equal") for each in (value, other))
    beside_nan = f.op("andi", lhs=compared(value, value, "equal"), rhs=other_is_nan)
    greater = f.op("ori", lhs=compared(value, other, "greater_than"), rhs=beside_nan)
    both = f.op("andi", lhs=is_nan, rhs=other_is_nan)
    return first_where(f, greater, f.op("ori", lhs=compared(value, other, "equal"), rhs=both), lanes)


def first_where(f: BodyBuilder, greater: Value, equal: Value, lanes: tuple[Value, ...]) -> Sequence[Value]:
    value, other, place, other_place = lanes
    before = f.op("cmpi", lhs=place, rhs=other_place, pred="less_than", sgn="signed")
    first = f.op("ori", lhs=greater, rhs=f.op("andi", lhs=equal, rhs=before))
    return [f.op("select", c=first, t=value, f=other), f.op("select", c=first, t=place, f=other_place)]


def recurrence(f: BodyBuilder, lanes: tuple[Value, ...]) -> Sequence[Value]:
    """x -> a x + b, and behind it x -> c x + d."""
    a, c, b, d = lanes
    return [f.op("mulf", lhs=a, rhs=c), f.op("addf", lhs=f.op("mulf", lhs=c, rhs=b), rhs=d)]


def last_of_largest(f: BodyBuilder, lanes: tuple[Value, ...]) -> Sequence[Value]:
    """The greatest payload of the greatest key."""
    return by_order(f, lanes, ("greater_than", "greater_than"))


def largest_of_three(f: BodyBuilder, lanes: tuple[Value, ...]) -> Sequence[Value]:
    return by_order(f, lanes, ("greater_than", "greater_than", "less_than"))


def by_order(f: BodyBuilder, lanes: tuple[Value, ...], orders: Sequence[str]) -> Sequence[Value]:
    """The first of two tuples, one input compared after the other."""
    first: Value | None = None
    for number in reversed(range(len(orders))):
        one, other = lanes[2 * number : 2 * number + 2]
        before, equal = (
            f.op("cmpi", lhs=one, rhs=other, pred=pred, sgn="signed") for pred in (orders[number], "equal")
        )
        first = before if first is None else f.op("ori", lhs=before, rhs=f.op("andi", lhs=equal, rhs=first))
    return [f.op("select", c=first, t=t, f=o) for t, o in zip(lanes[::2], lanes[1::2], strict=True)]


LOWEST: Final = -(1 << 31)
MOST: Final = (1 << 31) - 1


@pytest.mark.parametrize(
    ("name", "identities", "body", "has"),
    [
        ("reduce", [i32(0)], one("addi"), True),
        ("reduce", [i32(1)], one("addi"), False),
        ("scan", [i32(1)], one("addi"), False),
        ("reduce", [i32(-1)], one("andi"), True),
        ("reduce", [i32(LOWEST)], one("maxi", sgn="signed"), True),
        ("reduce", [i32(0)], one("maxi", sgn="signed"), False),
        ("reduce", [i32(0)], one("maxi", sgn="unsigned"), True),
        ("reduce", [i32(LOWEST)], one("mini", sgn="unsigned"), False),
        ("reduce", [i32(0)], difference, False),
        ("reduce", [f32(0.0)], one("addf"), True),
        ("reduce", [f32(-0.0)], one("addf"), True),
        ("reduce", [f32(float("-inf"))], one("maxf"), True),
        ("reduce", [f32(-3e38)], one("maxf"), False),
        ("reduce", [f32(float("nan"))], one("maxf"), False),
        ("reduce", [f32(0.0)], largest_magnitude, True),
        ("scan", [f32(0.0)], largest_magnitude, False),  # its first lane may be as it is
        ("reduce", [f32(1.0)], largest_magnitude, False),
        ("reduce", [f32(float("-inf")), i32(MOST)], place_of_largest_number, True),
        ("reduce", [f32(float("-inf")), i32(0)], place_of_largest_number, False),  # of lanes that are -inf
        ("reduce", [f32(0.0), i32(0)], place_of_largest_number, False),
        ("reduce", [f32(float("nan")), i32(0)], place_of_largest_number, False),
        ("reduce", [f32(float("-inf")), i32(0)], place_of_largest, False),  # beside NaN the order decides
        ("reduce", [i32(LOWEST), i32(MOST)], place_of_largest, True),
        ("reduce", [i32(LOWEST), i32(0)], place_of_largest, False),
        ("reduce", [i32(LOWEST), i32(5)], place_of_largest, False),
        ("reduce", [i32(LOWEST), i32(0)], lambda f, lanes: place_of_largest(f, lanes, "unsigned"), False),
        ("reduce", [i32(0), i32(MOST)], lambda f, lanes: place_of_largest(f, lanes, "unsigned"), True),
        ("reduce", [i32(0), i32(0)], lambda f, lanes: place_of_largest(f, lanes, "unsigned"), False),
        ("reduce", [i32(LOWEST), i32(LOWEST)], last_of_largest, True),
        ("reduce", [i32(LOWEST), i32(5)], last_of_largest, False),
        ("reduce", [i32(LOWEST), i32(0), i32(MOST)], largest_of_three, False),  # where the second alone is its identity
        ("reduce", [i32(LOWEST), i32(LOWEST), i32(MOST)], largest_of_three, True),
        ("scan", [f32(1.0), f32(0.0)], recurrence, True),
        ("scan", [f32(1.0), f32(1.0)], recurrence, False),
        ("reduce", [f32(1.0), f32(0.0)], recurrence, False),  # does not commute
    ],
)
def test_laws_are_known_of_the_usual_bodies(
    name: str, identities: Sequence[Identity], body: Combine, has: bool
) -> None:
    assert has_one_result(combined(name, identities, body)) is has


@pytest.mark.parametrize(
    ("name", "identities", "body", "has"),
    [
        ("reduce", [f32(float("-inf")), i32(0)], place_of_largest_number, True),  # as `cuda.tile.argmax` does
        ("reduce", [f32(float("-inf")), i32(3)], place_of_largest_number, True),  # only of lanes of which one is 3
        ("reduce", [f32(float("-inf")), i32(4)], place_of_largest_number, True),  # behind all lanes
        ("reduce", [f32(float("-inf")), i32(-1)], place_of_largest_number, False),
        ("scan", [f32(float("-inf")), i32(0)], place_of_largest_number, False),  # prefixes: not by this argument
        ("scan", [f32(float("-inf")), i32(4)], place_of_largest_number, True),
        ("reduce", [i32(LOWEST), i32(-1)], last_of_largest, True),
        ("reduce", [i32(LOWEST), i32(9)], last_of_largest, False),
    ],
)
def test_lanes_with_numbers_are_known(name: str, identities: Sequence[Identity], body: Combine, has: bool) -> None:
    """What the identity must leave as it is, is asked of the numbers that lanes have."""
    entry = entry_of(name, identities, body, 4, True)
    op = next(op for op in entry.body.ops if op.declaration.body == "combination")
    assert has_one_result(op, makers(entry.body)) is has


def test_numbers_that_wrap_are_no_numbers() -> None:
    """Of 256 lanes of eight bits half are negative."""
    identities = [IntegerAttribute(I8, -128), IntegerAttribute(I8, 0)]
    found = []
    for lanes in (128, 256):
        entry = entry_of(
            "reduce", identities, lambda f, pair: by_order(f, pair, ("greater_than", "less_than")), lanes, True
        )
        op = next(op for op in entry.body.ops if op.declaration.body == "combination")
        found.append(has_one_result(op, makers(entry.body)))
    assert found == [True, False]


def test_one_lane_may_be_as_it_is_or_its_magnitude() -> None:
    assert not has_one_result(combined("reduce", [f32(0.0)], largest_magnitude, lanes=1))


# ------------------------------------------------------------------------------------------------- at random
BITS: Final = 8


def random_body(chance: random.Random, inputs: int) -> Combine:
    """Some ops on integers of eight bits, comparisons and choices among them."""

    def combine(f: BodyBuilder, lanes: tuple[Value, ...]) -> Sequence[Value]:
        pools = [list(lanes[2 * number : 2 * number + 2]) for number in range(inputs)]
        conditions: list[Value] = []
        for _ in range(chance.randint(0, 3)):
            pool = chance.choice(pools)
            sign = chance.choice(("signed", "unsigned"))
            match chance.choice(("arithmetic", "compare", "join", "select", "extremum")):
                case "arithmetic":
                    op = chance.choice(("addi", "subi", "muli", "andi", "ori", "xori"))
                    pool.append(f.op(op, lhs=chance.choice(pool), rhs=chance.choice(pool)))
                case "extremum":
                    op = chance.choice(("maxi", "mini"))
                    pool.append(f.op(op, lhs=chance.choice(pool), rhs=chance.choice(pool), sgn=sign))
                case "compare":
                    pred = chance.choice(tuple(COMPARED))
                    conditions.append(f.op("cmpi", lhs=pool[0], rhs=pool[1], pred=pred, sgn=sign))
                case "join" if conditions:
                    op = chance.choice(("andi", "ori", "xori"))
                    conditions.append(f.op(op, lhs=chance.choice(conditions), rhs=chance.choice(conditions)))
                case "select" if conditions:
                    pool.append(f.op("select", c=conditions[-1], t=chance.choice(pool), f=chance.choice(pool)))
        if conditions:
            return [f.op("select", c=conditions[-1], t=pool[0], f=pool[1]) for pool in pools]
        return [pool[-1] if len(pool) > 2 else f.op("addi", lhs=pool[0], rhs=pool[1]) for pool in pools]

    return combine


COMPARED: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less_than": operator.lt,
    "less_than_or_equal": operator.le,
    "greater_than": operator.gt,
    "greater_than_or_equal": operator.ge,
}
PLAIN: Final[Mapping[str, Callable[[int, int], int]]] = {
    "addi": operator.add,
    "subi": operator.sub,
    "muli": operator.mul,
    "andi": operator.and_,
    "ori": operator.or_,
    "xori": operator.xor,
}

Lane = tuple[int, ...]


def run(op: Op, left: Lane, right: Lane) -> Lane:
    """What the body gives, in Python's integers from 0 to 255."""
    body = op.regions[0].blocks[0]
    known = dict(zip(body.arguments, itertools.chain(*zip(left, right, strict=True)), strict=True))
    for each in body.ops[:-1]:
        if each.name == "select":
            known[each.result] = known[each.value("t") if known[each.value("c")] else each.value("f")]
            continue
        a, b = known[each.value("lhs")], known[each.value("rhs")]
        if each.name in PLAIN:
            known[each.result] = PLAIN[each.name](a, b) % (2 if each.result.type == tile(I1) else 256)
            continue
        x, y = (n - 256 if n > 127 and each.attributes["sgn"] == "signed" else n for n in (a, b))
        if each.name == "cmpi":
            known[each.result] = int(COMPARED[each.attributes["pred"]](x, y))
        else:
            known[each.result] = a if (x > y) == (each.name == "maxi") else b
    return tuple(known[value] for value in body.terminator.group("args"))


def grouped(op: Op, lanes: Sequence[Lane]) -> Iterator[Lane]:
    """The results of all ways to put brackets around ``lanes``."""
    if len(lanes) == 1:
        yield lanes[0]
    for cut in range(1, len(lanes)):
        for left, right in itertools.product(grouped(op, lanes[:cut]), grouped(op, lanes[cut:])):
            yield run(op, left, right)


@pytest.mark.random
@pytest.mark.parametrize("seed", range(tries(short=2, long=40)))
def test_what_has_one_result_has_it_in_all_orders(seed: int) -> None:
    chance = random.Random(seed)
    known = 0
    for _ in range(400):
        inputs, name = chance.choice((1, 1, 2)), chance.choice(("reduce", "scan"))
        numbers = tuple(chance.choice((0, 0, 1, -1, -128, 127, 5)) for _ in range(inputs))
        op = combined(name, [IntegerAttribute(I8, each) for each in numbers], random_body(chance, inputs))
        if not has_one_result(op):
            continue
        known += 1
        identity = tuple(each % 256 for each in numbers)
        for _ in range(6):
            lanes = [tuple(beside(chance, each) for each in identity) for _ in range(3)]
            orders = itertools.permutations(lanes) if name == "reduce" else [lanes]
            found = {result for order in orders for way in among(order, identity) for result in grouped(op, way)}
            assert len(found) == 1
    assert known >= 10


def beside(chance: random.Random, number: int) -> int:
    """Often the identity itself, which a lane may hold in one input alone."""
    return chance.choice((number, chance.randrange(256), 0, 127, 128, 255))


def among(lanes: Sequence[Lane], identity: Lane) -> Iterator[Sequence[Lane]]:
    """``lanes`` alone, and with the identity at each place."""
    yield lanes
    for place in range(len(lanes) + 1):
        yield (*lanes[:place], identity, *lanes[place:])
