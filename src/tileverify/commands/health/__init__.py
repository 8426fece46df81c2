"""What works on this machine, and what is missing for the rest."""

from .looks import examine
from .model import Diagnosis, State

__all__ = ["Diagnosis", "State", "examine"]
