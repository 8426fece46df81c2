"""What was proved of a kernel, and which launches that covers.

A kernel has one *specialisation* for each JIT signature, that is, for each bytecode.  A specialisation has *proofs*,
each with the contract that it was proved under.  A launch that no contract admits is proved anew with its own numbers;
what fails is remembered, so that the same launch is refused at once the next time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..backend.launch import Guard, LaunchRefused, compile_guard
from ..backend.launch.arguments import Grid, Value
from ..check import CheckOptions, check_unit, summary_of
from ..errors import UsageError
from ..execution.fact_checks import violation
from ..frontend.bytecode import decode
from ..frontend.sources.expressions import evaluate
from ..frontend.sources.launch import DataFact, Expression, KernelUnit, LaunchSpec
from ..results import KernelResult, Verdict

MOST_REFUSALS: Final = 256
"""Refused launches of a specialisation that are remembered."""

Contents = Mapping[str, Any]
"""What index arrays hold, by argument name; read when it is asked for."""


@dataclass(frozen=True, slots=True)
class Request:
    """One launch that wants to be made.

    ``unit`` makes the kernel with the numbers of this very launch as its contract.  ``vouched``: facts on contents that
    the caller takes upon himself, so that nobody looks.
    """

    values: tuple[Value, ...]
    grid: Grid | None
    contents: Contents
    vouched: bool
    unit: Callable[[], KernelUnit]


@dataclass(frozen=True, slots=True)
class Proof:
    """One proof of a specialisation; ``guard`` admits the launches that it covers.

    Without a guard, for contracts that no guard can be made of (lists of arrays), it covers ``launch`` alone.
    """

    result: KernelResult
    launch: LaunchSpec
    guard: Guard | None

    @property
    def assumed(self) -> tuple[DataFact, ...]:
        """Facts on contents that the proof rests on."""
        return self.launch.data

    def covers(self, request: Request) -> bool:
        if self.guard is None:
            return bool(_essence(request.unit().launch) == _essence(self.launch))
        assert request.grid is not None
        numbers = self.guard.numbers(request.values)
        return self.guard.admit(*numbers, *request.grid) < 0 and self.broken_fact(request) is None

    def broken_fact(self, request: Request) -> str | None:
        """What breaks a fact on contents that the proof rests on, in words."""
        if request.vouched or self.guard is None:
            return None
        assert request.grid is not None
        return broken_fact(self.guard, request.values, request.grid, request.contents)

    def check(self, request: Request) -> None:
        """Raises `LaunchRefused` (TV501, TV502) where the launch is outside the contract."""
        if self.guard is not None:
            assert request.grid is not None
            self.guard.check(request.values, request.grid)
            broken = self.broken_fact(request)
            if broken is not None:
                raise LaunchRefused(f"{self.result.kernel} was not launched: {broken} (TV502)")


@dataclass
class Specialisation:
    """One bytecode of a kernel; several threads may ask for it at once."""

    unit: KernelUnit
    proofs: list[Proof] = field(default_factory=list)
    _any_grid: dict[Any, Guard | None] = field(default_factory=dict)
    _refused: dict[Any, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def admit(self, request: Request, options: CheckOptions) -> Proof:
        """A proof that covers the launch; raises `LaunchRefused` where there is none and none can be made."""
        found = self._covering(request)
        if found is None:
            with self._lock:  # others may want the same proof: one makes it, the others find it
                found = self._covering(request) or self._proved(request, options)
        return found

    def covering_grid(self, request: Request, options: CheckOptions) -> Grid:
        """The grid of a launch that gives none; raises `UsageError` where its contract does not say which."""
        with self._lock:
            key = _essence(request.unit().launch)
            if key not in self._any_grid:
                self._any_grid[key] = proof_of(request.unit(), check_unit(request.unit(), options)).guard
        guard = self._any_grid[key]
        if guard is None or guard.covering is None:
            raise UsageError(f"'{self.unit.kernel}' needs a grid: its contract does not say which covers the arrays")
        return guard.covering(*guard.numbers(request.values))

    def _covering(self, request: Request) -> Proof | None:
        return next((proof for proof in self.proofs if proof.covers(request)), None)

    def _proved(self, request: Request, options: CheckOptions) -> Proof:
        unit = request.unit()
        key = _essence(unit.launch)
        if key in self._refused:
            raise LaunchRefused(self._refused[key])
        try:
            proof = proof_of(unit, check_unit(unit, options))
            proof.check(request)
        except LaunchRefused as refused:
            while len(self._refused) >= MOST_REFUSALS:
                self._refused.pop(next(iter(self._refused)))
            self._refused[key] = refused.message
            raise
        self.proofs.append(proof)
        return proof


def proof_of(unit: KernelUnit, result: KernelResult) -> Proof:
    """The proof in a result; raises `LaunchRefused` (TV502) with the first finding of one that is not `proved`."""
    if result.verdict is not Verdict.PROVED or result.proved_launch is None:
        raise LaunchRefused(not_proved(result))
    launch = result.proved_launch
    try:
        guard = compile_guard(launch, result.requires, written_by(unit))
    except UsageError as error:
        if result.requires:
            raise LaunchRefused(f"{unit.kernel} was not launched: {error.message} (TV502)") from None
        return Proof(result, unit.launch, None)
    return Proof(result, launch, guard)


def broken_fact(guard: Guard, values: Sequence[Value], grid: Grid, contents: Contents) -> str | None:
    """What breaks a fact on contents that the guard's contract states, in words."""
    if not guard.data:
        return None
    names = guard.named(values, grid)

    def value(expression: Expression) -> int:
        return evaluate(expression, names)

    for fact in guard.data:
        problem = violation(fact, contents, value)
        if problem is not None:
            return f"'{fact.text}' does not hold, {problem}"
    return None


def not_proved(result: KernelResult) -> str:
    """Why a kernel may not be launched, in one sentence."""
    if not result.findings:
        return f"{result.kernel} was not launched, as it is {result.verdict.value} (TV502)"
    first = result.findings[0]
    at = next((f" at {site.file}:{site.line}" for site in first.sites if site.line is not None), "")
    more = f" (and {len(result.findings) - 1} more)" if len(result.findings) > 1 else ""
    return (
        f"{result.kernel} was not launched, as it is {result.verdict.value}: {first.message} [{first.code}]{at}{more}"
    )


def written_by(unit: KernelUnit) -> frozenset[str]:
    """The arrays that the kernel may write."""
    summary = summary_of(decode(unit.bytecode, file=str(unit.file)), unit)
    return frozenset(site.origin.name for site in summary.sites if site.writes)


def _essence(launch: LaunchSpec) -> Any:
    """All of a launch with numbers that a proof may rest on."""
    return (
        launch.arguments, launch.grid, launch.requires, launch.data, launch.observed, launch.alias, launch.overlap
    )  # fmt: skip
