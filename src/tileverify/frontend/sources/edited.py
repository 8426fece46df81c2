"""A kernel whose source was changed, compiled for the launch that the unchanged one has."""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from ...contract.launch import KernelUnit
from ...system.errors import SourceError
from ...system.notebook_cells import cell_text, flags_of_cells, names_of_cells
from .cutile import CutileKernel, compile_kernel, is_kernel, kernel_of, kernels_of_file
from .fixed_inputs import scan_python
from .importing import visible


def edited_unit(unit: KernelUnit, text: str, compiled: Compile | None = None) -> KernelUnit:
    """``unit`` compiled from ``text`` in place of its file, which is not touched, or of its notebook's cell.

    ``compiled``: how a kernel is compiled for its launch, where that does not say it all, as those of calls do not.
    Raises `SourceError` or `SpecError` where the text does not compile, and where it cannot be imported from elsewhere
    (relative imports).
    """
    compiled = compiled or partial(compile_kernel, spec=unit.launch)
    if (cell := cell_text(str(unit.file))) is not None:
        return edited_cell(unit, cell, text, compiled)
    with tempfile.TemporaryDirectory(prefix="tileverify-") as folder:
        file = Path(folder) / unit.file.name
        file.write_text(text, encoding="utf-8")
        scan = scan_python(file)
        if scan.relative:
            raise SourceError("a file with relative imports cannot be tried elsewhere", str(unit.file))
        with visible(unit.file.resolve().parent):
            kernels = kernels_of_file(file, scan)
        for kernel in kernels:
            if kernel.name == unit.kernel:
                return replace(compiled(kernel), notes=unit.notes)
    raise SourceError(f"the changed source has no kernel '{unit.kernel}'", str(unit.file))


# ---------------------------------------------------------------------------------------------------------- edited cell
# A kernel of a notebook's cell whose text was changed, compiled for the launch that the unchanged one has.
#
# A cell is not run a second time: it may have done anything.  The kernel alone is defined anew, in a copy of the names
# that the notebook has, and only if that is known to make the kernel that the cell made.


Compile: TypeAlias = Callable[[CutileKernel], KernelUnit]
"""A kernel as it is compiled for the launch."""

_OURS: Final = ("cuda.tile", "tileverify")
"""What they offer does nothing but describe when a kernel is defined."""


def edited_cell(unit: KernelUnit, cell: str, text: str, compiled: Compile) -> KernelUnit:
    """``unit``, which ``compiled`` made, from ``text`` in the place of its ``cell``.

    Raises `SourceError` where more than the kernel itself was changed, where to define the kernel alone does not give
    what the cell gave, or runs what it may not, and what ``compiled`` raises.
    """
    before, after = _parsed(unit, cell), _parsed(unit, text)
    if _others(before, unit.kernel) != _others(after, unit.kernel):
        raise _no(unit, "more than the kernel was changed")
    if compiled(_defined(unit, unit.file, before)).bytecode != unit.bytecode:
        raise _no(unit, "its definition alone does not make the kernel that the cell made")
    with tempfile.TemporaryDirectory(prefix="tileverify-") as folder:
        file = Path(folder) / "cell.py"  # the compiler reads the source
        file.write_text(text, encoding="utf-8")
        return replace(compiled(_defined(unit, file, after)), file=unit.file, notes=unit.notes)


def _no(unit: KernelUnit, reason: str) -> SourceError:
    return SourceError(f"a changed '{unit.kernel}' cannot be tried: {reason}", str(unit.file))


def _parsed(unit: KernelUnit, text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _no(unit, f"the cell is no Python ({error})") from None


def _others(tree: ast.Module, kernel: str) -> list[str]:
    """All statements but the definition of ``kernel``, of which the name alone is left."""
    return [kernel if _is_definition(each, kernel) else ast.dump(each) for each in tree.body]


def _is_definition(statement: ast.stmt, name: str) -> bool:
    return isinstance(statement, ast.FunctionDef) and statement.name == name


def _defined(unit: KernelUnit, file: Path, tree: ast.Module) -> CutileKernel:
    """The kernel once its function in ``tree``, which is the text of ``file``, is defined anew."""
    names = names_of_cells()
    found = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == unit.kernel]
    if len(found) != 1 or not _only_describes(found[0], names):
        raise _no(unit, "it is defined twice, in another function, or by more than its decorators describe")
    try:
        exec(compile(ast.Module(list(found), []), str(file), "exec", flags_of_cells(), dont_inherit=True), names)
    except Exception as error:
        raise _no(unit, f"{type(error).__name__}: {error}") from None
    if not is_kernel(names[unit.kernel]):
        raise _no(unit, "it is no kernel any more")
    return kernel_of(names[unit.kernel])


def _only_describes(function: ast.FunctionDef, names: Mapping[str, Any]) -> bool:
    """Whether to define ``function`` calls nothing but what `_OURS` offer: its decorators, defaults and hints."""
    parts: list[ast.AST] = [*function.decorator_list, function.args]
    called = [node.func for part in parts for node in ast.walk(part) if isinstance(node, ast.Call)]
    return all(_is_ours(each, names) for each in (*called, *function.decorator_list) if not isinstance(each, ast.Call))


def _is_ours(node: ast.expr, names: Mapping[str, Any]) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    value = names.get(node.id) if isinstance(node, ast.Name) else None
    module = getattr(value, "__module__", None) or getattr(value, "__name__", None)
    return isinstance(module, str) and any(f"{module}.".startswith(f"{each}.") for each in _OURS)
