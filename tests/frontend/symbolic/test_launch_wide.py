"""Launch-wide values: every one that the executor claims, compared between the blocks of random programs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import tileverify.frontend.symbolic as package
from tileverify.contract.launch import ConcreteArray, ConcreteLaunch, EntryParameter, Role
from tileverify.contract.terms import Function, Scope, Term, launch_wide
from tileverify.contract.terms.launch_wide import Opaque, opaque
from tileverify.frontend.bytecode import decode, encode
from tileverify.frontend.bytecode.builder import I32, ModuleBuilder, pointer, tile
from tileverify.frontend.bytecode.model import Module
from tileverify.frontend.symbolic import execute, loops, machine, memory, pointers, recurrences, tiles, values
from tileverify.frontend.symbolic.values import SymbolicValue

from ...profiles import tries
from .agreement import Outcome, OutOfReach, compare
from .launch_wide import Compared, Disagreement, compare_blocks
from .wider_programs import WiderProgramMaker

pytestmark = pytest.mark.random

PROGRAMS = tries(short=9, long=120)
MOST_PROGRAMS = 200
GRIDS = ((3, 1, 1), (2, 2, 1), (1, 2, 2))


def compared(seed: int) -> Compared:
    module, parameters, launch = WiderProgramMaker(seed).make()
    return compare_blocks(module, parameters, replace(launch, grid=GRIDS[seed % len(GRIDS)]))


@pytest.mark.parametrize("chunk", range(8))
def test_blocks_agree_on_what_is_launch_wide(chunk: int) -> None:
    outcomes = [compared(seed) for seed in range(chunk * PROGRAMS, (chunk + 1) * PROGRAMS)]
    assert sum(outcome.opaque for outcome in outcomes) > 6 * PROGRAMS
    assert sum(outcome.terms for outcome in outcomes) > 60 * PROGRAMS


@pytest.mark.parametrize("chunk", range(4))
def test_wider_programs_touch_what_their_summary_says(chunk: int) -> None:
    total = Outcome()
    for seed in range(chunk * PROGRAMS, (chunk + 1) * PROGRAMS):
        module, parameters, launch = WiderProgramMaker(seed).make()
        try:
            outcome = compare(module, module.entries[0], parameters, launch, budget=1 << 22)
        except OutOfReach:
            continue
        total.blocks += outcome.blocks
        total.accesses += outcome.accesses
    assert total.blocks
    assert total.accesses


# ------------------------------------------------------------------------------------- the flaws it must find
def _moved_whatever_the_index(patch: pytest.MonkeyPatch) -> None:
    """`extract` at an index that differs between blocks gives what the tile was."""
    plain = values.move
    patch.setattr(tiles, "move", lambda value, at: value if isinstance(value, Opaque) else plain(value, at))


def _chosen_whatever_the_condition(patch: pytest.MonkeyPatch) -> None:
    """Of two launch-wide values the blocks choose the same one."""
    plain = values.choose

    def choose(condition: Term, then: SymbolicValue, otherwise: SymbolicValue) -> SymbolicValue:
        both = isinstance(then, Opaque) and isinstance(otherwise, Opaque)
        return opaque(then, otherwise) if both else plain(condition, then, otherwise)

    for module in (tiles, execute, loops):
        patch.setattr(module, "choose", choose)


def _carried_as_it_began(patch: pytest.MonkeyPatch) -> None:
    """A loop hands on what it was given."""
    patch.setattr(loops, "OWN", opaque())


def _carried_alike_by_all(patch: pytest.MonkeyPatch) -> None:
    """What a loop carries is the same in all blocks, whatever it began with and whatever is added."""
    patch.setattr(recurrences, "carried_alike", lambda carried, iteration, around: frozenset(carried))


def _carried_alike_if_begun_alike(patch: pytest.MonkeyPatch) -> None:
    """Nobody looks at what iterations hand on."""
    plain = launch_wide.carried_alike

    def alike(carried: Mapping[Function, tuple[Term, Term]], k: Term, around: Collection[Term]) -> frozenset[Function]:
        return plain({function: (init, init) for function, (init, _) in carried.items()}, k, around)

    patch.setattr(recurrences, "carried_alike", alike)


def _own_memory_as_the_launch_left_it(patch: pytest.MonkeyPatch) -> None:
    """What nobody writes is the same for all, also memory that a block makes for itself."""
    patch.setattr(memory, "_stable", lambda m, op, origin: not m.written.may_write(origin))


def _own_memory_at_one_address(patch: pytest.MonkeyPatch) -> None:
    plain = Function
    patch.setattr(pointers, "Function", lambda name, scope, *range: plain(name, Scope.LAUNCH, *range))


def _made_of_nothing(patch: pytest.MonkeyPatch) -> None:
    """A result whose operands nobody looked at."""
    patch.setattr(machine, "opaque", lambda *made_from: opaque())
    patch.setattr(machine, "scope_of", lambda *made_from: Scope.LAUNCH)


def _reduced_without_operands(patch: pytest.MonkeyPatch) -> None:
    plain = machine.SymbolicExecutor.unknown
    unknown = partial(lambda plain, m, op, value, **rest: plain(m, op, value, **{"made_from": (), **rest}), plain)
    patch.setattr(machine.SymbolicExecutor, "unknown", lambda m, op, value, **rest: unknown(m, op, value, **rest))


@pytest.mark.parametrize(
    "flaw",
    [
        _moved_whatever_the_index,
        _chosen_whatever_the_condition,
        _carried_as_it_began,
        _own_memory_as_the_launch_left_it,
        _own_memory_at_one_address,
        _made_of_nothing,
        _reduced_without_operands,
    ],
)
def test_flaws_show(flaw: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    flaw(monkeypatch)
    with pytest.raises(Disagreement):
        all(compared(seed) for seed in range(MOST_PROGRAMS))


# ---------------------------------------------------------------------------------------- what a loop carries
def squares(added: str) -> tuple[Module, tuple[EntryParameter, ...], ConcreteLaunch]:
    """Four iterations of ``v = v * v + added``, for which there is no closed form, from 1 on."""
    builder = ModuleBuilder((13, 4))
    with builder.entry("squares", [tile(pointer(I32))]) as f:
        number = {"bid": f.op("get_tile_block_id")[0], "one": f.constant(tile(I32), 1)}
        zero, four = f.constant(tile(I32), 0), f.constant(tile(I32), 4)
        with f.for_(zero, four, number["one"], [number["one"]]) as body:
            number["k"], value = body.arguments
            square = f.op("muli", lhs=value, rhs=value)
            f.op("continue", args=[f.op("addi", lhs=square, rhs=number[added])])
        f.op("return")
    launch = ConcreteLaunch((3, 1, 1), {"a": ConcreteArray("i32", (8,), (1,), {})}, {})
    return decode(encode(builder.build())), (EntryParameter(Role.POINTER, "a"),), launch


def test_carried_values_that_are_alike_are_said_to_be() -> None:
    plain, alike = compare_blocks(*squares("bid")), compare_blocks(*squares("k"))
    assert alike.terms > plain.terms


@pytest.mark.parametrize("flaw", [_carried_alike_by_all, _carried_alike_if_begun_alike])
def test_carried_values_that_differ_show(
    flaw: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    compare_blocks(*squares("bid"))
    flaw(monkeypatch)
    with pytest.raises(Disagreement):
        compare_blocks(*squares("bid"))


# ------------------------------------------------------------------------------------------------- one place
def test_one_module_decides() -> None:
    """Who else wrote `Scope.LAUNCH`, or made an `Opaque`, would decide for himself what is the same in all blocks."""
    here = Path(launch_wide.__file__).resolve()
    deciding = []
    for path in sorted(Path(package.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            scope = isinstance(node, ast.Attribute) and node.attr == "LAUNCH"
            making = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Opaque"
            if isinstance(node, ast.expr) and (scope or making) and path.resolve() != here:
                deciding.append(f"{path.name}:{node.lineno}")
    assert deciding == []
