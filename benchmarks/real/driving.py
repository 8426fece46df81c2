"""The loop of every ``drive.py``: call a library's operations so that their kernels are launched.

    tileverify record --no-gpu -o RECORDING -- PYTHON drive.py [--calls N] [PART ...]

Parts are the modules of ``cases`` beside ``drive.py``, by default all; ``--calls N`` makes the first N calls of each
case only.  Prints a line to standard error for each call that failed and ends with exit code 1 if there was one.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import os
import pkgutil
import sys
import time
import traceback
from types import ModuleType

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from .calls import CASES


def drive(cases: ModuleType, arguments: list[str], parts: tuple[str, ...] = ()) -> int:
    """Make the calls of ``cases``, a package; ``parts``: those that are driven if none is named, by default all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int)
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args(arguments)
    torch.manual_seed(0)
    failed = calls = 0
    for part in options.parts or parts or sorted(module.name for module in pkgutil.iter_modules(cases.__path__)):
        importlib.import_module(f"{cases.__name__}.{part}")
        for name, generate in [item for item in CASES.items() if item[0].startswith(f"{part}.")]:
            start = time.monotonic()
            generated = itertools.islice(generate(), options.calls)
            while True:
                try:
                    call = next(generated)
                    calls += 1
                    call()
                except StopIteration:
                    break
                except Exception as error:
                    failed += 1
                    print(f"{name}: {_told(error)}", file=sys.stderr)
            print(f"{name}: {time.monotonic() - start:.1f} s", file=sys.stderr)
    print(f"{calls} calls, {failed} failed", file=sys.stderr)
    return 1 if failed else 0


def _told(error: Exception) -> str:
    where = traceback.extract_tb(error.__traceback__)[-1]
    reason = " | ".join(str(error).splitlines()[:4])
    return f"{type(error).__name__}: {reason} ({where.filename}:{where.lineno})"
