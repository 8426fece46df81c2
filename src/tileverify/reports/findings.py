"""A finding for people: message, source with carets, what differs between the two sides, hints."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from ..results import COMBINATIONS, TILE_INDEX, Finding, FindingLevel, Hint, SideValue, SourceSite, Witness
from ..results.codes import CODES, TV, Family
from ..results.conditional import suppressed_because
from ..system.printable import printable
from ..system.readings import shown_place
from .causes import also
from .snippets import Snippet, Snippets, changed_lines, source_text, text_digest

_LABEL_COLUMN: Final = 100
"""A label that would end behind it gets a line of its own."""

_ACCESSES: Final = frozenset(("load", "store", "atomic"))


@dataclass(frozen=True, slots=True)
class _Place:
    """One source position with what happens there; two sites of a finding may share one."""

    site: SourceSite
    label: str
    snippet: Snippet | None


def finding_lines(
    finding: Finding,
    style: str,
    snippets: Snippets,
    others: Sequence[Finding] = (),
    file: str | None = None,
    *,
    whole: bool = True,
) -> Iterator[Text]:
    """The lines of ``finding``, and of ``others`` with the same cause; ``style`` is that of the kernel's verdict,
    ``file`` where it lies, and what hints edit.

    ``whole``: also the lines around an access, its index (which is told in any case where no launch shows elements),
    what differs between the blocks, and who confirmed it.
    """
    code = CODES.get(finding.code)
    undecided = code is not None and code.family is Family.UNDECIDED
    style = {FindingLevel.WARNING: "yellow", FindingLevel.NOTE: "blue"}.get(finding.level, style)
    word = "undecided" if undecided else finding.level
    if finding.suppression is not None:
        style, word = "dim", f"suppressed {word}"
    message = finding.message.split("\n")[0]
    yield Text.assemble((f"{word}[{printable(finding.code)}]", f"bold {style}"), (f": {printable(message)}", "bold"))
    yield from (Text.assemble(("     | ", "blue"), printable(line)) for line in finding.example)
    if finding.obligation and (asked := CODES.get(finding.obligation)):
        yield Text.assemble("  about ", (asked.code, "bold"), f": {asked.title}")
    if finding.suppression is not None:
        yield Text.assemble("  reason: ", printable(suppressed_because(finding.suppression)))
        yield from (
            Text.assemble(("  --> ", "blue"), _position(*key)) for key in dict.fromkeys(map(_key, finding.sites))
        )
        return
    places = _places(finding, snippets)
    gutter = 1 + max((len(str(place.snippet.lines[-1][0])) for place in places if place.snippet), default=1)
    for group in _by_file(places):
        yield from _group(group, gutter, style, whole=whole, indices=whole or finding.witness is None)
    if finding.witness is not None:
        facts = _witness(finding, finding.witness, values_text(finding), whole=whole)
        yield from (_fact(line, gutter) for line in facts)
    yield from (_fact(line, gutter) for line in also(finding, others))
    for hint in finding.hints:
        note = f"   [{hint.id}, {hint.applicability}]"
        yield Text.assemble(("help", "bold cyan"), f": {printable(hint.text)}", (printable(note), "dim"))
        for line in repair_lines(hint, file):
            yield Text(f"    {printable(line)}", "red" if line.startswith("-") else "green")
    if whole and code is not None and code.family is not Family.ERROR:
        yield Text(f"more: tileverify explain {code.code}", "dim")


def repair_lines(hint: Hint, file: str | None) -> Iterator[str]:
    """``-12: before`` and ``+12: after`` for what a hint changes in ``file``; nothing where that cannot be read."""
    lines = source_text(file) if file is not None and hint.edits else None
    text = "\n".join(lines or ())
    if lines is not None and hint.source_sha256 in ("", text_digest(text)):
        yield from changed_lines(text, hint.edits)


def _fact(text: str, gutter: int) -> Text:
    return Text.assemble((" " * gutter + "= ", "blue"), printable(text))


# ---------------------------------------------------------------------------------------------- places
def _places(finding: Finding, snippets: Snippets) -> list[_Place]:
    labels: dict[tuple[str | None, int | None, int | None], list[tuple[str, str]]] = defaultdict(list)
    sites: dict[tuple[str | None, int | None, int | None], SourceSite] = {}
    for number, site in enumerate(finding.sites):
        labels[_key(site)].append((_block(number, finding.witness, finding.code), _action(site, finding)))
        sites.setdefault(_key(site), site)
    return [_Place(site, _label(labels[key]), snippets.at(site)) for key, site in sites.items()]


def _key(site: SourceSite) -> tuple[str | None, int | None, int | None]:
    return site.file, site.line, site.column


def _block(number: int, witness: Witness | None, code: str) -> str:
    if witness is None or number > 1 or code == TV.NEVER_WRITTEN:
        return ""
    if witness.block_b is None or witness.block_a == witness.block_b:
        return f"block {witness.block_a}"
    return f"block A {witness.block_a}" if number == 0 else f"block B {witness.block_b}"


def _action(site: SourceSite, finding: Finding) -> str:
    if not site.array:
        return site.access if site.access in COMBINATIONS else ""
    if finding.code == TV.NEVER_WRITTEN and finding.witness is not None:
        return f"does not get to {finding.witness.element}"
    target = finding.target(site) if site.access in _ACCESSES else site.array
    return f"{site.access} {target}".strip()


def _label(labels: list[tuple[str, str]]) -> str:
    """``block A (0, 0, 0) and block B (1, 0, 0) both store out[3]``; one block that does it twice, or both, is named
    once."""
    labels = list(dict.fromkeys(labels))
    blocks = [block for block, _ in labels if block]
    actions = list(dict.fromkeys(action for _, action in labels if action))
    if len(blocks) == 2 and len(set(blocks)) == 1 and len(actions) == 2:
        return printable(f"{blocks[0]}: {' and '.join(actions)}")
    if len(blocks) == 2 and len(actions) == 1:
        verb, _, target = actions[0].partition(" ")
        both = f"access {target} by an atomic" if verb == "atomic" else actions[0]
        return printable(f"{' and '.join(blocks)} both {both}")
    return printable(" and ".join(": ".join(part for part in label if part) for label in labels if any(label)))


# --------------------------------------------------------------------------------------------- snippets
def _by_file(places: list[_Place]) -> list[list[_Place]]:
    """Places in one file share a snippet; a place without source stands alone."""
    groups: dict[object, list[_Place]] = {}
    for number, place in enumerate(places):
        groups.setdefault(place.site.file if place.snippet else number, []).append(place)
    return list(groups.values())


def _group(places: list[_Place], gutter: int, style: str, *, whole: bool, indices: bool) -> Iterator[Text]:
    pad = " " * gutter
    for place in places:
        yield from _heading(place, pad)
    yield from _source(places, gutter, style, whole=whole)
    for place in places:
        if place.snippet is None and place.label and place.site.file is not None:
            yield _fact(place.label, gutter)
        memory = place.site.access in _ACCESSES
        if place.site.expression and (indices or place.snippet is None or not memory):
            named = f"index    {place.site.access} " if memory else ""
            yield _fact(f"{named}{place.site.expression}", gutter)


def _source(places: list[_Place], gutter: int, style: str, *, whole: bool) -> Iterator[Text]:
    """The lines of the accesses, with those around them if it is the ``whole`` of them."""
    snippets = [place.snippet for place in places if place.snippet]
    marked = {snippet.marked for snippet in snippets}
    lines = dict(sorted(line for snippet in snippets for line in snippet.lines if whole or line[0] in marked))
    pad = " " * gutter
    if lines and whole:
        yield Text(f"{pad}|", "blue")
    previous = None
    for number, text in lines.items():
        if previous is not None and number != previous + 1:
            yield Text(f"{'...':>{gutter}}", "blue")
        previous = number
        yield Text.assemble((f"{number:>{gutter - 1}} | ", "blue"), text)
        for place in places:
            if place.snippet and place.snippet.marked == number:
                yield from _carets(place.snippet, place.label, pad, style)
    if lines and whole:
        yield Text(f"{pad}|", "blue")


def _heading(place: _Place, pad: str) -> Iterator[Text]:
    site = place.site
    arrow = (f"{pad[:-1]}--> ", "blue")
    if site.file is None and site.line is None:
        yield Text.assemble(arrow, f"{place.label} (no source location in the bytecode)".strip())
        return
    within = f" in {printable(site.function)}" if site.function else ""
    yield Text.assemble(arrow, _position(*_key(site)), within)
    for frame in site.call_chain:
        if frame != _key(site):
            yield Text.assemble((f"{pad}    ", "blue"), "called from ", _position(*frame))


def _carets(snippet: Snippet, label: str, pad: str, style: str) -> Iterator[Text]:
    indent = " " * snippet.start
    carets = "^" * snippet.width
    if label and snippet.start + snippet.width + 1 + cell_len(label) <= _LABEL_COLUMN:
        yield Text.assemble((f"{pad}| ", "blue"), (f"{indent}{carets} {label}", style))
        return
    yield Text.assemble((f"{pad}| ", "blue"), (f"{indent}{carets}", style))
    if label:
        yield Text.assemble((f"{pad}| ", "blue"), (f"{indent}{label}", style))


def _position(file: str | None, line: int | None, column: int | None) -> str:
    """``file:line:column`` with the column counted from 1, as editors do; a cell as IPython tells it."""
    return printable(shown_place(file or "<unknown>", line, column))


# -------------------------------------------------------------------------------------------- a witness
def _witness(finding: Finding, witness: Witness, values: str, *, whole: bool) -> Iterator[str]:
    negative = finding.code == TV.TILE_OUT_OF_INDEX_SPACE and witness.negative_tiles
    if whole and witness.element and not negative:
        yield f"element  {witness.element}"
    yield f"launch   {'   '.join(_launch(witness))}"
    for name, contents in witness.data.items():
        yield f"data     {name} = [{', '.join(map(str, contents))}]"
    if values:
        yield f"values   {values}"
    if not whole:
        return
    if finding.code != TV.NEVER_WRITTEN:  # no block is at fault alone
        yield from _table(witness)
    if witness.confirmed_by:
        yield f"confirmed by {witness.confirmed_by}"


def values_text(finding: Finding) -> str:
    """``out[0]: block A stores 3.0, block B stores 7.0``; empty if nothing is known.

    A load gives one value before the store of the other side and another one after it.
    """
    values = None if finding.witness is None else finding.witness.values
    if values is None:
        return ""
    names = side_names(finding)
    fault = "race" if names == _BLOCKS else "fault"
    ending = f" (equal here, and a {fault} all the same)" if values.equal else ""
    contents = "; float arrays count up" if values.counting else ""
    return f"{values.element}: {_exchange(values.sides, names)}{ending}{contents}"


def _exchange(sides: Sequence[SideValue], names: Mapping[str, str]) -> str:
    load = next((side for side in sides if side.access == "load"), None)
    if load is not None and load.after is not None:
        other = names["b" if load.side == "a" else "a"]
        changes = "" if load.value == load.after else f" {load.after}"
        return f"{names[load.side]} loads {load.value} before and{changes} after {other} stores"
    if len(sides) == 2 and sides[0].value == sides[1].value:
        return f"both store {sides[0].value}"
    return ", ".join(f"{names[side.side]} {side.access}s {side.value}" for side in sides)


_BLOCKS: Final = {"a": "block A", "b": "block B"}
_ACCESSES_OF_ONE_BLOCK: Final = {"a": "the first access", "b": "the second access"}
_LANES: Final = {"a": "one lane", "b": "another"}


def side_names(finding: Finding) -> Mapping[str, str]:
    """What to call the sides ``a`` and ``b`` of a fault."""
    if finding.code == TV.DUPLICATE_LANES:
        return _LANES
    witness = finding.witness
    apart = witness is not None and witness.block_b not in (None, witness.block_a)
    return _BLOCKS if apart else _ACCESSES_OF_ONE_BLOCK


def _launch(witness: Witness) -> Iterator[str]:
    yield f"grid = {witness.grid}"
    for values in (witness.sizes, witness.scalars, witness.strides):
        if values:
            yield _assignments(values)


def never_written(witness: Witness) -> str:
    """``out[3, 0:64] is never written where grid = (1, 1, 1), M = 4``."""
    numbers = [
        f"grid = {witness.grid}",
        *(f"{n} = {v}" for each in (witness.sizes, witness.scalars) for n, v in each.items()),
    ]
    return f"{witness.element} is never written where {', '.join(numbers)}"


def _assignments(values: Mapping[str, int]) -> str:
    return "   ".join(f"{name} = {value}" for name, value in values.items())


def differing(witness: Witness) -> Iterator[tuple[str, ...]]:
    """A name, and a value for each side: its block, and what else differs between the two; all where there is one side.

    The line of the block has its numbers.
    """
    others = [each for each in witness.variables if not each[0].startswith("bid.")]
    if witness.block_b is None:
        yield "block", str(witness.block_a)
        yield from ((name, _signed(name, first)) for name, first, _ in others)
        return
    yield "block", str(witness.block_a), str(witness.block_b)
    yield from (
        (name, _signed(name, first), _signed(name, second)) for name, first, second in others if first != second
    )


def _table(witness: Witness) -> Iterator[str]:
    """What differs between the two sides, one column a side; one column where there is one side only."""
    heads = ("first", "second") if witness.block_a == witness.block_b else ("block A", "block B")
    rows = [*([] if witness.block_b is None else [("", *heads)]), *differing(witness)]
    rows = [tuple(map(printable, row)) for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        yield "   ".join(cells).rstrip()


def _signed(name: str, value: int | None) -> str:
    """A tile number with its sign, which the op does not read."""
    negative = value is not None and name.startswith(TILE_INDEX) and 1 << 31 <= value < 1 << 32
    return "-" if value is None else str(value - (1 << 32) if negative else value)
