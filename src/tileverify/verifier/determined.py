"""TV403: no value that the specification leaves open has an effect, in any launch of the user's own contract.

    for every place that an open value may reach (`open_values`):   facts and path  ->  not open

Only proved kernels are checked, and the verdict does not change.  If the proof fails and the interpreter confirms the
solver's model, the report has a warning.  If neither succeeds, it has a note.  Both keep ``deterministic`` from being
true.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..contract import terms as t
from ..contract.contract import array_layout
from ..contract.terms import Term
from ..frontend.symbolic.summary import Site
from ..results import Finding, SourceSite
from ..results.claim import Confirm
from ..results.codes import TV
from . import messages
from .abduction.clauses import Clause
from .abduction.narrow_proof import Narrowing
from .attempt import Open, Outcome
from .obligations.answers import Answer
from .obligations.prepare import contract_values
from .outcome import open_uses_of
from .prover import Prover
from .refute.shown_witness import describe
from .refute.witness import FoundWitness, Search


@dataclass
class Determined:
    """The uses of open values in a proved kernel, under the user's own contract and the clauses of the proof.

    ``prover``: of that contract, before any clause is added.
    """

    prover: Prover
    confirm: Confirm

    def __post_init__(self) -> None:
        self.narrowing = Narrowing(self.prover, freely=True)

    def told(self, outcome: Outcome, clauses: Sequence[Clause]) -> Outcome:
        """``outcome`` of this kernel, proved under ``clauses``, with warnings and notes on open values."""
        self.prover.adopt(clauses)
        self.prover.prepare_nothing()
        left = list(open_uses_of(self.prover))
        if not left:
            if not clauses and outcome.open_uses:
                others = f"in other launches that the proof covers, {_in_doubt(outcome.open_uses)}"
                return replace(outcome, deterministic=outcome.one_result, notes=(*outcome.notes, others))
            return replace(outcome, deterministic=outcome.one_result)
        self._modeller = self.prover.solver.fork(self.prover.solver_context.fresh(models=True))
        findings: dict[tuple[int, int | None], Finding] = {}
        doubtful, unrelated = [], dict[str, None]()
        for opened in left:
            against = self._clauses_against(opened)
            if self.prover.launch.inferred and against and self._holds_of_equal_sizes(against):
                unrelated.update((clause.text, None) for clause in against)
                continue
            found = None if len(findings) >= self.prover.options.refutations else self._seen(opened)
            if found is not None:
                key = (found.confirmation.first.offset, found.confirmation.source)
                findings.setdefault(key, self._finding(opened, found, against))
            else:
                doubtful.append(opened)
        notes = outcome.notes
        if unrelated:
            # An inferred launch has no given array sizes: whether its arrays fit each other is not the kernel's fault.
            notes = (*notes, f"determined (TV403) where {' and '.join(f'`{text}`' for text in unrelated)}")
            if not findings and not doubtful:
                return replace(outcome, deterministic=None, notes=notes)
        if doubtful and not findings:
            orders = map(messages.combination, self.prover.summary.order_bound)
            notes = (*notes, f"not shown to be determined: {'; '.join([*orders, _in_doubt(doubtful)])}")
        return replace(outcome, deterministic=False, findings=(*outcome.findings, *findings.values()), notes=notes)

    def _holds_of_equal_sizes(self, clauses: Sequence[Clause]) -> bool:
        """Whether the clauses only make arrays fit each other: they hold if all arrays of one rank have equal sizes."""
        values = contract_values(self.prover.contract)
        by_rank: dict[int, tuple[Term, ...]] = {}
        equal: list[Term] = []
        for array in self.prover.contract.arrays.values():
            sizes = tuple(t.substitute(size, values) for size in array_layout(array)[0])
            equal += map(t.eq, sizes, by_rank.setdefault(len(sizes), sizes))
        if self.prover.searcher.decide(equal).answer is not Answer.SATISFIABLE:
            return False
        broken = t.not_(t.and_(*(clause.condition for clause in clauses)))
        return self.prover.searcher.decide([*equal, broken]).answer is Answer.UNSATISFIABLE

    def _seen(self, opened: Open) -> FoundWitness | None:
        if opened.unknown or self.prover.at_its_end():
            return None
        search = Search(
            opened.obligation, opened.conditions, opened.eliminated, self.prover.contract, self.prover.launch,
            self.prover.kernel.origins, self._modeller,
        )  # fmt: skip
        return search.run(self.confirm)

    def _finding(self, opened: Open, found: FoundWitness, against: Sequence[Clause]) -> Finding:
        by_offset = {site.offset: site for site in self.prover.summary.sites}
        combined = {promise.offset: promise for promise in self.prover.summary.order_bound}
        origin = -1 if found.confirmation.source is None else found.confirmation.source
        source = by_offset.get(origin)
        why = f"{messages.combination(combined[origin])}: it" if origin in combined else _why_open(source)
        text = f"{why} reaches {opened.obligation.detail}"
        kept_out = " and ".join(f"`{clause.text}`" for clause in against)
        if kept_out:
            text += f"; not where {kept_out}"
        obligation = replace(opened.obligation, first=by_offset.get(found.confirmation.first.offset))
        sink = replace(obligation, promise=None) if obligation.first is not None else obligation
        sites: tuple[SourceSite, ...] = messages.sites(sink)
        if source is not None:
            sites = (messages.source_site(source), *sites)
        elif origin in combined:
            sites = (messages.combination_site(combined[origin]), *sites)
        witness = describe(found, opened.obligation, self.prover.contract, {})
        return Finding(TV.UNDETERMINED, text, sites, witness)

    def _clauses_against(self, opened: Open) -> Sequence[Clause]:
        """Clauses that keep the open value out while blocks still reach the place: advice to people."""
        if not any(self.narrowing.quantities()):
            return ()
        self.prover.search_afresh()
        return self.narrowing.found(opened, self.narrowing.nonvacuity.demands(opened.obligation), idle=True)


def _why_open(source: Site | None) -> str:
    if source is None:
        return "memory that was not written"
    what = messages.in_words(source)
    if source.op == "load_view_tko":
        return f"{what} has no padding mode: what it gives beyond the array is left open, and"
    if source.op == "load_ptr_tko" and source.in_mask is not t.TRUE:
        return f"{what} has no padding value: what it gives in lanes that are masked off is left open, and"
    return f"what {what} gives is left open, and"


def _in_doubt(left: Sequence[Open]) -> str:
    """The results that may depend on open values, in words."""
    texts = dict.fromkeys(opened.obligation.detail for opened in left)
    return f"{' and '.join(texts)} may depend on what the specification leaves open (TV403)"
