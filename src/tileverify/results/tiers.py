"""By which theory it was found that conditions contradict each other, as reports and certificates name it."""

from __future__ import annotations

import enum
from typing import Final


class Tier(enum.StrEnum):
    """From the cheapest to the dearest; a question is decided by the first that can."""

    STRUCTURAL = "structural"  # equations and bounds, without a solver
    AS_WRITTEN = "as written"  # a condition is a fact, or what a fact excludes
    EXAMPLE = "example"  # numbers of an earlier answer satisfy it
    LINEAR = "linear integers"  # products, quotients, operations on bits: congruent functions, known by lemmas alone
    BIT_VECTORS = "bit-vectors"  # all on words so wide that nothing in the question overflows
    NONLINEAR = "non-linear integers"  # products and quotients are the solver's own


THEORIES: Final = (Tier.LINEAR, Tier.BIT_VECTORS, Tier.NONLINEAR)
"""Those by which a solver proves."""
