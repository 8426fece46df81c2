"""The command ``check``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

import click
from click.core import ParameterSource

from ..contract.trustable import TRUSTABLE
from ..reports import FORMATS, TEXT
from ..results import KernelResult, Report, Verdict
from ..system.errors import NoKernelFound, SourceError, UsageError
from ..system.printable import plural
from ..system.version import __version__
from .mending import checked_options, make_fixes
from .outputs import checked_folders, earlier_reports, mistakes_of, outputs_of, pages, write_beside, write_reports
from .shell import EXIT_CODES, INTERRUPTED, Working, architectures, emit, talk, use_color

if TYPE_CHECKING:
    from ..pipeline.configuration import Configuration, FileSettings
    from ..pipeline.options import CheckOptions
    from .outputs import Output


@click.command(epilog=EXIT_CODES)
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--format", "format_", type=click.Choice(FORMATS), default=TEXT, show_default=True)
@click.option(
    "--output",
    multiple=True,
    metavar="[FORMAT=]FILE",
    help="Write the report to FILE, whole; with FORMAT=, a further report (sarif=out.sarif), as often as you like.",
)
@click.option(
    "--since",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="REPORT",
    help="In the page of --format html, show what changed since REPORT, an earlier json or html report; several: since "
    "the last of them, with what the others said.",
)
@click.option("--spec", type=click.Path(path_type=Path), help="Take launch specs from FILE only.")
@click.option("--deny-requires", is_flag=True, help="Prove under your contract alone, add no clause to it.")
@click.option("--deny-limits", is_flag=True, help="Size limits of a proof, such as M * N < 2**31, are errors.")
@click.option(
    "--trust",
    type=click.Choice(list(TRUSTABLE)),
    multiple=True,
    help="Take for granted, in every launch, what Tile IR does not promise: that blocks stop at failed assertions.",
)
@click.option(
    "--deny-undetermined",
    is_flag=True,
    help="Results that depend on what the specification leaves open (TV403) are an error, not a warning.",
)
@click.option(
    "--strict/--allow-undecided", default=True, help="Whether undecided fails (exit code 3).  [default: strict]"
)
@click.option("--exit-zero", is_flag=True, help="Refuted does not fail (exit code 1); undecided and errors do.")
@click.option("-j", "--jobs", type=click.IntRange(min=0), default=0, metavar="N", help="Processes; 0: as many as pay.")
@click.option("--no-cache", is_flag=True, help="Neither use nor keep verdicts of earlier runs.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="Seconds for each kernel.  [default: none]",
)
@click.option(
    "--effort",
    type=click.FloatRange(min=0, min_open=True, max=1_000_000),
    default=1,
    show_default=True,
    metavar="X",
    help="Let the proof of each kernel take X times the usual resources of the solver.",
)
@click.option(
    "--playback",
    metavar="print|DIR",
    help="Write a pytest file that reproduces it for every refuted finding: to stdout, or into the folder DIR.",
)
@click.option(
    "--certificate",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the proof of every proved kernel, and its bytecode, into the folder DIR (see `recheck`).",
)
@click.option("--complete", is_flag=True, help="Tell for which arrays it is proved that every element is written.")
@click.option(
    "--audit", is_flag=True, help="Compare every proof with runs of the interpreter (see `recheck --replay`)."
)
@click.option(
    "--compiled",
    multiple=True,
    metavar="SM",
    help="Compare the code that tileiras makes of every proved kernel for sm_80 to sm_121 with its bytecode, in small "
    "launches; may be repeated.",
)
@click.option(
    "--repair/--no-repair",
    default=None,
    help="Try repairs of what is refuted, and tell those that are proved.  [default: those that cost little]",
)
@click.option(
    "--fix",
    is_flag=True,
    help="Make safe repairs that were proved in the files; the exit code is that of what is left.",
)
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff, also repairs that may change what is meant.")
@click.option(
    "--fix-spec",
    is_flag=True,
    help="Add the clauses that would prove refuted kernels to their launch specs: you then promise them.",
)
@click.option("--diff", is_flag=True, help="Print the difference that --fix would make in place of the report.")
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Findings that are known in FILE do not fail the run.",
)
@click.option("--update-baseline", is_flag=True, help="Write the baseline: if it is there, only without what is gone.")
@click.option(
    "--config",
    multiple=True,
    metavar="FILE|KEY=VALUE",
    help="Settings from FILE, or one of them; else from the nearest pyproject.toml with [tool.tileverify].",
)
@click.option("--isolated", is_flag=True, help="Read no configuration file.")
@click.option(
    "--changed",
    is_flag=True,
    help="The PATHs are files that changed: those without kernels are no error, a spec stands for its source.",
)
@click.option("--watch", is_flag=True, help="Check again what a change of a file concerns, until Ctrl-C.")
@click.option("--statistics", is_flag=True, help="Count mistakes by code and by kernel, on stderr.")
@click.option("--no-worker", is_flag=True, help="Do without the worker that has everything loaded (see `worker`).")
@click.option("-q", "--quiet", is_flag=True, help="Only what is not proved, or only under conditions.")
@click.option("-v", "--verbose", is_flag=True, help="Also what was checked, hashes and times.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.pass_context
def check(
    context: click.Context,
    paths: tuple[str, ...],
    format_: str,
    output: tuple[str, ...],
    since: tuple[Path, ...],
    spec: Path | None,
    deny_requires: bool,
    deny_limits: bool,
    trust: tuple[str, ...],
    deny_undetermined: bool,
    strict: bool,
    exit_zero: bool,
    jobs: int,
    no_cache: bool,
    timeout: float | None,
    effort: float,
    playback: str | None,
    certificate: Path | None,
    complete: bool,
    audit: bool,
    compiled: tuple[str, ...],
    repair: bool | None,
    fix: bool,
    unsafe_fixes: bool,
    fix_spec: bool,
    diff: bool,
    baseline: Path | None,
    update_baseline: bool,
    config: tuple[str, ...],
    isolated: bool,
    changed: bool,
    watch: bool,
    statistics: bool,
    no_worker: bool,
    quiet: bool,
    verbose: bool,
    color: str,
) -> None:
    """Verify kernels under every launch that satisfies their contract.

    PATH is a .py or .cu file, a Tile IR bytecode file, a folder, FILE::KERNEL or FILE::KERNEL::LAUNCH; without any,
    `paths` of the configuration. What the command line says wins over the configuration.
    """
    if quiet and verbose:
        raise UsageError("--quiet and --verbose exclude each other")
    from ..pipeline.configuration import configuration

    checked_options(fix, unsafe_fixes, diff, repair)
    settings = Settings(context, configuration(config, isolated=isolated))
    chosen = settings.configuration
    paths = changed_targets(paths, chosen) if changed else paths or chosen.paths
    if not paths:
        nothing_to_check(context, changed=changed)
    if watch:
        from .watching import watch_forever

        watch_forever(context, paths, [each for each in (spec, chosen.file) if each is not None], color)
    outputs = outputs_of(settings.of("format_", format_, chosen.format), output or chosen.output)
    checked_folders(playback, certificate, outputs[0])
    whole = not any("::" in path for path in paths)
    baseline = baseline or chosen.baseline
    from ..reports.suppressions import checked_baseline, suppressed

    checked_baseline(baseline, update=update_baseline, whole=whole)
    from ..pipeline import CheckOptions as Options
    from ..pipeline.options import UnderWay
    from ..pipeline.verdict_cache import default_folder
    from ..reports.text import Detail
    from ..results import EVERY_REFUTATION, MOST_REFUTATIONS
    from ..results.conditional import deny_undetermined as denied
    from ..system.crash_report import crash_folder

    under_way = UnderWay()
    page = pages(outputs)
    earlier = earlier_reports(since, page)
    options = Options(
        timeout_s=settings.of("timeout", timeout, chosen.timeout),
        deny_requires=settings.of("deny_requires", deny_requires, chosen.deny_requires),
        deny_limits=settings.of("deny_limits", deny_limits, chosen.deny_limits),
        jobs=settings.of("jobs", jobs, chosen.jobs),
        cache=default_folder() if settings.of("no_cache", not no_cache, chosen.cache) else None,
        playback=playback is not None or page,
        certificate=certificate is not None,
        repair=bool(repair),
        quick_repairs=repair is None,
        details=page,
        complete=complete,
        audit=audit,
        compiled=architectures(compiled),
        per_file=settings.per_file,
        skip=chosen.excludes if chosen.exclude else None,
        effort=settings.of("effort", effort, chosen.effort),
        under_way=under_way,
        trust=tuple(sorted(set(trust))),
        archives=crash_folder(),
        refutations=EVERY_REFUTATION if baseline is not None or chosen.ignores else MOST_REFUTATIONS,
    )
    early = baseline is None and not chosen.ignores
    report, whole_run = _checked(paths, spec, options, told=verbose, early=early)
    if not whole_run:
        _tell_finished(context, report, outputs, color, quiet=quiet)
    if settings.of("deny_undetermined", deny_undetermined, chosen.deny_undetermined):
        report = denied(report)
    if report.results:
        report, told = suppressed(report, chosen.ignores, baseline, update=update_baseline, whole=whole)
        if told and not quiet:
            talk(told)
    detail = Detail.QUIET if quiet else Detail.VERBOSE if verbose else Detail.NORMAL
    if not diff:
        write_reports(report, outputs, detail, color, earlier)
    write_beside(report, statistics, playback, certificate)
    if fix or diff:
        report = make_fixes(report, options, spec, unsafe=unsafe_fixes, diff=diff)
    if fix_spec:
        from .mending import fix_specs

        report = fix_specs(report, options, spec)
    if not no_worker:
        _start_worker()
    context.exit(settings.exit_code(report, strict, exit_zero=exit_zero))


def _checked(
    paths: Sequence[str], spec: Path | None, options: CheckOptions, *, told: bool, early: bool
) -> tuple[Report, bool]:
    """The report, and whether it is that of all there is: after Ctrl-C it has what was finished by then.

    ``early``: findings are told when they are known, as nothing but a comment in the source can suppress them.
    """
    from ..pipeline import check_paths, finished_report
    from ..pipeline.unit_summary import solver_version

    finished: list[KernelResult] = []
    with Working(live=True, under_way=options.under_way, told=told) as working:
        places = _places(paths, options) if working.live else {}

        def progress(result: KernelResult) -> None:
            finished.append(result)
            found = mistakes_of(result) if early and working.live else ()
            working.progress(_name(result), places.get(result.file, ""), found)

        try:
            return check_paths(paths, spec=spec, options=options, progress=progress), True
        except NoKernelFound as error:
            talk(str(error))
            return Report((), __version__, solver_version()), True
        except KeyboardInterrupt:
            return finished_report(finished, options), False


def _places(paths: Sequence[str], options: CheckOptions) -> dict[str, str]:
    """Of each file how far it is: ``file 3 of 40``; nothing where there is one."""
    from ..frontend.sources.discover import files_under, nothing
    from ..system.printable import display_path

    files = files_under(paths, options.skip or nothing)
    names = [display_path(file) for file in files] if len(files) > 1 else []
    return {name: f"file {number} of {len(names)}" for number, name in enumerate(names, start=1)}


def _tell_finished(
    context: click.Context, report: Report, outputs: Sequence[Output], color: str, *, quiet: bool
) -> NoReturn:
    """After Ctrl-C: what was finished, as text to stdout; no other report is written, which would seem whole."""
    from ..reports.text import Detail, text_report

    if report.results and outputs[0].format == TEXT and outputs[0].file is None:
        emit(text_report(report, detail=Detail.QUIET if quiet else Detail.NORMAL, color=use_color(color)))
    count = len(report.results)
    talk(f"interrupted: {plural(count, 'launch')} finished" if count else "interrupted")
    context.exit(INTERRUPTED)


def _start_worker() -> None:
    """For the next time, if it pays: this time everything had to be loaded."""
    from ..serving.worker.client import may_start, start

    if may_start():
        start()


def _name(result: KernelResult) -> str:
    return f"{result.verdict.value} {result.file}::{result.kernel} [{result.launch}]"


# ------------------------------------------------------------------------------------------------------------- settings
# What ``check`` is about: the command line over the configuration, and the files that a commit touches.


Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Settings:
    """``context``: the command line of this run."""

    context: click.Context
    configuration: Configuration

    def of(self, option: str, value: Value, configured: Value | None) -> Value:
        """``value`` of the command line, unless it says nothing and the configuration does."""
        return value if configured is None or self._said(option) else configured

    @property
    def per_file(self) -> tuple[FileSettings, ...]:
        """Without what the command line says for all files."""
        timeout, deny, effort = map(self._said, ("timeout", "deny_requires", "effort"))
        return tuple(
            replace(
                each,
                timeout=None if timeout else each.timeout,
                effort=None if effort else each.effort,
                deny_requires=None if deny else each.deny_requires,
            )
            for each in self.configuration.per_file
        )

    def exit_code(self, report: Report, strict: bool, *, exit_zero: bool = False) -> int:
        """The exit code of the report, in which undecided kernels do not count where that is not strict.

        With ``exit_zero`` refuted ones do not, either; errors always do.
        """

        def counts(result: KernelResult) -> bool:
            if result.counts_as is Verdict.REFUTED:
                return not exit_zero
            if result.counts_as is not Verdict.UNDECIDED:
                return True
            configured = self.configuration.strict_for(result.file)
            return self.of("strict", strict, self.configuration.strict if configured is None else configured)

        counting = replace(report, results=tuple(filter(counts, report.results)))
        return 0 if report.results and counting.exit_code == 4 else counting.exit_code

    def _said(self, option: str) -> bool:
        return self.context.get_parameter_source(option) is not ParameterSource.DEFAULT


_SETTINGS: Final = "pyproject.toml"


def changed_targets(files: Sequence[str], settings: Configuration) -> tuple[str, ...]:
    """The sources with kernels among ``files``, and those whose launch specs are; ``paths`` where settings changed.

    Files that are gone, and those that the configuration excludes, are left out.  What imports a changed file is not
    looked for.
    """
    targets: dict[str, None] = {}
    for name in files:
        path = Path(name)
        if path.name == _SETTINGS:
            targets.update(dict.fromkeys(settings.paths))
        for source in _sources(path):
            if source.is_file() and not settings.excludes(source) and _may_hold_kernels(source):
                targets[str(source)] = None
    return tuple(targets)


def nothing_to_check(context: click.Context, *, changed: bool) -> NoReturn:
    """Without paths: no error where they are what changed, else `UsageError`."""
    if not changed:
        raise UsageError("no PATH given: name a file, a folder or FILE::KERNEL, or `paths` in [tool.tileverify]")
    talk("nothing to check: no changed file holds kernels")
    context.exit(0)


def _sources(path: Path) -> Iterator[Path]:
    """The file itself, or what a launch spec stands beside."""
    from ..contract.spec_files import SPEC_SUFFIX

    if not path.name.endswith(SPEC_SUFFIX):
        yield path
        return
    stem = path.name.removesuffix(SPEC_SUFFIX)
    if path.parent.is_dir():
        yield from sorted(each for each in path.parent.iterdir() if each.stem == stem)


def _may_hold_kernels(source: Path) -> bool:
    from ..frontend.sources.bytecode_file import holds_tile_code, is_bytecode
    from ..frontend.sources.fixed_inputs import scan_python

    if source.suffix == ".py":
        try:
            scan = scan_python(source)
        except SourceError:
            return True  # for `check` to complain about
        return scan.may_hold_kernels or bool(scan.nested)
    return holds_tile_code(source) if source.suffix == ".cu" else is_bytecode(source)
