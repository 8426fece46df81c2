from __future__ import annotations

import atexit
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tileverify.launching.launcher import Launcher
from tileverify.pipeline import CheckOptions
from tileverify.system import readings


@pytest.fixture(scope="session")
def kernels() -> ModuleType:
    specification = importlib.util.spec_from_file_location("launched_kernels", Path(__file__).with_name("kernels.py"))
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def launcher(tmp_path: Path) -> Launcher:
    """One that knows nothing, with a cache of its own."""
    return Launcher(CheckOptions(cache=tmp_path / "cache"))


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The shell that a notebook's cells run in, with nothing run yet."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    monkeypatch.setenv("TILEVERIFY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setattr(readings, "_NUMBERS", {})
    shell = InteractiveShell(user_ns={}, config=Config({"HistoryManager": {"enabled": False}}))
    monkeypatch.setattr(readings, "running_shell", lambda: shell)
    yield shell
    atexit.unregister(shell.atexit_operations)
