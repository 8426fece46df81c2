"""Every kernel of the library on a GPU, from signed bundles: `tests/kernels`, with their launches made there.

    python -m benchmarks.gpu.device_kernels prepare FOLDER KEY.pem        where the compiler is
    python -m benchmarks.gpu.device_kernels run FOLDER KEY.pub OUT        where the GPU is, without compiler and solver

`prepare` runs the tests in the interpreter and builds a signed bundle for every specialisation that they launch.  `run`
runs them again: each launch copies its arrays to the GPU, looks for the bundle that admits it, and copies them back.
A launch without a bundle fails its test.  Writes device_kernels.json into ``OUT``.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import tileverify
from tileverify.kernels.prepared import AtHand

TESTS = Path(__file__).parents[2] / "tests" / "kernels"
NOT_OF_KERNELS = {"test_array_packages.py", "test_examples.py", "test_proved.py"}


@dataclass
class Prepare:
    """Launches in the interpreter, and builds what was launched."""

    folder: Path
    key: Path
    built: dict[bytes, Path] = field(default_factory=dict)

    def launch(self, stream: Any, grid: Any, kernel: Any, arguments: Any, **options: Any) -> None:
        from tileverify.backend.assembler import find_assembler
        from tileverify.launching.bundle.build import build_bundle
        from tileverify.launching.bundle.manifest import bundle_bytes
        from tileverify.launching.bundle.trust import sign
        from tileverify.launching.calls import grid_of
        from tileverify.launching.launcher import of_this_process
        from tileverify.pipeline import CheckOptions
        from tileverify.pipeline.unit_check import check_unit
        from tileverify.pipeline.unit_summary import solver_version

        of_this_process().launch(stream, grid, kernel, arguments, **options)
        asked = of_this_process().asked(stream, kernel, arguments, **options)
        unit = replace(of_this_process()._specialisation(asked).unit, launch=asked.spec(grid_of(grid)))
        result = check_unit(unit, CheckOptions(certificate=True))
        if result.certificate is None:
            raise AssertionError(f"{unit.kernel}: {result.verdict} and no certificate: {result.notes}")
        identity = result.certificate.text.encode()
        if identity in self.built:
            return
        bundle = build_bundle(unit, result, solver_version(), find_assembler(), ("sm_90",))
        path = self.folder / f"{unit.kernel}{tiles_of(kernel._pyfunc, arguments)}.{len(self.built)}.tvk"
        path.write_bytes(bundle_bytes(sign(bundle, self.key)))
        self.built[identity] = path


@dataclass
class Run:
    """Launches on the GPU."""

    at_hand: dict[str, AtHand]
    made: Counter[str] = field(default_factory=Counter)

    def launch(self, stream: Any, grid: Any, kernel: Any, arguments: Any, **options: Any) -> None:
        import torch

        memory: dict[int, tuple[Any, Any]] = {}
        tiles = tiles_of(kernel, arguments)
        told = [each for each, constant in zip(arguments, constants(kernel), strict=True) if not constant]
        given = [self._on_gpu(each, memory) for each in told]
        bundles = self.at_hand.get(f"{kernel.__name__}{tiles}", AtHand())
        if not bundles.launch(kernel.__name__, tuple(grid), given, torch.cuda.current_stream()):
            raise AssertionError(f"there is no bundle of {kernel.__name__}{tiles} for these arguments")
        torch.cuda.synchronize()
        self.made[kernel.__name__] += 1
        for base, tensor in memory.values():
            if base.flags.writeable:
                base.reshape(-1).view(np.uint8)[:] = tensor.cpu().numpy()

    def _on_gpu(self, value: Any, memory: dict[int, tuple[Any, Any]]) -> Any:
        """The array on the GPU; views of one array stay views of one."""
        import torch

        if isinstance(value, list | tuple):
            return type(value)(self._on_gpu(each, memory) for each in value)
        if not isinstance(value, np.ndarray):
            return value
        base = value
        while isinstance(base.base, np.ndarray):
            base = base.base
        if id(base) not in memory:
            raw = np.ascontiguousarray(base).reshape(-1).view(np.uint8)
            assert base.flags.c_contiguous
            memory[id(base)] = base, torch.from_numpy(raw.copy()).cuda()
        tensor = memory[id(base)][1]
        name = {"bool": "bool"}.get(value.dtype.name, value.dtype.name)
        typed = tensor.view(getattr(torch, name))
        strides = tuple(each // value.itemsize for each in value.strides)
        offset = (value.ctypes.data - base.ctypes.data) // value.itemsize
        return torch.as_strided(typed, value.shape, strides, offset)


def constants(function: Any) -> list[bool]:
    """Which parameters are compiled in."""
    parameters = inspect.signature(function).parameters.values()
    return ["Constant" in str(each.annotation) for each in parameters]


def tiles_of(function: Any, arguments: Sequence[Any]) -> str:
    chosen = (str(value) for value, constant in zip(arguments, constants(function), strict=True) if constant)
    return f"({','.join(chosen)})"


class Kept:
    """How each test ended."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.outcome != "passed":
            text = str(report.longrepr)[-2000:] if report.outcome == "failed" else ""
            self.outcomes[report.nodeid] = f"{report.outcome}{': ' * bool(text)}{text}"


def run_tests(launch: Any) -> Kept:
    kept = Kept()
    own = (path for path in sorted(TESTS.glob("test_*.py")) if not path.name.startswith("test_host_"))
    files = [str(path) for path in own if path.name not in NOT_OF_KERNELS]
    with mock.patch.object(tileverify, "launch", launch):
        pytest.main(["-q", "--noconftest", "-p", "no:cacheprovider", "--import-mode=importlib", *files], plugins=[kept])
    return kept


def without_compiler() -> None:
    """Kernels are names here: nothing of cuda.tile is looked at."""

    def kernel(function: Any = None, /, **hints: Any) -> Any:
        return function if function is not None else kernel

    tile = mock.MagicMock()
    tile.kernel = kernel
    tile.Constant = {int: "Constant", bool: "Constant", float: "Constant"}
    package = import_module("cuda")  # of cuda-python, which launches need
    package.tile = tile  # type: ignore[attr-defined]
    sys.modules["cuda.tile"] = tile


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=("prepare", "run"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("out", type=Path, nargs="?", default=Path())
    asked = parser.parse_args(argv)
    if asked.what == "prepare":
        asked.folder.mkdir(parents=True, exist_ok=True)
        prepare = Prepare(asked.folder, asked.key)
        kept = run_tests(prepare.launch)
        print(f"{len(prepare.built)} bundles")
    else:
        without_compiler()
        at_hand: dict[str, AtHand] = {}
        files = sorted(asked.folder.glob("*.tvk"))
        for file in files:
            bundle = tileverify.load(file, keys=[asked.key], only_signed=True)
            at_hand.setdefault(file.name.partition(".")[0], AtHand()).bundles.setdefault(bundle.name, []).append(bundle)
        count, run = len(files), Run(at_hand)
        kept = run_tests(run.launch)
        document = {"bundles": count, "launches": dict(sorted(run.made.items())), "tests": kept.outcomes}
        asked.out.mkdir(parents=True, exist_ok=True)
        (asked.out / "device_kernels.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        print(f"{count} bundles, {sum(run.made.values())} launches of {len(run.made)} kernels")
    ended = Counter(outcome.partition(":")[0] for outcome in kept.outcomes.values())
    print(dict(ended))
    return 0 if set(ended) <= {"passed", "skipped"} else 1


if __name__ == "__main__":
    sys.exit(main())
