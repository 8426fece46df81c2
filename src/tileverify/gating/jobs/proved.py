"""What the prover's process sends, a line each: first the units that it will answer for, then the answers.

It never ran the submission, but it read what a hostile process sent, so its answers are checked by type, too.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ...results import KernelResult
from ...results.json_report import result_from_json
from ..gated import Reason


class ProofHead(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``reasons``: why there are no answers.  ``units``: kernel and launch of each; ``missing``: launches that a spec
    speaks of, and the submission does not have."""

    reasons: tuple[Reason, ...] | None = None
    units: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()


class ProofAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """``result``: as in the report.  ``forged``: the compiler's process sent something that is no kernel.
    ``narrower``: clauses that leave out launches of the contract (`narrower_contract`)."""

    result: Mapping[str, object]
    forged: bool = False
    narrower: tuple[str, ...] = ()
    bundle: bytes | None = None

    def kernel_result(self) -> KernelResult:
        """Raises ValueError, KeyError or TypeError where the result is none."""
        return result_from_json(self.result)


def read_proof(data: bytes) -> tuple[ProofHead, list[ProofAnswer]]:
    """All whole lines; raises ValueError or RecursionError for anything else."""
    first, *others = data.split(b"\n")
    if not others:
        return ProofHead(), []
    head = msgspec.json.decode(first, type=ProofHead)
    return head, [msgspec.json.decode(line, type=ProofAnswer) for line in others[:-1]]
