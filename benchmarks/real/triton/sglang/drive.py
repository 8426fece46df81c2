"""Call functions of sglang that launch Triton kernels, without what else sglang needs.

    tileverify record --no-gpu --capability 9.0 -o DIR -- PYTHON benchmarks/real/triton/sglang/drive.py [PART ...]

``SGLANG`` names the folder into which the wheel was unpacked (``unzip sglang-*.whl -d DIR``).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[4]))

import stand_ins

stand_ins.install(Path(os.environ["SGLANG"]))

import cases  # noqa: E402
from benchmarks.real.driving import drive  # noqa: E402

if __name__ == "__main__":
    sys.exit(drive(cases, sys.argv[1:]))
