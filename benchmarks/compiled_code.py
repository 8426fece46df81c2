"""What `build` sees of compiled code: how much is compared, how much is proved for all launches, and what it costs.

    python -m benchmarks.compiled_code collect FOLDER [--recorded DIR] [--groups LIST] [--arch LIST] [--only TEXT]
    python -m benchmarks.compiled_code judge FOLDER [--jobs N] [--lines FILE]
    python -m benchmarks.compiled_code mutate FOLDER [--count N] [--seed N] [--jobs N] [--lines FILE]

``collect`` checks every launch of the corpus and of the library, and of each kernel of a folder that `tileverify
record` wrote the first specialisation that is proved; what is proved is assembled and kept in ``FOLDER``, a file a
cubin, with the seconds that ``tileiras`` took.  Files that are there already are kept.  ``judge`` holds each against
its bytecode as `build` does, and needs no assembler.  ``mutate`` changes one instruction of PTX at a time
(`ptx_changes`) and counts what is called different, or not proved any more.  Lines that ``--lines`` has already are
not judged again.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import multiprocessing
import pickle
import random
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from tileverify import kernels as library
from tileverify.backend.assembler import Assembled, AssemblyError, find_assembler
from tileverify.backend.compiled.cubin_look import ProvedEntry, looked
from tileverify.backend.compiled.machine.steps import program_of
from tileverify.backend.compiled.ptx import read
from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline.code_footprints.code_proof import code_proof
from tileverify.pipeline.second_readings import proved_entry
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import Verdict

from .kept_cubins import Kept
from .ptx_changes import change
from .real.report import kernels

Line = dict[str, Any]
QUARTER = 0.25


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("collect", "judge", "mutate"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--recorded", type=Path, help="a folder that `tileverify record` wrote")
    parser.add_argument("--groups", default="corpus,library,recorded", help="which of them to collect")
    parser.add_argument("--arch", default="sm_90", help="architectures, with commas between (default sm_90)")
    parser.add_argument("--only", default="", help="launches with this in their names")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000, help="changes of PTX (default 1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lines", type=Path, help="a line of JSON for each, which is kept between runs")
    options = parser.parse_args(arguments)
    if options.step == "collect":
        _collect(options)
        return 0
    files = [file for file in sorted(options.folder.glob("*.pickle")) if options.only in file.name]
    if options.step == "judge":
        _print_judged(_all_lines(_judged, [(str(file), 0) for file in files], options))
        return 0
    draw = random.Random(options.seed)
    tasks = [(str(draw.choice(files)), draw.getrandbits(32)) for _ in range(options.count)]
    _print_mutants(_all_lines(_mutated, tasks, options))
    return 0


def _units(recorded: Path | None, groups: Sequence[str]) -> Iterator[tuple[str, str, Iterator[KernelUnit]]]:
    """Group, name, and the launches of which the first one that is proved is taken."""
    of_library = Path(library.__file__).parent / "device"
    for group, folder in (("corpus", ROOT), ("library", of_library)):
        for unit in discover([str(folder)]) if group in groups else ():
            if isinstance(unit, KernelUnit):
                yield group, f"{unit.file.stem}-{unit.kernel}-{unit.launch.name}", iter((unit,))
    if recorded is not None and "recorded" in groups:
        for name, files in sorted(kernels(recorded, 4).items()):
            yield "recorded", name, (unit for file in files for unit in _first(file))


def _first(file: Path) -> Iterator[KernelUnit]:
    return islice((unit for unit in discover([str(file)]) if isinstance(unit, KernelUnit)), 1)


def _collect(options: argparse.Namespace) -> None:
    options.folder.mkdir(parents=True, exist_ok=True)
    assembler = find_assembler()
    done: dict[tuple[bytes, str], tuple[Assembled | None, float]] = {}
    for group, name, units in _units(options.recorded, options.groups.split(",")):
        stem = "".join(each if each.isalnum() or each in "-_" else "_" for each in f"{group}-{name}")
        targets = {each: options.folder / f"{stem}-{each}.pickle" for each in options.arch.split(",")}
        if options.only not in stem or all(target.exists() for target in targets.values()):
            continue
        proved = next(_proved(units), None)
        for architecture, target in targets.items() if proved is not None else ():
            key = hashlib.sha256(proved.bytecode).digest(), architecture
            if key not in done:
                started = time.perf_counter()
                try:
                    assembled = assembler.assembled(proved.bytecode, architecture)
                except AssemblyError as error:
                    print(f"{stem} {architecture}: {error.message}", file=sys.stderr)
                    assembled = None
                done[key] = assembled, time.perf_counter() - started
            assembled, seconds = done[key]
            if assembled is not None:
                target.write_bytes(pickle.dumps(Kept(name, group, architecture, proved, assembled, seconds)))


def _proved(units: Iterable[KernelUnit]) -> Iterator[ProvedEntry]:
    for unit in units:
        result = check_unit(unit)
        if result.verdict is Verdict.PROVED:
            yield proved_entry(unit, result)


def _all_lines(judge: Any, tasks: Sequence[tuple[str, int]], options: argparse.Namespace) -> list[Line]:
    lines: dict[tuple[str, int], Line] = {}
    if options.lines is not None and options.lines.exists():
        for text in options.lines.read_text(encoding="utf-8").split("\n"):
            if text:
                line = json.loads(text)
                lines[line["file"], line["seed"]] = line
    left = [task for task in tasks if task not in lines]
    random.Random(1).shuffle(left)
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=50) as pool:
        for line in pool.imap_unordered(partial(_guarded, judge), left):
            lines[line["file"], line["seed"]] = line
            if options.lines is not None:
                with options.lines.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
    return [lines[task] for task in tasks if task in lines]


def _guarded(judge: Any, task: tuple[str, int]) -> Line:
    file, seed = task
    return {"file": file, "seed": seed, **judge(pickle.loads(Path(file).read_bytes()), seed)}


def _judged(kept: Kept, _: int) -> Line:
    started = time.perf_counter()
    seen = looked(kept.proved, kept.assembled, kept.architecture)
    between = time.perf_counter()
    proof = code_proof(kept.proved, kept.assembled)
    return {
        "group": kept.group,
        "architecture": kept.architecture,
        "launches": seen.launches,
        "differences": [str(each) for each in seen.differences],
        "why_not": seen.why_not,
        "proof": proof.why_not,
        "tileiras": kept.seconds,
        "compared": between - started,
        "proving": time.perf_counter() - between,
    }


def _mutated(kept: Kept, seed: int) -> Line:
    assert kept.assembled.ptx is not None
    changed = change(kept.assembled.ptx, random.Random(seed))
    if changed is None:
        return {"kind": ""}
    assembled = replace(kept.assembled, ptx=changed.text)
    seen = looked(kept.proved, assembled, kept.architecture)
    proof = "" if seen.differences else code_proof(kept.proved, assembled).why_not
    compiled = read(changed.text).entry(kept.proved.symbol)
    steps = program_of(compiled).steps
    at = next((place for place, each in enumerate(compiled.instructions) if each.line >= changed.line), len(steps) - 1)
    return {
        "kind": changed.kind,
        "was": changed.was,
        "now": changed.now,
        "executed": steps[at] is not None,
        "differences": [str(each) for each in seen.differences[:1]],
        "launches": seen.launches,
        "why_not": seen.why_not,
        "proof": proof,
    }


def _print_judged(lines: Sequence[Line]) -> None:
    print(f"{'':22} {'launches':>8} {'equal':>7} {'differ':>7} {'not seen':>8} {'for all':>8}")
    for key in sorted({(line["group"], line["architecture"]) for line in lines}):
        of = [line for line in lines if (line["group"], line["architecture"]) == key]
        differ = sum(bool(line["differences"]) for line in of)
        equal = sum(not line["differences"] and line["launches"] > 0 for line in of)
        for_all = sum(not line["proof"] for line in of)
        print(f"{' '.join(key):22} {len(of):8} {equal:7} {differ:7} {len(of) - differ - equal:8} {for_all:8}")
    for part in ("why_not", "proof"):
        print(f"\n{part}:")
        for why, count in collections.Counter(line[part] for line in lines if line[part]).most_common(40):
            print(f"{count:6} {why}")
    print("\nseconds, of tileiras' own:")
    for part in ("compared", "proving"):
        ratios = sorted(line[part] / line["tileiras"] for line in lines)
        cheap = sum(ratio <= QUARTER for ratio in ratios) / len(ratios)
        ninth = ratios[int(0.9 * (len(ratios) - 1))]
        print(f"{part:10} median {statistics.median(ratios):.2f}, at 90 % {ninth:.2f}, within a quarter {cheap:.1%}")


def _print_mutants(lines: Sequence[Line]) -> None:
    """``right``: the footprints of the changed code are proved.  ``asleep``: no launch executes it, `show` says so."""
    drawn = [line for line in lines if line["kind"]]
    print(f"{'':12} {'changes':>8} {'differ':>7} {'right':>7} {'asleep':>7} {'left':>6}")
    for kind in (*sorted({line["kind"] for line in drawn}), ""):
        of = [line for line in drawn if kind in ("", line["kind"])]
        differ = [line for line in of if line["differences"]]
        others = [line for line in of if not line["differences"]]
        right = [line for line in others if not line["proof"]]
        asleep = [line for line in others if line["proof"] and not (line["executed"] and line["launches"])]
        left = len(others) - len(right) - len(asleep)
        print(f"{kind or 'all':12} {len(of):8} {len(differ):7} {len(right):7} {len(asleep):7} {left:6}")


if __name__ == "__main__":
    sys.exit(main())
