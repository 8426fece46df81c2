"""What files on disk decide without a run of them: which kernels a source may hold, what it compiles to.

A Python file is run to find its kernels, so it may depend on anything.  It is *fixed* if its text decides what running
it makes (`import_purity`), and if it imports only modules that are known by the version of their package, or files
beside it that are fixed as well.  Whoever is not sure says no.
"""

from __future__ import annotations

import ast
import importlib.machinery
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...contract.spec_files import spec_path
from ...system.errors import SourceError
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


# ---------------------------------------------------------------------------------------------------------- python scan
# A look at a Python file without running it: may it hold kernels, and where do its functions stand?


@dataclass(frozen=True, slots=True)
class PythonScan:
    """``kernels``: functions with a kernel decorator at module or class level, qualified name -> line of ``def``.

    ``nested`` are such functions inside other functions, which an import does not make.  ``indirect``: the file
    calls ``ct.kernel(...)`` itself.  ``triton``: functions of ``@triton.jit`` at module level, name -> line; those
    that return a value, or that another of them calls, are ``helpers``.  ``relative``: it has relative imports.
    ``calls_inductor``: it has kernels as texts, as `torch.compile` writes them.
    """

    kernels: dict[str, int] = field(default_factory=dict)
    nested: dict[str, int] = field(default_factory=dict)
    indirect: bool = False
    relative: bool = False
    triton: dict[str, int] = field(default_factory=dict)
    helpers: frozenset[str] = frozenset()
    calls_inductor: bool = False

    @property
    def may_hold_kernels(self) -> bool:
        """Whether importing the file can bring kernels of cuTile to light."""
        return bool(self.kernels) or self.indirect


def scan_python(path: Path) -> PythonScan:
    """Scan ``path``; :class:`SourceError` for a file that is no Python."""
    try:
        source = read(path)
    except OSError as error:
        raise SourceError(f"cannot be read as Python ({error})", str(path)) from None
    return scan_text(source, path)


def scan_text(source: str | bytes, path: Path) -> PythonScan:
    """The same for a source that is not, or not only, a file; ``path`` is its name in errors.

    Bytes are read in the encoding that they declare, as Python reads a file; a text has none.
    """
    content = source if isinstance(source, bytes) else source.encode(errors="surrogatepass")
    if b"kernel" not in content and b"triton" not in content:
        if b"kernel" in content.replace(b"\0", b""):
            raise SourceError("cannot be read as Python (it looks like UTF-16: save it as UTF-8)", str(path))
        return PythonScan()
    try:
        tree = ast.parse(source, filename=str(path))
    except SyntaxError as error:
        raise SourceError(f"syntax error: {error.msg}", str(path), error.lineno) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise SourceError(f"cannot be read as Python ({error})", str(path)) from None
    visitor = _Visitor()
    visitor.visit(tree)
    jitted = triton_functions(tree)
    if b"async_compile.triton(" in content:
        return PythonScan(calls_inductor=True)
    if not visitor.modules and not visitor.names and not jitted:
        return PythonScan()
    return PythonScan(
        visitor.kernels,
        visitor.nested,
        visitor.indirect,
        visitor.relative,
        {name: node.lineno for name, node in jitted.items()},
        frozenset(helpers_among(jitted)),
    )


def triton_functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """The functions at module level that ``@triton.jit`` decorates, whatever stands above it."""
    modules = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "triton"
    }
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("triton")
        for alias in node.names
        if alias.name == "jit"
    }

    def is_jit(decorator: ast.expr) -> bool:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(called, ast.Attribute):
            return called.attr == "jit" and ast.unparse(called.value) in modules
        return isinstance(called, ast.Name) and called.id in names

    return {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and any(map(is_jit, node.decorator_list))
    }


def helpers_among(functions: Mapping[str, ast.FunctionDef]) -> Iterator[str]:
    """Functions that are no kernels: they return something, or others call them, which kernels or helpers are."""
    calls = {
        name: {
            inner.func.id
            for inner in ast.walk(node)
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id != name
        }
        for name, node in functions.items()
    }
    called = set[str]().union(*calls.values())
    returning = {
        name
        for name, node in functions.items()
        if any(isinstance(inner, ast.Return) and inner.value is not None for inner in ast.walk(node))
    }
    reached = waiting = returning | (functions.keys() - called)
    while waiting:
        waiting = set[str]().union(*(calls[name] for name in waiting)) & functions.keys() - reached
        reached = reached | waiting
    for name in functions:
        if name in returning or (name in called and name in reached):
            yield name


class _Visitor(ast.NodeVisitor):
    """Collects names that stand for ``cuda.tile`` and for its ``kernel``, then their uses."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.names: set[str] = set()
        self.kernels: dict[str, int] = {}
        self.nested: dict[str, int] = {}
        self.indirect = False
        self.relative = False
        self._scope: list[tuple[str, bool]] = []
        self._decorators: set[int] = set()

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name == "cuda.tile":
                self.modules.add(alias.asname or "cuda.tile")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.relative |= node.level > 0
        for alias in node.names:
            if node.module == "cuda" and alias.name == "tile":
                self.modules.add(alias.asname or "tile")
            elif node.module == "cuda.tile" and alias.name in ("kernel", "*"):
                self.names.add("kernel" if alias.name == "*" else alias.asname or "kernel")
            elif alias.name in ("ct", "cuda_tile", "kernel"):
                # Some projects re-export cuda.tile from a module of their own.
                (self.names if alias.name == "kernel" else self.modules).add(alias.asname or alias.name)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        decorators = [self._called(decorator) for decorator in node.decorator_list]
        if any(self._is_kernel(decorator) for decorator in decorators):
            name = ".".join([*(scope for scope, _ in self._scope), node.name])
            inside = any(is_function for _, is_function in self._scope)
            (self.nested if inside else self.kernels)[name] = node.lineno
        self._decorators.update(id(decorator) for decorator in node.decorator_list)
        self._visit_scope(node, node.name, is_function=True)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_scope(node, node.name, is_function=False)

    def visit_Call(self, node: ast.Call) -> None:
        self.indirect |= id(node) not in self._decorators and self._is_kernel(node.func)
        self.generic_visit(node)

    def _visit_scope(self, node: ast.AST, name: str, *, is_function: bool) -> None:
        self._scope.append((name, is_function))
        self.generic_visit(node)
        self._scope.pop()

    def _called(self, decorator: ast.expr) -> ast.expr:
        return decorator.func if isinstance(decorator, ast.Call) else decorator

    def _is_kernel(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.names
        return isinstance(node, ast.Attribute) and node.attr == "kernel" and ast.unparse(node.value) in self.modules
