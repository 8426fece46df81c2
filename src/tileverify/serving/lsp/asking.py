"""Command lines that a worker carries out, without waiting in between; a process of its own where there is none."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from ..worker.client import NoWorker, TakenRequest, ask, start

_SECONDS_TO_START: Final = 30.0


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """What a command line came to."""

    code: int
    out: str
    err: str


async def run(
    words: Sequence[str], folder: str, overlay: Mapping[str, str], told: Callable[[str], None] = lambda line: None
) -> CommandAnswer:
    """``tileverify WORDS...`` in ``folder``, with ``overlay`` for what lies on disk; ``told`` gets stderr line by line.

    When it is cancelled, the work ends.
    """
    for attempt in range(2):
        with suppress(NoWorker):
            return await _by_worker(words, folder, overlay, told)
        if attempt or not await asyncio.to_thread(start, seconds=_SECONDS_TO_START, folder=folder):
            break
    return await _alone(words, folder, overlay)


async def _by_worker(
    words: Sequence[str], folder: str, overlay: Mapping[str, str], told: Callable[[str], None]
) -> CommandAnswer:
    out, nothing = os.memfd_create("out"), os.open(os.devnull, os.O_RDONLY)
    reading, writing = os.pipe()
    try:
        try:
            request = await asyncio.to_thread(ask, words, (nothing, out, writing), overlay, folder)
        finally:
            os.close(nothing)
            os.close(writing)
        with request:
            lines = _Lines(reading, told)
            code = await _ended(request, lines)
        size = os.fstat(out).st_size
        return CommandAnswer(code, os.pread(out, size, 0).decode(errors="replace"), lines.text)
    finally:
        os.close(out)
        os.close(reading)


async def _ended(request: TakenRequest, lines: _Lines) -> int:
    loop = asyncio.get_running_loop()
    loop.add_reader(lines.descriptor, lines.read)
    waiting = loop.run_in_executor(None, request.wait)
    try:
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        request.abandon()
        with suppress(NoWorker):
            await asyncio.shield(waiting)
        raise
    finally:
        loop.remove_reader(lines.descriptor)
        lines.read()


class _Lines:
    """What comes through a pipe, line by line."""

    def __init__(self, descriptor: int, told: Callable[[str], None]) -> None:
        self.descriptor, self._told = descriptor, told
        self.text, self._rest = "", ""
        os.set_blocking(descriptor, False)

    def read(self) -> None:
        """What is there by now."""
        with suppress(BlockingIOError):
            while more := os.read(self.descriptor, 1 << 16).decode(errors="replace"):
                self.text += more
                *lines, self._rest = (self._rest + more).split("\n")
                for line in lines:
                    self._told(line)


async def _alone(words: Sequence[str], folder: str, overlay: Mapping[str, str]) -> CommandAnswer:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __package__.split(".")[0], "worker", "once",
        cwd=folder, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    request = json.dumps({"words": list(words), "overlay": dict(overlay)}).encode()
    try:
        out, err = await process.communicate(request)
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    return CommandAnswer(process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace"))
