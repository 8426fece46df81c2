"""What was proved of a kernel, and which launches that covers.

A kernel has one *specialisation* for each JIT signature, that is, for each bytecode.  A specialisation has *proofs*, each
with a guard: the contract that it was proved under, compiled to a check.  A launch that no guard admits is proved anew
with its own numbers; what fails is remembered, so that the same launch is refused at once the next time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..backend.launch import Guard, LaunchRefused, compile_guard
from ..backend.launch.arguments import Grid, Value
from ..check import CheckOptions, check_unit
from ..errors import UsageError
from ..execution.fact_checks import violation
from ..frontend.sources.expressions import evaluate
from ..frontend.sources.launch import DataFact, Expression, KernelUnit
from ..results import KernelResult, Verdict

MOST_REFUSALS: Final = 256
"""Refused launches of a specialisation that are remembered."""

Prove = Callable[[], KernelUnit]


@dataclass(frozen=True, slots=True)
class Proof:
    """One proof of a specialisation: ``guard`` admits the launches that it covers.

    ``written``: the arrays that the kernel may write.  ``stated``: facts on contents that the user vouches for.
    """

    result: KernelResult
    guard: Guard
    written: frozenset[str]
    stated: tuple[DataFact, ...]


@dataclass
class Specialisation:
    """One bytecode of a kernel; several threads may ask for it at once."""

    unit: KernelUnit
    proofs: list[Proof] = field(default_factory=list)
    _refused: dict[Any, LaunchRefused] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def admit(
        self,
        values: Sequence[Value],
        grid: Grid,
        facts_hold: Callable[[Proof], str | None],
        numbers: Callable[[], KernelUnit],
        options: CheckOptions,
    ) -> Proof:
        """A proof that covers the launch; raises `LaunchRefused` where there is none and none can be made.

        ``facts_hold`` says what breaks the facts on contents that a proof needs; ``numbers`` is the unit with the
        contract of this very launch.
        """
        proof = self._covering(values, grid, facts_hold)
        if proof is not None:
            return proof
        with self._lock:  # others may want the same proof: one makes it, the others find it
            proof = self._covering(values, grid, facts_hold)
            return proof if proof is not None else self._proved(values, grid, numbers(), facts_hold, options)

    def _covering(
        self, values: Sequence[Value], grid: Grid, facts_hold: Callable[[Proof], str | None]
    ) -> Proof | None:
        for proof in self.proofs:
            if proof.guard.admit(*proof.guard.numbers(values), *grid) < 0 and facts_hold(proof) is None:
                return proof
        return None

    def _proved(
        self,
        values: Sequence[Value],
        grid: Grid,
        unit: KernelUnit,
        facts_hold: Callable[[Proof], str | None],
        options: CheckOptions,
    ) -> Proof:
        key = (unit.launch.arguments, unit.launch.requires, unit.launch.data, unit.launch.observed, grid)
        if key in self._refused:
            raise self._refused[key]
        result = check_unit(unit, options)
        try:
            proof = proof_of(unit, result)
            proof.guard.check(values, grid)
            broken = facts_hold(proof)
            if broken is not None:
                raise LaunchRefused(f"{unit.kernel} was not launched: {broken} (TV502)")
        except LaunchRefused as refused:
            while len(self._refused) >= MOST_REFUSALS:
                self._refused.pop(next(iter(self._refused)))
            self._refused[key] = refused
            raise
        self.proofs.append(proof)
        return proof


def proof_of(unit: KernelUnit, result: KernelResult) -> Proof:
    """The proof in a result; raises `LaunchRefused` (TV502) with the findings of one that is not `proved`."""
    if result.verdict is not Verdict.PROVED or result.proved_launch is None:
        raise LaunchRefused(not_proved(result))
    try:
        guard = compile_guard(result.proved_launch, result.requires, frozenset(unit_writes(unit)))
    except UsageError as error:
        raise LaunchRefused(f"{unit.kernel} was not launched: {error.message} (TV502)") from None
    return Proof(result, guard, frozenset(unit_writes(unit)), unit.launch.data)


def not_proved(result: KernelResult) -> str:
    """Why a kernel may not be launched, in one sentence."""
    if not result.findings:
        return f"{result.kernel} was not launched: it is {result.verdict.value} (TV502)"
    first = result.findings[0]
    at = next((f" at {site.file}:{site.line}" for site in first.sites if site.line is not None), "")
    more = f", and {len(result.findings) - 1} more" if len(result.findings) > 1 else ""
    return (
        f"{result.kernel} was not launched, as it is {result.verdict.value}: {first.message} [{first.code}]{at}{more};"
        " 'tileverify check' shows it whole"
    )


def unit_writes(unit: KernelUnit) -> tuple[str, ...]:
    """The arrays that the kernel may write: by its access summary, whatever the path."""
    from ..check import summary_of
    from ..frontend.bytecode import decode

    summary = summary_of(decode(unit.bytecode, file=str(unit.file)), unit)
    return tuple(dict.fromkeys(site.origin.name for site in summary.sites if site.writes))


def broken_fact(facts: Sequence[DataFact], contents: Mapping[str, Any], names: Mapping[str, int]) -> str | None:
    """What breaks one of the facts, in words."""

    def value(expression: Expression) -> int:
        return evaluate(expression, names)

    for fact in facts:
        problem = violation(fact, contents, value)
        if problem is not None:
            return f"'{fact.text}' does not hold, {problem}"
    return None
