"""Replay of TV403: does a value that the specification leaves open reach the claimed op when the block is run?

The block runs alone from the initial memory.  Another rounding or interleaving may decide what it likes there: only
what is unspecified counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...frontend.bytecode.model import Entry, Op
from ...frontend.bytecode.traverse import walk
from ...results.claim import Claim, Confirmation, Touch
from ...results.codes import TV
from ..interpreter import BlockLog, UnspecifiedUse
from ..interpreter.conduct import Conduct
from ..interpreter.faults import OpenUse
from ..interpreter.values import UNSPECIFIED

UNDETERMINED: Final = TV.UNDETERMINED

ONLY_OPEN: Final = Conduct(open=UNSPECIFIED, executes=True, stops=False)
"""How such a block runs: a value that is written is noted, one that decides about control or an access ends the run."""


def open_use(entry: Entry, log: BlockLog, claim: Claim, text: str) -> Confirmation | None:
    """What the run showed at the claimed op, if what reached it came from memory, or from an order that is free."""
    ops = {op.offset: op for op in walk(entry.body)}
    for use in uses(log):
        source = None if use.source is None else ops[use.source]
        if use.offset == claim.offset_a and source is not None and is_claimed(source):
            first = Touch(use.offset, "store" if use.op.startswith("store") else use.op, log.block)
            element = use.element or f"lane {list(use.first)}"
            array = use.element.partition("[")[0]
            return Confirmation(array, element, 0, first, None, text, source=use.source)
    return None


def uses(log: BlockLog) -> Iterator[OpenUse]:
    """All open uses of a run, also the one that ended it."""
    yield from log.open_uses
    if isinstance(log.stopped, UnspecifiedUse) and log.stopped.use is not None:
        yield log.stopped.use


def is_claimed(source: Op) -> bool:
    """Whether the op that made an open value read memory, or combined lanes.

    Results of arithmetic may be open, too, for other reasons.
    """
    return source.declaration.effect in ("read", "read_write") or source.declaration.body == "combination"
