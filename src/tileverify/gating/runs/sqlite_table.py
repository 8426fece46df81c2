"""Answers in an SQLite file: the table ``kernels``, sorted by its key, and ``run``, which says how they were made."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from ...system.errors import UsageError
from .answer_rows import COLUMNS, INTEGERS, AnswerRow, Counts, values

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
