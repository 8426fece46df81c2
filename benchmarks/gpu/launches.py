"""The launches that the measured kernels are proved for: run under `tileverify record --no-gpu`."""

import cuda.tile as ct
import numpy as np
from kernels import add, matmul


def main() -> None:
    for dtype, tile in ((np.float32, 1024), (np.float32, 2048), (np.float16, 2048)):
        x, y, out = (np.zeros(1 << 16, dtype) for _ in range(3))
        ct.launch(None, (-(-x.size // tile),), add, (x, y, out, tile))
    a, b, c = np.zeros((1024, 512), np.float16), np.zeros((512, 1536), np.float16), np.zeros((1024, 1536), np.float16)
    ct.launch(None, (8 * 12,), matmul, (a, b, c, 128, 128, 64, 8))


if __name__ == "__main__":
    main()
