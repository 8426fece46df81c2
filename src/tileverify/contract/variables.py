"""The variables that every launch has: its grid, a block's place in it, the addresses of its arguments."""

from __future__ import annotations

from typing import Final

from ..terms import Scope, Term, var
from ..terms.launch_wide import launch_variable
from .launch import GRID_MAX

BID: Final = tuple(var(f"bid.{axis}", Scope.BLOCK, 0, GRID_MAX - 1) for axis in "xyz")
GRID: Final = tuple(launch_variable(f"grid.{axis}", 1, GRID_MAX) for axis in "xyz")
"""``bid[d] < grid[d]`` is a standing fact that the verifier adds for every block."""

ADDRESS_MAX: Final = 2**63 - 1


def argument_address(name: str) -> Term:
    """The byte address of an array argument's first byte, the same for all blocks."""
    return launch_variable(f"{name}.address", 0, ADDRESS_MAX)
