"""The drivers of kernel libraries, read without the libraries."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
FOLDERS = [BENCHMARKS / "tilegym", BENCHMARKS / "real" / "liger", BENCHMARKS / "real" / "flashinfer"]
PARTS = [path for folder in FOLDERS for path in sorted((folder / "cases").glob("*.py")) if path.stem != "__init__"]


def named(tree: ast.Module) -> set[str]:
    """What a module defines or imports at its top."""
    found: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            found.add(statement.name)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            found |= {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    return found


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported_from_here(path: Path) -> Iterator[tuple[Path, str]]:
    """The names that a part takes from this repository, each with the module that should have it."""
    for statement in parsed(path).body:
        if not isinstance(statement, ast.ImportFrom):
            continue
        module = statement.module or ""
        if statement.level:
            source = path.parent / (f"{module}.py" if module else "__init__.py")
        elif module.startswith("benchmarks."):
            source = BENCHMARKS.parent / f"{module.replace('.', '/')}.py"
        else:
            continue
        yield from ((source, alias.name) for alias in statement.names)


@pytest.mark.parametrize("part", PARTS, ids=lambda path: f"{path.parents[1].name}.{path.stem}")
def test_a_part_takes_what_is_there_and_has_cases(part: Path) -> None:
    missing = [(source.name, name) for source, name in imported_from_here(part) if name not in named(parsed(source))]
    assert not missing
    cases = [
        statement.name
        for statement in parsed(part).body
        if isinstance(statement, ast.FunctionDef)
        and any(isinstance(mark, ast.Name) and mark.id == "case" for mark in statement.decorator_list)
    ]
    assert cases
    assert len(cases) == len(set(cases))


def test_liger_names_the_parts_of_each_half() -> None:
    """``hopper`` alone is left to a run of its own."""
    folder = BENCHMARKS / "real" / "liger" / "cases"
    assigned = {
        ast.unparse(statement.targets[0]): ast.literal_eval(statement.value)
        for statement in parsed(folder / "__init__.py").body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) in ("CUTILE", "TRITON")
    }
    assert len(assigned) == 2
    named = {name for parts in assigned.values() for name in parts}
    assert {*named, "hopper", "__init__"} == {path.stem for path in folder.glob("*.py")}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_a_driver_says_how_it_is_used(folder: Path) -> None:
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert "tileverify record --no-gpu" in page
    assert f"benchmarks/{folder.relative_to(BENCHMARKS)}/drive.py" in page
