"""What `import tileverify` offers: its names, where they say they are, and that they come when asked for."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

import tileverify

EXCEPTIONS = ("BundleRefused", "InFlightConflict", "LaunchRefused", "TileVerifyError")


def test_dir_shows_the_public_names_alone() -> None:
    assert dir(tileverify) == [
        "BundleRefused", "InFlightConflict", "LaunchRefused", "TileVerifyError", "UnprovedLaunch", "__version__",
        "gate", "graph", "in_flight", "kernel", "launch", "load", "patch", "tune", "unproved", "unproved_launches",
    ]  # fmt: skip


@pytest.mark.parametrize("name", dir(tileverify))
def test_every_name_is_there_in_a_new_process(name: str) -> None:
    code = f"import sys, tileverify; assert 'z3' not in sys.modules; tileverify.{name}; tileverify.{name}"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_exceptions_say_where_users_find_them(name: str) -> None:
    kind = getattr(tileverify, name)
    assert f"{kind.__module__}.{kind.__qualname__}" == f"tileverify.{name}"
    error = kind("no")
    assert isinstance(error, tileverify.TileVerifyError)
    assert type(pickle.loads(pickle.dumps(error))) is kind


def test_a_name_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'lunch'"):
        tileverify.lunch  # noqa: B018


@pytest.mark.parametrize("room", ["launching", "gating", "pipeline"])
def test_no_module_stands_in_the_place_of_a_function(room: str) -> None:
    code = (
        f"import tileverify.{room}, tileverify.gating.gate, tileverify.launching.launcher\n"
        "import tileverify\n"
        "assert all(callable(getattr(tileverify, name)) for name in ('gate', 'launch', 'kernel', 'load', 'patch'))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
