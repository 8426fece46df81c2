"""A look at a Python file without running it: may it hold kernels, and where do its functions stand?"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path

from ...system.errors import SourceError
from ...system.readings import read


@dataclass(frozen=True, slots=True)
class PythonScan:
    """``kernels``: functions with a kernel decorator at module or class level, qualified name -> line of ``def``.

    ``nested`` are such functions inside other functions, which an import does not make.  ``indirect``: the file
    calls ``ct.kernel(...)`` itself.  ``relative``: it has relative imports.
    """

    kernels: dict[str, int] = field(default_factory=dict)
    nested: dict[str, int] = field(default_factory=dict)
    indirect: bool = False
    relative: bool = False

    @property
    def may_hold_kernels(self) -> bool:
        """Whether importing the file can bring kernels to light."""
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
    if b"kernel" not in content:
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
    if not visitor.modules and not visitor.names:
        return PythonScan()
    return PythonScan(visitor.kernels, visitor.nested, visitor.indirect, visitor.relative)


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
