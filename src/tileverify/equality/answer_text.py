"""Answers of `tileverify equal`: as text, as JSON, as a pytest file and a section of a page, and of two variants."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, is_dataclass, replace
from dataclasses import fields as dataclass_fields
from pathlib import Path
from pprint import pformat
from shlex import quote
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..contract.launch import KernelUnit
from ..results import KernelResult
from ..results.details import DrawnDifference, EqualitySection
from ..system.errors import UsageError
from ..system.printable import printable
from ..system.version import __version__
from .deciding import Decision, ExactAnswer
from .launch_outcomes import ArrayError, RoundingSeen, UnequalElement
from .points import Options, sizes_text
from .targets import EqualOptions, JudgedKernel, compared, float_scalars, rival_of

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


# --------------------------------------------------------------------------------------------------- difference records
# What keeps an answer: a difference as a pytest file, which passes as long as it shows, and a section of a page.


_FILE: Final = '''\
"""{title} is not {reference}.

Written by tileverify {version}; run with: pytest {name}
"""

import math
from pathlib import Path

import tileverify

FILE = Path(__file__).resolve()
HERE = FILE.parent
TARGET = f"{{HERE / {target_file!r}}}::{target_name}"
REFERENCE = f"{{HERE / {reference_file!r}}}::{reference_name}"
LAUNCH = {launch!r}
SIZES = {sizes}
INPUTS = {inputs}


def test_the_difference_shows() -> None:
    answers = tileverify.equal(TARGET, REFERENCE, sizes=SIZES, inputs=INPUTS)
    (found,) = [each.equality for each in answers if each.target.endswith(f" [{{LAUNCH}}]")]
    difference = found.difference
    assert difference is not None, found.reason or "there is none any more"
    assert (difference.array, difference.index) == ({array!r}, {index!r})
    assert math.isclose(difference.kernel, float({kernel!r}), rel_tol=1e-9)
    assert math.isclose(difference.reference, float({expected!r}), rel_tol=1e-9)
'''


def test_of(judged: JudgedKernel, file: Path) -> str | None:
    """The text of ``file``; ``None`` where there is no difference, or none with inputs that can be written down.

    Sources are named relative to the folder of ``file``.
    """
    found = judged.equality.difference
    described = fields(judged.equality)["difference"]
    if found is None or found.inputs is None or "::" not in judged.reference:
        return None
    if not all(isinstance(value, float) for value in (described["kernel"], described["reference"])):
        return None
    target, _, launch = judged.target.removesuffix("]").rpartition(" [")
    target_file, _, target_name = target.rpartition("::")
    reference_file, _, reference_name = judged.reference.rpartition("::")
    folder = file.resolve().parent
    return _FILE.format(
        title=_words(judged.target),
        reference=_words(judged.reference),
        version=__version__,
        name=_words(file.name),
        target_file=os.path.relpath(target_file, folder),
        target_name=target_name,
        reference_file=os.path.relpath(reference_file, folder),
        reference_name=reference_name,
        launch=launch,
        sizes=pformat(dict(found.point.inputs.values), width=100, sort_dicts=False),
        inputs=pformat(described["inputs"], width=100, compact=True, sort_dicts=False),
        array=found.array,
        index=found.index,
        kernel=described["kernel"],
        expected=described["reference"],
    )


def _words(text: str) -> str:
    """For a docstring."""
    return printable(text).replace("\\", "/").replace('"', "'")


# ------------------------------------------------------------------------------------------------------- answer section
# An answer as a section of a page.


_WRITTEN_OUT: Final = 64
"""Numbers of one array that are shown."""


def section_of(judged: JudgedKernel) -> EqualitySection:
    """What the page of the kernel shows of it."""
    found = judged.equality
    return EqualitySection(
        answer=found.answer.value,
        sentence=sentence(found),
        reference=judged.reference,
        launches=tuple(sizes_text(values) for values in found.launches),
        rounding=tuple(line.strip() for line in rounding_lines(found)),
        left_out=found.left_out,
        command=_command(judged),
        difference=None if found.difference is None else _drawn(found.difference),
    )


def _command(judged: JudgedKernel) -> str:
    """Empty where the reference is a function without a file."""
    if "::" not in judged.reference:
        return ""
    result = judged.verdict
    target = "::".join((result.file, result.kernel, result.launch))
    return f"tileverify equal {quote(target)} --reference {quote(judged.reference)}"


def _drawn(found: UnequalElement) -> DrawnDifference:
    whole = found.whole
    return DrawnDifference(
        array=found.array,
        dtype=whole.dtype,
        shape=whole.shape,
        chosen=whole.elements[0],
        elements=whole.elements,
        count=whole.count,
        launch=tuple((name, str(value)) for name, value in found.point.inputs.values.items()),
        inputs=tuple(_inputs(found)),
    )


def _inputs(found: UnequalElement) -> Iterator[tuple[str, str]]:
    if found.inputs is None:
        yield "contents", found.point.filling
        return
    for name, held in found.inputs.items():
        yield name, _written_out(held)


def _written_out(held: ArrayLike) -> str:
    size = np.size(held)
    return str(nested(held)) if size <= _WRITTEN_OUT else f"{size} numbers, in --format json"


# ------------------------------------------------------------------------------------------------------------- variants
# Two launches of a program beside each other: the variants that `tileverify.tune` chooses from.


ProvedUnit: TypeAlias = tuple[KernelUnit, KernelResult]
"""A kernel with the numbers of one launch as its contract, and the proof that covers it."""


@dataclass(frozen=True, slots=True)
class VariantLikeness:
    """``text``: the answer in a sentence."""

    different: bool
    text: str


def likeness_of(variant: ProvedUnit, first: ProvedUnit, arguments: Sequence[object]) -> VariantLikeness:
    """Whether ``variant`` computes what ``first`` does at their launch, over the real numbers, whatever arrays and
    float scalars hold.  ``arguments``: those that each of the two is called with."""
    unit, plain = _without_clauses(variant), _without_clauses(first)
    if float_scalars(unit[0]) and len({tuple(_floats(each)) for each in arguments}) > 1:
        return VariantLikeness(False, "not decided: the two are called with other float scalars")
    try:
        other = rival_of(*plain).beside(unit[0], unit[0].kernel)
        found = compared(*unit, other, EqualOptions(Options(values={}), rounding=False))
    except UsageError as error:
        return VariantLikeness(False, f"not decided: {error.message}")
    return VariantLikeness(found.answer is Decision.DIFFERENT, sentence(found))


def _without_clauses(proved: ProvedUnit) -> ProvedUnit:
    """The proof may be of a wider contract; its clauses were seen to hold of the launch."""
    unit, result = proved
    return unit, replace(result, requires=())


def _floats(argument: object) -> Iterator[float]:
    """All floats in an argument, constants among them."""
    if isinstance(argument, float | np.floating):
        yield float(argument)
    elif isinstance(argument, tuple | list):
        for each in argument:
            yield from _floats(each)
    elif is_dataclass(argument):
        for field in dataclass_fields(argument):
            yield from _floats(getattr(argument, field.name))
