"""Remainders by divisors that vary, taken as any numbers below their divisors.

A question about ``a + (x % M) * K`` rarely needs to know what x is, but the quotients and products in x keep the solver
busy.  The weaker question, without them, has more solutions: where it has none, neither has the question.

    r = x % d       d > 0  ->  0 <= r < d        d < 0  ->  d < r <= 0
    r = trem(x, d)  0 <= x and d > 0  ->  0 <= r < d
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ...contract import terms as t
from ...contract.terms import Scope, Term, TermKind
from ...contract.terms.rewriting import rebuild
from ..obligations.lemmas import Lemma
from ..obligations.simplify import expand

_STANDS_FOR: Final = "remainder "
"""Begins the names of variables that stand for remainders; no kernel has such names."""


@dataclass(frozen=True, slots=True)
class WeakerQuestion:
    """``remainders``: by the variables that stand for them."""

    conditions: tuple[Term, ...]
    remainders: Mapping[Term, Term]

    @classmethod
    def of(cls, conditions: Sequence[Term]) -> WeakerQuestion | None:
        """``None`` if there is no such remainder, or only in others' divisors."""
        done: dict[Term, Term] = {}
        weaker = [_without(each, done) for each in conditions]
        remainders = {variable: term for term, variable in done.items() if _is_remainder(term)}
        if not remainders:
            return None
        said = (_below_divisor(variable, term, done) for variable, term in remainders.items())
        return cls((*weaker, *said), remainders)

    def in_full(self, lemmas: Iterable[Lemma]) -> list[Lemma]:
        """Instances of the same schemas about the remainders themselves."""
        meant = {variable: expand(term) for variable, term in self.remainders.items()}

        def restored(part: Term | int) -> Term | int:
            return part if isinstance(part, int) else t.substitute(part, meant)

        return [
            replace(each, formula=t.substitute(each.formula, meant), args=tuple(map(restored, each.args)))
            for each in lemmas
        ]


def about_remainders(lemma: Lemma) -> bool:
    """Whether a lemma speaks of a variable of some `WeakerQuestion`, which no other question has."""
    leaves = (leaf for part in lemma.args if isinstance(part, Term) for leaf in part.free)
    return any(leaf.kind is TermKind.VAR and leaf.symbol.name.startswith(_STANDS_FOR) for leaf in leaves)


def _is_remainder(term: Term) -> bool:
    return term.kind in (TermKind.MOD, TermKind.TMOD) and term.args[1].kind is not TermKind.CONST


def _without(term: Term, done: dict[Term, Term]) -> Term:
    """``term`` with variables for the outermost remainders."""
    stack = [term]
    while stack:
        current = stack[-1]
        if current in done:
            stack.pop()
        elif _is_remainder(current):
            name = f"{_STANDS_FOR}{current.digest.hex()[:16]}"
            done[current] = t.var(name, Scope.BLOCK, current.low, current.high)
            stack.append(current.args[1])
        elif missing := [arg for arg in current.args if arg not in done]:
            stack += missing
        else:
            args = tuple([done[arg] for arg in current.args])
            done[current] = current if args == current.args else rebuild(current, args)
    return done[term]


def _below_divisor(variable: Term, remainder: Term, done: Mapping[Term, Term]) -> Term:
    x, divisor = remainder.args[0], done[remainder.args[1]]
    positive, negative = t.lt(t.ZERO, divisor), t.lt(divisor, t.ZERO)
    below = t.implies(positive, t.lt(variable, divisor))
    if remainder.kind is TermKind.MOD:
        above = t.implies(negative, t.and_(t.lt(divisor, variable), t.le(variable, t.ZERO)))
        return t.and_(t.implies(positive, t.le(t.ZERO, variable)), below, above)
    return t.and_(
        below, t.TRUE if x.low is not None and x.low >= 0 else t.implies(positive, t.lt(t.neg(divisor), variable))
    )
