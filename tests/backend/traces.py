"""Traces written as tables, one access a line in the order in which they happened.

    block op kind   ordering scope  bytes    waits reads-from
    0     W  store  weak     -      x[0:4]   -     -
    0     R  store  release  device f[0:4]   W     -
    1     A  load   acquire  device f[0:4]   -     R
    1     L  load   weak     -      x[0:4]   A     W

``bytes``: one element, or ``x[0:16/4]`` for elements of 4 bytes, or several joined by ``+``; ``waits``: the accesses
whose tokens it takes (their own waits follow); ``reads-from``: who wrote what it read (``-``: the initial contents).
That column must agree with the order of the lines.  ``A#2`` is another execution of the op ``A``.  An atomic reads and
writes; the kind ``failed`` is one that only read (an exchange whose comparison failed).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tileverify.backend.interpreter.access_log import BlockLog, DynamicAccess, Event, PointFootprint, Trace
from tileverify.backend.interpreter.races import Race, find_races
from tileverify.frontend.bytecode.enums import MemoryOrdering, MemoryScope
from tileverify.frontend.bytecode.model import Op
from tileverify.frontend.bytecode.optable import BY_NAME

BASES = {"x": 0x1000, "y": 0x2000, "f": 0x3000, "g": 0x4000}
OPS = {"store": "store_ptr_tko", "load": "load_ptr_tko", "atomic": "atomic_rmw_tko", "failed": "atomic_cas_tko"}
ELEMENTS = re.compile(r"(\w)\[(\d+):(\d+)(?:/(\d+))?\]")


@dataclass
class Table:
    """A parsed table; ``names``: the op of each name without its execution number."""

    trace: Trace
    names: Mapping[Op, str]
    loops: Mapping[Op, tuple[Op, ...]]

    def races(self) -> set[tuple[str, ...]]:
        """(code, op that happened first, other op) for every race; (code, op) for lanes of one store."""
        return {self._named(race) for race in find_races(self.trace, self.loops)}

    def _named(self, race: Race) -> tuple[str, ...]:
        first = self.names[race.first.op]
        return (race.code, first) if race.second is None else (race.code, first, self.names[race.second.op])


def parsed(text: str, loop: str = "", *, sources: bool = True) -> Table:
    """The trace of a table; the ops named in ``loop`` stand in one loop.  ``sources``: check ``reads-from``."""
    rows = [line.split() for line in text.strip().splitlines() if line.strip()]
    around = _op("loop", 0)
    ops: dict[str, Op] = {}
    logs: dict[int, BlockLog] = {}
    events: dict[str, Event] = {}
    order: list[Event] = []
    blocks = sorted({int(row[0]) for row in rows})
    for row in rows:
        block, name, kind, ordering, scope, elements, waits, _ = row
        site = name.split("#")[0]
        ops.setdefault(site, _op(OPS[kind], len(ops)))
        log = logs.setdefault(int(block), BlockLog((int(block), 0, 0)))
        footprint = _footprint(elements)
        awaited = 0
        for each in waits.split("+") if waits != "-" else ():
            assert events[each][0] == blocks.index(int(block)), "tokens do not leave their block"
            number = events[each][1]
            awaited |= 1 << number | log.accesses[number].waits
        log.accesses.append(
            DynamicAccess(
                number=len(log.accesses),
                op=ops[site],
                kind="atomic" if kind == "failed" else kind,
                ordering=MemoryOrdering(ordering),
                scope=None if scope == "-" else MemoryScope(scope),
                origin=0,
                reads=None if kind == "store" else footprint,
                writes=None if kind in ("load", "failed") else footprint,
                waits=awaited,
                time=len(log.accesses) + 1,
            )
        )
        events[name] = blocks.index(int(block)), len(log.accesses) - 1
        order.append(events[name])
    trace = Trace(tuple(logs[block] for block in blocks), tuple(order))
    if sources:
        _check_sources(trace, rows, {event: name for name, event in events.items()})
    loops = {op: (around,) if site in loop.split() else () for site, op in ops.items()}
    return Table(trace, {op: site for site, op in ops.items()}, loops)


def _op(name: str, offset: int) -> Op:
    return Op(BY_NAME[name], (), {}, {}, frozenset(), offset=offset)


def _footprint(text: str) -> PointFootprint:
    points: list[int] = []
    widths = set()
    for part in text.split("+"):
        found = ELEMENTS.fullmatch(part)
        assert found, part
        array, start, end, width = found[1], int(found[2]), int(found[3]), int(found[4] or 0)
        width = width or end - start
        widths.add(width)
        points += [BASES[array] + place for place in range(start, end, width)]
    (width,) = widths
    return PointFootprint(np.array(points, np.int64), width)


def _check_sources(trace: Trace, rows: Iterable[list[str]], names: Mapping[Event, str]) -> None:
    """The column ``reads-from`` says what the order of the lines implies."""
    writer: dict[int, str] = {}
    for row, (event, access) in zip(rows, trace.accesses(), strict=True):
        read = set() if access.reads is None else {writer.get(byte, "-") for byte in _bytes(access.reads)}
        stated = {row[7]} if access.reads is not None and row[7] == "-" else set(row[7].split("+")) - {"-"}
        assert read == stated or read - {"-"} == stated, f"{row[1]} reads from {read}, the table says {row[7]}"
        if access.writes is not None:
            writer |= dict.fromkeys(_bytes(access.writes), names[event])


def _bytes(footprint: PointFootprint | object) -> list[int]:
    assert isinstance(footprint, PointFootprint)
    return [int(point) + byte for point in footprint.points for byte in range(footprint.width)]
