"""What `import tileverify` offers: its names, where they say they are, and that they come when asked for."""

from __future__ import annotations

import doctest
import inspect
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import tileverify

EXCEPTIONS = ("BundleRefused", "InFlightConflict", "LaunchRefused", "TileVerifyError")


def test_dir_shows_the_public_names_alone() -> None:
    assert dir(tileverify) == [
        "BundleRefused", "InFlightConflict", "LaunchRefused", "TileVerifyError", "UnprovedLaunch", "__version__",
        "check", "equal", "gate", "graph", "in_flight", "kernel", "launch", "load", "patch", "tune", "unproved",
        "unproved_launches",
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


@pytest.mark.parametrize("name", [name for name in dir(tileverify) if not name.startswith("_")])
def test_the_example_of_every_name_is_true(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEVERIFY_CACHE_DIR", str(tmp_path / "cache"))
    text = inspect.getdoc(getattr(tileverify, name)) or ""
    example = doctest.DocTestParser().get_doctest(text, {}, f"tileverify.{name}", __file__, 0)
    assert example.examples
    told: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tileverify.UnprovedLaunch)
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=told.append)
    assert not told, "".join(told)
