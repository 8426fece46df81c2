"""Conditions and limits of a proof, in the words that every output shares.

A conditional proof is of fewer launches than its contract has.  Nobody wrote the clauses that leave them, so that no
output may call it proved and be silent about them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from . import KernelResult, Report, Verdict

PROVED_IF: Final = "proved if"
"""The word for the verdict of a conditional proof, before its condition."""


def is_conditional(result: KernelResult) -> bool:
    return result.conditional and result.verdict is Verdict.PROVED


def verdict_word(result: KernelResult) -> str:
    """``proved if`` for a conditional proof, else the verdict."""
    return PROVED_IF if is_conditional(result) else result.verdict.value


def conjunction(clauses: Sequence[str]) -> str:
    """``M >= 1 and (A == 1 or B == 1)``."""
    return " and ".join(f"({each})" if " or " in each and len(clauses) > 1 else each for each in clauses)


def proved_if(result: KernelResult) -> str:
    """``proved if grid.x <= cdiv(N, 128)``; empty unless the proof is conditional."""
    return f"{PROVED_IF} {conjunction(result.requires)}" if is_conditional(result) else ""


def remarks(result: KernelResult) -> Iterator[str]:
    """``proved if N % 4 == 0`` and ``limit M * N < 2**31``: what a line on a proof has to say beside its verdict."""
    if result.verdict is Verdict.PROVED:
        yield from filter(None, [proved_if(result)])
        yield from (f"limit {each}" for each in result.limits)


def behind_verdict(result: KernelResult) -> str:
    """``N % 4 == 0, limit M * N < 2**31``: the same behind a verdict that says ``proved if`` itself; may be empty."""
    condition = [conjunction(result.requires)] if is_conditional(result) else []
    return ", ".join((*condition, *(f"limit {each}" for each in result.limits)))


def proved_words(report: Report) -> str:
    """``3 proved, 2 of them under conditions``."""
    count = sum(result.verdict is Verdict.PROVED for result in report.results)
    return f"{count} proved{under_conditions(report.conditional)}"


def under_conditions(count: int) -> str:
    """``, 2 of them under conditions``, behind a number of proofs; empty for 0."""
    return f", {count} of them under conditions" if count else ""
