"""How large a term can be where a condition holds: why a machine sum may be read as the sum itself.

A path's comparisons bound their sides.  `Sizes` keeps these bounds, of single terms and of differences (``i - n`` from
``i < n``), and works out intervals with them: a bounded part is replaced by a variable of that range, and the
constructors of terms, which know the interval of everything that they build, do the rest.
"""

from __future__ import annotations

from typing import TypeAlias

from ..contract.terms import (
    Scope,
    Term,
    TermKind,
    add,
    const,
    from_linear,
    linear_parts,
    postorder,
    rebuild,
    scale,
    sub,
    var,
)

Interval: TypeAlias = tuple[int | None, int | None]


class Sizes:
    """What is known of sizes; grows by `under`, which gives a new one."""

    def __init__(self, known: dict[Term, Interval] | None = None) -> None:
        self._known = known or {}
        self._seen: dict[Term, Interval] = {}

    def under(self, condition: Term) -> Sizes:
        """What is known where ``condition`` holds, too."""
        parts = condition.args if condition.kind is TermKind.AND else (condition,)
        sizes = self
        for _ in range(2 if len(parts) > 1 else 1):
            for part in parts:
                sizes = sizes._compared(part)
        return sizes

    def interval(self, term: Term) -> Interval:
        """Inclusive bounds of ``term``; ``None`` for an open side."""
        if not self._known:
            return term.low, term.high
        if term not in self._seen:
            self._seen[term] = self._best(term)
        return self._seen[term]

    def fits(self, term: Term, bits: int) -> bool:
        """Whether ``term`` is a signed number of ``bits`` bits."""
        low, high = self.interval(term)
        half = 1 << (bits - 1)
        return low is not None and high is not None and -half <= low and high < half

    # ------------------------------------------------------------------------------------------ what is known
    def _compared(self, part: Term) -> Sizes:
        sizes = self
        if part.kind is TermKind.EQ:
            for one, other in (part.args, part.args[::-1]):
                sizes = sizes._with(one, sizes.interval(other))
        elif part.kind in (TermKind.LT, TermKind.LE):
            less, more = part.args
            gap = int(part.kind is TermKind.LT)
            high, low = sizes.interval(more)[1], sizes.interval(less)[0]
            sizes = sizes._with(less, (None, None if high is None else high - gap))
            sizes = sizes._with(more, (None if low is None else low + gap, None))
            sizes = sizes._with(sub(less, more), (None, -gap))
        return sizes

    def _with(self, term: Term, interval: Interval) -> Sizes:
        constant, summands = linear_parts(term)
        if not summands:
            return self
        if summands[0][0] < 0:  # one form for a term and its negative
            term, constant, interval = scale(-1, term), -constant, _times(-1, interval)
        core = add(term, const(-constant))
        tighter = _meet(_plus(interval, -constant), self.interval(core))
        if tighter == self.interval(core):
            return self
        return Sizes({**self._known, core: tighter})

    # ------------------------------------------------------------------------------------------ working out
    def _best(self, term: Term) -> Interval:
        inside: dict[Term, Term] = {}
        for part in postorder(term):
            args = tuple(inside[arg] for arg in part.args)
            rebuilt = part if args == part.args else rebuild(part, args)
            inside[part] = self._stand_in(part, rebuilt)
        best = _meet((term.low, term.high), (inside[term].low, inside[term].high))
        constant, summands = linear_parts(term)
        if len(summands) > 1:
            for core, interval in self._known.items():
                best = _meet(best, self._by(core, interval, constant, {t: c for c, t in summands}, inside))
        return best

    def _stand_in(self, part: Term, rebuilt: Term) -> Term:
        """A variable in the place of a part that is known to be smaller than it looks."""
        if part not in self._known:
            return rebuilt
        low, high = _meet(self._known[part], (rebuilt.low, rebuilt.high))
        return var(f"of size {part.digest.hex()}", Scope.ITERATION, low, high)

    def _by(
        self, core: Term, interval: Interval, constant: int, summands: dict[Term, int], inside: dict[Term, Term]
    ) -> Interval:
        """Bounds of a sum that has ``core``, times a whole number, in it."""
        _, parts = linear_parts(core)
        factor, left = divmod(summands.get(parts[0][1], 0), parts[0][0])
        if not factor or left:
            return None, None
        rest = dict(summands)
        for coefficient, part in parts:
            rest[part] = rest.get(part, 0) - factor * coefficient
        rest = {part: coefficient for part, coefficient in rest.items() if coefficient}
        if len(rest) >= len(summands):
            return None, None
        small = from_linear(constant, {part: c for part, c in rest.items() if part not in inside})
        others = add(small, *(scale(c, inside[part]) for part, c in rest.items() if part in inside))
        return _sum((others.low, others.high), _times(factor, interval))


def _meet(a: Interval, b: Interval) -> Interval:
    lows = [low for low in (a[0], b[0]) if low is not None]
    highs = [high for high in (a[1], b[1]) if high is not None]
    return max(lows, default=None), min(highs, default=None)


def _plus(interval: Interval, amount: int) -> Interval:
    low, high = interval
    return None if low is None else low + amount, None if high is None else high + amount


def _sum(a: Interval, b: Interval) -> Interval:
    low = None if a[0] is None or b[0] is None else a[0] + b[0]
    high = None if a[1] is None or b[1] is None else a[1] + b[1]
    return low, high


def _times(factor: int, interval: Interval) -> Interval:
    low, high = (None if bound is None else factor * bound for bound in interval)
    return (low, high) if factor >= 0 else (high, low)
