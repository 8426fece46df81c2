"""`read_again`: what is claimed of an entry's accesses, checked against its bytecode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..contract.launch import EntryParameter
from ..contract.terms import Term, TermKind
from ..contract.variables import BID, GRID
from ..frontend.bytecode.model import Entry, Module
from ..frontend.symbolic.summary import AccessSummary, OriginKind
from . import steps_accesses, steps_integers, steps_loops, steps_pointers, steps_tiles, steps_tokens
from .agreement import Refutes
from .checked_values import Misread
from .described_entry import described
from .evaluator import Evaluator, Step
from .loaded_values import may_be_written
from .origins import first_byte

STEPS: Final[dict[str, Step]] = {
    **steps_accesses.STEPS,
    **steps_integers.STEPS,
    **steps_loops.STEPS,
    **steps_pointers.STEPS,
    **steps_tiles.STEPS,
    **steps_tokens.STEPS,
}
"""What each op does; an op that is not here is not read."""


@dataclass(frozen=True, slots=True)
class ReadAgain:
    """``summary``: the claim, with what follows from the bytecode alone put in; ``asked``: questions for a solver."""

    summary: AccessSummary
    asked: int


def read_again(
    module: Module,
    entry: Entry,
    parameters: Sequence[EntryParameter],
    claims: AccessSummary,
    may_overlap: Sequence[frozenset[str]],
    refutes: Refutes,
) -> ReadAgain:
    """Every access, promise and loop of ``claims`` is what the bytecode does, and none is missing.

    ``refutes`` answers what terms alone do not show.  Raises `Misread` where the claims are false, `NotFollowed`
    where the checker cannot tell.
    """
    values, origins, holds = described(entry, parameters)
    ev = Evaluator(module, entry, claims, STEPS, refutes, may_overlap)
    ev.env.update(values)
    ev.elements.update(holds)
    ev.known |= {axis.symbol for axis in (*BID, *GRID)}
    for number in values.values():
        if isinstance(number, Term) and number.kind is TermKind.VAR:
            ev.known.add(number.symbol)
    ev.known |= {first_byte(origin).symbol for origin in origins.values()}
    ev.run(entry.body)
    ev.finish()
    for site in claims.sites:
        known = origins.setdefault(site.origin.name, site.origin)
        if known.kind is not site.origin.kind and OriginKind.LIST not in (known.kind, site.origin.kind):
            raise Misread(f"'{site.origin.name}' is said to be two things")
    stable = frozenset(
        name for name, each in origins.items() if each.kind is OriginKind.PARAMETER and not may_be_written(ev, each)
    )
    at = {op.offset: op.location for op in ev.ordinal}
    summary = replace(
        claims,
        sites=tuple(replace(site, location=at[site.offset]) for site in claims.sites),
        promises=tuple(replace(item, location=at[item.offset]) for item in claims.promises),
        origins=origins,
        stable_arrays=stable,
    )
    return ReadAgain(summary, ev.compare.asked)
