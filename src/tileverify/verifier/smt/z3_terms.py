"""Expressions of one Z3 context, made and read through the C interface.

The wrappers of the `z3` module look at the sort of every operand and count references in Python, which costs several
times what Z3 itself takes; a kernel's questions are made of thousands of small expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import z3
from z3 import z3core

Expression: TypeAlias = z3core.Ast
"""A handle of the C interface; valid as long as the `Expressions` that gave it."""

_INT64: Final = range(-(2**63), 2**63)


class Expressions:
    """Makes expressions of integers and booleans, and keeps all that it made."""

    def __init__(self, context: z3.Context) -> None:
        self._owner = context
        self._context = context.ref()
        self._kept = z3.AstVector(ctx=context)
        self._vector = self._kept.vector
        self._int = z3.IntSort(context)
        self._bool = z3.BoolSort(context)
        self._numbers: dict[int, Expression] = {}
        self._functions: list[z3.FuncDeclRef] = []

    def _keep(self, made: Expression) -> Expression:
        z3core.Z3_ast_vector_push(self._context, self._vector, made)
        return made

    # ------------------------------------------------------------------------------------------ leaves
    def number(self, value: int) -> Expression:
        found = self._numbers.get(value)
        if found is None:
            sort = self._int.ast
            if value in _INT64:
                made = z3core.Z3_mk_int64(self._context, value, sort)
            else:
                made = z3core.Z3_mk_numeral(self._context, str(value), sort)
            found = self._numbers[value] = self._keep(made)
        return found

    def truth(self, value: bool) -> Expression:
        return self._keep((z3core.Z3_mk_true if value else z3core.Z3_mk_false)(self._context))

    def symbol(self, name: str, *, boolean: bool) -> Expression:
        sort = self._bool if boolean else self._int
        return self._keep(z3core.Z3_mk_const(self._context, z3core.Z3_mk_string_symbol(self._context, name), sort.ast))

    def function(self, name: str, arity: int, *, boolean: bool = False) -> Callable[..., Expression]:
        """A function of ``arity`` integers."""
        declared = z3.Function(name, *[self._int] * arity, self._bool if boolean else self._int)
        self._functions.append(declared)

        def call(*args: Expression) -> Expression:
            return self._keep(z3core.Z3_mk_app(self._context, declared.ast, arity, (z3.Ast * arity)(*args)))

        return call

    # ------------------------------------------------------------------------------------------ operations
    def add(self, *args: Expression) -> Expression:
        return self._many(z3core.Z3_mk_add, args)

    def sub(self, a: Expression, b: Expression) -> Expression:
        return self._many(z3core.Z3_mk_sub, (a, b))

    def mul(self, a: Expression, b: Expression) -> Expression:
        return self._many(z3core.Z3_mk_mul, (a, b))

    def and_(self, *args: Expression) -> Expression:
        return self._many(z3core.Z3_mk_and, args)

    def or_(self, *args: Expression) -> Expression:
        return self._many(z3core.Z3_mk_or, args)

    def div(self, a: Expression, b: Expression) -> Expression:
        return self._keep(z3core.Z3_mk_div(self._context, a, b))

    def mod(self, a: Expression, b: Expression) -> Expression:
        return self._keep(z3core.Z3_mk_mod(self._context, a, b))

    def lt(self, a: Expression, b: Expression) -> Expression:
        return self._keep(z3core.Z3_mk_lt(self._context, a, b))

    def le(self, a: Expression, b: Expression) -> Expression:
        return self._keep(z3core.Z3_mk_le(self._context, a, b))

    def ge(self, a: Expression, b: Expression) -> Expression:
        return self._keep(z3core.Z3_mk_ge(self._context, a, b))

    def eq(self, a: Expression, b: Expression) -> Expression:
        return self._keep(z3core.Z3_mk_eq(self._context, a, b))

    def not_(self, a: Expression) -> Expression:
        return self._keep(z3core.Z3_mk_not(self._context, a))

    def ite(self, condition: Expression, then: Expression, otherwise: Expression) -> Expression:
        return self._keep(z3core.Z3_mk_ite(self._context, condition, then, otherwise))

    def _many(self, operation: Callable[..., Expression], args: Sequence[Expression]) -> Expression:
        count = len(args)
        return self._keep(operation(self._context, count, (z3.Ast * count)(*args)))

    # ------------------------------------------------------------------------------------------ use
    def constrain(self, solver: z3.Solver, expression: Expression) -> None:
        z3core.Z3_solver_assert(self._context, solver.solver, expression)

    def number_in(self, model: z3.ModelRef, expression: Expression) -> int:
        """The value of an integer expression; what the model leaves open is 0."""
        return int(z3core.Z3_get_numeral_string(self._context, self._value(model, expression)))

    def truth_in(self, model: z3.ModelRef, expression: Expression) -> bool:
        """The value of a boolean expression; what the model leaves open is false."""
        value = z3core.Z3_get_bool_value(self._context, self._value(model, expression))
        return bool(value == z3.Z3_L_TRUE)

    def _value(self, model: z3.ModelRef, expression: Expression) -> Expression:
        # The context itself holds what it gave last, which is read before the next call.
        found = (z3.Ast * 1)()
        if not z3core.Z3_model_eval(self._context, model.model, expression, True, found):
            raise z3.Z3Exception("failed to evaluate an expression in the model")
        return found[0]
