"""Launches of real Triton kernels, enumerated: does any access leave its array, or meet that of another program?

    PYTHON -m campaigns.enumeration.campaign -o LINES [--launches 3] [--seconds 20] DRIVER [ARGUMENT ...]
    python -m campaigns.enumeration.comparison LINES ... --verdicts REPORT ...

``DRIVER`` is a program that launches kernels, such as the ``drive.py`` of `benchmarks/real`; ``PYTHON`` has triton,
torch and the library.  No GPU is needed: Triton's own interpreter runs each launch, and every access of every program
is observed.  ``LINES`` gets a line of JSON for each launch.  Nothing of tileverify is used, or even imported.

A launch is `wrong` if a lane leaves all arrays of the launch, if a program writes a byte that another one accesses, not
both by atomics, or if two lanes of one store write the same byte.  It is `synchronised`, and not judged, if an atomic's
result is used or an atomic is one of those that order accesses: then the order of programs may decide what they touch.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True, help="append a line of JSON for each launch")
    parser.add_argument("--launches", type=int, default=3, help="launches of each kernel (%(default)s)")
    parser.add_argument("--seconds", type=float, default=20, help="processor time for one launch (%(default)s)")
    parser.add_argument("--megabytes", type=int, default=64, help="arrays of one launch together (%(default)s)")
    parser.add_argument("--package", default="", help="count kernels under this name (default: their own package's)")
    parser.add_argument("driver", type=Path)
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="arguments of the driver")
    options = parser.parse_args(arguments)
    if not options.driver.is_file():
        parser.error(f"{options.driver} is no file: name a program that launches kernels")
    with options.output.open("a", encoding="utf-8") as out:
        return enumerate_launches(options, out)


def enumerate_launches(options: argparse.Namespace, out: TextIO) -> int:
    from . import imitation, launches  # torch and triton, which the comparison need not have

    counted: collections.Counter[str] = collections.Counter()

    def report(launch: launches.Launch) -> None:
        counted[launch.outcome] += 1
        print(json.dumps(dataclasses.asdict(launch)), file=out, flush=True)
        if launch.outcome == "wrong":
            print(f"wrong: {launch.kernel} {launch.grid}: {launch.faults[0]} {launch.lines[0]}", file=sys.stderr)

    imitation.install()
    enumeration = launches.Enumeration(
        report,
        seconds=options.seconds,
        most_bytes=options.megabytes << 20,
        launches=options.launches,
        package=options.package,
    )
    enumeration.install()
    sys.argv = [str(options.driver), *options.rest]
    sys.path.insert(0, str(options.driver.resolve().parent))
    try:
        runpy.run_path(str(options.driver), run_name="__main__")
    except SystemExit as end:
        if end.code not in (None, 0):
            print(f"the driver ended with {end.code}", file=sys.stderr)
    for outcome, count in sorted(counted.items()):
        print(f"{outcome}: {count} launches")
    print(f"not run, because their kernel had run {options.launches} times: {enumeration.skipped} launches")
    return 0


if __name__ == "__main__":
    sys.exit(main())
