"""A Markdown page as a program: its titled code blocks are files, its console blocks are sessions.

A fence like ```` ```python title="blur.py" ```` writes a file; one whose title begins with ``corpus/`` quotes that file
of the corpus, word for word and perhaps in part.  In ```` ```console ```` every line that begins with ``$``
is a command, the lines below it are what it prints, stdout before stderr.  Commands begin with ``tileverify`` (run in
this process), ``python`` (a process of its own) or are ``cat FILE`` and ``echo $?``.  A line ``...`` stands for any
number of lines; times, sizes of files, versions, addresses, digests and the number of launches that a secret seed
draws may differ.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.command_line import CommandLine

from tileverify.corpus import ROOT as CORPUS

_FENCE: Final = re.compile(r"^```(?P<info>[^`\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE: Final = re.compile(r'title="([^"]+)"')
_VARIES: Final = (
    (re.compile(r"\b\d+(\.\d+)? (ms|s|us)\b"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? (bytes|KB)\b"), r"N \2"),
    (re.compile(r"\b(tileverify|z3|cvc5|cuda-tile|cuda\.tile) \d+(\.\d+)+"), r"\1 N"),
    (re.compile(r"\baddress = \d+"), "address = N"),
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "DIGEST"),
    (re.compile(r"\bequal to its reference at \d+ launches \(a wrong yes is less likely than 2\^-\d+\)"), "EQUAL"),
)
_ENVIRONMENT: Final = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}


@dataclass(frozen=True, slots=True)
class Written:
    """A file that the page shows."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Session:
    """A console block: its body as written, and where the body stands in the page (start, end)."""

    body: str
    place: tuple[int, int]

    def steps(self) -> Iterator[tuple[str, str]]:
        """Every command with what the page says that it prints."""
        for part in re.split(r"^\$ ", self.body, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            yield command, printed


def blocks(page: str) -> Iterator[Written | Session]:
    """What the page writes and runs, in its order."""
    for fence in _FENCE.finditer(page):
        language, *_ = fence["info"].split() or [""]
        title = _TITLE.search(fence["info"])
        if language == "console":
            yield Session(fence["body"], fence.span("body"))
        elif title is not None:
            yield Written(title[1], fence["body"])


class Shell:
    """Runs the commands of one page in the current folder."""

    def __init__(self, tileverify: CommandLine) -> None:
        self._tileverify = tileverify
        self._code = 0

    def run(self, command: str) -> str:
        """What ``command`` prints."""
        match shlex.split(command):
            case ["tileverify", *rest]:
                ran = self._tileverify(*rest)
                self._code = ran.code
                text = ran.out + ran.err
            case ["python", *rest]:
                done = subprocess.run(
                    [sys.executable, *rest], capture_output=True, text=True, check=False, timeout=600, env=_ENVIRONMENT
                )
                self._code = done.returncode
                text = done.stdout + done.stderr
            case ["cat", name]:
                text = Path(name).read_text(encoding="utf-8")
            case ["echo", "$?"]:
                text = f"{self._code}\n"
            case _:
                raise ValueError(f"a page cannot run '{command}'")
        return text.replace(f"{Path.cwd()}/", "").replace(f"{CORPUS.parent}/", "")


def agrees(printed: str, expected: str) -> bool:
    """Whether a page that says ``expected`` tells what was ``printed``."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line) + r"\s*\n" for line in _usual(expected).splitlines()
    )
    return re.fullmatch(pattern, _usual(printed).rstrip() + "\n") is not None


def _usual(text: str) -> str:
    for pattern, word in _VARIES:
        text = pattern.sub(word, text)
    return "".join(f"{line.rstrip()}\n" for line in text.rstrip().splitlines())
