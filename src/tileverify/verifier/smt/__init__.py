"""The only door to the solver: decides conjunctions of terms."""

from .answers import Answer, Decides, Limits, Merge, Model, Proof, Result
from .decide import Decider, Limited, as_merged, solver_version
from .lemmas import Lemma, bound_lemmas
from .scripts import core_of_last
from .session import Session

__all__ = [
    "Answer",
    "Decider",
    "Decides",
    "Lemma",
    "Limited",
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
