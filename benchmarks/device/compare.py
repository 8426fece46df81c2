"""Runs launches on a GPU and compares all memory with what the reference interpreter left there.

    python -m benchmarks.device.compare prepare FOLDER               interpret and assemble; needs no GPU
    python -m benchmarks.device.compare run FOLDER [--json FILE]     launch and compare; needs a GPU, NumPy, no more
    python -m benchmarks.device.compare all FOLDER [--json FILE]     both, one after the other

The launches are those of the corpus that are labelled proved, and one for each family of ops on boundary values
(`ops`).  Memory that a kernel must not write is compared too: arrays start with random contents, and every allocation
lies between guard zones.  Integers must be equal, floats equal or within a tolerance of their type.  Launches that are
refuted for a race are run ``--repeat`` times; their table says in how many runs the result was another than that of
the blocks run one after the other.  Runs that agree prove nothing.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import queue
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .driver import Driver, DriverError

Array = NDArray[Any]
Case = Mapping[str, Any]
Row = dict[str, Any]

TOLERANCES = {"f32": 2e-5, "f16": 2e-3, "bf16": 1.6e-2, "f64": 1e-12}
"""Of the larger of the value and one: two units in the last place of the short types, some twenty for sums in f32."""
GUARD = 4096
GUARD_BYTE = 0xA5
EXAMPLES = 5
"""Elements reported of an array that is off: place, on the device, in the interpreter; the worst ones first."""
PATIENCE = 60.0
"""Seconds that one case may take."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("prepare", "run", "all"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, help="write versions and rows to this file too")
    parser.add_argument("--repeat", type=int, default=20, help="runs of each racy launch (default %(default)s)")
    parser.add_argument("--only", default="", help="prepare those alone whose names begin so, as found/")
    options = parser.parse_args(arguments)
    if options.step != "run":
        from .prepare import prepare  # needs what a machine with a GPU may lack

        print(f"{prepare(options.folder, options.only)} launches in {options.folder}")
    if options.step == "prepare":
        return 0
    manifest = json.loads((options.folder / "manifest.json").read_text())
    try:
        versions = in_other_process(_describe)
    except DriverError as error:
        print(error, file=sys.stderr)
        return 2
    rows = list(_rows(options.folder, manifest["cases"], options.repeat))
    report = {
        "date": datetime.now(UTC).date().isoformat(),
        "device": versions,
        "prepared with": manifest["versions"],
        "architecture": manifest["architecture"],
        "tolerances": TOLERANCES,
        "launches": rows,
    }
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    _print(report)
    return int(any(row["result"] in ("differs", "failed") for row in rows if row["kind"] != "racy"))


# --------------------------------------------------------------------------------------------- running the cases
def _describe(answers: Any) -> None:
    try:
        answers.put({**Driver().describe(), "python": sys.version.split()[0], "numpy": np.__version__})
    except DriverError as error:
        answers.put(str(error))


def in_other_process(target: Any) -> dict[str, str]:
    """What ``target`` puts into a queue.  :raises DriverError: with the text, if that is a text."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=target, args=(answers,))
    process.start()
    answer = answers.get(timeout=PATIENCE)
    process.join()
    if isinstance(answer, str):
        raise DriverError(answer)
    return dict(answer)


def _rows(folder: Path, cases: Sequence[Case], repeat: int) -> Iterator[Row]:
    """One row for each case.  A context that saw an error is of no further use: another process goes on behind it."""
    context = multiprocessing.get_context("spawn")
    done = 0
    while done < len(cases):
        answers = context.Queue()
        process = context.Process(target=_work, args=(folder, cases[done:], repeat, answers))
        process.start()
        failed = False
        while done < len(cases) and not failed:
            try:
                row = answers.get(timeout=PATIENCE)
            except queue.Empty:
                row = _row(cases[done], "failed", error=f"no answer within {PATIENCE:.0f} s")
            failed = row["result"] == "failed"
            done += 1
            yield row
        if failed:
            process.kill()
        process.join()


def _work(folder: Path, cases: Sequence[Case], repeat: int, answers: Any) -> None:
    driver = Driver()
    for case in cases:
        try:
            answers.put(_run_case(driver, folder, case, repeat))
        except DriverError as error:
            answers.put(_row(case, "failed", error=str(error)))
            return


def _run_case(driver: Driver, folder: Path, case: Case, repeat: int) -> Row:
    return _repeated(driver, folder, case, repeat) if case["kind"] == "racy" else _compared(driver, folder, case)


def _row(case: Case, result: str, **details: object) -> Row:
    return {"id": case["id"], "kind": case["kind"], "grid": case["grid"], "result": result, **details}


class Launcher:
    """One case on the device; `run` starts from fresh memory every time."""

    def __init__(self, driver: Driver, folder: Path, case: Case) -> None:
        self.driver, self.case = driver, case
        self.data = dict(np.load(folder / case["data"]))
        self.module, self.function = driver.load((folder / case["cubin"]).read_bytes(), case["symbol"])

    def run(self) -> tuple[list[Array], bool]:
        """The allocations after a launch, in their storage types, and whether the guard zones are untouched."""
        guard = bytes([GUARD_BYTE]) * GUARD
        before = [self.data[f"before{k}"] for k in range(len(self.case["memory"]))]
        bases = [self.driver.upload(guard + stored.tobytes() + guard) for stored in before]
        rows: list[int] = []
        parameters = [self._bytes(each, bases, rows) for each in self.case["parameters"]]
        self.driver.launch(self.function, self.case["grid"], parameters)
        after, guarded = [], True
        for base, stored in zip(bases, before, strict=True):
            raw = self.driver.download(base, stored.nbytes + 2 * GUARD)
            after.append(raw[GUARD : GUARD + stored.nbytes].view(stored.dtype))
            guarded &= bool((raw[:GUARD] == GUARD_BYTE).all() and (raw[GUARD + stored.nbytes :] == GUARD_BYTE).all())
        for address in (*bases, *rows):
            self.driver.free(address)
        return after, guarded

    def close(self) -> None:
        self.driver.unload(self.module)

    def _bytes(self, parameter: Mapping[str, Any], bases: Sequence[int], rows: list[int]) -> bytes:
        if "bytes" in parameter:
            return bytes.fromhex(parameter["bytes"])
        if "rows" in parameter:
            words = [[bases[k] + GUARD + offset, *rest] for k, offset, *rest in parameter["rows"]]
            rows.append(self.driver.upload(np.array(words, np.uint64).tobytes()))
            return rows[-1].to_bytes(8, "little")
        address: int = bases[parameter["memory"]] + GUARD + parameter["offset"]
        return address.to_bytes(8, "little")


# ------------------------------------------------------------------------------------------------ judging results
def as_numbers(stored: Array, dtype: str) -> Array:
    """Stored elements as float64 (integers stay what they are)."""
    if dtype == "bf16":
        return (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return stored.astype(np.float64) if dtype[0] == "f" else stored


def distance(seen: Array, wanted: Array, dtype: str) -> Array:
    """How far each element is off, in tolerances of its type: at most 1 is right.  Integers and NaNs: 0 or infinite."""
    equal = seen == wanted
    if dtype[0] != "f" and dtype != "bf16":
        return np.where(equal, 0, np.inf)
    first, second = as_numbers(seen, dtype), as_numbers(wanted, dtype)
    with np.errstate(invalid="ignore"):
        off = np.abs(first - second) / (TOLERANCES[dtype] * np.maximum(1, np.abs(second)))
    return np.where(equal | (np.isnan(first) & np.isnan(second)), 0, np.where(np.isnan(off), np.inf, off))


def _compared(driver: Driver, folder: Path, case: Case) -> Row:
    launcher = Launcher(driver, folder, case)
    after, guarded = launcher.run()
    launcher.close()
    elements = unequal = wrong = 0
    worst: dict[str, float] = {}
    examples: dict[str, list[list[object]]] = {}
    for k, (seen, memory) in enumerate(zip(after, case["memory"], strict=True)):
        known = launcher.data.get(f"decided{k}", np.ones(seen.shape, np.bool_))
        off = distance(seen[known], launcher.data[f"after{k}"][known], memory["dtype"])
        elements += off.size
        unequal += int(np.count_nonzero(off))
        wrong += int(np.count_nonzero(off > 1))
        if off.any():
            worst[memory["name"]] = float(off.max())
            wanted = launcher.data[f"after{k}"][known]
            examples[memory["name"]] = [
                [int(place), str(seen[known][place]), str(wanted[place])] for place in np.argsort(-off)[:EXAMPLES]
            ]
    result = "differs" if wrong or not guarded else "within tolerance" if unequal else "exact"
    details = {
        "elements": elements,
        "unequal": unequal,
        "wrong": wrong,
        "off": worst,
        "examples": examples,
        "guarded": guarded,
    }
    return _row(case, result, **details, blocks=case["interpreted blocks"])


def _repeated(driver: Driver, folder: Path, case: Case, repeat: int) -> Row:
    launcher = Launcher(driver, folder, case)
    different, results = [], Counter[bytes]()
    first: list[Array] = []
    shapes = [launcher.data[f"after{k}"].shape for k in range(len(case["memory"]))]
    changed, unsettled = [False] * len(shapes), [np.zeros(shape, np.bool_) for shape in shapes]
    guarded = True
    for _ in range(repeat):
        after, intact = launcher.run()
        guarded &= intact
        results[b"".join(each.tobytes() for each in after)] += 1
        first = first or after
        count = 0
        for k, (seen, memory) in enumerate(zip(after, case["memory"], strict=True)):
            changed[k] |= seen.tobytes() != launcher.data[f"before{k}"].tobytes()
            count += int(np.count_nonzero(distance(seen, launcher.data[f"after{k}"], memory["dtype"]) > 1))
            unsettled[k] |= distance(seen, first[k], memory["dtype"]) > 1
        different.append(count)
    launcher.close()
    return _row(
        case,
        f"seen {sum(map(bool, different))} of {repeat}",
        elements=sum(each.size for each, written in zip(unsettled, changed, strict=True) if written),
        differing=different,
        results=len(results),
        unsettled=sum(int(np.count_nonzero(each)) for each in unsettled),
        guarded=guarded,
    )


# ----------------------------------------------------------------------------------------------------- the report
def _print(report: Mapping[str, Any]) -> None:
    for title in ("device", "prepared with"):
        print(f"{title}: " + ", ".join(f"{name} {text}" for name, text in report[title].items()))
    for kind, title in (("proved", "launch"), ("ops", "ops")):
        rows = [row for row in report["launches"] if row["kind"] == kind]
        print(f"\n{'result':18}{'elements':>10}{'unequal':>9}{'worst':>9}  {title}  (worst: in tolerances)")
        for row in rows:
            _print_compared(row)
        print(", ".join(f"{count} {result}" for result, count in Counter(row["result"] for row in rows).items()))
    print(f"\n{'result':18}{'elements':>10}{'differing':>18}{'unsettled':>11}{'results':>9}  racy launch")
    for row in (row for row in report["launches"] if row["kind"] == "racy"):
        if "differing" in row:
            spread = f"{min(row['differing'])}..{max(row['differing'])}"
            numbers = f"{row['elements']:10}{spread:>18}{row['unsettled']:11}{row['results']:9}"
            print(f"{row['result']:18}{numbers}  {row['id']}{'' if row['guarded'] else '  GUARD ZONE WRITTEN'}")
        else:
            print(f"{row['result']:18}  {row['id']}  {row['error']}")


def _print_compared(row: Row) -> None:
    if row["result"] == "failed":
        print(f"{'failed':46}  {row['id']}  {row['error']}")
        return
    zones = "" if row["guarded"] else "  GUARD ZONE WRITTEN"
    worst = max(row["off"].values(), default=0.0)
    print(f"{row['result']:18}{row['elements']:10}{row['unequal']:9}{worst:9.3f}  {row['id']}{zones}")
    for name, off in row["off"].items() if worst > 1 or row["kind"] == "ops" else ():
        print(f"{off:46.3f}      {name}")


if __name__ == "__main__":
    sys.exit(main())
