"""Loops, branches, exits, and what stops a run."""

from __future__ import annotations

import pytest

from tileverify.backend.interpreter import Budget, BudgetSpent, Memory, NotModelled, bind_launch, run_block
from tileverify.backend.interpreter.values import EndlessLoop, UndefinedStop
from tileverify.frontend.bytecode.builder import I1, I8, I32, BodyBuilder, pointer, tile
from tileverify.frontend.bytecode.model import Value

from .helpers import array, hand_made, launch, pointers, run_ops, single

S = tile(I32)


def number(f: BodyBuilder, value: int) -> Value:
    return f.constant(S, value)


def counted(f: BodyBuilder, lower: int, upper: int, step: int, unsigned: bool = False) -> Value:
    """The number of iterations, plus 100 times the last counter."""
    bounds = number(f, lower), number(f, upper), number(f, step)
    with f.for_(*bounds, inits=[number(f, 0), number(f, 0)], unsigned=unsigned) as loop:
        i, count, _ = loop.arguments
        f.op("continue", args=[f.op("addi", lhs=count, rhs=number(f, 1)), i])
    scaled = f.op("muli", lhs=loop.results[1], rhs=number(f, 100))
    value: Value = f.op("addi", lhs=loop.results[0], rhs=scaled)
    return value


@pytest.mark.parametrize(
    ("bounds", "result"),
    [
        ((0, 10, 3), 4 + 900),
        ((5, 5, 1), 0),
        ((6, 5, 1), 0),
        ((-3, 2, 2), 3 + 100),
        (((1 << 31) - 3, (1 << 31) - 1, 2), 1 + 100 * ((1 << 31) - 3)),
    ],
)
def test_for(bounds: tuple[int, int, int], result: int) -> None:
    assert single(lambda f: counted(f, *bounds)) == result & 0xFFFFFFFF


def test_for_with_unsigned_bounds() -> None:
    assert single(lambda f: counted(f, 5, -1, 1 << 30, unsigned=True)) == (4 + 100 * (5 + 3 * (1 << 30))) & 0xFFFFFFFF
    assert single(lambda f: counted(f, 5, -1, 1)) == 0


@pytest.mark.parametrize("step", [0, -1])
def test_a_loop_must_step_forward(step: int) -> None:
    with pytest.raises(UndefinedStop):
        run_ops(lambda f: counted(f, 0, 4, step))


def test_loop_breaks_out_of_branches() -> None:
    """Doubles until above 100; ``continue`` and ``break`` stand inside an ``if``."""

    def build(f: BodyBuilder) -> Value:
        with f.loop([number(f, 3)]) as loop:
            (value,) = loop.arguments
            big = f.op("cmpi", lhs=value, rhs=number(f, 100), pred="greater_than", sgn="signed")
            with f.if_(big) as branch:
                with branch.then():
                    f.op("break", args=[value])
                with branch.otherwise():
                    f.op("yield", args=[])
            f.op("continue", args=[f.op("addi", lhs=value, rhs=value)])
        return loop.results[0]

    assert single(build) == 192


def test_early_return() -> None:
    def build(f: BodyBuilder) -> None:
        (out,) = f.parameters
        with f.if_(f.constant(tile(I1), 1)) as branch, branch.then():
            f.op("return")
        f.op("store_ptr_tko", ptr=out, val=f.constant(tile(I8), 1))

    module, entry = hand_made([tile(pointer(I8))], build)
    bound = bind_launch(module, entry, pointers("out"), launch((1, 1, 1), out=array("i8", 4)))
    log = run_block(bound.program, bound.arguments, Memory(bound.image), (1, 1, 1), (0, 0, 0), Budget(1 << 20))
    assert (log.stopped, log.accesses) == (None, [])


def test_an_endless_loop_spends_its_budget() -> None:
    def build(f: BodyBuilder) -> None:
        f.op("store_ptr_tko", ptr=f.parameters[0], val=f.constant(tile(I8), 1))
        with f.loop([number(f, 0)]) as loop:
            f.op("continue", args=[f.op("addi", lhs=loop.arguments[0], rhs=number(f, 1))])

    module, entry = hand_made([tile(pointer(I8))], build)
    bound = bind_launch(module, entry, pointers("out"), launch((1, 1, 1), out=array("i8", 4)))
    log = run_block(bound.program, bound.arguments, Memory(bound.image), (1, 1, 1), (0, 0, 0), Budget(1 << 20))
    assert isinstance(log.stopped, BudgetSpent)
    assert len(log.accesses) == 1


def test_iterations_without_ops_spend_the_budget() -> None:
    def build(f: BodyBuilder) -> None:
        bounds = number(f, 0), number(f, (1 << 31) - 1), number(f, 1)
        with f.for_(*bounds, inits=[number(f, 0), number(f, 1)]) as loop:
            _, left, right = loop.arguments
            f.op("continue", args=[right, left])

    module, entry = hand_made([tile(pointer(I8))], build)
    bound = bind_launch(module, entry, pointers("out"), launch((1, 1, 1), out=array("i8", 4)))
    log = run_block(bound.program, bound.arguments, Memory(bound.image), (1, 1, 1), (0, 0, 0), Budget(1 << 16))
    assert isinstance(log.stopped, BudgetSpent)


def test_a_loop_that_changes_nothing_is_endless() -> None:
    def build(f: BodyBuilder) -> Value:
        with f.loop([number(f, 5)]) as loop:
            f.op("continue", args=[f.op("addi", lhs=loop.arguments[0], rhs=number(f, 0))])
        return number(f, 0)

    with pytest.raises(EndlessLoop, match="waits for another block"):
        run_ops(build)


def test_what_is_not_modelled_says_so() -> None:
    with pytest.raises(NotModelled, match="4-bit"):
        run_ops(lambda f: f.op("load_ptr_tko", ptr=_four_bit_local(f))[0])


def _four_bit_local(f: BodyBuilder) -> Value:
    from tileverify.frontend.bytecode.builder import scalar

    made: Value = f.op("alloca", num_elem=4, align=4, results=[tile(pointer(scalar("i4")))])
    return made
