"""What works on this machine, and what is missing for the rest."""

from .diagnosis import Diagnosis, HealthState
from .looks import examine

__all__ = ["Diagnosis", "HealthState", "examine"]
