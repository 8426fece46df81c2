"""Stored launches of Triton kernels: Triton IR as text, the arrays before, and those after by another executor.

A file is the text of a module behind comments, one for each part of the launch::

    // grid: 2 1 1
    // array x i32: 1 2 3
    // array out i32: 0 * 3
    // scalar n: 3
    // after out: 2 4 6
    // within: 0.001

``after`` stands for each array that the launch changes.  ``within`` is a relative error, for floats alone; without it
every element is the same, NaN for NaN.  Arrays come before scalars, both in the order of the entry's parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tileverify.backend.interpreter import Budget, bind_launch, run_grid
from tileverify.backend.interpreter.conflicts import loops_around
from tileverify.backend.interpreter.grid_runs import run_schedule
from tileverify.backend.interpreter.ordering import Schedule
from tileverify.backend.interpreter.races import find_races
from tileverify.backend.numbers.array_files import numbers, rounded, storage_type
from tileverify.contract.launch import ConcreteArray, ConcreteLaunch, EntryParameter, Role, every_block
from tileverify.frontend.bytecode import decode, encode
from tileverify.frontend.bytecode.model import Module
from tileverify.frontend.triton.translate import Ordered, translate
from tileverify.frontend.triton.ttir_reader import read_ttir

DATA: Final = Path(__file__).parent / "data"
Array = NDArray[Any]
_STEPS: Final = 1 << 28


@dataclass(frozen=True, slots=True)
class StoredArray:
    """``elements`` as they lie in memory: of bf16 and 8-bit floats the bits."""

    dtype: str
    elements: Array


@dataclass(frozen=True, slots=True)
class StoredLaunch:
    ttir: str
    grid: tuple[int, int, int]
    arrays: Mapping[str, StoredArray]
    scalars: Mapping[str, int | float] = field(default_factory=dict)
    after: Mapping[str, Array] = field(default_factory=dict)
    within: float = 0.0

    def text(self) -> str:
        lines = [f"grid: {' '.join(map(str, self.grid))}"]
        lines += [
            f"array {name} {each.dtype}: {_words(each.elements, each.dtype)}" for name, each in self.arrays.items()
        ]
        lines += [f"scalar {name}: {value}" for name, value in self.scalars.items()]
        lines += [f"after {name}: {_words(each, self.arrays[name].dtype)}" for name, each in self.after.items()]
        lines += [f"within: {self.within:g}"] if self.within else []
        return "".join(f"// {line}\n" for line in lines) + self.ttir


def stored_launch(text: str) -> StoredLaunch:
    """What a file says."""
    heads = [line.removeprefix("// ").partition(": ") for line in text.splitlines() if line.startswith("// ")]
    arrays: dict[str, StoredArray] = {}
    scalars: dict[str, int | float] = {}
    after: dict[str, Array] = {}
    grid, within = (1, 1, 1), 0.0
    for head, _, rest in heads:
        kind, *names = head.split()
        if kind == "grid":
            x, y, z = (int(word) for word in rest.split())
            grid = x, y, z
        elif kind == "array":
            arrays[names[0]] = StoredArray(names[1], _elements(rest, names[1]))
        elif kind == "scalar":
            scalars[names[0]] = float(rest) if set(rest) & set(".en") else int(rest)
        elif kind == "after":
            after[names[0]] = _elements(rest, arrays[names[0]].dtype)
        else:
            assert kind == "within", head
            within = float(rest)
    return StoredLaunch(text, grid, arrays, scalars, after, within)


def stored_file(name: str) -> StoredLaunch:
    return stored_launch((DATA / f"{name}.ttir").read_text(encoding="utf-8"))


def _words(elements: Array, dtype: str) -> str:
    if dtype in ("bf16", "f8e4m3", "f8e5m2"):
        elements = numbers(elements, dtype)
    values = elements.tolist()
    if len(values) > 1 and len({repr(value) for value in values}) == 1:
        return f"{_words(elements[:1], 'f64' if elements.dtype.kind == 'f' else 'i64')} * {len(values)}"
    return " ".join(repr(value) if isinstance(value, float) else str(int(value)) for value in values)


def _elements(words: str, dtype: str) -> Array:
    first, times, count = words.partition(" * ")
    if times:
        return np.repeat(_elements(first, dtype), int(count))
    if dtype.startswith(("f", "bf")):
        return rounded(np.array([float(word) for word in words.split()], np.float64), dtype)
    return np.array([int(word) for word in words.split()], storage_type(dtype))


def executed(launch: StoredLaunch, order: Ordered = "program") -> dict[str, Array]:
    """The arrays after the translation of ``launch`` has run in this tool's interpreter.

    Undefined behaviour, a broken promise too, is an `AssertionError`.
    """
    module = translated(launch, order)
    contents = {name: each.elements for name, each in launch.arrays.items()}
    with np.errstate(all="ignore"):
        run = run_grid(module, module.entries[0], _parameters(launch), _concrete(launch), contents, Budget(_STEPS))
    faults = [str(event) for log in run.logs for event in log.events]
    assert not faults, faults[:3]
    return dict(run.arrays)


def races(launch: StoredLaunch, order: Ordered = "program") -> set[str]:
    """The codes of the races of ``launch``, its programs one after the other."""
    module = translated(launch, order)
    (entry,) = module.entries
    data = {name: each.elements.view(np.uint8).reshape(-1) for name, each in launch.arrays.items()}
    bound = bind_launch(module, entry, _parameters(launch), _concrete(launch), data)
    run = run_schedule(bound, launch.grid, list(every_block(launch.grid)), Schedule(), Budget(_STEPS))
    return {str(race.code) for race in find_races(run.trace, loops_around(entry.body))}


def translated(launch: StoredLaunch, order: Ordered) -> Module:
    """The Tile IR of ``launch``, through its bytecode; its programs have no more threads than any tile has lanes."""
    module = translate(read_ttir(launch.ttir, "stored.ttir"), order=order, threads=2)
    return decode(encode(module), file="stored")


def _parameters(launch: StoredLaunch) -> list[EntryParameter]:
    """Triton may print a parameter under the name of a variable that it was given to, so their order counts."""
    pointers = [EntryParameter(Role.POINTER, name) for name in launch.arrays]
    return [*pointers, *(EntryParameter(Role.SCALAR, name) for name in launch.scalars)]


def _concrete(launch: StoredLaunch) -> ConcreteLaunch:
    return ConcreteLaunch(
        launch.grid,
        {name: ConcreteArray(each.dtype, (each.elements.size,), (1,)) for name, each in launch.arrays.items()},
        {name: value for name, value in launch.scalars.items() if isinstance(value, int)},
        floats={name: value for name, value in launch.scalars.items() if isinstance(value, float)},
    )


def differences(launch: StoredLaunch, found: Mapping[str, Array]) -> list[str]:
    """One line for each array that is not what it should be."""
    made = []
    for name, before in launch.arrays.items():
        wanted = launch.after.get(name, before.elements)
        wrong = ~_same(found[name], wanted, before.dtype, launch.within)
        if wrong.any():
            place = int(np.argmax(wrong))
            was, should = (numbers(each, before.dtype)[place] for each in (found[name], wanted))
            made.append(f"{name}[{place}] is {was}, not {should}; {int(wrong.sum())} of {wrong.size} differ")
    return made


def _same(found: Array, wanted: Array, dtype: str, within: float) -> Array:
    first, second = numbers(found, dtype), numbers(wanted, dtype)
    if first.dtype.kind != "f":
        return np.asarray(first == second)
    exact = (first == second) | (np.isnan(first) & np.isnan(second))
    if not within:
        return np.asarray(exact & ((np.signbit(first) == np.signbit(second)) | np.isnan(first)))
    with np.errstate(all="ignore"):
        near = np.abs(first.astype(np.float64) - second) <= within * np.maximum(
            np.abs(second.astype(np.float64)), within
        )
    return np.asarray(exact | near)
