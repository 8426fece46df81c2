"""In the sandbox: what the arrays and scalars of a trial's launches hold.  Outputs are filled as inputs are, so that
nothing useful can be copied from there."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Final

import numpy as np

from ...backend.numbers.array_files import Array, rounded, storage_type
from ...backend.numbers.choose import ContractInNumbers, scalars
from ...backend.numbers.inputs import Given, Inputs, make_inputs, view
from ...backend.numbers.trial_launches import Constants
from ...backend.numbers.turning_contents import TURNING_SCALAR
from ...contract.element_types import ELEMENT_TYPES
from ...contract.facts.form import Subject
from ...contract.facts.kinds import subject_of
from ...contract.launch import Expression

ZEROS: Final = "zeros"
SPECIAL: Final = "special"
TOLD: Final = ("top", "great scalars")
"""Floats up to the largest of their type, and scalars above 10^4 beside small arrays: whatever is wrong there is told
alone, as an honest formula may end there, too."""
EXTREME: Final = ("whole", "ends", "huge", "brim", "faint", *TOLD)
"""Integers of the whole range of their type, and at its ends, floats whose squares f32 just holds, that it just holds
themselves, floats whose squares are too small for it, and those that are `TOLD`.  What a reference loses there in its
own type says nothing, nor does what stops a launch, which is told."""
RUNS: Final = "runs of zeros"
LARGE: Final = ("borders", "large", "huge", "brim")
"""Floats that may be as large as what a kernel masks with."""
PLACES: Final = ("places", "rows of places", "other rows", "more rows")
"""Arrays that hold together what they held where something turned: element by element, or one in each row."""
FILLINGS: Final = (
    "normal", "borders", "turns", "wide", ZEROS, "equal", "large", "tiny", "negative", SPECIAL, "other", *PLACES,
    RUNS, *EXTREME,
)  # fmt: skip
"""Of the first launch all; of the others the first, and one more in turn."""
_OF_INTEGERS: Final = ("borders", "turns", "wide", "negative", "whole", "ends")
_SPECIAL: Final = (np.inf, -np.inf, np.nan, -0.0, 1e-40, -1e-45, 60000.0, 6e-8)
"""Numbers so large that their sum overflows in one order, and not in another, are not among them."""


_STRETCHES: Final = (64, 16, 128)
_BORDERS: Final = 64
_HUGE: Final = {
    filling: {**dict.fromkeys(("f32", "tf32", "bf16"), singles), "f64": doubles}
    for filling, singles, doubles in (("huge", 18.0, 150.0), ("brim", 35.0, 300.0))
}
"""Decimal exponents; of other types "large" is all."""
_POWERS: Final = {
    "wide": (2.0, -8.0, 4.0), "large": (10.0, 2.0, 4.0), "tiny": (2.0, -24.0, -12.0), "faint": (2.0, -140.0, -24.0),
    "great scalars": (10.0, -6.0, -2.0),
}  # fmt: skip
_LARGEST_FLOAT: Final = {**dict.fromkeys(("f32", "tf32", "bf16"), 3.3e38), "f64": 1.7e308, "f16": 65504.0}
_FACTORS: Final = np.asarray([1.0, 1.0, 1.25, 0.75, 3.0, -1.0, -1.25, -3.0])


def fillings_of(number: int, large: bool, constants: Constants) -> tuple[str, ...]:
    """The contents that the ``number``-th launch is tried with; of a ``large`` one, or one of many blocks, the first
    alone.  Of places, as many as there are."""
    places = PLACES[: bool(constants.turning_places)] + PLACES[1 : 1 + len(constants.turning_rows)]
    first, *others = (each for each in FILLINGS if each in places or each not in PLACES)
    if number == 0:
        return (first, *others)
    return (first,) if large else (first, others[number % len(others)])


def inputs_of(
    contract: ContractInNumbers, values: Mapping[str, int], filling: str, constants: Constants, seed: int
) -> Inputs:
    """The launch with its memory; raises `UsageError` for contents that the contract rules out."""
    source = np.random.default_rng([seed, FILLINGS.index(filling)])
    floats = {
        scalar.name: _scalar(source, filling, scalar.dtype, constants)
        for scalar in scalars(contract.spec)
        if ELEMENT_TYPES[scalar.dtype].kind == "f"
    }
    if filling in PLACES:
        floats = dict.fromkeys(floats, TURNING_SCALAR)
    own = int(source.integers(1 << 62))
    plain = make_inputs(contract, Given(dict(values), floats, {}, None, own))
    arrays = {}
    spoken_of = {name for fact in (*contract.spec.data, *contract.spec.observed) for name in fact.arrays}
    ranged = _ranged(contract)
    for array in contract.spec.arrays():
        shape, kind = plain.launch.arrays[array.name].shape, ELEMENT_TYPES[array.dtype].kind
        if kind == "f" and filling in PLACES and constants.turning_places:
            arrays[array.name] = _placed(array.name, filling, shape, array.dtype, constants, own)
        elif kind == "f" and filling not in ("normal", "other"):
            arrays[array.name] = _floats(source, filling, shape, array.dtype, constants)
        elif kind in "iu" and filling in _OF_INTEGERS and array.name not in spoken_of:
            arrays[array.name] = _integers(source, filling, shape, array.dtype, constants)
        elif array.name in ranged:
            ends = [contract.value(end, plain.values) for end in ranged[array.name]]
            arrays[array.name] = _with_ends(source, plain, array.name, ends[0], ends[1] - 1)
    return make_inputs(contract, Given(dict(values), floats, {}, None, own, drawn=arrays)) if arrays else plain


def _ranged(contract: ContractInNumbers) -> dict[str, tuple[Expression, Expression]]:
    """The ends of arrays of integers of which a range is all that facts say."""
    facts = (*contract.spec.data, *contract.spec.observed)
    same = {name for group in contract.spec.same_arrays() for name in group}
    named = [name for fact in facts for name in fact.arrays]
    return {
        fact.array: (fact.low, fact.high)
        for fact in facts
        if subject_of(fact) is Subject.LIMITS and not fact.unless and fact.low is not None and fact.high is not None
        if named.count(fact.array) == 1 and fact.array not in same and contract.has_numbers(fact)
    }


def _with_ends(source: np.random.Generator, plain: Inputs, name: str, low: int, high: int) -> Array:
    """What the array holds anyhow, with both ends of its range at places of their own."""
    array = plain.launch.arrays[name]
    held = np.array(view(plain.memory[array.allocation], array.shape, array.strides))
    places = source.permutation(held.size)[:2]
    held.reshape(-1)[places] = [high, low][: len(places)]
    return held


def _placed(name: str, filling: str, shape: tuple[int, ...], dtype: str, constants: Constants, seed: int) -> Array:
    """Arrays of one shape hold the same place in each element, or in each row; of one axis, there is one row."""
    source = np.random.default_rng(seed)
    if filling == PLACES[0]:
        held = np.asarray([place[name] for place in constants.turning_places])
        numbers = source.permutation(np.resize(held, prod(shape))).reshape(shape)
    else:
        held = np.asarray([place[name] for place in constants.turning_rows])
        first = PLACES.index(filling) - 1
        if len(shape) == 1:
            numbers = np.full(shape, held[first % len(held)])
        else:
            rows = np.resize(np.roll(held, -first * shape[0]), shape[0])
            numbers = np.broadcast_to(rows.reshape(-1, *(1,) * (len(shape) - 1)), shape)
    with np.errstate(over="ignore"):
        return rounded(numbers, dtype).reshape(shape)


def _scalar(source: np.random.Generator, filling: str, dtype: str, constants: Constants) -> float:
    """Factors, rates and the like, which are positive as often as not; of other fillings as their arrays are."""
    sign = float(source.choice([-1.0, 1.0]))
    number = float(source.uniform(0.25, 2))
    match filling:
        case "borders" if constants.floats:
            number = float(source.choice(np.asarray(constants.floats)) * source.choice(_FACTORS))
        case "turns" if constants.turning_floats:
            number = float(source.choice(np.asarray(constants.turning_floats)))
        case "zeros":
            number = 0.0
        case "equal":
            number = 1.0
        case "negative":
            number = -number
        case "wide":
            number = sign * 2.0 ** float(source.uniform(-8, 4))
        case "large" | "huge" | "brim" | "top":
            number = sign * 10.0 ** float(source.uniform(1, 4))
        case "great scalars":
            number = sign * 10.0 ** float(source.uniform(4.9, 6))
        case "tiny" | "faint":
            number = sign * 2.0 ** -float(source.uniform(8, 24))
    with np.errstate(over="ignore"):
        held = rounded(np.asarray([number]), dtype)
    return float(held[0]) if held.dtype.kind == "f" else number


def _floats(
    source: np.random.Generator, filling: str, shape: tuple[int, ...], dtype: str, constants: Constants
) -> Array:
    normal = source.standard_normal(shape)
    signs = source.choice([-1.0, 1.0], shape)
    if (powers := _powers(filling, dtype)) is not None:
        base, low, high = powers
        numbers = signs * base ** source.uniform(low, high, shape)
        with np.errstate(over="ignore"):
            return rounded(numbers, dtype).reshape(shape)
    match filling:
        case "zeros":
            numbers = np.zeros(shape)
        case "equal":
            numbers = np.full(shape, source.uniform(0.5, 4) * source.choice([-1, 1]))
        case "turns" if constants.turning_floats:
            numbers = _each_in_turn(source, np.asarray(constants.turning_floats), normal)
        case "negative":
            numbers = -np.abs(normal) * 4
        case "special":
            numbers = np.where(source.random(shape) < 0.2, source.choice(np.asarray(_SPECIAL), shape), normal)
        case "runs of zeros":
            numbers = np.where(_runs(source, shape), 0.0, normal)
        case _:
            numbers = _beside(source, shape, [*constants.floats, *map(float, constants.integers[:_BORDERS])], normal)
    with np.errstate(over="ignore"):
        return rounded(numbers, dtype).reshape(shape)


def _powers(filling: str, dtype: str) -> tuple[float, float, float] | None:
    """A base, and the least and the largest exponent of contents that are powers of it; of either sign."""
    if filling in _HUGE:
        return 10.0, 4.5, _HUGE[filling].get(dtype, 4.5)
    if filling == "top":
        most = float(np.log10(_LARGEST_FLOAT.get(dtype, 1e4)))
        return 10.0, most - 3, most
    return _POWERS.get(filling)


def _runs(source: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Along the last axis stretches of 64, 16 or 128 elements, by rows in turn, half of which are chosen, the first one
    too: tiles of what comes before something else."""
    *outer, columns = shape or (1,)
    rows = prod(outer)
    found = np.zeros((rows, columns), np.bool_)
    for row in range(rows):
        length = _STRETCHES[row % len(_STRETCHES)]
        chosen = source.random(-(-columns // length)) < 0.5
        chosen[:1] = True
        found[row] = np.repeat(chosen, length)[:columns]
    return found.reshape(shape)


def _beside(source: np.random.Generator, shape: tuple[int, ...], borders: list[float], normal: Array) -> Array:
    """Half of them at, below and above the numbers that the bytecode holds, and their opposites."""
    if not borders:
        return normal * 8
    near = source.choice(np.asarray(borders), shape) * source.choice(_FACTORS, shape)
    return np.where(source.random(shape) < 0.5, near, normal)


def _integers(
    source: np.random.Generator, filling: str, shape: tuple[int, ...], dtype: str, constants: Constants
) -> Array:
    held = storage_type(dtype)
    limits = np.iinfo(held)
    if filling in ("whole", "ends"):
        return _whole_range(source, filling, shape, held)
    small = source.integers(-100, 0 if filling == "negative" else 101, shape)
    if filling == "borders" and constants.integers:
        near = source.choice(np.asarray(constants.integers[:_BORDERS], object), shape)
        numbers = near * source.choice([-1, 1, 1], shape) + source.integers(-1, 2, shape)
        numbers = np.where(source.random(shape) < 0.5, numbers, source.integers(0, 16, shape))
    elif filling == "turns" and constants.turning_integers:
        numbers = _each_in_turn(source, np.asarray(constants.turning_integers, object), small)
    else:
        numbers = small
    return np.asarray(np.clip(numbers, int(limits.min), int(limits.max)).astype(held))


def _each_in_turn(source: np.random.Generator, turning: Array, others: Array) -> Array:
    """In three eighths of all elements numbers of ``turning``, the first ones surely: most are as they ever are, and
    tell how uncertain a result is."""
    room = 3 * others.size // 8
    first, rest = turning[: room // 2], source.permutation(turning[room // 2 :])
    found = np.array(others, turning.dtype).reshape(-1)
    found[:room] = np.resize(np.concatenate([first, rest]), room)
    return source.permutation(found).reshape(others.shape)


def _whole_range(source: np.random.Generator, filling: str, shape: tuple[int, ...], held: np.dtype[Any]) -> Array:
    """As many between 2^14 and 2^15 as between the last two powers, of both signs and with all digits, which no float
    of the width holds; or the ends, and numbers beside."""
    limits = np.iinfo(held)
    low, high = int(limits.min), int(limits.max)
    if filling == "ends":
        return np.asarray(source.choice(np.asarray([low, low + 1, high - 1, high, 0, 1], object), shape).astype(held))
    bits = limits.bits - (low < 0)
    digits = source.integers(0, high, shape, np.uint64, endpoint=True)
    most = source.choice(np.asarray([bits, max(1, bits // 8)], np.uint64), shape)
    size = (digits >> source.integers(0, most, shape, np.uint64)).astype(object)
    return np.asarray((size * source.choice([-1, 1] if low else [1], shape)).astype(held))
