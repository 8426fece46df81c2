"""Answers in a Parquet file.  Such a file is written once, so a run keeps its answers in a journal (SQLite) beside it
until it is complete; the same answers give the same bytes.  Needs the extra ``parquet``."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from ...system.atomic_file import write_whole
from ...system.errors import UsageError
from .answer_rows import COLUMNS, INTEGERS, AnswerRow, Counts
from .sqlite_table import SEED, SqliteTable, refuse_other

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
