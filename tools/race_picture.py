"""Draws the race of the first page, and the proof beside it: ``python -m tools.race_picture``.

Both pictures are of what the tool found: the launch that refutes a kernel of the corpus, as its blocks were run, and a
launch of the mended kernel. Each follows the colours that a reader's system prefers, on ground of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from tileverify.corpus.examples import Example, examples_of
from tileverify.pipeline import CheckOptions, check_paths
from tileverify.reports.findings import values_text
from tileverify.results import KernelResult
from tileverify.results.codes import TV
from tileverify.results.details import Drawing, SideDrawing

IMAGES: Final = Path(__file__).parents[1] / "docs" / "images"
WIDTH: Final = 336
"""Pixels: two pictures stand side by side in a page of the site, one above the other on a telephone."""
HEIGHT: Final = 212
_LEFT, _RIGHT = 16, WIDTH - 16
_BLOCKS, _ARRAY = 64, 136  # the upper borders of both rows
_BLOCK, _STRIP = 26, 24  # their heights
_STYLE: Final = """\
    text { font: 12px system-ui, sans-serif; fill: #1a1d21 }
    .ground { fill: #f6f6f7; stroke: #d5d8dc }
    .verdict { font-size: 14px; font-weight: 700 }
    .refuted { fill: #b3173f }
    .proved { fill: #146c43 }
    .code { font-family: ui-monospace, monospace; font-size: 11.5px }
    .array { fill: #fff; stroke: #6b7480 }
    .a { fill: #1a5fbf; stroke: #1a5fbf }
    .b { fill: #a04a06; stroke: #a04a06 }
    .block { fill-opacity: .18; stroke-width: 1.5 }
    .reach { fill-opacity: .13; stroke-opacity: .55 }
    .own { fill-opacity: .32 }
    .both { fill: #b3173f; fill-opacity: .85; stroke: #b3173f }
    .both-text { fill: #fff; font-weight: 700 }
    .middle { text-anchor: middle }
    @media (prefers-color-scheme: dark) {
      text { fill: #e4e6ea }
      .ground { fill: #1d2026; stroke: #3b414b }
      .refuted { fill: #ff8096 }
      .proved { fill: #6fce9c }
      .array { fill: #282c34; stroke: #8a93a0 }
      .a { fill: #74aefc; stroke: #74aefc }
      .b { fill: #f0a15e; stroke: #f0a15e }
      .both { fill: #d23a5e; stroke: #ff8096 }
      .both-text { fill: #fff }
    }
"""


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one block touches of an array with one dimension: elements ``start`` to ``end - 1``."""

    block: int
    start: int
    end: int


def pictures() -> dict[Path, str]:
    """Both pictures as SVG, by their files."""
    pair = examples_of(TV.RACE_WRITE_WRITE)
    assert pair is not None
    return {
        IMAGES / "race.svg": _race(_judged(pair.wrong)),
        IMAGES / "proof.svg": _proof(_judged(pair.right)),
    }


def _judged(example: Example) -> KernelResult:
    (result,) = check_paths([example.target], options=CheckOptions(details=True)).results
    assert result.verdict is example.verdict
    return result


def footprints(side: SideDrawing) -> list[Footprint]:
    """What each block that was run touches at this side; raises `ValueError` for an array of several dimensions."""
    return [
        Footprint(track.block[0], start, end)
        for track in side.tracks
        for step in track.steps
        for ((start, end),) in step.boxes
    ]


# ---------------------------------------------------------------------------------------------- two pictures
def _race(result: KernelResult) -> str:
    """The witness of the first finding: what block A and block B store, and where both do."""
    finding = result.findings[0]
    drawing = _first(result)
    sides = [footprints(side)[side.start[0]] for side in drawing.sides]
    ((shared,),) = drawing.shared
    values, _, _ = values_text(finding).partition(";")
    named = f"{drawing.array}[{shared[0]}:{shared[1]}]"
    return _svg(
        f"{result.verdict.value}: blocks {sides[0].block} and {sides[1].block} both store {named}",
        _text(_LEFT, 26, result.verdict.value, "verdict refuted"),
        _text(_LEFT + 66, 26, f"a launch that was run: N = {drawing.shape[0]}"),
        _text(_LEFT, 48, _store_line(result), "code"),
        *_array(drawing),
        *_reaches(sides, drawing, ("A = block {}", "B = block {}")),
        _strip(shared, drawing, "both"),
        _text(_middle(shared, drawing), _ARRAY + 17, f"both store {named}", "both-text middle"),
        _text(_LEFT, _ARRAY + 44, f"{finding.code}: which value remains is a matter of luck"),
        _text(_LEFT, _ARRAY + 60, values),
    )


def _proof(result: KernelResult) -> str:
    """An example of the launches that are proved: what each block stores."""
    assert not result.requires  # "every N" would be too much
    drawing = _first(result)
    found = footprints(drawing.sides[0])
    return _svg(
        f"{result.verdict.value}: every block stores elements of its own",
        _text(_LEFT, 26, result.verdict.value, "verdict proved"),
        _text(_LEFT + 66, 26, f"for every N; drawn is {drawing.launch}"),
        _text(_LEFT, 48, _store_line(result), "code"),
        *_array(drawing),
        *_reaches(found, drawing, ("{}",) * len(found)),
        *(_strip((each.start, each.end), drawing, f"{_side(each)} own") for each in found),
        _text(_LEFT, _ARRAY + 44, "each block stores a tile of its own,"),
        _text(_LEFT, _ARRAY + 60, "whatever N is, in whatever order they run"),
    )


def _first(result: KernelResult) -> Drawing:
    assert result.details is not None
    return result.details.drawings[0]


def _store_line(result: KernelResult) -> str:
    """How the kernel calls its store, up to what it stores."""
    text = Path(result.file).read_text(encoding="utf-8").split("\n")[result.line or 0 :]
    call = next(line.strip() for line in text if "ct.store" in line)
    return f"{call.partition(', tile=')[0]}, ...)"


# --------------------------------------------------------------------------------------------------- shapes
def _x(element: int, drawing: Drawing) -> float:
    return round(_LEFT + (_RIGHT - _LEFT) * element / drawing.shape[0], 1)


def _middle(span: tuple[int, int], drawing: Drawing) -> float:
    return (_x(span[0], drawing) + _x(span[1], drawing)) / 2


def _side(each: Footprint) -> str:
    return "ab"[each.block % 2]


def _array(drawing: Drawing) -> Iterator[str]:
    yield f'<rect class="array" x="{_LEFT}" y="{_ARRAY}" width="{_RIGHT - _LEFT}" height="{_STRIP}"/>'


def _reaches(found: Sequence[Footprint], drawing: Drawing, names: Sequence[str]) -> Iterator[str]:
    """Every block of the grid in a row with its name, and below it what it reaches of the array."""
    count = drawing.grid[0]
    room = (_RIGHT - _LEFT) / count
    for each, name in zip(found, names, strict=True):
        left, right = _LEFT + room * each.block + room * 0.12, _LEFT + room * (each.block + 1) - room * 0.12
        low, high = _x(each.start, drawing), _x(each.end, drawing)
        foot = _BLOCKS + _BLOCK
        yield (
            f'<path class="{_side(each)} reach" d="M{left:.1f} {foot}H{right:.1f}L{high} {_ARRAY}H{low}Z"/>'
            f'<rect class="{_side(each)} block" x="{left:.1f}" y="{_BLOCKS}" width="{right - left:.1f}"'
            f' height="{_BLOCK}" rx="3"/>'
        )
        yield _text((left + right) / 2, _BLOCKS + 17, name.format(each.block), "middle")


def _strip(span: tuple[int, int], drawing: Drawing, kind: str) -> str:
    low, high = (_x(element, drawing) for element in span)
    return f'<rect class="{kind}" x="{low}" y="{_ARRAY}" width="{high - low:.1f}" height="{_STRIP}"/>'


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y}"{named}>{escape(text)}</text>'


def _svg(title: str, *parts: str) -> str:
    inside = "".join(f"  {part}\n" for part in parts if part)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
        f' role="img">\n  <title>{escape(title)}</title>\n  <style>\n{_STYLE}  </style>\n'
        f'  <rect class="ground" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="6"/>\n{inside}</svg>\n'
    )


if __name__ == "__main__":
    for path, picture in pictures().items():
        path.write_text(picture, encoding="utf-8")
