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

from collections.abc import Callable

import z3

from ...frontend.symbolic import terms as t
from ...frontend.symbolic.bits import OPERATIONS
from ...frontend.symbolic.terms import Function, Kind, Sort, Symbol, Term
from ..arithmetic import is_opaque_quotient, split_product


class Encoder:
    """Translates terms, once each for the life of the encoder.

    ``exact_products``: translate products and quotients with the solver's own non-linear arithmetic.

    A translation alone says nothing about the range of its symbols: `carriers` names the subterms that carry such
    facts and `facts` gives them, so that the solver can assert and retract them with the terms.
    """

    def __init__(self, context: z3.Context, *, exact_products: bool = False) -> None:
        self.exact_products = exact_products
        self.context = context
        self._memo: dict[Term, z3.ExprRef] = {}
        self._facts: dict[Term, list[z3.BoolRef]] = {}
        self._carriers: dict[Term, tuple[Term, ...]] = {}
        self._sums: dict[Term, tuple[Term, ...]] = {}
        self._functions: dict[str, z3.FuncDeclRef] = {}
        integer = z3.IntSort(self.context)
        self._mul = z3.Function("mul", integer, integer, integer)
        self._div = z3.Function("div", integer, integer, integer)

    def __call__(self, term: Term) -> z3.ExprRef:
        memo = self._memo
        for sub in t.postorder(term, memo):
            memo[sub] = self._encode(sub, [memo[a] for a in sub.args])
        return memo[term]

    def carriers(self, term: Term) -> tuple[Term, ...]:
        """The symbols, products, quotients and operations on bits in ``term``."""
        found = self._carriers.get(term)
        if found is None:
            found = tuple(sub for sub in t.postorder(term) if sub.kind in _CARRIERS)
            self._carriers[term] = found
        return found

    def sums(self, term: Term) -> tuple[Term, ...]:
        """The linear sums in ``term`` that a product occurs in."""
        found = self._sums.get(term)
        if found is None:
            found = tuple(
                sub
                for sub in t.postorder(term)
                if sub.kind is Kind.SUM and any(a.kind is Kind.PRODUCT for a in sub.args)
            )
            self._sums[term] = found
        return found

    def facts(self, carrier: Term) -> list[z3.BoolRef]:
        """What holds of a carrier in every model: its range, and that products commute."""
        self(carrier)
        return self._facts.get(carrier, [])

    def _encode(self, term: Term, args: list[z3.ExprRef]) -> z3.ExprRef:
        match term.kind:
            case Kind.CONST:
                return z3.IntVal(term.value, self.context)
            case Kind.TRUE | Kind.FALSE:
                return z3.BoolVal(term is t.TRUE, self.context)
            case Kind.VAR:
                return self._variable(term)
            case Kind.APPLY:
                return self._application(term, args)
            case Kind.SUM:
                constant, coefficients = term.payload
                pieces = [a if c == 1 else c * a for c, a in zip(coefficients, args, strict=True)]
                return z3.Sum(*pieces, z3.IntVal(constant, self.context)) if constant else z3.Sum(*pieces)
            case Kind.PRODUCT:
                return self._product(term)
            case Kind.DIV:
                return self._quotient(term, args)
            case Kind.MOD:
                return args[0] % args[1]
            case Kind.WRAP:
                half = 1 << (term.payload - 1)
                return (args[0] + half) % (2 * half) - half
            case Kind.BITAND | Kind.BITOR | Kind.BITXOR | Kind.SHL | Kind.SHR:
                return self._on_bits(term, args)
            case Kind.IFF:
                return args[0] == args[1]
        return _DIRECT[term.kind](*args)

    def _variable(self, term: Term) -> z3.ExprRef:
        symbol = term.symbol
        make = z3.Bool if symbol.sort is Sort.BOOL else z3.Int
        expression = make(_solver_name(symbol), self.context)
        self._range(term, expression, symbol.low, symbol.high)
        return expression

    def _application(self, term: Term, args: list[z3.ExprRef]) -> z3.ExprRef:
        function = term.function
        name = f"{_solver_name(function)}/{len(args)}"
        # Boolean arguments are passed as 0/1, so that one signature serves.
        zero, one = z3.IntVal(0, self.context), z3.IntVal(1, self.context)
        numbers = [z3.If(a, one, zero) if z3.is_bool(a) else a for a in args]
        integer = z3.IntSort(self.context)
        result = z3.BoolSort(self.context) if function.sort is Sort.BOOL else integer
        if not args:
            expression: z3.ExprRef = z3.Const(name, result)
        else:
            if name not in self._functions:
                self._functions[name] = z3.Function(name, *[integer] * len(args), result)
            expression = self._functions[name](*numbers)
        self._range(term, expression, function.low, function.high)
        return expression

    def _range(self, term: Term, expression: z3.ExprRef, low: int | None, high: int | None) -> None:
        facts = self._facts.setdefault(term, [])
        if low is not None:
            facts.append(expression >= low)
        if high is not None:
            facts.append(expression <= high)

    def _product(self, term: Term) -> z3.ExprRef:
        x, y = split_product(term)
        a, b = self(x), self(y)
        if self.exact_products:
            return a * b
        expression = self._mul(a, b)
        self._facts[term] = [expression == self._mul(b, a)]
        self._range(term, expression, term.low, term.high)
        return expression

    def _on_bits(self, term: Term, args: list[z3.ExprRef]) -> z3.ExprRef:
        name = term.kind.value
        if name not in self._functions:
            integer = z3.IntSort(self.context)
            self._functions[name] = z3.Function(name, integer, integer, integer)
        expression = self._functions[name](*args)
        self._range(term, expression, term.low, term.high)
        return expression

    def _quotient(self, term: Term, args: list[z3.ExprRef]) -> z3.ExprRef:
        a, b = args
        if not is_opaque_quotient(term):
            return a / b
        expression = self._div(a, b)
        self._range(term, expression, term.low, term.high)
        return expression


def _solver_name(symbol: Symbol | Function) -> str:
    """A name that no other symbol has: a size may be called ``l0``, as a lane is."""
    return f"{symbol.name} {symbol.sort.value} {symbol.scope.value} [{symbol.low}..{symbol.high}]"


_CARRIERS = frozenset({Kind.VAR, Kind.APPLY, Kind.PRODUCT, Kind.DIV}) | OPERATIONS


_DIRECT: dict[Kind, Callable[..., z3.ExprRef]] = {
    Kind.MIN: lambda a, b: z3.If(a <= b, a, b),
    Kind.MAX: lambda a, b: z3.If(a >= b, a, b),
    Kind.ITE: z3.If,
    Kind.NOT: z3.Not,
    Kind.AND: z3.And,
    Kind.OR: z3.Or,
    Kind.LT: lambda a, b: a < b,
    Kind.LE: lambda a, b: a <= b,
    Kind.EQ: lambda a, b: a == b,
}
