"""What every part of the tool knows of each op of Tile IR, in one table.

The golden file is the table: a line an op, a column a part.  After you add an op, run this file with
``--update-golden`` and read its line; ``-`` is what is missing.  A part that shall not know an op needs a reason here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from tests.frontend.bytecode.recorded import FILES
from tests.frontend.bytecode.samples import sample, samples

from tileverify.backend.interpreter.control import RULES as INTERPRETED
from tileverify.backend.interpreter.control import TERMINATORS
from tileverify.checker import STEPS
from tileverify.checker.steps_tiles import one_function
from tileverify.equality.decision_points import NATURES
from tileverify.equality.op_rules import RULES as RESIDUES
from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.declaration import _plain_assembly
from tileverify.frontend.bytecode.model import Module
from tileverify.frontend.bytecode.optable import BY_NAME, OPERATIONS, OpDeclaration
from tileverify.frontend.bytecode.traverse import walk
from tileverify.frontend.bytecode.wellformed import RULES as TYPED
from tileverify.frontend.symbolic.execute import RULES as SYMBOLIC
from tileverify.frontend.symbolic.open_rules import RULES as OPEN
from tileverify.frontend.symbolic.tiles import not_followed

MISSING: Final = "-"
SEVERAL_DEVICES: Final = "memory of several devices: such kernels are read by the executor alone"
OF_TRITON: Final = "made by the translation of Triton IR alone"
OUTSIDE: Final = "a call into code outside of the module (preview): what a launch declares of it takes its place"
WITHOUT: Final[Mapping[str, Mapping[str, str]]] = {
    "multimem_load_reduce_view_tko": {"checker": SEVERAL_DEVICES},
    "multimem_reduce_view_tko": {"checker": SEVERAL_DEVICES},
    "multimem_store_view_tko": {"checker": SEVERAL_DEVICES},
    "opaque": {"compiled": OF_TRITON},
    "preview$call": dict.fromkeys(("interpreter", "checker", "sample", "compiled"), OUTSIDE),
}
"""By op and column, why nothing is there."""


def ops_of(modules: Iterable[Module]) -> frozenset[str]:
    return frozenset(op.name for module in modules for entry in module.entries for op in walk(entry.body))


def row(op: OpDeclaration, sampled: frozenset[str], compiled: frozenset[str]) -> dict[str, str]:
    """What each part has of one op; what a column says is explained above the table."""
    return {
        "op": op.name,
        "since": f"13.{op.since[1]}",
        "typing": op.typing if op.typing in TYPED else MISSING,
        "algebra": op.algebra or "",
        "assembly": "plain" if op.assembly == _plain_assembly(op.operands) else "own",
        "symbolic": _kind(op.name, SYMBOLIC, not_followed),
        "poison": _poison(op),
        "interpreter": "control" if op.regions or op.terminator else _kind(op.name, INTERPRETED),
        "checker": _kind(op.name, STEPS, one_function),
        "residues": NATURES[op.name].name.lower() if op.name in NATURES else MISSING,
        "sample": "yes" if op.name in sampled else MISSING,
        "compiled": "yes" if op.name in compiled else MISSING,
    }


def _kind(name: str, rules: Mapping[str, object], any_value: object = None) -> str:
    if name not in rules:
        return MISSING
    return "any value" if rules[name] is any_value else "rule"


def _poison(op: OpDeclaration) -> str:
    if op.name not in SYMBOLIC:
        return MISSING
    if op.name in OPEN:
        return "rule"
    return "control" if op.regions or op.terminator else "access" if op.address else "operands"


def table() -> list[dict[str, str]]:
    sampled = ops_of(sample(name, version) for name, version in samples())
    compiled = ops_of(decode(file.read_bytes()) for file in FILES)
    return [row(op, sampled, compiled) for op in OPERATIONS]


HEAD: Final = """\
typing       the rule of rules_*.py that its types obey
algebra      what its declaration says it computes, for those that ask for laws
assembly     plain: its operands and its result types
symbolic     rule: a term; any value: the same one for equal operands, nothing else is known of it
poison       operands: undefined where an operand is; rule: of open_rules.py
interpreter  rule: of the table; control: of control.py
checker      as symbolic, written again
residues     its nature in equality/decision_points.py
sample       tests/frontend/bytecode/samples.py has it
compiled     a compiler's file in tests/frontend/bytecode/data has it
"""


def test_what_each_part_has_of_an_op(golden: str) -> None:
    rows = table()
    rows = [{column: column for column in rows[0]}, *rows]
    widths = {column: max(len(each[column]) for each in rows) for column in rows[0]}
    lines = ("  ".join(text.ljust(widths[column]) for column, text in each.items()).rstrip() for each in rows)
    assert HEAD + "\n" + "\n".join(lines) + "\n" == golden


def test_what_is_missing_has_a_reason() -> None:
    gaps = {
        each["op"]: missing
        for each in table()
        if (missing := {column for column, text in each.items() if text == MISSING})
    }
    assert gaps == {name: set(reasons) for name, reasons in WITHOUT.items()}


def test_no_part_knows_an_op_that_is_not_declared() -> None:
    for rules in (SYMBOLIC, OPEN, INTERPRETED, STEPS, NATURES, RESIDUES):
        assert rules.keys() <= BY_NAME.keys()
    assert {op.name for op in OPERATIONS if op.terminator} == TERMINATORS
