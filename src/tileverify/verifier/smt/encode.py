"""Terms as Z3 expressions over mathematical integers.

Products of variables and quotients by variables are *uninterpreted but congruent*: ``mul(x, y)`` and ``div(x, y)``
are functions of their arguments, whose meaning enters through the lemmas of `lemmas`; so are ``bitand(x, y)`` and the
other operations on bits.  Everything else is exact:

    wrap_N(x)        ((x + 2**(N-1)) mod 2**N) - 2**(N-1)
    x // c, x % c    Z3's Euclidean div and mod, which are floor division for c > 0
    tdiv(x, y)       sign(x) * sign(y) * (|x| // |y|)
    x % y            x - y * (x // y)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import z3
from z3 import z3core

from ...contract import terms as t
from ...contract.terms import Function, Sort, Symbol, Term, TermKind
from ...contract.terms.bits import OPERATIONS
from ..obligations.lemmas import products_in_sums
from ..obligations.simplify import is_opaque_quotient, split_product


class Encoder:
    """Translates terms, once each for the life of the encoder.

    ``exact_products``: translate products and quotients with the solver's own non-linear arithmetic.

    A translation alone says nothing about the range of its symbols: `carriers` names the subterms that carry such
    facts and `facts` gives them, so that the solver can assert and retract them with the terms.
    """

    def __init__(self, context: z3.Context, *, exact_products: bool = False) -> None:
        self.exact_products = exact_products
        self.made = Expressions(context)
        self._memo: dict[Term, Expression] = {}
        self._facts: dict[Term, list[Expression]] = {}
        self._carriers: dict[Term, tuple[Term, ...]] = {}
        self._coefficients: dict[Term, tuple[tuple[Term, int], ...]] = {}
        self._functions: dict[str, Callable[..., Expression]] = {}
        self._mul = self.made.function("mul", 2)
        self._div = self.made.function("div", 2)
        self._direct = _direct(self.made)

    def __call__(self, term: Term) -> Expression:
        memo = self._memo
        found = memo.get(term)
        if found is not None:
            return found
        for sub in t.postorder(term, memo):
            memo[sub] = self._encode(sub, [memo[a] for a in sub.args])
        return memo[term]

    def carriers(self, term: Term) -> tuple[Term, ...]:
        """The symbols, products, quotients and operations on bits in ``term``."""
        found = self._carriers.get(term)
        if found is None:
            found = tuple([sub for sub in t.postorder(term) if sub.kind in _CARRIERS])
            self._carriers[term] = found
        return found

    def coefficients(self, term: Term) -> tuple[tuple[Term, int], ...]:
        """The products in ``term`` that occur in sums, with their coefficients there."""
        found = self._coefficients.get(term)
        if found is None:
            products = any(carrier.kind is TermKind.PRODUCT for carrier in self.carriers(term))
            found = tuple(dict.fromkeys(products_in_sums(term))) if products else ()
            self._coefficients[term] = found
        return found

    def facts(self, carrier: Term) -> list[Expression]:
        """What holds of a carrier in every model: its range, and that products commute."""
        self(carrier)
        return self._facts.get(carrier, [])

    def _encode(self, term: Term, args: list[Expression]) -> Expression:
        made = self.made
        match term.kind:
            case TermKind.CONST:
                return made.number(term.payload)
            case TermKind.TRUE | TermKind.FALSE:
                return made.truth(term is t.TRUE)
            case TermKind.VAR:
                return self._variable(term)
            case TermKind.APPLY:
                return self._application(term, args)
            case TermKind.SUM:
                constant, coefficients = term.payload
                pieces = [a if c == 1 else made.mul(made.number(c), a) for c, a in zip(coefficients, args, strict=True)]
                return made.add(*pieces, made.number(constant)) if constant else made.add(*pieces)
            case TermKind.PRODUCT:
                return self._product(term)
            case TermKind.DIV:
                return self._quotient(term, args)
            case TermKind.WRAP:
                half = 1 << (term.payload - 1)
                shifted = made.add(args[0], made.number(half))
                return made.sub(made.mod(shifted, made.number(2 * half)), made.number(half))
            case TermKind.BITAND | TermKind.BITOR | TermKind.BITXOR | TermKind.SHL | TermKind.SHR:
                return self._on_bits(term, args)
        return self._direct[term.kind](*args)

    def _variable(self, term: Term) -> Expression:
        symbol = term.symbol
        expression = self.made.symbol(_solver_name(symbol), boolean=symbol.sort is Sort.BOOL)
        self._range(term, expression, symbol.low, symbol.high)
        return expression

    def _application(self, term: Term, args: list[Expression]) -> Expression:
        function, made = term.function, self.made
        name, boolean = f"{_solver_name(function)}/{len(args)}", function.sort is Sort.BOOL
        # Boolean arguments are passed as 0/1, so that one signature serves.
        numbers = [
            made.ite(a, made.number(1), made.number(0)) if arg.sort is Sort.BOOL else a
            for arg, a in zip(term.args, args, strict=True)
        ]
        if not args:
            expression = made.symbol(name, boolean=boolean)
        else:
            if name not in self._functions:
                self._functions[name] = made.function(name, len(args), boolean=boolean)
            expression = self._functions[name](*numbers)
        self._range(term, expression, function.low, function.high)
        return expression

    def _range(self, term: Term, expression: Expression, low: int | None, high: int | None) -> None:
        facts = self._facts.setdefault(term, [])
        if low is not None:
            facts.append(self.made.ge(expression, self.made.number(low)))
        if high is not None:
            facts.append(self.made.le(expression, self.made.number(high)))

    def _product(self, term: Term) -> Expression:
        x, y = split_product(term)
        a, b = self(x), self(y)
        if self.exact_products:
            return self.made.mul(a, b)
        expression = self._mul(a, b)
        self._facts[term] = [self.made.eq(expression, self._mul(b, a))]
        self._range(term, expression, term.low, term.high)
        return expression

    def _on_bits(self, term: Term, args: list[Expression]) -> Expression:
        name = term.kind.value
        if name not in self._functions:
            self._functions[name] = self.made.function(name, 2)
        expression = self._functions[name](*args)
        self._range(term, expression, term.low, term.high)
        return expression

    def _quotient(self, term: Term, args: list[Expression]) -> Expression:
        a, b = args
        if not is_opaque_quotient(term):
            return self.made.div(a, b)
        expression = self._div(a, b)
        self._range(term, expression, term.low, term.high)
        return expression


def _solver_name(symbol: Symbol | Function) -> str:
    """A name that no other symbol has: a size may be called ``l0``, as a lane is."""
    return f"{symbol.name} {symbol.sort.value} {symbol.scope.value} [{symbol.low}..{symbol.high}]"


_CARRIERS = frozenset({TermKind.VAR, TermKind.APPLY, TermKind.PRODUCT, TermKind.DIV}) | OPERATIONS


def _direct(made: Expressions) -> dict[TermKind, Callable[..., Expression]]:
    return {
        TermKind.MOD: made.mod,
        TermKind.MIN: lambda a, b: made.ite(made.le(a, b), a, b),
        TermKind.MAX: lambda a, b: made.ite(made.ge(a, b), a, b),
        TermKind.ITE: made.ite,
        TermKind.NOT: made.not_,
        TermKind.AND: made.and_,
        TermKind.OR: made.or_,
        TermKind.LT: made.lt,
        TermKind.LE: made.le,
        TermKind.EQ: made.eq,
        TermKind.IFF: made.eq,
    }


# ------------------------------------------------------------------------------------------------------------- z3 terms
# Expressions of one Z3 context, made and read through the C interface.
#
# The wrappers of the `z3` module look at the sort of every operand and count references in Python, which costs several
# times what Z3 itself takes; a kernel's questions are made of thousands of small expressions.


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
