from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tileverify.launching.launcher import Launcher
from tileverify.pipeline import CheckOptions


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
