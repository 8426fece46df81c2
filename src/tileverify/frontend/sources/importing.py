"""Import one user file without disturbing anything else.

The file runs once, under a module name of its own, with its folder on ``sys.path`` while it runs and with its
output sent to stderr.  Modules that it takes from its own folder are forgotten afterwards, so that two folders may
each have a ``utils.py``.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import importlib.util
import linecache
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import decode_source
from pathlib import Path
from types import CodeType, ModuleType
from typing import Final

from ...system import readings
from ...system.errors import SourceError
from ...system.own_files import INSTALLED, is_installed, look
from ...system.printable import source_lines
from ...system.readings import importing, read

_PREFIX = "_tileverify_"
_KEPT = frozenset({__name__.partition(".")[0]})


def import_file(path: Path, *, package: bool = False) -> ModuleType:
    """The module of ``path``; ``package`` for a file whose relative imports need the packages it lies in.

    Raises :class:`SourceError` at the user's line for anything that goes wrong while the file runs.
    """
    path = path.resolve()
    name, root = _package_name(path) if package else (path.stem, path.parent)
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:12]
    parent, _, stem = name.rpartition(".")
    unique = f"{parent}." * bool(parent) + f"{_PREFIX}{stem}_{digest}"
    spec = importlib.util.spec_from_file_location(unique, path, loader=TextLoader(unique, str(path)))
    if spec is None or spec.loader is None:
        raise SourceError("is not a Python source file", str(path))
    module = importlib.util.module_from_spec(spec)
    if parent:
        _forget(top for top in [parent.partition(".")[0]] if _home(top) != root)
    with visible(root, forget=not parent), importing(path), contextlib.redirect_stdout(sys.stderr):
        sys.modules[unique] = module
        try:
            if parent:
                importlib.import_module(parent)
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            sys.modules.pop(unique, None)
            raise _source_error(path, error) from None
    return module


def import_text(text: str, path: Path) -> ModuleType:
    """The module of a source that is no file: ``path`` is its name, in tracebacks and for `inspect`.

    Nothing is read, so that this works where there are no files.  Raises as :func:`import_file` does.
    """
    name = f"{_PREFIX}{path.stem}_{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:12]}"
    module = ModuleType(name)
    module.__file__ = str(path)
    # Without a time of change an entry is never compared with a file.
    linecache.cache[str(path)] = (len(text), None, source_lines(text), str(path))
    sys.modules[name] = module
    try:
        with contextlib.redirect_stdout(sys.stderr):
            exec(compile(text, str(path), "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
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
def visible(folder: Path, *, forget: bool = True) -> Iterator[None]:
    """``folder`` on ``sys.path``; afterwards the modules that came from it are forgotten."""
    look(folder)
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        with read_as_text():
            yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))
        if forget and folder.name not in INSTALLED:
            fresh = set(sys.modules) - before
            tops = {name.partition(".")[0] for name in fresh} - _KEPT
            _forget(top for top in tops if not top.startswith(_PREFIX) and _home(top) == folder)
            for name in fresh & set(sys.modules):
                if _is_part(name, folder):
                    del sys.modules[name]


def _home(top: str) -> Path | None:
    """The folder that a top-level module or package stands in, if it is loaded and came from a file."""
    file = getattr(sys.modules.get(top), "__file__", None)
    if not isinstance(file, str):
        return None
    path = Path(file).resolve()
    return path.parent.parent if path.name == "__init__.py" else path.parent


def _is_part(name: str, folder: Path) -> bool:
    """Whether a module comes from a part of a namespace package that lies in ``folder``, as ``cuda/mine.py`` would."""
    top, _, rest = name.partition(".")
    file = getattr(sys.modules[name], "__file__", None)
    if not rest or getattr(sys.modules.get(top), "__file__", None) is not None or not isinstance(file, str):
        return False
    return Path(file).resolve().is_relative_to(folder / top)


def _forget(tops: Iterable[str]) -> None:
    gone = set(tops)
    for name in [name for name in sys.modules if name.partition(".")[0] in gone]:
        del sys.modules[name]


def _source_error(path: Path, error: BaseException) -> SourceError:
    if isinstance(error, SyntaxError) and error.filename:
        return SourceError(f"syntax error: {error.msg}", error.filename, error.lineno)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path]
    line = lines[-1] if lines else None
    advice = (
        _RECORD.format(path.name) if _WANTS_GPU.search(f"{type(error).__name__} {error}") or _launches(path) else ""
    )
    if isinstance(error, SystemExit):
        told = f"the file ends the program when imported (exit status {error.code}){advice}"
        return SourceError(told, str(path), line)
    if isinstance(error, ModuleNotFoundError) and error.name:
        missing = error.name.partition(".")[0]
        return SourceError(f"importing it needs the module '{missing}', which is not installed here", str(path), line)
    summary = " ".join(str(error).split()) or "no message"
    return SourceError(f"importing it failed: {type(error).__name__}: {summary}{advice}", str(path), line)


_WANTS_GPU: Final = re.compile(r"cuda|nvidia", re.IGNORECASE)
"""In what libraries say of a GPU that is not there."""
_RECORD: Final = (
    '; importing it uses a GPU or launches kernels: put that behind `if __name__ == "__main__":`, '
    "or record it: tileverify record --no-gpu -- python {}"
)


def _launches(path: Path) -> bool:
    """Whether the file launches kernels while it is imported: calls something ``launch`` outside of functions."""
    try:
        waiting: list[ast.AST] = [*ast.parse(read(path)).body]
    except (OSError, SyntaxError, ValueError):
        return False
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "launch":
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return False


# --------------------------------------------------------------------------------------------------------- user modules
# How the modules of a user are loaded: from the text as it stands, which is read once.
#
# Python would take compiled code from ``__pycache__`` where size and time of change are those of the source, and
# whoever asks for the source of a function later (cuda.tile, for every kernel) would get the file of that moment.  Here
# what runs, what is compiled and what `readings` tells are the same bytes.


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
