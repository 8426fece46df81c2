"""The only door to the solver: decides conjunctions of terms."""

from .decide import Answer, Decider, Limits, Model, Result, solver_version

__all__ = ["Answer", "Decider", "Limits", "Model", "Result", "solver_version"]
