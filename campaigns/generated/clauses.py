"""Clauses over numbers of a launch: reading those of a verdict, and finding one that tells launches apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations

from tileverify.contract.expression_parser import parse_condition
from tileverify.contract.expressions import Undefined, evaluate, free_names, print_expression
from tileverify.contract.launch import Expression, SameArray
from tileverify.system.errors import SpecError

Names = Mapping[str, int]


def read_clauses(texts: Sequence[str]) -> list[Expression] | None:
    """Clauses in the language of launch specs; ``None`` if one of them is not in it."""
    try:
        clauses = [parse_condition(text) for text in texts]
    except SpecError:
        return None
    read = [clause for clause in clauses if not isinstance(clause, SameArray)]
    return read if len(read) == len(clauses) else None


def holds(clause: Expression, names: Names) -> bool:
    """Whether a launch with these numbers satisfies the clause; what it says of the arrays of a list, of each."""
    try:
        return all(bool(evaluate(clause, each)) for each in _of_each(clause, names))
    except Undefined:
        return False
    except KeyError as error:
        raise AssertionError(f"{print_expression(clause)} names {error}") from None


def _of_each(clause: Expression, names: Names) -> Iterator[Names]:
    """The numbers as the clause calls them: once for each array of a list that it speaks of."""
    listed = {name for name in free_names(clause) if name not in names and "." in name}
    lists = sorted({name.partition(".")[0] for name in listed})
    if not lists:
        yield names
        return
    for member in range(sum(1 for name in names if re.fullmatch(rf"{lists[0]}\[\d+\]\.address", name))):
        own = {f"{each}[{member}].": f"{each}." for each in lists}
        yield {
            **names,
            **{name.replace(a, b): value for a, b in own.items() for name, value in names.items() if a in name},
        }


def separating(right: Sequence[Names], faulty: Sequence[Names], tile: int) -> str | None:
    """A simple clause that holds of all the right launches and of none of the faulty ones."""
    if not right or not faulty:
        return None
    known = {name: value for name, value in right[0].items() if all(name in each for each in (*right, *faulty))}
    for text, clause in _candidates(known, {value for names in right for value in names.values()}, tile):
        if all(map(clause, right)) and not any(map(clause, faulty)):
            return text
    return None


def _candidates(names: Names, values: set[int], tile: int) -> Iterator[tuple[str, Callable[[Names], bool]]]:
    for a in names:
        for value in sorted(values):
            yield f"{a} <= {value}", lambda n, a=a, value=value: n[a] <= value  # type: ignore[misc]
            yield f"{a} >= {value}", lambda n, a=a, value=value: n[a] >= value  # type: ignore[misc]
            yield f"{a} == {value}", lambda n, a=a, value=value: n[a] == value  # type: ignore[misc]
        for by in (2, 3, tile):
            yield f"{a} % {by} == 0", lambda n, a=a, by=by: n[a] % by == 0  # type: ignore[misc]
    for a, b in permutations(names, 2):
        yield f"{a} <= {b}", lambda n, a=a, b=b: n[a] <= n[b]  # type: ignore[misc]
        yield f"{a} <= cdiv({b}, {tile})", lambda n, a=a, b=b: n[a] <= -(-n[b] // tile)  # type: ignore[misc]
        yield f"{a} == {b}", lambda n, a=a, b=b: n[a] == n[b]  # type: ignore[misc]
