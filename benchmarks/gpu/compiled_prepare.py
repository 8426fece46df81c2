"""Cubins of proved launches, their twins, and small launches with what the interpreter makes of them, for `compiled`.

    python -m benchmarks.compiled_code collect KEPT --arch sm_90
    python -m benchmarks.gpu.compiled_prepare OUT [--kept KEPT] [--sources FILE ...] [--bundles FOLDER] [--only TEXT]
        [--mutants N] [--wide NAME=NUMBER ...]

For each cubin of ``KEPT``, of each proved launch of ``FILE``, and of each bundle in ``FOLDER``: NAME.cubin as tileiras
made it; NAME.delayed.cubin, with waits (`delays`); NAME.checked.cubin, as ``tileiras --sanitize=memcheck`` makes it;
NAME.K.npz, launches of the contract (`images`); NAME.json, what `build` says of the cubin.  All three
cubins come from the PTX that tileiras wrote, by the same ``ptxas`` with the same options.  What is there is kept.

``--mutants``: also cubins from which one ``bar.sync`` was taken, so that the waits have something to find.
``--wide``: a large launch for `compiled_wide`, of the contracts that have all their sizes among these names.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import random
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from tileverify.backend.assembler import Assembled, AssemblyError, find_assembler
from tileverify.backend.audit.legal_launches import covering
from tileverify.backend.compiled.both_runs import Reference, reference
from tileverify.backend.compiled.cubin_look import ProvedEntry, looked
from tileverify.backend.compiled.machine.machine import Unfollowed
from tileverify.backend.interpreter import InterpreterStop
from tileverify.backend.numbers.choose import ContractInNumbers
from tileverify.contract.launch import KernelUnit
from tileverify.frontend.bytecode import decode
from tileverify.frontend.sources.discover import discover
from tileverify.launching.bundle.manifest import parameter_types, read_bundle
from tileverify.pipeline.second_readings import proved_entry
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import Verdict

from .build import ARCHITECTURE
from .delays import waits, with_delays
from .images import image_of

FIRST, DRAWN = 3, 12
"""The first launches of the contract that are taken, and launches of which the one with most blocks is taken, too."""
BYTES = 1 << 21
"""Of the memory of one launch."""
SECONDS = 30
"""Of one step of the preparation, after which it is left out."""
CHECKED = ("-sanitize=memcheck", "-g-tmem-access-check")
"""What ``tileiras --sanitize=memcheck`` adds to the options of ``ptxas``."""
_BARRIER = re.compile(r"^\s*bar\.sync\s+0;\n", re.MULTILINE)


@dataclass(frozen=True)
class ProvedCubin:
    name: str
    group: str
    proved: ProvedEntry
    assembled: Assembled


class OutOfTime(Exception):
    pass


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raises `OutOfTime` after so many seconds."""

    def end(*_: object) -> None:
        raise OutOfTime(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def kept_cubins(folder: Path) -> Iterator[ProvedCubin]:
    for file in sorted(folder.glob(f"*-{ARCHITECTURE}.pickle")):
        kept = pickle.loads(file.read_bytes())
        yield ProvedCubin(file.stem.removesuffix(f"-{ARCHITECTURE}"), kept.group, kept.proved, kept.assembled)


def cubins_of(files: Sequence[str]) -> Iterator[ProvedCubin]:
    """Of the proved launches of these sources; prints those that are not proved or not assembled."""
    assembler = find_assembler()
    for unit in discover(list(files)):
        if not isinstance(unit, KernelUnit):
            raise unit.error
        name = _plain(f"{unit.file.stem}-{unit.kernel}-{unit.launch.name}")
        result = check_unit(unit)
        if result.verdict is not Verdict.PROVED:
            print(f"{name}: {result.verdict.value}", flush=True)
            continue
        proved = proved_entry(unit, result)
        try:
            yield ProvedCubin(name, unit.file.stem, proved, assembler.assembled(unit.bytecode, ARCHITECTURE))
        except AssemblyError as error:
            print(f"{name}: {error}", flush=True)


def cubins_in(folder: Path) -> Iterator[ProvedCubin]:
    """Of bundles, assembled again."""
    assembler = find_assembler()
    for file in sorted(folder.glob("*.tvk")):
        bundle = read_bundle(file.read_bytes(), str(file))
        c = bundle.certificate
        proved = ProvedEntry(bundle.bytecode, c.symbol, c.parameters, c.launch, c.requires)
        assembled = assembler.assembled(bundle.bytecode, ARCHITECTURE)
        yield ProvedCubin(_plain(file.stem), folder.name, proved, assembled)


def _plain(name: str) -> str:
    return re.sub(r"[^\w-]", "_", name)


def without_barrier(cubin: ProvedCubin, seed: int) -> ProvedCubin | None:
    """The cubin less one of its barriers; ``None`` where it has none."""
    ptx = cubin.assembled.ptx or ""
    places = list(_BARRIER.finditer(ptx))
    if not places:
        return None
    place = random.Random(seed).choice(places)
    line = ptx.count("\n", 0, place.start()) + 1
    changed = replace(cubin.assembled, ptx=ptx[: place.start()] + ptx[place.end() :])
    return ProvedCubin(f"mutant-{cubin.name}-{line}", "mutant", cubin.proved, changed)


# ------------------------------------------------------------------------------------------------------ cubins
def by_ptxas(ptx: str, host: bytes | None, more: Sequence[str] = ()) -> bytes:
    """As tileiras has it made; raises `AssemblyError`."""
    with tempfile.TemporaryDirectory() as folder:
        source, target, object_file = (Path(folder, name) for name in ("kernel.ptx", "kernel.cubin", "host.o"))
        source.write_text(ptx)
        object_file.write_bytes(host or b"")
        command = [
            str(find_assembler().path.with_name("ptxas")), "-arch", f"{ARCHITECTURE}a", str(source), "-o", str(target),
            "--opt-level", "3", "--enable-extended-smem=true", f"--nv-host={object_file}", "-uumn", *more,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssemblyError(f"ptxas: {done.stderr.strip()[:300]}")
        return target.read_bytes()


# ---------------------------------------------------------------------------------------------------- launches
def small_launches(proved: ProvedEntry) -> Iterator[Reference | str]:
    """Launches of the contract as the interpreter has them, or why there is none."""
    module = decode(proved.bytecode)
    entry = next(each for each in module.entries if each.name == proved.symbol)
    contract = ContractInNumbers(proved.launch, proved.requires)
    found = list(covering(contract, entry, DRAWN))
    rest = sorted(found[FIRST:], key=lambda inputs: math.prod(inputs.launch.grid))
    for inputs in (*found[:FIRST], *rest[-1:]):
        if sum(each.nbytes for each in inputs.memory.values()) > BYTES:
            yield f"more than {BYTES} bytes"
            continue
        try:
            with within(SECONDS):
                yield reference(module, entry, proved.parameters, inputs, whole=True)
        except (Unfollowed, InterpreterStop, OutOfTime) as error:
            yield str(error)


def _stored(out: Path, name: str, proved: ProvedEntry) -> tuple[int, list[str]]:
    """How many launches were written, and what kept others back."""
    made, why = 0, []
    for launch in small_launches(proved):
        if isinstance(launch, str):
            why.append(launch)
        elif sum(each.size for each in launch.bound.image.allocations) > BYTES:
            why.append(f"more than {BYTES} bytes")
        else:
            image_of(launch).save(out / f"{name}.{made}.npz")
            made += 1
    return made, why


def wide_launch(proved: ProvedEntry, sizes: Mapping[str, int]) -> Mapping[str, Any] | None:
    """Grid, types, shapes and parameters of the launch of these sizes; ``None`` if it needs others."""
    contract = ContractInNumbers(proved.launch, proved.requires)
    values = {name: sizes[name] for name in contract.roots if name in sizes}
    if not values or len(values) < len(contract.roots):
        return None
    types = parameter_types(proved.bytecode, proved.symbol, proved.symbol)
    return {
        "kernel": proved.symbol,
        "grid": [contract.value(axis, values) for axis in contract.grid],
        "arrays": {
            each.name: (each.dtype, [contract.value(size, values) for size in each.shape])
            for each in proved.launch.arrays()
        },
        "parameters": [
            (each.role.value, each.argument, each.dim, type_)
            for each, type_ in zip(proved.parameters, types, strict=True)
        ],
    }


def prepare(cubin: ProvedCubin, out: Path, sizes: Mapping[str, int]) -> None:
    """All files of one cubin; the last one is NAME.json."""
    ptx, host = cubin.assembled.ptx, cubin.assembled.host
    if ptx is None:
        raise AssemblyError("the assembler's PTX was not seen")
    plain = by_ptxas(ptx, host)
    seen = None
    try:
        with within(SECONDS):
            seen = looked(cubin.proved, cubin.assembled, ARCHITECTURE)
    except OutOfTime:
        pass
    try:
        made, why = _stored(out, cubin.name, cubin.proved)
    except OutOfTime as error:
        made, why = len(list(out.glob(f"{cubin.name}.*.npz"))), [str(error)]
    (out / f"{cubin.name}.cubin").write_bytes(plain)
    (out / f"{cubin.name}.delayed.cubin").write_bytes(by_ptxas(with_delays(ptx), host))
    unchecked = ""
    try:
        (out / f"{cubin.name}.checked.cubin").write_bytes(by_ptxas(ptx, host, CHECKED))
    except AssemblyError as error:  # more registers than there are
        unchecked = error.message
    about = {
        "name": cubin.name,
        "group": cubin.group,
        "same": plain == cubin.assembled.cubin,
        "looked": "" if seen is None else str(seen),
        "equal": seen is not None and bool(seen.launches) and not seen.differences,
        "differences": [] if seen is None else [f"{each.kind.value}: {each}" for each in seen.differences],
        "launches": made,
        "why_not": why,
        "waits": waits(ptx),
        "unchecked": unchecked,
        "wide": wide_launch(cubin.proved, sizes),
    }
    (out / f"{cubin.name}.json").write_text(json.dumps(about, indent=1) + "\n")
    print(f"{cubin.name}: {about['looked']}, {made} launches, {about['waits']} waits", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--kept", type=Path, help="what `compiled_code collect` wrote")
    parser.add_argument("--sources", nargs="+", default=[], help="files with kernels and launch specs")
    parser.add_argument("--bundles", type=Path, help="a folder of bundles")
    parser.add_argument("--only", default="", help="cubins with this in their names")
    parser.add_argument("--mutants", type=int, default=0, help="cubins less a barrier")
    parser.add_argument("--wide", nargs="+", default=[], metavar="NAME=NUMBER", help="sizes of a large launch")
    options = parser.parse_args()
    sizes = {name: int(number) for name, number in (each.split("=") for each in options.wide)}
    options.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for cubin in _wanted(options):
        if options.only not in cubin.name or (options.out / f"{cubin.name}.json").exists():
            continue
        try:
            prepare(cubin, options.out, sizes)
        except AssemblyError as error:
            failed += 1
            print(f"{cubin.name}: {error}", file=sys.stderr, flush=True)
    return 1 if failed else 0


def _wanted(options: argparse.Namespace) -> Iterator[ProvedCubin]:
    found = []
    for cubins in (
        cubins_of(options.sources) if options.sources else (),
        kept_cubins(options.kept) if options.kept else (),
        cubins_in(options.bundles) if options.bundles else (),
    ):
        for cubin in cubins:
            yield cubin
            found.append(cubin)
    mutants = (without_barrier(each, 1) for each in random.Random(1).sample(found, len(found)))
    yield from islice((each for each in mutants if each is not None), options.mutants)


if __name__ == "__main__":
    raise SystemExit(main())
