"""The layers of the package: who may import whom.  Imports go one way: frontend <- verifier <- backend."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"
MODULES = sorted(path.relative_to(SOURCE) for path in (SOURCE / "tileverify").rglob("*.py"))

FORBIDDEN = {
    "tileverify/frontend": (
        "tileverify.verifier",
        "tileverify.backend",
        "tileverify.reports",
        "tileverify.check",
        "z3",
    ),
    "tileverify/verifier": ("tileverify.backend", "tileverify.reports", "tileverify.check", "cuda"),
    "tileverify/backend": ("tileverify.reports", "tileverify.check", "z3"),
    "tileverify/reports": ("tileverify.verifier", "tileverify.backend", "tileverify.check", "z3", "cuda"),
    "tileverify/certificates": ("tileverify.backend", "z3"),
}
"""Package folder -> what no module under it may import.  The interpreter shares no reasoning with the prover."""

SHARED_WITH_BACKEND = ("tileverify.verifier.claim",)
"""The one module of the verifier that the backend may see: what a claim is, no reasoning."""

LONGEST_MODULE = 600
"""Lines.  Most modules have 150 to 300; one that comes near this has two purposes."""


def imports(module: Path) -> Iterator[tuple[str, int]]:
    """Dotted names that a module imports, relative ones resolved, with their lines."""
    package = list(module.parts[:-1])
    for node in ast.walk(ast.parse((SOURCE / module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            yield origin, node.lineno
            yield from ((f"{origin}.{alias.name}", node.lineno) for alias in node.names)


def is_under(name: str, roots: tuple[str, ...]) -> bool:
    return any(name == root or name.startswith(f"{root}.") for root in roots)


def is_corpus_kernel(module: Path) -> bool:
    return module.parts[1] == "corpus" and len(module.parts) > 3


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_layer_imports(module: Path) -> None:
    offences = []
    for folder, forbidden in FORBIDDEN.items():
        if module.is_relative_to(folder):
            offences += [f"{module}:{line}: {name}" for name, line in imports(module) if is_under(name, forbidden)]
    assert not offences


@pytest.mark.parametrize("module", [path for path in MODULES if path.is_relative_to("tileverify/backend")], ids=str)
def test_backend_shares_no_reasoning_with_the_prover(module: Path) -> None:
    seen = [name for name, _ in imports(module) if is_under(name, ("tileverify.verifier",))]
    assert all(is_under(name, SHARED_WITH_BACKEND) or name == "tileverify.verifier" for name in seen), seen


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_only_the_smt_folder_imports_the_solver(module: Path) -> None:
    if not module.is_relative_to("tileverify/verifier/smt"):
        assert not [f"{module}:{line}" for name, line in imports(module) if is_under(name, ("z3",))]


def test_one_module_alone_imports_the_second_solver() -> None:
    importers = {str(module) for module in MODULES for name, _ in imports(module) if is_under(name, ("cvc5",))}
    assert importers == {"tileverify/certificates/second_solver.py"}


@pytest.mark.parametrize("module", [path for path in MODULES if not is_corpus_kernel(path)], ids=str)
def test_imports_inside_the_package_are_relative(module: Path) -> None:
    absolute = [
        f"{module}:{node.lineno}"
        for node in ast.walk(ast.parse((SOURCE / module).read_text(encoding="utf-8")))
        if (isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "tileverify")
        or (isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "tileverify" for alias in node.names))
    ]
    assert not absolute


def test_modules_stay_small() -> None:
    lengths = {str(module): (SOURCE / module).read_bytes().count(b"\n") for module in MODULES}
    assert not {module: lines for module, lines in lengths.items() if lines > LONGEST_MODULE}
