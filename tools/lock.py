"""The versions that development was last seen to work with: ``python -m tools.lock`` writes requirements.lock.

It pins what this environment has of the project's requirements, with the extras below, and of all that these need.
``pip install -c requirements.lock -e '.[dev,assemble]'`` installs them; ``LOCKED=1 make check`` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

ROOT: Final = Path(__file__).parents[1]
LOCK: Final = ROOT / "requirements.lock"
PROJECT: Final = "tileverify"
EXTRAS: Final = frozenset({"assemble", "dev"})
"""Of the project; `dev` brings `test` along."""

_HEAD: Final = "# Written by `python -m tools.lock`: what pyproject.toml asks for, with the extras {}.\n"


def normal(name: str) -> str:
    """The one spelling of a project's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements(name: str, extras: Iterable[str]) -> Iterator[Requirement]:
    """What an installed distribution asks for on this platform, with some of its extras."""
    wanted = {"", *extras}
    for text in distribution(name).requires or ():
        found = Requirement(text)
        if found.marker is None or any(found.marker.evaluate({"extra": extra}) for extra in wanted):
            yield found


def needed() -> dict[str, str]:
    """Name -> version of all that development needs, without the project; what is not installed is left out."""
    found: dict[str, str] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    left = [(PROJECT, EXTRAS)]
    while left:
        name, extras = left.pop()
        if (normal(name), extras) in seen:
            continue
        seen.add((normal(name), extras))
        try:
            version = distribution(name).version
        except PackageNotFoundError:
            continue
        if normal(name) != PROJECT:
            found[normal(name)] = version
        left += [(each.name, frozenset(each.extras)) for each in requirements(name, extras)]
    return dict(sorted(found.items()))


def written() -> dict[str, str]:
    """Name -> version, as the lock has them."""
    lines = (line for line in LOCK.read_text(encoding="utf-8").splitlines() if line and line[0] != "#")
    return dict(line.split("==", 1) for line in lines)


if __name__ == "__main__":
    head = _HEAD.format(" and ".join(sorted(EXTRAS)))
    LOCK.write_text(head + "".join(f"{name}=={version}\n" for name, version in needed().items()), encoding="utf-8")
