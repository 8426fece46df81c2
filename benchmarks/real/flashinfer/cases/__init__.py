"""Calls of flashinfer's cuTile operations; each launches some kernels.

Called are the host functions beside the kernels, which flashinfer's public operations choose by backend and device.
"""

from __future__ import annotations

import torch

DATACENTER = ("attention", "distributed", "products", "quantisation")
"""Parts for compute capability 10.0; the others are for 12.0, one of them also for 9.0."""

FLOAT = torch.float32
FP8 = torch.float8_e4m3fn


def lengths(*values: int) -> torch.Tensor:
    return torch.tensor(values, device="cuda", dtype=torch.int32)


def offsets(sizes: torch.Tensor) -> torch.Tensor:
    """Where ragged segments of these sizes begin, and the end of the last."""
    return torch.cat((lengths(0), sizes.cumsum(0))).to(torch.int32)
