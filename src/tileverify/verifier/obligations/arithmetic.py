"""Which products, quotients and operations on bits solvers are asked about.

Encodings and certificates agree on these forms.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...contract import terms as t
from ...contract.terms import Scope, Term, TermKind
from ...contract.terms.bits import OPERATIONS


def expand(term: Term, memo: dict[Term, Term] | None = None) -> Term:
    """Rewrite truncated division and variable remainders into floor division (the solver sees one division)."""
    return t.transform(term, _expand, memo)


def _expand(term: Term) -> Term | None:
    match term.kind:
        case TermKind.TDIV:
            return _truncated(*term.args)
        case TermKind.TMOD:
            a, b = term.args
            return t.sub(a, t.mul(b, _truncated(a, b)))
        case TermKind.MOD if term.args[1].kind is not TermKind.CONST or term.args[1].value <= 0:
            a, b = term.args
            return t.sub(a, t.mul(b, t.floordiv(a, b)))
    return None


def _truncated(a: Term, b: Term) -> Term:
    def positive_divisor(x: Term, y: Term) -> Term:
        return t.ite(t.le(t.ZERO, x), t.floordiv(x, y), t.neg(t.floordiv(t.neg(x), y)))

    if b.kind is TermKind.CONST and b.value < 0:
        return t.neg(positive_divisor(a, t.neg(b)))
    if b.low is not None and b.low > 0:
        return positive_divisor(a, b)
    return t.ite(t.lt(t.ZERO, b), positive_divisor(a, b), t.neg(positive_divisor(a, t.neg(b))))


def is_opaque_quotient(term: Term) -> bool:
    """A quotient whose divisor is no positive constant: the solver knows it by `lemmas.quotient_lemma` alone."""
    divisor = term.args[1]
    return divisor.kind is not TermKind.CONST or divisor.value <= 0


def mentions_bits(terms: Iterable[Term]) -> bool:
    """Whether an operation on bits, other than such as are written as arithmetic, occurs in ``terms``."""
    return any(sub.kind in OPERATIONS for term in terms for sub in t.postorder(term))


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
