"""Ops that speak to the host: `print_tko` and `assert`.  They touch no memory and order nothing but tokens.

A print is formatted when it is met and kept in the block's log.  A device writes the prints of different blocks in any
order, and those of one block in the order of their tokens.

An assertion that fails is kept as well, and the block runs on: a device may do so too, it only reports the lanes and an
error to the host at the end, so nothing behind an assertion may be taken for granted.  A condition that the
specification leaves open counts as failed, marked as such.  Where the launch trusts that it stops its block, it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ...frontend.bytecode.model import Op
from .access_log import FailedAssertion, Printed
from .faults import BlockEnded
from .memory import Provenance
from .printf import UNDEFINED_TEXT, parsed, tile_text
from .tiles import tile_type
from .values import OVERFLOWED, UNKNOWN_ORIGIN, UNSPECIFIED, Token

if TYPE_CHECKING:
    from .machine import BlockRun, Rule

LANE_COST: Final = 256
"""Steps that formatting one lane costs."""


def _print(run: BlockRun, op: Op) -> tuple[Token, ...]:
    tiles = run.tiles(op, "args")
    run.budget.spend(LANE_COST * sum(tile.data.size for tile in tiles))
    parts = parsed(op.attributes["str"])
    conversions = [part for part in parts if not isinstance(part, str)]
    operands = op.group("args")
    if len(conversions) != len(operands):
        text = UNDEFINED_TEXT
    else:
        elements = (tile_type(value).element for value in operands)
        pieces = iter(
            tile_text(conversion, tile, element, lambda origin, address: _place(run, origin, address))
            for conversion, tile, element in zip(conversions, tiles, elements, strict=True)
        )
        text = "".join(part if isinstance(part, str) else next(pieces) for part in parts)
    run.log.printed.append(Printed(op, text, run.log.tick()))
    return (Token(run.waits(op)),) if op.results else ()


def _place(run: BlockRun, number: int, address: int) -> str:
    if number == UNKNOWN_ORIGIN:
        return "<unknown address>"
    origin: Provenance = run.memory.image.origins[number]
    return f"&{origin.element(address)}"


def _assert(run: BlockRun, op: Op) -> tuple[()]:
    """Only the first failure of an op is kept for each block."""
    condition = run.tile(op, "c")
    shape = condition.data.shape
    open_ = np.zeros(shape, np.bool_)
    if condition.taint is not None:
        open_ = np.broadcast_to((condition.taint & (UNSPECIFIED | OVERFLOWED)) != 0, shape)
    wrong = ~condition.data | open_
    if wrong.any() and not any(failure.op is op for failure in run.log.assertions):
        surely = wrong & ~open_
        lanes = surely if surely.any() else wrong
        position = tuple(int(place) for place in np.argwhere(lanes)[0])
        failure = FailedAssertion(
            op, op.attributes["msg"], position, int(np.count_nonzero(lanes)), not surely.any(), run.log.tick()
        )
        run.log.assertions.append(failure)
    if run.program.entry.asserts_stop and wrong.any():
        raise BlockEnded
    return ()


RULES: Final[dict[str, Rule]] = {"print_tko": _print, "assert": _assert}
