"""Where this package itself lies."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[1]
"""The one place that counts folders: modules move, and what was counted from them would silently be another one."""


def own_sources() -> list[Path]:
    """The modules that a verdict may depend on: all but the corpus' kernels, which are judged like anybody's."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path.relative_to(PACKAGE).parts[0] != "corpus"]
