"""``check --fix``: proved repairs made in the files, or shown as a difference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..system.errors import UsageError
from .shell import emit, talk

if TYPE_CHECKING:
    from ..pipeline.options import CheckOptions
    from ..results import KernelResult


def checked_options(fix: bool, unsafe: bool, diff: bool, repair: bool | None) -> None:
    """Raises `UsageError` for what cannot be meant."""
    if unsafe and not (fix or diff):
        raise UsageError("--unsafe-fixes says which repairs --fix or --diff may make: give one of them")
    if (fix or diff) and repair is False:
        raise UsageError("--no-repair looks for no repairs, so that --fix and --diff have none to make")


def make_fixes(
    results: tuple[KernelResult, ...], options: CheckOptions, spec: Path | None, *, unsafe: bool, diff: bool
) -> None:
    """Write proved repairs into the files, or, with ``diff``, their difference to stdout; says on stderr what was done
    and what was not."""
    from ..pipeline.repair.fixing import ALL, SAFE, fixed, judge_of
    from .shell import Working

    with Working(live=False):
        files = list(fixed(results, judge_of(options, spec), ALL if unsafe else SAFE))
    for file in files:
        if diff:
            emit(file.difference())
        elif file.done:
            try:
                file.write()
            except UsageError as error:
                talk(f"not mended: {error}")
                continue
        for line in file.done:
            talk(f"{'to mend' if diff else 'mended'}: {line}")
        for line in file.left:
            talk(f"not mended: {line}")
    if not files:
        talk("nothing to mend")
