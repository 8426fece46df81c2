"""A product of what several GPUs hold, as one of them launches it.

Memory that GPUs share stands in for itself: one process has all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from benchmarks.real.calls import Call, case, normal
from flashinfer.comm.all_gather_matmul import all_gather_matmul_cutile as module


class _Shared:
    """What ``rendezvous`` gives: one memory for the signals of each GPU."""

    def __init__(self, gpus: int, rank: int) -> None:
        self.world_size, self.rank = gpus, rank

    def get_signal_pad(self, rank: int, sizes: tuple[int, ...], dtype: torch.dtype, offset: int) -> torch.Tensor:
        return torch.zeros(sizes, device="cuda", dtype=dtype)


def _launch(gpus: int, rank: int, rows: int, columns: int, inner: int, dtype: torch.dtype) -> None:
    module.symm_mem = SimpleNamespace(
        get_backend=lambda device: "NVSHMEM", rendezvous=lambda tensor, name: _Shared(gpus, rank), empty=torch.empty
    )
    module.broadcast_input = lambda *arguments: None
    group: Any = SimpleNamespace(group_name="all")
    module.all_gather_matmul_cutile(normal(rows, inner, dtype=dtype), normal(inner, columns, dtype=dtype), group)


@case
def gathered_product() -> Iterator[Call]:
    for gpus, rank in ((1, 0), (2, 1), (4, 2)):
        for rows, columns, inner in ((128, 256, 128), (256, 512, 256), (4864, 256, 128)):
            for dtype in (torch.bfloat16, torch.float32):
                yield partial(_launch, gpus, rank, rows, columns, inner, dtype)
