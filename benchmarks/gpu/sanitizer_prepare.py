"""Cubins and launches of refuted corpus kernels, for `sanitizer`.

    python -m benchmarks.gpu.sanitizer_prepare OUT

Each launch is the one with most blocks of some that are drawn from the kernel's contract; every launch of these
contracts has the fault of the label.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.corpus.launches import drawn_launches

from tileverify.backend.assembler import find_assembler
from tileverify.backend.interpreter.grid_runs import ELEMENT_BYTES, extent_bytes
from tileverify.contract.launch import ConcreteArray, ConcreteLaunch
from tileverify.launching.bundle.manifest import parameter_types
from tileverify.pipeline.unit_check import check_unit

from .build import ARCHITECTURE
from .corpus_prepare import labelled_units, stored_launch
from .stored import Bytes

RACY = (
    "racy/chained_rows.py::add_previous_row[two-rows-or-more]",
    "racy/duplicate_lanes.py::fill_pairs[any-size]",
    "racy/half_block.py::copy_to_half[two-tiles-or-more]",
    "racy/load_beside_atomic.py::count_and_read[two-blocks-or-more]",
    "racy/naive_reduction.py::naive_total[two-tiles-or-more]",
    "racy/next_tile_store.py::write_and_clear_next[two-tiles-or-more]",
    "racy/overlapping_store.py::fill_windows[half-overlap]",
    "racy/split_k_plain.py::split_k_plain[four-parts]",
    "racy/stencil_inplace.py::smooth_inplace[two-tiles-or-more]",
    "racy/transpose_inplace.py::transpose_inplace[two-tiles-or-more]",
)
OUT_OF_BOUNDS = (
    "out_of_bounds/asserted_bound.py::double_asserted[one-block-too-many]",
    "out_of_bounds/byte_counter.py::fill_by_byte_counter[256-lanes]",
    "out_of_bounds/grid_too_large.py::copy[sixteen-blocks-for-eight-tiles]",
    "out_of_bounds/loop_too_far.py::row_sums[any-size]",
    "out_of_bounds/negative_index.py::copy_previous[any-size]",
    "out_of_bounds/swapped_tile_index.py::permute_tile_only[eight-heads]",
    "out_of_bounds/unchecked_tail.py::double_unchecked[ragged]",
    "out_of_bounds/upper_bound_only.py::copy_previous_if_below[any-size]",
    "out_of_bounds/wrong_axis_bound.py::sum_rows_by_wrong_axis[higher-than-wide]",
    "twins/skipped_iteration.py::copy_not_skipping[any-size]",
)


def contents(array: ConcreteArray) -> Bytes:
    """Index arrays as drawn, random floats."""
    count, width = extent_bytes(array) // ELEMENT_BYTES[array.dtype], ELEMENT_BYTES[array.dtype]
    if array.dtype[0] in "iu":
        data = np.array(
            [array.contents.get(position, array.fill) for position in range(count)], f"<{array.dtype[0]}{width}"
        )
        return data.view(np.uint8)
    drawn = np.random.default_rng(1).normal(size=count).astype(np.float32)
    if array.dtype == "bf16":
        return (drawn.view(np.uint32) >> 16).astype("<u2").view(np.uint8)
    return drawn.astype(f"<f{width}").view(np.uint8)


def memory_of(launch: ConcreteLaunch) -> tuple[dict[str, str], dict[str, Bytes]]:
    """Element types and contents by allocation; these kernels' arrays begin where their memory does."""
    types: dict[str, str] = {}
    before: dict[str, Bytes] = {}
    for name, array in launch.named_arrays():
        place = array.allocation or name
        assert array.byte_offset == 0
        made = contents(array)
        if place not in before or made.size > before[place].size:
            types[place], before[place] = array.dtype, made
    return types, before


def main() -> int:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    assembler = find_assembler()
    units = {label.id: (label, unit) for label, unit in labelled_units()}
    for number, name in enumerate((*RACY, *OUT_OF_BOUNDS)):
        label, unit = units[name]
        launch = max(drawn_launches(unit.launch, 30, seed=1), key=lambda each: math.prod(each.grid))
        result = check_unit(unit)
        types = parameter_types(unit.bytecode, unit.symbol, str(unit.file))
        about = {
            "label": label.id, "racy": name in RACY, "symbol": unit.symbol, "verdict": result.verdict.value,
            "codes": sorted({each.code for each in result.findings}), "check_ms": result.time_ms.prove,
            "parameters": [
                [each.role.value, each.argument, each.dim, type_]
                for each, type_ in zip(unit.parameters, types, strict=True)
            ],
        }  # fmt: skip
        replace(stored_launch(launch, *memory_of(launch)), about=about).save(out / f"{number:02}.npz")
        (out / f"{number:02}.cubin").write_bytes(assembler.assemble(unit.bytecode, ARCHITECTURE))
        print(f"{label.id}: {result.verdict.value} {about['codes']}, grid {launch.grid}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
