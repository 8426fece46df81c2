"""Pages of kernels that stand beside a reference: what was answered, and the difference for the page's script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ...results.documents import Json
from ...results.equality_section import DrawnDifference, EqualitySection, UnequalValues
from ...system.printable import printable
from .overview import Overview

STATES: Final = {"equal": "proved", "different": "refuted", "not decided": "undecided"}
"""The colours of answers, by those of verdicts."""
SYMBOLS_OF_ANSWERS: Final = {"equal": "=", "different": "≠", "not decided": "?"}

Sections = Sequence[EqualitySection]
"""One for each result of a report, in its order; or none at all."""


def with_answers(view: Overview, sections: Sections) -> Overview:
    """The overview with each answer beside its kernel, where nothing else is said of it, the worst first."""
    if not sections:
        return view
    rows = [row if row.message else replace(row, message=_short(sections[row.place])) for row in view.rows]
    verdicts = list(dict.fromkeys(row.result.verdict for row in rows))
    answers = ("different", "not decided", "equal")
    rows.sort(key=lambda row: (verdicts.index(row.result.verdict), answers.index(sections[row.place].answer)))
    return replace(view, rows=tuple(rows))


def _short(section: EqualitySection) -> str:
    if section.difference is None:
        return f"{section.answer}: {section.reference}"
    return f"{section.sentence} ({section.reference})"


def headline_of(sections: Sections) -> str:
    """What is worst of the answers, empty where there are none."""
    for answer, words in (("different", "Not the same function"), ("not decided", "Not everything is decided")):
        if count := sum(section.answer == answer for section in sections):
            return f"{words}: {count} of {len(sections)} {'is' if count == 1 else 'are'} {answer}"
    return "Everything is proved, and equal to its reference" if sections else ""


def difference_json(drawn: DrawnDifference) -> Json:
    """The difference for the page's script; ``boxes`` as flat lists ``[start, end, start, end, ...]``."""
    shape = list(drawn.shape) or [1]
    return {
        "array": printable(drawn.array),
        "dtype": drawn.dtype,
        "shape": shape,
        "count": drawn.count,
        "chosen": _index(drawn.chosen),
        "elements": [[_index(each), _number(each.kernel), _number(each.reference)] for each in drawn.elements],
        "boxes": _boxes([_index(each) for each in drawn.elements]),
    }


def _index(element: UnequalValues) -> list[int]:
    return list(element.index) or [0]


def _boxes(indices: Sequence[list[int]]) -> list[list[int]]:
    """Elements in ascending order as boxes, neighbours along the last axis in one."""
    boxes: list[list[int]] = []
    for index in indices:
        *lead, last = index
        outer = [edge for each in lead for edge in (each, each + 1)]
        if boxes and boxes[-1][:-2] == outer and boxes[-1][-1] == last:
            boxes[-1][-1] = last + 1
        else:
            boxes.append([*outer, last, last + 1])
    return boxes


def _number(value: float) -> str:
    """As Python writes it, short where it is long."""
    if not math.isfinite(value):
        return str(value)
    return f"{value:.9g}" if len(repr(value)) > 12 else repr(value)
