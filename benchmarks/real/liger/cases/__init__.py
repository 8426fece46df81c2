"""Calls of liger-kernel's operations, forward and backward; each launches some kernels.

Sizes lie at the borders of tiles: a power of two, one less and one more, a single column, more rows than a GPU has
multiprocessors.
"""

from __future__ import annotations

import torch

TRITON = ("activations", "attention", "losses", "norms", "only_triton", "positions")
CUTILE = ("activations", "attention", "dispatched", "losses", "norms", "positions")

FLOATS = (torch.bfloat16, torch.float16, torch.float32)
ROWS = ((1, 1), (3, 127), (4, 128), (37, 129), (149, 1000), (16, 4096), (5, 4100), (300, 2048), (4, 8192), (2, 40000))
"""Rows and columns."""
