"""A difference as a pytest file, which passes as long as the difference shows."""

from __future__ import annotations

import os
from pathlib import Path
from pprint import pformat
from typing import Final

from ..system.printable import printable
from ..system.version import __version__
from .answer_text import fields
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
