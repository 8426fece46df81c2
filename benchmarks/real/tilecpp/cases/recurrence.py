"""Delta rules."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from tilegym.ops.tilecpp.chunk_gated_delta_rule import chunk_gated_delta_rule
from tilegym.ops.tilecpp.recurrent_gated_delta_rule import recurrent_gated_delta_rule

from . import Call, case, normal

FLOAT = torch.float32


@case
def delta_rules() -> Iterator[Call]:
    for batch, tokens, heads, value_heads, dim, value_dim in (
        (2, 256, 4, 8, 128, 128),
        (1, 100, 2, 2, 64, 128),
        (2, 256, 4, 4, 64, 64),
        (4, 1, 8, 16, 128, 128),
    ):
        query, key = normal(batch, tokens, heads, dim), normal(batch, tokens, heads, dim)
        value = normal(batch, tokens, value_heads, value_dim)
        gate = -torch.rand(batch, tokens, value_heads, device="cuda")
        beta = torch.rand(batch, tokens, value_heads, device="cuda")
        state = normal(batch, value_heads, dim, value_dim, dtype=FLOAT)
        for initial in (None, state):
            options = {"initial_state": initial, "output_final_state": initial is not None}
            for normalised in (True, False):
                options["use_qk_l2norm_in_kernel"] = normalised
                yield partial(recurrent_gated_delta_rule, query, key, value, gate, beta, **options)
                if heads == value_heads:
                    yield partial(chunk_gated_delta_rule, query, key, value, gate, beta, **options)
