"""Facts about index data, instantiated on the loaded values that a question mentions.

    range(a, lo, hi)      lo <= a[i] < hi
    injective(a)          a[i] = a[j]  ->  i = j
    nondecreasing(a)      i <= j  ->  a[i] <= a[j]
    permutation(a)        injective and 0 <= a[i] < size

each for indices inside the array.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import partial
from itertools import combinations

from ..frontend.symbolic import terms as t
from ..frontend.symbolic.summary import LoopValue, Origin
from ..frontend.symbolic.terms import Kind, Scope, Term
from .contract import INT_BITS, Contract


def loaded_values(conditions: Iterable[Term]) -> dict[str, list[Term]]:
    """The applications that stand for elements of an array, by array."""
    found: dict[str, list[Term]] = {}
    for condition in conditions:
        for leaf in sorted(condition.free):
            if leaf.kind is Kind.APPLY and leaf.function.array is not None:
                values = found.setdefault(leaf.function.array, [])
                if leaf not in values:
                    values.append(leaf)
    return found


def data_facts(conditions: Iterable[Term], contract: Contract, origins: Mapping[str, Origin]) -> Iterator[Term]:
    """Instances of the contract's data facts for the values in ``conditions``."""
    if not contract.data:
        return
    found = loaded_values(conditions)
    for data in contract.data:
        array = data.fact.array
        origin = origins.get(array)
        values = [
            v for v in found.get(array, []) if origin and v.function.name == array and len(v.args) == len(origin.shape)
        ]
        if origin is None:
            continue
        kind, read = data.fact.kind, _reading(contract.arrays[array].dtype)
        if kind in ("range", "permutation"):
            low = t.ZERO if data.low is None else data.low
            high = t.product(origin.shape) if data.high is None else data.high
            for v in values:
                yield t.implies(_inside(v, origin), t.and_(t.le(low, read(v)), t.lt(read(v), high)))
        for v, w in combinations(values, 2):
            inside = t.and_(_inside(v, origin), _inside(w, origin))
            if kind in ("injective", "permutation"):
                if array not in contract.injective:
                    continue  # two indices may mean one element, whose value is then no different
                same = t.and_(*(t.eq(a, b) for a, b in zip(v.args, w.args, strict=True)))
                yield t.implies(t.and_(inside, t.eq(v, w)), same)
            elif kind == "nondecreasing" and len(v.args) == 1:
                yield t.implies(t.and_(inside, t.le(v.args[0], w.args[0])), t.le(read(v), read(w)))
                yield t.implies(t.and_(inside, t.le(w.args[0], v.args[0])), t.le(read(w), read(v)))


def ordinary_data(conditions: Iterable[Term], origins: Mapping[str, Origin], spacing: int = 1) -> Iterator[Term]:
    """``a[i] = spacing * i``, counted in row-major order: contents that are injective and sorted at once.

    A race that shows both with indices that count up and with offsets far apart is the kernel's own, not the data's.
    """
    for array, values in loaded_values(conditions).items():
        for v in values:
            origin = origins.get(array)
            linear = t.ZERO
            for i, argument in enumerate(v.args):
                extent = origin.shape[i] if origin and len(origin.shape) == len(v.args) else t.ONE
                linear = t.add(t.mul(linear, extent), argument)
            yield t.eq(v, t.scale(spacing, linear))


WIDE_SPACING = 4096
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
            if leaf.kind is Kind.APPLY and leaf.function not in seen:
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


def _reading(dtype: str) -> Callable[[Term], Term]:
    """An element as its type reads it; terms are the signed reading."""
    if dtype.startswith("u"):
        return partial(t.unsigned, INT_BITS[dtype])
    return lambda value: value


def _inside(value: Term, origin: Origin) -> Term:
    return t.and_(*(t.and_(t.le(t.ZERO, i), t.lt(i, n)) for i, n in zip(value.args, origin.shape, strict=True)))
