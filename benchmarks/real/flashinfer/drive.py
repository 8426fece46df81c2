"""Call flashinfer's cuTile operations so that their kernels are launched.

    tileverify record --no-gpu -o DIR -- PYTHON benchmarks/real/flashinfer/drive.py [--calls N] [PART ...]
    tileverify record --no-gpu --append --capability 12.0 -o DIR -- PYTHON .../drive.py experts large
    tileverify record --no-gpu --append --capability 9.0 -o DIR -- PYTHON .../drive.py experts

The mixtures of experts are driven only by name: flashinfer launches them on GPUs of these capabilities alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3]))

import cases
from benchmarks.real.driving import drive

if __name__ == "__main__":
    sys.exit(drive(cases, sys.argv[1:], cases.DATACENTER))
