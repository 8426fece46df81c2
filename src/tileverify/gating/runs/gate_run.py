"""A whole run: every candidate is judged once, by whatever engine, and its answer goes out in order or into a table."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields, replace
from importlib import metadata
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Final, Protocol

from ...pipeline.unit_summary import solver_version
from ...system.atomic_file import write_whole
from ...system.errors import UsageError
from ...system.version import __version__
from .. import GatedKernel, GateOptions, GateResult
from ..jobs.references import COMPARE_S, EXACT_S, LOAD_S, WALL
from .workers import CandidateFile, OnStdin, Task, Workers, read_text, spread, tasks


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
        return SqliteTable(path, how)
    if path.suffix == ".parquet":
        return ParquetTable(path, how)
    raise UsageError(f"--results: '{path.name}' ends neither with .sqlite nor with .parquet")


# ------------------------------------------------------------------------------------------------------------- progress
# The line that a terminal shows while a run goes on.


_EVERY_S: Final = 0.2


class Progress:
    """On stderr, and only where that is a terminal.  ``done``: submissions that were known before this run."""

    def __init__(self, total: int, done: int) -> None:
        self._total, self._done, self._before = total, done, done
        self._started = time.monotonic()
        self._shown = 0.0
        self._live = sys.stderr.isatty()

    def step(self) -> None:
        """One more submission has its answer."""
        self._done += 1
        now = time.monotonic()
        if self._live and (now - self._shown > _EVERY_S or self._done == self._total):
            self._shown = now
            self._write(f"\r\x1b[K{self._text(now)}")

    def _text(self, now: float) -> str:
        rate = (self._done - self._before) / max(now - self._started, 1e-3)
        left = (self._total - self._done) / rate
        text = f"{self._done} of {self._total}, {rate:.1f} a second, {left / 60:.0f} min left"
        return text[: shutil.get_terminal_size().columns - 1]

    def close(self) -> None:
        """Take the line away."""
        if self._live and self._shown:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()


# ---------------------------------------------------------------------------------------------------------- answer rows
# A row of the table for each kernel under each launch; none depends on when, where or how often it was made.
#
# What took too long may: rows of what time alone stopped are made again, and repairs are looked for within a limit on
# the processor's time.


_PASSING: Final = ("time_ms", "cached")
"""Keys of a JSON line that differ between two runs."""


@dataclass(frozen=True, slots=True, order=True)
class AnswerRow:
    """``file`` and ``position`` (of the kernel among the answers of the file) are the key; ``document`` is the line of
    ``tileverify gate`` without times; ``codes``, ``reasons`` and ``hints``: ids, separated by spaces."""

    file: str
    position: int
    submission_sha256: str
    kernel: str
    launch: str
    verdict: str
    accepted: int
    codes: str
    reasons: str
    hints: str
    bytecode_sha256: str
    document: str


COLUMNS: Final = tuple(field.name for field in fields(AnswerRow))
INTEGERS: Final = ("position", "accepted")

values = astuple


def rows(task: Task, result: GateResult) -> tuple[AnswerRow, ...]:
    """The rows of one submission."""
    return tuple(_row(task, position, kernel) for position, kernel in enumerate(result.kernels))


def _row(task: Task, position: int, kernel: GatedKernel) -> AnswerRow:
    document = {key: value for key, value in kernel.to_json().items() if key not in _PASSING}
    result = kernel.result
    return AnswerRow(
        file=task.submission.file,
        position=position,
        submission_sha256=task.sha256,
        kernel=result.kernel,
        launch=result.launch,
        verdict=kernel.verdict,
        accepted=int(kernel.accepted),
        codes=" ".join(dict.fromkeys(finding.code for finding in result.findings)),
        reasons=" ".join(dict.fromkeys(reason.id for reason in kernel.reasons)),
        hints=" ".join(dict.fromkeys(hint.id for finding in result.findings for hint in finding.hints)),
        bytecode_sha256=result.bytecode_sha256,
        document=json.dumps(document, allow_nan=False),
    )


@dataclass(frozen=True, slots=True)
class Counts:
    """Answers, and how many of them are accepted."""

    kernels: int = 0
    accepted: int = 0


class AnswerTable(Protocol):
    """Answers that are kept: what `add` took is there after any end of this process."""

    def seed(self) -> int:
        """Of the inputs of trials: drawn once, so that a run that was ended goes on with the same ones."""

    def known(self) -> dict[str, str]:
        """``file -> submission_sha256`` of the submissions that have an answer, and not because time was up."""

    def add(self, answers: tuple[AnswerRow, ...]) -> None:
        """All rows of one submission, in place of those that it had."""

    def keep_only(self, files: frozenset[str]) -> None:
        """Leave out rows of other files."""

    def read(self) -> Iterator[AnswerRow]:
        """All rows, by file and position."""

    def counts(self) -> Counts:
        """Over all rows."""

    def finish(self) -> None:
        """The run is complete."""

    def close(self) -> None:
        """The run ends, complete or not."""


# --------------------------------------------------------------------------------------------------------- sqlite table
# Answers in an SQLite file: the table ``kernels``, sorted by its key, and ``run``, which says how they were made.


_COLUMNS = ", ".join(f"{name} {'INTEGER' if name in INTEGERS else 'TEXT'} NOT NULL" for name in COLUMNS)
SEED = "seed"
"""A key of ``run`` that is drawn, not compared."""
_PLACES = ", ".join("?" for _ in COLUMNS)


class SqliteTable:
    """``made_with``: what the answers depend on besides the submissions.

    Raises `UsageError` for a file that holds something else, or answers that were made with something else.
    """

    def __init__(self, path: Path, made_with: dict[str, str]) -> None:
        self._path = path
        try:
            self._database = sqlite3.connect(path)
            self._refuse_strangers()
            with self._database:
                self._database.execute("CREATE TABLE IF NOT EXISTS run (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
                self._database.execute(
                    f"CREATE TABLE IF NOT EXISTS kernels ({_COLUMNS}, PRIMARY KEY (file, position)) WITHOUT ROWID"
                )
                self._compare(made_with)
        except sqlite3.Error as error:
            raise UsageError(f"--results: '{path}' is no table of answers ({error})") from None

    def _refuse_strangers(self) -> None:
        """Another program's database is left as it is."""
        there = {name for (name,) in self._database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        columns = tuple(name for (name,) in self._database.execute("SELECT name FROM pragma_table_info('kernels')"))
        if there and (there != {"run", "kernels"} or columns != COLUMNS):
            raise sqlite3.DatabaseError("it holds other tables")

    def _compare(self, made_with: dict[str, str]) -> None:
        before = dict(self._database.execute("SELECT key, value FROM run WHERE key <> ?", (SEED,)).fetchall())
        if not before:
            self._database.executemany("INSERT INTO run VALUES (?, ?)", sorted(made_with.items()))
            return
        refuse_other(self._path, before, made_with)

    def seed(self) -> int:
        self._database.execute("INSERT OR IGNORE INTO run VALUES (?, ?)", (SEED, str(int.from_bytes(os.urandom(6)))))
        self._database.commit()
        return self.kept_seed() or 0

    def kept_seed(self) -> int | None:
        """The seed of the table, if anybody asked for it."""
        found = self._database.execute("SELECT value FROM run WHERE key = ?", (SEED,)).fetchone()
        return None if found is None else int(found[0])

    def keep_seed(self, seed: int) -> None:
        """That of an earlier run."""
        with self._database:
            self._database.execute("INSERT OR REPLACE INTO run VALUES (?, ?)", (SEED, str(seed)))

    def known(self) -> dict[str, str]:
        # What the clock stopped says nothing of the submission, so the next run judges it again.
        stopped = "SELECT file FROM kernels WHERE reasons IN ('limit-time', 'worker-crash', 'worker-hung')"
        found = self._database.execute(
            f"SELECT DISTINCT file, submission_sha256 FROM kernels WHERE file NOT IN ({stopped})"
        )
        return dict(found.fetchall())

    def add(self, answers: tuple[AnswerRow, ...]) -> None:
        with self._database:
            self._database.executemany("DELETE FROM kernels WHERE file = ?", {(row.file,) for row in answers})
            self._database.executemany(f"INSERT INTO kernels VALUES ({_PLACES})", map(values, answers))

    def keep_only(self, files: frozenset[str]) -> None:
        there = self._database.execute("SELECT DISTINCT file FROM kernels").fetchall()
        gone = [(file,) for (file,) in there if file not in files]
        with self._database:
            self._database.executemany("DELETE FROM kernels WHERE file = ?", gone)

    def read(self) -> Iterator[AnswerRow]:
        for found in self._database.execute("SELECT * FROM kernels ORDER BY file, position"):
            yield AnswerRow(*found)

    def counts(self) -> Counts:
        found = self._database.execute("SELECT count(*), coalesce(sum(accepted), 0) FROM kernels").fetchone()
        return Counts(*found)

    def finish(self) -> None:
        """All that there is to do was done by `add`."""

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._database.close()


def refuse_other(path: Path, before: dict[str, str], made_with: dict[str, str]) -> None:
    """Answers of different provers or options do not belong into one table."""
    other = sorted(key for key in {*before, *made_with} if before.get(key) != made_with.get(key))
    if other:
        raise UsageError(
            f"--results: '{path}' holds answers that were made with another {' and '.join(other)}; "
            "name another file, or delete it"
        )


# -------------------------------------------------------------------------------------------------------- parquet table
# Answers in a Parquet file.  Such a file is written once, so a run keeps its answers in a journal (SQLite) beside it
# until it is complete; the same answers give the same bytes.  Needs the extra ``parquet``.


_KEY: Final = b"tileverify"
_GROUP: Final = 10_000
"""Rows in memory at once."""


class ParquetTable:
    """As `SqliteTable`; raises `UsageError`, also where pyarrow is missing."""

    def __init__(self, path: Path, made_with: dict[str, str]) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise UsageError("--results FILE.parquet needs pyarrow: pip install 'tileverify[parquet]'") from None
        self._arrow = pyarrow
        self._path, self._made_with = path, made_with
        self._journal_path = path.with_name(f"{path.name}.journal")
        fresh = not self._journal_path.exists()
        self._journal = SqliteTable(self._journal_path, made_with)
        if fresh and path.exists():
            try:
                self._load()
            except BaseException:
                self._journal.close()
                self._journal_path.unlink()
                raise

    def _load(self) -> None:
        """Answers of a complete run, which the next one starts from."""
        try:
            with self._arrow.parquet.ParquetFile(self._path) as file:
                before = json.loads((file.schema_arrow.metadata or {})[_KEY])
                seed = before.pop(SEED, None)
                refuse_other(self._path, before, self._made_with)
                if seed is not None:
                    self._journal.keep_seed(int(seed))
                rows = (AnswerRow(**each) for batch in file.iter_batches(_GROUP) for each in batch.to_pylist())
                for _, answers in groupby(rows, key=lambda row: row.file):  # rows are sorted by file
                    self._journal.add(tuple(answers))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise UsageError(f"--results: '{self._path}' is no table of answers") from None

    def seed(self) -> int:
        return self._journal.seed()

    def known(self) -> dict[str, str]:
        return self._journal.known()

    def add(self, answers: tuple[AnswerRow, ...]) -> None:
        self._journal.add(answers)

    def keep_only(self, files: frozenset[str]) -> None:
        self._journal.keep_only(files)

    def read(self) -> Iterator[AnswerRow]:
        return self._journal.read()

    def counts(self) -> Counts:
        return self._journal.counts()

    def finish(self) -> None:
        """Write the file, and leave out the journal."""
        sink = self._arrow.BufferOutputStream()
        with self._arrow.parquet.ParquetWriter(sink, self._schema(), compression="zstd") as writer:
            for group in _groups(self.read()):
                columns = {name: [getattr(row, name) for row in group] for name in COLUMNS}
                writer.write_table(self._arrow.table(columns, schema=self._schema()))
        try:
            write_whole(self._path, sink.getvalue().to_pybytes())
        except OSError as error:
            raise UsageError(f"--results: cannot write '{self._path}': {error.strerror or error}") from None
        self._journal.close()
        with contextlib.suppress(OSError):
            self._journal_path.unlink()

    def _schema(self) -> Any:
        types = {name: self._arrow.int64() if name in INTEGERS else self._arrow.string() for name in COLUMNS}
        seed = self._journal.kept_seed()
        about = self._made_with if seed is None else {**self._made_with, SEED: str(seed)}
        return self._arrow.schema(types.items(), metadata={_KEY: json.dumps(about, sort_keys=True)})

    def close(self) -> None:
        self._journal.close()


def _groups(of: Iterator[AnswerRow]) -> Iterator[list[AnswerRow]]:
    group: list[AnswerRow] = []
    for row in of:
        group.append(row)
        if len(group) == _GROUP:
            yield group
            group = []
    if group:
        yield group
