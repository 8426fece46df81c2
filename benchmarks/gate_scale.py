"""Runs of the gate over thousands of candidates: killed half-way and resumed, on every engine, and their memory.

    python -m benchmarks.gate_scale [--count 1000] [--many 10000] [--jobs 2] [--base CHECKOUT] [--markdown FILE]

1. ``count`` candidates (`gate_candidates`), through local processes and, where Ray is installed, through actors: whole,
   and killed as soon as half of the answers are in the table, then started again.  All four give one table.
2. ``many`` candidates in one folder: the memory of the run and of its workers, by the part of the answers that are in.
3. With ``--base``, another checkout of this project judges the ``count`` candidates in turn with this one.

The exit code is 1 where tables differ, or where the memory of the last quarter is more than a tenth above that of the
second one.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.gate_candidates import write_candidates

ROOT: Final = Path(__file__).resolve().parents[1]
GROWTH: Final = 1.10
Table = list[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Run:
    """One start of ``tileverify gate``; ``killed``: before its end.  ``memory``: (answered, bytes of it and of all
    that it started) as time went by."""

    wall_s: float
    cpu_s: float
    answered: int
    killed: bool
    memory: tuple[tuple[int, int], ...]


def run(folder: Path, table: Path, engine: str, jobs: int, checkout: Path, kill_at: int | None = None) -> Run:
    """Judge ``folder`` into ``table``; with ``kill_at`` answers in it, end the run and all that it started at once."""
    command = [sys.executable, "-m", "tileverify", "gate", str(folder), "--trust-specs", "--no-hints"]
    command += ["-j", str(jobs), "--engine", engine, "--results", str(table)]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    start, cpu = time.monotonic(), 0.0
    process = subprocess.Popen(
        command, env=environment, cwd=checkout, start_new_session=True, stderr=subprocess.DEVNULL
    )
    memory, killed = [], False
    while process.poll() is None:
        time.sleep(0.5)
        count = answered(table)
        alive = list(descendants(process.pid))
        memory.append((count, sum(map(bytes_of, alive))))
        cpu = max(cpu, sum(map(cpu_of, alive)))
        if kill_at is not None and count >= kill_at and process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            killed = True
            process.wait()
    if not killed and process.returncode not in (0, 1):
        raise SystemExit(f"the run ended with {process.returncode}: {' '.join(command)}")
    return Run(time.monotonic() - start, cpu, answered(table), killed, tuple(memory))


def answered(table: Path) -> int:
    """Submissions that have an answer so far."""
    if not table.exists():
        return 0
    with (
        contextlib.suppress(sqlite3.Error),
        contextlib.closing(sqlite3.connect(f"file:{table}?mode=ro", uri=True)) as db,
    ):
        return int(db.execute("SELECT count(DISTINCT file) FROM kernels").fetchone()[0])
    return 0


def rows(table: Path) -> Table:
    with contextlib.closing(sqlite3.connect(table)) as database:
        return database.execute("SELECT * FROM kernels ORDER BY file, position").fetchall()


def descendants(process: int) -> Iterator[int]:
    """``process`` and all that it started."""
    yield process
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from descendants(int(child))


def bytes_of(process: int) -> int:
    """Proportional share of memory where the system tells it, else what is resident."""
    for name, key in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        with contextlib.suppress(OSError, IndexError):
            lines = Path(f"/proc/{process}/{name}").read_text().splitlines()
            found = [line for line in lines if line.startswith(key)]
            return int(found[0].split()[1]) << 10
    return 0


def cpu_of(process: int) -> float:
    """Seconds of the processor, with those of children that it has seen the end of."""
    with contextlib.suppress(OSError, IndexError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return 0.0


# ------------------------------------------------------------------------------------------------- what is told
Say = Callable[[str], None]


def one_table(folder: Path, count: int, jobs: int, work: Path, say: Say) -> bool:
    """Whether all engines, killed or not, give the same rows."""
    say("\n| engine | run | s | submissions/s | CPU s | answers |\n|---|---|---|---|---|---|")
    tables: dict[str, Table] = {}
    for engine in ("local", "ray"):
        if engine == "ray" and importlib.util.find_spec("ray") is None:
            say("| ray | not installed | | | | |")
            continue
        whole, halves = work / f"{engine}.sqlite", work / f"{engine}-killed.sqlite"
        for name, table, kill_at in (("whole", whole, None), ("killed", halves, count // 2), ("resumed", halves, None)):
            begun = answered(table)
            done = run(folder, table, engine, jobs, ROOT, kill_at)
            if kill_at is not None and not done.killed:
                say(f"| {engine} | ended before it could be killed | | | | |")
            rate = (done.answered - begun) / done.wall_s
            say(f"| {engine} | {name} | {done.wall_s:.0f} | {rate:.1f} | {done.cpu_s:.0f} | {done.answered} |")
        tables[f"{engine}, whole"], tables[f"{engine}, killed and resumed"] = rows(whole), rows(halves)
    (first, expected), *others = tables.items()
    same = True
    for name, found in others:
        different = sorted({str(row[0]) for row in set(expected) ^ set(found)})
        same &= not different
        say(
            f"\n{name} against {first}: "
            + (f"{len(found)} equal rows" if not different else f"differ: {different[:10]}")
        )
    return same


def memory_stays(folder: Path, count: int, jobs: int, work: Path, say: Say) -> bool:
    done = run(folder, work / "many.sqlite", "local", jobs, ROOT)
    say(f"\n{count} in one folder: {done.wall_s:.0f} s, {count / done.wall_s:.1f}/s")
    say("\n| answered | MiB at most |\n|---|---|")
    most = []
    for quarter in range(4):
        low, high = count * quarter // 4, count * (quarter + 1) // 4
        held = [size for number, size in done.memory if low <= number < high or (quarter == 3 and number == high)]
        most.append(max(held, default=0))
        say(f"| {low} to {high} | {most[-1] >> 20} |")
    return most[3] <= GROWTH * most[1]


def side_by_side(folder: Path, count: int, jobs: int, base: Path, work: Path, say: Say, turns: int = 2) -> None:
    say("\n| checkout | turn | submissions/s | CPU s |\n|---|---|---|---|")
    for turn in range(turns):
        for name, checkout in (("base", base), ("this", ROOT)):
            done = run(folder, work / f"{name}-{turn}.sqlite", "local", jobs, checkout)
            say(f"| {name} | {turn + 1} | {count / done.wall_s:.2f} | {done.cpu_s:.0f} |")


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--many", type=int, default=10_000, help="0 leaves it out")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--base", type=Path, help="another checkout, to compare the throughput with")
    parser.add_argument("--markdown", type=Path)
    asked = parser.parse_args(words)
    told: list[str] = []

    def say(text: str) -> None:
        told.append(text)
        print(text, flush=True)

    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        write_candidates(work / "few", asked.count, asked.seed)
        good = one_table(work / "few", asked.count, asked.jobs, work, say)
        if asked.many:
            write_candidates(work / "many", asked.many, asked.seed + 1)
            good &= memory_stays(work / "many", asked.many, asked.jobs, work, say)
        if asked.base is not None:
            side_by_side(work / "few", asked.count, asked.jobs, asked.base.resolve(), work, say)
    say("\none table, and memory that stays" if good else "\nTABLES DIFFER, OR MEMORY GROWS")
    if asked.markdown is not None:
        asked.markdown.write_text("\n".join(told).strip() + "\n", encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
