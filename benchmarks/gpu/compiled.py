"""A GPU as third opinion on compiled code: cubins of proved launches against the interpreter, also disturbed.

    python -m benchmarks.gpu.compiled FOLDER OUT [--runs N] [--only TEXT] [--mode MODE ...] [--processes N]

``FOLDER`` comes from `compiled_prepare`.  Modes:

    plain      each cubin in each of its launches, N times (default 20)
    delayed    its twin with waits in it, N times, each with another seed (`delays`)
    checked    its twin with checks of every access, once, under ``compute-sanitizer --tool memcheck``
    memcheck   the cubin itself, once, under the same tool, which puts in its own checks
    racecheck  the cubin itself, once, under the tool that looks for hazards in shared memory
    planted    as checked, but the largest array is one element shorter than the launch says: what reaches it must fail

Some cubins may be wrong, so they are launched bare: no bundle of them is needed, and nothing guards a launch.  All
memory is compared: integers and what is not stored to bit for bit, floats within what roundings make of the larger of
the number, one, and the largest number in the array.  What is stored to and not read before is overwritten before each
run, with another pattern each time, and so is what lies between arrays, which must not change.

Writes a line of JSON for each cubin and mode into OUT/compiled.jsonl, and a table.  Exits with 1 where a cubin that
compared equal in `build` does anything else here.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from .children import Row, in_parallel
from .delays import SEED
from .images import Bytes, Marks, StoredImage, StoredMemory
from .stored import element_bytes, numbers

MODES = ("plain", "delayed", "checked", "memcheck", "racecheck", "planted")
TOOLS = {"checked": "memcheck", "memcheck": "memcheck", "racecheck": "racecheck", "planted": "memcheck"}
TWIN = {"delayed": ".delayed", "checked": ".checked", "planted": ".checked"}
PATIENCE = {"plain": 15, "delayed": 30}
UNDER_A_TOOL = 120
"""Seconds without a line."""

NEAR = {"f64": 1e-9, "f32": 2e-5, "f16": 1e-2, "bf16": 5e-2}
"""A sum of halves is rounded in each step, in another order than the interpreter's."""
POISON = (0xFF, 0x55, 0x00)
GUARD, ALIGNED = 4096, 512
"""Bytes between two arrays, and what they begin at multiples of."""


# -------------------------------------------------------------------------------------------------- in the child
class DeviceImage:
    """The memory of a launch on the GPU: one run of bytes with guards between arrays, or each array for itself.

    ``short``: the largest array lacks its last element.
    """

    def __init__(self, image: StoredImage, *, guarded: bool, short: bool = False) -> None:
        self.image, self.guarded = image, guarded
        sizes = [max(1, each.before.size) for each in image.memories]
        self._held = list(sizes)
        if short:
            largest = sizes.index(max(sizes))
            self._held[largest] -= min(element_width(image.memories[largest]), sizes[largest] - 1)
        if guarded:
            starts = [GUARD]
            for size in sizes:
                starts.append(-(-(starts[-1] + size + GUARD) // ALIGNED) * ALIGNED)
            self._whole = np.zeros(starts[-1], np.uint8)
            self._base = _called("cuMemAlloc", self._whole.size)
            self.addresses = [self._base + start for start in starts[:-1]]
            self._starts = starts
        else:
            self.addresses = [_called("cuMemAlloc", size) for size in self._held]

    def free(self) -> None:
        for address in [self._base] if self.guarded else self.addresses:
            _called("cuMemFree", address)

    def bytes_of(self, number: int, *, after: bool) -> Bytes:
        """Of one memory, with the addresses that it has here."""
        memory = self.image.memories[number]
        found = (memory.after if after else memory.before).copy()
        for (where, offset), (to, distance) in self.image.words:
            if where == number:
                found[offset : offset + 8].view("<u8")[0] = self.addresses[to] + distance
        return found

    def fill(self, poison: int) -> None:
        for number, memory in enumerate(self.image.memories):
            data = self.bytes_of(number, after=False)
            data[memory.fresh] = poison
            if self.guarded:
                start, end = self._starts[number], self._starts[number + 1]
                self._whole[start + data.size : end] = poison
                self._whole[start : start + data.size] = data
            elif data.size:
                _called("cuMemcpyHtoD", self.addresses[number], data.ctypes.data, min(data.size, self._held[number]))
        if self.guarded:
            self._whole[:GUARD] = poison
            _called("cuMemcpyHtoD", self._base, self._whole.ctypes.data, self._whole.size)

    def wrong(self) -> Iterator[tuple[str, int, int, str]]:
        """Name of the array, wrong elements, all elements, and the first in words; of bytes outside of arrays, too."""
        if self.guarded:
            seen = np.empty_like(self._whole)
            _called("cuMemcpyDtoH", seen.ctypes.data, self._base, seen.size)
            outside = seen != self._whole
            for (start, _), memory in zip(pairwise(self._starts), self.image.memories, strict=True):
                outside[start : start + memory.before.size] = False
            if outside.any():
                first = int(np.argmax(outside))
                yield "", int(outside.sum()), 0, f"{int(outside.sum())} bytes outside of arrays, first at {first}"
        for number, memory in enumerate(self.image.memories):
            size = memory.before.size
            if self.guarded:
                found = seen[self._starts[number] : self._starts[number] + size]
            else:
                found = np.zeros(size, np.uint8)
                if size:
                    _called("cuMemcpyDtoH", found.ctypes.data, self.addresses[number], min(size, self._held[number]))
            yield from _differences(memory, self.bytes_of(number, after=True), np.ascontiguousarray(found))


def _differences(memory: StoredMemory, after: Bytes, found: Bytes) -> Iterator[tuple[str, int, int, str]]:
    same = (found == after) | ~memory.known
    if same.all():
        return
    dtype, width = "f32" if memory.dtype == "tf32" else memory.dtype, element_width(memory)
    differ = _by_element(~same, width)
    got, wanted = ((each if width == 1 else numbers(each, dtype)) for each in (found, after))
    if dtype in NEAR:
        with np.errstate(all="ignore"):
            usual = max(1.0, float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)))
            room = NEAR[dtype] * np.maximum(np.abs(wanted), usual)
            near = (np.abs(got - wanted) <= room) | (np.isnan(got) & np.isnan(wanted))
        differ &= ~near | ~_by_element(memory.written, width)
    if differ.any():
        first = int(np.argmax(differ))
        text = f"{memory.name}[{first}] is {got[first]} for {wanted[first]}"
        yield memory.name, int(differ.sum()), differ.size, text


def element_width(memory: StoredMemory) -> int:
    """Bytes; 1 where memory is not made of whole elements of its type."""
    width = 4 if memory.dtype == "tf32" else 1 if memory.dtype.startswith("f8") else element_bytes(memory.dtype)
    return 1 if memory.before.size % width else width


def _by_element(marks: Marks, width: int) -> Marks:
    return np.asarray(marks.reshape(-1, width).any(axis=1))


def _called(name: str, *arguments: Any) -> Any:
    from cuda.bindings import driver

    status, *rest = getattr(driver, name)(*arguments)
    if status != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"{name}: {status.name}")
    return int(rest[0]) if rest and name == "cuMemAlloc" else rest[0] if rest else None


def _parameters(image: StoredImage, addresses: Sequence[int]) -> tuple[int, Any]:
    """The address of an array of addresses, as ``cuLaunchKernel`` takes it, and what has to live as long."""
    slots = [
        each if isinstance(each, bytes) else (addresses[each[0]] + each[1]).to_bytes(8, "little")
        for each in image.parameters
    ]
    memory = ctypes.create_string_buffer(b"".join(each.ljust(8, b"\0") for each in slots) or bytes(8))
    start = ctypes.addressof(memory)
    pointers = (ctypes.c_void_p * max(1, len(slots)))(*(start + 8 * number for number in range(len(slots))))
    return ctypes.addressof(pointers), (memory, pointers)


class Loaded:
    """A cubin; ``seed`` of its waits, where it has some."""

    def __init__(self, cubin: bytes) -> None:
        from cuda.bindings import driver

        self._driver = driver
        self.library = _called("cuLibraryLoadData", cubin, [], [], 0, [], [], 0)

    def function(self, entry: str) -> Any:
        return _called("cuKernelGetFunction", _called("cuLibraryGetKernel", self.library, entry.encode()))

    def seed(self, number: int) -> None:
        status, address, _ = self._driver.cuLibraryGetGlobal(self.library, SEED.encode())
        if status != self._driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"no variable {SEED}: {status.name}")
        data = np.array([number], np.uint32)
        _called("cuMemcpyHtoD", address, data.ctypes.data, 4)

    def unload(self) -> None:
        _called("cuLibraryUnload", self.library)


def run_one(folder: Path, name: str, mode: str, runs: int) -> Row:
    """All launches of one cubin."""
    cubin = folder / f"{name}{TWIN.get(mode, '')}.cubin"
    if not cubin.exists():
        return {"outcome": "nothing", "runs": 0, "what": ["there is no such twin"]}
    loaded = Loaded(cubin.read_bytes())
    bad, done, of, begun = 0, 0, 0, time.perf_counter()
    wrong: list[int] = []
    texts: list[str] = []
    for file in sorted(folder.glob(f"{name}.*.npz")):
        image = StoredImage.load(file)
        memory = DeviceImage(image, guarded=mode not in TOOLS, short=mode == "planted")
        function, (pointers, _alive) = loaded.function(image.entry), _parameters(image, memory.addresses)
        for number in range(runs):
            if mode == "delayed":
                loaded.seed(number + 1)
            memory.fill(POISON[number % len(POISON)])
            _called("cuLaunchKernel", function, *image.grid, 1, 1, 1, 0, 0, pointers, 0)
            _called("cuCtxSynchronize")
            found = list(memory.wrong())
            done += 1
            if found:
                bad += 1
                wrong.append(sum(each[1] for each in found))
                of = max(of, sum(each[2] for each in found))
                texts = texts or [f"launch {file.stem.rsplit('.', 1)[1]}: {each[3]}" for each in found[:2]]
        memory.free()
    loaded.unload()
    found_wrong = {"wrong_runs": bad, "wrong": [min(wrong, default=0), max(wrong, default=0)], "of": of}
    outcome = "nothing" if not done else "differs" if bad else "agrees"
    seconds = round(time.perf_counter() - begun, 3)
    return {"outcome": outcome, "runs": done, **found_wrong, "what": texts, "seconds": seconds}


def child(folder: Path, names: Sequence[str], mode: str, runs: int) -> None:
    from cuda.bindings import driver

    _called("cuInit", 0)
    _called("cuCtxSetCurrent", _called("cuDevicePrimaryCtxRetain", _called("cuDeviceGet", 0)))
    del driver
    for name in names:
        print(json.dumps({"name": name}), flush=True)
        try:
            row = run_one(folder, name, mode, runs)
        except RuntimeError as error:  # of the driver: the context is of no use any more
            row = {"outcome": "failed", "what": [str(error)[:300]]}
        print(json.dumps({"name": name, **row}), flush=True)
        if row["outcome"] == "failed":
            return


# ------------------------------------------------------------------------------------------------ in the parent
def rows_of(folder: Path, names: Sequence[str], mode: str, runs: int, processes: int) -> list[Row]:
    prefix = []
    if mode in TOOLS:
        program = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
        if program is None:
            raise FileNotFoundError("there is no compute-sanitizer on this machine")
        prefix = [program, "--tool", TOOLS[mode], "--print-limit", "3"]
        runs = 1

    def command(left: Sequence[str]) -> list[str]:
        program = [sys.executable, "-m", "benchmarks.gpu.compiled", str(folder), "-", "--mode", mode]
        return [*prefix, *program, "--runs", str(runs), "--child", *left]

    rows = in_parallel(command, names, PATIENCE.get(mode, UNDER_A_TOOL), processes)
    for row in rows:
        said = [line.lstrip("= ") for line in row.pop("printed", []) if line.startswith("=====")]
        row["reported"] = [line for line in said if line and "COMPUTE-SANITIZER" not in line and "SUMMARY" not in line]
        row["mode"] = mode
    return rows


def fine(row: Mapping[str, Any]) -> bool:
    return row["outcome"] in ("agrees", "nothing") and not row["reported"]


def table(rows: Sequence[Mapping[str, Any]], about: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """By group, what `build` says, and mode: cubins that are right in all runs, and that are not."""
    heads = ("", "`build` says", "mode", "cubins", "no launch", "runs", "right in all", "wrong", "fails", "reported")
    yield "| " + " | ".join(heads) + " |"
    yield "|---|---|---|---:|---:|---:|---:|---:|---:|---:|"
    keys = dict.fromkeys((about[row["name"]]["group"], _said(about[row["name"]]), row["mode"]) for row in rows)
    for group, said, mode in sorted(keys):
        of = [r for r in rows if (about[r["name"]]["group"], _said(about[r["name"]]), r["mode"]) == (group, said, mode)]
        counts = [
            len(of), sum(r["outcome"] == "nothing" for r in of), sum(r.get("runs", 0) for r in of),
            sum(r["outcome"] == "agrees" for r in of), sum(r["outcome"] == "differs" for r in of),
            sum(r["outcome"] in ("failed", "hangs") for r in of), sum(bool(r["reported"]) for r in of),
        ]  # fmt: skip
        yield f"| {group} | {said} | {mode} | " + " | ".join(map(str, counts)) + " |"
    yield ""
    for row in rows:
        if not fine(row):
            wrong = f"{row.get('wrong_runs', '')} of {row.get('runs', '')} runs, {row.get('wrong', '')} elements"
            text = "; ".join([*row["what"][:2], *row["reported"][:2]])
            yield f"* {row['name']} ({_said(about[row['name']])}), {row['mode']}: {row['outcome']}, {wrong}: {text}"


def _said(about: Mapping[str, Any]) -> str:
    return "equal" if about["equal"] else "differs" if about["differences"] else "not looked at"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--only", default="", help="cubins with this in their names")
    parser.add_argument("--mode", nargs="+", choices=MODES, default=["plain", "delayed"])
    parser.add_argument("--processes", type=int, default=1, help="at once")
    parser.add_argument("--child", nargs="+", metavar="NAME", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.folder, options.child, options.mode[0], options.runs)
        return 0
    files = [file for file in sorted(options.folder.glob("*.json")) if options.only in file.name]
    about = {file.stem: json.loads(file.read_text()) for file in files}
    if not about:
        print(f"there is nothing to run in {options.folder}", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for mode in options.mode:
        begun = time.monotonic()
        rows += rows_of(options.folder, list(about), mode, options.runs, options.processes)
        print(f"{mode}: {time.monotonic() - begun:.0f} s", flush=True)
    with (options.out / "compiled.jsonl").open("a", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps({**row, "build": _said(about[row["name"]])}) + "\n")
    print("\n".join(table(rows, about)))
    return 0 if all(fine(row) for row in rows if about[row["name"]]["equal"] and row["mode"] != "planted") else 1


if __name__ == "__main__":
    raise SystemExit(main())
