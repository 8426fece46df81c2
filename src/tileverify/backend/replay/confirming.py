"""What a run showed, as the answer to a claim: the conflict or event that it names, and where it lies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from ...contract.concrete import ConcreteLaunch
from ...results.claim import Claim, Confirmation, Touch
from ...results.families import BETWEEN_BLOCKS
from ..interpreter import BlockLog, MemoryImage
from ..interpreter.conflicts import Conflict
from .shared_elements import Named, box
from .side_values import SeenSide

MOST_OTHERS: Final = 256
"""Conflicts between other ops than the claimed ones that are kept while those are looked for."""


class NotConfirmed(Exception):
    """The replay did not show the fault; the text says why."""


def claimed_first(found: Iterable[Conflict], claim: Claim) -> Iterator[Conflict]:
    """Conflicts between the claimed ops before the others, of which it keeps some."""
    claimed = {offset for offset in (claim.offset_a, claim.offset_b) if offset is not None}
    others: list[Conflict] = []
    for conflict in found:
        if {access.op.offset for access in (conflict.first, conflict.second) if access is not None} == claimed:
            yield conflict
        else:
            others.append(conflict)
        if len(others) >= MOST_OTHERS:
            break
    yield from others


def turned_round(sides: Sequence[SeenSide], claim: Claim) -> bool:
    """Whether the first of two sides is the claim's second: the other block, or in one block the other op."""
    first, second = sides
    if claim.code in BETWEEN_BLOCKS:
        return first.block != claim.block_a
    ops = (first.access.op.offset, second.access.op.offset)
    return ops != (claim.offset_a, claim.offset_b) and ops == (claim.offset_b, claim.offset_a)


def excuse(*logs: BlockLog) -> str:
    """What kept the runs from being complete."""
    reasons = [f"block {log.block}: {log.stopped}" for log in logs if log.stopped is not None]
    reasons += [f"block {log.block}: {log.left_out[0]}" for log in logs if log.left_out]
    return "; ".join(dict.fromkeys(reasons))


def before(log: BlockLog, time: int) -> bool:
    """Whether the block met undefined behaviour before that time."""
    return any(event.time < time for event in log.events)


def confirm_event(
    image: MemoryImage, log: BlockLog, claim: Claim, outside: Mapping[int, Named], text: str
) -> Confirmation:
    """The claimed event, at the claimed op if it shows there, whatever else the block met before."""
    events = [event for event in log.events if event.code == claim.code]
    if not events:
        raise NotConfirmed(excuse(log) or f"no {claim.code} shows")
    event = next((event for event in events if event.offset == claim.offset_a), events[0])
    earlier = (other for other in log.events if other.time < event.time)
    if any(other.code != event.code and other.offset != event.offset for other in earlier):
        text += ", past another fault"
    array, element, byte = "", event.message, 0
    if event.origin is not None and event.address is not None and event.origin >= 0:
        origin = image.origins[event.origin]
        array, element = origin.name, origin.element(event.address)
        byte = event.address - image.allocations[origin.allocation].base
        if event.coordinates is not None:
            element = f"{origin.name}[{', '.join(map(str, event.coordinates))}]"
    named = outside.get(event.time, Named(element, None))
    touch = Touch(event.offset, access_kind(event.op), log.block)
    return Confirmation(array, named.text, byte, touch, None, text, named.elements)


def in_words(named: Named, launch: ConcreteLaunch) -> Named:
    """A row of a list's descriptors is an array of the list: ``xs[3]``."""
    elements = named.elements
    return box(elements.array, elements.ranges[:1]) if elements and elements.array in launch.lists else named


def access_kind(name: str) -> str:
    """``load``, ``store``, ``atomic`` for memory ops, else the op's own name."""
    return next((kind for kind in ("load", "store", "atomic") if name.startswith(kind)), name)
