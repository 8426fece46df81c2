"""What Python itself says of a launch, from the printed text of the contract and the words of `docs/specs.md`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product
from math import prod
from typing import Any, cast

from tileverify.backend.guard.arguments import ArrayValue
from tileverify.contract.element_types import ELEMENT_TYPES
from tileverify.contract.expressions import print_expression
from tileverify.contract.launch import (
    ArrayArgument,
    DataFact,
    Expression,
    LaunchSpec,
    ListArgument,
    SameArray,
    ScalarArgument,
)
from tileverify.contract.strides import may_overlap_itself

from .launches import Given, order
from .solving import NoLaunch, numbers, solved

MOST_COMPARED = 4096
"""Elements of an array that are put side by side to see whether two share an address."""


class Unclear(Exception):
    """This reading cannot tell in reasonable time."""


def _plainly(text: str, known: Mapping[str, int]) -> int:
    """The value of printed text, as Python reads it."""
    return int(eval(_spelled(text, known), {"__builtins__": {}, **_FUNCTIONS}, _Names(known)))


_FUNCTIONS = {"cdiv": lambda a, b: -(-a // b), "min": min, "max": max}


def _spelled(text: str, known: Mapping[str, int]) -> str:
    """Members and names of lists' elements as plain names."""
    for name in sorted((name for name in known if not name.isidentifier()), key=len, reverse=True):
        text = text.replace(name, _plain(name))
    return text


def _plain(name: str) -> str:
    return "_" + "".join(c if c.isalnum() else "_" for c in name)


class _Names(dict[str, int]):
    def __init__(self, known: Mapping[str, int]) -> None:
        super().__init__({name if name.isidentifier() else _plain(name): value for name, value in known.items()})


def _holds(text: str, known: Mapping[str, int]) -> bool:
    try:
        return bool(_plainly(text, known))
    except ZeroDivisionError:
        return False


@dataclass(frozen=True)
class Plain:
    """What Python says of a launch: of its numbers, of where arrays lie, and of what they hold."""

    numbers: bool
    memory: bool
    data: bool

    @property
    def legal(self) -> bool:
        return self.numbers and self.memory and self.data


def plainly(spec: LaunchSpec, written: frozenset[str], given: Given) -> Plain:
    """The contract of `docs/specs.md`, word by word; ``written``: the arrays that the kernel writes."""
    nothing = Plain(False, False, False)
    if not all(of_its_kind(*each) for each in zip(order(spec), given.values, strict=True)):
        return nothing
    if not all(_contiguous(described, value) for _, described, value in arrays(spec, given)):
        return nothing
    given = replace(given, values=tuple(_as_said(*each) for each in zip(order(spec), given.values, strict=True)))
    try:
        known = solved(spec, numbers(spec, given))
    except NoLaunch:
        return nothing
    every = list(arrays(spec, given))
    by_name = {name: (described, value) for name, described, value in every}
    right = all(_right(spec, given, known))
    memory = all(value.address % (ELEMENT_TYPES[described.dtype].bits // 8) == 0 for _, described, value in every)
    for clause in spec.requires:
        if isinstance(clause, SameArray):
            (_, one), (_, other) = by_name[clause.first], by_name[clause.second]
            right = right and one.shape == other.shape and one.strides == other.strides
            memory = memory and one.address == other.address
    memory = memory and not any(_clash(spec, written, *pair) for pair in combinations(every, 2))
    return Plain(right, memory, all(_fact_holds(fact, given, known) for fact in spec.data))


def _right(spec: LaunchSpec, given: Given, known: Mapping[str, int]) -> Iterator[bool]:
    """All that is said of numbers."""
    own = {name for name in known if "." not in name and "[" not in name} - {a.name for a in order(spec)}
    yield all(known[name] >= 0 for name in own)
    yield all(1 <= axis < 1 << 24 for axis in given.grid)
    for _, described, value in arrays(spec, given):
        yield _fits(described, value)
        yield _fits(described, value) and elements_apart(described, value)
    for argument, passed in zip(order(spec), given.values, strict=True):
        if isinstance(argument, ListArgument):
            yield from (_element_keeps(argument.element, each) for each in cast("tuple[ArrayValue, ...]", passed))
    lists = {a.name: value for a, value in zip(order(spec), given.values, strict=True) if isinstance(a, ListArgument)}
    for clause in spec.requires:
        if isinstance(clause, SameArray):
            continue
        text = print_expression(clause)
        about = [name for name in lists if any(f"{name}.{part}" in text for part in ("address", "shape", "strides"))]
        for name in about:  # of every array, and there is one
            every = cast("tuple[ArrayValue, ...]", lists[name])
            yield bool(every) and all(_holds(text, {**known, **members(name, each)}) for each in every)
        if not about:
            yield _holds(text, known)


def members(name: str, array: ArrayValue) -> dict[str, int]:
    """The numbers of an array, as those of one that is called so."""
    found = {f"{name}.address": array.address}
    found |= {f"{name}.shape[{d}]": size for d, size in enumerate(array.shape)}
    return found | {f"{name}.strides[{d}]": stride for d, stride in enumerate(array.strides)}


def arrays(spec: LaunchSpec, given: Given) -> Iterator[tuple[str, ArrayArgument, ArrayValue]]:
    """Every array with the name that groups call it by."""
    for argument, value in zip(order(spec), given.values, strict=True):
        if isinstance(argument, ArrayArgument):
            assert isinstance(value, ArrayValue)
            yield argument.name, argument, value
        elif isinstance(argument, ListArgument):
            yield from ((argument.name, argument.element, each) for each in cast("tuple[ArrayValue, ...]", value))


def of_its_kind(argument: object, value: object) -> bool:
    match argument:
        case ScalarArgument(dtype=dtype) if ELEMENT_TYPES[dtype].kind == "f":
            return True
        case ScalarArgument(dtype=dtype):
            return isinstance(value, int) and ELEMENT_TYPES[dtype].holds(value)
        case ListArgument():
            assert isinstance(value, tuple)
            return len(value) < 1 << 31
    return True


def _contiguous(described: ArrayArgument, value: ArrayValue) -> bool:
    """Where a stride makes a difference, it is the product of the sizes behind it."""
    if described.strides is not None or 0 in value.shape:
        return True
    rank = range(len(value.shape))
    return all(value.shape[d] == 1 or value.strides[d] == prod(value.shape[d + 1 :]) for d in rank)


def _as_said(argument: object, value: Any) -> Any:
    if isinstance(argument, ArrayArgument) and argument.strides is None:
        return value._replace(strides=tuple(prod(value.shape[d + 1 :]) for d in range(len(value.shape))))
    if isinstance(argument, ListArgument):
        return tuple(_as_said(argument.element, each) for each in value)
    return value


def _fits(described: ArrayArgument, value: ArrayValue) -> bool:
    return all(0 <= number < 1 << (described.index_bits - 1) for number in (*value.shape, *value.strides))


def elements_apart(described: ArrayArgument, value: ArrayValue) -> bool:
    if may_overlap_itself(described):
        return True
    dims = [(size, stride) for size, stride in zip(value.shape, value.strides, strict=True) if size > 1]
    if 0 in value.shape or not dims:
        return True
    if any(stride == 0 for _, stride in dims):
        return False
    count = prod(size for size, _ in dims)
    if count <= MOST_COMPARED:
        places = [
            sum(i * s for i, (_, s) in zip(index, dims, strict=True)) for index in product(*(range(n) for n, _ in dims))
        ]
        return len(set(places)) == count
    dims.sort(key=lambda dim: dim[1])
    if all(b[1] > sum((n - 1) * s for n, s in dims[: i + 1]) for i, (_, b) in enumerate(pairwise(dims))):
        return True
    if len(dims) == 2 and dims[0][0] > MOST_COMPARED:
        (m, s), (n, u) = dims
        # Some steps along one dimension are as far as some along the other.
        return not any(j * u % s == 0 and j * u // s < m for j in range(1, min(n, s + 1)))
    raise Unclear


def _element_keeps(element: ArrayArgument, value: ArrayValue) -> bool:
    """An array of a list has the layout that the list's description gives it, with names of its own."""
    lone = LaunchSpec("k", "0", (element,))
    try:
        known = solved(lone, numbers(lone, Given((value,), (1, 1, 1))))
    except NoLaunch:
        return False
    return all(number >= 0 for name, number in known.items() if "." not in name)


def _clash(
    spec: LaunchSpec,
    written: frozenset[str],
    one: tuple[str, ArrayArgument, ArrayValue],
    other: tuple[str, ArrayArgument, ArrayValue],
) -> bool:
    """Two arrays overlap, one of them is written, and nothing says that they may."""
    (a, first, x), (b, second, y) = one, other
    if not {a, b} & written:
        return False
    same = [frozenset((r.first, r.second)) for r in spec.requires if isinstance(r, SameArray)]

    def names(name: str) -> set[str]:
        found = {name}
        while more := {each for pair in same if pair & found for each in pair} - found:
            found |= more
        return found

    if a != b and b in names(a):
        return False
    for group in (*spec.alias, *spec.overlap):
        if names(a) & group and names(b) & group:
            return False
    return _start(x) < end(second, y) and _start(y) < end(first, x)


def _start(array: ArrayValue) -> int:
    return array.address


def end(described: ArrayArgument, array: ArrayValue) -> int:
    if 0 in array.shape:
        return array.address
    last = sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True))
    return array.address + (last + 1) * (ELEMENT_TYPES[described.dtype].bits // 8)


def _number(expression: Expression | None, known: Mapping[str, int]) -> int | None:
    return None if expression is None else _plainly(print_expression(expression), known)


def _fact_holds(fact: DataFact, given: Given, known: Mapping[str, int]) -> bool:
    try:
        parts = (fact.low, fact.high, fact.amount, fact.width)
        low, high, amount, buckets = (_number(part, known) for part in parts)
        unless = {_number(each, known) for each in fact.unless}
    except ZeroDivisionError:
        return False
    values = given.contents.get(fact.array)
    if fact.others:
        return _of_several(fact, given, unless, (low, high, amount, buckets))
    if fact.kind == "multiples" and (amount is None or amount < 1):
        return False
    if values is None:
        return True
    shape = given.shapes[fact.array]
    meant = [(i, v) for i, v in enumerate(values) if v not in unless and (low is None or low <= v < (high or 0))]
    width = shape[-1] if shape else 1
    match fact.kind:
        case "range":
            return all(v in unless or low <= v < high for v in values)  # type: ignore[operator]
        case "injective":
            return len({v for _, v in meant}) == len(meant)
        case "permutation":
            return sorted(values) == list(range(len(values)))
        case "nondecreasing":
            return all(values[i] <= values[i + 1] for i in range(len(values) - 1) if (i + 1) % width)
        case "multiples":
            return all(v % amount == 0 for v in values)  # type: ignore[operator]
        case "shares":
            return all(v >= 0 for v in values) and sum(values) <= amount  # type: ignore[operator]
        case "disjoint_rows":
            row = len(values) // shape[0]
            return all(i // row == j // row or v != w for (i, v), (j, w) in combinations(meant, 2))
    raise AssertionError(fact.kind)


def _of_several(fact: DataFact, given: Given, excused: Collection[int | None], numbers: Sequence[int | None]) -> bool:
    held = [given.contents.get(name) for name in fact.arrays]
    if fact.kind not in ("distinct_where", "in_segments"):
        return _of_two(fact, held[0], held[1], numbers)
    found = [each for each in held if each is not None]
    if len(found) < len(held):
        return True
    values, beside, *more = found
    pairs = list(zip(values, beside, strict=False))
    if fact.kind == "distinct_where":
        spoken = [value for value, count in pairs if count > 0 and value not in excused]
        return len(set(spoken)) == len(spoken)
    (ends,) = more
    return all(ends[k] <= value < ends[k + 1] for value, k in pairs if 0 <= k < len(ends) - 1)


def _of_two(
    fact: DataFact, values: Sequence[int] | None, others: Sequence[int] | None, numbers: Sequence[int | None]
) -> bool:
    low, high, amount, buckets = numbers
    if any(part is not None and part < 1 for part in (amount, buckets)):
        return False
    if values is None or others is None:
        return True
    if fact.kind == "ranks":
        assert amount is not None
        return _numbers(values, others, amount)
    if fact.kind == "buckets":
        assert amount is not None
        assert buckets is not None
        taken = _taken(values, others, amount, buckets)
        return len(set(taken)) == len(taken) and all(low is None or low <= x < (high or 0) for x in taken)
    parts = [(a, a + n) for a, n in zip(values, others, strict=False) if n > 0]
    inside = low is None or all(low <= a and b <= high for a, b in parts)  # type: ignore[operator]
    return min(others) >= 0 and inside and all(b <= c or d <= a for (a, b), (c, d) in combinations(parts, 2))


def _numbers(ranks: Sequence[int], keys: Sequence[int], n: int) -> bool:
    """Whether the elements of each chunk with one key have numbers of their own, less than how many there are."""
    for start in range(0, len(keys), n):
        chunk = range(start, min(start + n, len(keys)))
        for key in {keys[i] for i in chunk}:
            own = [i for i in chunk if keys[i] == key]
            found = [ranks[i] for i in own if i < len(ranks)]
            if len(set(found)) < len(found) or not set(found) <= set(range(len(own))):
                return False
    return True


def _taken(starts: Sequence[int], keys: Sequence[int], n: int, width: int) -> list[int]:
    """The places that elements are given which go into their bucket one after the other."""
    full: dict[int, int] = {}
    found = []
    for i, key in enumerate(keys):
        bucket = i // n * width + key
        if 0 <= key < width and bucket < len(starts):
            found.append(starts[bucket] + full.get(bucket, 0))
            full[bucket] = full.get(bucket, 0) + 1
    return found
