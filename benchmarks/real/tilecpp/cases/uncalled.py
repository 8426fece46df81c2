"""Launch functions that no operation calls."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from tilegym.ops.tilecpp.rms_norm import _launch_rms_norm_kernel_pv

from . import Call, case, normal


@case
def rms_normalisation_by_views() -> Iterator[Call]:
    for rows, columns in ((37, 1024), (2048, 256)):  # rows are whole tiles
        x, weight, rstd = normal(rows, columns), normal(columns), torch.empty(rows, device="cuda")
        yield partial(_launch_rms_norm_kernel_pv, x, weight, torch.empty_like(x), rstd, rows, columns, 1e-6, columns)
