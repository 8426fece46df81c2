"""A folder of candidates as a model might write them: kernels of the corpus, most of them with a change.

    python -m benchmarks.gate_candidates FOLDER --count 1000 --seed 1

Candidate ``N`` of a seed is always the same.  A fifth are kernels as they are, a twentieth ask for something that the
screen refuses, the others have one or two changes of a kind that goes wrong in kernels: an axis, a constant, an
operator, the order of an index, an access that is left out.  Nothing here says what is right: the gate does.
"""

from __future__ import annotations

import argparse
import ast
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tileverify.corpus import ROOT

LAUNCH: Final = "[[launch]]\n"
FOLDERS: Final = ("race_free", "racy", "out_of_bounds", "order", "showcase")
HOSTILE: Final = (
    "import os\n",
    "import cuda.tile as _t\nopen('/etc/passwd')\n",
    "__import__('subprocess')\n",
    "print('\\x1b[2J')\n",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    write_candidates(asked.folder, asked.count, asked.seed)


def write_candidates(folder: Path, count: int, seed: int) -> None:
    """Write ``count`` sources, each with one of the launches of the file that it comes from."""
    origins = [path for name in FOLDERS for path in sorted((ROOT / name).glob("*.py"))]
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        source = random.Random(f"{seed}:{number}")
        origin = source.choice(origins)
        path = folder / f"{number:05}_{origin.stem}.py"
        path.write_text(candidate(origin.read_text(encoding="utf-8"), source), encoding="utf-8")
        spec = origin.with_name(f"{origin.stem}.tileverify.toml")
        if spec.exists():
            head, *launches = spec.read_text(encoding="utf-8").split(LAUNCH)
            path.with_name(f"{path.stem}.tileverify.toml").write_text(head + LAUNCH + source.choice(launches))


def candidate(text: str, source: random.Random) -> str:
    """One candidate from the text of a kernel."""
    lot = source.random()
    if lot < 0.20:
        return text
    if lot < 0.25:
        return source.choice(HOSTILE) + text
    tree = ast.parse(text)
    for _ in range(source.choice((1, 1, 2))):
        places = [(node, change) for function in _kernels(tree) for node in ast.walk(function) for change in CHANGES]
        source.shuffle(places)
        next((True for node, change in places if change(node, source)), False)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _kernels(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in tree.body if isinstance(node, ast.FunctionDef))


def _axis(node: ast.AST, source: random.Random) -> bool:
    """Another axis of the grid."""
    if not isinstance(node, ast.Call) or not ast.unparse(node.func).endswith(".bid"):
        return False
    node.args = [ast.Constant(source.randrange(3))]
    return True


def _constant(node: ast.AST, source: random.Random) -> bool:
    """A number that is one off, or half."""
    if not isinstance(node, ast.Constant) or type(node.value) is not int or not 0 <= node.value <= 512:
        return False
    node.value = source.choice((max(node.value - 1, 0), node.value + 1, node.value // 2, node.value * 2))
    return True


def _operator(node: ast.AST, source: random.Random) -> bool:
    """Another operator between two indices."""
    if not isinstance(node, ast.BinOp) or not isinstance(
        node.op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod
    ):
        return False
    node.op = source.choice((ast.Add(), ast.Sub(), ast.Mult(), ast.FloorDiv()))
    return True


def _order(node: ast.AST, source: random.Random) -> bool:
    """Two components of an index in each other's place."""
    if not isinstance(node, ast.keyword) or not isinstance(node.value, ast.Tuple) or len(node.value.elts) < 2:
        return False
    node.value.elts.reverse()
    return True


def _left_out(node: ast.AST, source: random.Random) -> bool:
    """A call for its effect that is not made."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    node.value = ast.Constant(0)
    return True


CHANGES: Final = (_axis, _constant, _operator, _order, _left_out)


if __name__ == "__main__":
    main()
