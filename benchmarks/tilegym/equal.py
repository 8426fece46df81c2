"""TileGym's kernels beside references in torch: ``tileverify equal`` on recorded launches, one line a kernel.

    python -m benchmarks.tilegym.equal RECORDING [--only TEXT] [--table]

It runs where both this package and TileGym are installed; no GPU is needed.  ``RECORDING`` is what ``tileverify
record`` wrote of ``drive.py``; of each kernel that `references` knows, the smallest launch is looked at, or the smaller
one given there.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import pkgutil
import re
import statistics
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from tileverify.equality.points import Options
from tileverify.equality.targets import EqualOptions, JudgedKernel, judge
from tileverify.hook import imitated
from tileverify.hook.torch_cuda import install_runtime
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.verdict_cache import default_folder
from tileverify.record.recorded_command import RecordOptions
from tileverify.system.errors import TileVerifyError

from . import references

STEPS = 1 << 26


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording", type=Path)
    parser.add_argument("--only", default="", metavar="TEXT", help="kernels with this in their name")
    parser.add_argument("--table", action="store_true", help="print a table in Markdown")
    options = parser.parse_args()
    for module in pkgutil.iter_modules(references.__path__):
        importlib.import_module(f"{references.__name__}.{module.name}")
    launches = smallest(options.recording)
    imitate_device()
    counted: Counter[str] = Counter()
    seconds: list[float] = []
    for name in sorted(name for name in references.REFERENCES if options.only in name):
        started = time.process_time()
        answer, points, said = answered(name, launches)
        took = time.process_time() - started
        seconds.append(took)
        counted[answer] += 1
        row = (name, answer, str(points), f"{took:.1f} s", said)
        print("| " + " | ".join(row) + " |" if options.table else "  ".join(row), flush=True)
    print(f"\n{len(seconds)} kernels: {dict(counted)}, median {statistics.median(seconds or [0]):.1f} s")
    return 0


def imitate_device() -> None:
    """Without a GPU ``torch.cuda`` gets the stand-ins of ``record --no-gpu``: TileGym asks it for the device when it is
    imported.  Tensors stay torch's own, so that references compute."""
    if not torch.cuda.is_available():
        device = imitated(RecordOptions().capability)
        install_runtime(device.capability, device.name, device.multiprocessors)


def smallest(recording: Path) -> dict[str, tuple[Path, dict[str, Any]]]:
    """By ``FILE::KERNEL`` the kernel's source and its smallest launch."""
    found: dict[str, tuple[Path, dict[str, Any]]] = {}
    for file in sorted((recording / "sources").glob("*.toml")):
        text = file.read_text()
        source = Path(text.splitlines()[0].strip("# "))
        for launch in tomllib.loads(text)["launch"]:
            name = f"{'/'.join(source.parts[-2:])}::{launch['kernel']}"
            if name not in found or _size(launch) < _size(found[name][1]):
                found[name] = source, launch
    return found


def _size(launch: Mapping[str, Any]) -> float:
    """Elements of all arrays; a size with a name counts as many."""
    total = 0.0
    for value in launch["args"].values():
        shape = re.search(r"\[([^;\]]*)", value) if isinstance(value, str) else None
        sizes = [each.strip() for each in shape[1].split(",")] if shape else []
        total += math.prod(int(each) if each.isdigit() else 1 << 20 for each in sizes) if shape else 0
    return total


def answered(name: str, launches: Mapping[str, tuple[Path, dict[str, Any]]]) -> tuple[str, int, str]:
    reference, smaller = references.REFERENCES[name]
    if name not in launches:
        return "not recorded", 0, ""
    source, launch = launches[name]
    if smaller is not None:
        launch = {**launch, "grid": smaller["grid"], "args": {**launch["args"], **smaller["args"]}}
        launch = {key: value for key, value in launch.items() if key not in smaller.get("without", ())}
    try:
        (found,) = _judged(source, launch, reference)
    except TileVerifyError as error:
        return "error", 0, str(error)[:160]
    said = found.equality
    shown = said.reason
    if said.difference is not None:
        at = said.difference
        shown = f"{at.array}{list(at.index)}: {at.kernel!r}, not {at.reference!r} ({at.point.filling})"
    elif not shown:
        shown = f"2^-{int(said.bits)}"
    return said.answer.value, said.points, " ".join(shown.split())[:200]


def _judged(source: Path, launch: Mapping[str, Any], reference: Callable[..., Any]) -> list[JudgedKernel]:
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "launch.toml"
        spec.write_text("\n".join(_toml({**launch, "name": "small"})))
        options = EqualOptions(Options(steps=STEPS, values={}), CheckOptions(cache=default_folder()), spec=spec)
        return judge(f"{_installed(source)}::{launch['kernel']}", reference, options)


def _installed(source: Path) -> Path:
    """The same file of the package that is installed here."""
    import tilegym  # only here: it is needed to run, not to look at what is there

    return Path(tilegym.__path__[0], source.as_posix().rpartition("/tilegym/")[2])


def _toml(launch: Mapping[str, Any]) -> Iterator[str]:
    yield "[[launch]]"
    for key, value in launch.items():
        if key != "args":
            yield f"{key} = {json.dumps(value)}"
    yield "[launch.args]"
    for key, value in launch["args"].items():
        yield f"{key} = {json.dumps(value)}"


if __name__ == "__main__":
    raise SystemExit(main())
