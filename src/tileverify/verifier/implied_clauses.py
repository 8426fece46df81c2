"""Clauses of reports compared by the solver: which of two proofs is about more launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..contract.as_terms import build_contract
from ..contract.expression_parser import parse_condition
from ..contract.expressions import OPERATORS, constant_value, free_names, substitute
from ..contract.launch import Apply, Expression, LaunchSpec, Name, SameArray, ScalarArgument
from ..system.errors import SpecError
from .obligations.answers import Answer
from .smt.decide import Decider

_GRID: Final = frozenset({"grid.x", "grid.y", "grid.z"})


def implied(clause: str, given: Sequence[str]) -> bool:
    """Whether ``clause`` is proved to hold wherever all of ``given`` do, whatever integers their names stand for.

    Lines of ``given`` that are no conditions say nothing.
    """
    if clause in given:
        return True
    conclusion = _condition(clause)
    premises = [each for each in map(_condition, given) if each is not None]
    if conclusion is None or not _has_value(conclusion):
        return False
    try:
        facts = build_contract(_launch([*premises, Apply("not", (conclusion,))])).facts
    except SpecError:
        return False
    return Decider(facts).decide(()).answer is Answer.UNSATISFIABLE


def _condition(text: str) -> Expression | None:
    try:
        condition = parse_condition(text)
    except SpecError:
        return None
    return None if isinstance(condition, SameArray) else condition


def _has_value(expression: Expression) -> bool:
    """Whether it has a value for all integers: it divides by numbers alone."""
    if not isinstance(expression, Apply) or constant_value(expression) is not None:
        return True
    divides = expression.op == "**" or (OPERATORS[expression.op].divides and not constant_value(expression.args[1]))
    return not divides and all(map(_has_value, expression.args))


def _launch(conditions: Sequence[Expression]) -> LaunchSpec:
    """A launch of these conditions alone: every name but those of the grid is an integer of any sign."""
    names = sorted(set().union(*map(free_names, conditions)) - _GRID)
    new = {name: f"n{number}" for number, name in enumerate(names)}
    spelled = {name: Name(other) for name, other in new.items()}
    return LaunchSpec(
        kernel="",
        name="",
        arguments=tuple(ScalarArgument(each, "i64") for each in new.values()),
        requires=tuple(substitute(each, spelled) for each in conditions),
    )
