"""What changed between two reports, launch by launch, and what was said of it in reports before them."""

from __future__ import annotations

import enum
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from ..contract.arguments import parse_description, split_top_level
from ..contract.as_terms import ANY_GRID
from ..contract.expression_parser import parse_condition, parse_size
from ..contract.expressions import print_expression, substitute
from ..contract.launch import Apply, ArrayArgument, Expression, Name, SameArray, ScalarArgument
from ..results import Finding, HoldsFor, KernelResult, Verdict
from ..results.conditional import is_conditional, remarks, verdict_word
from ..results.json_report import SCHEMA, Json, result_from_json
from ..system.errors import SpecError, UsageError
from ..system.printable import printable

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
    from .html import unpacked

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


# ----------------------------------------------------------------------------------------------------- history markdown
# What changed between two reports, as the comment on a pull request.


MARKER: Final = "<!-- tileverify -->"
"""The first line: by it, the comment that is to be updated is found again."""

LONGEST: Final = 60_000
"""Characters; GitHub takes 65,536."""

_SIGNS: Final = {
    Verdict.PROVED: "✅ proved",
    Verdict.REFUTED: "❌ refuted",
    Verdict.UNDECIDED: "❔ undecided",
    Verdict.ERROR: "⚠️ error",
}


def history_markdown(history: History, results: Sequence[KernelResult]) -> str:
    """A sentence, a table of the changes, and the findings of what changed; ``results``: the new ones."""
    lines = [MARKER, f"### tileverify: {history.sentence}", ""]
    if history.changes:
        lines += ["| | kernel | verdict | |", "|---|---|---|---|", *map(_row, history.changes), ""]
    lines += _findings(history, results)
    text, kept = "", 0
    for line in lines:
        if len(text) + len(line) > LONGEST:
            text += f"\n{len(lines) - kept} more lines are left out.\n"
            break
        text, kept = f"{text}{line}\n", kept + 1
    return text


def _row(change: Change) -> str:
    verdicts = dict.fromkeys(verdict for verdict in (change.old, change.new) if verdict is not None)
    shown = " → ".join(_SIGNS[verdict] for verdict in verdicts)
    name = f"{_code(f'{change.file}::{change.kernel}')} {_text(change.launch)}"
    return f"| {change.kind.value} | {name} | {shown} | {'<br>'.join(map(_code, change.told))} |"


def _findings(history: History, results: Sequence[KernelResult]) -> Iterator[str]:
    changed = {(each.file, each.kernel, each.launch) for each in history.changes}
    for result in results:
        found = [finding for finding in result.findings if finding.suppression is None]
        if found and (result.file, result.kernel, result.launch) in changed:
            yield f"<details><summary>{_text(f'{result.kernel or result.file} {result.launch}'.strip())}</summary>"
            yield ""
            for finding in found:
                yield f"- **{_text(finding.code)}** {_text(finding.sentence)}{_places(finding)}"
                yield from (f"  <br>{_code(line)}" for line in finding.example)
            yield ""
            yield "</details>"


def _places(finding: Finding) -> str:
    places = dict.fromkeys(f"{site.file}:{site.line}" for site in finding.sites if site.file and site.line)
    return "".join(f" {'at' if number == 0 else 'and'} {_code(place)}" for number, place in enumerate(places))


def _code(text: str) -> str:
    """``text`` as code that ends neither its span nor its cell."""
    return f"<code>{_text(text)}</code>"


def _text(text: str) -> str:
    """``text`` without a meaning in Markdown or HTML: what reports say comes from strangers' files."""
    line = printable(" ".join(text.split()))
    return re.sub(r"[^\w\s.,:;=+/()%-]", lambda found: f"&#{ord(found[0])};", line)


# ------------------------------------------------------------------------------------------------------ contract change
# What became of a launch's contract between two reports: does it have fewer launches, more, or others?
#
# The lines of a contract become conditions on what a launch passes, so that the solver can compare them, and a size may
# have another name:
#
#     x = "f32[N]", out = "f32[2 * N]"      out.shape[0] == 2 * x.shape[0]
#     grid = (cdiv(N, 64))                  grid.x == cdiv(x.shape[0], 64)
#     N % 4 == 0                            x.shape[0] % 4 == 0
#
# Other lines (``injective(idx)``) count as they stand.


Implied: TypeAlias = Callable[[str, Sequence[str]], bool]
"""Whether a clause holds wherever others do, as `verifier.abduction.clauses` asks the solver."""

_OVERLAP: Final = " may overlap"
"""The end of a line that lets a contract have more launches, not fewer."""


def has_fewer(old: KernelResult, new: KernelResult, implied: Implied) -> bool:
    """Whether ``new`` speaks of fewer launches than ``old``, by its contract or by a clause that tileverify added."""
    before, after = _readings(old, new)
    return _lacks(before, after, before.clauses, after.clauses, implied)


def contract_changes(old: KernelResult, new: KernelResult, implied: Implied) -> Iterator[str]:
    """``the contract is narrower: `N % 4 == 0` was added``, and who vouches for it, where that changed."""
    if old.contract != new.contract:
        yield f"contract {old.contract} -> {new.contract}"
    before, after = _readings(old, new)
    gone = [line for line in before.lines if line not in after.lines]
    added = [line for line in after.lines if line not in before.lines]
    if gone or added:
        narrower, wider = _lacks(before, after, (), (), implied), _lacks(after, before, (), (), implied)
        word = (
            "another" if narrower and wider else "narrower" if narrower else "wider" if wider else "the same, rewritten"
        )
        changes = [*(f"`{line}` was added" for line in added), *(f"`{line}` was dropped" for line in gone)]
        yield f"the contract is {word}: {', '.join(changes)}"


def _lacks(before: _Reading, after: _Reading, known: Sequence[str], clauses: Sequence[str], implied: Implied) -> bool:
    """Whether ``after``, with ``clauses``, lacks launches of ``before`` with those that are ``known``."""
    given = (*before.conditions, *known)
    return bool(before.overlaps - after.overlaps) or not all(implied(e, given) for e in (*after.conditions, *clauses))


def _readings(old: KernelResult, new: KernelResult) -> tuple[_Reading, _Reading]:
    """Both contracts; reports of earlier versions do not say what launches pass."""
    described = bool(old.arguments and new.arguments)
    return _Reading(old, described), _Reading(new, described)


class _Reading:
    """One contract: its ``lines``, and these as ``conditions``; ``clauses`` are those that tileverify added,
    ``overlaps`` the lines that let arguments share memory."""

    def __init__(self, result: KernelResult, described: bool) -> None:
        arguments = [line.split(" = ", 1) for line in result.arguments] if described else []
        self.lines = (*map(" = ".join, arguments), *result.stated)
        self.overlaps = frozenset(line for line in result.stated if line.endswith(_OVERLAP))
        read = [(name, _described(name, text) or text) for name, text in arguments]
        self._names: dict[str, Expression] = {}
        for _, argument in read:
            if isinstance(argument, ArrayArgument):
                for parameter, value in _numbers(argument):
                    if isinstance(value, Name) and "." not in value.name:
                        self._names.setdefault(value.name, Name(parameter))
        self.conditions = [condition for name, argument in read for condition in self._of_argument(name, argument)]
        for line in result.stated:
            if line not in self.overlaps and line.partition(";")[0] != ANY_GRID:
                self.conditions += self._of_line(line)
        self.clauses = list(map(self._renamed, result.clauses))

    def _renamed(self, clause: str) -> str:
        """``clause`` in terms of what the launch passes; as it stands, where it is no condition."""
        try:
            condition = parse_condition(clause)
        except SpecError:
            return clause
        return clause if isinstance(condition, SameArray) else print_expression(substitute(condition, self._names))

    def _of_line(self, line: str) -> Iterator[str]:
        if line.startswith("grid = (") and line.endswith(")"):
            axes = split_top_level(line.removeprefix("grid = (")[:-1], ",")
            for axis, size in zip("xyz", [*axes, "1", "1"][:3], strict=True):
                yield from self._equation(f"grid.{axis}", parse_size(size))
        else:
            yield self._renamed(line)

    def _of_argument(self, name: str, argument: ArrayArgument | ScalarArgument | str) -> Iterator[str]:
        match argument:
            case ArrayArgument(dtype=dtype, shape=shape, strides=strides):
                layout = "contiguous" if strides is None else "strided"
                yield f"{name}: {dtype}, {len(shape)} axes, i{argument.index_bits}, {layout}, {argument.partition}"
                for parameter, value in _numbers(argument):
                    yield from self._equation(parameter, value)
            case ScalarArgument(dtype=dtype, value=value):
                yield f"{name}: {dtype}"
                yield from () if value is None else self._equation(name, value)
            case str():
                yield self._renamed(f"{name} == {argument}")  # a constant, a list, a tuple

    def _equation(self, name: str, value: Expression) -> Iterator[str]:
        known = substitute(value, self._names)
        if known != Name(name):
            yield print_expression(Apply("==", (Name(name), known)))


def _described(name: str, text: str) -> ArrayArgument | ScalarArgument | None:
    """The array or scalar of a line; ``None`` for any other argument."""
    if not text.startswith('"'):
        return None
    try:
        return parse_description(name, text[1:-1])
    except SpecError:
        return None


def _numbers(array: ArrayArgument) -> Iterator[tuple[str, Expression]]:
    for part, values in (("shape", array.shape), ("strides", array.strides or ())):
        yield from ((f"{array.name}.{part}[{axis}]", value) for axis, value in enumerate(values))
