"""``check --watch``."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

import click

from ..system.errors import UsageError
from .shell import emit, use_color

_EXCLUDED: Final = ("format_", "output", "playback", "certificate", "update_baseline")
"""Options of `check` that make something of one run."""
_OWN: Final = ("paths", "watch", "quiet", "verbose", "color", *_EXCLUDED)


def watch_forever(context: click.Context, paths: Sequence[str], everywhere: Sequence[Path], color: str) -> NoReturn:
    """Show a screen for every round until Ctrl-C.  Raises `UsageError` for options that make no sense here."""
    from .watch.display import screen
    from .watch.watch import Watch

    source = click.core.ParameterSource.COMMANDLINE
    for option in context.command.params:
        if option.name in _EXCLUDED and context.get_parameter_source(option.name) is source:
            raise UsageError(f"--watch and {option.opts[-1]} exclude each other")
    watch = Watch(paths, _options(context), everywhere)
    terminal = sys.stdout.isatty()
    for each in watch.rounds():
        what = f"{len(each.checked)} files" if len(each.checked) > 3 else ", ".join(each.checked) or "nothing"
        heading = f"{time.strftime('%H:%M:%S')}  checked {what}; watching (Ctrl-C ends)"
        height = shutil.get_terminal_size().lines if terminal else None
        text = screen(each.report, heading=heading, trouble=each.trouble, color=use_color(color), height=height)
        emit(f"\x1b[2J\x1b[H{text}" if terminal else f"{text}\n")
    raise AssertionError("watching does not end")


def _options(context: click.Context) -> list[str]:
    """The options of this command line, as words for another one."""
    words: list[str] = []
    for option in context.command.params:
        said = context.get_parameter_source(option.name or "") is click.core.ParameterSource.COMMANDLINE
        if not said or option.name in _OWN or not isinstance(option, click.Option):
            continue
        value = context.params[option.name or ""]
        if option.is_flag:
            words.append(option.opts[-1] if value else (option.secondary_opts or option.opts)[-1])
        else:
            for each in value if option.multiple else (value,):
                words += [option.opts[-1], str(each)]
    return words
