"""How the time of a proof grows: with the accesses of a kernel, and not with sizes or the grid.

    python -m benchmarks.sites [--sites N ...] [--repeat N] [--json FILE]

Three families of straight-line kernels with N accesses each: ``read`` sums tiles of N - 1 rows of an array that
nobody writes, ``arrays`` reads and writes tiles of eight arrays in turn, and ``one array`` writes N - 1 neighbouring
tiles of one array, so that every pair of its stores is a question.  A fourth table proves ``arrays`` for launches of
growing sizes.  Medians in milliseconds, one process, no cache.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tileverify.contract.launch import KernelUnit
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline.unit_check import check_unit
from tileverify.pipeline.unit_summary import solver_version
from tileverify.results import KernelResult

ARRAYS = tuple(f"a{number}" for number in range(8))
TILE = 16
SIZES = (2**10, 2**16, 2**22, 2**27)


def reads(sites: int) -> Iterator[str]:
    yield "    tile = ct.load(a0, (0, i), (1, T))"
    for site in range(1, sites - 1):
        yield f"    tile += ct.load(a0, ({site}, i), (1, T))"
    yield "    ct.store(a1, (0, i), tile)"


def over_arrays(sites: int) -> Iterator[str]:
    for site in range(sites // 2):
        name = ARRAYS[site % len(ARRAYS)]
        yield f"    ct.store({name}, (i,), ct.load({name}, (i,), (T,)) + {site})"


def to_one_array(sites: int) -> Iterator[str]:
    yield "    tile = ct.load(a0, (i,), (T,))"
    for site in range(sites - 1):
        yield f"    ct.store(a1, (i * {sites - 1} + {site},), tile)"


FAMILIES: dict[str, Callable[[int], Iterator[str]]] = {
    "read": reads,
    "arrays": over_arrays,
    "one array": to_one_array,
}


def write_kernel(folder: Path, family: str, sites: int, size: int | None = None) -> Path:
    """The kernel and its launch spec; sizes are symbolic unless ``size`` gives the number of elements."""
    file = folder / f"{family.replace(' ', '_')}_{sites}_{size}.py"
    body = "\n".join(FAMILIES[family](sites))
    file.write_text(
        "import cuda.tile as ct\n\n\n@ct.kernel\n"
        f"def many({', '.join(ARRAYS)}, T: ct.Constant[int]):\n    i = ct.bid(0)\n{body}\n"
    )
    per_block = TILE * (sites - 1) if family == "one array" else TILE
    length, grid = ("N", f'"cdiv(N, {per_block})"') if size is None else (str(size), str(-(-size // per_block)))
    shape = f"{sites}, {length}" if family == "read" else length
    arguments = ", ".join(f'{name} = "f32[{shape}]"' for name in ARRAYS)
    # The last block writes whole tiles of one array.
    requires = f'requires = ["N % {per_block} == 0"]\n' if family == "one array" else ""
    file.with_suffix(".tileverify.toml").write_text(
        f'[[launch]]\nkernel = "many"\nname = "n"\ngrid = [{grid}]\nargs = {{ {arguments}, T = {TILE} }}\n{requires}'
    )
    return file


def measure(file: Path, repeat: int) -> dict[str, float | str | int]:
    runs: list[KernelResult] = []
    for _ in range(repeat + 1):
        (unit,) = discover([str(file)])
        assert isinstance(unit, KernelUnit), unit
        runs.append(check_unit(unit))
    timed = runs[1:]  # the first fills the caches of imports and terms
    times = {
        stage: round(statistics.median(getattr(run.time_ms, stage) for run in timed), 1)
        for stage in ("compile", "decode", "execute", "prove")
    }
    return {"verdict": runs[0].verdict.value, "questions": runs[0].obligations.total, **times}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", type=int, nargs="+", default=[10, 100, 1000], help="accesses (default 10 100 1000)")
    parser.add_argument("--repeat", type=int, default=3, help="timed runs of each kernel (default 3)")
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    options = parser.parse_args(arguments)
    rows: list[dict[str, float | str | int]] = []
    print(f"Python {platform.python_version()}, z3 {solver_version()}, {platform.machine()}")
    print(f"{'family':10} {'sites':>6} {'elements':>10} {'verdict':9} {'questions':>9} {'execute':>9} {'prove':>10}")
    with tempfile.TemporaryDirectory() as scratch:
        cases = [(family, sites, None) for family in FAMILIES for sites in options.sites]
        for family, sites, size in [*cases, *(("arrays", 100, size) for size in SIZES)]:
            row = {"family": family, "sites": sites, "elements": size or "any"}
            row |= measure(write_kernel(Path(scratch), family, sites, size), options.repeat)
            rows.append(row)
            print(
                f"{family:10} {sites:6} {row['elements']!s:>10} {row['verdict']:9} {row['questions']:9}"
                f" {row['execute']:9} {row['prove']:10}",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
