"""The program `tileverify`: has a warm worker answer where there is one, and does the work itself elsewhere."""

from __future__ import annotations

import os
import sys

from ..serving.worker.client import answered


def main() -> None:
    """The console script; never returns."""
    _without_own_folder()
    code = answered(sys.argv[1:])
    if code is not None:
        sys.exit(code)
    from ..system.pace import collect_seldom

    collect_seldom()
    from .cli import main as command_line

    command_line()


def _without_own_folder() -> None:
    """Python looks for modules in the script's folder first, which holds programs and nothing to import."""
    own = os.path.dirname(os.path.realpath(sys.argv[0]))
    if not sys.flags.safe_path and sys.path and os.path.realpath(sys.path[0]) == own:
        del sys.path[0]
