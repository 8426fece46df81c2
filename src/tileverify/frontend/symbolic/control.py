"""Rules for branches, terminators, block ids and the ops that only the host sees."""

from __future__ import annotations

from typing import Final

from ...contract.terms import FALSE, Term, ite, not_
from ...contract.variables import BID, GRID
from ..bytecode.model import Op
from .machine import Exit, Machine, Rule, shape_of
from .tokens import EMPTY, Token, join
from .values import SymbolicValue, choose


def block_id(m: Machine, op: Op) -> tuple[Term, ...]:
    return BID


def grid(m: Machine, op: Op) -> tuple[Term, ...]:
    return GRID


def branch(m: Machine, op: Op) -> tuple[SymbolicValue, ...]:
    """Both sides under their condition.

    What follows runs where the side that was taken reached its end; a side that left (``return``, ``continue``,
    ``break``) only narrows the path.
    """
    condition = m.term(op.value("c"))
    sides: list[tuple[Term, tuple[SymbolicValue, ...]]] = []
    for taken, region in ((condition, op.regions[0]), (not_(condition), op.regions[1])):
        values: tuple[SymbolicValue, ...] | None = None
        live = FALSE
        if taken is not FALSE:
            with m.branch(taken) as side:
                values = m.run(region.blocks[0]) if region.blocks else ()
            live = side.live
        sides.append((FALSE, ()) if values is None else (live, values))
    (then_live, then_values), (else_live, else_values) = sides
    m.narrow(ite(condition, then_live, else_live))
    if then_live is FALSE or else_live is FALSE:
        return else_values if then_live is FALSE else then_values
    return tuple(choose(condition, a, b) for a, b in zip(then_values, else_values, strict=True))


def _operands(m: Machine, op: Op) -> tuple[SymbolicValue, ...]:
    return tuple(m.value(value) for value in op.group("args"))


def finish_region(m: Machine, op: Op) -> tuple[SymbolicValue, ...]:
    return _operands(m, op)


def next_iteration(m: Machine, op: Op) -> None:
    m.exits.continues.append(Exit(m.inside, _operands(m, op), m.bounds))
    m.stop()


def leave_loop(m: Machine, op: Op) -> None:
    m.exits.breaks.append(Exit(m.inside, _operands(m, op), m.bounds))
    m.stop()


def leave_entry(m: Machine, op: Op) -> None:
    m.stop()


# ---------------------------------------------------------------------------------------- tokens, the host
def make_token(m: Machine, op: Op) -> Token:
    return EMPTY


def join_tokens(m: Machine, op: Op) -> Token:
    return join(m.token(value) for value in op.group("tokens"))


def order(m: Machine, op: Op) -> Token:
    """Grid dependency control and alias fences: they touch no memory, their token waits for what they wait for."""
    m.order_ops[op.name] = None
    return m.token(op.optional("s" if "s" in op.operands else "token"))


def check(m: Machine, op: Op) -> tuple[SymbolicValue, ...]:
    """``assert`` reports to the host and lets the kernel go on: it gives no fact.

    Where the launch trusts that a block stops at one that fails, control goes on only where its condition holds, as
    behind a ``return``: for what the program has behind it, in this iteration and, of a ``loop``, in later ones.  A
    tile of conditions gives no fact even then: there is no term for all of its lanes.
    """
    if m.entry.asserts_stop:
        operand = op.value("c")
        condition = m.term(operand)
        m.assertion(op, condition, shape_of(operand))
        if not shape_of(operand):
            m.narrow(condition)
            if condition is FALSE:
                m.stop()
    return ()


def print_text(m: Machine, op: Op) -> tuple[SymbolicValue, ...]:
    """Printing touches no memory of the program; its token waits for what it waits for."""
    return (m.token(op.optional("token")),) if op.results else ()


RULES: Final[dict[str, Rule]] = {
    "get_tile_block_id": block_id,
    "get_num_tile_blocks": grid,
    "if": branch,
    "yield": finish_region,
    "continue": next_iteration,
    "break": leave_loop,
    "return": leave_entry,
    "make_token": make_token,
    "join_tokens": join_tokens,
    "gdc_wait_tko": order,
    "gdc_launch_dependents_tko": order,
    "memory_fence_alias_tko": order,
    "assert": check,
    "print_tko": print_text,
}
