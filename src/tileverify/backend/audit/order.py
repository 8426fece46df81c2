"""What accesses of a block wait for: tokens of the run beside the waits of the summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from ...frontend.symbolic.summary import AccessSummary, Site, earlier
from ...results.second_reading import Counts
from ..interpreter.access_log import DynamicAccess
from .block_terms import BlockTerms
from .functions import Disagreement
from .lane_values import Known
from .recording import Context

MOST_PAIRS: Final = 4096
"""Pairs of accesses of one block whose order is compared."""


def compare_order(
    summary: AccessSummary,
    terms: BlockTerms,
    executions: Mapping[tuple[int, Context], Sequence[DynamicAccess]],
    counts: Counts,
    named: Callable[[Site, Context], str],
) -> None:
    """Every wait of the summary is one of the run.  Those of the run are the summary's, too, but in loops, where it may
    leave some out.

    :raises Disagreement: the first wait that only one of the two has.
    """
    sites = {site.offset: site for site in summary.sites}
    by_site: dict[int, list[tuple[Context, Sequence[DynamicAccess]]]] = {}
    for (offset, iterations), accesses in executions.items():
        if offset in sites:
            by_site.setdefault(sites[offset].number, []).append((iterations, accesses))
    pairs = 0
    for site in summary.sites:
        conditions = {wait.site: wait.condition for wait in site.waits}
        for iterations, accesses in by_site.get(site.number, ()):
            waits = accesses[0].waits  # lanes in several arrays: what the first part waits for
            now = {loop.iteration: Known(k) for loop, k in zip(site.loops, iterations, strict=True)}
            for other in summary.sites:
                others = by_site.get(other.number, [])
                condition = conditions.get(other.number)
                if not others or (condition is None and not any(_bit(waits, each) for _, each in others)):
                    continue
                pairs += len(others)
                if pairs > MOST_PAIRS:
                    counts.not_compared[f"the order of pairs of accesses beyond {MOST_PAIRS} in a block"] += 1
                    return
                really = np.array([_bit(waits, each) for _, each in others])
                if condition is None:
                    claimed, known = np.zeros(len(others), np.bool_), np.ones(len(others), np.bool_)
                else:
                    columns = zip(*(context for context, _ in others), strict=True)
                    before = {
                        earlier(loop.iteration): Known(np.array(column))
                        for loop, column in zip(other.loops, columns, strict=False)
                    }
                    terms.at({**now, **before})
                    found = terms.value(condition)
                    claimed = np.broadcast_to(np.asarray(found.data, np.bool_), len(others))
                    known = ~np.broadcast_to(np.asarray(bool(0) if found.open is None else found.open), len(others))
                if not known.all():
                    counts.not_compared["an order that depends on a value that the run does not give"] += int(
                        (~known).sum()
                    )
                wrong = claimed & ~really & known
                if wrong.any():
                    context = others[int(np.flatnonzero(wrong)[0])][0]
                    raise Disagreement(
                        f"{named(site, iterations)}: the proof lets it wait for {named(other, context)},"
                        " in the run it does not"
                    )
                missing = really & ~claimed & known
                if missing.any() and not site.loops and not other.loops:
                    context = others[int(np.flatnonzero(missing)[0])][0]
                    raise Disagreement(
                        f"{named(site, iterations)}: in the run it waits for {named(other, context)},"
                        " in the proof it does not"
                    )
                counts.unclaimed += int(missing.sum())
                counts.waits += int((claimed & really & known).sum())


def _bit(waits: int, accesses: Sequence[DynamicAccess]) -> bool:
    return all(waits >> access.number & 1 for access in accesses)
