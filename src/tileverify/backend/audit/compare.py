"""One block of a launch: every access of its run beside the summary, and what the summary has beyond them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from ...frontend.bytecode.model import Op
from ...frontend.symbolic.summary import Access, Loop, OriginKind, Site
from ...results.families import EVENTS
from ...results.second_reading import ReadingTally
from ...system.paths import display_path
from ..interpreter.access_log import DynamicAccess
from .awaited import compare_order
from .block_terms import BlockTerms, LaunchTerms
from .footprints import Expected, difference, expected, is_private
from .lane_values import Known
from .run_records import BlockRecord, Context
from .symbol_values import Disagreement, FunctionValues

MOST_INSTANCES: Final = 96
"""Executions of one access in a block that are compared, and iterations in which it should not happen."""

Executions = dict[tuple[int, Context], list[DynamicAccess]]
"""Accesses by the place of their op and their iterations; several where the lanes go to several arrays."""


def compare_block(launch: LaunchTerms, record: BlockRecord, counts: ReadingTally, *, proved: bool = True) -> None:
    """Compare; what could not be is counted.

    ``proved``: undefined behaviour contradicts the proof; otherwise what comes behind it is not compared.

    :raises Disagreement: the first thing that is not the same.
    """
    log = record.log
    if log.events:
        event = log.events[0]
        if proved and event.code in EVENTS:
            raise Disagreement(
                f"block {record.block}: the proof excludes {event.code}, but the run shows it"
                f" at {event.op}: {event.message}"
            )
        counts.not_compared[f"undefined behaviour ({event.code}) in the run of the block"] += 1
        return
    _Block(launch, record, counts).compare()


class _Block:
    def __init__(self, launch: LaunchTerms, record: BlockRecord, counts: ReadingTally) -> None:
        self.launch = launch
        self.kernel = launch.kernel
        self.record = record
        self.counts = counts
        self.terms = BlockTerms(launch, record.block, FunctionValues(self.kernel.sources, launch.image, record))
        self.executions: Executions = defaultdict(list)
        for access in record.log.accesses:
            self.executions[access.op.offset, access.iterations].append(access)

    def compare(self) -> None:
        sites = {site.offset: site for site in self.kernel.summary.sites}
        looked: dict[int, int] = defaultdict(int)
        for (offset, iterations), accesses in self.executions.items():
            site = sites.get(offset)
            if site is None:
                raise Disagreement(f"{self._where(accesses[0].op, iterations)}: the proof knows of no access here")
            looked[offset] += 1
            if looked[offset] > MOST_INSTANCES:
                self.counts.not_compared[f"executions of one access beyond the first {MOST_INSTANCES}"] += 1
            else:
                self._execution(site, iterations, accesses)
        if self.record.log.stopped is not None:
            self.counts.not_compared[f"the rest of a block: {_plain(str(self.record.log.stopped))}"] += 1
        elif self.record.log.left_out:
            self.counts.not_compared["the rest of a block with an access that an open value decides about"] += 1
        elif self.record.log.iterations:
            self.counts.not_compared["the rest of a block that an assertion ended inside of a loop"] += 1
        else:
            for site in sites.values():
                self._absences(site)
        compare_order(self.kernel, self.terms, self.executions, self.counts, self._named)
        self.counts.blocks += 1

    # ------------------------------------------------------------------------------- what the run did
    def _execution(self, site: Site, iterations: Context, accesses: Sequence[DynamicAccess]) -> None:
        self._at(site.loops, iterations)
        for loop, k in zip(site.loops, iterations, strict=True):
            most = loop.iteration.symbol.high
            if most is not None and k > most:
                where = self._where(accesses[0].op, iterations)
                raise Disagreement(f"{where}: the proof takes the loop to have at most {most + 1} iterations")
        try:
            wanted = expected(self.terms, site, self.kernel.rank)
        except Disagreement as found:
            raise Disagreement(f"{self._where(accesses[0].op, iterations)}: {found}") from None
        if wanted.unknown:
            self.counts.not_compared[wanted.unknown] += 1
            return
        if site.origin.kind is OriginKind.UNKNOWN:
            self.counts.not_compared["the proof does not know the array"] += 1
            return
        where = self._where(accesses[0].op, iterations)
        writes = any(access.writes is not None for access in accesses)
        if writes != site.writes or (site.access is Access.WRITE and any(a.reads is not None for a in accesses)):
            raise Disagreement(f"{where}: the proof has a {site.access.value}, the run another kind of access")
        seen = np.concatenate([self._offsets(site, wanted, access, where) for access in accesses])
        if accesses[0].width != site.footprint.element_bytes:
            raise Disagreement(
                f"{where}: the proof has elements of {site.footprint.element_bytes} bytes, the run {accesses[0].width}"
            )
        if problem := difference(wanted.offsets, seen, self._element(accesses[0].origin)):
            raise Disagreement(f"{where}: {problem}")
        self.counts.accesses += 1

    def _offsets(self, site: Site, wanted: Expected, access: DynamicAccess, where: str) -> np.ndarray:
        origin = self.launch.image.origins[access.origin]
        name = site.origin.name if wanted.index is None else f"{site.origin.name}[{wanted.index}]"
        if is_private(site):
            if not origin.name.startswith("alloca"):
                raise Disagreement(f"{where}: the proof has memory of the block's own, the run touches {origin.name}")
        elif origin.name != name:
            raise Disagreement(f"{where}: the proof has {name}, the run touches {origin.name}")
        return access.footprints[0].addresses() - origin.base

    def _element(self, number: int) -> Callable[[int], str]:
        origin = self.launch.image.origins[number]
        return lambda offset: origin.element(origin.base + offset)

    # ------------------------------------------------------------------------------ what it did not do
    def _absences(self, site: Site) -> None:
        for number, context in enumerate(self._contexts(site.loops, ())):
            if number >= MOST_INSTANCES:
                self.counts.not_compared[f"iterations beyond the first {MOST_INSTANCES}"] += 1
                return
            if (site.offset, context) in self.executions:
                continue
            self._at(site.loops, context)
            wanted = expected(self.terms, site, self.kernel.rank)
            if wanted.unknown:
                self.counts.not_compared[f"an access that did not happen: {wanted.unknown}"] += 1
            elif wanted.offsets.size:
                count = f"{wanted.offsets.size} element{'' if wanted.offsets.size == 1 else 's'}"
                raise Disagreement(
                    f"{self._named(site, context)}: the proof has {count} of {site.origin.name or 'memory'}"
                    f" from byte {wanted.offsets.min()} on, the run makes no access"
                )

    def _contexts(self, loops: Sequence[Loop], done: Context) -> Iterator[Context]:
        """Iterations that were entered, and the first that was not of every `for`.

        What a summary says of iterations behind the end of a `loop` may be more than happens.
        """
        if len(done) == len(loops):
            yield done
            return
        loop = loops[len(done)]
        entered = self.record.entered.get((self.kernel.sources.loop(loop.name), done), 0)
        most = loop.iteration.symbol.high
        for k in range(entered):
            yield from self._contexts(loops, (*done, k))
        # The range of the variable is part of what the summary says: beyond it there is no iteration.
        if (loop.value is not None or not entered) and (most is None or entered <= most):
            yield (*done, entered, *(0 for _ in loops[len(done) + 1 :]))

    # ------------------------------------------------------------------------------------------- words
    def _at(self, loops: Sequence[Loop], iterations: Context) -> None:
        pairs = zip(loops, iterations, strict=True)
        self.terms.at({loop.iteration: Known(k) for loop, k in pairs})

    def _named(self, site: Site, iterations: Context) -> str:
        place = site.location
        return self._spelled(site.op, None if place is None else (place.file, place.line), site.offset, iterations)

    def _where(self, op: Op, iterations: Context) -> str:
        place = op.location
        return self._spelled(op.name, None if place is None else (place.file, place.line), op.offset, iterations)

    def _spelled(self, op: str, place: tuple[str, int] | None, offset: int, iterations: Context) -> str:
        at = f"{offset:#x}" if place is None else f"{display_path(place[0])}:{place[1]}"
        around = f", iteration {', '.join(map(str, iterations))}" if iterations else ""
        return f"{at} ({op}), block {self.record.block}{around}"


def _plain(reason: str) -> str:
    """The reason without the place of an op, so that equal ones are counted together."""
    return reason.partition(" at 0x")[0] if " at 0x" in reason else reason
