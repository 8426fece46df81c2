"""What a summary expects of one execution of an access: the bytes that it touches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from ...frontend.symbolic.summary import OriginKind, Site, ViewFootprint
from ..interpreter.values import Array
from .block_terms import BlockTerms
from .lane_values import Data, Known

OPEN_GUARD: Final = "whether it happens depends on a value that the run does not give"
OPEN_PLACE: Final = "where it goes depends on a value that the run does not give"


@dataclass(frozen=True, slots=True)
class Expected:
    """``offsets``: bytes behind the array's first one, a flat int64 array in lane order; ``unknown``: why there is no
    telling.  ``index``: which array of a list it is."""

    offsets: Array
    unknown: str = ""
    index: int | None = None


_NOTHING: Final = Expected(np.zeros(0, np.int64))


def expected(terms: BlockTerms, site: Site, rank: int) -> Expected:
    """The access that ``site`` makes in the block and iterations of ``terms``; no offsets where it makes none."""
    guard = terms.value(site.guard)
    if guard.open is None and not np.any(guard.data):
        return _NOTHING
    if guard.open is not None and np.any(guard.open):
        return Expected(_NOTHING.offsets, OPEN_GUARD)
    shape = [1] * rank
    for each in site.lanes:
        shape[int(each.variable.symbol.name[1:])] = each.size
    live, offset = _reach(terms, site, guard.data)
    index = None if site.origin.index is None else terms.value(site.origin.index)
    unknown = offset.open
    if index is not None and index.open is not None:
        unknown = True
    live = np.broadcast_to(np.asarray(live), shape)
    if unknown is not None and np.any(np.broadcast_to(unknown, shape) & live):
        return Expected(_NOTHING.offsets, OPEN_PLACE)
    places = np.broadcast_to(np.asarray(offset.data), shape)
    found = places.reshape(-1) if live.all() else places[live]
    return Expected(found.astype(np.int64), "", None if index is None else int(index.data))


def _reach(terms: BlockTerms, site: Site, live: Data) -> tuple[Data, Known]:
    """The lanes that touch memory, and the byte offset of each."""
    place = site.footprint
    if not isinstance(place, ViewFootprint):
        return live, terms.value(place.offset)
    parts = [terms.value(place.base)]
    offset = parts[0].data
    for coordinate, size, stride in zip(place.coordinates, place.shape, place.strides, strict=True):
        at, limit, step = terms.value(coordinate), terms.value(size), terms.value(stride)
        parts += [at, limit, step]
        live = live & (at.data >= 0) & (at.data < limit.data)
        offset = offset + at.data * step.data * place.element_bytes
    opens = [part.open for part in parts if part.open is not None]
    return live, Known(offset, np.any([np.any(each) for each in opens]) if opens else None)


def difference(expected: Array, seen: Array, element: Callable[[int], str]) -> str:
    """In words, how two sets of bytes differ; empty where they do not (lanes may stand in any order).

    ``element`` names what lies at an offset.
    """
    if np.array_equal(expected, seen):
        return ""
    ours, theirs = np.sort(expected), np.sort(seen)
    if np.array_equal(ours, theirs):
        return ""
    said, told = _words(ours, element), _words(theirs, element)
    return f"the proof has {said}, the run touches {told}{_first(ours, theirs, element)}"


def _words(offsets: Array, element: Callable[[int], str]) -> str:
    if not offsets.size:
        return "nothing"
    first, last = element(int(offsets[0])), element(int(offsets[-1]))
    return first if offsets.size == 1 else f"{offsets.size} elements from {first} to {last}"


def _first(ours: Array, theirs: Array, element: Callable[[int], str]) -> str:
    """The first element that one of the two has more often."""
    mine, other = Counter(ours.tolist()), Counter(theirs.tolist())
    more, less = min((mine - other).elements(), default=None), min((other - mine).elements(), default=None)
    if more is not None and (less is None or more <= less):
        return f"; {element(more)} is touched only in the proof"
    return "" if less is None else f"; {element(less)} is touched only in the run"


def is_private(site: Site) -> bool:
    """Whether the memory is the block's own, made while it runs."""
    return site.origin.kind in (OriginKind.LOCAL, OriginKind.SHARED_LOCAL)
