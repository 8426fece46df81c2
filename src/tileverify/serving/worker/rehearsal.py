"""Loads what a check may need, and tells what a check that starts anew would have loaded later."""

from __future__ import annotations

import importlib
import linecache
import pkgutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from ...pipeline import CheckOptions, check_paths, solver_version
from ...pipeline.verdict_cache import generation
from ...results import Verdict
from ...system import preloaded

_PACKAGES: Final = ("contract", "results", "frontend", "verifier", "backend", "reports", "pipeline", "commands")
_LEFT_OUT: Final = ("second_solver", "tileverify.backend.gpu", "__main__")
"""What needs an extra or a GPU."""

_KERNEL: Final = """import cuda.tile as ct

@ct.kernel
def right(x, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))

@ct.kernel
def wrong(x, out, TILE: ct.Constant[int]):
    ct.store(out, index=(ct.bid(0) // 2,), tile=ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
"""


def load_everything() -> frozenset[str]:
    """The names of modules that a new process would not have when the first file of a user is run.

    A right kernel and a wrong one are checked on the way, as they are in a new process.
    """
    before: set[str] = set()
    preloaded.call_first(lambda: before.update(sys.modules))
    with tempfile.TemporaryDirectory(prefix="tileverify-") as folder:
        file = Path(folder, "rehearsal.py")
        file.write_text(_KERNEL, encoding="utf-8")
        report = check_paths([str(file)], options=CheckOptions())
        for name in [name for name, each in sys.modules.items() if getattr(each, "__file__", None) == str(file)]:
            del sys.modules[name]
        linecache.cache.pop(str(file), None)
    assert {result.verdict for result in report.results} == {Verdict.PROVED, Verdict.REFUTED}, report
    root = __name__.split(".")[0]
    for package in _PACKAGES:
        found = importlib.import_module(f"{root}.{package}")
        for info in pkgutil.walk_packages(found.__path__, f"{found.__name__}."):
            if not any(part in info.name for part in _LEFT_OUT):
                try:
                    importlib.import_module(info.name)
                except ImportError:  # it needs an extra that is not installed
                    continue
    generation(solver_version())  # hashes the package; `stamps` notices what changes it
    later = set(sys.modules) - before
    return frozenset(name.partition(".")[0] for name in later if _is_told_apart(name, before))


def _is_told_apart(name: str, before: set[str]) -> bool:
    """Whether a folder that has a module of this name's first part could have had it imported instead."""
    top = name.partition(".")[0]
    return top not in before or getattr(sys.modules.get(top), "__file__", None) is None
