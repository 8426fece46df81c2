"""What changed between two reports, launch by launch, and what was said of it in reports before them."""

from __future__ import annotations

import enum
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ..results import HoldsFor, KernelResult, Verdict
from ..results.conditional import is_conditional, remarks, verdict_word
from ..results.documents import SCHEMA, Json
from ..results.json_report import result_from_json
from ..system.errors import UsageError
from ..system.printable import printable
from .contract_change import Implied, contract_changes, has_fewer

HISTORY_SCHEMA: Final = "tileverify/history/1"

_EMBEDDED: Final = re.compile(r'<script type="application/octet-stream" id="report">([\w+/=]*)</script>')
_HOLDS_FOR: Final[Sequence[HoldsFor]] = ("any", "sizes", "launch")
"""The kinds of proofs, that of most launches first."""
_ORDER: Final = (Verdict.PROVED, Verdict.UNDECIDED, Verdict.REFUTED, Verdict.ERROR)


class Kind(enum.Enum):
    """What became of a launch, the worst first."""

    WORSE = "worse"
    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"
    BETTER = "better"


@dataclass(frozen=True, slots=True)
class Change:
    """A launch that is not what it was; ``details`` in words, ``old`` or ``new`` is ``None`` where there is none.

    ``before``: its verdicts in reports that are older than the old one, the oldest first.
    """

    kind: Kind
    file: str
    kernel: str
    launch: str
    old: Verdict | None
    new: Verdict | None
    details: tuple[str, ...] = ()
    before: tuple[Verdict | None, ...] = ()

    @property
    def past(self) -> str:
        """``before: proved, -, refuted``, and nothing where no older reports were given."""
        words = ", ".join("-" if verdict is None else verdict.value for verdict in self.before)
        return words and f"before: {words}"

    @property
    def told(self) -> tuple[str, ...]:
        """The details, and the past behind them."""
        return (*self.details, self.past) if self.past else self.details

    @property
    def name(self) -> str:
        return f"{self.file}::{self.kernel} [{self.launch}]"

    @property
    def verdicts(self) -> str:
        """``proved -> refuted``, or the one that there is."""
        known = dict.fromkeys(verdict.value for verdict in (self.old, self.new) if verdict is not None)
        return " -> ".join(known)

    @property
    def alarming(self) -> bool:
        """Whether a run that compares reports should fail for it."""
        return self.kind is Kind.WORSE or (self.kind is Kind.NEW and self.new is not Verdict.PROVED)


@dataclass(frozen=True, slots=True)
class History:
    changes: tuple[Change, ...]
    unchanged: int

    @property
    def sentence(self) -> str:
        """``2 worse, 1 better, 375 unchanged``."""
        counts = Counter(change.kind for change in self.changes)
        return ", ".join(
            [*(f"{counts[kind]} {kind.value}" for kind in Kind if counts[kind]), f"{self.unchanged} unchanged"]
        )


# ------------------------------------------------------------------------------------------------ reading
def read_report(path: Path) -> tuple[KernelResult, ...]:
    """The results of a JSON report, or of the one inside an HTML report.  Raises `UsageError` for anything else."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the report '{path}': {getattr(error, 'strerror', None) or error}") from None
    try:
        document = json.loads(_embedded(text) if text.lstrip().startswith("<") else text)
        if document["schema"] != SCHEMA:
            raise ValueError(f"its schema is {document['schema']!r}, not {SCHEMA!r}")
        return tuple(map(result_from_json, document["results"]))
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, OSError, RecursionError) as error:
        raise UsageError(f"'{path}' is no report of tileverify check --format json or html: {error}") from None


def _embedded(text: str) -> str:
    from .html.packing import unpacked

    found = _EMBEDDED.search(text)
    if found is None:
        raise ValueError("the page holds no report")
    report: str = unpacked(found[1])
    return report


# ---------------------------------------------------------------------------------------------- comparing
def compare(
    old: Sequence[KernelResult],
    new: Sequence[KernelResult],
    older: Sequence[Sequence[KernelResult]] = (),
    implied: Implied = lambda clause, given: clause in given,
) -> History:
    """Launches are the same if file, kernel and launch have the same names.  ``older``: reports before the old one, in
    the order of time."""
    before, after = _by_name(old), _by_name(new)
    past = [_by_name(results) for results in older]
    changes = [
        replace(change, before=tuple(each[name].verdict if name in each else None for each in past))
        for name in dict.fromkeys((*after, *before))
        if (change := _change(before.get(name), after.get(name), implied)) is not None
    ]
    kinds = list(Kind)
    changes.sort(key=lambda change: kinds.index(change.kind))
    return History(tuple(changes), len(after.keys() | before.keys()) - len(changes))


def _by_name(results: Sequence[KernelResult]) -> dict[tuple[str, ...], KernelResult]:
    seen: Counter[tuple[str, ...]] = Counter()
    found: dict[tuple[str, ...], KernelResult] = {}
    for result in results:
        name = (result.file, result.kernel, result.launch)
        seen[name] += 1
        found[(*name, str(seen[name]))] = result
    return found


def _change(old: KernelResult | None, new: KernelResult | None, implied: Implied) -> Change | None:
    known = new or old
    assert known is not None
    named = (known.file, known.kernel, known.launch)
    if old is None or new is None:
        kind = Kind.NEW if old is None else Kind.GONE
        found = () if new is None else (*(f"+ {code}" for code in _codes(new)), *remarks(new))
        return Change(kind, *named, old.verdict if old else None, new.verdict if new else None, found)
    details = tuple(_details(old, new, implied))
    if old.verdict is not new.verdict:
        worse = _ORDER.index(new.verdict) > _ORDER.index(old.verdict)
        return Change(Kind.WORSE if worse else Kind.BETTER, *named, old.verdict, new.verdict, details)
    if new.verdict is Verdict.PROVED and details:
        # A proof of fewer launches is worse, of more better: its verdict says neither.
        narrower, wider = _narrower(old, new, implied), _narrower(new, old, implied)
        kind = Kind.WORSE if narrower else Kind.BETTER if wider else Kind.CHANGED
        return Change(kind, *named, old.verdict, new.verdict, details)
    return Change(Kind.CHANGED, *named, old.verdict, new.verdict, details) if details else None


def _narrower(old: KernelResult, new: KernelResult, implied: Implied) -> bool:
    """Whether the proof ``new`` is of fewer launches than ``old``: by its kind, by its contract, by a clause that
    tileverify added; or is conditional, as that was not."""
    kinds = [_HOLDS_FOR.index(each.holds_for) for each in (old, new) if each.holds_for is not None]
    if len(kinds) == 2 and kinds[1] > kinds[0]:
        return True
    if is_conditional(new) and not is_conditional(old):
        return True
    return has_fewer(old, new, implied)


def _details(old: KernelResult, new: KernelResult, implied: Implied) -> Iterator[str]:
    if verdict_word(old) != verdict_word(new) and old.verdict is new.verdict:
        yield f"{verdict_word(old)} -> {verdict_word(new)}"
    yield from contract_changes(old, new, implied)
    if old.holds_for != new.holds_for and old.holds_for and new.holds_for:
        yield f"holds for {old.holds_for} -> {new.holds_for}"
    for label, before, after in (
        ("", _codes(old), _codes(new)),
        ("requires ", old.requires, new.requires),
        ("limit ", old.limits, new.limits),
        ("assumes ", old.assumes, new.assumes),
    ):
        yield from (f"- {label}{each}" for each in before if each not in after)
        yield from (f"+ {label}{each}" for each in after if each not in before)


def _codes(result: KernelResult) -> tuple[str, ...]:
    """The codes of what is broken or open, with the obligation that is undecided."""
    return tuple(
        dict.fromkeys(f"{each.code} ({each.obligation})" if each.obligation else each.code for each in result.findings)
    )


# ---------------------------------------------------------------------------------------------- rendering
def history_text(history: History) -> str:
    """One line for each change, and a sum."""
    return "".join(f"{printable(line)}\n" for line in (*map(_line, history.changes), history.sentence))


def _line(change: Change) -> str:
    return "  ".join((f"{change.kind.value:7}", change.name, change.verdicts, *change.told))


def history_json(history: History) -> str:
    """The same for programs."""
    document = {
        "schema": HISTORY_SCHEMA,
        "changes": [_as_json(change) for change in history.changes],
        "unchanged": history.unchanged,
    }
    return json.dumps(document, indent=2) + "\n"


def _as_json(change: Change) -> Json:
    return {
        "kind": change.kind.value,
        "file": change.file,
        "kernel": change.kernel,
        "launch": change.launch,
        "old": change.old.value if change.old else None,
        "new": change.new.value if change.new else None,
        "details": list(change.details),
        **({"before": [each.value if each else None for each in change.before]} if change.before else {}),
    }
