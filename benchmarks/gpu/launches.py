"""The launches that the measured kernels are proved for: run under `tileverify record --no-gpu`."""

import cuda.tile as ct
import numpy as np
from kernels import add, matmul


def main() -> None:
    for dtype, tile in ((np.float32, 1024), (np.float32, 2048), (np.float16, 2048)):
        x, y, out = (np.zeros(1 << 16, dtype) for _ in range(3))
        ct.launch(None, (-(-x.size // tile),), add, (x, y, out, tile))
    a, b, c = np.zeros((1024, 512), np.float16), np.zeros((512, 1536), np.float16), np.zeros((1024, 1536), np.float16)
    for tm, tn, tk in ((128, 128, 64), (128, 256, 64), (256, 128, 64)):
        ct.launch(None, ((1024 // tm) * (1536 // tn),), matmul, (a, b, c, tm, tn, tk, 8))
    ct.launch(None, (8 * 6,), matmul.replace_hints(num_ctas=2), (a, b, c, 128, 256, 64, 8))
    ct.launch(None, (4 * 6,), matmul.replace_hints(num_ctas=2), (a, b, c, 256, 256, 64, 8))


if __name__ == "__main__":
    main()
