"""The pipeline in one screen: source -> bytecode -> module -> access summary -> verdict."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..results import CertificateFiles, Finding, KernelResult, Report, Times, Verdict
from ..results.codes import TV
from ..results.conditional import limits_denied
from ..system.atomic_file import is_private
from ..system.errors import SourceError, SpecError, TileVerifyError, UnsupportedOperation, UsageError
from ..system.pace import Clock, KernelTimeout, collector_paused, deadline, interruptible
from ..system.printable import display_path
from ..system.version import __version__
from .displayed import arguments, is_conditional, is_wider, stated
from .error_findings import NO_SOLVER, died, finding_of, lacks_solver, result_of, tool_failure, with_places
from .options import CheckOptions as CheckOptions

if TYPE_CHECKING:
    from ..contract.launch import KernelUnit
    from ..frontend.bytecode.model import Entry, Module
    from ..frontend.sources.discover import SourceFailure
    from ..frontend.sources.edited import Compile
    from ..frontend.symbolic.summary import AccessSummary
    from .known_files import KnownFiles
    from .verdict_cache import Illustration

_USUAL = CheckOptions()
_GRACE = 1.5
"""The verifier watches --timeout itself; this much later it is interrupted wherever it is."""
_FEW = 8
_MANY = 16


def check_paths(
    targets: Sequence[str],
    *,
    spec: Path | None = None,
    options: CheckOptions = _USUAL,
    progress: Callable[[KernelResult], None] = lambda result: None,
) -> Report:
    """Verify every kernel under ``targets`` with every launch; a kernel that fails does not stop the others.

    ``progress`` is told each result as it comes, in the order of the report.  Raises `UsageError` for a path that
    does not exist, `SpecError` for a ``spec`` file that cannot be read, `NoKernelFound` if there is nothing.
    """
    from ..frontend.sources.discover import discover, nothing

    if options.cache is not None and not is_private(options.cache):
        options = replace(options, cache=None)
    known = None if spec is not None else _known_files(targets, options)
    skip = options.skip or nothing
    found = discover(targets, spec_file=spec, skip=skip) if known is None else known.unknown(targets, skip)
    return check_units(found, options, progress, known.learn if known is not None else lambda results: None)


def check_units(
    found: Iterable[KernelUnit | SourceFailure | KernelResult],
    options: CheckOptions = _USUAL,
    progress: Callable[[KernelResult], None] = lambda result: None,
    learn: Callable[[Sequence[KernelResult]], None] = lambda results: None,
) -> Report:
    """The report on what was found, in its order; ``learn`` is told all results as they were decided."""
    results = []
    for result in _check_all(iter(found), options):
        progress(result)
        results.append(result)
    learn(results)
    return finished_report(results, options)


def finished_report(results: Sequence[KernelResult], options: CheckOptions = _USUAL) -> Report:
    """The report on kernels that are verified, which may not be all that were asked for."""
    from ..reports.causes import with_causes
    from ..reports.fingerprints import with_fingerprints
    from ..reports.snippets import Snippets

    if options.repair or options.quick_repairs:
        from .repair.repairing import weighed

        results = weighed(results)
    snippets = Snippets()
    finished = tuple(with_causes(with_fingerprints(result, snippets)) for result in results)
    return Report(results=finished, tool_version=__version__, solver=solver_version())


def _known_files(targets: Sequence[str], options: CheckOptions) -> KnownFiles | None:
    """What earlier runs know of the files under ``targets``, where all that is asked for are their verdicts."""
    # Pages want both, and nobody else either.
    if options.cache is None or options.anew or options.repair or options.details is not options.playback:
        return None
    from .known_files import KnownFiles, target_of

    target = target_of(targets)
    if target is None:
        return None
    key: dict[str, Any] = {**options.decisive, "trust": list(options.trust), "repairs": options.quick_repairs}
    key["deny_limits"] = options.deny_limits
    own = [[each.deny_requires, each.effort, *(file.pattern for file in each.files)] for each in options.per_file]
    if own:
        key["per_file"] = own
    timed = options.timeout_s is not None or any(each.timeout is not None for each in options.per_file)
    return KnownFiles(options.cache, solver_version(), key, target, illustrated=options.details, timed=timed)


def check_unit(unit: KernelUnit, options: CheckOptions = _USUAL, compiled_as: Compile | None = None) -> KernelResult:
    """The verdict on one compiled kernel.  Never raises: what goes wrong becomes a result that says so.

    ``compiled_as``: how its repairs are compiled, where its launch does not say it all.
    """
    from ..contract.trustable import trusting

    if options.trust:
        unit = replace(unit, launch=trusting(unit.launch, options.trust))
    compiled = _unverified(unit)
    waited = nullcontext() if options.under_way is None else options.under_way.at(_title(compiled))
    try:
        with waited, collector_paused(), deadline(options.timeout_s and options.timeout_s * _GRACE):
            result = _decide(unit, compiled, options)
            if options.repair or options.quick_repairs:
                result = _with_repairs(unit, result, options, compiled_as)
            if options.deny_limits or unit.launch.deny_limits:
                result = limits_denied(result)
            return _with_playback(unit, result) if options.playback else result
    except KernelTimeout:
        limit = f"the time limit of {options.timeout_s:g} s for this kernel was reached"
        return replace(compiled, verdict=Verdict.UNDECIDED, findings=(Finding(TV.BUDGET, limit),))
    except UnsupportedOperation as error:
        finding = replace(
            finding_of(error, TV.UNSUPPORTED_OP), message=error.message or f"no rule for the operation {error.op}"
        )
        return replace(compiled, verdict=Verdict.UNDECIDED, findings=(finding,))
    except TileVerifyError as error:
        return replace(compiled, findings=(finding_of(error),))
    except (Exception, RecursionError, MemoryError) as error:
        return replace(compiled, findings=(tool_failure(error, unit, options.archives),))


def _title(result: KernelResult) -> str:
    return f"{result.file}::{result.kernel} [{result.launch}]"


def _unverified(unit: KernelUnit) -> KernelResult:
    """What is known of a unit before it is decoded; an error until it is decided."""
    return KernelResult(
        file=display_path(unit.file),
        kernel=unit.kernel,
        launch=unit.launch.name,
        verdict=Verdict.ERROR,
        bytecode_sha256=hashlib.sha256(unit.bytecode).hexdigest(),
        time_ms=Times(compile=unit.compile_ms),
        notes=unit.notes,
        line=unit.line,
        trusted=unit.launch.trust,
    )


def _decide(unit: KernelUnit, compiled: KernelResult, options: CheckOptions) -> KernelResult:
    from ..backend.replay.replay import ANYWHERE_BUDGET, KERNEL_BUDGET, Replayer
    from ..backend.split_loads import notes_on_split_loads
    from ..frontend.bytecode import decode
    from ..verifier.budgets import KERNEL_EFFORT
    from ..verifier.obligations.answers import Limits
    from ..verifier.verify import VerifyOptions, verify
    from .verdict_cache import ResultCache

    # The time limit is no part of the key: only verdicts that do not depend on it are kept.
    key = options.decisive
    cache = ResultCache(options.cache, solver_version()) if options.cache else None
    known = cache.load(unit, key) if cache and not options.anew else None
    if known is not None:
        illustration = cache.illustration(unit, key, known) if cache and options.details else None
        if illustration is not None or not options.details:
            return _shown(replace(known, file=compiled.file, line=unit.line), unit, illustration)

    clock = Clock()
    module = decode(unit.bytecode, file=compiled.file)
    entry = entry_of(module, unit)
    decode_ms = clock.lap()
    summary = summary_of(module, unit)
    execute_ms = clock.lap()
    spent = (decode_ms + execute_ms) / 1000
    left = None if options.timeout_s is None else max(options.timeout_s - spent, 0.001)
    outcome = verify(
        summary,
        unit.launch,
        unit.parameters,
        options=VerifyOptions(
            timeout_s=left,
            deny_requires=options.deny_requires,
            limits=Limits().times(options.limits),
            seed=options.seed,
            effort=max(int(options.effort * KERNEL_EFFORT), 1),
            watch=None if options.under_way is None else options.under_way.proves,
            witnesses=options.witnesses,
            refutations=options.refutations,
        ),
        confirm=Replayer(module, entry, unit.parameters, total=KERNEL_BUDGET, others=ANYWHERE_BUDGET),
    )
    times = Times(compile=unit.compile_ms, decode=decode_ms, execute=execute_ms, prove=clock.lap())
    result = replace(
        compiled,
        verdict=outcome.verdict,
        holds_for=outcome.holds_for,
        deterministic=outcome.deterministic,
        contract=unit.launch.origin,
        requires=outcome.requires,
        limits=outcome.limits,
        conditional=is_conditional(unit, outcome),
        assumes=outcome.assumes,
        observed=outcome.observed,
        findings=with_places(outcome.findings, unit.launch),
        obligations=outcome.obligations,
        proved_codes=outcome.proved_codes,
        cut_short=outcome.cut_short,
        stated=stated(unit, outcome),
        arguments=arguments(unit, outcome),
        proved_launch=(outcome.launch or unit.launch) if outcome.verdict is Verdict.PROVED else None,
        time_ms=times,
        notes=tuple(dict.fromkeys((*unit.notes, *outcome.notes))),
    )
    if result.verdict is Verdict.PROVED:
        result = replace(result, notes=(*result.notes, *notes_on_split_loads(entry)))
    if options.audit and result.proved_launch is not None:
        from .second_readings import audited

        result = audited(module, entry, unit, summary, result)
    if cache and result.verdict is not Verdict.ERROR:
        cache.store(unit, key, replace(result, second_reading=None), timed=options.timeout_s is not None)
    if result.proved_launch is not None:
        rest = left and max(left - times.prove / 1000, 0.001)
        result = _with_more(unit, entry, summary, result, options, rest)
    if options.details:
        from ..reports.details.collect import collect

        try:
            result = replace(result, details=collect(unit, module, entry, summary, result, outcome.decided))
        except (Exception, RecursionError, MemoryError) as error:  # a verdict outlives what only illustrates it
            result = replace(result, notes=(*result.notes, f"no details: {tool_failure(error).message}"))
        else:
            if cache:
                cache.illustrate(unit, key, result, timed=options.timeout_s is not None)
    return _shown(result, unit)


def _with_more(
    unit: KernelUnit,
    entry: Entry,
    summary: AccessSummary,
    result: KernelResult,
    options: CheckOptions,
    left_s: float | None,
) -> KernelResult:
    """A proof with what was asked for beside its verdict."""
    if options.compiled:
        from .second_readings import with_compared_code

        result = with_compared_code(unit, result, options.compiled)
    if options.certificate and result.proved_launch is not None:
        result = _with_certificate(replace(unit, launch=result.proved_launch), summary, result)
    if options.complete:
        result = _with_written(unit, entry, summary, result, left_s)
    return result


def _shown(result: KernelResult, unit: KernelUnit, kept: Illustration | None = None) -> KernelResult:
    """``result`` with its details, or those that were ``kept`` of it, and short paths."""
    from .displayed import Displayed

    displayed = Displayed(unit)
    details = result.details if kept is None else kept.details
    return replace(
        result,
        findings=displayed.findings(result.findings),
        details=None if details is None else displayed.details(details),
    )


def _with_certificate(unit: KernelUnit, summary: AccessSummary, result: KernelResult) -> KernelResult:
    """``result`` with its certificate, or with a note that says why it has none; ``unit`` has the launch that was
    proved."""
    from ..verifier.certificate.document import certificate_text
    from ..verifier.certificate.model import CertificateError
    from ..verifier.certificate.write import certify

    try:
        text = certificate_text(certify(unit, summary, result))
    except CertificateError as error:
        return replace(result, notes=(*result.notes, f"no certificate: {error.message}"))
    return replace(result, certificate=CertificateFiles(text, unit.bytecode))


def _with_written(
    unit: KernelUnit, entry: Entry, summary: AccessSummary, result: KernelResult, timeout_s: float | None
) -> KernelResult:
    """``result`` with the arrays that are written whole in the user's own contract, which may be narrower than what was
    proved."""
    from ..verifier.coverage.coverage import written_arrays

    assert result.proved_launch is not None
    launch, requires = result.proved_launch, result.clauses
    if is_wider(unit, launch):
        launch, requires = unit.launch, ()  # it is one of those of the wider contract, and satisfies its clauses
    try:
        return replace(result, written=written_arrays(summary, entry, launch, requires, timeout_s=timeout_s))
    except (Exception, RecursionError, MemoryError) as error:  # a verdict outlives what only adds to it
        note = f"whether every element is written was not found out: {tool_failure(error).message}"
        return replace(result, notes=(*result.notes, note))


def _with_playback(unit: KernelUnit, result: KernelResult) -> KernelResult:
    from ..reports.playback.source import playback_files

    return replace(result, playback=playback_files(unit, result))


def _with_repairs(
    unit: KernelUnit, result: KernelResult, options: CheckOptions, compiled_as: Compile | None
) -> KernelResult:
    from .repair.repairing import trials_of, with_repairs

    most, trial = trials_of(result, options)
    kinds = trial, replace(trial, deny_requires=True)
    try:
        with interruptible():
            return with_repairs(unit, result, lambda changed, deny: check_unit(changed, kinds[deny]), most, compiled_as)
    except KernelTimeout:  # a verdict outlives what only adds to it
        return result
    except (Exception, RecursionError, MemoryError) as error:
        return replace(result, notes=(*result.notes, f"no repairs: {tool_failure(error).message}"))


def summary_of(module: Module, unit: KernelUnit) -> AccessSummary:
    """The access summary of the unit's entry.

    Raises `UnsupportedOperation` for an op without a rule, `SpecError` for a launch that passes its arguments in other
    widths than the bytecode takes them.
    """
    from ..contract.written_places import mistake_in
    from ..frontend.sources.abi import entry_types, mismatch
    from ..frontend.symbolic.execute import summarize

    entry = entry_of(module, unit)
    # What nobody described has no parameters: its own words are all that is known of it.
    problem = mismatch(unit.parameters, unit.launch, entry_types(entry), unit.symbol) if unit.parameters else None
    if problem is not None:
        raise mistake_in(unit.launch, f"args: {problem}")
    try:
        return summarize(module, entry, unit.parameters, may_overlap=unit.launch.sharing())
    except SpecError as error:
        raise mistake_in(unit.launch, error.message) from None


# ------------------------------------------------------------------------------------------ many kernels
def _check_all(
    found: Iterator[KernelUnit | SourceFailure | KernelResult], options: CheckOptions
) -> Iterator[KernelResult]:
    from ..frontend.sources.discover import SourceFailure

    work = (result_of(item) if isinstance(item, SourceFailure) else item for item in found)
    # What is skipped was skipped already, and need not be sent to other processes.
    check = partial(_check, options=replace(options, skip=None))
    if options.jobs == 1:
        yield from map(check, work)
        return
    from ..system.parallel import map_ordered, usable_processors

    # Starting a process costs as much as verifying a few kernels.
    yield from map(check, islice(work, 0 if options.jobs else _FEW))
    jobs = options.jobs or min(usable_processors(), _MANY)
    for more in work:
        if not _is_kept(more, options):
            break
        yield check(more)
    else:
        return

    def waiting(item: KernelUnit | KernelResult) -> None:
        if options.under_way is not None and not isinstance(item, KernelResult):
            options.under_way.begin(_title(_unverified(item)))

    check = partial(_check, options=replace(options, skip=None, under_way=None))
    crashed = partial(_crashed, archives=options.archives)
    for result in map_ordered(check, chain([more], work), jobs=jobs, crashed=crashed, waited=waiting):
        if options.under_way is not None:
            options.under_way.end()
        yield result


def _check(item: KernelUnit | KernelResult, options: CheckOptions) -> KernelResult:
    return item if isinstance(item, KernelResult) else check_unit(item, options.of(item.file))


def _is_kept(item: KernelUnit | KernelResult, options: CheckOptions) -> bool:
    """Whether there is a verdict already, so that no process need be started for it."""
    from .verdict_cache import ResultCache

    if isinstance(item, KernelResult):
        return True
    own = options.of(item.file)
    cache = None if own.cache is None or own.anew or own.trust else ResultCache(own.cache, solver_version())
    return cache is not None and cache.answers(item, own.decisive, illustrated=own.details)


def _crashed(item: KernelUnit | KernelResult, archives: Path | None) -> KernelResult:
    if isinstance(item, KernelResult):
        return item
    return replace(_unverified(item), findings=(died(item, archives),))


# ----------------------------------------------------------------------------------------------- helpers
def entry_of(module: Module, unit: KernelUnit) -> Entry:
    """The entry that ``unit`` speaks of, under what its launch trusts.

    Raises `SourceError` if the module has none of that name.
    """
    from ..frontend.bytecode.trusting import under_trust

    for entry in module.entries:
        if entry.name == unit.symbol:
            return under_trust(entry, unit.launch.trust)
    raise SourceError(f"the bytecode has no entry '{unit.symbol}'", str(unit.file))


def solver_version() -> str:
    """Name and version as its package says, without loading it; a solver without a package is asked itself."""
    from importlib import metadata

    try:
        return f"z3 {metadata.version('z3-solver')}"
    except metadata.PackageNotFoundError:
        try:
            from ..verifier.smt import solver_version as loaded_version
        except ModuleNotFoundError as error:
            raise (UsageError(NO_SOLVER) if lacks_solver(error) else error) from None
        return loaded_version()
