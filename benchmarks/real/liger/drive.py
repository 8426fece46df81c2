"""Call liger-kernel's cuTile operations so that their kernels are launched.

    tileverify record --no-gpu -o DIR -- PYTHON benchmarks/real/liger/drive.py [--calls N] [PART ...]
    tileverify record --no-gpu --append --capability 9.0 -o DIR -- PYTHON benchmarks/real/liger/drive.py hopper

``hopper`` is driven only by name: its operation refuses every other GPU.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3]))

import cases
from benchmarks.real.driving import drive

if __name__ == "__main__":
    sys.exit(drive(cases, sys.argv[1:], cases.BLACKWELL))
