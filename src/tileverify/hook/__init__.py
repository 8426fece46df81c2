"""The half of ``record`` that lives inside the recorded program.

It is loaded by ``sitecustomize`` from its folder, in whatever Python the program uses: it needs nothing but the
standard library and ``cuda.tile`` (and torch or JAX, if the program imports it), and imports nothing outside this
folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

from . import cuda_core, cupy_modules
from .cuda_core import CudaCore, Imitated, RuntimeStandIns
from .driver_calls import DriverCalls, DriverStandIns, NoDriver
from .foreign import AfterImport
from .interpreting import Interpreting
from .launch_hooks import LaunchHooks
from .modules import Modules, watch_nvcc
from .notes import Notes
from .pointer_owners import PointerOwners
from .recorder import ModuleLaunches, Most, Recorder
from .triton_launches import ImitatedDriver, TritonHooks

# Multiprocessors and names of the devices that are imitated, by compute capability.
_DEVICES = {
    (8, 0): (108, "NVIDIA A100"),
    (9, 0): (132, "NVIDIA H100"),
    (10, 0): (148, "NVIDIA B200"),
    (10, 3): (148, "NVIDIA B300"),
    (12, 0): (170, "NVIDIA GeForce RTX 5090"),
}


def install() -> None:
    """Watch for ``cuda.tile`` and torch, as the environment variables ``TILEVERIFY_RECORD_*`` ask."""
    environment = os.environ
    major, minor = map(int, environment["TILEVERIFY_RECORD_CAPABILITY"].split("."))
    runs = environment["TILEVERIFY_RECORD_GPU"] == "real"
    interpret = None
    if environment["TILEVERIFY_RECORD_GPU"] == "interpreted":
        interpret = Interpreting(Path(environment["TILEVERIFY_RECORD_PACKAGE"]))
    notes = Notes(Path(environment["TILEVERIFY_RECORD_OUT"]))
    limits = Most(
        specialisations=int(environment["TILEVERIFY_RECORD_SPECIALISATIONS"]),
        launches=int(environment["TILEVERIFY_RECORD_LAUNCHES"]),
        repeats=bool(environment["TILEVERIFY_RECORD_REPEATS"]),
    )
    version = environment["TILEVERIFY_RECORD_BYTECODE_VERSION"] or None
    after = AfterImport()
    architecture = f"sm_{major}{minor}"
    recorder = Recorder(
        notes,
        limits,
        None if runs else architecture,
        version,
        on_device=runs,
        kernels_run=runs or interpret is not None,
    )
    hooks = LaunchHooks(
        recorder,
        runs=runs,
        configurations=int(environment["TILEVERIFY_RECORD_CONFIGURATIONS"]),
        interpret=interpret,
    )
    for name in ("cuda.tile._cext", "cuda.bindings.driver", "cuda.core", "cupy", "triton.compiler.compiler"):
        after.call(name, lambda module: notes.write({"event": "cuda_tile"}))
    device = None if runs else imitate_gpu(after, (major, minor), kernels_run=interpret is not None)
    watch(after, hooks)
    watch_triton(after, TritonHooks(recorder, runs=runs, interpret=interpret.triton if interpret is not None else None))
    modules = Modules(notes, environment["TILEVERIFY_RECORD_PYTHON"], Path(environment["TILEVERIFY_RECORD_PACKAGE"]))
    owners = PointerOwners(on_host=not runs)
    launches = ModuleLaunches(recorder, modules, owners, runs=runs, results_matter=interpret is not None)
    watch_modules(after, launches, device)
    if device is not None:
        imitate_cupy(after, device, kernels_run=interpret is not None)
    after.install()


def watch(after: AfterImport, hooks: LaunchHooks) -> None:
    """Put ``hooks`` in front of every way to launch, as its module is imported."""
    after.call("cuda.tile._cext", hooks.install_extension)
    after.call("cuda.tile.tune._tune", hooks.install_tune)
    after.call("cuda.tile.tune._tune_utils", hooks.install_tune_utilities)
    after.call("cuda.tile.jax._jax", hooks.install_jax)
    after.call("tileverify.launching.launcher", hooks.install_launcher)


def watch_triton(after: AfterImport, hooks: TritonHooks) -> None:
    """Put ``hooks`` in front of Triton's compiler, as it is imported."""
    after.call("triton.compiler.compiler", hooks.install_compiler)
    after.call("triton.runtime.autotuner", hooks.install_autotuner)


def watch_modules(after: AfterImport, launches: ModuleLaunches, device: Imitated | None) -> None:
    """Put a hook in front of every way to load and launch kernels that are not ``cuda.tile``'s; ``device``: the one
    that is imitated."""
    watch_nvcc(launches.modules, runs=launches.runs)
    after.call("torch", launches.owners.watch_torch)

    def driver_imported(driver: ModuleType) -> None:
        if device is None:
            DriverCalls(driver, launches).install()
        else:
            DriverStandIns(driver, launches, NoDriver(device.capability, device.multiprocessors), device.name).install()

    def core_imported(core: ModuleType) -> None:
        if device is None:
            CudaCore(core, launches).install()
        else:
            cuda_core.install(core, launches, device)

    def runtime_imported(runtime: ModuleType) -> None:
        if device is not None:
            RuntimeStandIns(runtime, launches.owners, device).install()

    after.call("cuda.bindings.driver", driver_imported)
    after.call("cuda.bindings.runtime", runtime_imported)
    after.call("cuda.core", core_imported)
    after.call("cuda.core.experimental", core_imported)
    after.call("cupy", lambda cupy: cupy_modules.install(cupy, launches))


def imitate_gpu(after: AfterImport, capability: tuple[int, int], *, kernels_run: bool) -> Imitated:
    """A driver for ``cuda.tile`` and a device for torch, with this compute capability.

    ``kernels_run``: in the interpreter, so that results mean something.
    """
    device = imitated(capability)

    def torch_imported(module: ModuleType) -> None:
        from . import torch_cuda

        torch_cuda.install(capability, device.name, device.multiprocessors, kernels_run=kernels_run)

    NoDriver(capability, device.multiprocessors).offer()
    after.call("torch", torch_imported)
    after.call("triton.runtime.driver", ImitatedDriver(device).install)
    return device


def imitate_cupy(after: AfterImport, device: Imitated, *, kernels_run: bool) -> None:
    """Arrays of CuPy in the host's memory.  Its modules of Tile IR are watched before (`cupy_modules`)."""

    def cupy_imported(cupy: ModuleType) -> None:
        from . import cupy_arrays

        cupy_arrays.install(cupy, device, kernels_run=kernels_run)

    def testing_imported(testing: ModuleType) -> None:
        from . import cupy_arrays

        if not kernels_run:
            cupy_arrays.pass_comparisons(testing)

    after.call("cupy", cupy_imported)
    after.call("cupy.testing", testing_imported)


def imitated(capability: tuple[int, int]) -> Imitated:
    """A device with this compute capability."""
    fallback = (120, f"NVIDIA GPU sm_{capability[0]}{capability[1]}")
    multiprocessors, name = _DEVICES.get(capability, fallback)
    return Imitated(capability, multiprocessors, name)
