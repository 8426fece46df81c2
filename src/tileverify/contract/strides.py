"""Array layouts: what strides say about two elements sharing an address, and which arguments of a launch share memory.

A stride given as a bare name is only known to keep the elements apart ("rows may not overlap unless said").
A number or an expression says exactly what the stride is, so the elements are apart only where that follows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import gcd, prod
from typing import Any, Final

from ..system.errors import SpecError
from .expressions import GRID_NAMES, constant_value, free_names
from .launch import Apply, ArrayArgument, Expression, LaunchSpec, ListArgument, Name, ScalarArgument, flat, strides_of

MOST_COMPARED: Final = 1 << 16
"""Elements of an array whose addresses are compared one by one."""


def apart(shape: Sequence[int], strides: Sequence[int], most: int = MOST_COMPARED) -> bool:
    """Whether different indices have different addresses; exact for two dimensions and for up to ``most`` elements,
    beyond that ``True`` only where each stride exceeds the reach of all smaller ones.

    Two dimensions of sizes m, n and strides s, t meet iff ``i*s == j*t`` for some 0 < i < m, 0 < j < n, and the
    smallest such i is ``t / gcd(s, t)``.
    """
    dims = sorted((abs(stride), size) for stride, size in zip(strides, shape, strict=True) if size > 1)
    if 0 in shape or not dims:
        return True
    reach, nested = 0, True
    for stride, size in dims:
        nested &= stride > reach
        reach += stride * (size - 1)
    if nested:
        return True
    if dims[0][0] == 0 or any(t // gcd(s, t) < m and s // gcd(s, t) < n for (s, m), (t, n) in combinations(dims, 2)):
        return False
    if len(dims) <= 2:
        return True
    count = prod(size for _, size in dims)
    if count > most or count > reach + 1:  # then there are fewer addresses than indices
        return False
    seen: set[int] = set()
    for index in product(*(range(size) for _, size in dims)):
        place = sum(i * stride for i, (stride, _) in zip(index, dims, strict=True))
        if place in seen:
            return False
        seen.add(place)
    return True


def members(arrays: Iterable[ArrayArgument]) -> dict[str, Expression]:
    """What ``a.shape[0]`` and ``a.strides[1]`` stand for, by that spelling."""
    values: dict[str, Expression] = {}
    for array in arrays:
        values.update((f"{array.name}.shape[{dim}]", size) for dim, size in enumerate(array.shape))
        values.update((f"{array.name}.strides[{dim}]", stride) for dim, stride in enumerate(strides_of(array)))
    return values


def meanings(launch: LaunchSpec) -> dict[str, Expression]:
    """What the launch says that names stand for: members of arrays, tied scalars, lengths of lists and its own grid."""
    found = members(launch.arrays())
    for argument in flat(launch.arguments):
        if isinstance(argument, ScalarArgument) and argument.value is not None:
            found[argument.name] = argument.value
        elif isinstance(argument, ListArgument):
            found[f"{argument.name}.length"] = argument.length
    if launch.grid is not None:
        found |= dict(zip(GRID_NAMES, launch.grid, strict=True))
    return found


def check_meanings(launch: LaunchSpec, *, widened: bool = False) -> None:
    """Raises `SpecError` where a name is described by itself, at once or around a corner: it would have no value.

    ``widened``: the launch is one that was set free: a size or stride whose description is its own name is any number.
    """
    own = members(launch.arrays()).items() if widened else ()
    free = {name for name, expression in own if expression == Name(name)}
    known = {name: free_names(expression) for name, expression in meanings(launch).items() if name not in free}
    done: set[str] = set()

    def follow(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise SpecError(f"'{name}' is described by itself: give it a name or a number of its own")
        if name not in done:
            for each in sorted(known.get(name, ())):
                follow(each, (*path, name))
            done.add(name)

    for name in known:
        follow(name, ())


def may_overlap_itself(array: ArrayArgument) -> bool:
    """Whether two different indices may mean one address, which is cuda.tile's ``may_alias_internally``.

    ``False`` is a standing fact of the launch: it follows from the description, or the description names a stride
    and so promises it.
    """
    if array.strides is None or any(constant_value(size) == 0 for size in array.shape):
        return False
    said = [
        (stride, size)
        for stride, size in zip(array.strides, array.shape, strict=True)
        if not isinstance(stride, Name) and constant_value(size) != 1
    ]
    return not (_apart_by_numbers(said) or _apart_by_factors(said, array.shape))


def _apart_by_numbers(dims: Sequence[tuple[Expression, Expression]]) -> bool:
    """Each stride exceeds the reach of all smaller ones; only the largest may have an unknown size."""
    values = [(constant_value(stride), constant_value(size)) for stride, size in dims]
    known = sorted((stride, size) for stride, size in values if stride is not None and size is not None)
    unknown = [(stride, size) for stride, size in values if stride is None or size is None]
    if len(unknown) > 1 or any(stride is None for stride, _ in unknown):
        return False
    reach = 0
    for stride, size in known:
        if stride <= reach:
            return False
        reach += stride * max(size - 1, 0)
    return all(stride is not None and stride > reach for stride, _ in unknown)


def _apart_by_factors(dims: Sequence[tuple[Expression, Expression]], shape: Sequence[Expression]) -> bool:
    """From the last dimension on, each stride is a multiple of the next stride times the next size.

    The multiple may be a positive number or a size of this array: where that size is 0 there are no elements.
    """
    harmless = {size.name for size in shape if isinstance(size, Name)}
    reach: Counter[str] = Counter()
    factor = 1
    for position, (stride, size) in enumerate(reversed(dims)):
        names, number = _factors(stride)
        if number <= 0 or "" in names:
            return False
        if position and (reach - names or number % factor):
            return False
        if not all(name in harmless for name in names - reach):
            return False
        size_names, size_number = _factors(size)
        reach, factor = names + size_names, number * size_number
        if "" in reach and position + 1 < len(dims):
            return False
    return True


def _factors(expression: Expression) -> tuple[Counter[str], int]:
    """The names and the number of a product; the name ``""`` stands for a factor that is neither."""
    value = constant_value(expression)
    if value is not None:
        return Counter(), value
    if isinstance(expression, Name):
        return Counter([expression.name]), 1
    if isinstance(expression, Apply) and expression.op == "*":
        names, number = _factors(expression.args[0])
        more, times = _factors(expression.args[1])
        return names + more, number * times
    return Counter([""]), 1


# -------------------------------------------------------------------------------------------------------------- overlap
# Which arguments of a recorded launch share memory: not byte ranges that meet, but bytes that coincide.


MAX_WORK = 10**6
"""Candidate solutions that the exact test may look at before two interleaved arrays count as overlapping."""

Argument = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two arguments, by name (``pair[0]`` inside a tuple), with a byte in common; ``same``: one array twice."""

    first: str
    second: str
    same: bool


def overlaps(names: Sequence[str], arguments: Sequence[Argument]) -> list[Overlap]:
    """All overlapping pairs of a launch whose arguments still carry their addresses.

    A list with itself is one where two of its arrays overlap.
    """
    leaves = [leaf for name, argument in zip(names, arguments, strict=True) for leaf in _leaves(name, argument)]
    found = []
    for j, (second, later) in enumerate(leaves):
        if any(_share_bytes(a, b) for a, b in combinations(later, 2)):
            found.append(Overlap(second, second, False))
        for first, earlier in leaves[:j]:
            if any(_share_bytes(a, b) for a in earlier for b in later):
                found.append(Overlap(first, second, len(earlier) == len(later) == 1 and _same(earlier[0], later[0])))
    return found


def _leaves(name: str, argument: Argument) -> Iterator[tuple[str, list[Argument]]]:
    if argument["kind"] == "array":
        yield name, [argument]
    elif argument["kind"] == "list":
        yield name, list(argument["items"])
    elif argument["kind"] == "descriptor":
        yield name, [argument["array"]]
    elif argument["kind"] == "tuple":
        fields = argument.get("fields")
        for index, item in enumerate(argument["items"]):
            yield from _leaves(f"{name}.{fields[index]}" if fields else f"{name}[{index}]", item)


def _same(a: Argument, b: Argument) -> bool:
    """The same elements of the same type: bytes under two types are arrays that overlap."""
    return all(a.get(key) == b.get(key) for key in ("address", "shape", "strides", "bits", "dtype"))


def _share_bytes(a: Argument, b: Argument) -> bool:
    import numpy

    first, second = _view(a), _view(b)
    if not numpy.may_share_memory(first, second):
        return False
    if a["bits"] % 8 or b["bits"] % 8:
        return True
    try:
        return bool(numpy.shares_memory(first, second, max_work=MAX_WORK))  # type: ignore[arg-type]
    except numpy.exceptions.TooHardError:
        return True


class _Memory:
    """An address dressed as an array; nothing ever reads through it."""

    def __init__(self, argument: Argument) -> None:
        item_bytes = (argument["bits"] + 7) // 8
        self.__array_interface__ = {
            "version": 3,
            "typestr": f"|V{item_bytes}",
            "shape": tuple(argument["shape"]),
            "strides": tuple(stride * item_bytes for stride in argument["strides"]),
            "data": (argument["address"], True),
        }


def _view(argument: Argument) -> Any:
    import numpy

    return numpy.asarray(_Memory(argument))
