"""Call liger-kernel's operations so that their kernels are launched: those of cuTile, or of Triton.

    tileverify record --no-gpu -o DIR -- PYTHON benchmarks/real/liger/drive.py [--calls N] [PART ...]
    tileverify record --no-gpu --append --capability 9.0 -o DIR -- PYTHON benchmarks/real/liger/drive.py hopper
    LIGER_KERNEL_IMPL= tileverify record --no-gpu -o DIR -- PYTHON benchmarks/real/liger/drive.py [--calls N] [PART ...]

``hopper`` is driven only by name: its operation refuses every other GPU.  An empty ``LIGER_KERNEL_IMPL`` means Triton.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3]))
os.environ.setdefault("LIGER_KERNEL_IMPL", "cutile")

import cases
from benchmarks.real.driving import drive

if __name__ == "__main__":
    sys.exit(drive(cases, sys.argv[1:], cases.CUTILE if os.environ["LIGER_KERNEL_IMPL"] else cases.TRITON))
