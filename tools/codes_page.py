"""Writes docs/codes.md and a page for each code below docs/codes: ``python -m tools.codes_page``.

Words come from `tileverify.results.codes`, kernels from the corpus (what ``tileverify explain`` shows), and what
is said of them from the tool itself. A code that no kernel of the corpus shows has an example in its page, between two
marks: what stands there is kept, and run by ``tests/docs``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Final, TypeAlias

from tileverify.corpus import ROOT, Labelled, corpus_launches
from tileverify.corpus.examples import Example, examples_of
from tileverify.pipeline import CheckOptions, check_paths
from tileverify.reports.suppression_rules import wrong_codes
from tileverify.reports.text import text_report
from tileverify.results import KernelResult, Report, Times
from tileverify.results.codes import CODES, Code, Family

DOCS: Final = Path(__file__).parents[1] / "docs"
INDEX: Final = DOCS / "codes.md"
FOLDER: Final = DOCS / "codes"
MOST_FURTHER: Final = 6
"""Further launches of the corpus that a page names."""
BEGIN: Final = "<!-- an example, run by tests/docs -->"
END: Final = "<!-- end of the example -->"

Judged: TypeAlias = Callable[[Example], KernelResult]
"""What ``check`` finds of an example, with the repairs that it tries by itself."""

_HEAD: Final = """\
# Codes

<!-- Written by `python -m tools.codes_page` from src/tileverify/results/codes.py and the corpus. -->

Every finding has a code. Codes are stable and never used again for something else. Each has a page: what is asked, a
kernel that has the fault, what the tool says of it, how it is mended, and what the code is not. On a command line
`tileverify explain TV101` tells the same, and which commands to try.
"""


def pages(judged: Judged) -> dict[Path, str]:
    """Every page as Markdown, by its file."""
    return {INDEX: _index(), **{page_of(code.code): _page(code, judged) for code in CODES.values()}}


def page_of(code: str) -> Path:
    """The file of a code's page."""
    return FOLDER / f"{code}.md"


def judged_now(example: Example) -> KernelResult:
    """`Judged` by the pipeline, without its cache."""
    (result,) = check_paths([example.target], options=CheckOptions(quick_repairs=True)).results
    return result


# ------------------------------------------------------------------------------------------------ the index
def _index() -> str:
    parts = [_HEAD]
    for family, codes in groupby(CODES.values(), key=lambda code: code.family):
        members = list(codes)
        rows = "".join(
            f'| <a id="{code.code.lower()}"></a>[{code.code}](codes/{code.code}.md) | `{code.name}` | {code.fault} |\n'
            for code in members
        )
        parts += [f"## {_heading(family)}\n", f"| code | name | {_asked(family)} |\n|---|---|---|\n{rows}"]
    return "\n".join(parts)


def _heading(family: Family) -> str:
    digit = next(code.code[2] for code in CODES.values() if code.family is family)
    return f"TV{digit}xx: {family.value}"


def _asked(family: Family) -> str:
    return "reason" if family in {Family.ERROR, Family.SUPPRESSION, Family.UNDECIDED} else "fault"


# --------------------------------------------------------------------------------------------- a code's page
def _page(code: Code, judged: Judged) -> str:
    return "\n".join(_parts(code, judged)).rstrip() + "\n"


def _parts(code: Code, judged: Judged) -> Iterator[str]:
    anchor = re.sub(r"[^a-z0-9 ]", "", _heading(code.family).lower()).replace(" ", "-")
    yield f"# {code.code}: {code.fault}\n"
    yield "<!-- Written by `python -m tools.codes_page`; only what stands between the marks of an example is not. -->\n"
    yield f"`{code.name}`, one of [{_heading(code.family)}](../codes.md#{anchor}).\n"
    yield f"{code.meaning}\n"
    yield f"**Formula**: {code.formula}\n"
    yield f"**It is not** {_with_links(code.is_not)}\n"
    pair = examples_of(code.code)
    if pair is not None:
        yield f"## An example\n\n{pair.about}\n"
        yield from _example(pair.wrong, judged)
        yield f"## What to do\n\n{code.fix}\n"
        yield from _example(pair.right, judged)
    else:
        if own := own_example(code.code):
            yield f"## An example\n\n{BEGIN}\n{own}{END}\n"
        yield f"## What to do\n\n{code.fix}\n"
    yield from _further(code.code)
    if not wrong_codes((code.code,)):
        yield (
            "## Where it must not fail a run\n\n```python\n"
            f"# tileverify: ignore[{code.code}] -- why this is fine (until 2027-12-31)\n```\n\n"
            "At the end of the statement, or on a line above it: [suppressions](../ci.md#what-need-not-fail).\n"
        )


def _with_links(text: str) -> str:
    return re.sub(r"\b(TV\d{3})\b", r"[\1](\1.md)", text)


def own_example(code: str) -> str:
    """What stands between the marks in the page as it is; empty where there are none."""
    file = page_of(code)
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return text.partition(f"{BEGIN}\n")[2].partition(END)[0]


def _example(example: Example, judged: Judged) -> Iterator[str]:
    yield f"{example.judged[:1].upper()}{example.judged[1:]}: {example.reason}\n"
    yield f"```python\n{example.source.rstrip()}\n```\n"
    yield f"```toml\n{example.spec.rstrip()}\n```\n"
    result = replace(judged(example), time_ms=Times(), cached=False)  # times would differ whenever it is written
    printed, _, _ = text_report(Report((result,), tool_version="", solver="")).partition("\n1 kernel: ")
    lines = (line.rstrip() for line in _shown(printed).rstrip().split("\n"))
    yield "\n".join(("```console", f"$ tileverify check {_shown(example.target)}", *lines, "...", "```\n"))


def _shown(text: str) -> str:
    """``text`` with the corpus called as at the root of the repository, from wherever it was looked at."""
    return re.sub(r"[^\s`]*tileverify/corpus/", "corpus/", text)


def _further(code: str) -> Iterator[str]:
    shown = examples_of(code)
    targets = () if shown is None else (shown.wrong.target, shown.right.target)
    labels = [label for label in corpus_launches(ROOT) if code in (label.code, *label.warnings)]
    others = [label for label in labels if f"{label.file}::{label.kernel}::{label.launch}" not in targets]
    if others:
        told = ((_called(label), label.reason.replace("|", "\\|")) for label in _varied(others)[:MOST_FURTHER])
        rows = "".join(f"| {name} | {reason} |\n" for name, reason in told)
        more = f"{len(others)} further launches" if len(others) > 1 else "One further launch"
        which = ":" if len(others) <= MOST_FURTHER else ", among them:"
        yield f"## More of it\n\n{more} of [the corpus](../corpus.md) with this code{which}\n"
        yield f"| `tileverify check` | why |\n|---|---|\n{rows}"


def _varied(labels: list[Labelled]) -> list[Labelled]:
    """One launch a file first, those of the shortest files before others, then the rest."""
    first: dict[Path, Labelled] = {}
    for label in sorted(labels, key=lambda each: (each.file.suffix != ".py", each.file.stat().st_size, str(each.file))):
        first.setdefault(label.file, label)
    return [*first.values(), *(label for label in labels if label not in first.values())]


def _called(label: Labelled) -> str:
    return f"`{_shown(str(label.file))}::{label.kernel}::{label.launch}`"


if __name__ == "__main__":
    written = pages(judged_now)
    FOLDER.mkdir(exist_ok=True)
    for stale in set(FOLDER.glob("*.md")) - set(written):
        stale.unlink()
    for path, page in written.items():
        path.write_text(page, encoding="utf-8")
