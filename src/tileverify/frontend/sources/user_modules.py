"""How the modules of a user are loaded: from the text as it stands, which is read once.

Python would take compiled code from ``__pycache__`` where size and time of change are those of the source, and
whoever asks for the source of a function later (cuda.tile, for every kernel) would get the file of that moment.  Here
what runs, what is compiled and what `readings` tells are the same bytes.
"""

from __future__ import annotations

import contextlib
import linecache
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import decode_source
from pathlib import Path
from types import CodeType, ModuleType

from ...system import readings
from ...system.module_folders import is_installed
from ...system.source_lines import source_lines


class TextLoader(SourceFileLoader):
    """Runs the bytes that it reads, never what was compiled before."""

    def get_code(self, fullname: str) -> CodeType:
        path = Path(self.get_filename(fullname))
        data = readings.read(path)
        readings.ran(path)
        text = decode_source(data)
        # Without a time of change an entry is never compared with the file, nor read again.
        linecache.cache[str(path)] = (len(data), None, source_lines(text), str(path))
        code: CodeType = self.source_to_code(data, str(path))
        return code


class _UserModules(MetaPathFinder):
    """Finds what `PathFinder` finds, and loads the sources among it that are not installed with `TextLoader`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or is_installed(spec.origin):
            return None
        if type(spec.loader) is SourceFileLoader:
            spec.loader = TextLoader(spec.name, spec.origin)
            return spec
        readings.ran(Path(spec.origin))  # machine code, or compiled code without a source
        return None


@contextlib.contextmanager
def read_as_text() -> Iterator[None]:
    """Inside the block, modules of the user are loaded by `TextLoader`."""
    finder = _UserModules()
    sys.meta_path.insert(sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else 0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
