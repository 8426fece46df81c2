"""`tileverify.kernel` and `tileverify.patch`: programs in which nothing runs unverified."""

from __future__ import annotations

import importlib
import subprocess
import sys
from types import ModuleType

import cuda.tile as ct
import numpy as np
import pytest

import tileverify
from tileverify.backend.guard import LaunchRefused
from tileverify.launching.launcher import Launcher, Patch
from tileverify.system.errors import UsageError


def test_a_patched_program_verifies(launcher: Launcher, kernels: ModuleType) -> None:
    x, y = np.arange(256, dtype=np.float32), np.ones(256, np.float32)
    before = ct.launch
    with Patch(launcher):
        ct.launch(None, (2,), kernels.axpy, (2.0, x, y, 128))
        assert np.array_equal(y, 2 * x + 1)
        with pytest.raises(LaunchRefused, match="TV301"):
            ct.launch(None, (3,), kernels.axpy, (2.0, x, y, 128))
        with pytest.raises(LaunchRefused, match="launch_extended is not verified"):
            ct._cext.launch_extended(None, (2,), (1,), kernels.axpy, (2.0, x, y, 128))
        ct.launch(None, (2,), kernels.axpy, (2.0, x, y, 128), programmatic_dependent_launch=True)
        assert np.array_equal(y, 4 * x + 1)
    assert ct.launch is before


BESIDE = [
    ("cuda.tile._cext", "launch_extended"),
    ("cuda.tile._cext", "xla_ffi_get_call_handler"),
    ("cuda.tile.jax", "cutile_call"),
    ("cuda.tile.tune._tune", "_benchmark"),
    ("cuda.tile.tune._tune_utils", "benchmark_with_timeout"),
    ("cuda.tile.tune._tune_utils", "_benchmark_with_ipc_payload"),  # what the other process calls
]


@pytest.mark.parametrize(("module", "name"), BESIDE)
def test_every_other_way_to_a_launch_is_refused(
    launcher: Launcher, kernels: ModuleType, module: str, name: str
) -> None:
    owner = importlib.import_module(module)
    arguments = (None, (2,), kernels.axpy, (), 1.0, False)[: 6 if name == "benchmark_with_timeout" else 0]
    with Patch(launcher), pytest.raises(LaunchRefused, match=r"is not verified, and refused by tileverify.patch\(\)"):
        getattr(owner, name)(*arguments)


EARLIER = """
from cuda.tile import launch
from cuda.tile import launch as other
from cuda.tile._cext import launch_extended

class Runner:
    run = staticmethod(launch)
    plain = launch
"""


def test_names_that_were_imported_before_it_are_patched(
    launcher: Launcher, kernels: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("earlier")
    monkeypatch.setitem(sys.modules, "earlier", module)
    exec(EARLIER, module.__dict__)
    before = ct.launch
    x, y = np.arange(256, dtype=np.float32), np.ones(256, np.float32)
    with Patch(launcher):
        for launch in (module.launch, module.other, module.Runner.plain, module.Runner.run):
            with pytest.raises(LaunchRefused, match="TV301"):
                launch(None, (3,), kernels.axpy, (2.0, x, y, 128))
        with pytest.raises(LaunchRefused, match="launch_extended is not verified"):
            module.launch_extended(None, (2,), (1,), kernels.axpy, (2.0, x, y, 128))
        module.launch(None, (2,), kernels.axpy, (2.0, x, y, 128))
    assert np.array_equal(y, 2 * x + 1)
    assert (module.launch, module.other, module.Runner.run, module.Runner.plain) == (before,) * 4


def test_what_cannot_be_patched_is_named(launcher: Launcher) -> None:
    held = {"launch": ct.launch}
    launch = ct.launch

    def later() -> object:
        return launch

    with pytest.warns(RuntimeWarning, match=r"stays unverified in .*; patch first") as told, Patch(launcher):
        pass
    text = str(told[0].message)
    assert "a dict" in text
    assert "a closure of test_what_cannot_be_patched_is_named.<locals>.later" in text
    assert held["launch"] is later()


def test_nothing_is_said_where_nothing_is_left() -> None:
    program = (
        "import warnings; warnings.simplefilter('error')\n"
        "import tileverify\nfrom cuda.tile import launch\n"
        "with tileverify.patch():\n    print(launch.__qualname__)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("Patch._launch", 0), done.stderr


def test_an_early_start_is_a_permission(kernels: ModuleType) -> None:
    x, y = np.arange(256, dtype=np.float32), np.ones(256, np.float32)
    tileverify.launch(None, (2,), kernels.axpy, (2.0, x, y, 128), programmatic_dependent_launch=True)
    assert np.array_equal(y, 2 * x + 1)


def test_a_verified_kernel_keeps_its_options(kernels: ModuleType) -> None:
    assert kernels.negate._compiler_options.occupancy == 2
    other = kernels.negate.replace_hints(occupancy=4)
    assert type(other) is type(kernels.negate)
    assert other._compiler_options.occupancy == 4


def test_a_verified_kernel_runs_verified_alone(launcher: Launcher, kernels: ModuleType) -> None:
    x, y = np.arange(256, dtype=np.float32), np.ones(256, np.float32)
    launcher.launch(None, (2,), kernels.negate, (x, y, 128))
    assert np.array_equal(y, -x)
    with pytest.raises(LaunchRefused, match=r"'negate' is a tileverify\.kernel: launch it with tileverify\.launch"):
        kernels.negate._compile(None, None)


def test_a_kernel_is_a_function() -> None:
    with pytest.raises(UsageError, match=r"@tileverify\.kernel decorates a function"):
        tileverify.kernel(3)  # type: ignore[call-overload]


def test_a_launch_spec_beside_a_kernel_loads_no_launcher() -> None:
    program = (
        "import sys, tileverify\n"
        "@tileverify.launch(args={'x': 'f32[N]'})\n"
        "def kernel(x): ...\n"
        "heavy = ('tileverify.launching', 'asyncio', 'numpy', 'z3', 'cuda.tile')\n"
        "sys.exit(' '.join(name for name in heavy if name in sys.modules) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
