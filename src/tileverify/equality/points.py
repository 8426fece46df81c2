"""What the arrays of a launch hold: residues that are drawn, and shadows of a kind (`FILLINGS`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from ..backend.numbers.conditions import ContractInNumbers, scalars
from ..backend.numbers.inputs import Given, Inputs, make_inputs, view
from ..backend.numbers.trial_launches import Constants
from ..contract.element_types import ELEMENT_TYPES
from ..system.errors import UsageError
from . import field
from .constants import numbers_of
from .exact import NUMBER
from .field import SLOTS, Array

FILLINGS: Final = ("normal", "negative", "borders", "positive", "wide", "tiny")
"""``borders``: at, below and above the numbers that the bytecode holds."""
SEARCHING: Final = ("zeros", "large", "far below")
"""Contents that may show a difference and count for nothing else: ``zeros``, some of which are no variables, so that
branches are taken which no random point takes, large numbers, and their opposites."""


GIVEN: Final = "given"


@dataclass(frozen=True, slots=True)
class TrialPoint:
    """A launch, what its arrays of floats hold by allocation, and its float scalars, as numbers."""

    filling: str
    inputs: Inputs
    contents: Mapping[str, Array]
    floats: Mapping[str, Array]


def drawn_point(
    contract: ContractInNumbers,
    values: Mapping[str, int],
    filling: str,
    known: Constants,
    seed: int,
    held: Mapping[str, Array] | None = None,
) -> TrialPoint:
    """The launch with these values; raises `UsageError` where there is none.  ``held``: integer arrays by name that are
    not drawn."""
    source = np.random.default_rng([seed, (*FILLINGS, *SEARCHING).index(filling)])
    names = [each.name for each in scalars(contract.spec) if ELEMENT_TYPES[each.dtype].kind == "f"]
    floats = {name: float(source.uniform(0.25, 2)) for name in names}
    inputs = make_inputs(contract, Given(dict(values), floats, dict(held or {}), None, int(source.integers(1 << 62))))
    types = {array.allocation: array.dtype for _, array in inputs.launch.named_arrays()}
    contents = {
        name: drawn(source, shadows(source, filling, memory.size, known), filling)
        for name, memory in inputs.memory.items()
        if ELEMENT_TYPES[types[name]].kind == "f"
    }
    return TrialPoint(filling, inputs, contents, {n: drawn(source, np.asarray(value)) for n, value in floats.items()})


def given_point(contract: ContractInNumbers, values: Mapping[str, int], inputs: Mapping[str, ArrayLike]) -> TrialPoint:
    """The launch with these contents (arrays and float scalars by name), each float as the constant that it stands for.

    What is not named is 0, float scalars 1; raises `UsageError` for what the launch has not, or the contract rules out.
    """
    names = [each.name for each in scalars(contract.spec) if ELEMENT_TYPES[each.dtype].kind == "f"]
    floats = {name: float(np.asarray(inputs.get(name, 1.0))) for name in names}
    plain = make_inputs(contract, Given(dict(values), floats, {}))
    arrays = dict(plain.launch.named_arrays())
    unknown = [name for name in inputs if name not in arrays and name not in floats]
    if unknown:
        raise UsageError(f"the launch has no array or float scalar '{unknown[0]}'")
    exact = {name for name, array in arrays.items() if ELEMENT_TYPES[array.dtype].kind == "f"}
    integers = {name: np.asarray(inputs[name]) for name in inputs if name in arrays and name not in exact}
    made = make_inputs(contract, Given(dict(values), floats, integers)) if integers else plain
    contents = {arrays[name].allocation: np.zeros(len(made.memory[arrays[name].allocation]), NUMBER) for name in exact}
    for name in exact & inputs.keys():
        array = arrays[name]
        held = view(contents[array.allocation], array.shape, array.strides)
        try:
            held[...] = numbers_of(np.asarray(inputs[name], np.float64).reshape(array.shape))
        except (ValueError, TypeError):
            raise UsageError(f"the input {name} is no array of the shape {tuple(array.shape)}") from None
    return TrialPoint(GIVEN, made, contents, {name: numbers_of(np.asarray(value)) for name, value in floats.items()})


def drawn(source: np.random.Generator, shadow: Array, filling: str = FILLINGS[0]) -> Array:
    """Numbers that are variables: residues of their own, of degree 1.  Of ``zeros`` a quarter is 0."""
    result = np.zeros(shadow.shape, NUMBER)
    residues = source.integers(0, 1 << 62, (SLOTS, *shadow.shape)).astype(np.uint64)
    result["r"] = np.moveaxis(field.reduced(residues), 0, -1)
    result["s"], result["n"] = shadow, 1
    if filling == "zeros":
        result[source.random(shadow.shape) < 0.25] = np.zeros((), NUMBER)
    return result


def shadows(source: np.random.Generator, filling: str, count: int, known: Constants) -> Array:
    """``count`` floats of a kind, none of them 0."""
    normal = source.standard_normal(count)
    match filling:
        case "positive":
            return np.abs(normal) + 0.25
        case "negative":
            return -np.abs(normal) - 0.25
        case "wide":
            return np.asarray(source.choice([-1.0, 1.0], count) * 2.0 ** source.uniform(-6, 6, count))
        case "tiny":
            return normal * 1e-3
        case "large":
            return _large(source, count, known)
        case "far below":
            return -_large(source, count, known)
        case "borders":
            borders = [value for value in (*known.floats, *map(float, known.integers[:64])) if 0 < abs(value) < 1e6]
            if borders:
                factors = source.choice([1.25, 0.75, 3.0, -1.25, -3.0], count) * source.uniform(0.95, 1.05, count)
                near = source.choice(np.asarray(borders), count) * factors
                return np.where(source.random(count) < 0.5, near, normal)
            return normal * 8
    return normal


def _large(source: np.random.Generator, count: int, known: Constants) -> Array:
    """Positive numbers of which float64 holds powers of e, or of which 0 is one (`formulas.VANISHING`), and some beside
    the large numbers that the bytecode holds."""
    found = np.asarray(2.0 ** source.uniform(4, 17, count))
    borders = [abs(value) for value in known.floats if 1e2 < abs(value) < 1e37]
    if borders:
        near = source.choice(np.asarray(borders), count) * source.choice([1.25, 0.75], count)
        found = np.where(source.random(count) < 0.25, near, found)
    return np.asarray(np.where((found > 600) & (found < 3600), found * 8, found))
