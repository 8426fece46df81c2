"""A whole run: every candidate is judged once, by whatever engine, and its answer goes out in order or into a table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import metadata
from itertools import chain
from pathlib import Path

from ...pipeline import solver_version
from ...system.errors import UsageError
from ...system.version import __version__
from .. import GateOptions, GateResult
from ..jobs.references import COMPARE_S, EXACT_S, LOAD_S, WALL
from .answer_rows import AnswerTable, Counts, rows
from .candidates import CandidateFile, OnStdin, Task, read_text, tasks
from .progress import Progress
from .spreading import Workers, spread


@dataclass(frozen=True, slots=True)
class GatePlan:
    """``engine``: makes the workers, for so many submissions at most; ``keep``: does what is to be done with an answer
    beside writing it down (bundles), before that."""

    candidates: tuple[CandidateFile | OnStdin, ...]
    options: GateOptions
    trust_specs: bool
    engine: Callable[[int], Workers]
    keep: Callable[[CandidateFile | OnStdin, GateResult], None]


def stream(plan: GatePlan, emit: Callable[[str], None]) -> Counts:
    """Lines of JSON in the order of the candidates, each as soon as those before it are out."""
    counts = Counts()
    waiting: dict[int, str] = {}  # lines alone: bundles and sources would fill the memory behind one slow submission
    place = 0
    for task, result in _answers(plan, tasks(plan.candidates, plan.options, plan.trust_specs), len(plan.candidates), 0):
        plan.keep(plan.candidates[task.number], result)
        accepted = sum(each.accepted for each in result.kernels)
        counts = Counts(counts.kernels + len(result.kernels), counts.accepted + accepted)
        waiting[task.number] = result.lines()
        while place in waiting:
            emit(waiting.pop(place))
            place += 1
    return counts


def tabulate(plan: GatePlan, table: AnswerTable) -> Counts:
    """Answers into ``table``, which keeps those that it has; an equal submission is not judged again."""
    options = plan.options
    if options.seed is None and (options.reference is not None or options.complete):
        options = replace(options, seed=table.seed())
    names = frozenset(candidate.name for candidate in plan.candidates)
    table.keep_only(names)
    known = table.known()
    unknown = (
        task
        for task in tasks(plan.candidates, options, plan.trust_specs)
        if known.get(task.submission.file) != task.sha256
    )
    for task, result in _answers(plan, unknown, len(plan.candidates), len(known)):
        plan.keep(plan.candidates[task.number], result)
        table.add(rows(task, result))
    counts = table.counts()
    table.finish()
    return counts


def _answers(plan: GatePlan, wanted: Iterator[Task], total: int, done: int) -> Iterator[tuple[Task, GateResult]]:
    first = next(wanted, None)
    if first is None:
        return
    progress = Progress(total, done)
    try:
        for answer in spread(chain([first], wanted), plan.engine(total), longest_s):
            yield answer
            progress.step()
    finally:
        progress.close()


def longest_s(task: Task) -> float:
    """So long a worker may be silent; the limits of all that it does for the task are shorter, so beyond this it hangs.
    The reference is loaded anew after one submission made it take too long, which is no fault of the next one."""
    limits = task.options.limits
    alone = 2 * (limits.compile_wall_s + limits.prove_wall_s) + 60
    if task.options.reference is None:
        return alone
    each = 2 * limits.prove_wall_s + WALL * (COMPARE_S + EXACT_S)
    return alone + WALL * LOAD_S + min(limits.kernels, _launches(task)) * each


def _launches(task: Task) -> int:
    """No fewer than are judged, as far as a text tells."""
    spec = task.options.spec or task.submission.own_spec or ""
    return max(1, spec.count("[[launch]]"), task.submission.source.count(b"kernel"))


def made_with(options: GateOptions, trust_specs: bool) -> dict[str, str]:
    """What answers depend on besides the submissions; how they are isolated is not part of it."""
    code = "" if options.reference is None else read_text(Path(options.reference.partition("::")[0]), "--reference")
    text = repr((replace(options, isolation="auto"), trust_specs, code))
    return {
        "tileverify": __version__,
        "solver": solver_version(),
        "compiler": f"cuda-tile {metadata.version('cuda-tile')}",
        "options": hashlib.sha256(text.encode()).hexdigest(),
    }


def open_table(path: Path, options: GateOptions, trust_specs: bool) -> AnswerTable:
    """The table in ``path``, whose suffix says what it is; raises `UsageError`."""
    if not path.parent.is_dir():
        raise UsageError(f"--results: there is no folder '{path.parent}'")
    how = made_with(options, trust_specs)
    if path.suffix in (".sqlite", ".db"):
        from .sqlite_table import SqliteTable

        return SqliteTable(path, how)
    if path.suffix == ".parquet":
        from .parquet_table import ParquetTable

        return ParquetTable(path, how)
    raise UsageError(f"--results: '{path.name}' ends neither with .sqlite nor with .parquet")
