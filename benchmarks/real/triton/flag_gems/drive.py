"""Call flag-gems' operations so that their Triton kernels are launched.

GEMS_VENDOR=nvidia tileverify record --no-gpu -o DIR -- PYTHON benchmarks/real/triton/flag_gems/drive.py [PART ...]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[4]))
os.environ.setdefault("GEMS_VENDOR", "nvidia")

import cases
from benchmarks.real.driving import drive

if __name__ == "__main__":
    sys.exit(drive(cases, sys.argv[1:]))
