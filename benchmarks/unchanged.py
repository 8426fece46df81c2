"""What a second `tileverify check` of a tree costs: nothing changed, and one kernel changed.

    python -m benchmarks.unchanged [--kernels N] [--repeat N]

A tree of at least N kernels of the corpus whose launches are all proved or refuted, copied to a folder of its own, with
a cache of its own.  Each run is a process of its own, start-up and the printed report included, by the clock.
"""

from __future__ import annotations

import argparse
import collections
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tileverify.corpus import ROOT, corpus_launches
from tileverify.corpus.labels import Labelled
from tileverify.pipeline.unit_summary import solver_version
from tileverify.results import Verdict


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=100, help="at least so many (default 100)")
    parser.add_argument("--repeat", type=int, default=5, help="runs over the unchanged tree (default 5)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        tree, cache = Path(folder, "tree"), Path(folder, "cache")
        copied = _plant(tree, options.kernels)
        first = _seconds(tree, cache)
        again = [_seconds(tree, cache) for _ in range(options.repeat)]
        changed = tree / "showcase" / "vector_add.py"
        changed.write_text(changed.read_text(encoding="utf-8").replace("+", "-"), encoding="utf-8")
        one = _seconds(tree, cache)
    print(f"{copied} kernels; Python {platform.python_version()}, {solver_version()}, {platform.machine()}")
    print(f"first check             {first:6.2f} s")
    median = statistics.median(again)
    print(f"nothing changed         {median:6.2f} s  median of {len(again)}, {max(again):.2f} at most")
    print(f"one kernel changed      {one:6.2f} s")
    return 0


def _plant(tree: Path, least: int) -> int:
    """Copy decided files into ``tree`` until it has ``least`` kernels, the one that will change among them."""
    by_file: dict[Path, list[Labelled]] = collections.defaultdict(list)
    for label in corpus_launches():
        by_file[label.file].append(label)
    copied = 0
    for file in sorted(by_file, key=lambda file: (file.name != "vector_add.py", file)):
        labels = by_file[file]
        if copied < least and all(label.verdict in (Verdict.PROVED, Verdict.REFUTED) for label in labels):
            target = tree / file.parent.relative_to(ROOT)
            target.mkdir(parents=True, exist_ok=True)
            for each in file.parent.glob(f"{file.name.split('.')[0]}.*"):
                shutil.copy(each, target)
            copied += len({label.kernel for label in labels})
    return copied


def _seconds(tree: Path, cache: Path) -> float:
    environment = {**os.environ, "TILEVERIFY_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "tileverify", "check", str(tree)]
    started = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode != 1:  # some of the kernels are refuted
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
