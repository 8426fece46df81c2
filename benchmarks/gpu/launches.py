"""The launches that the measured kernels are proved for: run under `tileverify record --no-gpu`."""

import cuda.tile as ct
import numpy as np
from kernels.elementwise import add
from kernels.products import matmul

TILES = ((128, 128, 64, 1), (256, 128, 64, 1), (128, 256, 64, 2), (256, 256, 64, 2))
"""Tiles of products, and blocks of a cluster."""


def main() -> None:
    for dtype, tile in ((np.float32, 1024), (np.float32, 2048), (np.float16, 2048)):
        x, y, out = (np.zeros(1 << 16, dtype) for _ in range(3))
        ct.launch(None, (-(-x.size // tile),), add, (x, y, out, tile))
    for m, n, k, tiles in ((1024, 1536, 512, ((128, 128, 64, 1),)), (8192, 8192, 8192, TILES)):
        a, b, c = (np.zeros(shape, np.float16) for shape in ((m, k), (k, n), (m, n)))
        for tm, tn, tk, ctas in tiles:
            kernel = matmul.replace_hints(num_ctas=ctas)
            ct.launch(None, ((m // tm) * (n // tn),), kernel, (a, b, c, tm, tn, tk, 8))


if __name__ == "__main__":
    main()
