"""An answer as a section of a page."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from ..results.equality_section import DrawnDifference, EqualitySection
from .answer_text import nested, rounding_lines, sentence, sizes_text
from .launch_outcomes import UnequalElement
from .targets import JudgedKernel

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
