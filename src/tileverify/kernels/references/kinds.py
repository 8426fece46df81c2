"""Arrays that references take and give."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.generic]
"""Of any elements, which a reference converts or moves."""

Floats: TypeAlias = NDArray[np.float64]
"""What references compute in."""

Reals: TypeAlias = NDArray[np.floating[Any]]
Integers: TypeAlias = NDArray[np.integer[Any]]
"""Of any width."""
