"""Which products and quotients solvers are asked about: the forms that encodings and certificates agree on."""

from __future__ import annotations

from ..frontend.symbolic import terms as t
from ..frontend.symbolic.terms import Function, Kind, Scope, Term


def expand(term: Term, memo: dict[Term, Term] | None = None) -> Term:
    """Rewrite truncated division and variable remainders into floor division (the solver sees one division)."""
    return t.transform(term, _expand, memo)


def _expand(term: Term) -> Term | None:
    match term.kind:
        case Kind.TDIV:
            return _truncated(*term.args)
        case Kind.BITAND | Kind.BITOR | Kind.BITXOR | Kind.SHL | Kind.SHR:
            return _congruent(term)
        case Kind.TMOD:
            a, b = term.args
            return t.sub(a, t.mul(b, _truncated(a, b)))
        case Kind.MOD if term.args[1].kind is not Kind.CONST or term.args[1].value <= 0:
            a, b = term.args
            return t.sub(a, t.mul(b, t.floordiv(a, b)))
    return None


def _congruent(term: Term) -> Term:
    """An operation on bits that is not followed further: equal arguments give equal results, in every block.

    The bounds go into the name: they belong to the symbol, and two symbols may not share a name.
    """
    name = f"{term.kind.value}[{term.low}..{term.high}]"
    return t.apply(Function(name, Scope.LAUNCH, term.low, term.high), *term.args)


def _truncated(a: Term, b: Term) -> Term:
    def positive_divisor(x: Term, y: Term) -> Term:
        return t.ite(t.le(t.ZERO, x), t.floordiv(x, y), t.neg(t.floordiv(t.neg(x), y)))

    if b.kind is Kind.CONST and b.value < 0:
        return t.neg(positive_divisor(a, t.neg(b)))
    if b.low is not None and b.low > 0:
        return positive_divisor(a, b)
    return t.ite(t.lt(t.ZERO, b), positive_divisor(a, b), t.neg(positive_divisor(a, t.neg(b))))


def is_opaque_quotient(term: Term) -> bool:
    """A quotient whose divisor is no positive constant: the solver knows it by `lemmas.quotient_lemma` alone."""
    divisor = term.args[1]
    return divisor.kind is not Kind.CONST or divisor.value <= 0


def split_product(term: Term) -> tuple[Term, Term]:
    """A product as two factors: launch-wide factors first, so that equal ones meet at the same place."""
    ordered = sorted(term.args, key=lambda f: (not _launch_wide(f), f.digest))
    return ordered[0], t.product(ordered[1:])


def _launch_wide(term: Term) -> bool:
    for leaf in term.free:
        scope = leaf.payload.scope
        if scope is not Scope.LAUNCH:
            return False
    return True
