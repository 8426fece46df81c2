"""Layouts in which elements are apart because each stride steps over all that the smaller ones reach.

    for some order of the axes, innermost first:   1 <= s_1,   n_k * s_k <= s_(k+1)        sizes n, strides s

A named stride promises only that elements are apart, which no formula over sizes and strides says in general.  Launches
that shall show a fault are looked for among the nested layouts, which everybody uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise, permutations
from typing import Final

from ...contract import terms as t
from ...contract.contract import Contract, array_layout
from ...contract.terms import Term, TermKind
from ..obligations.prepare import contract_values

MOST_ORDERED: Final = 3
"""Axes that may be nested in any order; of more, row-major or column-major."""


def nested_layouts(contract: Contract, listed: Iterable[tuple[Sequence[Term], Sequence[Term]]]) -> tuple[Term, ...]:
    """That the arrays with strides of their own are nested; ``listed``: sizes and strides of arrays in lists."""
    values = contract_values(contract)
    found = []
    for name, array in contract.arrays.items():
        if name in contract.injective and array.strides is not None:
            shape, strides = (tuple(t.substitute(word, values) for word in part) for part in array_layout(array))
            found.append(nested(shape, strides))
    found += [nested(shape, strides) for shape, strides in listed]
    return tuple(dict.fromkeys(each for each in found if each is not t.TRUE))


def nested(shape: Sequence[Term], strides: Sequence[Term]) -> Term:
    """The formula above; true where no stride is free."""
    if len(strides) < 2 or all(stride.kind is TermKind.CONST for stride in strides):
        return t.TRUE
    axes = tuple(zip(shape, strides, strict=True))[::-1]
    orders = permutations(axes) if len(axes) <= MOST_ORDERED else (axes, axes[::-1])
    return t.or_(*(_in_order(order) for order in orders))


def _in_order(axes: Sequence[tuple[Term, Term]]) -> Term:
    steps = (t.le(t.mul(size, stride), outer) for (size, stride), (_, outer) in pairwise(axes))
    return t.and_(t.le(t.ONE, axes[0][1]), *steps)
