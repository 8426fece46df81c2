"""How often the machine code of a proved kernel gives another result than its proof allows.

    python -m benchmarks.gpu.repeated FOLDER KEY.pub [--times 1000]

``FOLDER`` comes from `corpus_prepare --only REGEX` (the protocols between blocks, say).  Each kernel is launched again
and again from the same memory; results are compared as in `corpus`.  With a sound proof and a right assembler the
second column is 0.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

from tileverify.launching.bundled import load

from .corpus import DeviceMemory, differences
from .stored import StoredLaunch


def wrong_results(bundle_file: Path, launch: StoredLaunch, key: Path, times: int) -> tuple[int, str]:
    """How many launches differ from the interpreter, and in what the first of them does."""
    kernel = load(bundle_file, keys=[key], only_signed=True)
    wrong, first = 0, ""
    for _ in range(times):
        memory = DeviceMemory(launch)
        arguments = [memory.argument(each) for each in kernel.bundle.certificate.launch.arguments]
        kernel.launch(torch.cuda.current_stream(), launch.grid, arguments)
        torch.cuda.synchronize()
        told = differences(launch, memory.contents())
        wrong += bool(told)
        first = first or "; ".join(told)
    return wrong, first


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--only", default="", help="launches whose label contains this")
    options = parser.parse_args()
    any_wrong = False
    for bundle_file in sorted(options.folder.glob("*.tvk")):
        launch = StoredLaunch.load(bundle_file.with_suffix(".npz"))
        if options.only not in str(launch.about["label"]):
            continue
        wrong, first = wrong_results(bundle_file, launch, options.key, options.times)
        any_wrong |= bool(wrong)
        print(f"{wrong:6} of {options.times} wrong  {launch.about['label']}  {first}", flush=True)
    return 1 if any_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
