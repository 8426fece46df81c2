"""Arguments of a call, in the words of a contract: without constants, tuples taken apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import gcd
from numbers import Integral, Real
from typing import Any, NamedTuple

from ..backend.gpu import driver
from ..backend.guard import ArrayValue, LaunchRefused
from ..backend.guard.arguments import Grid, Value, array_value
from ..backend.ledger import ByteAccess
from ..contract.element_types import ELEMENT_TYPES
from ..contract.launch import Argument, ConstantArgument, ListArgument, TupleArgument
from ..system.errors import UsageError
from .launch_log import Use
from .launch_types import Arguments
from .reach import Reach, Reached, within


class Touched(NamedTuple):
    """The arrays that a kernel may write, and those of which it touches elements alone, by name.

    ``reach``: how far it gets in them, where anything is known of that.
    """

    written: frozenset[str]
    by_elements: frozenset[str]
    reach: Reach | None = None

    def anywhere(self) -> Touched:
        """Of a launch that nobody proved: it may go where it likes."""
        return self._replace(by_elements=frozenset(), reach=None)


def values_by_contract(arguments: Sequence[Argument], given: Arguments, kernel: str) -> list[Value]:
    """What a guard of the contract with these ``arguments`` is told; raises `LaunchRefused` for other constants.

    Of a list, its length and then its arrays (`backend.launch.lists`).
    """
    if len(arguments) != len(given):
        raise UsageError(f"'{kernel}' has {len(arguments)} parameters, {len(given)} were given")
    return [value for argument, each in zip(arguments, given, strict=True) for value in _values(argument, each, kernel)]


def _values(argument: Argument, given: Any, kernel: str) -> Iterator[Value]:
    if isinstance(argument, ConstantArgument):
        if not same_constant(argument.value, given):
            raise LaunchRefused(
                f"{kernel} was not launched: it was compiled for {argument.name} = {argument.value!r}, not {given!r}"
                " (TV502)"
            )
    elif isinstance(argument, TupleArgument):
        items = _items(argument, given, kernel)
        if len(items) != len(argument.items):
            raise LaunchRefused(f"{kernel} was not launched: `{argument.name}` has {len(items)} items (TV502)")
        for inner, item in zip(argument.items, items, strict=True):
            yield from _values(inner, item, kernel)
    elif isinstance(argument, ListArgument):
        yield len(given)
        for item in given:
            yield _array(argument.name, item, kernel)
    elif isinstance(given, bool | int | float):
        yield given
    else:
        yield _array(argument.name, given, kernel)


def _items(argument: TupleArgument, given: object, kernel: str) -> Sequence[object]:
    if argument.fields:
        missing = next((field for field in argument.fields if not hasattr(given, field)), None)
        if missing is not None:
            raise UsageError(f"`{argument.name}` of '{kernel}' is a {type(given).__name__} without `{missing}`")
        return [getattr(given, field) for field in argument.fields]
    if not isinstance(given, tuple | list):
        raise UsageError(f"`{argument.name}` of '{kernel}' is a {type(given).__name__}, no tuple")
    return given


def _array(name: str, given: object, kernel: str) -> Value:
    value = array_value(given)
    if value is None:
        raise UsageError(f"`{name}` of '{kernel}' is a {type(given).__name__}, no array and no number")
    return value


def device_of(kernel: str, values: Iterable[Value]) -> int:
    """The GPU that all arrays lie on, 0 where there are none; raises `UsageError` for several."""
    arrays = [value for value in values if isinstance(value, ArrayValue) and 0 not in value.shape]
    devices = {driver.device_of(array.address) for array in arrays}
    if len(devices) > 1:
        raise UsageError(f"the arrays of '{kernel}' lie on several devices: {sorted(devices)}")
    return devices.pop() if devices else 0


def use_of(
    kernel: str,
    device: int,
    grid: Grid,
    named: Mapping[str, Value],
    touched: Touched,
    lists: Mapping[str, Sequence[ArrayValue]] | None = None,
) -> Use:
    """The bytes of every array that the launch may read, and those that it may write."""
    arrays = [(name, value) for name, value in named.items() if isinstance(value, ArrayValue)]
    arrays += [(name, value) for name, of in (lists or {}).items() for value in of]
    reached = {} if touched.reach is None else touched.reach.ranges(named, grid)
    accesses = tuple(each for name, value in arrays for each in _accesses(name, value, touched, reached.get(name)))
    return Use(kernel, device, accesses, tuple((value.address, name) for name, value in arrays))


def _accesses(name: str, array: ArrayValue, touched: Touched, reached: Reached | None) -> Iterator[ByteAccess]:
    """What is read, and what is written, too; of an array of which nothing is known, all of it."""
    start, end = span(array)
    writes = name in touched.written
    if reached is None:
        reached = Reached(None, (0, end - start)) if writes else Reached((0, end - start), None)
    period, width = rows(array) if name in touched.by_elements else (0, 0)
    for bytes_, write in zip(reached, (False, True), strict=True):
        low, high = within(bytes_, end - start)
        if low < high:
            low -= low % period if period else 0  # rows are counted from where they start
            yield ByteAccess(start + low, start + high, write, name, period, width)


def rows(array: ArrayValue) -> tuple[int, int]:
    """The bytes between the starts of rows that lie apart, and those of a row; 0 and 0 if there is one row.

    Dimensions from the smallest stride up make one row as long as they leave no gap; all larger strides are multiples
    of their greatest common divisor, which is the period.
    """
    bits = ELEMENT_TYPES[array.dtype].bits
    if bits % 8 or 0 in array.shape:
        return 0, 0
    width = bits // 8
    dims = sorted(
        (stride * bits // 8, size) for stride, size in zip(array.strides, array.shape, strict=True) if size > 1
    )
    while dims and dims[0][0] <= width:
        stride, size = dims.pop(0)
        width += (size - 1) * stride
    period = gcd(*(stride for stride, _ in dims))
    return (period, width) if width < period else (0, 0)


def span(array: ArrayValue) -> tuple[int, int]:
    """First byte and end of an array; an empty one has none."""
    if 0 in array.shape:
        return array.address, array.address
    last = sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True))
    bits = ELEMENT_TYPES[array.dtype].bits
    return array.address, array.address + ((last + 1) * bits + 7) // 8


# -------------------------------------------------------------------------------------------------------- same constant
# What is compiled into a kernel, held against what a launch gives for it.


def same_constant(compiled: object, given: object) -> bool:
    """Whether the kernel that was compiled for one is the kernel for the other.

    ``compiled``: as a spec or a certificate has it, a tuple as a list in JSON.  1, 1.0 and True are three constants, as
    kernels compute in their types, and so are 0.0 and -0.0; nan is one.
    """
    if isinstance(compiled, tuple | list):
        return (
            isinstance(given, tuple | list) and len(compiled) == len(given) and all(map(same_constant, compiled, given))
        )
    if isinstance(compiled, bool) or isinstance(given, bool):
        return compiled is given
    if isinstance(compiled, int):
        return isinstance(given, Integral) and int(given) == compiled
    if isinstance(compiled, float):
        return isinstance(given, Real) and not isinstance(given, Integral) and float(given).hex() == compiled.hex()
    return isinstance(given, type(compiled)) and given == compiled
