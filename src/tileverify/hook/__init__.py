"""The half of ``record`` that lives inside the recorded program.

It is loaded by ``sitecustomize`` from its folder, in whatever Python the program uses: it needs nothing but the
standard library and ``cuda.tile`` (and torch or JAX, if the program imports it), and imports nothing outside this
folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

from .imports import AfterImport
from .interpreting import Interpreting
from .launch_hooks import LaunchHooks
from .no_driver import NoDriver
from .notes import Notes
from .recorder import Most, Recorder

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
    after.call("cuda.tile._cext", lambda module: notes.write({"event": "cuda_tile"}))
    if not runs:
        imitate_gpu(after, (major, minor), kernels_run=interpret is not None)
    watch(after, hooks)
    after.install()


def watch(after: AfterImport, hooks: LaunchHooks) -> None:
    """Put ``hooks`` in front of every way to launch, as its module is imported."""
    after.call("cuda.tile._cext", hooks.install_extension)
    after.call("cuda.tile.tune._tune", hooks.install_tune)
    after.call("cuda.tile.tune._tune_utils", hooks.install_tune_utilities)
    after.call("cuda.tile.jax._jax", hooks.install_jax)
    after.call("tileverify.launching.launcher", hooks.install_launcher)


def imitate_gpu(after: AfterImport, capability: tuple[int, int], *, kernels_run: bool) -> None:
    """A driver for ``cuda.tile`` and a device for torch, with this compute capability.

    ``kernels_run``: in the interpreter, so that results mean something.
    """
    fallback = (120, f"NVIDIA GPU sm_{capability[0]}{capability[1]}")
    multiprocessors, name = _DEVICES.get(capability, fallback)

    def torch_imported(module: ModuleType) -> None:
        from . import torch_cuda

        torch_cuda.install(capability, name, multiprocessors, kernels_run=kernels_run)

    NoDriver(capability, multiprocessors).offer()
    after.call("torch", torch_imported)
