"""What a proof says of the stores that its launch lets blocks make without an order (``allow``).

A proof asks of such a pair whether two blocks leave *different* bits in one element (`obligations`).  Here every pair
is asked once more as if nothing were allowed.  If blocks may meet, a note tells it; if no pair of an array meets, the
word of the launch is not needed.  Neither changes the verdict.
"""

from __future__ import annotations

from dataclasses import replace

from ..contract.allowed import same_value_stores
from ..results import Finding
from ..results.codes import TV
from . import messages
from .attempt import Open
from .budgets import OPEN_LIMITS
from .obligations.obligations import between_blocks, may_be_equal
from .prover import Prover

BY_TERMS = "proved by terms, for all sizes of the contract"


def equal_stores(prover: Prover) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Of a proved kernel, a note for each pair of allowed stores that may meet, and notes on words without use."""
    contract, by_number = prover.contract, prover.kernel.by_number
    strict = replace(contract, equal_stores=frozenset())
    found: dict[object, Finding] = {}
    used = set[str]()
    for asked in (each.obligation for each in prover.closed):
        if asked.code != TV.RACE_WRITE_WRITE or asked.first is None or asked.second is None:
            continue
        pair = by_number[asked.first.number], by_number[asked.second.number]
        if not may_be_equal(*pair, contract):
            continue
        for plain in between_blocks(*pair, strict):
            if isinstance(prover.answer(plain, OPEN_LIMITS), Open):
                name = asked.first.origin.name
                used.add(name)
                told = f"two tile blocks store equal values at the same element of `{name}`, as the launch allows"
                sites = messages.sites(asked)
                note = Finding(TV.RACE_WRITE_WRITE, f"{told}: {BY_TERMS}", sites, allowed=True)
                found.setdefault(tuple((site.file, site.line, site.column) for site in sites), note)
    return tuple(found.values()), tuple(
        f'allow = ["{same_value_stores(name)}"] is not needed: no two blocks store to one element of `{name}`'
        for name in sorted(contract.equal_stores - used)
    )
