"""Launches in child processes, which are replaced when one hangs or faults: a fault leaves a process without its GPU.

A child gets names of what to run, and prints a line of JSON for each, ``{"name": ...}`` before it begins and with an
``outcome`` when it is done.  After the outcome ``failed`` it ends.
"""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

Row = dict[str, Any]


def results(command: Callable[[Sequence[str]], list[str]], names: Sequence[str], patience: float) -> Iterator[Row]:
    """Of all names, with as many processes as it takes.

    ``command``: of a child for some names.  ``patience``: seconds without a line after which the launch counts as
    hanging.  What else a child printed meanwhile is the row's ``printed``.
    """
    left = list(names)
    while left:
        process = subprocess.Popen(command(left), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert process.stdout is not None
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
        line: str | None = ""
        printed: list[str] = []
        while line is not None:
            try:
                line = lines.get(timeout=patience)
            except queue.Empty:
                process.kill()
                yield {"name": left.pop(0), "outcome": "hangs", "what": [f"nothing for {patience} s"]}
                break
            if line is None:
                break
            row = json.loads(line) if line.startswith("{") else None
            if row is None:
                printed.append(line.rstrip("\n"))
            elif "outcome" in row:
                left.remove(row["name"])
                yield {**row, "printed": printed}
                printed = []
        if process.wait() and left and line is None:
            what = [f"the process ended with {process.returncode}"]
            yield {"name": left.pop(0), "outcome": "failed", "what": what, "printed": printed}


def in_parallel(
    command: Callable[[Sequence[str]], list[str]], names: Sequence[str], patience: float, processes: int
) -> list[Row]:
    """The rows of `results`, from several processes at once."""
    shares = [names[first::processes] for first in range(processes)]
    with ThreadPoolExecutor(processes) as pool:
        return [row for rows in pool.map(lambda share: list(results(command, share, patience)), shares) for row in rows]


def _read(stream: IO[str], lines: queue.Queue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)
