"""In the sandbox: a proved kernel on small inputs, in the reference interpreter, for a comparison outside.

The launches are chosen to expose work that is skipped: sizes that fill no tile, sizes at and beside every number that
the bytecode compares with, floats that are zero, equal, of both signs, large and small.  Outputs are filled before the
launch as inputs are, so that nothing useful can be copied from there.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, product
from math import prod
from typing import Any, Final, TypeGuard

import numpy as np

from ..backend.interpreter.conduct import RUN
from ..errors import UsageError
from ..execution.blocks import Executed, execute_launch
from ..execution.choose import choose
from ..execution.conditions import Contract
from ..execution.elements import Array, rounded
from ..execution.inputs import Given, Inputs, make_inputs, view
from ..frontend.bytecode import decode
from ..frontend.bytecode.model import Block, Entry, Module, Op, ScalarType
from ..frontend.sources.element_types import ELEMENT_TYPES
from ..frontend.sources.expressions import GRID_NAMES
from ..frontend.sources.launch import Argument, ConstantArgument, KernelUnit, flat
from ..verifier.claim import ConcreteArray
from .compile_job import specs_of
from .plain_values import harmless
from .prove_job import claimed, unit_of

Send = Callable[[bytes], None]

SIZES: Final = (1, 2, 3, 7, 16, 33, 64, 100, 127, 129, 200, 256, 257, 511)
MOST_LAUNCHES: Final = 24
MOST_ELEMENTS: Final = 1 << 17
"""Of all arrays of a launch together."""
MOST_BLOCKS: Final = 2048
MOST_ROOTS: Final = 6
FILLINGS: Final = ("normal", "other", "zeros", "ones", "wide")
"""Contents of float arrays; of the first launch all, of the others the first and the last."""


def try_kernel(request: dict[str, Any], compiled: bytes, send: Send) -> None:
    """Send a line of JSON for each launch.  ``request``: as `prove_job`, with ``index`` and ``requires``."""
    unit = unit_of(claimed(json.loads(compiled)["items"][request["index"]]), specs_of(request), request["file"])
    module = decode(unit.bytecode, file=request["file"])
    entry = next(entry for entry in module.entries if entry.name == unit.symbol)
    contract = Contract(unit.launch, request["requires"])
    for number, values in enumerate(islice(_launches(contract, _compared(entry)), MOST_LAUNCHES)):
        for filling in FILLINGS if number == 0 else (FILLINGS[0], FILLINGS[-1]):
            try:
                inputs = _inputs(contract, values, filling)
            except UsageError:
                continue  # contents that the contract rules out, as where two arguments are one array
            document = _tried(unit, module, entry, contract, inputs)
            send(json.dumps({**document, "filling": filling}, allow_nan=False).encode("ascii") + b"\n")


# ------------------------------------------------------------------------------------------------ launches
def _launches(contract: Contract, compared: list[int]) -> Iterator[dict[str, int]]:
    """Small launches of the contract: a usual one, then one number after the other at each of its values."""
    seen: list[dict[str, int]] = []
    roots = [name for name in contract.roots if name not in GRID_NAMES][:MOST_ROOTS]
    beside = [near for number in compared for near in (number - 1, number, number + 1) if near >= 0]
    # First every root at the numbers of the kernel, where a cheat would hide.
    wanted: list[dict[str, int]] = [{}]
    wanted += [{root: number} for number, root in product(dict.fromkeys((*beside, *SIZES)), roots)]
    for given in wanted:
        try:
            values = choose(contract, given)
        except UsageError:
            continue
        if values not in seen and _is_small(contract, values):
            seen.append(values)
            yield values


def _is_small(contract: Contract, values: Mapping[str, int]) -> bool:
    shapes = [[contract.value(size, values) for size in array.shape] for array in contract.spec.arrays()]
    blocks = prod(contract.value(axis, values) for axis in contract.grid)
    return sum(map(prod, shapes)) <= MOST_ELEMENTS and blocks <= MOST_BLOCKS


def _compared(entry: Entry) -> list[int]:
    """Integers that the bytecode compares something with: few in an honest kernel, and what a cheat turns on."""
    known: dict[int, int] = {}
    for op in _ops(entry.body):
        if op.name == "constant":
            constant = op.attributes["value"]
            element = constant.type.element
            if isinstance(element, ScalarType) and element.name.startswith("i") and constant.count == 1:
                known[id(op.result)] = constant.element(0)
    compared = (op.value(side) for op in _ops(entry.body) if op.name == "cmpi" for side in ("lhs", "rhs"))
    return list(dict.fromkeys(known[id(value)] for value in compared if id(value) in known))[:64]


def _ops(block: Block) -> Iterator[Op]:
    for op in block.ops:
        yield op
        for region in op.regions:
            for inner in region.blocks:
                yield from _ops(inner)


# -------------------------------------------------------------------------------------------------- inputs
def _inputs(contract: Contract, values: Mapping[str, int], filling: str) -> Inputs:
    seed = FILLINGS.index(filling)
    plain = make_inputs(contract, Given(dict(values), {}, {}, None, seed))
    if filling in ("normal", "other"):
        return plain
    arrays = {
        array.name: _filled(filling, plain.launch.arrays[array.name].shape, array.dtype, seed)
        for array in contract.spec.arrays()
        if ELEMENT_TYPES[array.dtype].kind == "f"
    }
    return make_inputs(contract, Given(dict(values), {}, arrays, None, seed))


def _filled(filling: str, shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    source = np.random.default_rng(seed)
    match filling:
        case "zeros":
            numbers = np.zeros(shape)
        case "ones":
            numbers = np.ones(shape)
        case _:
            # Of both signs, and from very small to somewhat large.
            numbers = source.choice([-1.0, 1.0], shape) * 2.0 ** source.uniform(-8, 4, shape)
    return rounded(numbers, dtype).reshape(shape)


# ------------------------------------------------------------------------------------------------- results
def _tried(unit: KernelUnit, module: Module, entry: Entry, contract: Contract, inputs: Inputs) -> dict[str, Any]:
    with np.errstate(all="ignore"):
        run = execute_launch(module, entry, unit.parameters, inputs.launch, inputs.memory, RUN)
    names = (*contract.sizes, *contract.scalars)
    return {
        "values": {name: inputs.values[name] for name in names},
        "floats": dict(inputs.launch.floats),
        "constants": {each.name: each.value for each in flat(unit.launch.arguments) if _is_number(each)},
        "grid": list(inputs.launch.grid),
        "lists": list(inputs.launch.lists),
        "stopped": None if run.stopped is None else harmless(str(run.stopped)),
        "arrays": {name: _array(array, inputs, run) for name, array in inputs.launch.arrays.items()},
    }


def _is_number(argument: Argument) -> TypeGuard[ConstantArgument]:
    return isinstance(argument, ConstantArgument) and isinstance(argument.value, int | float)


def _array(array: ConcreteArray, inputs: Inputs, run: Executed) -> dict[str, Any]:
    before = inputs.memory[array.allocation]
    after = run.contents[array.allocation]
    marks = np.asarray(run.written[array.allocation].reshape(-1, before.dtype.itemsize).any(axis=1))
    return {
        "dtype": array.dtype,
        "shape": list(array.shape),
        "before": _packed(view(before, array.shape, array.strides)),
        "after": _packed(view(after, array.shape, array.strides)),
        "written": _packed(view(marks, array.shape, array.strides)),
    }


def _packed(array: Array) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
