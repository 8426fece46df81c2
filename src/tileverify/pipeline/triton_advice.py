"""What findings advise, in the words of Triton."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ..results import Finding, KernelResult

_ADVICE: Final[Mapping[str, str]] = {
    "order-accesses": (
        "put tl.debug_barrier() between the two accesses; if this tool builds the kernel, say "
        'order = "program" in the launch spec'
    ),
    "pad-load": "lanes that the mask leaves out hold anything: say other= in tl.load, or choose with tl.where",
    "widen-index": "an index wraps in 32 bits: compute it in 64, as in tl.program_id(0).to(tl.int64) * stride",
    "separate-output": "a program reads what another one writes: write to another array, or launch a second kernel",
    "split-output-index": (
        "give each program elements of its own: its program ids have to tell the index apart; or use tl.atomic_add"
    ),
    "strengthen-order": 'hand over by atomics with sem="release" and sem="acquire", or the default sem="acq_rel"',
}
"""By the id of a hint that holds no edit."""

_NO_TOKEN: Final = " are not ordered by a token"


def in_tritons_words(result: KernelResult) -> KernelResult:
    """``result`` of a Triton kernel with advice that its author can follow."""
    return replace(result, findings=tuple(map(_worded, result.findings)))


def _worded(finding: Finding) -> Finding:
    hints = tuple(
        hint if hint.edits or hint.requires else replace(hint, text=_ADVICE.get(hint.id, hint.text))
        for hint in finding.hints
    )
    message = finding.message.replace(_NO_TOKEN, " are not ordered by a barrier, an atomic or data")
    return replace(finding, hints=hints, message=message)
