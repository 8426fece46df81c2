"""Run hand-made op lists and compiled kernels on the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tileverify.backend.interpreter import Budget, GridRun, run_grid
from tileverify.backend.interpreter.control import execute_at_once
from tileverify.backend.interpreter.machine import BlockInterpreter, Program
from tileverify.backend.interpreter.memory import Memory, MemoryImage
from tileverify.backend.interpreter.values import Tile
from tileverify.backend.replay.replay import Replayer
from tileverify.contract.launch import ConcreteArray, ConcreteLaunch, EntryParameter, KernelUnit, Role
from tileverify.frontend.bytecode import decode, encode
from tileverify.frontend.bytecode.builder import BodyBuilder, ModuleBuilder
from tileverify.frontend.bytecode.model import Entry, Module, Type, Value
from tileverify.frontend.bytecode.optable import VERSIONS
from tileverify.frontend.sources.discover import discover

KERNELS = Path(__file__).parent / "kernels"
STEPS = 1 << 28


def run_ops(build: Callable[[BodyBuilder], Value | Sequence[Value]]) -> tuple[BlockInterpreter, list[Tile]]:
    """Run the ops that ``build`` adds as one block of an entry without parameters; the values it returned."""
    module = ModuleBuilder(VERSIONS[-1])
    with module.entry("ops", []) as body:
        made = build(body)
        body.op("return")
    built = module.build()
    run = BlockInterpreter(Program(built, built.entries[0]), Memory(MemoryImage()), (1, 1, 1), (0, 0, 0), Budget(STEPS))
    with np.errstate(all="ignore"):
        execute_at_once(run, built.entries[0].body)
    wanted = [made] if isinstance(made, Value) else list(made)
    tiles: list[Tile] = []
    for value in wanted:
        found = run.values[value]
        assert isinstance(found, Tile)
        tiles.append(found)
    return run, tiles


def lanes(build: Callable[[BodyBuilder], Value]) -> list[Any]:
    """The lanes of one value, as Python numbers (integers in their unsigned reading)."""
    result: list[Any] = run_ops(build)[1][0].data.tolist()
    return result


def single(build: Callable[[BodyBuilder], Value]) -> Any:
    """The number that a 0-d value is."""
    return run_ops(build)[1][0].data.tolist()


def hand_made(parameters: Sequence[Type], build: Callable[[BodyBuilder], None]) -> tuple[Module, Entry]:
    """A module of one entry, through bytecode and back so that its ops have offsets."""
    module = ModuleBuilder(VERSIONS[-1])
    with module.entry("kernel", parameters) as body:
        build(body)
        body.op("return")
    decoded = decode(encode(module.build()), file="hand-made")
    return decoded, decoded.entries[0]


def pointers(*names: str) -> tuple[EntryParameter, ...]:
    return tuple(EntryParameter(Role.POINTER, name) for name in names)


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return tuple(strides[: len(shape)])


def array(dtype: str, *shape: int, **details: Any) -> ConcreteArray:
    """A contiguous array unless ``strides`` are given."""
    return ConcreteArray(dtype, shape, details.pop("strides", contiguous(shape)), **details)


def launch(
    grid: tuple[int, int, int], scalars: Mapping[str, int] | None = None, /, **arrays: ConcreteArray
) -> ConcreteLaunch:
    return ConcreteLaunch(grid, arrays, scalars or {})


@cache
def compiled(file: str, kernel: str) -> KernelUnit:
    """The kernel's first launch, compiled from ``kernels/FILE.py``."""
    unit = next(iter(discover([f"{KERNELS / file}.py::{kernel}"])))
    assert isinstance(unit, KernelUnit), unit.error
    return unit


@cache
def decoded(file: str, kernel: str) -> tuple[Module, Entry]:
    unit = compiled(file, kernel)
    module = decode(unit.bytecode, file=str(unit.file))
    return module, next(entry for entry in module.entries if entry.name == unit.symbol)


def replayer(file: str, kernel: str, **options: Any) -> Replayer:
    module, entry = decoded(file, kernel)
    return Replayer(module, entry, compiled(file, kernel).parameters, **options)


def run_kernel(
    file: str, kernel: str, grid: tuple[int, int, int], contents: Mapping[str, np.ndarray[Any, Any]], **scalars: int
) -> GridRun:
    """Run every block over contiguous NumPy arrays (f16, f32, i32, ...)."""
    names = {"float32": "f32", "float16": "f16", "float64": "f64", "int32": "i32", "int64": "i64", "int8": "i8"}
    arrays = {name: array(names[str(a.dtype)], *a.shape) for name, a in contents.items()}
    module, entry = decoded(file, kernel)
    concrete = ConcreteLaunch(grid, arrays, scalars)
    return run_grid(module, entry, compiled(file, kernel).parameters, concrete, contents, Budget(STEPS * 8))
