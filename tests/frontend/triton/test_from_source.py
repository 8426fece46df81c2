"""Kernels compiled by the Triton that is installed: the same memory as in the stored launches."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Final

import pytest

from .launches import all_launches
from .stored import DATA, differences, executed, stored_file
from .update import triton_text

LAUNCHES: Final = {launch.name: launch for launch in all_launches()}

needs_triton: Final = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")


@needs_triton
@pytest.mark.parametrize("name", LAUNCHES)
def test_memory_is_left_as_stored(name: str) -> None:
    launch = replace(stored_file(name), ttir=triton_text(LAUNCHES[name]))
    assert not differences(launch, executed(launch))


def test_each_launch_is_stored_once() -> None:
    assert sorted(LAUNCHES) == sorted(file.stem for file in DATA.glob("*.ttir"))
    assert len(LAUNCHES) == len(list(all_launches()))
