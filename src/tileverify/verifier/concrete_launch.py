"""A launch of numbers whose proof stays open: all its blocks run in the reference interpreter, which decides it.

of numbers   every size, stride, integer scalar and axis of the grid is one number, and no arguments share memory
contents     of index arrays: whatever they hold; else each of those that facts on them allow, where these are few
addresses    what hangs on where an array lies in memory (its alignment) stays the prover's

What `backend.replay.enumeration` shows is about every execution of this launch, and about no other launch.  It shares
no reasoning with the prover, nor has it formulas that somebody could check again: the result says what was enumerated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, product
from math import prod
from typing import Final

from ..contract import terms as t
from ..contract.element_types import INT_BITS
from ..contract.facts.every_content import every_content
from ..contract.launch import ConcreteArray, ConcreteLaunch, ScalarArgument, flat
from ..contract.terms import TermKind
from ..contract.variables import GRID, argument_address, scalar_variable
from ..results import Verdict
from ..results.claim import Enumerated, RunsEveryBlock
from ..results.codes import CONFLICTS, EVENTS, Tier
from .attempt import Closed, Outcome
from .obligations.answers import Model
from .obligations.obligations import Obligation
from .obligations.prepare import contract_values
from .outcome import outcome_of
from .own_proof import OwnProof
from .refute.described import DescribedNumbers, NoLaunch, concrete_launch, numbered_facts
from .refute.witness import FoundWitness

MOST_CONTENTS: Final = 16
"""Contents of all index arrays together that are run one after the other."""


def enumerated(proof: OwnProof, outcome: Outcome, runs: RunsEveryBlock) -> Outcome:
    """``outcome``, undecided so far, or what the run of all blocks says of the launch; nothing where no block works."""
    launch = _numbers(proof) if proof.vacuous is None else None
    if launch is None or proof.prover.is_late():
        return outcome
    with proof.prover.effort.at("all blocks of the launch"):
        return _Decision(proof, outcome, launch, runs).outcome()


def _numbers(proof: OwnProof) -> ConcreteLaunch | None:
    """The one launch of the contract, without contents; ``None`` if there are several, or more than numbers counts."""
    own = proof.prover
    contract, launch = own.contract, own.launch
    values = contract_values(contract)
    scalars = [each for each in flat(launch.arguments) if isinstance(each, ScalarArgument) and each.dtype in INT_BITS]
    words = (*GRID, *(scalar_variable(each.name, each.dtype) for each in scalars))
    if contract.lists or contract.overlap or contract.same or launch.unsized or launch.grid is None:
        return None
    if contract.empty or contract.equal_stores or launch.calls:  # the run neither looks for these, nor calls functions
        return None
    if any(size.sort is t.Sort.INT for size in contract.variables):
        return None
    if any(values.get(word, word).kind is not TermKind.CONST for word in words):
        return None
    addresses = {argument_address(name) for name in contract.arrays}
    for opened in proof.left:
        of_kind = opened.obligation.code in (*CONFLICTS, *EVENTS)
        if not of_kind or any(addresses & condition.free for condition in opened.obligation.conditions):
            return None
    try:
        return concrete_launch(Model({}, {}), contract, launch, own.kernel.origins, without=contract.arrays.keys())
    except NoLaunch:
        return None


@dataclass
class _Decision:
    proof: OwnProof
    undecided: Outcome
    launch: ConcreteLaunch
    runs: RunsEveryBlock

    def outcome(self) -> Outcome:
        found = self.runs(self.launch, ())
        if found.is_faultless:
            return self._proved([found], "whatever its arrays hold")
        if found.claim is not None:
            return self._refuted(self.launch, found) or self.undecided
        contents = self._contents() if found.steps < found.most else None
        if contents is None:
            return self._not_enumerated(found)
        shown, steps = [], found.steps
        for given in contents:
            holding = replace(self.launch, arrays={**self.launch.arrays, **given})
            found = self.runs(holding, tuple(given))
            steps += found.steps
            if not found.is_faultless or steps > found.most:
                alone = found.claim is not None and len(contents) == 1 and not self._joined
                return (self._refuted(holding, found) if alone else None) or self._not_enumerated(found)
            shown.append(found)
        names = ", ".join(contents[0])
        which = f"each of the {len(shown)} contents" if len(shown) > 1 else "the contents"
        return self._proved(shown, f"for {which} that the facts on {names} allow")

    # ----------------------------------------------------------------------------------------- contents
    def _contents(self) -> list[Mapping[str, ConcreteArray]] | None:
        """All that arrays hold of which facts allow few contents; ``None`` if there are none, or too many together."""
        facts = numbered_facts(DescribedNumbers(Model({}, {})), self.proof.prover.contract, {})
        own = {name: [fact for fact in facts if fact.array == name] for name in self.launch.arrays}
        few = {name: every_content(self.launch.arrays[name], own[name]) for name in own if own[name]}
        known = {name: contents for name, contents in few.items() if contents}
        if not known or prod(map(len, known.values())) > MOST_CONTENTS:
            return None
        return [dict(zip(known, each, strict=True)) for each in islice(product(*known.values()), MOST_CONTENTS)]

    @property
    def _joined(self) -> bool:
        """Whether facts speak of several arrays together, so that the launch may have fewer contents."""
        return any(data.fact.others for data in self.proof.prover.contract.data)

    # ----------------------------------------------------------------------------------------- outcomes
    def _proved(self, shown: list[Enumerated], contents: str) -> Outcome:
        own, left = self.proof.prover, self.proof.left
        own.closed += [Closed(opened.obligation, Tier.ENUMERATED, 0.0) for opened in left]
        blocks, steps = shown[0].blocks, sum(each.steps for each in shown)
        note = (
            f"enumerated: {len(left)} of {len(own.closed)} obligations hold for this launch alone, {contents}:"
            f" the reference interpreter ran {'its one block' if blocks == 1 else f'all {blocks:,} blocks'}"
            f" ({steps:,} of {shown[0].most:,} steps)"
        )
        found = outcome_of(own, Verdict.PROVED, (), (*self.proof.notes, note))
        return replace(found, holds_for="launch")

    def _refuted(self, launch: ConcreteLaunch, found: Enumerated) -> Outcome | None:
        """The fault as a finding, where a replay of its blocks shows it."""
        assert found.claim is not None
        explanation, model = self.proof.explanation, Model({}, {})
        confirmation = self.proof.confirm(launch, found.claim)
        if confirmation is None or explanation is None:
            return None
        ops = {found.claim.offset_a, found.claim.offset_b} - {None}
        alike = [each for each in self.proof.left if each.obligation.code == found.claim.code]
        opened = next((each for each in alike if ops == set(_offsets(each.obligation))), None)
        if opened is None:
            return None
        witness = FoundWitness(launch, found.claim, confirmation, model, elsewhere=True)
        explanation.add(opened.obligation, witness)
        return outcome_of(self.proof.prover, Verdict.REFUTED, explanation.findings, self.proof.notes)

    def _not_enumerated(self, found: Enumerated) -> Outcome:
        if found.asks_contents:
            return self.undecided  # its findings say so
        reason = found.reason or "a content that its facts allow may be at fault"
        return replace(self.undecided, notes=(*self.undecided.notes, f"not enumerated: {reason}"))


def _offsets(obligation: Obligation) -> Iterator[int]:
    first, second = obligation.first or obligation.promise, obligation.second
    yield from (each.offset for each in (first, second) if each is not None)
