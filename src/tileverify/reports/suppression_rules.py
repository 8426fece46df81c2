"""What a suppression says, wherever it is written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

from ..results import Suppression, SuppressionKind
from ..results.codes import CODES, Family

PLACEHOLDER: Final = "TODO: why this is fine"
"""What an editor writes where a person has to say why; no reason until they did."""

_TEMPLATE: Final = "why this is fine"
_UNFINISHED: Final = re.compile(r"(?:todo|fixme|xxx+|tbd|tba)\b", re.IGNORECASE)
_UNSUPPRESSIBLE = frozenset({Family.ERROR, Family.LAUNCH, Family.SUPPRESSION})


@dataclass(frozen=True, slots=True)
class Rule:
    """``codes`` need not fail, because of ``reason``, up to and including the day ``until``.

    ``file`` and ``line``: where it is written, for people.
    """

    kind: SuppressionKind
    codes: tuple[str, ...]
    reason: str
    until: date | None
    file: str
    line: int | None

    def expired(self, today: date) -> bool:
        return self.until is not None and self.until < today

    @property
    def suppression(self) -> Suppression:
        until = None if self.until is None else self.until.isoformat()
        return Suppression(self.kind, self.reason, until, self.file, self.line)


@dataclass(frozen=True, slots=True)
class CommentRule:
    """``lines``: what it stands beside; ``kernels``: lines of the ``def`` of kernels that it stands beside."""

    rule: Rule
    lines: frozenset[int]
    kernels: frozenset[int]


@dataclass(frozen=True, slots=True)
class TableRule:
    """For the kernels and launches that match, in the files whose whole path ``files`` matches."""

    rule: Rule
    files: re.Pattern[str]
    kernel: re.Pattern[str]
    launch: re.Pattern[str]


def wrong_codes(codes: tuple[str, ...]) -> str:
    """What is wrong with ``codes``, as the end of a sentence; empty if nothing is."""
    if not codes:
        return "names no code"
    for code in codes:
        known = CODES.get(code)
        if known is None:
            return f"names '{code}', which is no code"
        if known.family in _UNSUPPRESSIBLE:
            return f"names {code} ({known.family.value}), which cannot be suppressed"
    return ""


def is_placeholder(reason: str) -> bool:
    """Whether somebody still has to write the reason: no word, a mark that says so, the words of the template."""
    words = reason.strip(" \t<>[](){}\"'`.…!?:-_*#")
    return not any(map(str.isalnum, words)) or bool(_UNFINISHED.match(words)) or words.casefold() == _TEMPLATE
