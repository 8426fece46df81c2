"""The contract of a launch, as terms: the assumptions of a proof (`contract.as_terms` builds them).

Standing facts (``docs/specs.md``): sizes are >= 0; values that the ABI passes as int32 fit int32; each grid axis lies
in [1, 2**24 - 1]; distinct arguments and the arrays of a list do not overlap; arrays are allocated in full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from . import terms as t
from .element_types import INDEX_MAX
from .facts.statements import DataTerm
from .launch import ArrayArgument, ListArgument
from .terms import Scope, Term


@dataclass(frozen=True, slots=True)
class Contract:
    """``values`` maps summary variables to contract terms; ``facts`` hold in every launch of the contract.

    ``injective``: arrays whose layout gives different coordinates different addresses.
    ``overlap``: groups of argument names that may share memory; ``same``: groups that are one array.
    ``variables``: the contract's own variables, for reports and witnesses.
    ``grid_given``: the user wrote a grid.  ``literal_sizes``: every size is a number, with list lengths and sizes of
    the arrays in lists.  ``required``: the part of ``facts`` that comes from the launch's ``requires``.
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


def extent_of(array: ArrayArgument, element_bytes: int) -> Term:
    """Bytes from an array's first element to the end of its last one."""
    return extent(*array_layout(array), element_bytes)


def extent(shape: Sequence[Term], strides: Sequence[Term], element_bytes: int) -> Term:
    """``element_bytes * (1 + sum((shape - 1) * stride))``, or 0 for an array without elements."""
    steps = (t.mul(t.sub(n, t.ONE), s) for n, s in zip(shape, strides, strict=True))
    empty = t.or_(*(t.eq(n, t.ZERO) for n in shape))
    return t.ite(empty, t.ZERO, t.scale(element_bytes, t.add(t.ONE, *steps)))
