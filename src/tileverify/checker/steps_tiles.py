"""Steps: tiles are made, their elements are moved, and what is not followed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..contract.terms import (
    ZERO,
    Term,
    add,
    and_,
    choice,
    const,
    eq,
    floordiv,
    floormod,
    ite,
    le,
    lt,
    scale,
    sub,
    substitute,
)
from ..contract.terms.launch_wide import Opaque, chosen_bits, opaque
from ..frontend.bytecode.model import Bounded, Constant, DivBy, Op, SameElements, ScalarType, TileType
from ..frontend.bytecode.model import Value as SsaValue
from ..frontend.bytecode.optable import FLOAT_OPS
from ..frontend.bytecode.traverse import operands
from ..frontend.symbolic.summary import Origin, OriginKind
from ..results.codes import TV
from .agreement import Address, Layout, NotFollowed, Value, Waiting, lane, row_major, taken_from
from .evaluator import Step, SummaryChecker, pointee, shape, width
from .steps_accesses import either
from .steps_integers import element, must_not_wrap, read_unsigned, signed, stored
from .steps_pointers import first_byte

_CHOICES: Final = 64
"""Elements of a constant tile that are told apart one by one."""


# --------------------------------------------------------------------------------------------------------- making
def constant(ev: SummaryChecker, op: Op) -> Value:
    value = op.attributes["value"]
    assert isinstance(value, Constant)
    if value.scalar.is_float:
        return opaque(bits=const(value.element(0)) if value.is_splat and ev.entry.equal_stores else None)
    bits = value.scalar.bits
    numbers = [value.element(i) for i in range(1 if value.is_splat else value.count)]
    if len(set(numbers)) == 1:
        return element(numbers[0], bits)
    position, unit = ZERO, 1
    for dim, size in reversed(list(enumerate(value.type.shape))):
        position, unit = add(position, scale(unit, lane(dim, size))), unit * size
    step = numbers[1] - numbers[0]
    if bits > 1 and all(number == numbers[0] + i * step for i, number in enumerate(numbers)):
        return add(const(numbers[0]), scale(step, position))
    if len(numbers) > _CHOICES:
        return ev.any_value(op, op.result, ())
    chosen = element(numbers[-1], bits)
    for i in range(len(numbers) - 2, -1, -1):
        chosen = ite(eq(position, const(i)), element(numbers[i], bits), chosen)
    return chosen


def iota(ev: SummaryChecker, op: Op) -> Term:
    return stored(ev, lane(0, shape(op.result)[0]), width(op.result))


# --------------------------------------------------------------------------------------------------------- moving
def broadcast(ev: SummaryChecker, op: Op) -> Value:
    return ev.value(op.value("s"))


def reshape(ev: SummaryChecker, op: Op) -> Value:
    source = op.value("s")
    return taken_from(ev.value(source), shape(source), row_major(shape(source), shape(op.result)))


def permute(ev: SummaryChecker, op: Op) -> Value:
    """Dimension i of the result is dimension ``perm[i]`` of the source."""
    source = op.value("s")
    sizes = shape(source)
    coordinates = [ZERO] * len(sizes)
    for of_result, of_source in enumerate(op.attributes["perm"]):
        coordinates[of_source] = lane(of_result, sizes[of_source])
    return taken_from(ev.value(source), sizes, coordinates)


def cat(ev: SummaryChecker, op: Op) -> Value:
    dim, left, right = op.attributes["dim"], op.value("lhs"), op.value("rhs")
    at, border = lane(dim, shape(op.result)[dim]), const(shape(left)[dim])

    def part(source: SsaValue, along: Term) -> Value:
        coordinates = [along if d == dim else lane(d, size) for d, size in enumerate(shape(source))]
        return taken_from(ev.value(source), shape(source), coordinates)

    return either_value(lt(at, border), part(left, at), part(right, sub(at, border)))


def extract(ev: SummaryChecker, op: Op) -> Value:
    source = op.value("s")
    starts = _corner(ev, op, shape(source), shape(op.result))
    coordinates = [add(starts[d], lane(d, size)) for d, size in enumerate(shape(op.result))]
    return taken_from(ev.value(source), shape(source), coordinates)


def insert(ev: SummaryChecker, op: Op) -> Value:
    source, target = op.value("s"), op.value("dest")
    starts = _corner(ev, op, shape(target), shape(source))
    offsets = [sub(lane(d, size), starts[d]) for d, size in enumerate(shape(target))]
    inside = (and_(le(ZERO, at), lt(at, const(size))) for at, size in zip(offsets, shape(source), strict=True))
    covered = and_(*inside)
    return either_value(covered, taken_from(ev.value(source), shape(source), offsets), ev.value(target))


def _corner(ev: SummaryChecker, op: Op, whole: Sequence[int], part: Sequence[int]) -> list[Term]:
    """The first element of the subtile; its index counts subtiles."""
    starts = []
    for d, operand in enumerate(op.group("index")):
        index, count = read_unsigned(ev, operand), whole[d] // part[d]
        ev.promise(op, lt(index, const(count)), f"subtile index along dimension {d} is less than {count}")
        starts.append(scale(part[d], index))
    return starts


def select(ev: SummaryChecker, op: Op) -> Value:
    return either_value(ev.term(op.value("c")), ev.value(op.value("t")), ev.value(op.value("f")))


def either_value(condition: Term, then: Value, otherwise: Value) -> Value:
    """``then`` where ``condition`` holds; a pointer into one of two places points anywhere."""
    if then is otherwise and not isinstance(then, Opaque):
        return then
    match then, otherwise:
        case Opaque() as one, Opaque() as other:
            return opaque(condition, one, other, bits=chosen_bits(condition, one, other))
        case Address(a, x), Address(b, y):
            return Address(
                a if a == b else Origin(OriginKind.UNKNOWN, "unknown", a.element_bytes), choice(condition, x, y)
            )
        case Waiting(), Waiting():
            return either(condition, then, otherwise)
        case Term(), Term():
            return choice(condition, then, otherwise)
    raise NotFollowed(f"a choice of {type(then).__name__} and {type(otherwise).__name__}")


# --------------------------------------------------------------------------------------------------------- assume
def assume(ev: SummaryChecker, op: Op) -> Value:
    operand = op.value("s")
    value, sizes = ev.value(operand), shape(operand) if isinstance(operand.type, TileType) else ()
    match value:
        case Layout():
            number, unit = add(first_byte(value.origin), value.base), 1
        case Address():
            number, unit = add(first_byte(value.origin), value.offset), pointee(operand).bytes
        case Term():
            number, unit = signed(value, width(operand)), 1
        case _:
            return value
    for condition, text in _assumed(op.attributes["pred"], number, sizes, unit):
        ev.promise(op, condition, text, TV.ASSUME_PROMISE)
    return value


def _assumed(predicate: object, number: Term, sizes: Sequence[int], unit: int) -> list[tuple[Term, str]]:
    def at_first_of(groups: dict[int, int]) -> Term:
        """The number in the first lane of each group."""
        starts = {
            lane(d, sizes[d]): scale(size, floordiv(lane(d, sizes[d]), const(size)))
            for d, size in groups.items()
            if sizes[d] > 1
        }
        return substitute(number, starts)

    def divisible(term: Term, by: int) -> Term:
        return eq(floormod(term, const(by)), ZERO)

    match predicate:
        case Bounded(low, high):
            least = [] if low is None else [(le(const(low), number), f"assumed: value is at least {low}")]
            most = [] if high is None else [(le(number, const(high)), f"assumed: value is at most {high}")]
            return least + most
        case DivBy(by, None, _):
            return [(divisible(number, by), f"assumed: value is divisible by {by}")]
        case DivBy(by, int(every), int(along)):
            first = at_first_of({along: every})
            counted = add(first, scale(unit, floormod(lane(along, sizes[along]), const(every))))
            where = f"along dimension {along}"
            return [
                (divisible(first, by), f"assumed: every {every}th value {where} is divisible by {by}"),
                (eq(number, counted), f"assumed: runs of {every} values {where} are consecutive"),
            ]
        case SameElements(groups):
            text = f"assumed: values are equal in groups of {'x'.join(map(str, groups))}"
            return [(eq(number, at_first_of(dict(enumerate(groups)))), text)]
    raise NotFollowed("an assumption of an unknown kind")


# --------------------------------------------------------------------------------------------------- not followed
def one_function(ev: SummaryChecker, op: Op) -> Value:
    """A float, or what comes of floats: one function of the operands, of which nothing else is known."""
    return ev.any_value(op, op.result, [ev.value(each) for each in operands(op)])


def call(ev: SummaryChecker, op: Op) -> Value:
    """What a foreign function gives depends on its operands alone, but assembly may ask the machine."""
    asks_machine = op.attributes["callee"].startswith("asm ")
    return ev.any_value(op, op.result) if asks_machine else one_function(ev, op)


def fold(ev: SummaryChecker, op: Op) -> tuple[Value, ...]:
    """A reduction or a scan gives anything; what its body must not do is asked of any two elements.

    Of a sum, which adds each lane once and 0 as often as it likes, it is asked whether n times each of the n lanes can
    be had without a wrap: no sum of fewer is further from 0 than the worst of these.
    """
    body = op.regions[0].blocks[0]
    first, *rest = body.ops
    if first.name == "addi" and len(rest) == 1 and _adds_all(op, first):
        (source,) = op.group("inputs")
        count = shape(source)[op.attributes["dim"]]

        def worst(sign: str) -> Term:
            lanes = ev.term(source)
            return scale(count, lanes if sign == "signed" else read_unsigned(ev, source))

        must_not_wrap(ev, first, "addition", worst)
    else:
        for i, argument in enumerate(body.arguments):
            ev.env[argument] = ev.any_value(op, argument, suffix=f".operand{i}")
        ev.run(body)
    many = len(op.results) > 1
    return tuple(ev.any_value(op, result, suffix=f".{i}" if many else "") for i, result in enumerate(op.results))


def _adds_all(op: Op, adding: Op) -> bool:
    """Whether one array of integers wider than a bit is summed up from 0, by this addition."""
    arguments, start = op.regions[0].blocks[0].arguments, op.attributes["ident"][0]
    once = sorted((adding.value("lhs").number, adding.value("rhs").number)) == sorted(each.number for each in arguments)
    kept = op.regions[0].blocks[0].ops[-1].group("args") == (adding.result,)
    return once and kept and width(adding.result) > 1 and start.value == 0


def bitcast(ev: SummaryChecker, op: Op) -> Value:
    source = op.value("s")
    assert isinstance(source.type, TileType)
    same = isinstance(source.type.element, ScalarType) and source.type == op.result.type
    return ev.value(source) if same else one_function(ev, op)


_NOT_FOLLOWED: Final = (
    *(declaration.name for declaration in FLOAT_OPS),
    *("ftof", "ftoi", "itof", "mmaf", "mmai", "mmaf_scaled", "pack", "unpack"),
)
"""The executor has such a list of its own: what one of the two follows is no property of an op."""

STEPS: Final[dict[str, Step]] = {
    "constant": constant,
    "iota": iota,
    "broadcast": broadcast,
    "reshape": reshape,
    "permute": permute,
    "cat": cat,
    "extract": extract,
    "insert": insert,
    "select": select,
    "assume": assume,
    "bitcast": bitcast,
    "reduce": fold,
    "scan": fold,
    "opaque": call,
    **dict.fromkeys(_NOT_FOLLOWED, one_function),
}
