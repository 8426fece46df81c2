"""Compiled code held against the access summary, for all launches of a contract.

    inside     each access of the code, under its path, is an access of the summary under that one's guard:
               for each thread there is a lane with the same address, and   path and not guard(lane)   is impossible
    complete   each lane of a store or an atomic of the summary is made by some thread:
               guard(lane) and no path of a thread with that lane's address   is impossible
    times      of an atomic or a scoped access each lane is made by one thread, once

Addresses are compared as numbers of the thread (`code_lanes`), exactly modulo 2**64; the conditions are questions for
the solver.  What a load gives is, in later addresses and conditions, what the load of the summary gives that it is.
Nothing is said of values, nor of the order of accesses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Final

import numpy as np

from ...contract import terms as t
from ...contract.as_terms import build_contract
from ...contract.launch import LaunchSpec
from ...contract.terms import Function, Sort, Term, TermKind
from ...contract.terms.rendering import unsigned_reading
from ...frontend.symbolic.memory import OUTSIDE
from ...frontend.symbolic.summary import Access, AccessSummary, address_of
from ...verifier.obligations.answers import Answer, Limits
from ...verifier.obligations.fact_use import FactUse
from ...verifier.obligations.footprint_overlap import PreparedSite
from ...verifier.obligations.layout import as_bytes
from ...verifier.obligations.prepare import Preparer, launch_facts
from ...verifier.obligations.simplify import simplify
from ...verifier.smt import Solver
from .code_lanes import MadeLanes, NoLanes, NoNumberForm, SummaryAccess, Things, made_lanes
from .ptx_text import CodeAccess, Followed, Premise, copies_of
from .ptx_values import signed, width_of

LIMITS: Final = Limits(linear=200_000, nonlinear=200_000, rounds=12, total=400_000, bits=0)
MOST_LANES: Final = 1 << 16
MOST_THREADS: Final = 1 << 14


class NotShown(Exception):
    """Why it is not known that the code does for all launches what the bytecode does."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class LoopNotCounted(Exception):
    """The premises of a loop whose rounds were counted do not hold."""

    def __init__(self, loop: int) -> None:
        super().__init__()
        self.loop = loop


@dataclass(frozen=True, slots=True)
class _Made:
    """A part of an access of the code that makes lanes of the summary's."""

    access: CodeAccess
    made: MadeLanes
    threads: Things


@dataclass
class CodeComparison:
    """`made` returns where every launch touches the same memory by the code as by the summary; else it raises
    `NotShown` or `LoopNotCounted`."""

    followed: Followed
    summary: AccessSummary
    launch: LaunchSpec
    clauses: Sequence[Term]
    given: dict[Function, _Made] = field(default_factory=dict)
    made_of: dict[int, list[_Made]] = field(default_factory=dict)
    _settled: dict[tuple[Term, Term], Term] = field(default_factory=dict)
    _things: dict[tuple[tuple[Term, int], ...], Things] = field(default_factory=dict)

    def made(self) -> None:
        contract = build_contract(self.launch)
        facts = (*launch_facts(contract), *self.clauses)
        self.solver = Solver(facts, LIMITS)
        self.use = FactUse(contract, clauses=self.clauses)
        self.preparer = Preparer(self.summary, contract, self.solver, use=self.use)
        self.facts = frozenset(t.flat_conjuncts(*facts))
        self.sites = [self._of_summary(self.preparer.site(site)) for site in self.summary.sites]
        premises = list(self.followed.premises)
        for number, access in enumerate(self.followed.accesses):
            while premises and premises[0].before <= number:
                self._prove(premises.pop(0))
            for each in copies_of(access, self.followed) if access.box else (access,):
                self._inside(each)
        for premise in premises:  # of a loop behind all accesses of the loop around, whose next round rests on it
            self._prove(premise)
        for site in self.sites:
            if site.prepared.site.writes:
                self._complete(site)

    def _of_summary(self, prepared: PreparedSite) -> SummaryAccess:
        footprint = prepared.site.footprint
        placed = as_bytes(footprint)
        guard = _as_compiled(t.and_(prepared.guard, placed.live))
        origin = self.preparer.term(address_of(prepared.site.origin))
        address = self._settle(_as_compiled(t.add(origin, placed.offset)), guard)
        found = SummaryAccess(prepared, address, guard, footprint.element_bytes)
        if found.count > MOST_LANES:
            raise NotShown(f"the access of {found.line} has {found.count} lanes")
        return found

    def _prove(self, premise: Premise) -> None:
        holds = self._holds(premise.path, premise.known)
        denied = self.preparer.read(self._known(t.not_(premise.holds)), holds)
        if not self._impossible([holds, denied]):
            raise LoopNotCounted(premise.loop)

    def _holds(self, path: Sequence[Term], known: Sequence[Term]) -> Term:
        return self.preparer.condition(t.and_(*(self._known(each) for each in (*path, *known))))

    # --------------------------------------------------------------------------------------- inside
    def _inside(self, access: CodeAccess) -> None:
        holds = self._holds(access.path, access.known)
        if self._impossible([holds]):
            return
        if access.traps:
            if self._asserted(holds):
                return
            raise NotShown(_text(access, "it may stop the launch"))
        address = self._settle(self.preparer.read(self._known(access.address), holds), holds)
        why, known = "it touches what no access of the bytecode does", False
        for threads, rounds in self._threads_of(access):
            for site in self.sites:
                if not _alike(access, site) or access.bytes % site.element:
                    continue
                try:
                    found = self._lanes_of(access, address, holds, threads, rounds, site)
                except NoLanes as end:
                    why = end.why
                    continue
                self.made_of.setdefault(site.prepared.site.number, []).extend(found)
                if not known:
                    self._note(access, found)
                known = True
                if not access.writes or access.scoped:  # a store may do for two stores of the bytecode
                    return
            if known:
                return
        raise NotShown(_text(access, why))

    def _asserted(self, stops: Term) -> bool:
        """Whether an assertion fails, at which blocks are trusted to stop, wherever the code ``stops`` the launch.

        Of assertions about single numbers alone.
        """
        kept = []
        for each in self.summary.assertions:
            if not each.lanes and not each.loops:
                prepared = self.preparer.promise(each)
                kept.append(_as_compiled(t.or_(t.not_(prepared.guard), prepared.condition)))
        return bool(kept) and self._impossible([stops, *kept])

    def _threads_of(self, access: CodeAccess) -> Iterator[tuple[Things, Sequence[Term]]]:
        """The threads of a block, and the numbers of the loops around; then with each round of a loop that is always as
        long counted as a thread of its own: what one op does for a tile may be done in such loops."""
        every = {self.followed.thread: self.followed.threads} if not access.box else dict(access.box)
        yield self._numbered(every), [loop.number for loop in access.loops]
        short, others, size = dict(every), [], prod(every.values())
        for loop in access.loops:
            if (
                loop.last is not None
                and loop.last.kind is TermKind.CONST
                and (loop.last.value + 1) * size <= MOST_THREADS
            ):
                short[loop.number] = loop.last.value + 1
                size *= loop.last.value + 1
            else:
                others.append(loop.number)
        if len(short) > len(every):
            yield self._numbered(short), others

    def _numbered(self, counts: Mapping[Term, int]) -> Things:
        """All values of some variables together, each from 0 up to its count."""
        key = tuple(counts.items())
        if key not in self._things:
            grid = np.indices(tuple(counts.values())).reshape(len(counts), -1)
            self._things[key] = Things(dict(zip(counts, grid, strict=True)), grid.shape[1])
        return self._things[key]

    def _lanes_of(
        self, access: CodeAccess, address: Term, holds: Term, threads: Things, rounds: Sequence[Term],
        site: SummaryAccess,
    ) -> list[_Made]:  # fmt: skip
        counts = np.ones(threads.count, "?")
        for each in t.flat_conjuncts(holds):
            if (numbers := threads.numbers(each)) is not None:
                counts &= numbers.astype("?")
        try:
            form = threads.form(address)
        except NoNumberForm:
            raise NoLanes("its address is no sum of products") from None
        found = []
        for part in range(access.bytes // site.element):
            moved = {**form, t.ONE: form.get(t.ONE, np.zeros(threads.count, "i8")) + part * site.element}
            made = made_lanes(moved, threads, counts, site, rounds)
            allowed = t.and_(site.guard, made.access.chosen)
            if not self._impossible([holds, t.not_(t.substitute(allowed, made.terms))]):
                raise NoLanes(f"it may be made where the access of {site.line} is not")
            found.append(_Made(access, made, threads))
        return found

    def _note(self, access: CodeAccess, found: Sequence[_Made]) -> None:
        """What the load gives is from now on what the summary's load gives."""
        if len(access.results) == len(found):
            self.given |= dict(zip(access.results, found, strict=True))

    def _known(self, term: Term) -> Term:
        """``term`` with what loads gave put in."""
        return t.simplified(t.transform(term, self._given)) if self.given else term

    def _given(self, term: Term) -> Term | None:
        if term.kind is not TermKind.APPLY or term.function not in self.given:
            return None
        part = self.given[term.function]
        access, site = part.access, part.made.access
        value, type_ = site.prepared.site.value, access.instruction.type
        bits = width_of(type_)
        if value is None or value.sort is not Sort.INT or bits is None or bits != 8 * site.element:
            return None
        rounds = {loop.number: each for loop, each in zip(access.loops, term.args[1:], strict=True)}
        own = {self.followed.thread: term.args[0], **rounds}
        read = t.substitute(
            _as_compiled(value), {variable: t.substitute(each, own) for variable, each in part.made.terms.items()}
        )
        held_in = term.function.high.bit_length() + 1 if term.function.high is not None else 0
        return read if type_[0] == "s" or held_in == bits else signed(held_in, t.unsigned(bits, read))

    # --------------------------------------------------------------------------------------- complete
    def _complete(self, site: SummaryAccess) -> None:
        times = np.zeros(site.count, "i8")
        groups: dict[tuple[object, ...], list[_Made]] = {}
        for each in self.made_of.get(site.prepared.site.number, ()):
            lanes = tuple(each.made.terms[lane.variable] for lane in site.prepared.site.lanes)
            groups.setdefault((lanes, *each.threads.values, each.made.counts.tobytes()), []).append(each)
        for parts in groups.values():
            first = parts[0].made
            if self._made_where_wanted(site, parts):
                times += np.bincount(first.lanes[first.counts], minlength=site.count)
            elif site.prepared.site.atomic:
                raise NotShown(f"the atomic of {site.line} may be made more than once")
        things = Things(site.numbers(), site.count)
        for condition in t.flat_conjuncts(site.guard):
            if (numbers := things.numbers(condition)) is not None:
                times[~numbers.astype("?")] = 1  # never made
        if (times == 0).any():
            raise NotShown(f"it is not known that each element of the store in {site.line} is stored")
        if site.prepared.site.atomic and ((times > 1).any() or not all(map(self._once, groups.values()))):
            raise NotShown(f"an element of the atomic in {site.line} may be updated more than once")

    def _made_where_wanted(self, site: SummaryAccess, parts: Sequence[_Made]) -> bool:
        """Whether one of the parts, which are alike in their lanes, is made wherever those are."""
        first, threads = parts[0].made, parts[0].threads
        lanes = {lane.variable: first.terms[lane.variable] for lane in site.prepared.site.lanes}
        guard = self.preparer.condition(t.substitute(site.guard, lanes))
        own = [each for each in t.flat_conjuncts(t.and_(*parts[0].access.path)) if threads.numbers(each) is not None]
        for part in parts:
            if not self._impossible([guard, *own, t.not_(t.substitute(part.made.access.chosen, lanes))]):
                return False
        denied = [self._denied(site, each, guard) for each in parts]
        if len(parts) == 1:
            return all(self._impossible([guard, *own, each]) for each in denied[0])
        return self._impossible([guard, *own, *(t.or_(*each) for each in denied)])

    def _once(self, parts: Sequence[_Made]) -> bool:
        """Whether no two of the parts are made for one lane."""
        return len(parts) == 1

    def _denied(self, site: SummaryAccess, part: _Made, guard: Term) -> list[Term]:
        """The ways in which iteration k of the site, for the part's lanes, may not be made by it."""
        rounds, ways = _inverse(site, part)
        for condition in part.access.path:
            for each in self._parts(condition, part.threads):
                ways.append(self._not(each, rounds))
        found = (self._settle(self.preparer.read(each, guard), guard) for each in ways if each is not t.FALSE)
        return [each for each in found if not _never(each, part)]

    def _parts(self, condition: Term, threads: Things) -> Iterator[Term]:
        """The parts of a condition of the path that decide about other things than the thread; of loops the whole."""
        if condition in self.followed.reached:
            yield condition
        else:
            yield from (each for each in t.flat_conjuncts(condition) if threads.numbers(each) is None)

    def _not(self, condition: Term, rounds: Mapping[Term, Term]) -> Term:
        loop = self.followed.reached.get(condition)
        if loop is None:
            return t.substitute(self._known(t.not_(condition)), rounds)
        earlier = t.var(f"{loop.number.symbol.name}.earlier", loop.number.symbol.scope, 0)
        inner = {**rounds, loop.number: earlier}
        ended = t.not_(t.substitute(self._known(loop.goes_on), inner))
        return t.and_(t.lt(earlier, rounds.get(loop.number, loop.number)), ended)

    # --------------------------------------------------------------------------------------- questions
    def _impossible(self, conditions: Sequence[Term]) -> bool:
        simple = simplify(conditions, self.facts)
        if simple is None:
            return True
        asked = simple.conditions
        asked = (*asked, *self.use.known(asked, self.preparer.origins))
        return self.solver.decide(asked).answer is Answer.UNSATISFIABLE

    def _settle(self, term: Term, holds: Term) -> Term:
        """``term`` with the sides of choices that ``holds`` leaves, and without readings as unsigned that fit."""

        def settled(sub: Term) -> Term | None:
            reading = unsigned_reading(sub)
            if sub.kind is not TermKind.ITE and reading is None:
                return None
            key = (sub, holds)
            if key not in self._settled:
                self._settled[key] = self._unwrapped(sub, holds) or self._chosen(sub, holds)
            return self._settled[key]

        return t.transform(term, settled)

    def _unwrapped(self, term: Term, holds: Term) -> Term | None:
        """The number that ``term`` is the lowest bits of, if it has no more."""
        reading = unsigned_reading(term)
        if reading is None or reading[1].kind is not TermKind.WRAP or reading[1].payload != reading[0]:
            return None
        inner = reading[1].args[0]
        outside = t.or_(t.lt(inner, t.ZERO), t.le(t.const(1 << reading[0]), inner))
        return inner if self._impossible([holds, outside]) else None

    def _chosen(self, term: Term, holds: Term) -> Term:
        if term.kind is not TermKind.ITE:
            return term
        condition, one, other = term.args
        if condition.kind is TermKind.LE:  # one form of two that say the same
            condition, one, other = t.not_(condition), other, one
        if self._impossible([holds, t.not_(condition)]):
            return one
        if self._impossible([holds, condition]):
            return other
        if one.kind is TermKind.ITE and one.args[2] is other and self._impossible([one.args[0], t.not_(condition)]):
            return one
        return t.ite(condition, one, other)


def _never(condition: Term, part: _Made) -> bool:
    """Whether a condition hangs on the thread alone, and holds for none of those that count."""
    numbers = part.threads.numbers(condition)
    return numbers is not None and not numbers[part.made.counts].any()


def _inverse(site: SummaryAccess, part: _Made) -> tuple[dict[Term, Term], list[Term]]:
    """The rounds of the code's loops in terms of the site's iterations, and where there are none such."""
    rounds: dict[Term, Term] = {}
    ways: list[Term] = []
    own = [loop.number for loop in part.access.loops if loop.number not in part.threads.values]
    for number in site.rounds:
        made = part.made.terms[number]
        inside = [each for each in own if each in made.free]
        if not inside:
            ways.append(t.not_(t.eq(number, made)))
            continue
        (each,) = inside if len(inside) == 1 else (None,)
        _, parts = t.linear_parts(made)
        factors = [factor for factor, of in parts if of is each]
        if each is None or len(factors) != 1 or factors[0] <= 0 or each in rounds:
            return {}, [t.TRUE]
        distance = t.sub(number, t.sub(made, t.scale(factors[0], each)))
        if each in distance.free:
            return {}, [t.TRUE]
        rounds[each] = t.floordiv(distance, t.const(factors[0]))
        ways.append(t.lt(distance, t.ZERO))
        ways.append(t.not_(t.eq(t.floormod(distance, t.const(factors[0])), t.ZERO)))
    return (rounds, ways) if len(rounds) == len(own) else ({}, [t.TRUE])


def _as_compiled(term: Term) -> Term:
    """``term`` where what the specification leaves open, lanes outside of views without padding, is 0: the assembler
    may choose, and takes that."""

    def chosen(sub: Term) -> Term | None:
        if sub.kind is not TermKind.APPLY or not sub.function.name.endswith(OUTSIDE):
            return None
        return t.ZERO if sub.sort is Sort.INT else t.FALSE

    return t.transform(term, chosen)


def _text(access: CodeAccess, why: str) -> str:
    return f"{access.instruction.name} in line {access.instruction.line} of the PTX: {why}"


def _alike(access: CodeAccess, site: SummaryAccess) -> bool:
    """Whether both read, write or update, and both are scoped or not."""
    kind = Access.ATOMIC if access.atomic else Access.WRITE if access.writes else Access.READ
    return site.prepared.site.access is kind and access.scoped == site.prepared.site.atomic
