"""What accesses of a block wait for: tokens of the run beside the waits of the summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from ...contract.terms import FALSE, Term
from ...frontend.bytecode.liveness import operands
from ...frontend.bytecode.model import Block, TokenType, Value
from ...frontend.symbolic.summary import Site, earlier
from ...results.second_reading import ReadingTally
from ..interpreter.access_log import DynamicAccess
from ..interpreter.values import Array
from .block_terms import BlockTerms, KernelTerms
from .lane_values import Known
from .run_records import Context
from .symbol_values import Disagreement

MOST_PAIRS: Final = 4096
"""Pairs of accesses of one block whose order is compared."""
OPEN_ORDER: Final = "an order that depends on a value that the run does not give"


def compare_order(
    kernel: KernelTerms,
    terms: BlockTerms,
    executions: Mapping[tuple[int, Context], Sequence[DynamicAccess]],
    counts: ReadingTally,
    named: Callable[[Site, Context], str],
) -> None:
    """Every wait of the summary is one of the run.  Those of the run are the summary's, too, but for accesses in loops
    and those whose token comes out of one: there it may leave some out.

    :raises Disagreement: the first wait that only one of the two has.
    """
    summary = kernel.summary
    sites = {site.offset: site for site in summary.sites}
    by_site: dict[int, list[_Execution]] = {}
    for (offset, iterations), accesses in executions.items():
        if offset in sites:
            by_site.setdefault(sites[offset].number, []).append((iterations, accesses))
    pairs = 0
    out_of_loops = _out_of_loops(kernel.entry.body, set())
    for site in summary.sites:
        partial = bool(site.loops) or site.offset in out_of_loops
        conditions = {wait.site: wait.condition for wait in site.waits}
        for execution in by_site.get(site.number, ()):
            for other in summary.sites:
                others, condition = by_site.get(other.number, []), conditions.get(other.number, FALSE)
                really = np.array([_waits(execution, each) for each in others], np.bool_)
                if not others or (condition is FALSE and not really.any()):
                    continue
                pairs += len(others)
                if pairs > MOST_PAIRS:
                    counts.not_compared[f"the order of pairs of accesses beyond {MOST_PAIRS} in a block"] += 1
                    return
                claimed, known = _claimed(terms, site, execution, other, others, condition)
                _compare(site, execution, other, others, (really, claimed, known), counts, named, partial=partial)


def _out_of_loops(block: Block, tokens: set[Value]) -> set[int]:
    """The offsets of the ops that are given a token which a loop of ``block`` handed on; ``tokens``: those so far."""
    found: set[int] = set()
    for op in block.ops:
        bodies = [body for region in op.regions for body in region.blocks]
        for body in bodies:
            found |= _out_of_loops(body, tokens)
        given = [op, *(body.ops[-1] for body in bodies if body.ops)]
        if op.declaration.body == "loop" or any(tokens.intersection(operands(each)) for each in given):
            found.add(op.offset)
            tokens.update(result for result in op.results if isinstance(result.type, TokenType))
    return found


_Execution: TypeAlias = "tuple[Context, Sequence[DynamicAccess]]"


def _waits(execution: _Execution, other: _Execution) -> bool:
    """Whether the run has it wait; of lanes in several arrays, the first part does for all, and all are waited for."""
    return all(execution[1][0].waits >> access.number & 1 for access in other[1])


def _claimed(
    terms: BlockTerms, site: Site, execution: _Execution, other: Site, others: Sequence[_Execution], condition: Term
) -> tuple[Array, Array]:
    """For each of ``others``, whether the summary says that it is waited for, and whether that can be told."""
    columns = [np.array(column) for column in zip(*(context for context, _ in others), strict=True)]
    now = {loop.iteration: Known(k) for loop, k in zip(site.loops, execution[0], strict=True)}
    before = {earlier(loop.iteration): Known(column) for loop, column in zip(other.loops, columns, strict=True)}
    terms.at({**now, **before})
    found = terms.value(condition)
    open_ = np.broadcast_to(np.asarray(False if found.open is None else found.open), len(others))
    return np.broadcast_to(np.asarray(found.data, np.bool_), len(others)), ~open_


def _compare(
    site: Site, execution: _Execution, other: Site, others: Sequence[_Execution],
    order: tuple[Array, Array, Array], counts: ReadingTally, named: Callable[[Site, Context], str], *, partial: bool,
) -> None:  # fmt: skip
    """``order``: for each of ``others``, whether it is waited for in the run, in the summary, and whether that can be
    told.  ``partial``: the summary may leave some out."""
    really, claimed, known = order
    if not known.all():
        counts.not_compared[OPEN_ORDER] += int((~known).sum())
    wrong, missing = claimed & ~really & known, really & ~claimed & known
    if wrong.any():
        context = others[int(np.flatnonzero(wrong)[0])][0]
        raise Disagreement(
            f"{named(site, execution[0])}: the proof lets it wait for {named(other, context)}, in the run it does not"
        )
    if missing.any() and not partial and not other.loops:
        context = others[int(np.flatnonzero(missing)[0])][0]
        raise Disagreement(
            f"{named(site, execution[0])}: in the run it waits for {named(other, context)}, in the proof it does not"
        )
    counts.unclaimed += int(missing.sum())
    counts.waits += int((claimed & really & known).sum())
