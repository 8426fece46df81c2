"""Facts about the contents of index arrays, as launch specs write them (``docs/specs.md``).

Each speaks of what an integer array holds when the launch begins; its elements are read as their type says.

    range(a, low, high)          every value v has low <= v < high
    injective(a)                 no value occurs twice
    permutation(a)               no value occurs twice, and every one is an index of a: 0 <= v < size
    nondecreasing(a)             values do not fall along the last axis
    multiples(a, n)              every value is a multiple of n, which is at least 1
    shares(a, n)                 no value is negative, and all together are at most n
    disjoint_rows(a)             no value occurs in two rows; a row is all that one index of the first axis holds
    segments(a, lengths)         [a[i], a[i] + lengths[i]) of different i do not meet; no length is negative

``injective`` and ``disjoint_rows`` may be restricted to the values in a range, ``injective(a, low, high)``;
``segments(a, lengths, low, high)`` says as well that every segment that is not empty lies in [low, high).
``unless=x`` (or ``unless=(x, y)``) excuses the values x from ``range``, ``injective`` and ``disjoint_rows``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from .expressions import ExpressionParser, print_expression
from .launch import DataFact, Expression


@dataclass(frozen=True, slots=True)
class Form:
    """How a fact is written: what follows the array (``needed``: fields of `DataFact`), whether ``low, high`` may
    follow then, and whether there may be ``unless``."""

    needed: tuple[str, ...] = ()
    bounds: bool = False
    unless: bool = False

    def fields(self, count: int) -> tuple[str, ...] | None:
        """The fields that ``count`` arguments behind the array stand for; ``None`` if they are too many or few."""
        names = self.needed
        if self.bounds and count == len(names) + 2:
            names = (*names, "low", "high")
        return names if len(names) == count else None

    def counts(self) -> str:
        """How many arguments the fact takes, the array included."""
        least = 1 + len(self.needed)
        return f"{least} or {least + 2}" if self.bounds else str(least)


FORMS: Final = {
    "injective": Form(bounds=True, unless=True),
    "permutation": Form(),
    "nondecreasing": Form(),
    "range": Form(("low", "high"), unless=True),
    "multiples": Form(("amount",)),
    "shares": Form(("amount",)),
    "disjoint_rows": Form(bounds=True, unless=True),
    "segments": Form(("other",), bounds=True),
}

KINDS: Final = (
    "injective(a), permutation(a), nondecreasing(a), range(a, low, high), multiples(a, n), shares(a, n), "
    "disjoint_rows(a) or segments(a, lengths)"
)


def parse_data_fact(text: str) -> DataFact:
    """A fact for ``data``, such as ``injective(idx)`` or ``range(idx, 0, N)``; raises `SpecError`."""
    parser = ExpressionParser(text)
    tree = parser.tree()
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise parser.error(tree, f"expected {KINDS}")
    kind = tree.func.id
    form = FORMS.get(kind)
    if form is None:
        raise parser.error(tree, f"there is no fact '{kind}'; expected {KINDS}")
    fields = form.fields(len(tree.args) - 1)
    if fields is None:
        raise parser.error(tree, f"'{kind}' takes {form.counts()} argument(s), {len(tree.args)} given")
    array = parser.array(tree.args[0])
    given = dict(zip(fields, tree.args[1:], strict=True))
    numbers = {name: parser.bounded(parser.size(node)) for name, node in given.items() if name != "other"}
    return DataFact(
        kind,
        array,
        low=numbers.get("low"),
        high=numbers.get("high"),
        text=text.strip(),
        amount=numbers.get("amount"),
        other=parser.array(given["other"]) if "other" in given else None,
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
    given = [fact.array, *([fact.other] if fact.other is not None else [])]
    given += [print_expression(part) for part in (fact.amount, fact.low, fact.high) if part is not None]
    excused = [print_expression(value) for value in fact.unless]
    if excused:
        given.append(f"unless={excused[0]}" if len(excused) == 1 else f"unless=({', '.join(excused)})")
    return f"{fact.kind}({', '.join(given)})"


def arrays_of(fact: DataFact) -> tuple[str, ...]:
    """The arrays that the fact speaks of."""
    return (fact.array,) if fact.other is None else (fact.array, fact.other)


def expressions_of(fact: DataFact) -> tuple[Expression, ...]:
    """The bounds and other numbers of the fact."""
    return tuple(part for part in (fact.low, fact.high, fact.amount, *fact.unless) if part is not None)


def with_expressions(fact: DataFact, change: Callable[[Expression], Expression]) -> DataFact:
    """The fact with each of `expressions_of` changed."""

    def changed(part: Expression | None) -> Expression | None:
        return None if part is None else change(part)

    return replace(
        fact,
        low=changed(fact.low),
        high=changed(fact.high),
        amount=changed(fact.amount),
        unless=tuple(map(change, fact.unless)),
    )
