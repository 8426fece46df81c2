"""Phases of a counter: its additions come in an order, because each waits until enough of the others were made.

Give each addition S of c to a location a number q(S) >= 0, its phase, so that at most g additions there have the same.
Let each S with q(S) > 0 wait, by its token, for an access of its block to the location that gave back

    v >= (high - 1) + c * g * q(S)                                                                   (waited)

As v = v0 + c * n with v0 < high, at least g * q(S) additions stand before what gave back v, and so before S: S waits
for that access, which therefore found nothing that stands behind S in the order of modifications.
Then an addition S of phase q stands before all of phases above q: take the first T of such a phase, and let S not be
before it.  Only additions of phases up to q are, without S at most g * (q + 1) - 1 of them.  But T has g * (q + 1)
before it.

So if R gives back v without S before it, all additions before R have phases up to q(S), and

    v < high + c * (g * (q(S) + 1) - 1)                                                              (phase)

or one less, if R itself adds: if its phase is above q(S), S is before it; else it is one of those of phases up to q(S).

Three cases: all additions are of phase 0, and a block makes one of them (last block done, barrier); the n-th addition
of a block is of phase n, as it waits for all blocks in between (a barrier used again); each addition has a phase of its
own, the turn of its block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from ....contract import terms as t
from ....contract.contract import Contract
from ....contract.terms import Term, TermKind
from ....results.codes import TV
from ..footprint_overlap import PRIME, CopyLevel, PreparedSite, PrimedCopy, awaited, identity, meet
from ..obligations import Obligation, block_axes
from .counters import Counter
from .instances import (
    Asker,
    Instance,
    Point,
    SideCondition,
    before,
    covers,
    different,
    own_instance,
    values_in,
    variables_of,
)


@dataclass(frozen=True, slots=True)
class Phases:
    """``size``: how many additions of one phase there are to one location at most.  ``of``: the phase of an execution
    of each addition, by the number of its site, in terms of the site."""

    size: Term
    of: Mapping[int, Term]
    side_conditions: tuple[SideCondition, ...]


@dataclass
class PhaseSearch:
    """``explained``: a question with what is known of its values."""

    watched: Mapping[str, PreparedSite]
    contract: Contract
    ask: Asker
    explained: Callable[[Obligation], Obligation]

    def phases(self, counter: Counter) -> tuple[Phases, ...]:
        """The ways to number the additions of ``counter`` that were shown to be right."""
        if not counter.even or counter.initial is None:
            return ()
        all_alike = Phases(counter.blocks, {each.site.number: t.ZERO for each in counter.adds}, ())
        found = [all_alike] if counter.once else []
        if counter.resets:
            return tuple(found)
        tried = [(t.ONE, of) for of in self._turns(counter)]
        tried += [] if counter.once else [(counter.blocks, of) for of in self._in_program_order(counter)]
        shown = (self._shown(counter, size, of) for size, of in tried)
        return (*found, *(each for each in shown if each is not None))

    # ------------------------------------------------------------------------------------------- candidates
    def _in_program_order(self, counter: Counter) -> Iterator[dict[int, Term]]:
        """0, 1, 2, ... outside loops; inside one around all of them, each round goes on with the next number."""
        adds = sorted(counter.adds, key=lambda each: each.site.offset)
        loops = {tuple(loop.name for loop in each.site.loops) for each in adds}
        if len(loops) == 1 and not any(len(each.site.loops) > 1 or each.site.lanes for each in adds):
            rounds = (each.site.loops[0].iteration if each.site.loops else t.ZERO for each in adds)
            yield {
                each.site.number: t.add(t.scale(len(adds), round_), t.const(place))
                for place, (each, round_) in enumerate(zip(adds, rounds, strict=True))
            }

    def _turns(self, counter: Counter) -> Iterator[dict[int, Term]]:
        """What the one addition of a block waits for, counted from the beginning."""
        if len(counter.adds) == 1 and counter.initial is not None:
            (add,), first = counter.adds, t.sub(counter.initial.high, t.ONE)
            seen = {each.value for each in self._seen(counter, add)}
            for part in t.postorder(add.guard):
                if part.kind in (TermKind.LT, TermKind.LE, TermKind.EQ):
                    for value, number in (part.args, part.args[::-1]):
                        if value in seen and number.kind is not TermKind.CONST:
                            yield {add.site.number: t.floordiv(t.sub(number, first), t.const(counter.step))}

    def _seen(self, counter: Counter, add: PreparedSite) -> Sequence[Instance]:
        """What the way to ``add`` found in the counter."""
        found = values_in((add.guard,), self.watched, {"": identity})[""]
        size = counter.origin.element_bytes
        return [
            each
            for each in found
            if each.origin.origin.name == counter.origin.name
            and covers(each.origin)
            and each.site.footprint.element_bytes == size
        ]

    # ------------------------------------------------------------------------------------------- side questions
    def _shown(self, counter: Counter, size: Term, of: Mapping[int, Term]) -> Phases | None:
        questions = (*self._unawaited(counter, size, of), *self._of_one_phase(counter, of, size is t.ONE))
        side_conditions: list[SideCondition] = [*counter.side_conditions]
        for question in map(self.explained, questions):
            refused = self.ask.refuses(*question.conditions)
            if refused is None:
                return None
            side_conditions += [*question.side_conditions, *([refused] if refused else [])]
        return Phases(size, of, tuple(side_conditions))

    def _unawaited(self, counter: Counter, size: Term, of: Mapping[int, Term]) -> Iterator[Obligation]:
        """An addition of a negative phase, or one that breaks (waited)."""
        assert counter.initial is not None
        for add in counter.adds:
            phase = of[add.site.number]
            enough = t.add(t.sub(counter.initial.high, t.ONE), t.scale(counter.step, t.mul(size, phase)))
            point, here = Point.at(add.site, identity), own_instance(add, identity).here
            waited = (
                t.and_(
                    before(each, point),
                    awaited(each.origin, by=add, own=each, other=identity),
                    meet(each.here, here, self.contract, lanes_matter=True),
                    t.le(enough, each.value),
                )
                for each in self._seen(counter, add)
            )
            broken = t.or_(t.lt(phase, t.ZERO), t.and_(t.lt(t.ZERO, phase), t.not_(t.or_(*waited))))
            yield Obligation(TV.SYNCHRONISATION_PROTOCOL, (add.guard, broken), add.site)

    def _of_one_phase(self, counter: Counter, of: Mapping[int, Term], alone: bool) -> Iterator[Obligation]:
        """Two additions of one phase to one location: of one block, or, if each shall be ``alone``, of two."""
        for first, second in combinations_with_replacement(counter.adds, 2):
            for level in (CopyLevel.INSTANCE, CopyLevel.BLOCK) if alone else (CopyLevel.INSTANCE,):
                copy = PrimedCopy(level, PRIME)
                block = copy if level == CopyLevel.BLOCK else identity
                one = own_instance(first, identity)
                other = Instance(second, block, tuple(map(copy, variables_of(second.site))))
                if level == CopyLevel.BLOCK:
                    apart = t.or_(*(t.ne(bid, copy(bid)) for bid in block_axes(self.contract)))
                else:
                    apart = different(one, other)
                same = t.eq(of[first.site.number], other(of[second.site.number]))
                meets = meet(one.here, other.here, self.contract)
                conditions = (one.guard, other.guard, apart, same, meets)
                yield Obligation(TV.SYNCHRONISATION_PROTOCOL, conditions, first.site, second.site, level=level)
