"""Work that several test processes need, done once: whoever comes first takes a part, and all have the whole."""

from __future__ import annotations

import hashlib
import os
import pickle
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

T = TypeVar("T")

FOLDER: Final = "TILEVERIFY_TESTS_SHARED"
"""The environment variable that names a folder of this test run's processes (`conftest.py` sets it)."""

PATIENCE: Final = 900.0
"""Seconds to wait for a part that another process has taken; then it is done here."""


@contextmanager
def alone() -> Iterator[None]:
    """Inside, this process does all itself: what it finds holds of code that a test has changed."""
    folder = os.environ.pop(FOLDER, None)
    try:
        yield
    finally:
        if folder is not None:
            os.environ[FOLDER] = folder


def in_parts(name: str, parts: Sequence[int], work: Callable[[int], str]) -> list[str]:
    """``work(part)`` for every part, in order, each done by one of the processes of this test run.

    Under pytest-xdist processes that ask for the same ``name`` share the parts through files; a process alone does all.
    """
    shared = os.environ.get(FOLDER)
    if shared is None:
        return [work(part) for part in parts]
    folder = Path(shared) / name
    folder.mkdir(parents=True, exist_ok=True)
    for part in parts:
        try:
            (folder / f"{part}.taken").touch(exist_ok=False)
        except FileExistsError:
            continue
        _write(folder / f"{part}.done", work(part))
    return [_awaited(folder / f"{part}.done", lambda part=part: work(part)) for part in parts]  # type: ignore[misc]


def gathered(name: str, parts: Sequence[int], work: Callable[[int], Sequence[T]]) -> tuple[T, ...]:
    """What `in_parts` gives for all parts, one behind the other; it is pickled."""
    texts = in_parts(name, parts, lambda part: b64encode(pickle.dumps(tuple(work(part)))).decode())
    return tuple(each for text in texts for each in pickle.loads(b64decode(text)))


def once(name: str, work: Callable[[], T]) -> T:
    """What ``work()`` returns, done by the process of this test run that asks first; ``name`` may be any text."""
    key = hashlib.sha256(name.encode()).hexdigest()[:16]
    (value,) = gathered(f"once-{key}", [0], lambda _: (work(),))
    return value


def _write(path: Path, text: str) -> None:
    made = path.with_suffix(f".{os.getpid()}")
    made.write_text(text, encoding="utf-8")
    made.replace(path)


def _awaited(path: Path, work: Callable[[], str]) -> str:
    end = time.monotonic() + PATIENCE
    while not path.exists():
        if time.monotonic() > end:  # whoever took it is gone
            _write(path, work())
        time.sleep(0.05)
    return path.read_text(encoding="utf-8")
