"""Loads of integers that a `range` fact bounds: what they give is a number of the launch, up to a size of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ...contract.facts.form import Subject
from ...contract.facts.kinds import subject_of
from ...contract.launch import DataFact, EntryParameter, LaunchSpec, Role
from ...frontend.bytecode.model import Entry, Op, Operand, ScalarType, TileType, Value
from ...frontend.bytecode.traverse import walk

_POINTING: Final = {
    "make_tensor_view": "base", "make_partition_view": "s", "make_gather_scatter_view": "s", "make_strided_view": "s",
    "offset": "ptr", "broadcast": "s", "reshape": "s", "assume": "s",
}  # fmt: skip
"""Ops whose result leads to the array of one operand."""


def bounded_loads(entry: Entry, parameters: Sequence[EntryParameter], spec: LaunchSpec) -> dict[Op, DataFact]:
    """The fact that bounds what each such load gives, where it is an integer."""
    bounds = (fact for fact in (*spec.observed, *spec.data) if subject_of(fact) is Subject.LIMITS and not fact.unless)
    facts = {fact.array: fact for fact in bounds}
    return dict(_bounded(entry, parameters, facts)) if facts else {}


def _read_through(op: Op) -> Operand:
    """The pointers or the view that a load reads through."""
    return op.operands[op.declaration.address] if op.declaration.loads and op.declaration.address else None


def _bounded(
    entry: Entry, parameters: Sequence[EntryParameter], facts: dict[str, DataFact]
) -> Iterator[tuple[Op, DataFact]]:
    leads_to: dict[Value, str] = {
        value: parameter.argument
        for value, parameter in zip(entry.parameters, parameters, strict=True)
        if parameter.role is Role.POINTER
    }
    for op in walk(entry.body):
        if (operand := op.operands.get(_POINTING.get(op.name, ""))) in leads_to:
            leads_to[op.results[0]] = leads_to[operand]
        elif (operand := _read_through(op)) in leads_to and leads_to[operand] in facts:
            kind = op.results[0].type
            if isinstance(kind, TileType) and isinstance(kind.element, ScalarType) and not kind.element.is_float:
                yield op, facts[leads_to[operand]]
