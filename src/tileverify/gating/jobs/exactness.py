"""What comes of a kernel's run on exact numbers (`exact_job`), once it was held against the reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ...system.printable import printable
from ..gated import GatedKernel, Reason
from .reference_messages import ReferenceAnswer
from .references import ReferenceProcess

_NOT_DECIDED: Final = "not decided"
_LIMITS: Final = frozenset({"limit-time", "limit-cpu", "limit-memory", "limit-output"})
"""Of a run that is longer than that of floats, which says nothing else against a kernel."""

_FEW: Final = 3
_WRAPPING: Final = ("i8", "i16")
"""Sums that are refused where something wider is made of them; of 32 bits they are told, as counts fit."""
_IDLE: Final = (
    "what it computes at {} changed nothing at any input that was tried, so nobody saw what it is for: take it out, or"
    " --allow-idle accepts it"
)
_NARROW: Final = (
    "it adds up in {}, which wraps, and makes the sum wider afterwards: add up in i32, however small the trials are"
)
_OTHER_RESULTS: Final = frozenset({"wrong-result", "not-written", "written-elsewhere", "constant-output"})


def worth_asking(kernel: GatedKernel) -> bool:
    """Of a kernel that agreed on floats, or has other results there: whether these are rounding, the answer tells."""
    return kernel.trial is not None and all(reason.id in _OTHER_RESULTS for reason in kernel.reasons)


def with_equality(
    kernel: GatedKernel,
    data: bytes,
    stopped: Reason | None,
    reference: ReferenceProcess,
    *,
    allow_idle: bool = False,
) -> GatedKernel:
    """The kernel with the answer: one that is different, of which it is not decided, or that computes what changes
    nothing (unless ``allow_idle``), is not accepted, and one that was refused for its floats stays so.

    ``stopped``: why the run did not come to its own end.
    """
    if stopped is not None:
        if stopped.id in _LIMITS:
            return _not_decided(kernel, _undecided(stopped.message))
        return _refused(kernel, stopped)
    found = _with_answer(kernel, reference.compare(data, exact=True))
    lost = () if found.trial is None else found.trial.rounding
    if lost and (found.equal is None or found.equal["answer"] != "equal"):
        return _refused(found, Reason("wrong-result", lost[0]))
    if found.equal is None:
        return found
    idle = [] if allow_idle else _list(found.equal, "idle")
    if idle:
        return _refused(found, Reason("idle-value", _IDLE.format(printable("; ".join(map(str, idle[:_FEW]))))))
    for narrow in _list(found.equal.get("rounding"), "narrow_sums"):
        if narrow["widened"] and narrow["format"] in _WRAPPING:
            return _refused(found, Reason("narrow-sum", _NARROW.format(narrow["format"]), narrow["line"]))
    return found


def _list(fields: object, name: str) -> list[Any]:
    held = fields.get(name) if isinstance(fields, Mapping) else None
    return held if isinstance(held, list) else []


def _with_answer(kernel: GatedKernel, answer: ReferenceAnswer) -> GatedKernel:
    if answer.unreadable:
        return _refused(kernel, Reason("crash", "running it on exact numbers gave no answer"))
    if answer.equal is None:
        return _not_decided(kernel, _undecided(answer.usage or answer.failed or "the reference gave no answer"))
    found = {**answer.equal, "reason": _shown(answer.equal.get("reason"))}
    if answer.reasons:
        wrong = tuple(replace(each, message=printable(each.message)) for each in answer.reasons)
        return replace(kernel, accepted=False, reasons=kernel.reasons or wrong, bundle=None, equal=found)
    if found["answer"] == "equal" and not kernel.result.deterministic:
        # Whoever accepts kernels that may have more than one result was told so.
        reason = "it is not known that every order of blocks gives the same result"
        return replace(kernel, equal={**found, "answer": _NOT_DECIDED, "reason": reason, "probability_log2": None})
    return _not_decided(kernel, found) if found["answer"] == _NOT_DECIDED else replace(kernel, equal=found)


def _not_decided(kernel: GatedKernel, equal: Mapping[str, object]) -> GatedKernel:
    """A submission can see to it that nothing is decided: what it does with bits, or how long it takes, is its own."""
    said = f"whether it is its reference is not decided: {equal['reason']}; --no-exact accepts what agrees on floats"
    return _refused(replace(kernel, equal=equal), Reason("not-decided", said))


def _refused(kernel: GatedKernel, reason: Reason) -> GatedKernel:
    return replace(kernel, accepted=False, reasons=kernel.reasons or (reason,), bundle=None)


def _shown(reason: object) -> str | None:
    return printable(reason) if isinstance(reason, str) else None


def _undecided(reason: str) -> Mapping[str, object]:
    """As `equality.answer_text.fields` has it."""
    return {
        "answer": _NOT_DECIDED,
        "launches": [],
        "points": 0,
        "probability_log2": None,
        "reason": printable(reason),
        "left_out": [],
        "one_way": [],
        "tried": [],
        "idle": [],
        "steps": 0,
        "difference": None,
    }
