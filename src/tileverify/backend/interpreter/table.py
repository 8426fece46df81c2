"""Op name -> rule, for every op that neither carries a region nor ends a block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import accesses, addresses, atomics, conversions, floats, host, integers, matrix, multimem, tiles, tokens

if TYPE_CHECKING:
    from .machine import Rule

RULES: Final[dict[str, Rule]] = {
    **integers.RULES,
    **floats.RULES,
    **conversions.RULES,
    **tiles.RULES,
    **matrix.RULES,
    **addresses.RULES,
    **accesses.RULES,
    **atomics.RULES,
    **multimem.RULES,
    **tokens.RULES,
    **host.RULES,
}
