"""Projects whose tests launch kernels, run by pytest in a process of its own as if the plugin were installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("cuda.tile", reason="the tests under test launch kernels of cuda.tile")

ROOT = Path(__file__).parents[3]
WITHOUT = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio")
"""Plugins that these projects do not use, and that take long to load."""


@dataclass(frozen=True)
class Ended:
    """A run of pytest with ``-rA``."""

    code: int
    text: str

    @property
    def outcomes(self) -> dict[str, str]:
        """``passed``, ``failed``, ``error`` ... by the name of the test."""
        lines = re.findall(r"^(PASSED|FAILED|ERROR|XFAIL|SKIPPED) \S+::(\w+)(?:\[\S+)?", self.text, re.MULTILINE)
        return {name: outcome.lower() for outcome, name in lines}

    def section(self, test: str) -> str:
        """What is told of a test that failed."""
        found = re.search(
            rf"^_+ (?:ERROR at \w+ of )?{test}\S* _+$(.*?)(?=^_+ \S|^-+ tileverify -+$)", self.text, re.M | re.S
        )
        assert found is not None, self.text
        return found[1]


RunTests = Callable[..., Ended]


@pytest.fixture(scope="module")
def run_tests(tmp_path_factory: pytest.TempPathFactory) -> RunTests:
    """Run pytest in a folder.  The entry point of the plugin is what pyproject.toml declares."""
    site = tmp_path_factory.mktemp("site")
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    info = site / "tileverify_as_installed-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tileverify-as-installed\nVersion: 0\n")
    lines = "\n".join(f"{name} = {value}" for name, value in declared.items())
    (info / "entry_points.txt").write_text(f"[pytest11]\n{lines}\n")
    cache = tmp_path_factory.mktemp("cache")

    def run(folder: Path, *options: str) -> Ended:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        environment["PYTHONPATH"] = os.pathsep.join([str(site), str(ROOT / "src")])
        environment["XDG_CACHE_HOME"] = str(cache)
        command = [sys.executable, "-m", "pytest", "-rA", *WITHOUT, "--rootdir", ".", *options]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
        )
        return Ended(done.returncode, done.stdout + done.stderr)

    return run
