"""Facts about index data, instantiated on the loaded values that a question mentions.

The table of `contract.facts.kinds` says what each kind means.  An instance speaks of indices inside the array only:
what a load gives elsewhere is not the array's.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import TypeAlias

from ...contract import terms as t
from ...contract.contract import Contract, array_layout
from ...contract.element_types import INT_BITS
from ...contract.facts.fact_terms import kind_instances
from ...contract.facts.kind import FactKind
from ...contract.facts.kinds import meaning_of
from ...contract.facts.loaded import Loaded
from ...contract.facts.statements import DataTerm
from ...contract.launch import ArrayArgument, only_axis
from ...contract.terms import Scope, Term, TermKind
from ...frontend.symbolic.summary import LoopValue, Origin, OriginKind


def loaded_values(conditions: Iterable[Term]) -> dict[str, list[Term]]:
    """The applications that stand for elements of an array, by array."""
    found: dict[str, list[Term]] = {}
    for condition in conditions:
        for leaf in sorted(condition.free):
            if leaf.kind is TermKind.APPLY and leaf.function.array is not None:
                values = found.setdefault(leaf.function.array, [])
                if leaf not in values:
                    values.append(leaf)
    return found


def data_facts(conditions: Iterable[Term], contract: Contract, origins: Mapping[str, Origin]) -> Iterator[Term]:
    """Instances of the contract's data facts for the values in ``conditions``."""
    return instances(conditions, contract.data, contract, origins)


Said: TypeAlias = "dict[tuple[int, tuple[str, ...], tuple[tuple[Term, ...], ...]], tuple[DataTerm, list[Term]]]"
"""What facts say of values, by fact (its identity: it is kept, too), arrays and values."""


def instances(
    conditions: Iterable[Term],
    facts: Iterable[DataTerm],
    contract: Contract,
    origins: Mapping[str, Origin],
    said: Said | None = None,
) -> Iterator[Term]:
    """Instances of ``facts`` for the values in ``conditions``.

    ``said``: those that were made before under this contract, whatever its facts were.
    """
    wanted, said = tuple(facts), {} if said is None else said
    found = loaded_values(conditions) if wanted else {}
    for data in wanted:
        for names in _spellings(data, contract):
            key = id(data), names, tuple([tuple(found.get(name, ())) for name in names])
            if key not in said:
                kind = meaning_of(data)
                loaded = [_loaded(name, found, contract, origins, kind) for name in names]
                arrays = [array for array in loaded if array is not None]
                complete = len(arrays) == len(names)
                said[key] = data, list(kind_instances(kind, data, *arrays)) if complete else []
            yield from said[key][1]


def _spellings(data: DataTerm, contract: Contract) -> Iterator[tuple[str, ...]]:
    """The fact's arrays, and the other names of what is the same array."""

    def names(array: str) -> list[str]:
        if not contract.same:
            return [array]
        return [array, *(other for other in contract.arrays if other != array and contract.is_same(other, array))]

    yield from product(*map(names, data.fact.arrays))


def _loaded(
    name: str, found: Mapping[str, list[Term]], contract: Contract, origins: Mapping[str, Origin], kind: FactKind
) -> Loaded | None:
    """The elements of one array that were found; ``None`` for an array that the kernel does not have, or of whose
    elements a fact of the kind says nothing."""
    origin = origins.get(name)
    shape = None if origin is None else origin.shape or _in_a_row(origin, contract, kind)
    axis = 0 if shape is None or len(shape) == 1 else only_axis(contract.arrays[name].shape)
    if shape is None or (kind.in_a_row and axis is None):
        return None
    values = [v for v in found.get(name, ()) if v.function.name == name and len(v.args) == len(shape)]
    dtype = contract.arrays[name].dtype
    read = partial(t.unsigned, INT_BITS[dtype]) if dtype.startswith("u") else _as_it_is
    return Loaded(values, shape, read, name in contract.injective, axis if kind.in_a_row else None)


def _in_a_row(origin: Origin, contract: Contract, kind: FactKind) -> tuple[Term, ...] | None:
    """The one size by which elements behind a plain pointer are counted: that of all of them in row-major order, where
    they lie so without gaps; of several axes only facts speak that do not ask for them."""
    array = contract.arrays.get(origin.name) if origin.kind is OriginKind.PARAMETER else None
    if array is None:
        return None
    if len(array.shape) != 1 and kind.of_axes and not (kind.in_a_row and only_axis(array.shape) is not None):
        return None
    count = in_a_row(array, contract)
    return None if count is None else (count,)


def in_a_row(array: ArrayArgument, contract: Contract) -> Term | None:
    """How many elements the array has, where they lie in row-major order without gaps."""
    shape, strides = ([t.substitute(part, contract.values) for part in parts] for parts in array_layout(array))
    row_major = all(step is t.product(shape[dim + 1 :]) for dim, step in enumerate(strides))
    return t.product(shape) if row_major else None


def _as_it_is(value: Term) -> Term:
    return value


# ---------------------------------------------------------------------------------------- contents to try
def ordinary_data(
    conditions: Iterable[Term], origins: Mapping[str, Origin], spacing: int = 1, only: Container[str] | None = None
) -> Iterator[Term]:
    """``a[i] = spacing * i``, counted in row-major order: contents that are injective and sorted at once.

    For every array, or for those of ``only``.

    A race that shows both with indices that count up and with offsets far apart is the kernel's own, not the data's.
    """
    for array, values in loaded_values(conditions).items():
        for v in values if only is None or array in only else ():
            origin = origins.get(array)
            linear = t.ZERO
            for i, argument in enumerate(v.args):
                extent = origin.shape[i] if origin and len(origin.shape) == len(v.args) else t.ONE
                linear = t.add(t.mul(linear, extent), argument)
            yield t.eq(v, t.scale(spacing, linear))


SPACING_TRIED = 4096
"""Apart by more than any tile is wide in one dimension."""


def computed_addresses(
    terms: Iterable[Term], loop_values: Iterable[LoopValue] = (), known: Container[str] = ()
) -> bool:
    """Whether an address depends on values that the block computes from data.

    When loops end does not count, nor what a load gives outside its array, nor do ``known`` functions; ``loop_values``
    are what they are made of.
    """
    by_function = {value.function: value for value in loop_values}
    left, seen = list(terms), set()
    while left:
        for leaf in left.pop().free:
            if leaf.kind is TermKind.APPLY and leaf.function not in seen:
                seen.add(leaf.function)
                value = by_function.get(leaf.function)
                if value is not None:
                    left += [value.init, value.next]
                elif (
                    leaf.function.scope is not Scope.LAUNCH
                    and not leaf.function.name.startswith(_OF_LOOPS)
                    and not leaf.function.name.endswith(_OUTSIDE)
                    and leaf.function.name not in known
                ):
                    return True
    return False


_OF_LOOPS = ("trips", "last", "overflow")
"""Functions that say when loops end."""

_OUTSIDE = ".outside"
"""What a load gives where the array has no element; the replay knows."""
