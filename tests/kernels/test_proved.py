"""Every kernel of the library is proved for every launch of its spec, under that contract alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tileverify.results import Verdict

from .proved import MODULES, checked, stands_for, tables

pytestmark = [pytest.mark.random, pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)]


def test_every_launch_is_proved(module: Path) -> None:
    """Also without warnings: results never depend on what is left open."""
    results = checked(module)
    assert not [(each.kernel, each.launch) for each in results if each.verdict is not Verdict.PROVED]
    assert not [finding.message for each in results for finding in each.findings]


def test_every_kernel_has_a_launch(module: Path) -> None:
    kernels = re.findall(r"^@ct\.kernel\b.*\ndef (\w+)", module.read_text(encoding="utf-8"), re.MULTILINE)
    assert {launch["kernel"] for launch in tables(module)} == set(kernels)


def test_a_launch_that_stands_for_others_stands_for_itself(module: Path) -> None:
    like = stands_for(module)
    assert all(like[chosen] == chosen for chosen in like.values())
    assert {kernel for kernel, _ in like.values()} == {kernel for kernel, _ in like}
