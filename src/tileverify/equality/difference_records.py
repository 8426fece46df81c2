"""What keeps an answer: a difference as a pytest file, which passes as long as it shows, and a section of a page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from pprint import pformat
from shlex import quote
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from ..results.details import DrawnDifference, EqualitySection
from ..system.printable import printable
from ..system.version import __version__
from .answer_text import fields, nested, rounding_lines, sentence
from .launch_outcomes import UnequalElement
from .points import sizes_text
from .targets import JudgedKernel

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
