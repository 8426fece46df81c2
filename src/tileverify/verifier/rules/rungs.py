"""By which theory a solver found that conditions contradict each other, as reports and certificates name it."""

from __future__ import annotations

from typing import Final

LINEAR: Final = "linear integers"
"""Products, quotients and operations on bits are congruent functions, known by lemmas alone."""

NONLINEAR: Final = "non-linear integers"
"""Products and quotients are the solver's own."""

BIT_VECTORS: Final = "bit-vectors"
"""All is computed on words so wide that nothing in the question overflows; see `bit_vectors`."""

THEORIES: Final = (LINEAR, BIT_VECTORS, NONLINEAR)
