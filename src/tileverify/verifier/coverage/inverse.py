"""Which block, iteration and lane touch a given element: candidates, read off the form of a footprint's coordinates.

Coordinates are mostly numbers in a mixed radix.  Where

    c_0*a_0 + c_1*a_1 + ... = target,   0 <= a_i < n_i,   c_(i+1) = c_i * n_i   (say lane + 64*block),

the digits are ``a_i = target mod c_(i+1) div c_i``, and the last one ``target div c_n``.  A digit may be a variable, or
a quotient or remainder of one:

    x div K = q  and  x mod K = r                            give  x = q*K + r;
    x div P = q, (x mod P) div K = n  and  x mod K = r       give  (x mod P) mod K = (r - q*P) mod K, and so on.

A candidate proves nothing: whoever uses one has to show that it does what it is meant to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TypeAlias

from ...contract import terms as t
from ...contract.terms import ZERO, Term, TermKind

Equation: TypeAlias = tuple[Term, Term]
"""What a footprint says, in unknown variables, and what it has to be, in known ones."""


def candidate(
    equations: Iterable[Equation], guard: Term, unknowns: Mapping[Term, Term | None]
) -> dict[Term, Term] | None:
    """A value for each of ``unknowns`` that may solve ``equations``; ``None`` if they have no form that is known here.

    ``unknowns`` gives the number of values of each variable, from 0 on, where one is known.  What occurs in no equation
    is what an equality of ``guard`` makes it, or else 0.
    """
    solver = _Solver(unknowns, list(equations))
    if not solver.solve():
        return None
    for part in guard.args if guard.kind is TermKind.AND else (guard,):
        if part.kind is TermKind.EQ:
            solver.take_up(part.args)
    return {variable: solver.values.get(variable, ZERO) for variable in unknowns}


@dataclass(frozen=True, slots=True)
class _Digit:
    """``factor * weight * atom``: the weight is known and, as far as anybody can tell, positive."""

    factor: int
    weight: Term
    atom: Term

    @property
    def size(self) -> Term:
        return t.scale(abs(self.factor), self.weight)

    @property
    def order(self) -> tuple[int, int]:
        parts = self.weight.args if self.weight.kind is TermKind.PRODUCT else (self.weight,)
        return (0 if self.weight is t.ONE else len(parts), abs(self.factor))


@dataclass
class _Solver:
    unknowns: Mapping[Term, Term | None]
    open: list[Equation]
    values: dict[Term, Term] = field(default_factory=dict)
    parts: dict[Term, Term] = field(default_factory=dict)  # quotients and remainders of unknowns, and their values
    settled: dict[Term, Term] = field(default_factory=dict)  # all of them, also those that were used up

    def solve(self) -> bool:
        while self.open or self.parts:
            if not (self._step() or self._join()):
                return False
        return True

    def take_up(self, sides: Sequence[Term]) -> None:
        """Use an equality for an unknown that is still open, if it says just what that is."""
        left = t.sub(*(t.substitute(side, self.values) for side in sides))
        digits = self._digits(left)
        if digits is not None and len(digits[0]) == 1 and digits[0][0].atom in self.unknowns:
            self.open.append((left, ZERO))
            self._step()

    # ------------------------------------------------------------------------------------------ equations
    def _step(self) -> bool:
        """Solve one equation."""
        for number, (left, right) in enumerate(self.open):
            found = self._digits(left)
            if found is None:
                continue
            digits, rest = found
            del self.open[number]
            for atom, value in list(self._solved(digits, t.sub(right, rest))):
                self._settle(atom, value)
            return True
        return False

    def _unknown(self, term: Term) -> bool:
        return any(leaf in self.unknowns and leaf not in self.values for leaf in term.free)

    def _digits(self, left: Term) -> tuple[list[_Digit], Term] | None:
        """The digits of a sum and the rest of it, which is known."""
        constant, summands = t.linear_parts(left)
        digits: list[_Digit] = []
        rest = t.const(constant)
        for factor, summand in summands:
            if not self._unknown(summand):
                rest = t.add(rest, t.scale(factor, summand))
                continue
            factors = summand.args if summand.kind is TermKind.PRODUCT else (summand,)
            atoms = [each for each in factors if self._unknown(each)]
            if len(atoms) != 1 or not (atoms[0] in self.unknowns or atoms[0].kind in (TermKind.DIV, TermKind.MOD)):
                return None
            digits.append(_Digit(factor, t.product(each for each in factors if each is not atoms[0]), atoms[0]))
        return digits, rest

    def _count(self, atom: Term) -> Term | None:
        return atom.args[1] if atom.kind is TermKind.MOD else self.unknowns.get(atom)

    def _solved(self, digits: list[_Digit], target: Term) -> Iterable[tuple[Term, Term]]:
        """Each atom with its value, those of the greatest weight first."""
        if digits and all(digit.factor < 0 for digit in digits):
            target, digits = t.neg(target), [_Digit(-d.factor, d.weight, d.atom) for d in digits]
        mirrored: dict[Term, Term] = {}
        for digit in digits:
            count = self._count(digit.atom)
            if digit.factor < 0 and count is not None:
                # c*a = c*(n - 1) - c*(n - 1 - a)
                mirrored[digit.atom] = last = t.sub(count, t.ONE)
                target = t.add(target, t.mul(digit.size, last))
        chain = self._chain(digits)
        for digit, above in reversed(list(zip_longest(chain, chain[1:]))):
            within = target if above is None else t.floormod(target, above.size)
            value = t.floordiv(within, digit.size) if digit.size is not t.ONE else within
            last_value = mirrored.get(digit.atom)
            yield digit.atom, value if last_value is None else t.sub(last_value, value)

    def _chain(self, digits: list[_Digit]) -> list[_Digit]:
        """The digits, each followed by the one that counts its overflows, as far as that shows."""
        left, chain = sorted(digits, key=lambda digit: digit.order), list[_Digit]()
        while left:
            following = None
            count = self._count(chain[-1].atom) if chain else None
            if count is not None:
                size = t.mul(chain[-1].size, count)
                following = next((digit for digit in left if digit.size is size), None)
            chain.append(following or left[0])
            left.remove(chain[-1])
        return chain

    def _settle(self, atom: Term, value: Term) -> None:
        atom = self._rewritten_inside(atom)
        if atom in self.unknowns:
            self.values[atom] = value
        else:
            self.parts[atom] = value
        self.settled[atom] = value
        put = self.settled.get
        self.open = [(t.transform(left, put), right) for left, right in self.open]
        rewritten = {self._rewritten_inside(part): known for part, known in self.parts.items()}
        # What holds no unknown any more is for the proof to confirm.
        self.parts = {part: known for part, known in rewritten.items() if self._unknown(part)}

    def _rewritten_inside(self, part: Term) -> Term:
        """A quotient, remainder or variable, with what is known put in for its parts, but not for itself."""
        return t.rebuild(part, tuple(t.transform(arg, self.settled.get) for arg in part.args))

    # ---------------------------------------------------------------------------- quotients and remainders
    def _join(self) -> bool:
        """One equation from what is known of quotients and remainders: both of one number first."""
        quotients = [part for part in self.parts if part.kind is TermKind.DIV]
        remainders = [part for part in self.parts if part.kind is TermKind.MOD]
        for quotient in quotients:
            for remainder in remainders:
                if quotient.args == remainder.args:
                    scaled = t.mul(self.parts.pop(quotient), quotient.args[1])
                    self.open.append((quotient.args[0], t.add(scaled, self.parts.pop(remainder))))
                    return True
        for remainder in remainders:
            number, modulus = remainder.args
            for outer in quotients:
                inner = t.floormod(number, outer.args[1])
                if outer.args[0] is number and t.floordiv(inner, modulus) in self.parts:
                    rest = t.sub(self.parts.pop(remainder), t.mul(self.parts[outer], outer.args[1]))
                    self.parts[t.floormod(inner, modulus)] = t.floormod(rest, modulus)
                    return True
        if self.open or not self.parts:
            return False
        part = (remainders or quotients)[0]
        value = self.parts.pop(part)
        self.open.append((part.args[0], value if part.kind is TermKind.MOD else t.mul(value, part.args[1])))
        return True
