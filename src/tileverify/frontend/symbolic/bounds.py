"""What the path says about the size of terms.

A wrap may be dropped where its argument fits, and much of what fits does so only because of the path: inside
``for tile in range(bid, count, grid)`` the induction variable is below ``count``.  `Bounds` collects such facts, each
``low <= pattern <= high``, and gives the interval of a term under them.  A term built with their help is only used
where the path holds.
"""

from __future__ import annotations

from ...contract.terms import Scope, Term, TermKind, add, const, linear_parts, postorder, rebuild, scale, var


class Bounds:
    """An immutable chain of facts, newest first."""

    __slots__ = ("_facts", "_memo")

    def __init__(self, facts: tuple[tuple[Term, Term], ...] = ()) -> None:
        self._facts = facts  # (pattern, stand-in variable with the pattern's interval)
        self._memo: dict[Term, Term] = {}

    def under(self, condition: Term) -> Bounds:
        """The facts that hold where ``condition`` does too."""
        parts = condition.args if condition.kind is TermKind.AND else (condition,)
        result = self
        for _ in parts[:2]:  # twice for a conjunction: a later part may sharpen an earlier one
            for part in parts:
                result = result._with(part)
        return result

    def _with(self, part: Term) -> Bounds:
        result = self
        if part.kind is TermKind.EQ:
            for this, other in (part.args, part.args[::-1]):
                result = result.within(this, *result.interval(other))
        if part.kind in (TermKind.LT, TermKind.LE):
            small, large = part.args
            gap = 1 if part.kind is TermKind.LT else 0
            lowest, highest = result.interval(small)[0], result.interval(large)[1]
            if highest is not None:
                result = result.within(small, None, highest - gap)
            if lowest is not None:
                result = result.within(large, lowest + gap, None)
        return result

    def within(self, pattern: Term, low: int | None, high: int | None) -> Bounds:
        """The facts, and ``low <= pattern <= high``."""
        constant, summands = linear_parts(pattern)
        if constant and len(summands) == 1 and summands[0][0] == 1:
            pattern = summands[0][1]
            low, high = (None if bound is None else bound - constant for bound in (low, high))
        known_low, known_high = self.interval(pattern)
        low = known_low if low is None or (known_low is not None and known_low >= low) else low
        high = known_high if high is None or (known_high is not None and known_high <= high) else high
        if (low, high) == (known_low, known_high) or pattern.kind is TermKind.CONST:
            return self
        stand_in = var(f"bounded({pattern.digest.hex()})", Scope.ITERATION, low, high)
        return Bounds(((pattern, stand_in), *(fact for fact in self._facts if fact[0] is not pattern)))

    def interval(self, term: Term) -> tuple[int | None, int | None]:
        """Inclusive bounds of ``term`` wherever the path holds."""
        if not self._facts:
            return term.low, term.high
        abstract = self._abstract(term)
        lows = [low for low in (term.low, abstract.low) if low is not None]
        highs = [high for high in (term.high, abstract.high) if high is not None]
        return max(lows, default=None), min(highs, default=None)

    def fits_signed(self, term: Term, bits: int) -> bool:
        """Whether ``term`` lies inside signed iN wherever the path holds."""
        low, high = self.interval(term)
        half = 1 << (bits - 1)
        return low is not None and high is not None and -half <= low and high < half

    def _abstract(self, term: Term) -> Term:
        """``term`` with every known pattern replaced by a variable that has the pattern's interval."""
        done = self._memo
        for part in postorder(term):
            if part not in done:
                args = tuple(done[arg] for arg in part.args)
                rebuilt = part if args == part.args else rebuild(part, args)
                done[part] = self._matched(part) or rebuilt
        return done[term]

    def _matched(self, term: Term) -> Term | None:
        """``term`` as ``ratio * stand-in + rest`` for the first pattern that occurs in it."""
        for pattern, stand_in in self._facts:
            if term is pattern:
                return stand_in
            if term.kind is TermKind.SUM and pattern.kind is TermKind.SUM:
                (divisor, pivot), *_ = linear_parts(pattern)[1]
                factor = {t: c for c, t in linear_parts(term)[1]}.get(pivot, 0)
                if factor and factor % divisor == 0:
                    rest = add(term, scale(-(factor // divisor), pattern))
                    constant, summands = linear_parts(rest)
                    if len(summands) < len(term.args):
                        seen = (scale(c, self._memo.get(t, t)) for c, t in summands)
                        return add(const(constant), scale(factor // divisor, stand_in), *seen)
        return None
