"""What a launch leaves in memory beside what the reference says of it: the first element that differs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from ..backend.numbers.array_files import numbers
from ..backend.numbers.inputs import view
from ..frontend.bytecode.model import Block, Entry, Op, ScalarType, TileType, Value
from ..frontend.bytecode.traverse import operands, walk
from ..results.details import UnequalValues
from . import exact, field
from .exact_arrays import presented
from .field import LANES, LEVELS, SLOTS, Array, Undecided
from .points import WHOLE, TrialPoint
from .primitives import is_numbers, lifted

MOST_UNEQUAL: Final = 1024
"""Elements of an array that differ and are kept with their values."""


@dataclass(frozen=True, slots=True)
class UnequalArray:
    """An array in which ``count`` elements differ, and the first of them."""

    shape: tuple[int, ...]
    dtype: str
    count: int
    elements: tuple[UnequalValues, ...]


@dataclass(frozen=True, slots=True)
class UnequalElement:
    """One element, in float64, and the point at which it was seen; ``inputs``: the contents of that point, where they
    are constants; ``whole``: the array that it is of."""

    array: str
    index: tuple[int, ...]
    kernel: float
    reference: float
    point: TrialPoint
    whole: UnequalArray
    inputs: Mapping[str, ArrayLike] | None = None
    given: bool = True
    """Whether the reference says anything of the array: what it leaves out has to stay as it was."""

    def where_finite(self) -> UnequalElement | None:
        """The first element of the array that differs and is finite on both sides, if there is one."""
        for each in self.whole.elements:
            if np.isfinite(each.kernel) and np.isfinite(each.reference):
                return replace(self, index=each.index, kernel=each.kernel, reference=each.reference)
        return None


def outcome(point: TrialPoint, after: Mapping[str, Array], expected: Mapping[str, Array]) -> Compared | UnequalElement:
    """The memory that the kernel leaves at a point beside the arrays that the reference says."""
    kernel = dict(arrays_of(point, after))
    wanted_memory = _overwritten(point, expected)
    dtypes = {name: array.dtype for name, array in point.inputs.launch.named_arrays()}
    worst = Compared()
    for name, array in kernel.items():
        wanted = _plain(wanted_memory[name])
        held = _plain(array)
        if point.filling == WHOLE and held.dtype.kind in "iu" and wanted.dtype.kind in "iu":
            wanted = wanted.astype(held.dtype)  # what is stored: a sum in wider integers is no difference
        found = compared(held, wanted)
        if found.unequal is not None:
            whole = _unequal(found.unequal, held, wanted, dtypes[name])
            first = whole.elements[0]
            given = name in expected
            return UnequalElement(name, first.index, first.kernel, first.reference, point, whole, given=given)
        if found.open:
            worst = replace(found, open=f"{name}: {found.open}") if not worst.open else worst
        elif not worst.open:
            worst = Compared(bits=min(worst.bits, found.bits), undefined=worst.undefined + found.undefined)
    return worst


def _unequal(places: Array, kernel: Array, wanted: Array, dtype: str) -> UnequalArray:
    """``places``: flat ones of both arrays."""
    indices = zip(*np.unravel_index(places[:MOST_UNEQUAL], kernel.shape), strict=True)
    elements = (tuple(int(each) for each in index) for index in indices)
    found = tuple(UnequalValues(index, _float(kernel[index]), _float(wanted[index])) for index in elements)
    return UnequalArray(kernel.shape, dtype, len(places), found)


def _overwritten(point: TrialPoint, expected: Mapping[str, Array]) -> dict[str, Array]:
    """All arrays after those of ``expected`` were written; two arguments may be one array."""
    memory = {name: array.copy() for name, array in {**point.inputs.memory, **point.contents}.items()}
    whole: dict[str, Array] = {}
    for name, array in point.inputs.launch.named_arrays():
        if name not in expected:
            continue
        value = _plain(expected[name])
        if value.shape != array.shape:
            raise Undecided(f"the reference's {name} has the shape {value.shape}, not {array.shape}")
        if array.allocation in point.contents:
            view(memory[array.allocation], array.shape, array.strides)[...] = lifted(value)
        else:
            whole[array.allocation] = value
    after = dict(arrays_of(point, memory))
    places = {name: array.allocation for name, array in point.inputs.launch.named_arrays()}
    return {name: whole.get(places[name], array) for name, array in after.items()}


def _plain(value: object) -> Array:
    if is_numbers(value):
        return lifted(value)
    if isinstance(value, list | tuple):
        return np.asarray(lifted(value) if any(is_numbers(each) for each in value) else value)
    return np.asarray(value)


def _float(value: Any) -> float:
    return float(value["s"]) if getattr(value, "dtype", None) is not None and value.dtype.names else float(value)


def arrays_of(point: TrialPoint, memory: Mapping[str, Array]) -> Iterator[tuple[str, Array]]:
    """The arrays of the launch by name, with their shapes, those of floats as `Numbers`."""
    for name, array in point.inputs.launch.named_arrays():
        held = view(memory[array.allocation], array.shape, array.strides)
        yield name, presented(held) if is_numbers(held) else numbers(held, array.dtype)


# ------------------------------------------------------------------------------------------------------------- sameness
# Two arrays after a launch, the kernel's and the reference's, element by element.
#
# Equal residues mean equal numbers.  Different residues mean different numbers only where laws of real numbers hold for
# them; so that no missing law makes a difference, one has to show in float64, too.  Of a number that goes beyond
# float64 on the way nothing is said.


RELATIVE: Final = 1e-9
OF_LARGEST: Final = 1e-11
UNIT: Final = 1e-12
"""What is left in float64 where numbers like those that are drawn cancel: numbers with equal residues may differ so."""


@dataclass(frozen=True, slots=True)
class Compared:
    """``different``: the first element (flat) that differs; else ``open``: why it is not known that all are equal.

    ``bits``: minus the logarithm to base 2 of the chance that an unequal array looks equal here.
    """

    different: int | None = None
    open: str = ""
    bits: float = math.inf
    undefined: int = 0
    """Elements that are NaN in both."""
    unequal: Array | None = dataclasses.field(default=None, compare=False)
    """All elements (flat) that differ."""


def compared(kernel: Array, reference: Array) -> Compared:
    """Both of one shape; integers or numbers."""
    if not is_numbers(kernel) and not is_numbers(reference):
        unequal = np.flatnonzero(np.asarray(kernel) != np.asarray(reference))
        return Compared(different=int(unequal[0]), unequal=unequal) if len(unequal) else Compared()
    x, y = lifted(kernel).reshape(-1), lifted(reference).reshape(-1)
    a, b = x["s"], y["s"]
    with np.errstate(all="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        neither = np.isnan(a) & np.isnan(b)
        largest = np.abs(np.where(finite, b, 0)).max(initial=0)
        room = RELATIVE * np.maximum(np.abs(a), np.abs(b)) + OF_LARGEST * largest
        apart = np.where(finite, np.abs(a - b) > room, ~((a == b) | neither))
        far = apart & finite & (np.abs(a - b) > UNIT)
    lanes = matched(x, y)
    lanes[~finite] = LANES
    lost = exact.is_lost(x) | exact.is_lost(y)
    wrong = np.flatnonzero(apart & ((lanes <= 0) | ~finite) & ~lost)
    if len(wrong):
        return Compared(different=int(wrong[0]), unequal=wrong)
    if lost.any():
        return Compared(open="a number goes beyond float64 on the way")
    if far.any():
        return Compared(open="residues are equal, but the float64 values are far apart")
    if (lanes < 0).any():
        return Compared(open="residues differ where float64 values do not: a law that is not known, or too small")
    if (lanes == 0).any():
        return Compared(open="no residue is left for which the laws hold")
    if not len(x):
        return Compared()
    n, d, m, e = (held.astype(np.float64) for held in (x["n"], x["d"], y["n"], y["d"]))
    degree = max(1.0, float(np.max([n + e, m + d, d + e])))  # of the numerator of the difference
    bits = int(lanes.min()) * max(0.0, math.log2(field.SMALLEST) - math.log2(degree))
    return Compared(bits=bits, undefined=int(np.count_nonzero(neither)))


def matched(x: Array, y: Array) -> Array:
    """For each element the points at which residues show that both are equal; -1 where they show a difference."""
    equal = np.moveaxis(x["r"] == y["r"], -1, 0)
    live = ~exact.unpacked(np.asarray(x["dead"] | y["dead"]))
    found = np.zeros(x.shape, np.int64)
    for number in range(LEVELS):
        slots = field.level(number)
        whole = equal[slots].all(axis=0)
        some = np.where(whole, LANES, (equal[slots] & live[slots]).sum(axis=0))
        found = np.maximum(found, np.where((live[slots] & ~equal[slots]).any(axis=0), 0, some))
    shown = (live & ~equal).reshape(SLOTS, -1).any(axis=0).reshape(x.shape)
    return np.where((found == 0) & shown, -1, found)


# ------------------------------------------------------------------------------------------------------- rounding error
# How far a kernel's own formats are from float64, in units of the spacing of the format that holds the result.


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
