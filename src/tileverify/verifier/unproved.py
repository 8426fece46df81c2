"""The findings for open obligations: a witness that the interpreter confirmed, or the reason for `undecided`.

A report has each fault once: at the accesses that the interpreter saw at fault, with its smallest witness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..contract import terms as t
from ..results import Finding
from ..results.claim import Confirm
from ..results.codes import TV
from . import messages
from .abduction.fact_trial import Key, key_of
from .abduction.narrow_proof import Narrowing
from .attempt import Open
from .obligations.answers import Answer
from .obligations.fact_use import loaded_values
from .obligations.obligations import Obligation, within_index_spaces
from .prover import Prover
from .refute.missing_orders import left_behind, why_open
from .refute.shown_witness import describe
from .refute.witness import FoundWitness
from .refute.witness_search import WitnessSearch


@dataclass
class Explanation:
    """``confirmed`` witnesses and ``reasons``, by code and place.

    ``cut_short``: the limit of refutations was reached before all open obligations were examined.
    """

    prover: Prover
    confirmed: dict[Key, tuple[Obligation, FoundWitness]] = field(default_factory=dict)
    reasons: dict[Key, Finding] = field(default_factory=dict)
    cut_short: bool = False
    _unexplained: dict[Key, Open] = field(default_factory=dict)

    @classmethod
    def of(cls, left: Sequence[Open], prover: Prover, confirm: Confirm) -> Explanation:
        """Explain the obligations that ``prover`` left open; ``confirm`` replays a witness."""
        found = cls(prover)
        found._look_for_witnesses(left, confirm)
        if not found.confirmed:
            prover.search_afresh()  # the search for suggestions has resources of its own
        for key in list(found.reasons):
            found._improve(key)
        return found

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (*(self._finding(*each) for each in self.confirmed.values()), *self.reasons.values())

    @property
    def is_refuted(self) -> bool:
        return bool(self.confirmed)

    def _look_for_witnesses(self, left: Sequence[Open], confirm: Confirm) -> None:
        """Find a confirmed witness or a reason for each code and place; keep the smallest witness."""
        own = self.prover
        # A solver session of its own: earlier questions must not change the models that become witnesses.
        search = WitnessSearch(own, confirm, own.decider.fork(own.session.fresh(models=True)))
        shown: set[object] = set()
        for opened in left:
            obligation = opened.obligation
            key = key_of(obligation)
            if key not in self.confirmed and len(self.confirmed) >= own.options.refutations:
                self.cut_short = True
                continue
            found = None
            with own.effort.about(obligation):
                if not obligation.blocked and not own.at_its_end():
                    found, opened = search.of(opened)
            if found is None and key not in self.confirmed:
                self._give_reason(key, opened)
            if found is None or (key in self.confirmed and self.confirmed[key][1].size <= found.size):
                continue
            self.reasons.pop(key, None)
            place = (obligation.code, found.ops)
            if place in shown and not found.as_claimed:
                continue  # an earlier finding reports the same fault
            shown.add(place)
            self.confirmed[key] = obligation, found

    # ----------------------------------------------------------------------------------------- reasons
    def _give_reason(self, key: Key, opened: Open) -> None:
        known = self._known_reason(opened)
        finding = messages.undecided(opened.obligation, opened.conditions, unknown=opened.unknown, known=known)
        self.reasons.setdefault(key, finding)
        self._unexplained.setdefault(key, opened)

    def _known_reason(self, opened: Open) -> messages.OpenReason | None:
        """A spent budget (TV903), an unknown size (TV906), a token left behind (TV907) or a protocol (TV905)."""
        own, obligation = self.prover, opened.obligation
        if obligation.blocked is not None:
            return None
        if opened.unknown and own.effort.is_spent:
            return messages.OpenReason(TV.BUDGET, own.end())
        if (name := own.unsized(obligation)) and not loaded_values(opened.conditions):
            return messages.OpenReason(TV.UNKNOWN_POINTER, messages.SIZE_UNKNOWN.format(name))
        if obligation.code == TV.UNORDERED_IN_BLOCK and obligation.first is not None and obligation.second is not None:
            pair = (own.kernel.by_number[site.number] for site in (obligation.first, obligation.second))
            behind = left_behind(*pair)
            conditions = (*obligation.conditions, t.not_(behind))
            if behind is not t.FALSE and own.decider.decide(conditions).answer is Answer.UNSATISFIABLE:
                return messages.LEFT_BEHIND
        return why_open(own.kernel.protocols, obligation)

    def _improve(self, key: Key) -> None:
        """Drop the reason if a witness already shows the fault; without any witness, add clauses that would help."""
        opened = self._unexplained[key]
        if self._is_only_outside(opened):
            del self.reasons[key]
        elif not self.confirmed and self.reasons[key].code == TV.ARITHMETIC_OUT_OF_REACH:
            clauses = Narrowing(self.prover, freely=True).would_do(opened)
            if clauses:
                self.reasons[key] = messages.with_clauses(self.reasons[key], clauses)

    def _is_only_outside(self, opened: Open) -> bool:
        """Whether two accesses overlap only outside their index spaces; a witness has shown that fault already."""
        sides = {site.number for site in (opened.obligation.first, opened.obligation.second) if site is not None}
        outside = {
            each.first.number
            for each, _ in self.confirmed.values()
            if each.code == TV.TILE_OUT_OF_INDEX_SPACE and each.first is not None
        }
        if opened.obligation.second is None or not sides & outside:
            return False
        within = within_index_spaces(opened.obligation, self.prover.kernel.by_number)
        inside = (t.substitute(each, opened.eliminated) for each in within)
        return self.prover.decider.decide([*opened.conditions, *inside]).answer is Answer.UNSATISFIABLE

    # --------------------------------------------------------------------------------------- witnesses
    def _finding(self, obligation: Obligation, found: FoundWitness) -> Finding:
        """The finding at the accesses that the replay saw at fault; they may differ from the solver's."""
        if not found.as_claimed:
            obligation = self._as_seen(obligation, found)
        return Finding(
            obligation.code,
            messages.broken(obligation),
            messages.sites(obligation),
            describe(found, obligation, self.prover.contract, self.prover.kernel.by_number),
        )

    def _as_seen(self, obligation: Obligation, found: FoundWitness) -> Obligation:
        seen = (found.confirmation.first, found.confirmation.second)
        by_offset = {each.site.offset: each.site for each in self.prover.kernel.sites}
        sites = [None if touch is None else by_offset.get(touch.offset) for touch in seen]
        if obligation.first is None or sites[0] is None or (obligation.second is None) != (sites[1] is None):
            return obligation
        return replace(obligation, first=sites[0], second=sites[1], detail="")
