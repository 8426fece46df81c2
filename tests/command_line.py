"""Command lines in this process, for tests that use the tool as a user does."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import pytest

from tileverify.commands import cli


class Ran(NamedTuple):
    """What a command line came to."""

    code: int
    out: str
    err: str


CommandLine: TypeAlias = Callable[..., Ran]


def command_line(capfd: pytest.CaptureFixture[str]) -> CommandLine:
    """A function that takes the words behind ``tileverify``."""

    def run(*arguments: str) -> Ran:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.command(list(arguments), prog_name="tileverify")
        out, err = capfd.readouterr()
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, out, err)

    return run


def interruptible() -> None:
    """`preexec_fn` of a process that is to hear Ctrl-C: what runs in a shell's background ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
