"""Writes the figures of ``benchmarks/figures.toml`` into the README, ``docs/figures.md`` and the pages of results.

    python -m tools.figures            # writes
    python -m tools.figures --check    # exit code 1 if a page differs, and says which

A page has the places between ``<!-- figures -->`` or ``<!-- table: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import argparse
import datetime
import os.path
import re
import sys
from pathlib import Path
from typing import Final

import msgspec

ROOT: Final = Path(__file__).parents[1]
DATA: Final = ROOT / "benchmarks" / "figures.toml"
RESULTS: Final = ROOT / "benchmarks" / "results"
README: Final = ROOT / "README.md"
ALL: Final = ROOT / "docs" / "figures.md"
_PLACE: Final = re.compile(r"(<!-- (figures|table: [\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_LINK: Final = re.compile(r"\]\((?![a-z]+:|#)([^)]+)\)")
_NUMBER: Final = re.compile(r"[\d.,:() ]*(?: ?%| us| ms| s| min)?")


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One measured figure; ``page`` names the page of results that says how."""

    page: str
    what: str
    value: str
    date: datetime.date
    readme: bool = False


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a page: rows of as many cells as there are columns."""

    name: str
    columns: list[str]
    rows: list[list[str]]


class Figures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of the data file; ``pages``: name to title, in the order of ``docs/figures.md``."""

    pages: dict[str, str]
    figure: list[Figure]
    table: list[Table]

    def of(self, page: str) -> list[Figure]:
        return [each for each in self.figure if each.page == page]


def figures() -> Figures:
    """The data file; what is wrong in it ends the program with a sentence that names the place."""
    try:
        return msgspec.toml.decode(DATA.read_bytes(), type=Figures)
    except msgspec.DecodeError as error:
        raise SystemExit(f"benchmarks/figures.toml: {error}") from None


def written(data: Figures) -> dict[Path, str]:
    """Every page that shows figures, with its text as it should be."""
    found = {README: _filled(README, {"figures": _for_readme(data)}), ALL: _filled(ALL, {"figures": _by_topic(data)})}
    tables = {f"table: {each.name}": markdown(each.columns, each.rows) for each in data.table}
    for page in data.pages:
        path = RESULTS / f"{page}.md"
        own = markdown(["what", "figure", "date"], [[_seen(path, x.what), x.value, str(x.date)] for x in data.of(page)])
        found[path] = _filled(path, {"figures": own, **tables})
    return found


def markdown(columns: list[str], rows: list[list[str]]) -> str:
    """A table; columns of numbers stand to the right."""
    right = [place > 0 and all(_NUMBER.fullmatch(row[place]) for row in rows) for place in range(len(columns))]
    rule = "".join("---:|" if each else "---|" for each in right)
    return f"{_line(columns)}|{rule}\n{''.join(map(_line, rows))}"


def _line(cells: list[str]) -> str:
    return f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|\n"


def _for_readme(data: Figures) -> str:
    rows = [
        [each.what, each.value, f"[{each.page}](benchmarks/results/{each.page}.md)"]
        for each in data.figure
        if each.readme
    ]
    return markdown(["what", "figure", "how"], rows)


def _by_topic(data: Figures) -> str:
    """A section a page: its figures, and the way to how they were measured."""
    sections = []
    for page, title in data.pages.items():
        rows = [[_seen(ALL, each.what), each.value, str(each.date)] for each in data.of(page)]
        link = f"[How they were measured](../benchmarks/results/{page}.md)."
        sections.append(f"## {title}\n\n{link}\n\n{markdown(['what', 'figure', 'date'], rows)}")
    return "\n" + "\n".join(sections)


def _seen(page: Path, text: str) -> str:
    """A text of the data file on another page: its links begin at the root."""
    return _LINK.sub(lambda found: f"]({os.path.relpath(ROOT / found.group(1), page.parent)})", text)


def _filled(page: Path, parts: dict[str, str]) -> str:
    """A page with each of its places filled; a place of another name is an error."""

    def fill(found: re.Match[str]) -> str:
        if found.group(2) not in parts:
            raise SystemExit(f"{page}: benchmarks/figures.toml has no {found.group(2)}")
        return found.group(1) + parts[found.group(2)] + found.group(3)

    return _PLACE.sub(fill, page.read_text(encoding="utf-8"))


def main() -> int:
    """Write, or with ``--check`` look only; 1 if a page differs then."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page differs")
    check = parser.parse_args().check
    different = {page: text for page, text in written(figures()).items() if page.read_text(encoding="utf-8") != text}
    for page, text in different.items():
        if check:
            print(f"{page.relative_to(ROOT)} differs from benchmarks/figures.toml; run: python -m tools.figures")
        else:
            page.write_text(text, encoding="utf-8")
    return int(check and bool(different))


if __name__ == "__main__":
    sys.exit(main())
