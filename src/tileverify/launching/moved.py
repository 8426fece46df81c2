"""The bytes that a launch of a program moves, counted from the kernel as it is compiled for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from ..results.traffic import Traffic
from .bundled import BundledKernel

if TYPE_CHECKING:
    from .launcher import Launcher
    from .tuning import Called


def counting(launcher: Launcher, called: Called) -> Callable[[], Traffic] | None:
    """What counts when it is called, and once; ``None`` for a kernel of a bundle or a grid that is left open.

    It keeps the kernel and the sizes, not the arrays.
    """
    grid, kernel, arguments = called
    if grid is None or isinstance(kernel, BundledKernel):
        return None
    unit = launcher.unit_of(grid, kernel, arguments)

    @cache
    def count() -> Traffic:
        from ..pipeline.unit_traffic import unit_traffic

        return unit_traffic(unit, {}, numbers_only=True)

    return count
