"""Every attribute and flag of every op that has a rule of its own on exact numbers is named by it, or ignored for a
reason.  Rules that are the interpreter's are looked at where that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import getclosurevars
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Final

from tileverify.backend.interpreter.control import RULES as MACHINE
from tileverify.backend.interpreter.values import Tile
from tileverify.equality import op_rules
from tileverify.equality.op_rules import RULES
from tileverify.frontend.bytecode.declaration import AttributeDeclaration, FlagDeclaration, OpDeclaration
from tileverify.frontend.bytecode.optable import OPERATIONS

if TYPE_CHECKING:
    from tileverify.backend.interpreter.machine import BlockInterpreter
    from tileverify.frontend.bytecode.model import Op

ROUNDING: Final = "rounding, and what is so small that formats drop it, are no part of real arithmetic"
HINT: Final = "a hint to the compiler, which changes no result"
PROVED: Final = "which orders there are is the proof's; over them all the result is one, or not decided"
REFUSED: Final = "the op is not decided"
_ACCESSES: Final = ("load_ptr_tko", "store_ptr_tko", "load_view_tko", "store_view_tko")
_ATOMICS: Final = ("atomic_cas_tko", "atomic_rmw_tko", "atomic_red_view_tko")
_MULTIMEM: Final = ("multimem_load_reduce_view_tko", "multimem_reduce_view_tko", "multimem_store_view_tko")
IGNORED: Final[dict[str, str]] = {
    **{f"{op}.rnd": ROUNDING for op in (
        "exp", "sqrt", "tanh", "addf", "subf", "mulf", "divf", "fma", "ftof", "ftoi", "itof",
    )},
    **{f"{op}.{part}": PROVED for op in (*_ACCESSES, *_ATOMICS) for part in ("ord", "scope")},
    **{f"{op}.hints": HINT for op in _ACCESSES},
    **{f"{op}.{part}": REFUSED for op in _MULTIMEM for part in ("ord", "scope", "inbounds")},
    "multimem_load_reduce_view_tko.red": REFUSED, "multimem_reduce_view_tko.red": REFUSED,
    "mmaf.fast_acc": ROUNDING,
    "assume.pred": "of floats; what is assumed is a promise that the proof has kept",
    "print_tko.str": "text for the host",
}  # fmt: skip


def named(rule: object) -> set[str]:
    """The strings in the code of functions that a rule consists of and that have its op at hand."""
    found: set[str] = set()
    done: set[CodeType] = set()
    waiting = [rule]
    while waiting:
        function = waiting.pop()
        if isinstance(function, dict):
            waiting += function.values()
        if not isinstance(function, FunctionType) or not function.__module__.startswith(("tileverify.", __name__)):
            continue
        if function.__code__ in done:
            continue
        done.add(function.__code__)
        every = list(_codes(function.__code__))
        if any("op" in (*code.co_varnames, *code.co_freevars) for code in every):
            found |= {text for code in every for text in _texts(code.co_consts)}
        names = {name for code in every for name in code.co_names}
        waiting += [value for name in names if not _is_table(value := function.__globals__.get(name))]
        waiting += getclosurevars(function).nonlocals.values()
    return found


def _is_table(value: object) -> bool:
    """Of all rules, not of some."""
    return value is RULES or value is MACHINE


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _texts(constants: tuple[object, ...]) -> Iterator[str]:
    for each in constants:
        if isinstance(each, str):
            yield each
        elif isinstance(each, tuple):
            yield from _texts(each)


def _parts(op: OpDeclaration) -> tuple[AttributeDeclaration | FlagDeclaration, ...]:
    return (*op.attributes, *op.flags)


def ignored(rules: dict[str, Callable[..., object]]) -> set[str]:
    """Attributes and flags, as ``op.part``, that no rule names; not flags that announce operands."""
    return {
        f"{op.name}.{part.name}"
        for op in OPERATIONS
        if op.name in rules
        for part in _parts(op)
        if part.name not in {operand.name for operand in op.operands} | named(rules[op.name])
    }


OWN: Final[dict[str, Callable[..., object]]] = {
    name: rule for name, rule in RULES.items() if rule is not MACHINE.get(name)
}


def test_what_is_ignored_has_a_reason() -> None:
    assert ignored(OWN) == IGNORED.keys()


def test_what_a_rule_stops_reading_is_found() -> None:
    """Each with less than the rule that is there: whether NaN wins, the kind of comparison, the axis."""

    def blind(run: BlockInterpreter, op: Op) -> Tile:
        return run.tile(op, "lhs")

    assert ignored({"maxf": blind}) - IGNORED.keys() == {"maxf.nan", "maxf.ftz"}
    assert ignored({"cmpf": blind}) == {"cmpf.pred", "cmpf.fcmp"}
    assert {"reduce.dim", "scan.reverse"} <= ignored({"reduce": blind, "scan": blind})
    assert op_rules.RULES["maxf"] is OWN["maxf"]
