"""The pipeline in one screen: source -> bytecode -> module -> access summary -> verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..results import KernelResult, Report
from ..system.atomic_file import is_private
from ..system.version import __version__
from .error_findings import died, result_of
from .options import USUAL
from .options import CheckOptions as CheckOptions
from .unit_check import check_unit, title, unverified
from .unit_summary import solver_version

if TYPE_CHECKING:
    from ..contract.launch import KernelUnit
    from ..frontend.sources.discover import SourceFailure
    from .known_files import KnownFiles

_FEW = 8
_MANY = 16


def check_paths(
    targets: Sequence[str],
    *,
    spec: Path | None = None,
    options: CheckOptions = USUAL,
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
    options: CheckOptions = USUAL,
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


def finished_report(results: Sequence[KernelResult], options: CheckOptions = USUAL) -> Report:
    """The report on kernels that are verified, which may not be all that were asked for."""
    from ..reports.causes import with_causes, with_fingerprints
    from ..reports.snippets import Snippets

    if options.repair or options.quick_repairs:
        from .repair.catalogue import weighed

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
            options.under_way.begin(title(unverified(item)))

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
    return replace(unverified(item), findings=(died(item, archives),))
