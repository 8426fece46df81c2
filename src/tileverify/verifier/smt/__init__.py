"""The only door to the solver: decides conjunctions of terms."""

from .decide import Decider, Limited, solver_version
from .scripts import core_of_last
from .session import Session

__all__ = ["Decider", "Limited", "Session", "core_of_last", "solver_version"]
