"""What ``tl.multiple_of``, ``tl.max_contiguous`` and ``tl.max_constancy`` promise of a value.

They are attributes of the op that makes the value, with one number for each dimension.  Triton's compiler builds on
them without a check, so each becomes an ``assume``, which has to be proved.
"""

from __future__ import annotations

from ..bytecode.builder import I64
from ..bytecode.model import Bounded, DivBy, SameElements, ScalarType, TileType, Value
from .translated import TileBuilder, Translated, TritonPointer, element_of, shape_of, tile_of
from .ttir import TritonOp
from .ttir_arithmetic import pointer_to_integer


def promised(b: TileBuilder, op: TritonOp, value: Translated) -> Translated:
    """``value`` with the promises that stand on its op; of pointers they are promised beside it, in bytes."""
    divisors, runs, equals = (_numbers(b, op, value, name) for name in ("divisibility", "contiguity", "constancy"))
    if isinstance(value, TritonPointer) and any((divisors, runs, equals)):
        addresses = pointer_to_integer(b, value)
        _promised(b, addresses, divisors, runs, equals, step=value.pointee.bytes)
        return value
    if not isinstance(value, Value) or not isinstance(tile_of(value).element, ScalarType):
        return value
    if not element_of(value).is_integer:
        return value  # nothing is built on floats
    return _promised(b, value, divisors, runs, equals)


def _numbers(b: TileBuilder, op: TritonOp, value: Translated, name: str) -> tuple[int, ...]:
    """One power of two for each dimension, one of all for a scalar; nothing if they are all 1.

    MLIR prints numbers that are equal as one (``dense<4>``).  What is no power of two is refused for runs; of a divisor
    only the power of two in it is used.
    """
    found = op.attributes.get(f"tt.{name}")
    if not isinstance(found, tuple) or not isinstance(value, (Value, TritonPointer)):
        return ()
    numbers = [number for number in found if isinstance(number, int)]
    shape = shape_of(value)
    numbers = numbers * (len(shape) or 1) if len(numbers) == 1 else numbers
    if name == "divisibility":
        numbers = [number & -number for number in numbers]
    elif any(number & (number - 1) for number in numbers):
        raise b.cannot(op, f"tt.{name} of {', '.join(map(str, numbers))} lanes: only powers of two have a translation")
    else:
        numbers = [min(number, extent) for number, extent in zip(numbers, shape, strict=False)]
    return tuple(numbers) if any(number > 1 for number in numbers) else ()


def _promised(
    b: TileBuilder,
    value: Value,
    divisors: tuple[int, ...],
    runs: tuple[int, ...],
    equals: tuple[int, ...],
    step: int = 1,
) -> Value:
    """Along a dimension the first of each run is divisible, the others are ``step`` apart."""
    for dim, divisor in enumerate(divisors):
        run = runs[dim] if runs else 1
        if divisor > 1 and run > 1 and step == 1:
            value = b.body.op("assume", s=value, pred=DivBy(divisor, run, dim))
        elif divisor > 1 and run == 1:
            value = b.body.op("assume", s=value, pred=DivBy(divisor))
        elif divisor > 1:
            b.body.op("assume", s=_heads(b, value, dim, run)[0], pred=DivBy(divisor))
    for dim, run in enumerate(runs):
        if run > 1:
            _promise_run(b, value, dim, run, step)
    if equals:
        value = b.body.op("assume", s=value, pred=SameElements(equals))
    return value


def _heads(b: TileBuilder, value: Value, dim: int, run: int) -> tuple[Value, Value]:
    """The first of each ``run`` lanes along ``dim``, as an extent of 1 behind it; and all lanes, run by run."""
    type = tile_of(value)
    runs = (*type.shape[:dim], type.shape[dim] // run, run, *type.shape[dim + 1 :])
    wide = b.reshaped(value, runs)
    heads = TileType(type.element, tuple(1 if d == dim + 1 else extent for d, extent in enumerate(runs)))
    first: Value = b.body.op("extract", s=wide, index=(b.number(0),) * len(runs), results=[heads])
    return first, wide


def _promise_run(b: TileBuilder, value: Value, dim: int, run: int, step: int) -> None:
    """Promise that each ``run`` lanes along ``dim`` are ``step`` apart: each is the first plus its distance."""
    first, wide = _heads(b, value, dim, run)
    runs = shape_of(wide)
    distance = b.along(b.lanes(run, element_of(value)), dim + 1, runs)
    if step != 1:
        distance = b.body.op("muli", lhs=distance, rhs=b.number(step, element_of(value), *runs))
    expected = b.body.op("addi", lhs=b.stretched(first, runs), rhs=distance)
    equal = b.body.op("cmpi", lhs=wide, rhs=expected, pred="equal", sgn="signed")
    b.body.op("assume", s=b.body.op("exti", s=equal, sgn="unsigned", results=[TileType(I64, runs)]), pred=Bounded(1, 1))
