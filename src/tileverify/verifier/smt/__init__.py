"""The only door to the solver: decides conjunctions of terms."""

from .decide import Decider, WithBudget, WithLimits, solver_version
from .tier_solver import Session, core_of_last

__all__ = ["Decider", "Session", "WithBudget", "WithLimits", "core_of_last", "solver_version"]
