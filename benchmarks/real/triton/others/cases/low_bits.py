"""gemlite: products with packed weights of few bits, and what packs and scales."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import torch
from benchmarks.real.calls import Call, case, integers, normal
from gemlite import bitpack, quant_utils
from gemlite.core import GemLiteLinearTriton
from gemlite.dtypes import DType

KINDS = ("GEMM", "GEMM_SPLITK", "GEMV", "GEMV_REVSPLITK", "GEMV_SPLITK")


@case
def linear() -> Iterator[Call]:
    for (outputs, inputs), bits in product(((128, 256), (256, 512)), (8, 4, 2)):
        for group in (inputs, 64):
            layer = GemLiteLinearTriton(
                W_nbits=bits, group_size=group, in_features=inputs, out_features=outputs,
                input_dtype=DType.FP16, output_dtype=DType.FP16,
            )  # fmt: skip
            groups = outputs * inputs // group
            weights = integers(0, 2**bits, outputs, inputs, dtype=torch.uint8)
            scales, zeros = (normal(groups, 1, dtype=torch.float16) for _ in range(2))
            yield partial(layer.pack, weights, scales, zeros, bias=None)
            for rows, kind in product((1, 5, 33), KINDS):
                if rows == 1 or kind.startswith("GEMM"):
                    yield partial(layer.forward_manual, normal(rows, inputs, dtype=torch.float16), kind)


@case
def packing() -> Iterator[Call]:
    for (rows, columns), bits in product(((64, 128), (96, 80)), (8, 4, 2, 1)):
        weights = integers(0, 2**bits, rows, columns, dtype=torch.uint8)
        for word in (torch.int32, torch.uint8):
            width = 32 if word is torch.int32 else 8
            yield partial(bitpack.pack_weights_over_cols_triton, weights, bits, width, False)
            yield partial(bitpack.pack_weights_over_rows_triton, weights, bits, width, True)
        packed, _ = bitpack.pack_weights_over_cols_torch(weights, bits, 32, False)
        yield partial(bitpack.unpack_over_cols_triton, packed, bits, columns, torch.uint8)
        packed, _ = bitpack.pack_weights_over_rows_torch(weights, bits, 32, False)
        yield partial(bitpack.unpack_over_rows_triton, packed, bits, rows, torch.uint8)


@case
def scaling() -> Iterator[Call]:
    for rows, columns in ((1, 64), (5, 256), (33, 1024), (130, 96)):
        x = normal(rows, columns)
        for version, dtype in product((1, 2, 3, 4), (torch.int8, torch.float8_e4m3fn)):
            scale = getattr(quant_utils, f"scale_activations_per_token_triton_v{version}")
            yield partial(scale, x, dtype)
        for version in (1, 2, 3, 4):
            yield partial(getattr(quant_utils, f"scale_activations_mxfp8_triton_v{version}"), x, torch.float8_e4m3fn)
        for kind, version in product(("mxfp4", "nvfp4"), ("", "_v2", "_v3", "_v5")):
            yield partial(getattr(quant_utils, f"scale_activations_{kind}_triton{version}"), x)
        for version in (1, 2):
            scale = getattr(quant_utils, f"scale_activations_per_block_triton_v{version}")
            yield partial(scale, x, torch.float8_e4m3fn)
