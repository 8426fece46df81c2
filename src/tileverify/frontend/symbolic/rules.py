"""The table of all rules: what every op of Tile IR does to a symbolic state."""

from __future__ import annotations

from typing import Final

from . import control, integers, loops, memory, pointers, tiles, views
from .machine import Rule

RULES: Final[dict[str, Rule]] = {
    **control.RULES,
    **integers.RULES,
    **loops.RULES,
    **memory.RULES,
    **pointers.RULES,
    **tiles.RULES,
    **views.RULES,
}
