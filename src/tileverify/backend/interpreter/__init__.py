"""Reference interpreter: Tile IR executed block by block in NumPy, with a log of every access.

It shares no reasoning with the prover: it reads the decoded module, runs concrete numbers through machine arithmetic
and watches what happens.  One module per op family gives the rules; `control` collects them.
"""

from .access_log import BlockLog, DynamicAccess
from .control import run_block
from .grid_runs import BoundLaunch, GridRun, bind_launch, run_grid
from .machine import Budget, GridPoint, Program
from .memory import Memory, MemoryImage
from .values import BudgetSpent, InterpreterStop, LaunchMismatch, NotModelled, UndefinedBehaviour, UnspecifiedUse

__all__ = [
    "BlockLog",
    "BoundLaunch",
    "Budget",
    "BudgetSpent",
    "DynamicAccess",
    "GridPoint",
    "GridRun",
    "InterpreterStop",
    "LaunchMismatch",
    "Memory",
    "MemoryImage",
    "NotModelled",
    "Program",
    "UndefinedBehaviour",
    "UnspecifiedUse",
    "bind_launch",
    "run_block",
    "run_grid",
]
