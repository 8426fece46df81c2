"""TV711: an element of an array that no block writes, in a launch that the interpreter ran, or why none is known.

`coverage` leaves a question open: a launch and an element that none of the candidates gets to.  Its models are launches
in which an element may be left out.  The interpreter runs one whole and tells what nobody wrote; a candidate that
missed a block which does write the element confirms nothing.  The smallest such launch is told.

Where values from memory decide which elements are written, one content refutes nothing: a fact that nobody stated may
exclude it.  So such arrays are undecided.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ..contract.launch import LaunchSpec
from ..contract.terms import Term, TermKind
from ..results import Finding, NeverWritten
from ..results.claim import Confirm
from ..results.codes import TV
from . import messages
from .coverage import Coverage, Unproved
from .obligations.fact_use import loaded_values
from .obligations.footprint_overlap import PreparedSite, place_terms, touches
from .obligations.obligations import Obligation
from .refute.shown_witness import describe
from .refute.witness import Search
from .smt import SolverContext

NOT_EXACT: Final = messages.OpenReason(
    TV.ARITHMETIC_OUT_OF_REACH,
    "of a kernel that leaves loops early, or is trusted to stop at an assertion, it is not known which stores happen",
)


@dataclass(frozen=True, slots=True)
class Unwritten:
    """Of one array: ``shown``, what nobody writes, or no more than that it is not known.  ``finding`` tells either."""

    shown: NeverWritten | None
    finding: Finding


def unwritten(unknown: Unproved, coverage: Coverage, launch: LaunchSpec, confirm: Confirm | None) -> Unwritten:
    """What comes of an array that is not known to be written whole; without ``confirm`` nothing is run."""
    obligation = _obligation(unknown)
    terms = [term for each in unknown.sites for term in _terms(each)]
    reason = None if unknown.exact else NOT_EXACT
    if confirm is not None and unknown.exact and not _of_memory(terms):
        solver = coverage.solver.fork(SolverContext(models=True))
        search = Search(obligation, obligation.conditions, {}, coverage.contract, launch, coverage.origins, solver)
        if (found := search.run(confirm)) is not None:
            witness = describe(found, obligation, coverage.contract, {})
            text = f"no block writes `{witness.element}`"
            finding = Finding(TV.NEVER_WRITTEN, text, messages.sites(obligation), witness)
            return Unwritten(NeverWritten(unknown.name, witness), finding)
    asked = (*obligation.conditions, *terms)
    return Unwritten(None, messages.undecided(obligation, asked, unknown=not loaded_values(asked), known=reason))


def _obligation(unknown: Unproved) -> Obligation:
    first = next((each.site for each in unknown.sites), None)
    return Obligation(TV.NEVER_WRITTEN, unknown.left_out, first, detail=unknown.name)


def _terms(prepared: PreparedSite) -> Iterable[Term]:
    """On which it depends whether a site writes, and where."""
    return (prepared.guard, touches(prepared.place), *place_terms(prepared.place))


def _of_memory(terms: Iterable[Term]) -> bool:
    """Whether a value has a part in them that no launch of numbers gives."""
    return any(leaf.kind is TermKind.APPLY for term in terms for leaf in term.free)
