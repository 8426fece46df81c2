"""The command ``equal``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..system.errors import UsageError
from .outputs import Output, outputs_of, pages
from .run import pairs, whole
from .shell import Working, emit, talk, writable

if TYPE_CHECKING:
    from ..equality.targets import JudgedKernel

_FORMATS = ("text", "json", "html")
_EXIT_CODES = """\b
Exit codes:
  0  every launch is equal
  1  one is different
  2  bad usage
  3  one is not decided, none is different
"""


@click.command(epilog=_EXIT_CODES)
@click.argument("target", metavar="FILE::KERNEL")
@click.argument("other", metavar="[FILE::KERNEL]", required=False)
@click.option("--reference", metavar="REF.py::FN", help="The function that says what the kernel should compute.")
@click.option("--size", "sizes", multiple=True, metavar="M=256", help="Look at this one launch; value of a free name.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all that is drawn.")
@click.option("--steps", type=click.IntRange(min=1), help="Steps of the interpreter for each kernel.")
@click.option("--format", "kind", type=click.Choice(_FORMATS), default="text", show_default=True)
@click.option(
    "--output",
    multiple=True,
    metavar="[FORMAT=]FILE",
    help="Write to FILE, whole; with FORMAT=, once more in another format (html=page.html), as often as you like.",
)
@click.option(
    "--playback",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a test that shows the difference, if there is one.",
)
@click.option("--spec", type=click.Path(path_type=Path), help="Take launch specs from FILE only.")
@click.option("--unproved", is_flag=True, help="Compare the kernel even if it is not proved.")
@click.option("--no-cache", is_flag=True, help="Neither use nor keep verdicts of earlier runs.")
@click.pass_context
def equal(
    context: click.Context,
    target: str,
    other: str | None,
    reference: str | None,
    sizes: tuple[str, ...],
    seed: int,
    steps: int | None,
    kind: str,
    output: tuple[str, ...],
    playback: Path | None,
    spec: Path | None,
    unproved: bool,
    no_cache: bool,
) -> None:
    """Say whether a kernel computes exactly what a reference, or another kernel, does.

    Both run on numbers of a finite field, in which nothing is rounded: no tolerance is asked for.  What is equal there
    is equal over the real numbers at these sizes, up to the probability that is printed.
    """
    if (other is None) == (reference is None):
        raise UsageError("equal takes a second kernel or --reference REF.py::FN, one of the two")
    outputs = outputs_of(kind, output)
    if strange := [each.format for each in outputs if each.format not in _FORMATS]:
        raise UsageError(f"--output {strange[0]}=FILE: equal writes {', '.join(_FORMATS)}")
    writable(playback)
    page = pages(outputs)
    from ..equality.deciding import Decision
    from ..equality.points import STEPS, Options
    from ..equality.targets import EqualOptions, judge
    from ..pipeline import CheckOptions
    from ..pipeline.verdict_cache import default_folder

    values = {name: whole(f"--size {name}", value) for name, value in pairs("--size", sizes)}
    options = EqualOptions(
        Options(seed=seed, steps=steps or STEPS, values=values or None),
        CheckOptions(cache=None if no_cache else default_folder(), details=page, playback=page),
        unproved,
        spec,
    )
    with Working(live=False):
        judged = judge(target, reference or other or "", options)
    for each in outputs:
        emit(_rendered(judged, each), each.file)
    if playback is not None:
        _write_test(judged, playback)
    answers = {each.equality.answer for each in judged}
    context.exit(1 if Decision.DIFFERENT in answers else 3 if Decision.NOT_DECIDED in answers else 0)


def _rendered(judged: Sequence[JudgedKernel], output: Output) -> str:
    from ..equality.answer_text import document, text

    match output.format:
        case "json":
            return f"{json.dumps(document(judged), indent=2)}\n"
        case "html":
            from ..equality.answer_text import section_of
            from ..pipeline.unit_summary import solver_version
            from ..reports.html.report import html_report
            from ..results import Report
            from ..system.version import __version__

            results = tuple(each.verdict for each in judged)
            return html_report(Report(results, __version__, solver_version()), equality=[*map(section_of, judged)])
    return text(judged)


def _write_test(judged: Sequence[JudgedKernel], file: Path) -> None:
    from ..equality.answer_text import test_of

    text = next((text for each in judged if (text := test_of(each, file)) is not None), None)
    if text is None:
        talk("no difference was found that a test could show: none was written")
        return
    emit(text, file)
    talk(f"the difference in {file}; run it with: pytest {file}")
