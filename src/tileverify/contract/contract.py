"""The contract of a launch, as terms, and the standing facts that every contract has.

Standing facts (``docs/specs.md``): sizes are >= 0; values that the ABI passes as int32 fit int32; each grid axis lies
in [1, 2**24 - 1]; distinct arguments and the arrays of a list do not overlap; arrays are allocated in full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from . import terms as t
from .element_types import ELEMENT_TYPES, INDEX_MAX, LENGTH_BITS
from .expressions import GRID_NAMES
from .facts.statements import DataTerm
from .launch import GRID_MAX, ArrayArgument, Expression, ListArgument, Name, ScalarArgument, strides_of
from .terms import Scope, Term


@dataclass(frozen=True, slots=True)
class Contract:
    """``values`` maps summary variables to contract terms; ``facts`` hold in every launch of the contract.

    ``injective``: arrays whose layout gives different coordinates different addresses.
    ``overlap``: groups of argument names that may share memory; ``same``: groups that are one array.
    ``variables``: the contract's own variables, for reports and witnesses.
    ``grid_given``: the user wrote a grid.  ``literal_sizes``: every size is a number, with list lengths and sizes of
    the arrays in lists.  ``required``: the part of ``facts`` that comes from the launch's ``requires``.
    ``equal_stores``: the arrays into which blocks may store equal values.
    ``empty``: arrays that hold nothing when the launch begins.
    """

    values: Mapping[Term, Term]
    facts: tuple[Term, ...]
    injective: frozenset[str]
    overlap: tuple[frozenset[str], ...]
    same: tuple[frozenset[str], ...]
    data: tuple[DataTerm, ...]
    variables: tuple[Term, ...]
    text: tuple[str, ...]
    grid_given: bool = False
    literal_sizes: bool = False
    arrays: Mapping[str, ArrayArgument] = field(default_factory=dict)
    lists: Mapping[str, ListArgument] = field(default_factory=dict)
    required: tuple[Term, ...] = ()
    equal_stores: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        assert all(fact.sort is t.Sort.BOOL for fact in self.facts)

    def may_overlap(self, first: str, second: str) -> bool:
        """Whether two different arguments may share memory."""
        return any(first in group and second in group for group in self.overlap)

    def is_same(self, first: str, second: str) -> bool:
        return any(first in group and second in group for group in self.same)


def array_layout(array: ArrayArgument) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """The parameter variables of an array's sizes and strides."""
    limit = INDEX_MAX[array.index_bits]
    sizes, strides = (
        tuple(t.var(f"{array.name}.{part}[{d}]", Scope.LAUNCH, 0, limit) for d in range(len(array.shape)))
        for part in ("shape", "strides")
    )
    return sizes, strides


def extent(shape: Sequence[Term], strides: Sequence[Term], element_bytes: int) -> Term:
    """``element_bytes * (1 + sum((shape - 1) * stride))``, or 0 for an array without elements."""
    steps = (t.mul(t.sub(n, t.ONE), s) for n, s in zip(shape, strides, strict=True))
    empty = t.or_(*(t.eq(n, t.ZERO) for n in shape))
    return t.ite(empty, t.ZERO, t.scale(element_bytes, t.add(t.ONE, *steps)))


# ------------------------------------------------------------------------------------------------------------- standing
# The standing facts: what holds of the numbers of every launch, whatever its contract adds (``docs/specs.md``).
#
#     0 <= size, stride <= the largest index of their width        0 <= length of a list < 2**31
#     least <= scalar <= largest of its type                       1 <= grid axis <= `GRID_MAX`
#
# Terms (`as_terms`), checks of a launch (`backend.guard`) and conditions on numbers (`backend.numbers.choose`) are
# readings of them.  What keeps the elements of an array apart is in `strides`, and who may share memory, too.


@dataclass(frozen=True, slots=True)
class NumberRange:
    """``low <= n <= high`` of a number that a launch passes.

    ``name``: what the kernel calls it, such as ``a.shape[0]``.  ``meaning``: what the contract says it is, over the
    contract's own names.
    """

    name: str
    meaning: Expression
    low: int
    high: int


def array_ranges(array: ArrayArgument) -> Iterator[tuple[NumberRange, NumberRange]]:
    """Of every dimension, the range of the size and that of the stride in elements."""
    most = INDEX_MAX[array.index_bits]
    for dim, (size, stride) in enumerate(zip(array.shape, strides_of(array), strict=True)):
        yield (
            NumberRange(f"{array.name}.shape[{dim}]", size, 0, most),
            NumberRange(f"{array.name}.strides[{dim}]", stride, 0, most),
        )


def scalar_range(scalar: ScalarArgument) -> NumberRange | None:
    """Of an integer or a bool as the contract names it; ``None`` for a float, of which nothing is known."""
    element = ELEMENT_TYPES[scalar.dtype]
    if element.kind == "f":
        return None
    meaning = Name(scalar.name) if scalar.value is None else scalar.value
    return NumberRange(scalar.name, meaning, *element.limits)


def length_range(listed: ListArgument) -> NumberRange:
    """Of the number of arrays in a list."""
    return NumberRange(f"{listed.name}.length", listed.length, 0, INDEX_MAX[LENGTH_BITS])


def grid_ranges(grid: Sequence[Expression] | None) -> Iterator[NumberRange]:
    """Of each axis; without a ``grid`` an axis is what it is."""
    for name, axis in zip(GRID_NAMES, grid or map(Name, GRID_NAMES), strict=True):
        yield NumberRange(name, axis, 1, GRID_MAX)
