"""The examples in the docstrings of host functions do what they say."""

from __future__ import annotations

import doctest
import inspect
from importlib import import_module
from pathlib import Path

import pytest

from tileverify import kernels

MODULES = sorted(path.stem for path in Path(kernels.__file__).parent.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("module", MODULES)
def test_examples(module: str) -> None:
    told = doctest.testmod(import_module(f"tileverify.kernels.{module}"))
    assert told.failed == 0


@pytest.mark.parametrize("name", kernels.__all__)
def test_everything_public_has_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(getattr(kernels, name)) or "")
