"""Where reports go: one format to stdout or a file, and others to files of their own."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ..contract.arguments import suggestion
from ..reports import FORMATS, PAGE, TEXT, renderer
from ..results import Report
from ..system.errors import UsageError
from ..system.printable import FreeNames
from .shell import emit, talk, use_color, writable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..reports.text import Detail
    from ..results import KernelResult


@dataclass(frozen=True, slots=True)
class Output:
    """A report in ``format``, to ``file`` or to stdout."""

    format: str
    file: Path | None


def outputs_of(format_: str, values: Sequence[str]) -> tuple[Output, ...]:
    """What ``--format`` and any number of ``--output FILE`` or ``--output FORMAT=FILE`` ask for.

    Without a plain FILE the report in ``format_`` goes to stdout.  A page goes into a folder as ``index.html``, with
    the JSON report beside it.  Raises `UsageError` for a second plain FILE, one file for two reports, a folder that
    does not exist, and a word before ``=`` that is no format.
    """
    plain: list[Path] = []
    others: list[Output] = []
    for value in values:
        name, equals, file = value.partition("=")
        if equals and name in FORMATS:
            if not file:
                raise UsageError(f"--output {value}: the file is missing")
            others.append(Output(name, Path(file)))
        elif equals and name.isalpha():
            near = suggestion(name, FORMATS) or f"; there are {', '.join(FORMATS)}"
            raise UsageError(f"--output {value}: there is no format '{name}'{near} (a file of that name: ./{value})")
        else:
            plain.append(Path(value))
    if len(plain) > 1:
        raise UsageError("--output: one FILE takes the report of --format; name the format of others, as in sarif=FILE")
    outputs = tuple(chain(*map(_in_folder, (Output(format_, plain[0] if plain else None), *others))))
    taken: set[Path] = set()
    for output in outputs:
        if output.file is None:
            continue
        if output.file in taken:
            raise UsageError(f"--output: two reports would be written to '{output.file}'")
        if output.file.is_dir():
            raise UsageError(f"--output: '{output.file}' is a folder")
        writable(output.file)
        taken.add(output.file)
    return outputs


def _in_folder(output: Output) -> tuple[Output, ...]:
    if output.format != PAGE or output.file is None or not output.file.is_dir():
        return (output,)
    return Output(PAGE, output.file / "index.html"), Output("json", output.file / "report.json")


def pages(outputs: Sequence[Output]) -> bool:
    """Whether a page is among them; raises `UsageError` where pages cannot be made, before minutes of work."""
    wanted = any(output.format == PAGE for output in outputs)
    if wanted:
        from ..reports.html.report import available

        available()
    return wanted


def earlier_reports(since: Sequence[Path], page: bool) -> tuple[tuple[KernelResult, ...], ...]:
    """The results that ``--since`` names, for a page.  Raises `UsageError` without one, or for no report."""
    if since and not page:
        raise UsageError("--since: only --format html shows changes; to list them, run tileverify report diff OLD NEW")
    from ..reports.history import read_report

    return tuple(map(read_report, since))


def write_reports(
    report: Report,
    outputs: Sequence[Output],
    detail: Detail,
    color: str,
    earlier: Sequence[Sequence[KernelResult]] = (),
) -> None:
    """Every report to its place, a page with what changed since the last of ``earlier``.

    Says on stderr which files were written, unless ``detail`` is quiet.
    """
    from ..reports.text import Detail, summary_line, text_report

    for output in outputs:
        if output.format == PAGE and earlier:
            from ..reports.history import compare
            from ..reports.html.report import html_report
            from ..verifier.abduction.clauses import implied

            *older, last = earlier
            emit(html_report(report, compare(last, report.results, older, implied)), output.file)
        elif output.format != TEXT:
            emit(renderer(output.format)(report), output.file)
        elif report.results or output.file is not None:
            emit(text_report(report, detail=detail, color=use_color(color, output.file)), output.file)
    written = [str(output.file) for output in outputs if output.file is not None]
    if written and detail is not Detail.QUIET:
        talk(f"{summary_line(report)}; written to {', '.join(written)}")


# -------------------------------------------------------------------------------------------------------------- folders
# Folders that ``check`` fills beside its report: reproductions and certificates.


def checked_folders(playback: str | None, certificate: Path | None, output: Output) -> None:
    """What cannot be written is told before minutes of work: raises `UsageError`."""
    if playback == "print" and output.format != TEXT and output.file is None:
        raise UsageError(
            f"--playback print and --format {output.format} both write to stdout; give --output or a folder"
        )
    if playback not in (None, "print") and Path(playback).exists() and not Path(playback).is_dir():
        raise UsageError(f"--playback: '{playback}' is not a folder")
    if certificate is not None:
        _make_folder(certificate, "--certificate")


def _make_folder(folder: Path, option: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{option}: cannot make the folder '{folder}': {error.strerror or error}") from None


def write_playback(report: Report, where: str) -> None:
    """Reproductions to stdout or into a folder; files of the same name get a number."""
    names = FreeNames()
    files = [file for result in report.results for file in result.playback]
    texts = {f"{names.stem(file.name.removesuffix('.py'))}.py": file.text for file in files}
    if where == "print":
        emit("".join(f"# {name}\n{text}\n" for name, text in texts.items()))
        return
    if not texts:
        talk("nothing is refuted: no reproduction was written")
        return
    folder = Path(where)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--playback: cannot make '{where}': {error.strerror or error}") from None
    for name, text in texts.items():
        emit(text, folder / name)
    talk(f"{len(texts)} reproduction{'s' if len(texts) > 1 else ''} in {where}; run them with: pytest {where}")


def mistakes_of(result: KernelResult) -> Iterator[str]:
    """The mistakes of a kernel that was just finished, a line each; the report at the end says all of them."""
    if not result.findings:
        return
    from ..reports.causes import with_causes, with_fingerprints
    from ..reports.ci_formats import concise_lines
    from ..reports.snippets import Snippets
    from ..reports.suppressions import with_suppressions

    finished = with_causes(with_fingerprints(result, Snippets()))
    yield from concise_lines(with_suppressions(Report((finished,), "", ""), whole=False))


def write_beside(report: Report, statistics: bool, playback: str | None, certificate: Path | None) -> None:
    """What is asked for beside the report."""
    if statistics:
        from ..reports.ci_formats import statistics as counted

        for line in counted(report) or ["no findings"]:
            talk(line)
    if playback is not None:
        write_playback(report, playback)
    if certificate is not None:
        from ..verifier.certificate.files import write_certificates

        talk(write_certificates(report.results, certificate))
