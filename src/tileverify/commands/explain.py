"""The commands that tell what results mean: ``explain`` and ``schema``."""

from __future__ import annotations

from dataclasses import asdict
from textwrap import fill, indent
from typing import TYPE_CHECKING, Any, Final

import click

from ..corpus.examples import examples_of
from ..reports.suppression_rules import wrong_codes
from ..system.errors import UsageError
from .shell import emit

if TYPE_CHECKING:
    from ..corpus.examples import Example
    from ..results.codes import Code


@click.command()
@click.argument("codes", nargs=-1, metavar="[CODE...]")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain(codes: tuple[str, ...], format_: str) -> None:
    """Tell what codes mean, with a kernel that has the fault and a mended one; without CODE, list all codes.

    CODE is TV101, its name (race-write-write), or the beginning of several (TV1, TV9xx).
    """
    from ..results.codes import CODES

    chosen = list({each.code: each for code in codes for each in _named(code)}.values()) or list(CODES.values())
    if format_ == "json":
        import json

        emit(json.dumps([_document(each) for each in chosen], indent=2) + "\n")
    elif not codes:
        emit("".join(f"{each.code}  {each.name:27} {each.fault}\n" for each in chosen))
    else:
        emit("\n\n".join(map(_explained, chosen)))


def _named(code: str) -> list[Code]:
    """The codes that a word of the command line means; raises `UsageError` for none."""
    from ..results.codes import CODES

    beginning = code.upper().rstrip("X")
    many = len(beginning) > 2 and beginning.startswith("TV")
    found = [each for each in CODES.values() if each.name == code.lower() or each.code == code.upper()]
    found = found or [each for each in CODES.values() if many and each.code.startswith(beginning)]
    if not found:
        from difflib import get_close_matches

        near = get_close_matches(code.upper(), [each for each in CODES if each[:3] == code.upper()[:3]] or CODES, n=1)
        advice = f"did you mean {near[0]}?" if near else "`tileverify explain` lists all"
        raise UsageError(f"there is no code '{code}'; {advice}")
    return found


_FIELDS: Final = ("code", "name", "title", "meaning", "formula", "fix", "is_not", "fault")


def _document(code: Code) -> dict[str, Any]:
    document = {name: getattr(code, name) for name in _FIELDS} | {"family": code.family.value}
    shown = examples_of(code.code)
    if shown is not None:
        pair = {"wrong": shown.wrong, "right": shown.right}
        document["examples"] = {
            "about": shown.about,
            **{name: {**asdict(each), "verdict": each.verdict.value} for name, each in pair.items()},
        }
    return document


def _explained(code: Code) -> str:
    parts = [f"{code.code} ({code.name}): {code.fault}\n", fill(code.meaning, 100)]
    proved = (("What is proved", code.title),) if code.fault != code.title else ()
    for label, text in (*proved, ("Formula", code.formula), ("What to do", code.fix), ("It is not", code.is_not)):
        parts.append(f"\n{label}:\n{_filled(text)}")
    shown = examples_of(code.code)
    if shown is not None:
        parts.append(f"\nExample:\n{_filled(shown.about)}")
        parts += [_example("Wrong", shown.wrong), _example("Right", shown.right)]
    if not wrong_codes((code.code,)):
        parts.append(f"\nWhere it must not fail a run:\n  # tileverify: ignore[{code.code}] -- why (until 2027-12-31)")
    return "\n".join(parts) + "\n"


def _example(word: str, example: Example) -> str:
    shown = indent(f"{example.source}\n{example.spec}", "    ").rstrip()
    check = f"  Try: tileverify check {example.target}"
    return f"\n{word} ({example.judged}):\n\n{shown}\n\n{_filled(example.reason)}\n{check}"


def _filled(text: str) -> str:
    return fill(text, 100, initial_indent="  ", subsequent_indent="  ")


@click.command()
def schema() -> None:
    """Print the JSON Schema of `check --format json`."""
    from ..results.json_report import schema_text

    emit(schema_text())
