"""Import one user file without disturbing anything else.

The file runs once, under a module name of its own, with its folder on ``sys.path`` while it runs and with its
output sent to stderr.  Modules that it takes from its own folder are forgotten afterwards, so that two folders may
each have a ``utils.py``.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from ...errors import SourceError


def import_file(path: Path, *, package: bool = False) -> ModuleType:
    """The module of ``path``; ``package`` for a file whose relative imports need the packages it lies in.

    Raises :class:`SourceError` at the user's line for anything that goes wrong while the file runs.
    """
    path = path.resolve()
    name, root = _package_name(path) if package else (path.stem, path.parent)
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:12]
    parent, _, stem = name.rpartition(".")
    unique = f"{parent}." * bool(parent) + f"_tileverify_{stem}_{digest}"
    spec = importlib.util.spec_from_file_location(unique, path)
    if spec is None or spec.loader is None:
        raise SourceError("is not a Python source file", str(path))
    module = importlib.util.module_from_spec(spec)
    with _visible(root), contextlib.redirect_stdout(sys.stderr):
        sys.modules[unique] = module
        try:
            if parent:
                importlib.import_module(parent)
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            del sys.modules[unique]
            raise _source_error(path, error) from None
    return module


def _package_name(path: Path) -> tuple[str, Path]:
    """``pkg/sub/file.py`` -> ``("pkg.sub.file", folder of pkg)``, climbing while ``__init__.py`` is there."""
    parts, folder = [path.stem], path.parent
    while (folder / "__init__.py").is_file():
        parts.append(folder.name)
        folder = folder.parent
    return ".".join(reversed(parts)), folder


@contextlib.contextmanager
def _visible(folder: Path) -> Iterator[None]:
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if not _is_ours(name) and _lies_in(sys.modules[name], folder):
                del sys.modules[name]


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == __name__.partition(".")[0] or name.rpartition(".")[2].startswith("_tileverify_")


def _lies_in(module: ModuleType, folder: Path) -> bool:
    places = [getattr(module, "__file__", None) or "", *(getattr(module, "__path__", None) or ())]
    files = [Path(place) for place in places if place]
    return any(folder in file.parents and "site-packages" not in file.relative_to(folder).parts for file in files)


def _source_error(path: Path, error: BaseException) -> SourceError:
    if isinstance(error, SyntaxError) and error.filename:
        return SourceError(f"syntax error: {error.msg}", error.filename, error.lineno)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path]
    line = lines[-1] if lines else None
    if isinstance(error, SystemExit):
        return SourceError(f"the file ends the program when imported (exit status {error.code})", str(path), line)
    if isinstance(error, ModuleNotFoundError) and error.name:
        missing = error.name.partition(".")[0]
        return SourceError(f"importing it needs the module '{missing}', which is not installed here", str(path), line)
    summary = " ".join(str(error).split()) or "no message"
    return SourceError(f"importing it failed: {type(error).__name__}: {summary}", str(path), line)
