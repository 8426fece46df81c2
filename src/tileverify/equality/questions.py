"""What ops that are no comparisons ask of their operands (`kinks`): where the answer is yes, and who asks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from . import exact, formulas
from .field import Array
from .signs import never_negative

if TYPE_CHECKING:
    from ..backend.interpreter.machine import BlockRun
    from ..frontend.bytecode.model import Op

Asked: TypeAlias = "Callable[[BlockRun, Op], tuple[Array, Array] | None]"
"""The lanes in which the answer is yes, and those that ask it of a variable; None where nothing is asked."""


def _of_operand(yes: Callable[[Array], Array], *, beside_squares: bool = False) -> Asked:
    """``beside_squares``: nothing is asked of what is never negative."""

    def asked(run: BlockRun, op: Op) -> tuple[Array, Array] | None:
        if beside_squares and op.value("s") in never_negative(run.program.entry):
            return None
        data = run.tile(op, "s").data
        return yes(data), exact.has_variables(data)

    return asked


def _is_negative(x: Array) -> Array:
    return np.asarray(x["s"] < 0)


def _base_is_negative(run: BlockRun, op: Op) -> tuple[Array, Array] | None:
    """Of powers with exponents that are no integers."""
    exponents = run.tile(op, "rhs").data["s"]
    if op.value("lhs") in never_negative(run.program.entry) or (exponents % 1 == 0).all():
        return None
    data, broken = np.broadcast_arrays(run.tile(op, "lhs").data, exponents % 1 != 0)
    return _is_negative(data) & broken, exact.has_variables(data)


ASKED: Final[dict[str, Asked]] = {
    "absf": _of_operand(lambda x: np.asarray(x["s"] >= 0)),
    "exp": _of_operand(formulas.exp_vanishes),
    "exp2": _of_operand(formulas.exp2_vanishes),
    "fpowf": _base_is_negative,
    **dict.fromkeys(("sqrt", "rsqrt", "log", "log2"), _of_operand(_is_negative, beside_squares=True)),
}
"""Beside ops whose rules note it themselves."""
