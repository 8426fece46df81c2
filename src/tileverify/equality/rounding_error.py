"""How far a kernel's own formats are from float64, in units of the spacing of the format that holds the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from ..frontend.bytecode.model import Block, Entry, Op, ScalarType, TileType, Value
from ..frontend.bytecode.traverse import operands, walk
from .field import Array

FORMATS: Final = {
    "f64": (53, -1022), "f32": (24, -126), "tf32": (11, -126), "f16": (11, -14), "bf16": (8, -126),
    "f8e4m3": (4, -6), "f8e5m2": (3, -14), "f8e8m0": (1, -127),
}  # fmt: skip
"""Bits of a significand, and the least exponent of a normal number."""


@dataclass(frozen=True, slots=True)
class ArrayError:
    """The worst element of an array: ``units`` are spacings of its format at ``reference``, ``of_largest`` the largest
    error of the array in spacings at its largest element.  Both are infinite where the format overflows."""

    array: str
    format: str
    units: float
    of_largest: float
    index: tuple[int, ...]
    kernel: float
    reference: float
    launch: Mapping[str, int]
    contents: str

    @property
    def beside_zero(self) -> bool:
        """Whether the error is as large as the value: ``units`` then counts spacings that are finer than any digit."""
        apart = abs(self.kernel - self.reference)
        return bool(np.isfinite(apart)) and apart >= abs(self.reference) and self.units > 1


@dataclass(frozen=True, slots=True)
class RoundingSeen:
    """What was measured at a few points, the worst of each array; ``reason``: why nothing was."""

    arrays: tuple[ArrayError, ...] = ()
    narrow: tuple[NarrowSum, ...] = ()
    reason: str = ""


def spacing(values: Array, format_name: str) -> Array:
    """The distance between neighbouring numbers of a format at finite ``values`` (float64)."""
    digits, least = FORMATS[format_name]
    _, exponents = np.frexp(values)
    exponents = np.where(values == 0, least, np.maximum(exponents - 1, least))
    return np.asarray(np.ldexp(1.0, exponents - (digits - 1)))


def error_of(
    name: str, format_name: str, kernel: Array, reference: Array, launch: Mapping[str, int], contents: str
) -> ArrayError | None:
    """Of arrays of one shape, in float64; elements whose reference is not finite are left out, None if all are."""
    known = np.isfinite(reference)
    if not known.any():
        return None
    exact = np.where(known, reference, 0.0)
    with np.errstate(all="ignore"):
        apart = np.where(known, np.abs(kernel - exact), 0.0)
        apart = np.where(np.isnan(apart), np.inf, apart)
        units = apart / spacing(exact, format_name)
    worst = int(units.argmax())
    index = tuple(int(place) for place in np.unravel_index(worst, exact.shape))
    of_largest = float(apart.max() / spacing(np.abs(exact).max(), format_name))
    return ArrayError(
        name, format_name, float(units[index]), of_largest, index, float(kernel[index]), float(exact[index]),
        launch, contents,
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------------- narrow sums
# Sums that a kernel keeps in fewer than 32 bits, or in 32 where it goes on with 64: additions round or wrap there, the
# more the longer an array is.


_ADDING = ("sum", "difference", "fused")
_FEWEST_BITS = 32
_WORD = "i32"
_WIDENING = frozenset({"exti", "itof"})


@dataclass(frozen=True, slots=True)
class NarrowSum:
    """``op``: a product of matrices, a reduction, a loop, an atomic; ``line``: of its source, where that is known."""

    op: str
    format: str
    line: int | None
    widened: bool = False
    """Something is computed of it in more bits: what it lost is lost there."""


def narrow_sums(entry: Entry) -> tuple[NarrowSum, ...]:
    """All of a kernel, each once, in the order of the program."""
    users = _users(entry)
    sums = (
        NarrowSum(op.name, narrow, None if op.location is None else op.location.line, _is_widened(users, op, narrow))
        for op in walk(entry.body)
        for narrow in _formats(op)
    )
    return tuple(dict.fromkeys(each for each in sums if each.format != _WORD or each.widened))


def _users(entry: Entry) -> Mapping[Value, list[Op]]:
    """The ops that take each value."""
    users: dict[Value, list[Op]] = {}
    for user in walk(entry.body):
        for operand in operands(user):
            users.setdefault(operand, []).append(user)
    return users


def _is_widened(users: Mapping[Value, list[Op]], op: Op, narrow: str) -> bool:
    """Whether a cast to more bits is made of a result of ``op`` in the format ``narrow``; of 32 bits, to an integer."""
    left = [result for result in op.results if _element(result) == narrow]
    seen = {*left}
    while left:
        for user in users.get(left.pop(), ()):
            if user.name in (_WIDENING if narrow != _WORD else ("exti",)):
                return True
            fresh = [each for each in user.results if each not in seen]
            seen.update(fresh)
            left += fresh
    return False


def _element(value: Value) -> str:
    element = value.type.element if isinstance(value.type, TileType) else None
    return element.name if isinstance(element, ScalarType) else ""


def _formats(op: Op) -> Iterator[str]:
    match op.name:
        case "mmaf" | "mmaf_scaled":
            yield from _narrow(op.value("acc"))
        case "reduce" | "scan":
            if any(inner.declaration.algebra in _ADDING for inner in op.regions[0].blocks[0].ops):
                for value in op.group("inputs"):
                    yield from _narrow(value)
        case "atomic_rmw_tko" if op.attributes["mode"] == "addf":
            yield from _narrow(op.value("arg"))
        case "atomic_red_view_tko" if op.attributes["mode"] == "addf":
            yield from _narrow(op.value("value"))
        case "for" | "loop":
            yield from _carried(op)


def _narrow(value: Value) -> Iterator[str]:
    element = value.type.element if isinstance(value.type, TileType) else None
    if isinstance(element, ScalarType) and (1 < element.bits < _FEWEST_BITS or element.name == _WORD):
        yield element.name


def _carried(op: Op) -> Iterator[str]:
    """The formats of narrow values that a loop hands on with something added to them."""
    body = op.regions[0].blocks[0]
    arguments = body.arguments[1:] if op.name == "for" else body.arguments
    made = {id(result): inner for block in _blocks(body) for inner in block.ops for result in inner.results}
    for terminator in (block.terminator for block in _blocks(body) if block.terminator.name == "continue"):
        for argument, handed in zip(arguments, operands(terminator), strict=False):
            if _adds_to(handed, argument, made):
                yield from _narrow(argument)


def _blocks(block: Block) -> Iterator[Block]:
    """A block and those of its branches; an inner loop has values of its own to hand on."""
    yield block
    for op in block.ops:
        if op.name == "if":
            for region in op.regions:
                for inner in region.blocks:
                    yield from _blocks(inner)


def _adds_to(value: Value, argument: Value, made: dict[int, Op]) -> bool:
    """Whether ``value`` is computed of ``argument`` by way of an addition."""
    left, seen = [(value, False)], set()
    while left:
        one, added = left.pop()
        if one is argument and added:
            return True
        op = made.get(id(one))
        if op is None or (id(one), added) in seen:
            continue
        seen.add((id(one), added))
        added = added or op.declaration.algebra in _ADDING
        left += [(each, added) for each in operands(op)]
        if op.name == "if":
            yields = [inner.blocks[0].terminator for inner in op.regions if inner.blocks[0].terminator.name == "yield"]
            left += [(each, added) for terminator in yields for each in operands(terminator)]
    return False
