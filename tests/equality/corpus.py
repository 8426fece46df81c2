"""The corpus' kernels beside their NumPy references, on exact numbers: ``python -m tests.equality.corpus [WORD]``.

``--borders``: at sizes beside the borders of tiles, as ``tileverify equal`` chooses them, not at those of the table.
``--units FILE`` (first): the corpus as ``python -m tests.corpus.kept FILE`` wrote it, where there is no compiler.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from tests.corpus.compiled import by_place, units
from tests.corpus.kept import kept
from tests.corpus.references import NUMBERS, REFERENCES, Reference

from tileverify.backend.interpreter import InterpreterStop
from tileverify.backend.numbers.choose import ContractInNumbers
from tileverify.contract.launch import KernelUnit
from tileverify.corpus import Labelled, corpus_launches
from tileverify.equality.answer_text import difference
from tileverify.equality.deciding import ExactAnswer, decide
from tileverify.equality.field import Undecided
from tileverify.equality.op_rules import ExactKernel
from tileverify.equality.points import Options, TrialPoint
from tileverify.equality.reference_runs import exact_numpy
from tileverify.frontend.bytecode import decode
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline.unit_check import check_unit
from tileverify.pipeline.unit_summary import entry_of
from tileverify.results import Verdict

LABELS = {
    label.id: label for label in corpus_launches() if label.verdict is Verdict.PROVED and label.kernel in REFERENCES
}


def other_of(reference: Reference) -> Any:
    """A reference of the corpus in the shape that `decide` asks for."""

    def other(point: TrialPoint, arrays: Mapping[str, Any], arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        numbers = {**point.inputs.launch.scalars, **{name: arguments[name] for name in point.floats}}
        try:
            with exact_numpy(reference):
                return reference({name: array.copy() for name, array in arrays.items()}, numbers)
        except InterpreterStop:
            raise
        except (TypeError, ValueError, IndexError) as error:
            raise Undecided(f"the reference failed on exact numbers: {type(error).__name__}: {error}") from None

    return other


SMALLER = {
    "showcase/flash_attention.py::flash_attention[grouped-causal]": {"B": 1, "HK": 1, "S": 70},
    "showcase/matmul_swizzled.py::matmul_swizzled[any-size]": {"M": 140, "N": 130, "K": 72},
    "race_free/persistent_softmax.py::persistent_softmax[528-blocks]": {"M": 5, "N": 100},
    "race_free/persistent_matmul.py::persistent_matmul[any-size-132-blocks]": {"M": 140, "N": 130, "K": 72},
    "race_free/early_return.py::copy_rows[more-blocks-than-rows]": {"M": 40, "N": 60},
}
"""Launches whose table is larger than what is run on exact numbers."""


@cache
def _of_file(file: str) -> dict[tuple[str, str], KernelUnit]:
    return {(unit.kernel, unit.launch.name): unit for unit in discover([file]) if isinstance(unit, KernelUnit)}


KEPT: dict[tuple[str, str, str], KernelUnit] = {}
"""Kernels that were compiled elsewhere, by file, kernel and launch."""


def take_units(file: Path) -> None:
    """From a file that `tests.corpus.kept` wrote."""
    KEPT.update(by_place(kept(file)))


def _unit(label: Labelled) -> KernelUnit:
    """Of its file alone where that is Python."""
    if KEPT:
        return KEPT[str(label.file), label.kernel, label.launch]
    if label.file.suffix == ".py":
        return _of_file(str(label.file))[label.kernel, label.launch]
    found = units().get((str(label.file), label.kernel, label.launch))
    if found is None:
        raise SystemExit(f"{label.file} is compiled by nvcc: run this with the extra 'assemble', or give --units FILE")
    return found


@cache
def exact_case(label: Labelled) -> tuple[KernelUnit, ExactKernel]:
    unit = _unit(label)
    module = decode(unit.bytecode, file=str(unit.file))
    return unit, ExactKernel(module, entry_of(module, unit), unit.parameters)


def values_of(label: Labelled) -> dict[str, int]:
    given = NUMBERS[label.id]
    if label.id in SMALLER:
        return SMALLER[label.id]
    values = {name: value for name, value in given.values.items() if isinstance(value, int)}
    known = ContractInNumbers(_unit(label).launch, label.adds).roots
    axes = dict(zip(("grid.x", "grid.y", "grid.z"), given.grid or (), strict=False))
    return {name: value for name, value in {**values, **axes}.items() if name in known}


def decided(
    label: Labelled,
    options: Options | None = None,
    reference: Reference | None = None,
    clauses: Sequence[str] | None = None,
) -> ExactAnswer:
    """The answer for one launch of the corpus; at the sizes of its table, for which references are written.

    ``clauses``: of its proof; the label names those that the tool must find.
    """
    unit, kernel = exact_case(label)
    contract = ContractInNumbers(unit.launch, label.adds if clauses is None else clauses)
    return decide(
        unit,
        kernel,
        contract,
        other_of(reference or REFERENCES[label.kernel]),
        options or Options(values=values_of(label)),
    )


def main(words: list[str]) -> None:
    if words[:1] == ["--units"]:
        take_units(Path(words[1]))
        words = words[2:]
    counted: Counter[str] = Counter()
    times = []
    borders, words = "--borders" in words, [word for word in words if word != "--borders"]
    for name, label in LABELS.items():
        if label.id not in NUMBERS or not all(word in name for word in words):
            continue
        unit, _ = exact_case(label)  # compilation and proof apart
        clauses = check_unit(unit).requires if borders else None
        start = process_time()
        try:
            found = decided(label, Options() if borders else None, clauses=clauses)
            said = found.answer.value
            more = (
                found.reason + "".join(found.left_out[:1])
            ) or f"{len(found.launches)} launches, {found.points} points, 2^-{found.bits:.0f}"
            if found.difference is not None:
                more = difference(found.difference)
        except Exception as error:
            said, more = "ERROR", f"{type(error).__name__}: {error}"[:200]
        spent = process_time() - start
        counted[said] += 1
        times.append(spent)
        print(f"{spent:6.2f} {said:12} {name}: {more}", flush=True)
    print(dict(counted), f"median {np.median(times):.2f} s, largest {max(times):.2f} s, sum {sum(times):.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
