"""Values of terms for all lanes at once, some of them not known.

A value is one number for all lanes, or an array with an axis for each dimension of the tile (1 where it does not
differ).  Nothing wraps: integers are int64 where that is enough, and Python's own otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...contract.terms import Term, TermKind
from ...contract.terms.evaluate import MEANINGS

Data: TypeAlias = int | np.integer[Any] | np.bool | NDArray[Any]
"""An int, a bool, or an array of either."""

_LIMIT: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Known:
    """``open``: the lanes of which nobody knows the value, whatever ``data`` holds there (``None``: there are none)."""

    data: Data
    open: Data | None = None


OPEN: Final = Known(0, True)


def lane(dim: int, size: int, rank: int) -> Known:
    """The coordinates 0 to ``size`` along axis ``dim`` of ``rank``."""
    shape = [1] * rank
    shape[dim] = size
    return Known(np.arange(size).reshape(shape))


def combine(term: Term, args: Sequence[Known]) -> Known:
    """The value of ``term`` from those of its arguments."""
    data = [arg.data for arg in args]
    match term.kind:
        case TermKind.AND:
            return _junction(args, decides=False)
        case TermKind.OR:
            return _junction(args, decides=True)
        case TermKind.NOT:
            return Known(_negated(data[0]), args[0].open)
        case TermKind.ITE:
            return _chosen(*args)
    opens = [arg.open for arg in args if arg.open is not None]
    open_ = reduce(np.logical_or, opens) if opens else None
    if not any(isinstance(each, np.ndarray) for each in data):
        return _of_numbers(term, data, open_)
    if term.kind in _DIVISIONS and not np.all(data[1]):
        none = data[1] == 0
        open_ = none if open_ is None else open_ | none
        data[1] = np.where(none, 1, data[1])
    return Known(_of_arrays(term, data), open_)


_DIVISIONS: Final = frozenset({TermKind.DIV, TermKind.MOD, TermKind.TDIV, TermKind.TMOD})


def _of_numbers(term: Term, data: Sequence[Data], open_: Data | None) -> Known:
    if term.kind in _DIVISIONS and not data[1]:
        return OPEN
    meaning: Callable[..., Data] = MEANINGS[term.kind]
    return Known(meaning(term, data), open_)


def _of_arrays(term: Term, data: list[Data]) -> Data:
    kind = term.kind
    if kind in _PLAIN:
        if kind in _GROWING and not _fits(term, data):
            data = [each.astype(object) if isinstance(each, np.ndarray) else each for each in data]
        return _PLAIN[kind](term, data)
    meaning = MEANINGS[kind]
    found = np.frompyfunc(lambda *args: meaning(term, args), len(data), 1)(*(_python(each) for each in data))
    with suppress(OverflowError):
        found = found.astype(np.int64)
    result: Data = found
    return result


def _python(data: Data) -> Data:
    return data.astype(object) if isinstance(data, np.ndarray) else data


def _product(term: Term, data: Sequence[Data]) -> Data:
    return reduce(lambda a, b: a * b, data)


_PLAIN: Final[dict[TermKind, Callable[..., Data]]] = {
    **{
        kind: MEANINGS[kind]
        for kind in (
            TermKind.SUM, TermKind.DIV, TermKind.MOD, TermKind.WRAP,
            TermKind.LT, TermKind.LE, TermKind.EQ, TermKind.IFF,
        )
    },
    TermKind.PRODUCT: _product,
    TermKind.MIN: lambda term, a: np.minimum(a[0], a[1]),
    TermKind.MAX: lambda term, a: np.maximum(a[0], a[1]),
}  # fmt: skip
"""Meanings that hold for arrays as they do for numbers, and those that NumPy has a function for."""

_GROWING: Final = frozenset({TermKind.SUM, TermKind.PRODUCT, TermKind.WRAP})


def _fits(term: Term, data: Sequence[Data]) -> bool:
    """Whether int64 is enough for the result and all on the way to it."""
    sizes = [_size(each) for each in data]
    if term.kind is TermKind.PRODUCT:
        return reduce(lambda a, b: a * b, (max(size, 1) for size in sizes)) < _LIMIT
    if term.kind is TermKind.WRAP:
        bits: int = term.payload
        return sizes[0] + (1 << bits) < _LIMIT
    constant, coefficients = term.payload
    total: int = abs(constant) + sum(abs(c) * size for c, size in zip(coefficients, sizes, strict=True))
    return total < _LIMIT


def _size(data: Data) -> int:
    """The largest amount."""
    if not isinstance(data, np.ndarray):
        return abs(int(data))
    return max(abs(int(data.min())), abs(int(data.max()))) if data.size else 0


def _negated(data: Data) -> Data:
    return np.logical_not(data) if isinstance(data, np.ndarray) else not data


def _junction(args: Sequence[Known], *, decides: bool) -> Known:
    """``and`` (a False decides) or ``or`` (a True does), also where others are not known."""
    join = np.logical_or if decides else np.logical_and
    if all(arg.open is None for arg in args):
        if not any(isinstance(arg.data, np.ndarray) for arg in args):
            values = [bool(arg.data) for arg in args]
            return Known(any(values) if decides else all(values))
        return Known(reduce(join, [arg.data for arg in args]))
    settled: Data = False
    open_: Data = False
    for arg in args:
        holds = arg.data if decides else _negated(arg.data)
        unknown = False if arg.open is None else arg.open
        settled = settled | (holds & _negated(unknown))
        open_ = open_ | unknown
    return Known(settled if decides else _negated(settled), _some(open_ & _negated(settled)))


def _some(open_: Data) -> Data | None:
    return open_ if np.any(open_) else None


def _chosen(condition: Known, yes: Known, no: Known) -> Known:
    if not isinstance(condition.data, np.ndarray) and condition.open is None:
        return yes if condition.data else no
    if condition.open is not None and np.all(condition.open):
        return OPEN
    data = np.where(condition.data, yes.data, no.data)
    if condition.open is None and yes.open is None and no.open is None:
        return Known(data)
    parts = [False if each.open is None else each.open for each in (condition, yes, no)]
    return Known(data, _some(parts[0] | np.where(condition.data, parts[1], parts[2])))
