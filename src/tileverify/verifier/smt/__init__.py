"""The only door to the solver: decides conjunctions of terms."""

from .decide import Solver, WithBudget, WithLimits, solver_version
from .tier_solver import SolverContext, core_of_last

__all__ = ["Solver", "SolverContext", "WithBudget", "WithLimits", "core_of_last", "solver_version"]
