"""What type checkers are told: hardly any ``Any``, and for users the types of their own arrays."""

from __future__ import annotations

import ast
import collections
import re
from collections.abc import Iterator, Mapping, Set
from functools import cache
from pathlib import Path
from typing import Final

from tools.rooms import ROOMS, SOURCE, modules, room_of, syntax

MOST: Final = 5
"""Occurrences for each 1,000 lines of a room."""

PATCHING: Final = {
    Path("tileverify/hook/cupy_arrays.py"), Path("tileverify/hook/launch_hooks.py"),
    Path("tileverify/hook/torch_cuda.py"), Path("tileverify/hook/triton_launches.py"),
}  # fmt: skip
"""What takes the place of functions of CuPy, torch, Triton and JAX, and passes on whatever they are called with."""

WORD: Final = re.compile(r"\bAny\b")


def occurrences(tree: ast.Module, elsewhere: Mapping[str, Set[str]]) -> Iterator[int]:
    """The line of every ``Any``, but for comments and docstrings.

    That is every name, attribute (``typing.Any``), imported name and name of a definition or an argument that is
    ``Any``, in annotations and in expressions, and every time that the word stands in a string that is no docstring, as
    it does in an annotation with quotes; so no fewer than ``grep -ow Any`` finds in code.

    Another name for it counts as often as it stands there: one that it is imported as, one that is assigned nothing but
    ``Any``, and such a name that is imported.  ``elsewhere``: those of other modules, by the last part of their names.
    """
    names = {"Any", *given_to_any(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            known = elsewhere.get((node.module or "").rpartition(".")[2], frozenset())
            names |= {each.asname or each.name for each in node.names if each.name == "Any" or each.name in known}
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case (
                ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name))
                | ast.alias(name=name) | ast.ClassDef(name=name) | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
            ):  # fmt: skip
                found = int(name in names)
            case ast.Constant(value=str(text)) if id(node) not in docstrings:
                found = len(WORD.findall(text))
            case _:
                continue
        yield from [node.lineno] * found


def given_to_any(tree: ast.Module) -> Iterator[str]:
    """Names that are assigned nothing but ``Any``."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if ast.unparse(node.value) in ("Any", "typing.Any"):
                yield from (each.id for each in targets if isinstance(each, ast.Name))


@cache
def speaking() -> dict[Path, ast.Module]:
    """The modules in which the word stands, parsed; most have it nowhere, and need not be."""
    return {module: syntax(module) for module in modules() if WORD.search((SOURCE / module).read_text("utf-8"))}


def counted() -> dict[Path, int]:
    """Of every module, but for those that patch."""
    names = {module.stem: set(given_to_any(tree)) for module, tree in speaking().items()}
    others = {
        module: syntax(module)
        for module in modules()
        for stem in names
        if names[stem] and module not in speaking() and stem in (SOURCE / module).read_text("utf-8")
    }
    found = {module: len(list(occurrences(tree, names))) for module, tree in {**speaking(), **others}.items()}
    return {module: found.get(module, 0) for module in modules() if module not in PATCHING}


def test_no_room_has_many() -> None:
    lines: collections.Counter[str] = collections.Counter()
    most: dict[str, list[tuple[int, str]]] = {room: [] for room in ROOMS}
    for module, count in counted().items():
        lines[room_of(module)] += (SOURCE / module).read_bytes().count(b"\n")
        most[room_of(module)].append((count, str(module)))
    told = [
        f"{room}: {1000 * count / lines[room]:.1f} for each 1,000 lines; the most in "
        + ", ".join(f"{module} ({own})" for own, module in sorted(most[room], reverse=True)[:5] if own)
        for room in ROOMS
        if (count := sum(own for own, _ in most[room])) and 1000 * count >= MOST * lines[room]
    ]
    assert not told, "\n" + "\n".join(told)


def test_modules_that_patch_are_there_and_few_others_of_their_room_are_excused() -> None:
    assert speaking().keys() >= PATCHING
    assert {room_of(module) for module in PATCHING} == {"hook"}


def test_what_is_counted() -> None:
    source = '''"""Any docstring."""
import typing
from typing import Any as Whatever, Final
from .values import Data
x: typing.Any = 1  # Any comment
def f(y: "dict[str, Any]", z: Whatever) -> Data:
    "Any docstring of a function."
    return cast("Any", y)
Other = typing.Any
w: Other = 1
'''
    assert sorted(occurrences(ast.parse(source), {"values": {"Data"}})) == [3, 4, 5, 6, 6, 6, 8, 9, 9, 10]
