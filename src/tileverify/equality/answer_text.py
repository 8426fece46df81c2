"""What `tileverify equal` prints, and its JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from .deciding import Decision, ExactAnswer
from .launch_outcomes import ArrayError, RoundingSeen, UnequalElement
from .points import sizes_text
from .targets import JudgedKernel

_FEW: Final = 12
"""Numbers of all inputs that are shown."""
_SHOWN: Final = 6
"""Launches that were left out, with a line each."""


def text(judged: Sequence[JudgedKernel]) -> str:
    return "".join(f"{line}\n" for each in judged for line in _lines(each))


def _lines(judged: JudgedKernel) -> list[str]:
    found = judged.equality
    lines = [f"{judged.target} and {judged.reference}: {sentence(found)}"]
    if found.answer is not Decision.DIFFERENT and found.launches:
        lines.append(f"  at {'; '.join(sizes_text(values) for values in found.launches)}")
    if found.compared:
        lines.append(f"  compared: {', '.join(found.compared)}; all other arrays stay as they were")
    lines += [f"  seen one way alone: {each}" for each in found.one_way[:_SHOWN]]
    lines += [f"  changes nothing: {each}" for each in found.idle[:_SHOWN]]
    lines += rounding_lines(found)
    lines += [f"  left out: {each}" for each in found.left_out[:_SHOWN]]
    if (more := len(found.left_out) - _SHOWN) > 0:
        lines.append(f"  left out: {more} more, all in --format json")
    return lines


def rounding_lines(found: ExactAnswer) -> Iterator[str]:
    """What formats do to what is equal over the real numbers, in lines of the text that `text` is."""
    if found.rounding is None:
        return
    if found.rounding.reason:
        yield f"  rounding was not measured: {found.rounding.reason}"
    for error in found.rounding.arrays:
        at = f"{error.array}[{', '.join(map(str, error.index))}]"
        yield (
            f"  rounding: {error.array} is off by up to {_measured(error)}: {at} is {error.kernel!r}, in float64"
            f" {error.reference!r} ({sizes_text(error.launch)}; contents: {error.contents})"
        )
    for narrow in found.rounding.narrow:
        place = "" if narrow.line is None else f" at line {narrow.line}"
        than = "f32" if narrow.format[0] in "bf" else f"{'i64' if narrow.format == 'i32' else 'i32'}, and wraps"
        yield f"  adds up in {narrow.format}, which is narrower than {than}: {narrow.op}{place}"


def _measured(error: ArrayError) -> str:
    """In spacings where the element is, which says nothing where no digit of it is right: beside 0."""
    if error.beside_zero:
        return (
            f"{error.of_largest:.3g} units in the last place of its largest element, in {error.format}, most beside 0"
        )
    return (
        f"{error.units:.3g} units in the last place of {error.format} ({error.of_largest:.3g} of its largest element's)"
    )


def sentence(found: ExactAnswer) -> str:
    """The answer in one sentence."""
    match found.answer:
        case Decision.EQUAL:
            where = f"{_count(len(found.launches), 'launch', 'launches')}, {_count(found.points, 'point', 'points')}"
            if found.tried:
                why = "may hang on a rounding, a cast, integers of arrays or integers computed of sizes and block ids"
                why += ", of which no law is known"
                return f"equal at {where} that were tried, without a probability: {', '.join(found.tried)} {why}"
            return (
                f"equal over the real numbers at {where} "
                f"(a wrong yes is less likely than 2^-{math.floor(min(found.bits, 999))})"
            )
        case Decision.DIFFERENT:
            assert found.difference is not None
            return f"different: {difference(found.difference)}"
        case _:
            return f"not decided: {found.reason}"


def difference(found: UnequalElement) -> str:
    place = ", ".join(map(str, found.index))
    says = "says" if found.given else "gives no such array, so that it stays"
    return (
        f"{found.array}[{place}] is {found.kernel!r}, the reference {says} {found.reference!r} "
        f"({sizes_text(found.point.inputs.values)}; contents: {_contents(found)})"
    )


def _contents(found: UnequalElement) -> str:
    """The inputs where they are few, else of what kind they are."""
    if found.inputs is None or sum(np.size(held) for held in found.inputs.values()) > _FEW:
        return "small numbers" if found.inputs is not None else found.point.filling
    return ", ".join(f"{name} = {nested(held)}" for name, held in found.inputs.items())


def _count(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"


def document(judged: Sequence[JudgedKernel]) -> dict[str, object]:
    """What ``--format json`` writes, under the key ``equal``."""
    return {"equal": [{"kernel": each.target, "reference": each.reference, **fields(each.equality)} for each in judged]}


def fields(found: ExactAnswer) -> dict[str, Any]:
    """One answer as JSON."""
    known = found.answer is Decision.EQUAL and not found.tried
    result: dict[str, object] = {
        "answer": found.answer.value,
        "launches": [dict(values) for values in found.launches],
        "points": found.points,
        "probability_log2": -math.floor(min(found.bits, 999)) if known else None,
        "reason": found.reason or None,
        "left_out": list(found.left_out),
        "one_way": list(found.one_way),
        "tried": list(found.tried),
        "idle": list(found.idle),
        "compared": list(found.compared),
        "steps": found.steps,
        "difference": None,
        "rounding": None if found.rounding is None else _rounding_fields(found.rounding),
    }
    if found.difference is not None:
        seen = found.difference
        result["difference"] = {
            "array": seen.array,
            "index": list(seen.index),
            "kernel": _number(seen.kernel),
            "reference": _number(seen.reference),
            "shape": list(seen.whole.shape),
            "differing": seen.whole.count,
            "launch": dict(seen.point.inputs.values),
            "contents": seen.point.filling,
            "inputs": None if seen.inputs is None else {name: nested(held) for name, held in seen.inputs.items()},
        }
    return result


def _rounding_fields(seen: RoundingSeen) -> dict[str, object]:
    arrays = [
        {
            "array": each.array,
            "format": each.format,
            "units": _number(each.units),
            "units_of_largest": _number(each.of_largest),
            "index": list(each.index),
            "kernel": _number(each.kernel),
            "reference": _number(each.reference),
            "launch": dict(each.launch),
            "contents": each.contents,
        }
        for each in seen.arrays
    ]
    narrow = [
        {"op": each.op, "format": each.format, "line": each.line, "widened": each.widened} for each in seen.narrow
    ]
    return {"arrays": arrays, "narrow_sums": narrow, "reason": seen.reason or None}


def nested(held: ArrayLike) -> object:
    """Nested lists of numbers, as JSON has them."""
    values = held.tolist() if hasattr(held, "tolist") else held
    if isinstance(values, list):
        return [nested(each) for each in values]
    return _number(values) if isinstance(values, float) else values


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
