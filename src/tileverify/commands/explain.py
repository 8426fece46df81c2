"""The commands that tell what results mean: ``explain`` and ``schema``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from ..errors import UsageError
from ..shell import emit


@click.command()
@click.argument("code", required=False, metavar="[CODE]")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain(code: str | None, format_: str) -> None:
    """Tell what a code means and how to mend what it reports; without CODE, list all codes."""
    from ..codes import CODES

    chosen = list(CODES.values())
    if code is not None:
        known = CODES.get(code.upper()) or next((each for each in chosen if each.name == code.lower()), None)
        if known is None:
            from difflib import get_close_matches

            near = get_close_matches(code.upper(), CODES, n=1)
            raise UsageError(f"there is no code '{code}'" + (f"; did you mean {near[0]}?" if near else ""))
        chosen = [known]
    if format_ == "json":
        import json

        emit(json.dumps([{**asdict(each), "family": each.family.value} for each in chosen], indent=2) + "\n")
    elif code is None:
        emit("".join(f"{each.code}  {each.name:27} {each.title}\n" for each in chosen))
    else:
        emit(_explained(chosen[0]))


def _explained(code: Any) -> str:
    from textwrap import fill

    parts = [f"{code.code} ({code.name}): {code.title}\n", fill(code.meaning, 100)]
    for label, text in (("Formula", code.formula), ("What to do", code.fix)):
        parts.append(f"\n{label}:\n{fill(text, 100, initial_indent='  ', subsequent_indent='  ')}")
    return "\n".join(parts) + "\n"


@click.command()
def schema() -> None:
    """Print the JSON Schema of `check --format json`."""
    from ..reports.json_report import schema_text

    emit(schema_text())
