"""What would be asked of a launch, counted by code, and what an earlier run knows of the answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..results import KernelResult, Verdict
from ..results.codes import TV
from ..system.errors import UnsupportedOperation
from . import solver_version, summary_of
from .options import CheckOptions

if TYPE_CHECKING:
    from ..contract.launch import KernelUnit


@dataclass(frozen=True, slots=True)
class CountedObligations:
    """``counts``: obligations by code, under the launch's own contract.  ``known``: the verdict of an earlier run on
    exactly this, ``None`` if it is not kept.  ``problem``: why nothing can be asked."""

    counts: Mapping[TV, int]
    known: KernelResult | None = None
    problem: str | None = None

    def came_to(self, code: TV) -> str | None:
        """``hold`` where all of a code do, ``broken`` where one does not; ``None``: the verdict does not tell."""
        if self.known is None:
            return None
        if self.known.verdict is Verdict.PROVED:
            return "hold"
        broken = any(finding.code == code and finding.refutes for finding in self.known.findings)
        return "broken" if broken else None


def counted_obligations(unit: KernelUnit, options: CheckOptions) -> CountedObligations:
    """The obligations of a compiled kernel, none of which is decided here.

    Raises `SpecError` for a launch that does not fit the kernel.
    """
    from ..frontend.bytecode import decode
    from ..verifier.attempt import Attempt, VerifyOptions
    from ..verifier.budgets import KERNEL_EFFORT
    from ..verifier.effort import Effort
    from ..verifier.prover import Prover
    from ..verifier.smt import Session
    from .cache.verdicts import ResultCache

    try:
        summary = summary_of(decode(unit.bytecode, file=str(unit.file)), unit)
    except UnsupportedOperation as error:
        return CountedObligations({}, problem=error.message or f"no rule for the operation {error.op}")
    attempt = Attempt.of(summary, unit.launch, VerifyOptions(), started=0.0)
    prover = Prover.of(attempt, Session(0, effort=Effort(KERNEL_EFFORT)))
    prover.prepare()
    counts = Counter(obligation.code for obligation in prover.kernel.obligations())
    own = options.of(unit.file)
    known = None if own.cache is None else ResultCache(own.cache, solver_version()).load(unit, own.decisive)
    return CountedObligations(dict(sorted(counts.items())), known)
