"""Token ops: they touch no memory, they only pass on what their tokens wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...frontend.bytecode.model import Op
from .values import Token

if TYPE_CHECKING:
    from .machine import BlockRun, Rule


def _make(run: BlockRun, op: Op) -> Token:
    return Token(0)


def _join(run: BlockRun, op: Op) -> Token:
    waits = 0
    for value in op.group("tokens"):
        token = run.values[value]
        assert isinstance(token, Token)
        waits |= token.waits
    return Token(waits)


def _pass(run: BlockRun, op: Op) -> Token:
    return Token(run.waits(op))


def _fence(run: BlockRun, op: Op) -> Token:
    return Token(run.waits(op, "s"))


RULES: Final[dict[str, Rule]] = {
    "make_token": _make,
    "join_tokens": _join,
    "gdc_wait_tko": _pass,
    "gdc_launch_dependents_tko": _pass,
    "memory_fence_alias_tko": _fence,
}
