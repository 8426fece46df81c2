"""What is inferred of a Triton kernel goes by how it uses its parameters: whatever they are called, the verdict and the
conditions are the same."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import CommandLine

from tileverify.contract import terms as t
from tileverify.contract.expression_parser import parse_condition
from tileverify.contract.expressions import free_names
from tileverify.contract.launch import SameArray
from tileverify.contract.terms import Scope, Term
from tileverify.verifier.obligations.limits import clause_terms_of

pytest.importorskip("triton", reason="kernels are compiled by Triton's frontend")

CORPUS = Path("src/tileverify/corpus/triton").resolve()
QUICK = {
    "rows.py": ("softmax", "softmax_mask_on_rows", "layer_norm", "weight_gradient", "weight_gradient_by_rows"),
    "vectors.py": ("add", "add_without_mask", "add_half_blocks", "scale_persistent", "copy_rows_promised"),
    "tutorials.py": ("persistent_softmax", "persistent_softmax_by_ones"),
    "in_place.py": ("transpose", "transpose_wrong_stride", "rotate"),
    "lookups.py": ("scatter_rows", "histogram"),
}

LONG = {"products.py", "tutorials.py"}
"""Their kernels without a spec take up to a minute each; of the tutorials, the quick ones are compared."""
NEAR_THE_LIMIT = ("layer_norm_backward",)
"""A question on its clauses takes about as many units as the solver may spend: `127 * N + 128 <= weight_parts_size` or
`128 * N <= weight_parts_size`, whose terms have another order, comes out.  The verdict is the same."""

PERSISTENT = """import triton
import triton.language as tl


@triton.jit
def softmax(out, x, stride, n_rows, n_cols, num_programs, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    for row in tl.range(pid, n_rows, num_programs):
        mask = cols < n_cols
        value = tl.load(x + row * stride + cols, mask=mask, other=-float("inf"))
        value = tl.exp(value - tl.max(value, axis=0))
        tl.store(out + row * stride + cols, value / tl.sum(value, axis=0), mask=mask)
"""


class _Renamed(ast.NodeTransformer):
    """Every use of a parameter of one kernel under its new name."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        annotation = node.annotation and self.visit(node.annotation)
        return ast.arg(self.names.get(node.arg, node.arg), annotation)


def renamed(source: str, number: int) -> tuple[str, dict[str, dict[str, str]]]:
    """The kernels of ``source`` with other parameter names, and the old name of each, by kernel; those that compute
    what Triton folds into the text of a decorator keep theirs.

    ``number``: of the way to name them: in the order of the parameters, against it, or out of any order.
    """
    tree, new = ast.parse(source), dict[str, dict[str, str]]()
    for place, node in enumerate(tree.body):
        if not isinstance(node, ast.FunctionDef) or not _is_plain_kernel(node):
            continue
        own = [each.arg for each in node.args.args]
        order = {0: own, 1: own[::-1], 2: [*own[1::2], *own[::2]]}[number]
        names = {name: f"{'qzb'[number]}{order.index(name):02}" for name in own}
        tree.body[place] = ast.fix_missing_locations(_Renamed(names).visit(node))
        new[node.name] = {short: name for name, short in names.items()}
    return ast.unparse(tree), new


def _is_plain_kernel(node: ast.FunctionDef) -> bool:
    """Whether ``@triton.jit`` alone stands above a function that a program launches, and no other function calls."""
    return len(node.decorator_list) == 1 and ast.unparse(node.decorator_list[0]) == "triton.jit"


def conditions(texts: list[str], old: Mapping[str, str]) -> set[Term]:
    """The clauses as terms over the old names; commuting operands have one order in them."""
    back = [re.sub(r"[A-Za-z]\w*", lambda word: _old(word[0], old), text) for text in texts]
    parsed = [each for each in map(parse_condition, back) if not isinstance(each, SameArray)]
    names = {name: t.var(name, Scope.LAUNCH) for each in parsed for name in free_names(each)}
    return set(clause_terms_of(back, names))


def _old(word: str, old: Mapping[str, str]) -> str:
    """``x_size`` for ``q01_size``."""
    name, mark, rest = word.partition("_")
    return f"{old[name]}{mark}{rest}" if name in old else word


def checked(tileverify: CommandLine, *arguments: str) -> Iterator[dict[str, Any]]:
    yield from json.loads(tileverify("check", *arguments, "--format", "json", "--no-cache", "-j", "1").out)["results"]


def told(result: Mapping[str, Any], old: Mapping[str, str]) -> tuple[str, set[Term], set[Term], set[str]]:
    codes = {finding["code"] for finding in result["findings"]}
    return result["verdict"], conditions(result["requires"], old), conditions(result["limits"], old), codes


def compare(tileverify: CommandLine, source: str, kernels: tuple[str, ...], number: int) -> None:
    Path("first.py").write_text(source, encoding="utf-8")
    text, old = renamed(source, number)
    Path("second.py").write_text(text, encoding="utf-8")
    asked = kernels or tuple(old)
    for kernel in asked:
        (first,), (second,) = (checked(tileverify, f"{file}.py::{kernel}") for file in ("first", "second"))
        one, other = told(first, {}), told(second, old[kernel])
        parts = 1 if kernel in NEAR_THE_LIMIT else len(one)
        assert one[:parts] == other[:parts], kernel


@pytest.mark.parametrize("number", range(3))
def test_rows_of_a_persistent_kernel(tileverify: CommandLine, number: int) -> None:
    compare(tileverify, PERSISTENT, (), number)
    (result,) = checked(tileverify, "first.py")
    assert result["verdict"] == "proved"
    assert {"n_cols <= stride", "grid.x <= num_programs"} <= set(result["requires"])


@pytest.mark.parametrize("file", QUICK)
def test_names_of_parameters_change_nothing(tileverify: CommandLine, file: str) -> None:
    compare(tileverify, (CORPUS / file).read_text(encoding="utf-8"), QUICK[file], 1)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("file", sorted({each.name for each in CORPUS.glob("*.py")} - LONG))
def test_names_of_parameters_change_nothing_anywhere(tileverify: CommandLine, file: str, number: int) -> None:
    compare(tileverify, (CORPUS / file).read_text(encoding="utf-8"), (), number)
