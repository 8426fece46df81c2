"""What findings say and advise, in the words of Triton.

Prover and catalogue speak of tile blocks and block ids, as Tile IR does.  Whoever wrote a Triton kernel knows programs
and program ids, masks and barriers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from ..results import Finding, Hint, KernelResult, SourceSite
from ..results.codes import BOUNDS, CONFLICTS, TV
from .repair.catalogue import KINDS

_BARRIER: Final = (
    "put tl.debug_barrier() between the two accesses; if this tool builds the kernel, say "
    'order = "program" in the launch spec'
)
_MASK: Final = (
    "mask the access on every axis: tl.load(p, mask=at < n, other=0.0), tl.store(p, value, mask=at < n), "
    "or mask=(rows[:, None] < M) & (columns[None, :] < N)"
)
_OWN: Final = (
    "give each program elements of its own: its program ids tell the index apart, and its mask ends where the next "
    "program begins; to add, use tl.atomic_add; to store once, if tl.program_id(0) == 0"
)
_ATOMIC: Final = (
    "several programs add to the same elements: use tl.atomic_add(p, value) in the place of load, add and store, and "
    "clear the array before the launch"
)
_WIDE: Final = "an index wraps in 32 bits: compute it in 64, as in tl.program_id(0).to(tl.int64) * stride"

_DATA: Final = (
    "the index comes from data: mask it before it is used, as in mask=(index >= 0) & (index < size), which also leaves "
    "out padding of -1"
)
_PROMISE: Final = (
    "a promise of tl.assume, tl.multiple_of or tl.max_contiguous has to hold in every launch: take it back, or compute "
    "the value so that it does"
)
_SCATTER: Final = "two programs may get one index from data: add with tl.atomic_add, or promise that no index repeats"

ADVICE_OF_TRITON: Final[Mapping[str, str]] = {
    "use-atomic": _ATOMIC,
    "split-output-index": _OWN,
    "widen-scope": 'scope="cta" orders nothing between programs: leave scope out, or say scope="gpu"',
    "strengthen-order": 'hand over by atomics with sem="release" and sem="acquire", or the default sem="acq_rel"',
    "separate-launch": (
        "plain and atomic accesses of different programs meet: use atomics for both, as tl.atomic_add(p, 0) reads, or "
        "launch a second kernel"
    ),
    "separate-output": (
        "a program reads what another one writes: write to another array, or launch a second kernel; where programs "
        "add to one element, use tl.atomic_add in the place of load, add and store"
    ),
    "mask-tail": _MASK,
    "mask-index": _DATA,
    "keep-promise": _PROMISE,
    "guard-launch": "a program beyond the last element has nothing to do: mask its accesses, or let it return early",
    "guard-access": "guard the access by a mask, and what the program does beside it stays",
    "one-block": "every program stores to the same elements: let one program do it: if tl.program_id(0) == 0",
    "mask-lanes": "lanes that are masked where their index is read all store to one element: mask the store as well",
    "mend-loop": "the loop makes a step too many, or its step is not the number of programs, tl.num_programs(0)",
    "fit-grid": "the grid of the launch does not fit the kernel",
    "add-grid-axis": (
        "the kernel ignores an axis of its grid: use tl.program_id of that axis in the index, or launch one program "
        "along it"
    ),
    "widen-index": _WIDE,
    "order-accesses": _BARRIER,
    "separate-lanes": (
        "lanes of one store write the same element: give each lane its own, mask all but one of them, or use "
        "tl.atomic_add"
    ),
    "pad-load": (
        "lanes that the mask leaves out hold anything: say other= in tl.load (0.0 for a sum or tl.dot, "
        'float("-inf") for a maximum), or choose with tl.where'
    ),
    "give-identity": (
        "a reduction may take the lanes in any order: combine by an associative and commutative function"
    ),
    "guard-divisor": "a divisor, a step or a shift may have a value that is not allowed: choose another with tl.where",
    "update-by-atomic": "threads that hold one element update it in no order: use tl.atomic_add, which updates it once",
    "access-by-atomic": "every thread makes the access for itself: use an atomic, which the program makes once",
    "other-tile": "with another BLOCK the assembler makes right code",
    "write-otherwise": "write it so that the assembler makes right code of it",
    "declare-injective": "say that no value of an index array repeats",
    "declare-range": "say what the values of an index array lie between",
    "declare-facts": "say what holds of the contents of index arrays",
}
"""By the id of a hint: the sentence that stands for `RepairKind.text`."""

_NO_TOKEN: Final = re.compile(r" (?:are|is) not ordered by a token")
_PROGRAM: Final = re.compile(r"(?<![\w`'\"./])(?:tile )?block(s?)( ids?)?(?![\w`'\[(=])")
_BLOCK_ID: Final = re.compile(r"\bbid\.([xyz])\b")


def in_tritons_words(result: KernelResult) -> KernelResult:
    """``result`` of a Triton kernel in words that its author knows, with advice to follow; of another one as it is."""
    if result.producer != "triton":
        return result
    return replace(result, findings=tuple(map(_worded, result.findings)))


def tritons_words(text: str) -> str:
    """A sentence about tile blocks as one about programs; a kernel's own names stand in `...` or before brackets."""
    return _BLOCK_ID.sub(lambda found: f"program_id({'xyz'.index(found[1])})", _PROGRAM.sub(r"program\1\2", text))


def _worded(finding: Finding) -> Finding:
    message = _NO_TOKEN.sub(" are not ordered by a barrier, an atomic or data", finding.message)
    hints = [_translated(hint) for hint in finding.hints]
    tried = {hint.id for hint in hints if hint.edits}
    further = (each for each in _further(finding) if each.id not in tried and each.text not in {h.text for h in hints})
    return replace(
        finding,
        message=tritons_words(message),
        sites=tuple(map(_site, finding.sites)),
        hints=tuple(sorted((*further, *hints), key=lambda hint: not hint.edits)),  # what was proved comes first
    )


def _site(site: SourceSite) -> SourceSite:
    return replace(site, expression=tritons_words(site.expression))


def _translated(hint: Hint) -> Hint:
    """A hint begins with the sentence of its kind; what follows is about the kernel."""
    kind = KINDS.get(hint.id)
    if kind is None or not hint.text.startswith(kind.text):
        return replace(hint, text=tritons_words(hint.text))
    return replace(hint, text=ADVICE_OF_TRITON[hint.id] + tritons_words(hint.text.removeprefix(kind.text)))


def _further(finding: Finding) -> Iterator[Hint]:
    """Advice that a Triton kernel's faults ask for, beside what was tried."""
    from_data = any("[" in site.expression.partition("[")[2] for site in finding.sites)
    of_bounds = finding.code in BOUNDS or (finding.code == TV.DATA_DEPENDENT and finding.obligation in BOUNDS)
    if of_bounds and not finding.wraps:
        yield Hint("mask-index", "display", _DATA) if from_data else Hint("mask-tail", "display", _MASK)
    elif finding.code == TV.DATA_DEPENDENT and finding.obligation in CONFLICTS:
        yield Hint("use-atomic", "display", _SCATTER)
    elif finding.code == TV.DATA_DEPENDENT and finding.obligation == TV.ARITHMETIC_UNDEFINED:
        yield Hint("guard-divisor", "display", ADVICE_OF_TRITON["guard-divisor"])
    if finding.code == TV.ASSUME_PROMISE:
        yield Hint("keep-promise", "display", _PROMISE)


__all__ = ["ADVICE_OF_TRITON", "in_tritons_words", "tritons_words"]
