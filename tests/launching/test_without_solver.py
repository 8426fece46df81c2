"""Machines that are there for bundles alone: what needs a solver or a compiler says what to build, and where."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tests.child import in_child
from tests.command_line import CommandLine

from tileverify.backend.guard import LaunchRefused
from tileverify.corpus import ROOT
from tileverify.kernels import prepared
from tileverify.launching.launcher import Launcher
from tileverify.launching.optouts import UnprovedLaunch, unproved
from tileverify.system.errors import UsageError


@pytest.mark.parametrize("package", [False, True])
def test_a_launch_names_the_bundle_that_is_missing(
    launcher: Launcher, kernels: ModuleType, monkeypatch: pytest.MonkeyPatch, package: bool
) -> None:
    """``package``: nothing tells the version of the solver either."""
    x, y = np.ones(256, np.float32), np.ones(256, np.float32)
    version = metadata.version

    def unknown(name: str) -> str:
        if name == "z3-solver":
            raise metadata.PackageNotFoundError(name)
        return version(name)

    def without_a_solver() -> Iterator[str | bool]:
        """In a process of its own, as modules that were loaded without one are of no use to others."""
        for name in [name for name in sys.modules if name == "z3" or name.startswith("tileverify.verifier")]:
            del sys.modules[name]
        monkeypatch.setitem(sys.modules, "z3", None)
        if package:
            monkeypatch.setattr(metadata, "version", unknown)
        with pytest.raises(LaunchRefused, match=r"no bundle of it is loaded, and there is no solver") as refused:
            launcher.launch(None, (2,), kernels.axpy, (2.0, x, y, 128))
        yield str(refused.value)
        yield bool((y == 1).all())
        monkeypatch.delenv("TILEVERIFY_STRICT", raising=False)
        with unproved(reason="no solver here"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UnprovedLaunch)  # told once in a process
            launcher.launch(None, (2,), kernels.axpy, (2.0, x, y, 128))
        yield bool((y == 3).all())

    said, untouched, launched = in_child(without_a_solver, 60)
    assert "`tileverify build tests/launching/kernels.py::axpy -o axpy.tvk`" in said
    assert "tileverify.load('axpy.tvk')" in said
    assert "please report" not in said
    assert untouched
    assert launched


def test_a_check_says_what_is_missing(tileverify: CommandLine) -> None:
    code = "import sys; sys.modules['z3'] = None; from tileverify.commands.cli import main; main()"
    Path("axpy.py").write_text((ROOT / "race_free" / "axpy.py").read_text())
    ran = subprocess.run(
        [sys.executable, "-c", code, "check", "axpy.py", "--no-cache"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert "error[TV005]: the solver is not installed: pip install z3-solver" in ran.stdout
    assert "please report" not in ran.stdout + ran.stderr


def test_a_kernel_of_the_library_names_the_source_of_its_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_a_compiler() -> Iterator[str]:
        prepared.kernel_of.cache_clear()
        for name in [name for name in sys.modules if name.startswith(("cuda.tile", "tileverify.kernels.device"))]:
            del sys.modules[name]
        monkeypatch.setitem(sys.modules, "cuda.tile", None)
        with pytest.raises(UsageError, match=r"no bundle of 'norms\.rms_norm'.*cuda\.tile is not installed") as missing:
            prepared.kernel_of("norms", "rms_norm")
        yield str(missing.value)

    (said,) = in_child(without_a_compiler, 60)
    assert "`tileverify build src/tileverify/kernels/device/norms.py -o FOLDER`" in said
