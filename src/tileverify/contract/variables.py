"""The variables of a launch: its grid, a block's place in it, addresses, scalars and lengths of its arguments."""

from __future__ import annotations

from typing import Final

from .element_types import INDEX_MAX, INT_BITS, LENGTH_BITS
from .launch import GRID_MAX
from .terms import Scope, Sort, Term, var
from .terms.launch_wide import launch_variable

BID: Final = tuple(var(f"bid.{axis}", Scope.BLOCK, 0, GRID_MAX - 1) for axis in "xyz")
GRID: Final = tuple(launch_variable(f"grid.{axis}", 1, GRID_MAX) for axis in "xyz")
"""``bid[d] < grid[d]`` is a standing fact that the verifier adds for every block."""

ADDRESS_MAX: Final = 2**63 - 1


def argument_address(name: str) -> Term:
    """The byte address of an array argument's first byte, the same for all blocks."""
    return launch_variable(f"{name}.address", 0, ADDRESS_MAX)


def scalar_variable(name: str, dtype: str) -> Term:
    """A runtime scalar: integers in their signed reading, booleans as booleans."""
    bits = INT_BITS[dtype]
    if bits == 1:
        return var(name, Scope.LAUNCH, sort=Sort.BOOL)
    return var(name, Scope.LAUNCH, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def unsigned_variable(name: str, bits: int) -> Term:
    """An unsigned runtime scalar as its spec names it."""
    return var(name, Scope.LAUNCH, 0, (1 << bits) - 1)


def list_length(name: str) -> Term:
    """The number of arrays in a list argument."""
    return var(f"{name}.length", Scope.LAUNCH, 0, INDEX_MAX[LENGTH_BITS])
