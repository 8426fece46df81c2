"""The first half of the comparison, for a machine without a GPU: what to run, and what the interpreter got.

The folder that it writes is complete: cubins, memory before and after every launch, and ``manifest.json``.  Each case
of the manifest has ``id``, ``kind`` (``proved`` or ``racy`` launches, or ``ops``), ``symbol``, ``cubin``, ``data`` (an
``.npz``), ``grid``, ``memory`` (name and element type of each allocation; the k-th has ``before<k>``, ``after<k>`` and,
where not all blocks were interpreted, ``decided<k>`` in the ``.npz``) and ``parameters`` in the entry's order, each one
of

    {"memory": k, "offset": bytes}                a pointer into the k-th allocation
    {"bytes": "hex"}                              a number as it stands in memory
    {"rows": [[k, offset, word, ...], ...]}       a pointer to 64-bit words: a pointer, sizes and strides for each array
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
from tests.corpus.problems import Numbers, Problem, decided, interpret, named_arrays, problem
from tests.corpus.references import NUMBERS

from tileverify import __version__
from tileverify.backend.assembler import Assembler, AssemblyError, find_assembler, refuse_split_loads
from tileverify.backend.interpreter import bind_launch
from tileverify.backend.interpreter.rounding import to_bits
from tileverify.backend.interpreter.values import Tile
from tileverify.contract.launch import ConcreteArray, EntryParameter, KernelUnit, Role
from tileverify.corpus import ROOT, Labelled, corpus_launches
from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.model import PointerType
from tileverify.frontend.sources.discover import discover
from tileverify.results import Verdict

from .ops import op_problems
from .roundings import rounding_problems

ARCHITECTURE: Final = "sm_90"

RACY: Final[dict[str, Numbers]] = {
    "racy/permute_swapped.py::permute_swapped[published]": Numbers({}),
    "racy/permute_swapped.py::permute_swapped[as-many-tiles-as-heads]": Numbers({"B": 16}),
    "racy/naive_reduction.py::naive_total[two-tiles-or-more]": Numbers({"N": 300_000, "R": 1}),
    "racy/split_k_plain.py::split_k_plain[four-parts]": Numbers({"M": 200, "N": 136, "K": 520}),
    "racy/stencil_inplace.py::smooth_inplace[two-tiles-or-more]": Numbers({"N": 300_000}),
    "racy/transpose_inplace.py::transpose_inplace[two-tiles-or-more]": Numbers({"N": 1024}),
    "racy/matmul_missing_batch.py::matmul_missing_batch[two-batches-or-more]": Numbers(
        {"Q": 6, "M": 128, "N": 128, "K": 128}
    ),
    "racy/chained_rows.py::add_previous_row[two-rows-or-more]": Numbers({"M": 600, "N": 256}),
    "racy/next_tile_store.py::write_and_clear_next[two-tiles-or-more]": Numbers({"N": 100_000}),
    "racy/load_beside_atomic.py::count_and_read[two-blocks-or-more]": Numbers({"M": 600, "R": 1}),
    "racy/block_scope.py::total_in_block_scope[two-tiles-or-more]": Numbers({"N": 300_000}),
    "found/half_tiles.py::double_in_halves[short-tail]": Numbers({}),
    "found/moving_window.py::keep_last_tile[four-tiles]": Numbers({}),
    "found/moving_window.py::keep_last_tile[many-tiles]": Numbers({}),
    "found/norm_backward.py::norm_backward[in-place]": Numbers({"M": 600}),
    "found/padding_row.py::put_back[row-for-padding]": Numbers({}),
    "found/turned_keys.py::turn_keys[four-tiles]": Numbers({}),
    "order/loop_carried_unordered.tileirbc::running_sum_unordered[two-tiles-or-more]": Numbers({"M": 300, "N": 1280}),
    "order/scratch_row_unordered.tileirbc::scratch_row_unordered[any-rows]": Numbers({"M": 600}),
    "order/two_stores_unordered.tileirbc::store_twice_unordered[any-size]": Numbers({"N": 100_000}),
}
"""Refuted launches (label ids) whose twins are run often, to see whether the hardware shows the race."""


def prepare(folder: Path, only: str = "") -> int:
    """Write the folder, of launches and ops whose names begin with ``only``; the number of cases in it."""
    assembler = find_assembler()
    (folder / "cases").mkdir(parents=True, exist_ok=True)
    units = {(str(u.file), u.kernel, u.launch.name): u for u in discover([str(ROOT)]) if isinstance(u, KernelUnit)}
    problems = [
        *((label.id, kind, problem(units[str(label.file), label.kernel, label.launch], numbers))
          for kind, label, numbers in _chosen() if label.id.startswith(only)),
        *((name, "ops", given) for name, given in (*op_problems(), *rounding_problems()) if name.startswith(only)),
    ]  # fmt: skip
    cases = []
    for number, (name, kind, given) in enumerate(problems):
        print(f"{number:3} {name}", flush=True)
        try:
            cases.append({"id": name, "kind": kind, **_case(folder, f"cases/{number:03}", given, assembler)})
        except AssemblyError as error:
            print(f"    left out: {error}", flush=True)
    versions = {
        "tileverify": __version__,
        "cuda-tile": version("cuda-tile"),
        "tileiras": assembler.version,
        "numpy": np.__version__,
        "python": sys.version.split()[0],
    }
    manifest = {"architecture": ARCHITECTURE, "versions": versions, "cases": cases}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return len(cases)


def _chosen() -> Iterator[tuple[str, Labelled, Numbers]]:
    labels = {label.id: label for label in corpus_launches()}
    for kind, verdict, chosen in (("proved", Verdict.PROVED, NUMBERS), ("racy", Verdict.REFUTED, RACY)):
        for name, numbers in chosen.items():
            assert labels[name].verdict is verdict, name
            yield kind, labels[name], numbers


def _case(folder: Path, stem: str, given: Problem, assembler: Assembler) -> dict[str, Any]:
    places = {name: number for number, name in enumerate(given.contents)}
    run = interpret(given)
    data: dict[str, Any] = {}
    for name, number in places.items():
        data[f"before{number}"], data[f"after{number}"] = given.contents[name], run.arrays[name]
        if given.blocks is not None:
            data[f"decided{number}"] = decided(given, run, name)
    np.savez_compressed(folder / f"{stem}.npz", **data)
    refuse_split_loads(given.unit.bytecode)
    (folder / f"{stem}.cubin").write_bytes(assembler.assemble(given.unit.bytecode, ARCHITECTURE))
    return {
        "symbol": given.unit.symbol,
        "cubin": f"{stem}.cubin",
        "data": f"{stem}.npz",
        "grid": given.launch.grid,
        "interpreted blocks": len(run.logs),
        "memory": [{"name": name, "dtype": given.dtypes[name]} for name in places],
        "parameters": parameters_of(given, places),
    }


def parameters_of(given: Problem, places: Mapping[str, int]) -> list[dict[str, Any]]:
    """The values of the entry's parameters; numbers as the interpreter passes them."""
    unit, arrays = given.unit, dict(named_arrays(given.launch))
    module = decode(unit.bytecode, file=str(unit.file))
    entry = next(entry for entry in module.entries if entry.name == unit.symbol)
    bound = bind_launch(module, entry, unit.parameters, given.launch)

    def pointer(name: str, array: ConcreteArray) -> tuple[int, int]:
        return places[array.allocation or name], array.byte_offset

    def passed(parameter: EntryParameter, value: Any) -> dict[str, Any]:
        name = parameter.argument
        if parameter.role is Role.POINTER:
            place, offset = pointer(name, arrays[name])
            return {"memory": place, "offset": offset}
        if parameter.role is Role.LIST_POINTER:
            elements = enumerate(given.launch.lists[name])
            return {"rows": [[*pointer(f"{name}[{k}]", each), *each.shape, *each.strides] for k, each in elements]}
        assert not isinstance(value.type.element, PointerType)
        given_value = bound.arguments[value]
        assert isinstance(given_value, Tile)
        return {"bytes": to_bits(given_value.data, value.type.element).tobytes().hex()}

    return [passed(*pair) for pair in zip(unit.parameters, entry.parameters, strict=True)]
