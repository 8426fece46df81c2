"""Random Triton kernels: does the translation leave memory as Triton's own interpreter does?

    python -m campaigns.triton.campaign [--count 1000] [--first 0] [--keep DIR]

Each kernel is compiled to Triton IR, translated into Tile IR, encoded, decoded and run by the interpreter of this tool;
beside it Triton's interpreter runs the source.  The same seed gives the same kernel.  It needs triton and torch.
"""

from __future__ import annotations

import argparse
import ast
import collections
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.frontend.triton.launches import TritonLaunch, integers
from tests.frontend.triton.stored import differences, executed
from tests.frontend.triton.update import interpreted, stored

from tileverify.backend.interpreter import InterpreterStop
from tileverify.frontend.triton.translated import Untranslated
from tileverify.system.errors import TileVerifyError

from .drawing import ARRAYS, FLOATS, HEAD, LANES, SHORT, SIZE, drawn_kernel

BATCH: Final = 100
"""Kernels of one file, which each of the two processes reads once."""
PROGRAMS: Final = 3


@dataclass(frozen=True, slots=True)
class Tried:
    """``outcome`` is `same`, `differs`, `crashed`, or who could not run the kernel; ``words`` say more."""

    seed: int
    outcome: str
    words: str = ""

    @property
    def wrong(self) -> bool:
        return self.outcome in ("differs", "crashed")


def launch_of(seed: int, file: Path) -> TritonLaunch:
    source = random.Random(seed)
    arrays: dict[str, tuple[str, Sequence[int | float]]] = {}
    for name, type in ARRAYS.items():
        short = SHORT[type]
        drawn = [source.randint(-64, 64) / 8 for _ in range(SIZE)]
        arrays[name] = (short, drawn if type in FLOATS else integers(short, seed, SIZE))
    arrays["o"] = ("i64", [0] * (PROGRAMS * LANES))
    scalars = {
        "n": ("i32", source.choice((-3, 0, 1, 2, 5, 2**31 - 20))),
        "m": ("i64", source.choice((-1, 4, 2**40 + 3))),
    }
    grid = (source.randint(1, PROGRAMS), 1, 1)
    return TritonLaunch(f"k{seed}", str(file), f"k{seed}", arrays, {}, scalars, grid)


def tried_batch(seeds: Sequence[int]) -> Iterator[Tried]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"drawn_{seeds[0]}.py"
        text = "\n\n".join([HEAD, *(drawn_kernel(f"k{seed}", seed) for seed in seeds)])
        ast.parse(text)  # else Triton would run none of them
        file.write_text(text, encoding="utf-8")
        launches = [launch_of(seed, file) for seed in seeds]
        after = interpreted(launches)
        for seed, launch in zip(seeds, launches, strict=True):
            left = after[launch.name]
            yield Tried(seed, "Triton's interpreter", left) if isinstance(left, str) else tried(seed, launch, left)


def tried(seed: int, launch: TritonLaunch, after: dict[str, list[int]]) -> Tried:
    """One kernel, whose arrays Triton's interpreter left as ``after``."""
    try:
        made = stored(launch, after)
    except TileVerifyError as error:
        return Tried(seed, "Triton's compiler", str(error))
    try:
        wrong = differences(made, executed(made))
    except Untranslated as error:
        return Tried(seed, "no translation", str(error))
    except InterpreterStop as error:
        return Tried(seed, "crashed", f"{type(error).__name__}: {error}")
    except Exception as error:  # whatever else the translation raises is a bug of it
        return Tried(seed, "crashed", f"{type(error).__name__}: {error}")
    return Tried(seed, "differs" if wrong else "same", "; ".join(wrong))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="how many kernels (%(default)s)")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first (%(default)s)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write kernels that differ there")
    parser.add_argument("--refused", action="store_true", help="print kernels that somebody could not run, too")
    options = parser.parse_args(arguments)
    counted: collections.Counter[str] = collections.Counter()
    failed = False
    for first in range(options.first, options.first + options.count, BATCH):
        for each in tried_batch(range(first, min(first + BATCH, options.first + options.count))):
            counted[each.outcome] += 1
            failed |= each.wrong
            if each.wrong or (options.refused and each.outcome != "same"):
                print(f"{'WRONG ' if each.wrong else ''}#{each.seed} {each.outcome}: {each.words}", flush=True)
            if each.wrong and options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                text = f"{HEAD}\n\n{drawn_kernel(f'k{each.seed}', each.seed)}"
                (options.keep / f"k{each.seed}.py").write_text(text, encoding="utf-8")
    print(", ".join(f"{outcome}: {count}" for outcome, count in sorted(counted.items())))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
