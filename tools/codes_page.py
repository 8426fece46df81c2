"""Writes docs/codes.md, the reference of codes: ``python -m tools.codes_page``.

Words come from `tileverify.results.codes`, examples from the corpus: what ``tileverify explain`` shows, or for a code
that it has no pair for, the shortest kernel whose label names the code.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from tileverify.corpus import ROOT, Labelled, corpus_launches
from tileverify.corpus.examples import Example, examples_of
from tileverify.results.codes import CODES, Code

PAGE: Final = Path(__file__).parents[1] / "docs" / "codes.md"
_HEAD: Final = """\
# Codes

<!-- Written by `python -m tools.codes_page` from src/tileverify/results/codes.py and the corpus. -->

Codes are stable and never used again for something else. `tileverify explain TV101` prints what stands here.
"""


def codes_page() -> str:
    """The page as Markdown."""
    parts = [_HEAD, _table()]
    for family, codes in groupby(CODES.values(), key=lambda code: code.family):
        members = list(codes)
        digit = members[0].code[2]
        parts.append(f"## TV{digit}xx: {family.value}\n")
        parts += [part for code in members for part in _entry(code)]
    return "\n".join(parts).rstrip() + "\n"


def _table() -> str:
    rows = "".join(f"| [{code.code}](#{code.code.lower()}) | {code.title} |\n" for code in CODES.values())
    return f"| code | obligation or reason |\n|---|---|\n{rows}"


def _entry(code: Code) -> Iterator[str]:
    yield f"### {code.code}: {code.title} {{ #{code.code.lower()} }}\n"
    yield f"`{code.name}`. {code.meaning}\n"
    yield f"*Formula*: {code.formula}\n"
    yield f"*What to do*: {code.fix}\n"
    pair = examples_of(code.code)
    if pair is not None:
        yield f"{pair.about}\n"
        yield from _example(pair.wrong)
        yield from _example(pair.right)
    elif labels := _labels(code.code):
        label = min(labels, key=lambda each: (each.file.suffix != ".py", each.file.stat().st_size, str(each.file)))
        yield f"Seen in `corpus/{label.file.relative_to(ROOT).as_posix()}`, launch `{label.launch}`: {label.reason}\n"


def _example(example: Example) -> Iterator[str]:
    yield f"{example.judged[:1].upper()}{example.judged[1:]}: {example.reason}\n"
    yield f"```python\n{example.source.rstrip()}\n```\n"
    yield f"```toml\n{example.spec.rstrip()}\n```\n"


def _labels(code: str) -> list[Labelled]:
    return [label for label in corpus_launches(ROOT) if code in label.codes]


if __name__ == "__main__":
    PAGE.write_text(codes_page(), encoding="utf-8")
