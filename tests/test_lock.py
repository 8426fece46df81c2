"""requirements.lock against pyproject.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

from packaging.requirements import Requirement
from tools.lock import EXTRAS, PROJECT, ROOT, normal, written


def asked_for() -> Iterator[Requirement]:
    """By the project itself, with the extras of the lock; the project's own extras are followed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras, seen = sorted(EXTRAS), set[str]()
    yield from map(Requirement, project["dependencies"])
    while extras:
        extra = extras.pop()
        if extra in seen:
            continue
        seen.add(extra)
        for found in map(Requirement, project["optional-dependencies"][extra]):
            if normal(found.name) == PROJECT:
                extras += found.extras
            else:
                yield found


def test_every_requirement_of_development_is_pinned_within_its_bounds() -> None:
    """`python -m tools.lock` writes it again."""
    pins = written()
    assert {normal(each.name) for each in asked_for()} <= pins.keys()
    assert not [str(each) for each in asked_for() if pins[normal(each.name)] not in each.specifier]


def test_the_lock_names_no_place() -> None:
    assert all("@" not in version and "/" not in version for version in written().values())
