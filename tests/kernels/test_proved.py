"""Every kernel of the library is proved for every launch of its spec, under that contract alone."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

import tileverify
from tileverify.results import KernelResult, Verdict

DEVICE = Path(__file__).parents[2] / "src" / "tileverify" / "kernels" / "device"
MODULES = sorted(path for path in DEVICE.glob("*.py") if path.stem != "__init__")

pytestmark = pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)


@cache
def checked(module: Path) -> tuple[KernelResult, ...]:
    """Without clauses that the tool adds."""
    return tuple(tileverify.check(module, deny_requires=True, complete=True).results)


def test_every_launch_is_proved(module: Path) -> None:
    """Also without warnings: results never depend on what is left open."""
    results = checked(module)
    assert not [(each.kernel, each.launch) for each in results if each.verdict is not Verdict.PROVED]
    assert not [finding.message for each in results for finding in each.findings]


def test_every_kernel_has_a_launch(module: Path) -> None:
    kernels = re.findall(r"^@ct\.kernel\b.*\ndef (\w+)", module.read_text(encoding="utf-8"), re.MULTILINE)
    launches = tomllib.loads(module.with_suffix(".tileverify.toml").read_text(encoding="utf-8"))["launch"]
    assert {launch["kernel"] for launch in launches} == set(kernels)
