"""What is open in values that go round: carried by loops, or kept in local memory.

    U_i(lanes)  =  init_i(lanes)  or  step_i(lanes)

where ``step_i`` mentions the unknowns themselves, of the iteration before.  ``step_i`` is monotone in them: openness is
never denied.  So the least solution is the union over all ways in which one unknown flows into another; a way that
moves lanes, or passes a condition, is taken as one from any lane, under no condition.  That can only make more open.

    U_i(l)  =  or over all U_r that flow into U_i:   init_r(l')  or  step_r(l') in some earlier iteration

with the unknowns in ``step_r`` left out, and ``l' = l`` if every step on the way keeps the lanes, else some lane.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...contract.terms import FALSE, TRUE, Function, Scope, Term, TermKind, and_, apply, or_, substitute, transform, var


@dataclass(frozen=True, slots=True)
class Unknown:
    """The openness of one value, as a function of its lanes."""

    function: Function
    lanes: tuple[Term, ...]

    @property
    def here(self) -> Term:
        return apply(self.function, *self.lanes)


@dataclass(slots=True)
class OpenEquations:
    """``name`` sets the variables of this system apart; ``invented`` are all that stand for "some"."""

    name: str
    invented: set[Term]
    _unknowns: dict[Function, Unknown] = field(default_factory=dict)
    _inits: dict[Function, Term] = field(default_factory=dict)
    _steps: dict[Function, Term] = field(default_factory=dict)
    _solved: dict[Function, tuple[Term, Term]] = field(default_factory=dict)  # from the beginning, from a step

    def add(self, unknown: Unknown, init: Term, step: Term) -> None:
        function = unknown.function
        self._unknowns[function] = unknown
        self._inits[function], self._steps[function] = init, step

    def solve(self, earlier: Mapping[Term, Term] | None = None) -> None:
        """Find all unknowns; ``earlier`` takes a step to another iteration."""
        moved = {function: self._set_apart(self._alone(step), earlier or {}) for function, step in self._steps.items()}
        for function in self._unknowns:
            begun, stepped = [], []
            for other, same_lanes in self._flows_into(function).items():
                away = {} if same_lanes else self._some_lane(self._unknowns[other])
                begun.append(substitute(self._inits[other], away))
                stepped.append(substitute(moved[other], away))
            self._solved[function] = or_(*begun), or_(*stepped)

    def put_in(self, term: Term, before: Term = TRUE) -> Term:
        """``term`` with what the unknowns are; ``before`` says which iterations came earlier."""

        def leaf(part: Term) -> Term | None:
            if part.kind is not TermKind.APPLY or part.function not in self._solved:
                return None
            begun, stepped = self._solved[part.function]
            lanes = dict(zip(self._unknowns[part.function].lanes, part.args, strict=True))
            return or_(substitute(begun, lanes), and_(before, substitute(stepped, lanes)))

        return transform(term, leaf) if self._mentioned(term) else term

    # ---------------------------------------------------------------------------------------------- pieces
    def _mentioned(self, term: Term) -> list[Term]:
        return [part for part in term.free if part.kind is TermKind.APPLY and part.function in self._unknowns]

    def _alone(self, step: Term) -> Term:
        """What a step adds by itself."""
        return substitute(step, dict.fromkeys(self._mentioned(step), FALSE))

    def _set_apart(self, term: Term, earlier: Mapping[Term, Term]) -> Term:
        """The step of another iteration, with its own "some"."""
        names = {each: self._renamed(each) for each in term.free if each in self.invented}
        return substitute(term, names | dict(earlier))

    def _renamed(self, each: Term) -> Term:
        symbol = each.symbol
        found = var(f"{symbol.name}@{self.name}", symbol.scope, symbol.low, symbol.high)
        self.invented.add(found)
        return found

    def _some_lane(self, unknown: Unknown) -> dict[Term, Term]:
        found = {}
        for each in unknown.lanes:
            symbol = each.symbol
            name = f"{symbol.name}.{unknown.function.name}@{self.name}"
            found[each] = var(name, Scope.LANE, symbol.low, symbol.high)
        self.invented.update(found.values())
        return found

    def _flows_into(self, function: Function) -> dict[Function, bool]:
        """The unknowns that flow into one, itself included; with whether lanes stay where they are on every way."""
        found = {function: True}
        pending = [function]
        while pending:
            current = pending.pop()
            for part in self._mentioned(self._steps[current]):
                keeps = found[current] and part.args == self._unknowns[part.function].lanes
                known = found.get(part.function)
                if known is None or (known and not keeps):
                    found[part.function] = keeps
                    pending.append(part.function)
        return found
