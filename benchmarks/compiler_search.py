"""A search for kernels of which tileiras makes other code than their bytecode says.

    python -m benchmarks.compiler_search [--count N] [--first N] [--seed N] [--arch sm_80,sm_90] [--jobs N]
                                         [--lines FILE] [--show NUMBER]

Each kernel of `searched_kernels` is checked; what is proved is assembled for every target, and its PTX is held against
the bytecode in small launches, as `build` does.  ``--lines`` keeps a line of JSON for each kernel; what stands there is
not made again, so that a run can be stopped at any time.  ``--show`` prints one kernel with its launch, and ends.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from tileverify.backend.assembler import ARCHITECTURES, AssemblyError, find_assembler
from tileverify.backend.compiled.cubin_look import Looked, ProvedEntry, looked
from tileverify.contract.launch import KernelUnit
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.second_readings import proved_entry
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import Verdict
from tileverify.system.pace import KernelTimeout, deadline

from .searched_kernels import COURSES, TYPES, SearchedKernel, drawn_kernel

TARGETS = "sm_80,sm_90,sm_100,sm_120"
CHECK_SECONDS, LOOK_SECONDS = 30.0, 120.0
Line = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="kernels (default 100)")
    parser.add_argument("--first", type=int, default=0, help="number of the first (default 0)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--arch", default=TARGETS, help=f"architectures, with commas between (default {TARGETS})")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--lines", type=Path, help="a line of JSON for each kernel, which is kept between runs")
    parser.add_argument("--show", type=int, metavar="NUMBER", help="print a kernel and its launch, and end")
    options = parser.parse_args(arguments)
    if options.show is not None:
        kernel = drawn_kernel(options.seed, options.show)
        print(f"{kernel.text}\n# " + "\n# ".join(kernel.launch.splitlines()))
        return 0
    architectures = tuple(options.arch.split(","))
    if unknown := [each for each in architectures if each not in ARCHITECTURES]:
        parser.error(f"--arch: '{unknown[0]}' is not one of {', '.join(ARCHITECTURES)}")
    numbers = range(options.first, options.first + options.count)
    lines = _all_lines(options.seed, numbers, architectures, options.jobs, options.lines)
    print("\n".join(_table(lines, architectures)))
    return 0


def _all_lines(
    seed: int, numbers: range, architectures: tuple[str, ...], jobs: int, file: Path | None
) -> list[Line]:  # fmt: skip
    known: dict[int, Line] = {}
    if file is not None and file.exists():
        listed = (json.loads(text) for text in file.read_text(encoding="utf-8").splitlines())
        known = {line["number"]: line for line in listed if line["seed"] == seed and _complete(line, architectures)}
    left = [number for number in numbers if number not in known]
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=50) as pool:
        for line in pool.imap_unordered(partial(_searched, seed, architectures), left):
            known[line["number"]] = line
            if file is not None:
                with file.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(line) + "\n")
    return [known[number] for number in numbers]


def _complete(line: Line, architectures: Sequence[str]) -> bool:
    return bool(line["verdict"] != Verdict.PROVED.value or set(architectures) <= line["targets"].keys())


def _searched(seed: int, architectures: Sequence[str], number: int) -> Line:
    return {"seed": seed, "number": number, **searched(drawn_kernel(seed, number), architectures)}


def searched(kernel: SearchedKernel, architectures: Sequence[str]) -> Line:
    """The kernel checked, assembled and looked at."""
    line: Line = {**asdict(kernel), "pattern": kernel.pattern, "text": kernel.text, "launch": kernel.launch}
    line |= {"verdict": Verdict.ERROR.value, "message": "", "targets": {}}
    with tempfile.TemporaryDirectory(prefix="tileverify-search-") as folder:
        source = Path(folder, f"searched_{hashlib.sha256(kernel.text.encode()).hexdigest()[:16]}.py")
        source.write_text(kernel.text, encoding="utf-8")
        source.with_suffix(".tileverify.toml").write_text(kernel.launch, encoding="utf-8")
        (unit,) = discover([str(source)])
        if not isinstance(unit, KernelUnit):
            return {**line, "message": unit.error.message}
        started = time.perf_counter()
        result = check_unit(unit, CheckOptions(timeout_s=CHECK_SECONDS))
        line |= {"verdict": result.verdict.value, "checked_s": time.perf_counter() - started}
        if result.verdict is not Verdict.PROVED:
            return {**line, "message": result.findings[0].message if result.findings else ""}
        proved = proved_entry(unit, result)
        line["targets"] = {each: _target(proved, each) for each in architectures}
    return line


def _target(proved: ProvedEntry, architecture: str) -> Line:
    """``outcome``: equal, differs, not followed, or refused by the assembler."""
    started = time.perf_counter()
    try:
        made = find_assembler().assembled(proved.bytecode, architecture)
    except AssemblyError as error:
        return {"outcome": "refused", "why": error.message}
    between = time.perf_counter()
    try:
        with deadline(LOOK_SECONDS):
            seen = looked(proved, made, architecture)
    except KernelTimeout:
        seen = Looked(architecture, 0, (), f"it takes more than {LOOK_SECONDS:g} s", "")
    seconds = {"assembled_s": between - started, "looked_s": time.perf_counter() - between}
    if not seen.differences:
        return {"outcome": "equal" if seen.launches else "not followed", "why": seen.why_not, **seconds}
    first = seen.differences[0]
    place = first.place
    return {
        "outcome": "differs",
        "kind": first.kind.value,
        "why": str(first),
        "line": place[1] if place else None,
        "all": [str(each) for each in seen.differences],
        "ptx": _instructions(made.ptx or "", first.lines),
        **seconds,
    }


def _instructions(ptx: str, lines: Sequence[int]) -> list[str]:
    text = ptx.split("\n")
    return [" ".join(text[line - 1].split()) for line in lines]


# ------------------------------------------------------------------------------------------- report
def _table(lines: Sequence[Line], architectures: Sequence[str]) -> Iterator[str]:
    verdicts = collections.Counter(line["verdict"] for line in lines)
    yield f"{len(lines)} kernels: " + ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    for why, count in collections.Counter(
        f"{line['verdict']}: {line['message']}" for line in lines if line["verdict"] != Verdict.PROVED.value
    ).most_common(20):
        yield f"{count:6} {why}"
    seen = [(line, name, line["targets"][name]) for line in lines for name in architectures if name in line["targets"]]
    of_line: dict[str, Callable[[Line, str], str]] = {
        "target": lambda line, name: name,
        "element": lambda line, name: line["element"],
        "course": lambda line, name: line["course"],
        "change": lambda line, name: f"{line['change']}, {line['rank']}-D",
        "load": lambda line, name: f"{line['load']}, {line['rank']}-D",
        "store": lambda line, name: f"{line['store']}, {line['rank']}-D",
        "pattern": lambda line, name: line["pattern"],
    }
    for title, of in of_line.items():
        yield f"\n{title:32} {'cubins':>7} {'equal':>7} {'differ':>7} {'not followed':>13} {'refused':>8}  kinds"
        groups: dict[str, list[Line]] = collections.defaultdict(list)
        for line, name, target in seen:
            groups[of(line, name)].append(target)
        for key in sorted(groups, key=lambda key: _rank(title, key)):
            yield _row(key, groups[key])
    for outcome in ("differs", "not followed", "refused"):
        yield f"\n{outcome}:"
        whys = collections.Counter(_plain(target["why"]) for _, _, target in seen if target["outcome"] == outcome)
        yield from (f"{count:6} {why}" for why, count in whys.most_common(30))


def _rank(title: str, key: str) -> tuple[int, str]:
    known = {"element": TYPES, "course": tuple(COURSES)}.get(title, ())
    return (known.index(key) if key in known else len(known), key)


def _row(key: str, targets: Sequence[Line]) -> str:
    outcomes = collections.Counter(target["outcome"] for target in targets)
    kinds = collections.Counter(target["kind"] for target in targets if target["outcome"] == "differs")
    counts = f"{outcomes['equal']:7} {outcomes['differs']:7} {outcomes['not followed']:13} {outcomes['refused']:8}"
    return f"{key:32} {len(targets):7} {counts}  {', '.join(f'{k} {n}' for k, n in kinds.most_common())}"


def _plain(why: str) -> str:
    """Without what differs from kernel to kernel: numbers."""
    return "".join("#" if each.isdigit() else each for each in why).replace("##", "#").replace("##", "#")


if __name__ == "__main__":
    sys.exit(main())
