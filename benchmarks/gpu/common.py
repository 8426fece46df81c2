"""What the GPU benchmarks share."""

from __future__ import annotations

from pathlib import Path

import tileverify
from tileverify.launching.bundled import BundledKernel, load


def bundles(folder: Path, key: Path) -> dict[str, BundledKernel]:
    """Every bundle by symbol, which says element types and constants, and by the hash in its file's name."""
    found = {}
    for file in sorted(folder.glob("*.tvk")):
        kernel = load(file, keys=[key], only_signed=True)
        found[f"{kernel.bundle.certificate.symbol}.{file.stem.rsplit('.', 1)[-1]}"] = kernel
    return found


def addition(folder: Path, key: Path) -> tuple[BundledKernel, int]:
    """The f32 addition of `launches` among the bundles, and the size of its tile: its symbol's last constant."""
    symbol, kernel = next(each for each in bundles(folder, key).items() if "add_Kt2_A1f32" in each[0])
    return kernel, int(symbol.rsplit("_I", 1)[1].split(".")[0])


def refused(what: str, *call: object) -> None:
    """The launch has to be refused."""
    try:
        tileverify.launch(*call)
    except tileverify.LaunchRefused as error:
        print(f"refused, {what}: {error}")
    else:
        raise AssertionError(what)
