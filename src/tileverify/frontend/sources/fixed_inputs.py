"""What a source compiles to, and under which specs, as far as files on disk decide it.

A Python file is run to find its kernels, so it may depend on anything.  It is *fixed* if its text decides what running
it makes (`settled`), and if it imports only modules that are known by the version of their package, or files beside it
that are fixed as well.  Whoever is not sure says no.
"""

from __future__ import annotations

import ast
import importlib.machinery
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...contract.spec_files import spec_path
from ...system.readings import read
from .bytecode_file import is_bytecode
from .import_purity import QUIET, STANDARD, Import, Unsettled, imports_of, is_settled


@dataclass(frozen=True, slots=True)
class FixedInputs:
    """``files``: all that the kernels of a source and their launch specs depend on.  Files that are not there are among
    them: one that comes to be may take another's place.  ``sources``: those of them that are run.  ``modules``: top
    names that are looked for elsewhere, and ``folder`` where all imports look first (``None``: nothing is imported).
    ``translated``: by nvcc, from headers that `tile_cpp.translation` knows.
    """

    files: tuple[Path, ...]
    sources: tuple[Path, ...] = ()
    modules: tuple[str, ...] = ()
    folder: Path | None = None
    translated: bool = False


def fixed_inputs(path: Path) -> FixedInputs | None:
    """What the kernels of ``path`` and their launch specs depend on; ``None`` where that cannot be told."""
    specs = (spec_path(path), *_projects(path))
    if path.suffix == ".py":
        # Links are followed before a file is run, so what it imports lies beside the file itself.
        found = _Sources(path.resolve().parent)
        if not found.collect(path, whole=False):
            return None
        return FixedInputs((*found.files, *specs), tuple(found.run), tuple(found.elsewhere), found.folder)
    if path.suffix == ".cu":
        return FixedInputs((path, *specs), translated=True)
    if not is_bytecode(path):
        return None
    return FixedInputs((path, *specs))


def _projects(path: Path) -> Iterator[Path]:
    """Where a ``pyproject.toml`` is looked for, up to the first that is there."""
    folder = path.resolve().parent
    for place in (folder, *folder.parents):
        yield place / "pyproject.toml"
        if (place / "pyproject.toml").is_file():
            return


@dataclass
class _Sources:
    """A file and what it imports from ``folder``; ``elsewhere``: the top names of all other modules."""

    folder: Path
    files: dict[Path, None] = field(default_factory=dict)
    run: dict[Path, None] = field(default_factory=dict)
    elsewhere: dict[str, None] = field(default_factory=dict)

    def collect(self, path: Path, *, whole: bool) -> bool:
        """Add ``path`` and what it imports; whether all of that is fixed."""
        if path in self.run:
            return True
        self.files[path] = self.run[path] = None
        try:
            tree = ast.parse(read(path))
            local = {each.module for each in imports_of(tree) if self._is_beside(each)}
            fixed = all(self._is_fixed(each) for each in imports_of(tree) if each.runs)
            return fixed and is_settled(tree, frozenset(local), whole=whole)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError, Unsettled):
            return False

    def _is_beside(self, imported: Import) -> bool:
        return bool(imported.module) and (self.folder / f"{imported.top}.py").exists()

    def _is_fixed(self, imported: Import) -> bool:
        if not imported.top:
            return False  # relative
        beside, package = self.folder / f"{imported.top}.py", self.folder / imported.top / "__init__.py"
        self.files.setdefault(package, None)
        found = importable(self.folder, imported.top)
        if found:
            # Packages run one another's modules, and compiled modules have no text.
            return found == (beside.name,) and imported.module == imported.top and self.collect(beside, whole=True)
        self.files.setdefault(beside, None)
        self.elsewhere[imported.top] = None
        if imported.top == "cuda":
            return _is_cuda_tile(imported)
        known = imported.top in STANDARD or imported.top == "tileverify"
        return known or (imported.top in QUIET and not imported.guarded)


def _is_cuda_tile(imported: Import) -> bool:
    """``cuda`` is a folder that many packages, and the user, may put modules into."""
    if imported.module == "cuda":
        return all(stands_for == "cuda.tile" for _, stands_for in imported.bound)
    return imported.module == "cuda.tile" or imported.module.startswith("cuda.tile.")


def importable(folder: Path, top: str) -> tuple[str, ...]:
    """What lies in a folder that ``import top`` may take."""
    try:
        names = os.listdir(folder)
    except OSError:
        return ()
    return importable_of(names, top)


def importable_of(names: list[str], top: str) -> tuple[str, ...]:
    """The same of the names in a folder."""
    wanted = {top, *(top + suffix for suffix in importlib.machinery.all_suffixes())}
    return tuple(sorted(wanted.intersection(names)))
