"""The half of ``record`` that lives inside the recorded program.

It is loaded by ``sitecustomize`` from its folder, in whatever Python the program uses: it needs nothing but the
standard library and ``cuda.tile`` (and torch, if the program imports it), and imports nothing outside this folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

from .driver import NoDriver
from .imports import AfterImport
from .journal import Journal
from .launches import LaunchHooks
from .recorder import Limits, Recorder

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
    runs = environment["TILEVERIFY_RECORD_NO_GPU"] != "1"
    journal = Journal(Path(environment["TILEVERIFY_RECORD_OUT"]))
    limits = Limits(
        specialisations=int(environment["TILEVERIFY_RECORD_SPECIALISATIONS"]),
        launches=int(environment["TILEVERIFY_RECORD_LAUNCHES"]),
    )
    version = environment["TILEVERIFY_RECORD_BYTECODE_VERSION"] or None
    after = AfterImport()
    architecture = f"sm_{major}{minor}"
    recorder = Recorder(journal, limits, None if runs else architecture, version, on_device=runs)
    hooks = LaunchHooks(recorder, runs=runs, configurations=int(environment["TILEVERIFY_RECORD_CONFIGURATIONS"]))
    multiprocessors, name = _DEVICES.get((major, minor), (120, f"NVIDIA GPU {architecture}"))

    def extension_imported(module: ModuleType) -> None:
        journal.write("cuda_tile")
        hooks.install_extension(module)

    def torch_imported(module: ModuleType) -> None:
        from . import torch_cuda

        torch_cuda.install((major, minor), name, multiprocessors)

    if not runs:
        NoDriver((major, minor), multiprocessors).offer()
        after.call("torch", torch_imported)
    after.call("cuda.tile._cext", extension_imported)
    after.call("cuda.tile.tune._tune", hooks.install_tune)
    after.call("cuda.tile.tune._tune_utils", hooks.install_tune_utilities)
    after.install()
