"""The detector against the definition of a race, spelled out element by element over small random traces."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations
from typing import TypeAlias

import pytest

from tileverify.backend.interpreter.access_log import DynamicAccess, Event, Trace

from .traces import Table, parsed

Element: TypeAlias = tuple[Event, int]
"""One memory operation: an access and the address of one of its elements."""

ROWS = 14


def drawn(seed: int) -> str:
    """A table of a few blocks that communicate over two flags and a little data."""
    source = random.Random(seed)
    names: dict[int, list[str]] = {block: [] for block in range(source.choice((2, 3)))}
    lines = []
    for number in range(ROWS):
        block = source.choice(list(names))
        kind = source.choice(("store", "load", "atomic", "failed", "store", "load"))
        weak = kind in ("store", "load") and source.random() < 0.45
        place = source.choice(("x[0:4]", "x[4:8]", "x[0:8/4]", "x[2:4]") if weak else ("f[0:4]", "f[4:8]", "f[0:8/4]"))
        if source.random() < 0.1:
            place = source.choice(("f[0:4]", "f[0:8/4]", "f[4:6]", "x[0:4]"))
        orderings = {"store": ("relaxed", "release"), "load": ("relaxed", "acquire")}
        strong = orderings.get(kind, ("relaxed", "acquire", "release", "acq_rel"))
        ordering = "weak" if weak else source.choice((*strong, strong[-1]))
        scope = "-" if weak else source.choice(("device", "device", "device", "sys", "tl_blk"))
        waits = source.sample(names[block][-3:], min(len(names[block]), source.choice((0, 1, 1, 2, 3))))
        name = f"P{number}"
        names[block].append(name)
        lines.append(f"{block} {name} {kind} {ordering} {scope} {place} {'+'.join(waits) or '-'} ?")
    return "\n".join(lines)


class Definition:
    """Happens-before as a relation over memory operations of single elements, closed step by step."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.sources: dict[Element, dict[int, Element | None]] = {}
        self.before: dict[Element, set[Element]] = {}
        latest: dict[int, Element] = {}
        for event, access in trace.accesses():
            for element in self.elements(event):
                self.sources[element] = {byte: latest.get(byte) for byte in self.bytes(element)}
                self.before[element] = set()
            for element in self.elements(event):
                for earlier in self.direct(element, access):
                    self.before[element] |= {earlier} | self.before[earlier]
            if access.writes is not None:
                latest |= {byte: element for element in self.elements(event) for byte in self.bytes(element)}

    def elements(self, event: Event) -> list[Element]:
        footprint = self.trace.access(event).footprints[0]
        return [(event, int(address)) for address in footprint.addresses()]

    def bytes(self, element: Element) -> range:
        return range(element[1], element[1] + self.trace.access(element[0]).footprints[0].width)

    def direct(self, element: Element, access: DynamicAccess) -> Iterator[Element]:
        """What comes directly before: all elements of what its token waits for, and the releases that it observes."""
        block = element[0][0]
        for number in range(element[0][1]):
            if access.waits >> number & 1:
                yield from self.elements((block, number))
        if access.reads is not None and access.ordering in ("acquire", "acq_rel"):
            yield from self.releases(element)

    def releases(self, element: Element) -> Iterator[Element]:
        """Heads of the release sequences that the element reads from, of adequate scope."""
        reader: Element = element
        while (source := self.source(reader)) is not None:
            access = self.trace.access(source[0])
            if access.ordering in ("release", "acq_rel") and self.strong(source[0], element[0]):
                yield source
            if access.kind != "atomic":
                return
            reader = source

    def source(self, element: Element) -> Element | None:
        """The one write of the same location that the element read, if the two are morally strong."""
        sources = set(self.sources[element].values())
        if len(sources) != 1:
            return None
        (source,) = sources
        if source is None or self.bytes(source) != self.bytes(element) or not self.strong(source[0], element[0]):
            return None
        return source

    def strong(self, one: Event, other: Event) -> bool:
        """Both are scoped, and each scope includes the other's block."""
        scopes = {self.trace.access(one).scope, self.trace.access(other).scope}
        return None not in scopes and (one[0] == other[0] or "tl_blk" not in scopes)

    def races(self) -> Iterator[tuple[str, Event, Event]]:
        for one, other in combinations(self.trace.order, 2):
            mine, theirs = self.trace.access(one), self.trace.access(other)
            if mine.writes is None and theirs.writes is None:
                continue
            if any(self.raced(a, b) for a in self.elements(one) for b in self.elements(other)):
                yield self.code(one, other), one, other

    def raced(self, one: Element, other: Element) -> bool:
        """They meet without an order, and are no morally strong accesses of the same bytes."""
        return self.unordered(one, other) and not (
            self.strong(one[0], other[0]) and self.bytes(one) == self.bytes(other)
        )

    def unordered(self, one: Element, other: Element) -> bool:
        """They share a byte, and neither comes before the other."""
        meets = set(self.bytes(one)) & set(self.bytes(other))
        return bool(meets) and one not in self.before[other] and other not in self.before[one]

    def code(self, one: Event, other: Event) -> str:
        mine, theirs = self.trace.access(one), self.trace.access(other)
        if one[0] == other[0]:
            return "TV201"
        if not (mine.weak and theirs.weak):
            return "TV103"
        return "TV101" if mine.writes is not None and theirs.writes is not None else "TV102"


def expected(table: Table) -> set[tuple[str, ...]]:
    name = {event: table.names[table.trace.access(event).op] for event in table.trace.order}
    return {(code, name[one], name[other]) for code, one, other in Definition(table.trace).races()}


@pytest.mark.parametrize("seed", range(400))
def test_the_detector_follows_the_definition(seed: int) -> None:
    table = parsed(drawn(seed), sources=False)
    assert table.races() == expected(table), drawn(seed)


def test_the_traces_are_of_all_kinds() -> None:
    """Some conflicts are ordered between blocks, some races are of each kind, some orders hold for single elements."""
    codes, ordered, partial = set(), 0, 0
    for seed in range(400):
        table = parsed(drawn(seed), sources=False)
        definition = Definition(table.trace)
        codes |= {code for code, _, _ in definition.races()}
        for one, other in combinations(table.trace.order, 2):
            pairs = [b in definition.before[a] or a in definition.before[b]
                     for a in definition.elements(one) for b in definition.elements(other)]  # fmt: skip
            ordered += one[0] != other[0] and all(pairs)
            partial += any(pairs) and not all(pairs)
    assert codes == {"TV101", "TV102", "TV103", "TV201"}
    assert ordered > 500
    assert partial > 50
