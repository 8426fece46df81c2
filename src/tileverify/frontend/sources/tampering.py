"""Whether a file that was run has changed the compiler, or Python itself, for those that are run after it.

All files of a check are imported into one process.  One that assigns to ``cuda.tile.cdiv`` decides what the others
compile to, which a process that does not run it first would not say.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from .settled_names import STANDARD

_before: dict[tuple[str, str], object] = {}


def remember() -> None:
    """Note the functions, classes and switches of the compiler and the library as they are, before a file is run."""
    if not _before:
        _before.update(_parts())


def is_untouched() -> bool:
    """Whether all that was noted is still there; what was added since does not count."""
    now = dict(_parts())
    return all(now.get(key) is value for key, value in _before.items())


def _parts() -> Iterator[tuple[tuple[str, str], object]]:
    for module, loaded in list(sys.modules.items()):
        if module == "builtins" or module == "cuda.tile" or module.startswith("cuda.tile.") or module in STANDARD:
            for name, value in list(vars(loaded).items()):
                if callable(value) or isinstance(value, bool):
                    yield (module, name), value
