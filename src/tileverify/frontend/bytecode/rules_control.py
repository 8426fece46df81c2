"""Typing rules: structured control flow.  What terminators hand on is checked by `structure`."""

from __future__ import annotations

from .model import Op, TileType, TokenType, Type
from .wellformed import fail, mask_for, rule, scalar_integer, types_of


@rule("for")
def for_loop(op: Op) -> None:
    counter = op.value("lower").type
    scalar_integer(op.value("lower"), "the lower bound")
    if op.value("upper").type != counter or op.value("step").type != counter:
        fail("the bounds and the step differ in type")
    carried = types_of(op.group("inits"))
    _handed_on((*carried, *types_of(op.results)))
    if types_of(op.results) != carried:
        fail("results and carried values differ in type")
    _body(op, (counter, *carried))
    if op.regions[0].blocks[0].terminator.name != "continue":
        fail("the body does not end in continue")


@rule("loop")
def endless_loop(op: Op) -> None:
    _handed_on((*types_of(op.group("inits")), *types_of(op.results)))
    _body(op, types_of(op.group("inits")))
    if op.regions[0].blocks[0].terminator.name not in ("continue", "break", "return"):
        fail("the body does not end in continue, break or return")


def _handed_on(types: tuple[Type, ...]) -> None:
    """Views are known where they are used: no loop carries one, and no branch chooses one."""
    if not all(isinstance(type, TileType | TokenType) for type in types):
        fail("only tiles and tokens are handed on")


def _body(op: Op, wanted: tuple[Type, ...]) -> None:
    if not op.regions[0].blocks:
        fail("the body is empty")
    if types_of(op.regions[0].blocks[0].arguments) != wanted:
        fail("the arguments of the body do not fit the loop")


@rule("if")
def branch(op: Op) -> None:
    mask_for(op.value("c"), (), "the condition")
    _handed_on(types_of(op.results))
    then, otherwise = op.regions
    if not then.blocks:
        fail("the first region is empty")
    if not otherwise.blocks and op.results:
        fail("it has results, but no else region")
    for region in op.regions:
        if region.blocks and region.blocks[0].arguments:
            fail("its blocks take no arguments")


@rule("terminator")
def terminator(op: Op) -> None:
    if op.results:
        fail("it has results")
