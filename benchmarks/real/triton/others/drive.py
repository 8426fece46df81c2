"""Call operations of adasplash, gemlite and torchao so that their Triton kernels are launched.

tileverify record --no-gpu --capability 9.0 -o DIR -- PYTHON benchmarks/real/triton/others/drive.py [PART ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[4]))

import cases
from benchmarks.real.driving import drive

if __name__ == "__main__":
    sys.exit(drive(cases, sys.argv[1:]))
