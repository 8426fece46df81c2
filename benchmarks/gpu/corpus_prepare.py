"""Bundles of the corpus' proved launches, with what each computes in the interpreter, for `corpus`.

    python -m benchmarks.gpu.corpus_prepare OUT KEY.pem [--only REGEX]

Takes the numbers with which the tests compute each launch (tests/corpus/references.py).  Writes NUMBER.tvk and
NUMBER.npz for each, and prints what is not proved.  What is there already is kept.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np
from tests.corpus.problems import Problem, interpret, without_failures
from tests.corpus.problems import decided as decided_elements
from tests.corpus.references import NUMBERS

from tileverify.backend.assembler import AssemblyError, find_assembler
from tileverify.contract.launch import ConcreteArray, ConcreteLaunch, KernelUnit
from tileverify.corpus import ROOT, Labelled, corpus_launches
from tileverify.frontend.sources.discover import discover
from tileverify.launching.bundle.build import build_bundle
from tileverify.launching.bundle.manifest import bundle_bytes
from tileverify.launching.bundle.trust import sign
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.pipeline.unit_summary import solver_version
from tileverify.results import Verdict

from .build import ARCHITECTURE
from .stored import Bytes, StoredArray, StoredLaunch


def labelled_units() -> list[tuple[Labelled, KernelUnit]]:
    found = {
        (str(unit.file), unit.kernel, unit.launch.name): unit
        for unit in discover([str(ROOT)])
        if isinstance(unit, KernelUnit)
    }
    return [(label, found[str(label.file), label.kernel, label.launch]) for label in corpus_launches()]


def stored_array(name: str, array: ConcreteArray) -> StoredArray:
    return StoredArray(array.dtype, array.shape, array.strides, array.allocation or name, array.byte_offset)


def stored_launch(launch: ConcreteLaunch, types: dict[str, str], before: dict[str, Bytes]) -> StoredLaunch:
    return StoredLaunch(
        grid=launch.grid,
        arrays={name: stored_array(name, each) for name, each in launch.arrays.items()},
        scalars={**launch.scalars, **launch.floats},
        lists={
            name: tuple(stored_array(f"{name}[{number}]", each) for number, each in enumerate(of))
            for name, of in launch.lists.items()
        },
        types=types,
        before=before,
    )


def computed(case: Problem) -> StoredLaunch:
    """The problem, and memory after the interpreter ran it."""
    run = interpret(case)
    assert not [event for log in run.logs for event in (*log.events, *log.assertions)]
    launch = stored_launch(
        case.launch, dict(case.dtypes), {name: each.view(np.uint8) for name, each in case.contents.items()}
    )
    known = {name: np.repeat(decided_elements(case, run, name), each.itemsize) for name, each in case.contents.items()}
    after = {name: run.arrays[name].view(np.uint8) for name in case.contents}
    return StoredLaunch(
        launch.grid, launch.arrays, launch.scalars, launch.lists, launch.types, launch.before, after, known
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    assembler, missing = find_assembler(), []
    for number, (label, unit) in enumerate(labelled_units()):
        bundle_file, launch_file = (options.out / f"{number:03}{suffix}" for suffix in (".tvk", ".npz"))
        if label.verdict is not Verdict.PROVED or label.id not in NUMBERS or not re.search(options.only, label.id):
            continue
        if bundle_file.exists() and launch_file.exists():
            continue
        result = check_unit(unit, CheckOptions(certificate=True))
        if result.certificate is None:
            missing.append(label.id)
            print(f"{label.id}: {result.verdict.value}", flush=True)
            continue
        stored = computed(without_failures(unit, NUMBERS[label.id]))
        about = {"label": label.id, "deterministic": result.deterministic}
        StoredLaunch(
            stored.grid, stored.arrays, stored.scalars, stored.lists, stored.types, stored.before, stored.after,
            stored.known, about,
        ).save(launch_file)  # fmt: skip
        try:
            bundle = build_bundle(unit, result, solver_version(), assembler, [ARCHITECTURE])
        except AssemblyError as error:
            print(f"{label.id}: {error}", flush=True)
            launch_file.unlink()
            continue
        bundle_file.write_bytes(bundle_bytes(sign(bundle, options.key)))
        size = bundle_file.stat().st_size + launch_file.stat().st_size
        print(f"{label.id}: {size // 1024} KiB, deterministic {result.deterministic}", flush=True)
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
