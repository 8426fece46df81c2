"""What a source compiles to, and under which specs, as far as files on disk decide it.

A Python file is run to find its kernels, so it may depend on anything.  It is *fixed* if it imports only modules that
give the same answers every time, or files beside it that are fixed as well, and calls nothing else while it is
imported.  Whoever is not sure says no.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from .bytecode_file import is_bytecode
from .spec_files import spec_path

_PURE: Final = frozenset(
    {"__future__", "abc", "collections", "cuda", "dataclasses", "enum", "functools", "itertools", "math", "operator"}
    | {"tileverify", "types", "typing", "typing_extensions"}
)
"""Modules that may be called while a file is imported."""
_QUIET: Final = frozenset({"cupy", "jax", "numpy", "torch"})
"""Modules that may be imported, but not called before a launch: they read files, devices and clocks."""
_BUILTINS: Final = frozenset(
    {"abs", "bool", "dict", "divmod", "enumerate", "float", "frozenset", "int", "len", "list", "max", "min", "pow"}
    | {"property", "range", "reversed", "round", "set", "sorted", "staticmethod", "str", "sum", "tuple", "zip"}
)


def fixed_inputs(path: Path) -> tuple[Path, ...] | None:
    """All files that the kernels of ``path`` and their launch specs depend on; ``None`` where that cannot be told.

    Files that are not there are among them: one that comes to be may take another's place.
    """
    sources: dict[Path, None] = {}
    if path.suffix == ".py":
        if not _collect(path, sources):
            return None
    elif path.suffix == ".cu" or not is_bytecode(path):
        return None
    else:
        sources[path] = None
    return (*sources, spec_path(path), *_projects(path))


def _projects(path: Path) -> Iterator[Path]:
    """Where a ``pyproject.toml`` is looked for, up to the first that is there."""
    folder = path.resolve().parent
    for place in (folder, *folder.parents):
        yield place / "pyproject.toml"
        if (place / "pyproject.toml").is_file():
            return


def _collect(path: Path, sources: dict[Path, None]) -> bool:
    """Add ``path`` and what it imports from beside it; whether all of that is fixed."""
    if path in sources:
        return True
    sources[path] = None
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    callable_names = set(_BUILTINS)
    for node in ast.walk(tree):
        for name, bound in _imports(node):
            top = name.partition(".")[0]
            beside = (path.parent / f"{top}.py", path.parent / top / "__init__.py")
            if beside[1].exists() or not top:
                return False  # packages: their modules run one another
            sources.setdefault(beside[1], None)
            if beside[0].exists():
                if not _collect(beside[0], sources):
                    return False
            elif top not in _PURE | _QUIET:
                return False
            else:
                sources.setdefault(beside[0], None)
                if top in _PURE:
                    callable_names |= bound
    return all(_root(call) in callable_names for call in _calls(tree.body))


def _imports(node: ast.AST) -> Iterator[tuple[str, set[str]]]:
    """Modules that an import names ("" for a relative one), and the names that it gives them or their members."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name, {alias.asname or alias.name.partition(".")[0]}
    elif isinstance(node, ast.ImportFrom):
        yield "" if node.level else node.module or "", {alias.asname or alias.name for alias in node.names}


def _calls(statements: Iterable[ast.stmt]) -> Iterator[ast.expr]:
    """What is called while the statements run: functions and lambdas that they only define are not."""
    left: list[ast.AST] = list(statements)
    while left:
        node = left.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # A decorator is called, whether or not it is written as a call.
            yield from (each for each in node.decorator_list if not isinstance(each, ast.Call))
            left += [*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
            continue
        if isinstance(node, ast.ClassDef):
            yield from (each for each in node.decorator_list if not isinstance(each, ast.Call))
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.If) and _is_main(node.test):
            left += node.orelse
            continue
        if isinstance(node, ast.Call):
            yield node.func
        left += ast.iter_child_nodes(node)


def _is_main(test: ast.expr) -> bool:
    """``__name__ == "__main__"``: false where a file is imported."""
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _root(function: ast.expr) -> str | None:
    """``ct`` of ``ct.cdiv``; ``None`` for what is no dotted name."""
    while isinstance(function, ast.Attribute):
        function = function.value
    return function.id if isinstance(function, ast.Name) else None
