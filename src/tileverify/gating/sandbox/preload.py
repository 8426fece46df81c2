"""Loads everything that a job may need, because a confined child finds no files: modules, tables, lazy imports.

Judging one small kernel from source to bundle runs through every module on the way; what only errors and rarer paths
load is imported by name.
"""

from __future__ import annotations

import importlib
import linecache
import pkgutil
import sys
from pathlib import Path
from typing import Final

from ...equality import formulas
from ...system.printable import source_lines
from ..jobs.compile_job import compiled_items, items_bytes
from ..jobs.job_messages import SubmissionRequest
from ..jobs.prove_job import prove_submission

_PACKAGES: Final = (
    "contract", "results", "frontend", "verifier", "backend", "launching.bundle", "launching.run", "gating.jobs",
    "gating.screen", "gating.plain_values", "pipeline.repair",
)  # fmt: skip
"""Packages with all that is in them, and modules."""
_LEFT_OUT: Final = ("second_solver", "tileverify.backend.gpu")
"""What needs an extra or a GPU; nothing of it has a part in a verdict."""
_LIBRARY: Final = (
    "ast", "bisect", "contextlib", "copy", "dataclasses", "difflib", "encodings.ascii", "encodings.idna",
    "encodings.latin_1", "encodings.unicode_escape", "encodings.utf_8", "enum", "fractions", "functools", "inspect",
    "itertools", "json", "linecache", "math", "numbers", "operator", "string", "textwrap", "tokenize", "tomllib",
    "traceback", "typing", "unicodedata", "warnings", "numpy", "numpy.ma", "numpy.random", "numpy.lib.format", "z3",
    "cuda.tile", "cuda.tile.compilation",
)  # fmt: skip

_RIGHT: Final = b"""import cuda.tile as ct
ConstInt = ct.Constant[int]

@ct.kernel
def warm(x, out, tm: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(tm,)) * 2)
"""
_WRONG: Final = b"""import cuda.tile as ct

@ct.kernel
def warm():
    ct.load(ct.bid(0), index=(0,), shape=(1,))
"""
"""Without parameters nothing is guessed: one compilation, where others are tried dozens of times."""


def preload() -> None:
    """Raises ImportError where a library is missing."""
    for module in _LIBRARY:
        importlib.import_module(module)
    root = __name__.split(".")[0]
    importlib.import_module(f"{root}.api")  # for the decorator
    for package in _PACKAGES:
        found = importlib.import_module(f"{root}.{package}")
        for info in pkgutil.walk_packages(getattr(found, "__path__", ()), f"{found.__name__}."):
            if not any(part in info.name for part in _LEFT_OUT):
                importlib.import_module(info.name)
    _rehearse()
    formulas.log(formulas.exp2(formulas.HALF))  # tables, of which one is a file
    _keep_sources("cuda.")


def _keep_sources(prefix: str) -> None:
    """The lines of modules that cuda.tile compiles from source: parts of its library are kernels' helpers."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.startswith(prefix) and file is not None and file.endswith(".py"):
            text = Path(file).read_text(encoding="utf-8")
            # Without a time of change an entry is never compared with the file.
            linecache.cache[file] = (len(text), None, source_lines(text), file)


def _rehearse() -> None:
    """One kernel that is right and one with an error, in this process: they are our own."""
    request = SubmissionRequest(file="warm.py", bundles=True, complete=True)
    for source in (_RIGHT, _WRONG):
        prove_submission(request, items_bytes(compiled_items(request, source)), lambda data: None)
