"""The only door to the solver: decides conjunctions of terms."""

from .decide import Answer, Decider, Decides, Limits, Merge, Model, Proof, Result, as_merged, solver_version
from .lemmas import Lemma, bound_lemmas
from .scripts import core_of_last
from .session import Session

__all__ = [
    "Answer",
    "Decider",
    "Decides",
    "Lemma",
    "Limits",
    "Merge",
    "Model",
    "Proof",
    "Result",
    "Session",
    "as_merged",
    "bound_lemmas",
    "core_of_last",
    "solver_version",
]
