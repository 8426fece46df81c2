"""What the page of one launch shows, ready for the template."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Final, TypeAlias

from ...contract.as_terms import ANY_GRID
from ...contract.data_facts import parse_data_fact
from ...contract.expression_parser import parse_condition, parse_size
from ...contract.expressions import print_expression
from ...contract.facts.kinds import meaning_of
from ...contract.launch import Apply, DataFact, Expression, Number, SameArray
from ...results import ContractOrigin, Finding, KernelResult, PlaybackFile, SourceSite, Verdict, Witness
from ...results.codes import CODES, TV, Code, Family, Tier
from ...results.conditional import conjunction, is_conditional, suppressed_because, undetermined, verdict_word
from ...results.details import Drawing, IrLine, ObligationDetail, SideDrawing, State
from ...results.json_report import Json
from ...system.errors import SpecError
from ...system.printable import printable
from ...system.readings import shown_place
from ..causes import also, cards
from ..findings import differing, repair_lines, side_names, values_text
from .highlighting import Sources, ir_lines
from .overview import SYMBOLS

_Places: TypeAlias = tuple[tuple[str, int | None], ...]
"""What an obligation speaks of, and its line."""

HOLDS_FOR: Final = {
    "any": "Every launch within the contract is safe.",
    "sizes": "Every launch of these sizes is safe, with any grid within the contract.",
    "launch": "This very launch is safe.",
}


_STATED_BY: Final[Mapping[ContractOrigin, tuple[str, str]]] = {
    "written": ("What you said", "your contract"),
    "recorded": ("What was recorded", "the recorded contract"),
    "inferred": ("What tileverify inferred", "the inferred contract"),
}
"""A heading for the contract's lines, and what to call them in a sentence."""


@dataclass(frozen=True, slots=True)
class ClauseLine:
    text: str
    words: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class SiteView:
    """A source position of a finding: ``who`` is there (block A), what it does, and its index terms."""

    mark: str
    who: str
    action: str
    place: str
    line: int | None
    file: str
    expression: str


@dataclass(frozen=True, slots=True)
class FindingView:
    """``rows``: what differs between the sides; ``heads``: a title for each side.  ``changes``: the lines that each of
    its hints changes.  ``rest``: what else comes of its cause, and ``also`` the same in lines."""

    number: int
    state: State
    finding: Finding
    code: Code | None
    about: Code | None
    message: str
    sites: tuple[SiteView, ...]
    launch: tuple[tuple[str, str], ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    values: str
    changes: tuple[tuple[str, ...], ...]
    playback: str | None
    drawing: bool
    suppressed: str
    also: tuple[str, ...]
    rest: tuple[FindingView, ...]


@dataclass(frozen=True, slots=True)
class ObligationRow:
    """``count`` obligations that look the same to a reader, with the time of all of them."""

    code: str
    state: State
    symbol: str
    about: _Places
    detail: str
    tier: Tier | None
    milliseconds: float
    lemmas: int
    count: int


@dataclass(frozen=True, slots=True)
class KernelView:
    result: KernelResult
    word: str
    sentence: str
    contract_title: str
    contract: tuple[ClauseLine, ...]
    requires_title: str
    requires: tuple[ClauseLine, ...]
    limits: tuple[ClauseLine, ...]
    assumes: tuple[ClauseLine, ...]
    findings: tuple[FindingView, ...]
    obligations: tuple[ObligationRow, ...]
    tiers: tuple[tuple[str, int, float], ...]
    rests_on: str
    command: str


def kernel_view(result: KernelResult) -> KernelView:
    details = result.details
    obligations = () if details is None else details.obligations
    drawings = {drawing.finding for drawing in (details.drawings if details else ())}
    return KernelView(
        result=result,
        word=verdict_word(result),
        sentence=_sentence(result),
        contract_title=_STATED_BY[result.contract][0],
        contract=tuple(_clause(text) for text in result.stated),
        requires_title="Proved only if" if is_conditional(result) else "What the proof adds",
        requires=tuple(_clause(text) for text in result.requires),
        limits=tuple(_clause(text) for text in result.limits),
        assumes=tuple(_clause(text, _vouched(text, result)) for text in result.assumes),
        findings=tuple(_findings(result, drawings)),
        obligations=tuple(_obligations(obligations)),
        tiers=tuple(_tiers(obligations)),
        rests_on=_rests_on(result),
        command=" ".join(
            ("tileverify check", quote("::".join(filter(None, (result.file, result.kernel, result.launch)))))
        ),
    )


def _tiers(obligations: Sequence[ObligationDetail]) -> Iterator[tuple[str, int, float]]:
    """Every tier with the number of obligations that it decided, and their milliseconds; the busiest first."""
    counts = Counter(each.tier for each in obligations if each.tier)
    for tier, count in counts.most_common():
        yield tier, count, sum(each.milliseconds for each in obligations if each.tier == tier)


def _rests_on(result: KernelResult) -> str:
    """Clauses and facts on data are those that it needs; of the contract, nobody asked which."""
    parts = [_STATED_BY[result.contract][1]] if result.stated else []
    if count := len(result.requires):
        parts.append(f"{count} {'condition' if is_conditional(result) else 'added clause'}{'s' if count > 1 else ''}")
    if count := len(result.limits):
        parts.append(f"{count} size limit{'s' if count > 1 else ''}")
    if count := len(result.assumes):
        parts.append(f"{count} fact{'s' if count > 1 else ''} on data")
    return " and ".join(parts) or "what holds of every launch"


def _sentence(result: KernelResult) -> str:
    match result.verdict:
        case Verdict.PROVED:
            ending = ""
            if result.deterministic is False and undetermined(result):
                ending = " Results may depend on what the specification leaves open."
            elif result.deterministic is False:
                ending = " Results may differ between runs, by the order of atomics."
            safe = HOLDS_FOR.get(result.holds_for or "", "Safe.")
            if is_conditional(result):
                safe = f"{safe.removesuffix('.')}, if {conjunction(result.requires)}."
            return safe + ending
        case Verdict.REFUTED:
            count = sum(finding.witness is not None for finding in result.findings)
            launches = "a launch" if count == 1 else f"{count} launches"
            return f"The reference interpreter ran {launches} within the contract and saw the fault."
        case Verdict.UNDECIDED:
            return "Neither proved nor refuted. This is no pass."
    return "Nothing was verified."


def _clause(text: str, note: str = "") -> ClauseLine:
    words = in_words(text)
    return ClauseLine(text, words[:1].upper() + words[1:], note)


def _vouched(text: str, result: KernelResult) -> str:
    return "seen in a recording; nobody vouches for it" if text in result.observed else ""


# --------------------------------------------------------------------------------------------- findings
def _findings(result: KernelResult, drawings: set[int | None]) -> Iterator[FindingView]:
    """One for each cause."""
    files = iter(result.playback)
    views: dict[int, FindingView] = {}
    for number, finding in enumerate(result.findings):
        witness = finding.witness
        playback = next(files, None) if witness is not None and witness.launch else None
        views[id(finding)] = _finding(number, finding, result.file, playback, drawing=number in drawings)
    for first, others in cards(result.findings):
        rest = tuple(views[id(other)] for other in others)
        yield replace(views[id(first)], also=tuple(also(first, others)), rest=rest)


def _finding(number: int, finding: Finding, file: str, playback: PlaybackFile | None, *, drawing: bool) -> FindingView:
    """The finding by itself; ``file``: the source that its hints change."""
    witness = finding.witness
    heads, rows = _table(finding)
    return FindingView(
        number=number,
        state=State.UNDECIDED if witness is None or not finding.refutes else State.REFUTED,
        finding=finding,
        code=CODES.get(finding.code),
        about=CODES.get(finding.obligation or ""),
        message=finding.message.split("\n")[0],
        sites=tuple(_site(position, site, finding) for position, site in enumerate(finding.sites)),
        launch=() if witness is None else tuple(_launch(witness)),
        heads=heads,
        rows=rows,
        values=values_text(finding),
        changes=tuple(tuple(repair_lines(hint, file)) for hint in finding.hints),
        playback=None if playback is None else playback.name,
        drawing=drawing,
        suppressed="" if finding.suppression is None else suppressed_because(finding.suppression),
        also=(),
        rest=(),
    )


def _site(position: int, site: SourceSite, finding: Finding) -> SiteView:
    witness, names = finding.witness, side_names(finding)
    two = witness is not None and len(finding.sites) > 1
    mark = "AB"[position] if two and position < 2 else ""
    who = ""
    if witness is not None and position < 2:
        block = witness.block_a if position == 0 else witness.block_b or witness.block_a
        who = f"{names['ab'[position]]}, block {block}" if two and "block" not in names["a"] else f"block {block}"
    memory = site.access in ("load", "store", "atomic")
    target = finding.target(site) if memory else site.array
    action = f"{site.access} {target}".strip() if site.access else ""
    if witness is not None and finding.code == TV.NEVER_WRITTEN:  # no block is at fault alone
        who, action = "", f"does not get to {witness.element}"
    return SiteView(
        mark=mark,
        who=who,
        action=action,
        place=_place(site),
        line=site.line,
        file=site.file or "",
        expression=site.expression,
    )


def _place(site: SourceSite) -> str:
    if site.file is None and site.line is None:
        return "no source location in the bytecode"
    within = f" in {site.function}" if site.function else ""
    return f"{shown_place(site.file or '?', site.line, site.column)}{within}"


def _launch(witness: Witness) -> Iterator[tuple[str, str]]:
    yield "grid", " × ".join(map(str, witness.grid))
    for values in (witness.sizes, witness.scalars, witness.strides):
        yield from ((name, str(value)) for name, value in values.items())
    for name, contents in witness.data.items():
        shown = ", ".join(map(str, contents[:32])) + (", …" if len(contents) > 32 else "")
        yield name, f"[{shown}]"


def _table(finding: Finding) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    witness = finding.witness
    if witness is None or finding.code == TV.NEVER_WRITTEN:
        return (), ()
    names = side_names(finding)
    heads = ("value",) if witness.block_b is None else (names["a"], names["b"])
    return heads, tuple(differing(witness))


# ------------------------------------------------------------------------------------------ obligations
def _obligations(details: Sequence[ObligationDetail]) -> Iterator[ObligationRow]:
    groups: dict[tuple[str, State, _Places, str, Tier | None], list[ObligationDetail]] = defaultdict(list)
    for each in details:
        groups[each.code, each.state, _about(each), each.detail, each.tier].append(each)
    for code, state, about, detail, tier in sorted(groups, key=lambda key: (key[1] is State.PROVED, key[0])):
        alike = groups[code, state, about, detail, tier]
        yield ObligationRow(
            code=code,
            state=state,
            symbol=SYMBOLS[state],
            about=about,
            detail=detail,
            tier=tier,
            milliseconds=sum(each.milliseconds for each in alike),
            lemmas=sum(each.lemmas for each in alike),
            count=len(alike),
        )


def _about(obligation: ObligationDetail) -> _Places:
    """What it speaks of, each once: ``store out`` and its line."""
    words = ((f"{site.access} {site.array}".strip(), site.line) for site in obligation.sites)
    return tuple(dict.fromkeys(words))


# -------------------------------------------------------------------------------------------------- panes
def source_panes(result: KernelResult, sources: Sources) -> list[Json]:
    """The files that the kernel's Tile IR and findings come from: which lines, and what became of them."""
    lines: dict[str, set[int]] = defaultdict(set)
    details = result.details
    for ir in details.ir if details else ():
        if ir.file is not None and ir.line is not None:
            lines[ir.file].add(ir.line)
    marks = line_marks(result)
    for place, line in marks:
        lines[place].add(line)
    if result.line is not None:
        lines[result.file].add(result.line)
    panes = []
    for name, wanted in sorted(lines.items(), key=lambda item: (item[0] != result.file, item[0])):
        file = sources.file(name)
        if file is not None:
            panes.append(
                {
                    "file": name,
                    "shown": _spans(file.shown(wanted)),
                    "marks": {str(line): mark for (at, line), mark in sorted(marks.items()) if at == name},
                }
            )
    return panes


def line_marks(result: KernelResult) -> Mapping[tuple[str, int], list[str]]:
    """For each source line with obligations: the worst state, and what was proved or not there in words."""
    codes: dict[tuple[str, int], dict[State, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for obligation in result.details.obligations if result.details else ():
        places = ((s.file, s.line) for s in obligation.sites if s.file is not None and s.line is not None)
        for file, line in dict.fromkeys(places):
            codes[file, line][obligation.state][obligation.code] += 1
    order = (State.REFUTED, State.UNDECIDED, State.PROVED)
    found = {}
    for place, states in codes.items():
        texts = [f"{state.value}: {', '.join(sorted(states[state]))}" for state in order if state in states]
        worst = next(state for state in order if state in states)
        found[place] = [worst.value, "; ".join(texts)]
    return found


def _spans(numbers: Sequence[int]) -> list[list[int]]:
    """Ascending numbers as first and last of their runs."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return spans


def ir_pane(lines: Sequence[IrLine], files: Sequence[str]) -> Json:
    """Tile IR with, for every line, the number of its file among ``files`` and its line there (0: none)."""
    html = ir_lines("\n".join(printable(line.text) for line in lines))
    places = {name: number for number, name in enumerate(files)}
    origin = [[places[line.file], line.line] if line.file in places and line.line is not None else 0 for line in lines]
    return {"html": [str(each) for each in html], "from": origin}


# ------------------------------------------------------------------------------------------------ drawings
def drawing_json(drawing: Drawing, finding: Finding | None) -> Json:
    """A drawing for the page's script; boxes are flat lists ``[start, end, start, end, ...]``."""
    names = {"a": "", "b": ""} if finding is None else side_names(finding)
    between = finding is not None and CODES[finding.code].family is Family.BETWEEN_BLOCKS
    return {
        "finding": drawing.finding,
        "array": printable(drawing.array),
        "dtype": drawing.dtype,
        "shape": list(drawing.shape),
        "tile": list(drawing.tile),
        "grid": list(drawing.grid),
        "shared": [_flat(box) for box in drawing.shared],
        "between": between,
        "launch": printable(drawing.launch),
        "sides": [_side(side, names["ab"[number]]) for number, side in enumerate(drawing.sides)],
    }


def _side(side: SideDrawing, name: str) -> Json:
    return {
        "name": name,
        "access": printable(side.access),
        "line": side.site.line if side.site else None,
        "loops": list(map(printable, side.loops)),
        "start": list(side.start),
        "tracks": [
            [
                list(track.block),
                [
                    [list(map(_flat, step.boxes)), step.count, list(step.iterations), int(step.cut)]
                    for step in track.steps
                ],
            ]
            for track in side.tracks
        ],
    }


def _flat(box: Sequence[tuple[int, int]]) -> list[int]:
    return [edge for axis in box for edge in axis]


def file_html(name: str, sources: Sources) -> list[str]:
    """All lines of a source file as HTML."""
    file = sources.file(name)
    return [] if file is None else [str(line) for line in file.html]


# ---------------------------------------------------------------------------------------------------------------- words
# Clauses of a contract in plain words, for readers who do not write launch specs.


_RELATIONS: Final = {
    "==": "equals",
    "!=": "differs from",
    "<": "is below",
    "<=": "is at most",
    ">": "is above",
    ">=": "is at least",
}
_AXES: Final = {"grid.x": "the grid's width", "grid.y": "the grid's height", "grid.z": "the grid's depth"}


def in_words(clause: str) -> str:
    """``clause`` as a sentence without its full stop; empty where the clause says it best itself."""
    if clause.partition(";")[0] == ANY_GRID:
        return "the grid may have any size"
    if clause.startswith("grid = (") and clause.endswith(")"):
        return _grid(clause.removeprefix("grid = ("))
    try:
        fact = parse_data_fact(clause)
    except SpecError:
        return _condition(clause)
    return _fact(fact)


def _grid(text: str) -> str:
    axes = _split(text.removesuffix(")"))
    try:
        blocks = " × ".join(_size(parse_size(axis)) for axis in axes)
    except SpecError:
        return ""
    return f"a grid of {blocks} tile blocks" if axes else ""


def _split(text: str) -> list[str]:
    """At the commas that stand in no parentheses."""
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _condition(clause: str) -> str:
    try:
        condition = parse_condition(clause)
    except SpecError:
        return ""
    if isinstance(condition, SameArray):
        return f"{condition.first} and {condition.second} are one array"
    return _relation(condition)


def _relation(condition: Expression) -> str:
    match condition:
        case Apply(op="and", args=args):
            return ", and ".join(filter(None, map(_relation, args)))
        case Apply(op="or", args=args):
            return ", or ".join(filter(None, map(_relation, args)))
        case Apply(op="==", args=(Apply(op="%", args=(value, divisor)), Number(value=0))):
            return f"{_size(value)} is a multiple of {_size(divisor)}"
        case Apply(op="<=" | "<", args=(Number() as low, other)):
            return f"{_size(other)} is {'at least' if condition.op == '<=' else 'above'} {_size(low)}"
        case Apply(op=op, args=(left, right)) if op in _RELATIONS:
            return f"{_size(left)} {_RELATIONS[op]} {_size(right)}"
    return ""


def _size(expression: Expression) -> str:
    match expression:
        case Apply(op="cdiv", args=(left, right)):
            return f"⌈{_size(left)} / {_size(right)}⌉"
        case Apply(op="//", args=(left, right)):
            return f"⌊{_size(left)} / {_size(right)}⌋"
        case Apply(op="*", args=(left, right)):
            return f"{_factor(left)} · {_factor(right)}"
        case Apply(op="+" | "-" as op, args=(left, right)):
            return f"{_size(left)} {'+' if op == '+' else '−'} {_factor(right)}"
        case Apply(op="min" | "max" as op, args=args):
            return f"the {'smaller' if op == 'min' else 'larger'} of {' and '.join(map(_size, args))}"
    text = print_expression(expression)
    return _AXES.get(text, text)


def _factor(expression: Expression) -> str:
    inner = isinstance(expression, Apply) and expression.op in ("+", "-", "min", "max")
    return f"({_size(expression)})" if inner else _size(expression)


def _fact(fact: DataFact) -> str:
    parts = (fact.low, fact.high, fact.amount, fact.width)
    numbers = dict(
        zip(("low", "high", "n", "width"), ("" if part is None else _size(part) for part in parts), strict=True)
    )
    words = meaning_of(fact).words(fact.arrays, numbers)
    excused = " and ".join(map(_size, fact.unless))
    return f"{words}; {excused} excepted" if excused else words
