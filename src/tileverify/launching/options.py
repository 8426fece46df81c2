"""What a caller may say of a launch beside stream, grid, kernel and arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..system.errors import UsageError
from .given import GivenOptions


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """``data``: facts about index arrays, in the words of launch specs; they are checked at every launch.

    ``vouch``: the caller answers for facts on contents, and nobody looks.  ``programmatic_dependent_launch``: the
    kernel may be started before the one ahead of it on its stream has ended, as in ``cuda.tile.launch``.  That is a
    permission: it is used where the kernel waits before it touches anything (`backend.early_start`).
    """

    data: Sequence[str] = ()
    vouch: bool = False
    programmatic_dependent_launch: bool = False


PLAIN: Final = LaunchOptions()


def options_of(given: GivenOptions) -> LaunchOptions:
    """The keyword arguments of a call; raises `UsageError` for one that there is not."""
    try:
        return LaunchOptions(**given) if given else PLAIN
    except TypeError:
        known = LaunchOptions.__dataclass_fields__
        wrong = ", ".join(f"'{name}'" for name in given if name not in known)
        raise UsageError(f"a launch takes no {wrong}, only {', '.join(known)}") from None
