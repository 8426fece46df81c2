"""Facts about the contents of index arrays, as launch specs write them (``docs/specs.md``): read and printed.

Each speaks of what an integer array holds when the launch begins; its elements are read as their type says.  A fact is
written ``kind(a, ...)``; the table of `contract.facts.kinds` says what each kind means, and what follows the array.
Bounds ``low, high`` at the end restrict a fact to the values in a range, or to segments in it; ``unless=x`` (or
``unless=(x, y)``) excuses the values x.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from .expression_parser import ExpressionParser
from .expressions import print_expression
from .facts.form import FIELDS, Form
from .facts.kinds import FACTS
from .launch import DataFact, Expression

_EXAMPLES: Final = [kind.form.example(word) for word, kind in FACTS.items()]

_EXPECTED: Final = f"{', '.join(_EXAMPLES[:-1])} or {_EXAMPLES[-1]}"


def parse_data_fact(text: str) -> DataFact:
    """A fact for ``data``, such as ``injective(idx)`` or ``range(idx, 0, N)``; raises `SpecError`."""
    parser = ExpressionParser(text)
    tree = parser.tree()
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise parser.error(tree, f"expected {_EXPECTED}")
    if tree.func.id not in FACTS:
        raise parser.error(tree, f"there is no fact '{tree.func.id}'; expected {_EXPECTED}")
    kind = tree.func.id
    form = FACTS[kind].form
    names = form.names(len(tree.args))
    if names is None:
        raise parser.error(tree, f"'{kind}' takes {form.counts()} argument(s), {len(tree.args)} given")
    given = dict(zip(names, tree.args, strict=True))
    array, *others = (parser.array(given[name]) for name in form.arrays)
    numbers = {
        FIELDS.get(name, name): parser.bounded(parser.size(node))
        for name, node in given.items()
        if name not in form.arrays
    }
    return DataFact(
        kind,
        array,
        low=numbers.get("low"),
        high=numbers.get("high"),
        text=text.strip(),
        amount=numbers.get("amount"),
        width=numbers.get("width"),
        others=tuple(others),
        unless=tuple(_excused(parser, tree, form)),
    )


def _excused(parser: ExpressionParser, tree: ast.Call, form: Form) -> Iterator[Expression]:
    """The values that ``unless`` names."""
    for keyword in tree.keywords:
        if keyword.arg != "unless" or not form.unless or len(tree.keywords) > 1:
            allowed = "only 'unless' once" if form.unless else "nothing"
            raise parser.error(tree, f"{allowed} may be given by name here, not '{keyword.arg}'")
        several = isinstance(keyword.value, ast.Tuple | ast.List)
        values = keyword.value.elts if several else [keyword.value]  # type: ignore[attr-defined]
        yield from (parser.bounded(parser.size(value)) for value in values)


def print_data_fact(fact: DataFact) -> str:
    """Canonical text; parsing it gives an equal fact but for ``text``."""
    given = [*fact.arrays]
    given += [print_expression(part) for part in (fact.amount, fact.width, fact.low, fact.high) if part is not None]
    excused = [print_expression(value) for value in fact.unless]
    if excused:
        given.append(f"unless={excused[0]}" if len(excused) == 1 else f"unless=({', '.join(excused)})")
    return f"{fact.kind}({', '.join(given)})"
