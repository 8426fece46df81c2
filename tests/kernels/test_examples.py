"""Every public function of the library has an example, and it is true."""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path

import pytest

from tileverify import kernels


@pytest.mark.parametrize("name", kernels.__all__)
def test_the_example_is_true(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = inspect.getdoc(getattr(kernels, name)) or ""
    example = doctest.DocTestParser().get_doctest(text, {}, f"tileverify.kernels.{name}", __file__, 0)
    assert example.examples
    told: list[str] = []
    doctest.DocTestRunner().run(example, out=told.append)
    assert not told, "".join(told)
