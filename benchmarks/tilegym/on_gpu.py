"""The same launches on a GPU: are recordings with and without one equal?

    python -m benchmarks.tilegym.on_gpu without DIR [PART ...] [--calls N] [--python PYTHON]
    python -m benchmarks.tilegym.on_gpu with DIR [PART ...] [--calls N]
    python -m benchmarks.tilegym.on_gpu compare WITHOUT WITH ...

The second needs an H100 or H200 and ``tileiras``: it records a program whose launches really run.  ``compare`` says for
every specialisation that both sides have, the second of several recordings, whether the bytecode's text (all but
places in sources), signature and launches are the same.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tileverify.frontend.bytecode import decode, print_module
from tileverify.record.recorded_command import RecordOptions, RecordSummary, record

HERE = Path(__file__).parent
CAPABILITY = (9, 0)
CONFIGURATIONS = 3
"""Of a tuning run, with and without a GPU."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, positional in (
        ("without", ["recording"]),
        ("with", ["recording"]),
        ("compare", ["without"]),
        ("program", []),
    ):
        command = commands.add_parser(name)
        for each in positional:
            command.add_argument(each, type=Path)
        if name == "compare":
            command.add_argument("with_gpu", type=Path, nargs="+")
        if name in ("without", "with", "program"):
            command.add_argument("--calls", type=int, default=2, help="calls of each case (default 2)")
            command.add_argument("--python", default=sys.executable, help="a Python with TileGym")
            command.add_argument("parts", nargs="*")
    options = parser.parse_args(arguments)
    match options.command:
        case "without":
            drive = [options.python, str(HERE / "drive.py"), *_drive_arguments(options)]
            return _say(record(drive, output=options.recording, no_gpu=True, options=_limits()))
        case "with":
            command = [sys.executable, "-m", "benchmarks.tilegym.on_gpu", "program", *_drive_arguments(options)]
            return _say(record(command, output=options.recording, no_gpu=False, options=_limits()))
        case "program":
            return program(_drive_arguments(options))
        case _:
            return compare(options.without, options.with_gpu)


def _drive_arguments(options: argparse.Namespace) -> list[str]:
    return ["--calls", str(options.calls), *options.parts]


def _limits() -> RecordOptions:
    return RecordOptions(capability=CAPABILITY, configurations=CONFIGURATIONS)


def _say(summary: RecordSummary) -> int:
    print(
        f"exit code {summary.exit_code}: {summary.launches} launches, {summary.specialisations} specialisations of "
        f"{summary.kernels} kernels, {summary.left_out} left out, {len(summary.failures)} failed"
    )
    for failure in summary.failures:
        print(f"  {failure['kernel']}: {failure['type']}: {failure['message'].splitlines()[0][:160]}")
    return 0


def program(arguments: list[str]) -> int:
    """The recorded program: drive TileGym, thinning tuning runs as without a GPU."""
    import cuda.tile.tune as tune

    from tileverify.hook.launch_hooks import thinned_search

    thinned = thinned_search(tune.exhaustive_search, CONFIGURATIONS)
    tune.exhaustive_search = tune._tune.exhaustive_search = thinned
    sys.path.insert(0, str(HERE))
    import drive

    return int(drive.main(arguments))


# ---------------------------------------------------------------------------------------------------- comparing
def compare(without: Path, with_gpu: Sequence[Path]) -> int:
    """Print what both recordings have in common and where they differ; exit code 1 if specifications differ."""
    here = {key: entry | {"folder": without} for key, entry in _specialisations(without)}
    there = {key: entry | {"folder": folder} for folder in with_gpu for key, entry in _specialisations(folder)}
    common = [key for key in there if key in here]
    kernels = {key[0] for key in common}
    print(f"without a GPU: {len(here)} specialisations of {len({key[0] for key in here})} kernels")
    print(f"with a GPU:    {len(there)} specialisations of {len({key[0] for key in there})} kernels")
    print(f"in both:       {len(common)} specialisations of {len(kernels)} kernels")
    only = [key for key in there if key not in here]
    print(f"only with a GPU: {len(only)}")
    for key in only[:20]:
        print(f"  {there[key]['kernel']} {key[1][:100]}")
    differ = 0
    for what, read in (
        ("text of the bytecode", lambda entry: print_module(decode(_bytecode(entry)))),
        ("signature", lambda entry: entry["signature"]),
    ):
        same = [read(here[key]) == read(there[key]) for key in common]
        print(f"same {what}: {sum(same)} of {len(same)}")
        differ += same.count(False)
    differ += _compare_launches(here, there, common)
    return 1 if differ else 0


def _compare_launches(here: Mapping[Any, Any], there: Mapping[Any, Any], common: list[Any]) -> int:
    """Launches with the same grid and sizes in both recordings: their strides, overlaps and specs."""
    both = same = 0
    for key in common:
        for launch in there[key]["launches"]:
            others = [other for other in here[key]["launches"] if _geometry(other) == _geometry(launch)]
            if not others:
                continue
            both += 1
            alike = any(all(launch[f] == other[f] for f in ("grid", "arguments", "overlaps")) for other in others)
            same += alike
            if not alike:
                print(f"  {there[key]['kernel']}: {_difference(launch, others[0])}")
    made = sum(len(there[key]["launches"]) for key in common)
    print(f"launches of these with a GPU: {made}, in both recordings {both}, the same spec {same}")
    return both - same


def _specialisations(folder: Path) -> Iterator[tuple[tuple[str, str, int], dict[str, Any]]]:
    """By the kernel's text, the signature and options that the JIT compiles it for, and which it is of several that
    differ in what they close over."""
    seen: Counter[tuple[str, str]] = Counter()
    for entry in json.loads((folder / "index.json").read_text())["specialisations"]:
        key = entry["source"]["id"], f"{entry['symbol']} {entry['options']}"
        yield (*key, seen[key]), entry
        seen[key] += 1


def _bytecode(entry: Mapping[str, Any]) -> bytes:
    return (entry["folder"] / entry["bytecode"]).read_bytes()  # type: ignore[no-any-return]


def _geometry(launch: Mapping[str, Any]) -> str:
    sizes = [(a["kind"], a.get("shape"), [i.get("shape") for i in a.get("items", ())]) for a in launch["arguments"]]
    return json.dumps([launch["grid"], sizes])


def _difference(launch: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    for a, b in zip(launch["arguments"], other["arguments"], strict=True):
        if a != b:
            return f"{a} with a GPU, {b} without"
    return f"overlaps {launch['overlaps']} with a GPU, {other['overlaps']} without"


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
