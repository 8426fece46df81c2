"""The examples in the docstrings of host functions do what they say."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

from tileverify import kernels

MODULES = sorted(path.stem for path in Path(kernels.__file__).parent.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("module", MODULES)
def test_examples(module: str) -> None:
    told = doctest.testmod(import_module(f"tileverify.kernels.{module}"))
    assert told.failed == 0


def test_there_are_examples() -> None:
    examples = [
        test
        for module in MODULES
        for test in doctest.DocTestFinder().find(import_module(f"tileverify.kernels.{module}"))
        if test.examples
    ]
    assert len(examples) >= 10
