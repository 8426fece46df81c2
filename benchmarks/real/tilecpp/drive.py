"""Call TileGym's operations so that their kernels of CUDA Tile C++ are launched.

    TILECPP_NVCC_PATH=... tileverify record --no-gpu -- python drive.py

``benchmarks/real/driving.py`` says what it takes and prints.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3]))

import cases
from benchmarks.real.driving import drive


def main(arguments: list[str]) -> int:
    cases.search_few_configurations(2)
    return drive(cases, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
