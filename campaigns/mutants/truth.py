"""What a changed kernel is, by running it: launches that were drawn before the prover was asked.

* ``broken``: a launch of the contract shows a fault, whatever index arrays hold of what the contract's facts allow, in
  all contents with which it does its work;
* ``data``: faults show with some contents of index arrays only (a further fact could exclude them, so that `undecided`
  with its name is the right answer);
* ``unseen``: no fault shows, and in some launch every block that was chosen ran to its end;
* ``open``: no fault shows, but in each launch some block could not be followed, or there is no launch.

A fact that no contents of a launch keep excludes the launch as well.  So a launch without room says nothing of what a
fact could exclude: one in which limits leave fewer than two values for each element, or one that is too small.  In
that, contents have a part in the fault: another block is at fault with other contents, or none if values may repeat;
and with sizes larger by `MORE_ROOM`, which leaves tails of tiles as they are, there are contents that do the work,
faultless.  A launch without room counts only where no launch with room has such contents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

from numpy.typing import NDArray
from tests.corpus.launches import VARIANTS, Drawn

from tileverify.contract.data_facts import parse_data_fact
from tileverify.contract.launch import Block, ConcreteArray, ConcreteLaunch, DataFact, KernelUnit, Number

from ..faults import STEPS, Fault, Reached, Watched
from ..hunt import Hunter
from .launches import counted_contents, float_contents, kept_by, makes_indices_of_floats, recorded_launch
from .subjects import Subject

RACES = ("TV101", "TV102", "TV103", "TV201", "TV202")
FURTHER = 32
"""Contents of which something further holds, tried where all of `VARIANTS` show a fault."""
FEWER = 8
"""The same where the contract says nothing of contents."""
ROOMY = 6
"""Further launches whose contents have a choice."""
MORE = 40
"""Launches drawn to find them."""
MORE_ROOM = (1 << 10, 1 << 15)
"""Multiples of most tiles."""
MOST_ELEMENTS = 1 << 22
"""Of a launch with so much more room."""
FEW_BLOCKS = 3
PATIENCE = 1 << 27
"""Steps for a recorded launch, and again for a few of its blocks if they were too few."""
AROUND_STEPS = 1 << 25
"""Steps for a launch around a recorded one."""

Contents = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Truth:
    """``kind`` as in the module's text; ``why`` it is open."""

    kind: str
    fault: Fault | None = None
    why: str = ""


@dataclass
class Truths:
    """Says what changed versions of one subject are; ``requires``: the clauses under which itself was proved.

    ``observed``: facts on the contents of a recorded launch that the proof took from the recording.
    """

    subject: Subject
    requires: tuple[str, ...]
    observed: tuple[str, ...] = ()
    hunter: Hunter = field(init=False)
    own: list[Drawn] = field(init=False)
    unit: KernelUnit = field(init=False)

    def __post_init__(self) -> None:
        facts = (*self.subject.unit.launch.data, *map(parse_data_fact, self.observed))
        self.unit = with_data(self.subject.unit, facts)
        self.hunter = Hunter(self.unit, variants=VARIANTS if self._facts else 1)
        self.own = self._own_launches()
        self._more: dict[object, tuple[ConcreteLaunch, ...]] = {}
        self._judged = b""
        self._known: dict[tuple[object, bool], tuple[Fault | None, Reached]] = {}

    @property
    def _facts(self) -> Sequence[Any]:
        return self.unit.launch.data

    @property
    def _steered_by_contents(self) -> bool:
        """Whether a fault may be that of what arrays hold."""
        return bool(self._facts)

    def _own_launches(self) -> list[Drawn]:
        if self.subject.recorded:
            return recorded_launch(self.unit, self.requires, VARIANTS + FURTHER if self._facts else 1)
        return self.hunter.varied(self.requires)

    @cached_property
    def _roomy(self) -> list[Drawn]:
        """Further launches in which contents have a choice."""
        if self.subject.recorded:
            return []
        hunter = Hunter(self.unit, small=MORE, tiny=0, large=0, variants=VARIANTS)
        more = [each for each in hunter.varied(self.requires) if not self.crammed(each)]
        return [each for each in more if each not in self.own][:ROOMY]

    @cached_property
    def _steered(self) -> Hunter:
        """Draws contents of which something further holds, also for the integers that no fact speaks of."""
        spec = self.unit.launch
        known = {name for fact in spec.data for name in fact.arrays}
        free = [array.name for array in spec.arrays() if array.dtype[0] in "iu" and array.name not in known]
        said = (*spec.data, *map(_nothing_of, free))
        return Hunter(with_data(self.unit, said), variants=VARIANTS + (FURTHER if spec.data else FEWER))

    @cached_property
    def _loose(self) -> Hunter:
        """Draws contents whose values may repeat where only facts on repetition keep them from it."""
        facts = self.unit.launch.data
        loose = [_nothing_of(fact.array) if fact.kind in ("injective", "disjoint_rows") else fact for fact in facts]
        return Hunter(with_data(self.unit, loose), variants=VARIANTS + FURTHER)

    # ------------------------------------------------------------------------------------------ all launches
    def of(self, unit: KernelUnit) -> Truth:
        """What the launches of the subject show of a changed version."""
        return self.among(unit, self.own, self._roomy if self._facts else ())

    def under(self, unit: KernelUnit, requires: tuple[str, ...]) -> Truth:
        """What those that keep ``requires`` show of it."""
        return self.among(unit, self.hunter.varied(requires), ())

    def among(self, unit: KernelUnit, launches: Sequence[Drawn], more: Sequence[Drawn]) -> Truth:
        """``more`` launches have a say where contents had no choice in those that show a fault."""
        by_data: Fault | None = None
        forced: Truth | None = None
        followed, why = False, "no launch of the contract was found"
        for drawn in launches:
            looked = self._look(unit, drawn)
            if looked.kind == "broken":
                if not self._without_choice(unit, drawn, looked.fault):
                    return looked
                forced = forced or looked
            by_data = by_data or looked.fault
            followed, why = followed or not looked.why, looked.why or why
        if forced is not None:
            return self._judged_by_others(unit, forced, [*more, *launches])
        if by_data is not None:
            return Truth("data", by_data)
        return Truth("unseen") if followed else Truth("open", why=why)

    def _judged_by_others(self, unit: KernelUnit, forced: Truth, launches: Sequence[Drawn]) -> Truth:
        """``data`` if contents make up for the fault where they have a choice, and in every launch where they have."""
        assert forced.fault is not None
        harmless = False
        for drawn in launches:
            looked = self._look(unit, drawn)
            if looked.kind == "broken":
                if not self._without_choice(unit, drawn, looked.fault):
                    return looked
            elif not harmless and not self.crammed(drawn):
                harmless = self._works(unit, drawn, forced.fault)
        return Truth("data", forced.fault) if harmless else forced

    # ------------------------------------------------------------------------------- the choice of contents
    def _without_choice(self, unit: KernelUnit, drawn: Drawn, fault: Fault | None) -> bool:
        assert fault is not None
        if not self._steered_by_contents or self.subject.recorded:
            return False
        if self.crammed(drawn):
            return True
        if 0 in drawn.values.values():
            return self._without_choice_if_filled(unit, drawn, fault)
        by_contents = self._takes_turns(unit, drawn, fault) or self._with_loose_contents(unit, drawn, fault)
        return by_contents and self._with_room(unit, drawn, fault)

    def _without_choice_if_filled(self, unit: KernelUnit, drawn: Drawn, fault: Fault) -> bool:
        """An array without elements has no place for any content: whether contents have a part in it with a few."""
        filled = self.hunter.resized(self.requires, {name: size or 1 for name, size in drawn.values.items()})
        looked = None if filled is None else self._look(unit, filled)
        if filled is None or looked is None or looked.fault is None or looked.fault.code != fault.code:
            return False
        return looked.kind != "broken" or self._without_choice(unit, filled, looked.fault)

    def _takes_turns(self, unit: KernelUnit, drawn: Drawn, fault: Fault) -> bool:
        """No block, or pair of blocks, is at fault with all contents."""
        common: set[tuple[Block, ...]] | None = None
        for launch, contents in self._tried(unit, drawn):
            found = Watched(unit, launch, contents=contents).at_fault(fault.code)
            if found is None:
                return False
            common = found if common is None else common & found
            if not common:
                return True
        return False

    def _with_loose_contents(self, unit: KernelUnit, drawn: Drawn, fault: Fault) -> bool:
        """Some contents show no such fault, even if values repeat in them or the kernel does nothing."""
        loose = self._loose.resized(self.requires, drawn.values)
        for launch, contents in self._usual(loose) if loose is not None else ():
            watched = Watched(unit, launch, contents=contents)
            if watched.open is None and watched.at_fault(fault.code) == set():
                return True
        return False

    def _with_room(self, unit: KernelUnit, drawn: Drawn, fault: Fault) -> bool:
        """In a larger launch, the kernel does its work with some contents, and shows no fault."""
        for name, size in drawn.values.items():
            for more in MORE_ROOM:
                larger = self.hunter.resized(self.requires, {**drawn.values, name: size + more})
                small = larger is not None and _elements(larger.launches[0]) <= MOST_ELEMENTS
                if small and larger is not None and self._works(unit, larger, fault):
                    return True
        return False

    def crammed(self, drawn: Drawn) -> bool:
        """Facts leave an array fewer than two values for each element, or segments and shares as little room."""
        return any(
            _crammed(fact.array, fact.kind, fact.others[0] if fact.others else None, drawn.launches)
            for fact in self._facts
        )

    # ------------------------------------------------------------------------------------------- one launch
    def _usual(self, drawn: Drawn) -> Iterator[tuple[ConcreteLaunch, Contents]]:
        """The launch with contents for arrays with facts and without."""
        launches = drawn.launches
        free = list(counted_contents(self.unit.launch, launches[0]))
        turns = max(len(launches), len(free))
        yield from ((launches[turn % len(launches)], free[turn % len(free)]) for turn in range(turns))
        if free != [{}]:
            yield launches[0], {}

    def _further(self, unit: KernelUnit, drawn: Drawn) -> Iterator[tuple[ConcreteLaunch, Contents]]:
        """The same with contents of which something further holds, and with floats from which indices may come."""
        key = tuple(drawn.values.items())
        if key not in self._more:
            steered = self._steered.resized(self.requires, drawn.values) if self._steered.unit.launch.data else None
            same = steered is not None and steered.launches[0].grid == drawn.launches[0].grid
            self._more[key] = steered.launches if same and steered is not None else ()
        launches = self._more[key]
        for launch in kept_by(self.unit.launch, launches) if self.subject.recorded else launches:
            yield launch, {}
        if makes_indices_of_floats(unit):
            yield from ((drawn.launches[0], contents) for contents in float_contents(drawn.launches[0]))

    def _tried(self, unit: KernelUnit, drawn: Drawn) -> Iterator[tuple[ConcreteLaunch, Contents]]:
        yield from self._usual(drawn)
        yield from self._further(unit, drawn)

    def _look(self, unit: KernelUnit, drawn: Drawn) -> Truth:
        """What one launch shows with various contents; those with further facts only where all others are at fault."""
        seen: list[Fault] = []
        harmless: list[Reached] = []
        why = ""
        for launch, contents in self._usual(drawn):
            fault, reached = self.fault(unit, launch, contents, own=True)
            why = why or reached.open or ""
            if fault is not None:
                seen.append(fault)
            else:
                harmless.append(reached)
            if seen and any(each.at_stake(seen[0]) for each in harmless):
                break
        if not seen or any(each.at_stake(seen[0]) for each in harmless):
            return Truth("open" if why else "unseen", seen[0] if seen else None, why)
        if self._shows_nothing(unit, self._further(unit, drawn), seen[0]):
            return Truth("unseen", seen[0])
        return Truth("broken", seen[0])

    def _works(self, unit: KernelUnit, drawn: Drawn, fault: Fault) -> bool:
        return self._shows_nothing(unit, self._tried(unit, drawn), fault)

    def _shows_nothing(self, unit: KernelUnit, tried: Iterable[tuple[ConcreteLaunch, Contents]], fault: Fault) -> bool:
        """Whether some contents show nothing, though they get the kernel to what was at ``fault``."""
        for launch, contents in tried:
            seen, reached = self.fault(unit, launch, contents)
            if seen is None and reached.open is None and reached.at_stake(fault):
                return True
        return False

    def fault(
        self, unit: KernelUnit, launch: ConcreteLaunch, contents: Contents, *, own: bool = False
    ) -> tuple[Fault | None, Reached]:
        """The first fault, and how far the blocks came; ``own``: of the subject's launches.

        A kernel runs once in launches that differ in nothing that it finds.
        """
        if unit.bytecode != self._judged:
            self._judged = unit.bytecode
            self._known.clear()
        found = _found(launch, contents)
        known = self._known.get((found, own))
        if known is None and not own:
            known = self._known.get((found, True))
            known = known if known is not None and known[0] is None else None
        if known is None:
            known = self._known[found, own] = self._run(unit, launch, contents, own=own)
        return known

    def _run(
        self, unit: KernelUnit, launch: ConcreteLaunch, contents: Contents, *, own: bool
    ) -> tuple[Fault | None, Reached]:
        steps = 8 * STEPS // max(1, len(self.own))
        if self.subject.recorded:
            steps = PATIENCE if own else AROUND_STEPS
        watched = Watched(unit, launch, steps=steps, contents=contents)
        fault = next(watched.faults(), None)
        if fault is None and (watched.scoped or (not self.subject.recorded and launch is self.own[0].launches[0])):
            fault = next(watched.explored(), None)
        if fault is None and own and watched.open and watched.logs and len(watched.blocks) > FEW_BLOCKS:
            few = [*watched.blocks[: FEW_BLOCKS - 1], watched.blocks[-1]]
            watched = Watched(unit, launch, steps=steps, contents=contents, blocks=few)
            fault = next(watched.faults(), None)
        return fault, watched.reached


def _found(launch: ConcreteLaunch, contents: Contents) -> object:
    """What a kernel finds: arguments, and what memory holds."""
    arrays = [
        (
            name,
            a.dtype,
            a.shape,
            a.strides,
            a.fill,
            a.allocation,
            a.byte_offset,
            _held(a, contents.get(a.allocation or name)),
        )
        for name, a in launch.named_arrays()
    ]
    floats = sorted(launch.floats.items())
    return launch.grid, tuple(launch.scalars.items()), tuple(floats), tuple(arrays)


def _held(array: ConcreteArray, given: NDArray[Any] | None) -> int:
    return hash(tuple(array.contents.items()) if given is None else given.tobytes())


def with_data(unit: KernelUnit, facts: Sequence[DataFact]) -> KernelUnit:
    return replace(unit, launch=replace(unit.launch, data=tuple(facts)))


def _nothing_of(name: str) -> DataFact:
    return DataFact("multiples", name, amount=Number(1))


def _elements(launch: ConcreteLaunch) -> int:
    return sum(prod(array.shape) for array in launch.arrays.values())


def _crammed(name: str, kind: str, lengths: str | None, launches: Sequence[ConcreteLaunch]) -> bool:
    count = len(launches[0].arrays[name].contents)
    if kind not in ("range", "shares", "segments") or not count:
        return False
    held = [list(launch.arrays[lengths or name].contents.values()) for launch in launches]
    if kind == "range":
        values = [value for each in held for value in each]
        return max(values) - min(values) + 1 < 2 * count
    return max(map(sum, held)) < 2 * count
