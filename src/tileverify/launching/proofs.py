"""What was proved of a kernel, and which launches that covers.

A kernel has one *specialisation* for each JIT signature, that is, for each bytecode.  A specialisation has *proofs*,
each with the contract that it was proved under.  A launch that no contract admits is proved anew with its own numbers;
what fails is remembered, so that the same launch is refused at once the next time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Final

from ..backend.guard import ArrayValue, Guard, LaunchRefused, compile_guard
from ..backend.guard.arguments import Grid, Value
from ..backend.numbers.inputs import violation
from ..contract.expression_parser import parse_condition
from ..contract.expressions import GRID_NAMES, Undefined, constant_value, evaluate
from ..contract.facts.statements import NumberedFact
from ..contract.launch import ArrayArgument, DataFact, Expression, KernelUnit, LaunchSpec, Role, SameArray, strides_of
from ..contract.list_terms import said_of_each
from ..contract.trustable import taken_for_granted
from ..frontend.symbolic.summary import OriginKind
from ..pipeline import CheckOptions
from ..pipeline.error_findings import NO_SOLVER
from ..pipeline.unit_check import check_unit
from ..pipeline.unit_summary import entry_of, summary_of
from ..reports.causes import mistakes
from ..results import KernelResult, Verdict
from ..system.errors import SpecError, UnsupportedOperation, UsageError
from ..system.printable import display_path
from ..system.readings import shown_place
from ..verifier.obligations.layout import IndexFootprint, place
from .calls import NamedKernel, Touched
from .contents import Contents
from .optouts import OptOut, current, note
from .reach import Reach, decoded, reads_ahead

MOST_REFUSALS: Final = 256
"""Refused launches of a specialisation that are remembered."""


class BrokenFact(LaunchRefused):
    """Contents of arrays are not as a proof assumes (TV502)."""


@dataclass(frozen=True, slots=True)
class Request:
    """One launch that wants to be made.

    ``unit`` makes the kernel with the numbers of this very launch as its contract; it is asked more than once.
    ``vouched``: facts on contents that the caller takes upon himself, so that nobody looks.
    """

    named: Mapping[str, Value]
    grid: Grid | None
    contents: Contents
    vouched: bool
    unit: Callable[[], KernelUnit]

    @property
    def values(self) -> tuple[Value, ...]:
        """The arguments in the order of the contract."""
        return tuple(self.named.values())


@dataclass(frozen=True, slots=True)
class LaunchProof:
    """One proof of a specialisation; ``guard`` admits the launches that it covers.

    Without a guard, for contracts that no guard can be made of (lists of arrays), it covers ``launch`` alone.
    ``assumed``: facts on contents that the proof rests on.
    """

    result: KernelResult
    launch: LaunchSpec
    assumed: tuple[DataFact, ...]
    guard: Guard | None

    def covers(self, request: Request) -> bool:
        granted = taken_for_granted(self.launch)
        if granted and not set(granted) <= set(taken_for_granted(request.unit().launch)):
            return False
        if self.guard is None and _essence(request.unit().launch) != _essence(self.launch):
            return False
        try:
            self.check(request)
        except LaunchRefused:
            return False
        return True

    def check(self, request: Request) -> None:
        """Raises `LaunchRefused` (TV501, TV502) where the launch is outside the contract."""
        look = self.look(request)
        if look is not None:
            look()

    def look(self, request: Request) -> Callable[[], None] | None:
        """`check` without a look at contents: that is what it gives, where somebody has to look.

        Contents are read anew each time.
        """
        assert request.grid is not None
        if self.guard is None:
            names = {**_numbers(request), **_numbers_of_lists(self.launch)}
            broken = _broken_clause(self.result.clauses, names)
            if broken is not None:
                raise LaunchRefused(f"{self.result.kernel} was not launched: {broken} (TV502)")
        else:
            self.guard.check(request.values, request.grid)
            names = self.guard.named(request.values, request.grid) if self.assumed else {}
        if request.vouched or not self.assumed:
            return None
        return partial(look_at, self.result.kernel, self.assumed, names, request.contents)


@dataclass
class Specialisation:
    """One bytecode of a kernel; several threads may ask for it at once."""

    unit: KernelUnit
    proofs: list[LaunchProof] = field(default_factory=list)
    _any_grid: dict[Hashable, Guard | None] = field(default_factory=dict)
    _touched: dict[Hashable, Touched] = field(default_factory=dict)
    _refused: dict[Hashable, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def touched(self) -> Touched:
        """What the kernel may do to its arrays."""
        return self._touched_under(self.unit)

    def _touched_under(self, unit: KernelUnit) -> Touched:
        """The same for one launch: of what is said of it, only which arguments may share memory has a part in that."""
        key = unit.launch.sharing()
        if key not in self._touched:
            self._touched[key] = touched_by(unit)
        return self._touched[key]

    @cached_property
    def ahead(self) -> frozenset[str] | None:
        """`arrays_ahead` of it."""
        return arrays_ahead(self.unit)

    def admit(self, request: Request, options: CheckOptions, *, looked: bool = True) -> LaunchProof:
        """A proof that covers the launch; raises `LaunchRefused` where there is none and none can be made.

        ``looked``: at contents, too; else they may break what a proof that is there already assumes of them.
        """
        found = self._covering(request if looked else replace(request, vouched=True))
        if found is None:
            with self._lock:  # others may want the same proof: one makes it, the others find it
                found = self._covering(request) or self._proved(request, options)
        return found

    def covering_grid(self, request: Request, options: CheckOptions) -> Grid:
        """The grid of a launch that gives none; raises `UsageError` where its contract does not say which."""
        with self._lock:
            key = _essence(request.unit().launch)
            if key not in self._any_grid:
                self._any_grid[key] = self._proof_of(request.unit(), options).guard
        guard = self._any_grid[key]
        grid = None if guard is None else guard.covered(request.values)
        if grid is None:
            raise UsageError(f"'{self.unit.kernel}' needs a grid: its contract does not say which covers the arrays")
        return grid

    def _covering(self, request: Request) -> LaunchProof | None:
        return next((proof for proof in self.proofs if proof.covers(request)), None)

    def _proved(self, request: Request, options: CheckOptions) -> LaunchProof:
        unit = request.unit()
        key = _essence(unit.launch)
        if key in self._refused:
            raise LaunchRefused(self._refused[key])
        try:
            proof = self._proof_of(unit, options)
            proof.check(request)
        except LaunchRefused as refused:
            while len(self._refused) >= MOST_REFUSALS:
                self._refused.pop(next(iter(self._refused)))
            self._refused[key] = refused.message
            raise
        self.proofs.append(proof)
        return proof

    def _proof_of(self, unit: KernelUnit, options: CheckOptions) -> LaunchProof:
        result = check_unit(unit, options)
        if result.verdict is Verdict.ERROR and result.findings and result.findings[0].message == NO_SOLVER:
            raise LaunchRefused(_no_bundle(unit))
        return proof_of(unit, result, self._touched_under)


def admitted(
    kernel: NamedKernel, specialisation: Specialisation, request: Request, options: CheckOptions, *, looked: bool = True
) -> LaunchProof | None:
    """`Specialisation.admit`; ``None`` where an opt-out lets the launch of ``kernel`` pass without a proof."""
    try:
        return specialisation.admit(request, options, looked=looked)
    except LaunchRefused as refused:
        reason = current()
        if reason is None:
            raise
        note(OptOut(reason, kernel.name, str(kernel.file), kernel.line, refused.message))
        return None


def _no_bundle(unit: KernelUnit) -> str:
    """What is told of a launch on a machine that can prove nothing."""
    name, source = f"{unit.kernel.rpartition('.')[2]}.tvk", display_path(unit.file)
    return (
        f"{unit.kernel} was not launched: no bundle of it is loaded, and there is no solver to prove it (TV502); run "
        f"`tileverify build {source}::{unit.kernel} -o {name}` where z3-solver is installed, and launch "
        f"tileverify.load('{name}') here"
    )


def proof_of(
    unit: KernelUnit, result: KernelResult, touched: Callable[[KernelUnit], Touched] | None = None
) -> LaunchProof:
    """The proof in a result; raises `LaunchRefused` (TV502) with the first finding of one that is not `proved`.

    ``touched``: `touched_by`, or what remembers what that found.
    """
    if result.verdict is not Verdict.PROVED or result.proved_launch is None:
        raise LaunchRefused(not_proved(result))
    launch = result.proved_launch
    try:
        guard = compile_guard(launch, result.clauses, (touched or touched_by)(unit).written)
    except UsageError:  # lists
        arrays = {name: [f"{name}[{number}]" for number in range(len(of))] for name, of in _in_lists(unit.launch)}
        return LaunchProof(result, unit.launch, tuple(said_of_each(launch.data, arrays)), None)
    return LaunchProof(result, launch, launch.data, guard)


def _numbers(request: Request) -> dict[str, int]:
    """What a request's own numbers give the names of a contract; lists give none."""
    names: dict[str, int] = dict(zip(GRID_NAMES, request.grid or (), strict=False))
    for name, value in request.named.items():
        if isinstance(value, ArrayValue):
            names[f"{name}.address"] = value.address
            names |= {f"{name}.shape[{dim}]": size for dim, size in enumerate(value.shape)}
            names |= {f"{name}.strides[{dim}]": stride for dim, stride in enumerate(value.strides)}
        elif isinstance(value, int):
            names[name] = value
    return names


def _in_lists(launch: LaunchSpec) -> Iterator[tuple[str, tuple[ArrayArgument, ...]]]:
    """What the arrays of each list are like in a launch of numbers; one, where they are all alike."""
    return ((listed.name, listed.each or (listed.element,)) for listed in launch.lists())


def _numbers_of_lists(launch: LaunchSpec) -> dict[str, int]:
    """Their sizes and strides, by the names of the arrays."""
    found = {
        f"{name}[{number}].{part}[{dim}]": constant_value(each)
        for name, arrays in _in_lists(launch)
        for number, array in enumerate(arrays)
        for part, described in (("shape", array.shape), ("strides", strides_of(array)))
        for dim, each in enumerate(described)
    }
    return {name: number for name, number in found.items() if number is not None}


def _broken_clause(clauses: Iterable[str], names: Mapping[str, int]) -> str | None:
    """The first clause that does not hold of the numbers, or speaks of others, in words."""
    for clause in clauses:
        try:
            condition = parse_condition(clause)
            holds = not isinstance(condition, SameArray) and evaluate(condition, names)
        except (KeyError, Undefined, SpecError):
            holds = False
        if not holds:
            return f"'{clause}' does not hold"
    return None


def look_at(kernel: str, facts: Sequence[DataFact], names: Mapping[str, int], contents: Contents) -> None:
    """Raises `BrokenFact` where contents, read anew, break a fact; ``names``: what the contract's names stand for."""
    broken = broken_fact(facts, names, contents.anew())
    if broken is not None:
        raise BrokenFact(f"{kernel} was not launched: {broken} (TV502)")


def broken_fact(facts: Sequence[DataFact], names: Mapping[str, int], contents: Contents) -> str | None:
    """What breaks a fact on contents, in words."""

    def value(expression: Expression) -> int:
        return evaluate(expression, names)

    looked_at = set[NumberedFact]()  # a fact of every array of a list is one for all that are alike
    for fact in facts:
        try:
            numbered = NumberedFact.evaluated(fact, value)
            if numbered in looked_at:
                continue
            looked_at.add(numbered)
            problem = None if contents.seen_to_keep(fact, facts, value) else violation(fact, contents, value)
        except (KeyError, Undefined):
            problem = "as it speaks of what no launch shows"
        if problem is not None:
            return f"'{fact.text}' does not hold, {problem}"
    return None


def not_proved(result: KernelResult) -> str:
    """Why a kernel may not be launched, in one sentence: the first mistake, and how many there are beside it."""
    if not result.findings:
        return f"{result.kernel} was not launched, as it is {result.verdict.value} (TV502)"
    first, *others = mistakes(result)
    at = next((f" at {shown_place(site.file or '?', site.line)}" for site in first.sites if site.line is not None), "")
    more = f" (and {len(others)} more)" if others else ""
    return (
        f"{result.kernel} was not launched, as it is {result.verdict.value}: {first.message} [{first.code}]{at}{more}"
    )


def touched_by(unit: KernelUnit) -> Touched:
    """What the kernel may do to its arrays, from its access summary.

    A view of an array's own sizes and strides touches elements of the array and nothing between them.  A kernel that
    has no summary, which only an opt-out launches, may write everything.
    """
    try:
        summary = summary_of(decoded(unit), unit)
    except UnsupportedOperation:
        roles = (Role.POINTER, Role.LIST_POINTER, Role.ADDRESSES)
        pointers = (each for each in unit.parameters if each.role in roles)
        return Touched(frozenset(each.argument for each in pointers), frozenset())
    places = [(site.origin, place(site)) for site in summary.sites]
    views = {origin.name for origin, _ in places if origin.kind is OriginKind.PARAMETER}
    views -= {origin.name for origin, each in places if not (isinstance(each, IndexFootprint) and each.bounded)}
    written = frozenset(site.origin.name for site in summary.sites if site.writes)
    return Touched(written, frozenset(views), Reach.of(summary))


def arrays_ahead(unit: KernelUnit) -> frozenset[str] | None:
    """The arrays that a kernel reads before it waits for the one ahead of it; ``None`` if it may not be started early.

    That it reads none means that it may always be, and else where nothing writes them (`launching.reach`).
    """
    module = decoded(unit)
    reads = reads_ahead(entry_of(module, unit))
    if reads is None:
        return None
    try:
        sites = summary_of(module, unit).sites
    except UnsupportedOperation:
        return None
    found = {site.offset: site.origin for site in sites if site.offset in reads}
    if found.keys() != reads or any(origin.kind is not OriginKind.PARAMETER for origin in found.values()):
        return None
    return frozenset(origin.name for origin in found.values())


def _essence(launch: LaunchSpec) -> Hashable:
    """All of a launch with numbers that a proof may rest on."""
    return (
        launch.arguments, launch.grid, launch.requires, launch.data, launch.observed, launch.alias, launch.overlap,
        *taken_for_granted(launch), launch.names, launch.complete, launch.empty,
    )  # fmt: skip
