"""What the arrays of a launch hold: residues that are drawn, and shadows of a kind (`FILLINGS`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from ..backend.numbers.array_files import storage_type
from ..backend.numbers.choose import ContractInNumbers, cost, extent, scalars
from ..backend.numbers.inputs import Given, Inputs, make_inputs, view
from ..backend.numbers.trial_launches import WIDE, Chosen, Constants, Spread, at_turning_points, chosen_launches
from ..contract.element_types import ELEMENT_TYPES
from ..contract.launch import ArrayArgument, ConcreteArray
from ..system.errors import UsageError
from . import field
from .exact import NUMBER, numbers_of
from .field import SLOTS, Array

FILLINGS: Final = ("normal", "negative", "borders", "positive", "wide", "tiny")
"""``borders``: at, below and above the numbers that the bytecode holds."""
ZEROS: Final = "zeros"
TIES: Final = "ties"
WHOLE: Final = "whole range"
SCALARS: Final = "other scalars"
NEAR_WHOLE: Final = "near whole"
LARGE: Final = ("large", "far below")
ALIKE: Final = "one number"
RISING: Final = "rising"
TURNS: Final = "turning points"
SMALL: Final = ("below 2^-12", "below 2^-22", "below 2^-32", "below 2^-42", "below 2^-64", "below 2^-100")
SEARCHING: Final = (ZEROS, TIES, WHOLE, *LARGE, SCALARS, NEAR_WHOLE, ALIKE, RISING, TURNS, *SMALL)
"""Contents that may show a difference and count for nothing else: ``zeros``, some of which are no variables, so that
branches are taken which no random point takes, ``ties``, all of which are of a few numbers, integers of the ``whole
range`` of their type, large numbers, their opposites, the first kind at launches with other integer scalars, numbers
close to the integers at which a rounding jumps, or near and between those that the bytecode holds, arrays of ``one
number``, ``rising`` ones, numbers at which something that is computed of them turns, and small ones of one size each:
beside a larger one, nothing is said of a smaller one."""

_BORDERS: Final = 4
MOST_FLOATS: Final = 48
_TURNING: Final = 16
"""Of scalars."""
_LARGEST: Final = 1 << 10
_WIDEST: Final = 1e6
GIVEN: Final = "given"


@dataclass(frozen=True, slots=True)
class TrialPoint:
    """A launch, what its arrays of floats hold by allocation, and its float scalars, as numbers."""

    filling: str
    inputs: Inputs
    contents: Mapping[str, Array]
    floats: Mapping[str, Array]


def to_search(contract: ContractInNumbers) -> tuple[str, ...]:
    """The kinds of contents that may show a difference."""
    integers = (WHOLE,) if _free_integers(contract) or _integer_scalars(contract) else ()
    return (ZEROS, TIES, NEAR_WHOLE, TURNS, *integers, *LARGE, *SMALL, ALIKE, RISING)


def _free_integers(contract: ContractInNumbers) -> list[ArrayArgument]:
    """The arrays of integers that no fact speaks of."""
    spoken_of = {name for fact in (*contract.spec.data, *contract.spec.observed) for name in fact.arrays}
    same = {name for group in contract.spec.same_arrays() for name in group}
    return [
        each
        for each in contract.spec.arrays()
        if ELEMENT_TYPES[each.dtype].kind in "iu" and each.name not in spoken_of | same
    ]


def _integer_scalars(contract: ContractInNumbers) -> list[str]:
    return [each.name for each in scalars(contract.spec) if ELEMENT_TYPES[each.dtype].kind in "iu"]


def drawn_point(
    contract: ContractInNumbers,
    values: Mapping[str, int],
    filling: str,
    known: Constants,
    seed: int,
    held: Mapping[str, Array] | None = None,
    given: Mapping[str, float] | None = None,
) -> TrialPoint:
    """The launch with these values; raises `UsageError` where there is none.  ``held``: integer arrays by name that are
    not drawn; ``given``: float scalars that are constants."""
    source = np.random.default_rng([seed, (*FILLINGS, *SEARCHING).index(filling)])
    names = [each.name for each in scalars(contract.spec) if ELEMENT_TYPES[each.dtype].kind == "f"]
    floats = {name: float(source.uniform(0.25, 2)) for name in names}
    constant = filling in (TIES, ALIKE)
    if constant:
        floats = {name: float(source.choice(_few(source, known))) for name in names}
    given = given or {}
    floats |= given
    if filling == WHOLE:
        values = _other_scalars(source, contract, values, known)
    inputs = make_inputs(contract, Given(dict(values), floats, dict(held or {}), None, int(source.integers(1 << 62))))
    if filling in (WHOLE, TURNS):
        placed = dict(inputs.launch.named_arrays())
        free = [each.name for each in _free_integers(contract) if each.name not in (held or {})]
        drawn_integers = _whole_range if filling == WHOLE else _turning_integers
        whole = {name: drawn_integers(source, placed[name], known) for name in free}
        inputs = make_inputs(contract, Given(dict(values), floats, dict(held or {}), drawn=whole))
    types = {array.allocation: array.dtype for _, array in inputs.launch.named_arrays()}
    contents = {
        name: _tied(source, memory.size, known, alike=filling == ALIKE)
        if constant
        else _numbers(source, filling, memory.size, known)
        for name, memory in inputs.memory.items()
        if ELEMENT_TYPES[types[name]].kind == "f"
    }
    return TrialPoint(
        filling,
        inputs,
        contents,
        {
            name: numbers_of(np.asarray(value), "f32")
            if constant or name in given
            else drawn(source, np.asarray(value))
            for name, value in floats.items()
        },
    )


def other_float_scalars(contract: ContractInNumbers, known: Constants) -> list[dict[str, float]]:
    """Float scalars, one at a time, that a kernel may ask for: of either sign, 0, where it turns, and at and beside
    what the bytecode holds; at most `MOST_FLOATS`."""
    borders = [abs(value) for value in (*known.floats, *map(float, known.integers[:64])) if 0 < abs(value) < 1e6]
    near = (sign * factor * border for factor in (1.0, 1.25, 0.75) for sign in (-1, 1) for border in borders)
    numbers = list(dict.fromkeys((-1.5, 0.0, 1.0, -1.0, *known.turning_floats[:_TURNING], *near)))
    names = [each.name for each in scalars(contract.spec) if ELEMENT_TYPES[each.dtype].kind == "f"]
    return [{name: number} for number in numbers for name in names][:MOST_FLOATS]


def _other_scalars(
    source: np.random.Generator, contract: ContractInNumbers, values: Mapping[str, int], known: Constants
) -> Mapping[str, int]:
    """The values with integer scalars of any sign, small or held by the bytecode, where the contract admits these."""
    borders = [value for value in known.integers[:64] if abs(value) < _LARGEST]
    for name in _integer_scalars(contract):
        for number in (*map(int, source.permutation([-1, -2, -5])), *borders, *(-value for value in borders)):
            if name not in values or not isinstance(values[name], int):
                break
            changed = {**values, name: number}
            try:
                make_inputs(contract, Given(changed, {}, {}))
            except UsageError:
                continue
            if source.random() < 0.75:
                values = changed
                break
    return values


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
            given = numbers_of(np.asarray(inputs[name], np.float64).reshape(array.shape))
        except (ValueError, TypeError):
            raise UsageError(f"the input {name} is no array of the shape {tuple(array.shape)}") from None
        held[...] = given
        if held.tobytes() != given.tobytes():
            raise UsageError(f"the input {name} gives different values to elements that share memory")
    return TrialPoint(GIVEN, made, contents, {name: numbers_of(np.asarray(value)) for name, value in floats.items()})


def drawn(source: np.random.Generator, shadow: Array, filling: str = FILLINGS[0]) -> Array:
    """Numbers that are variables: residues of their own, of degree 1.  Of ``zeros`` a quarter is 0."""
    result = np.zeros(shadow.shape, NUMBER)
    residues = source.integers(0, 1 << 62, (SLOTS, *shadow.shape)).astype(np.uint64)
    result["r"] = np.moveaxis(field.reduced(residues), 0, -1)
    result["s"], result["n"] = shadow, 1
    if filling == ZEROS:
        result[source.random(shadow.shape) < 0.25] = np.zeros((), NUMBER)
    return result


def _tied(source: np.random.Generator, count: int, known: Constants, *, alike: bool) -> Array:
    """Numbers that are no variables: small ones, and a few that the bytecode holds; ``alike``: one of them, not 0."""
    few = _few(source, known)
    chosen = np.full(count, source.choice(few[few != 0])) if alike else source.choice(few, count)
    return numbers_of(chosen, "f32")


def _numbers(source: np.random.Generator, filling: str, count: int, known: Constants) -> Array:
    if filling == TURNS:
        return _turning_floats(source, count, known)
    return drawn(source, shadows(source, filling, count, known), filling)


def _turning_floats(source: np.random.Generator, count: int, known: Constants) -> Array:
    """Half of them the numbers at which the kernel turns, which are no variables, and those that it holds."""
    found = drawn(source, source.standard_normal(count))
    turning = [*known.turning_floats, *known.floats]
    if turning:
        chosen = numbers_of(np.resize(source.permutation(np.asarray(turning)), count), "f32")
        lanes = source.permuted(np.arange(count) % 2 == 0)
        found[lanes] = source.permutation(chosen)[lanes]
    return found


def _turning_integers(source: np.random.Generator, array: ConcreteArray, known: Constants) -> Array:
    held = storage_type(array.dtype)
    turning = np.asarray([*known.turning_integers, *known.integers[:64], 0], object)
    found = np.resize(source.permutation(turning), np.prod(array.shape, dtype=int))
    limits = np.iinfo(held)
    whole = np.clip(source.permutation(found), int(limits.min), int(limits.max))
    return np.asarray(whole.astype(held).reshape(array.shape))


def _few(source: np.random.Generator, known: Constants) -> Array:
    borders = [value for value in (*known.floats, *map(float, known.integers[:64])) if abs(value) < 1e6]
    chosen = source.choice(np.asarray(borders), _BORDERS) if borders else np.zeros(0)
    return np.concatenate([[-1.0, 0.0, 1.0, 2.0], chosen])


def _whole_range(source: np.random.Generator, array: ConcreteArray, known: Constants) -> Array:
    """Small integers of both signs, the ends of the type, those that the bytecode holds, and any."""
    shape, held = array.shape, storage_type(array.dtype)
    low, high = int(np.iinfo(held).min), int(np.iinfo(held).max)
    small = source.integers(-100, 101, shape).astype(object)
    ends = source.choice(np.asarray([low, low + 1, high - 1, high], object), shape)
    borders = np.asarray([*known.integers[:64], *known.turning_integers, 0], object)
    near = source.choice(borders, shape) * source.choice([-1, 1, 1], shape) + source.integers(-1, 2, shape)
    anything = source.integers(low, high, shape, np.uint64 if low == 0 else np.int64, endpoint=True).astype(object)
    kind = source.integers(0, 4, shape)
    found = np.choose(kind, [small, ends, near, anything])
    return np.asarray(np.clip(found, low, high)).astype(held)


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
        case "near whole":
            return _near_whole(source, count, known)
        case "far below":
            return -_large(source, count, known)
        case "rising":
            return np.sort(normal)
        case _ if filling in SMALL:
            return np.asarray(normal * 2.0 ** -float(filling.partition("^-")[2]))
        case "borders":
            borders = [value for value in (*known.floats, *map(float, known.integers[:64])) if 0 < abs(value) < 1e6]
            if borders:
                factors = source.choice([1.25, 0.75, 3.0, -1.25, -3.0], count) * source.uniform(0.95, 1.05, count)
                near = source.choice(np.asarray(borders), count) * factors
                return np.where(source.random(count) < 0.5, near, normal)
            return normal * 8
    return normal


def _near_whole(source: np.random.Generator, count: int, known: Constants) -> Array:
    """Of three kinds: above and below small integers and those that the bytecode holds, by 2^-6 to 2^-20 of them;
    between two neighbours among all numbers of either sign that it holds; nearer to one of these than another is to 0.
    """
    held = [value for value in known.integers[:64] if 0 < value < _LARGEST]
    small = source.integers(1, 65, count)
    whole = np.where(source.random(count) < 0.5, source.choice(np.asarray([*held, 1]), count), small)
    beside = source.choice([-1.0, 1.0], count) * 2.0 ** -source.uniform(6, 20, count)
    near = source.choice([-1.0, 1.0, 1.0], count) * whole * (1 + beside)
    known_ones = [value for value in (*known.floats, *map(float, held)) if abs(value) < _WIDEST]
    ends = np.unique(np.asarray([sign * abs(value) for value in (*known_ones, 0.0) for sign in (-1.0, 1.0)]))
    if len(ends) < 2:
        return np.asarray(near)
    place = source.integers(0, len(ends) - 1, count)
    between = ends[place] + (ends[place + 1] - ends[place]) * source.uniform(0.25, 0.75, count)
    sums = source.choice(ends, count) + source.choice(ends[ends != 0], count) * source.uniform(0.05, 0.95, count)
    kind = source.integers(0, 3, count)
    return np.where(kind == 0, near, np.where(kind == 1, between, sums))


def _large(source: np.random.Generator, count: int, known: Constants) -> Array:
    """Positive numbers of which float64 holds powers of e, or of which 0 is one (`formulas.VANISHING`), some as large
    as formats of 32 bits hold, and some beside the large numbers that the bytecode holds."""
    found = np.asarray(2.0 ** source.uniform(4, 17, count))
    found = np.where(source.random(count) < 0.125, 2.0 ** source.uniform(17, 100, count), found)
    borders = [abs(value) for value in known.floats if 1e2 < abs(value) < 1e37]
    if borders:
        near = source.choice(np.asarray(borders), count) * source.choice([1.25, 0.75], count)
        found = np.where(source.random(count) < 0.25, near, found)
    found = np.where((found > 600) & (found < 3600), found * 8, found)
    return np.asarray(np.minimum(found, known.largest * source.uniform(0.25, 1, count)))


# ----------------------------------------------------------------------------------------------------- planned launches
# Which launches are looked at, and with which contents.


STEPS: Final = 1 << 25
"""Of the interpreter (an element computed is one), for all launches of a kernel together."""
MOST_LAUNCHES: Final = 24
VARIED: Final = 8
"""Launches, beside the usual one, that are looked at with two kinds of contents."""
_SHARE_BEYOND: Final = 3
"""One part in so many of all steps is what a point with all sizes beyond a border may take."""


@dataclass(frozen=True, slots=True)
class Options:
    """``values``: the sizes and scalars of the only launch to look at; ``inputs``: its contents, arrays and float
    scalars by name; ``seed`` of everything that is drawn; ``held``: what arrays of integers hold at every point, by
    name."""

    seed: int = 0
    steps: int = STEPS
    launches: int = MOST_LAUNCHES
    spread: Spread = WIDE
    values: Mapping[str, int] | None = None
    inputs: Mapping[str, ArrayLike] | None = None
    held: Mapping[str, Array] | None = None


@dataclass(frozen=True, slots=True)
class PlannedLaunches:
    """The launches to look at, the usual one first, then by size; those ``beyond`` a border with all sizes, the largest
    first, of which one is looked at; those with other ``scalars``, which may show a difference; and in words what is
    left out."""

    launches: Sequence[Mapping[str, int]]
    beyond: Sequence[Mapping[str, int]] = ()
    scalars: Sequence[Mapping[str, int]] = ()
    left_out: Sequence[str] = ()

    def with_beyond(
        self, contract: ContractInNumbers, launches: Sequence[Mapping[str, int]], taken: int, steps: int
    ) -> list[Mapping[str, int]]:
        """``launches`` with the largest beyond a border behind the usual one, if there is one of a small part of
        ``steps``; the usual one took ``taken`` for a point."""
        most = steps / (_SHARE_BEYOND * max(1, taken))
        affordable = [values for values in self.beyond if _growth(contract, launches[0], values) <= most][:1]
        return [*launches[:1], *affordable, *(values for values in launches[1:] if values not in affordable)]

    def scalars_at(self, contract: ContractInNumbers, known: Constants) -> Sequence[Mapping[str, int]]:
        """``scalars``, those at which the kernel turns first."""
        return at_turning_points(contract, Chosen(tuple(self.launches), (), tuple(self.scalars)), known).scalars

    def fillings(self, number: int, values: Mapping[str, int]) -> tuple[str, ...]:
        """Of a launch that was asked for all; of others the first, and for the small ones behind the usual one a
        second."""
        if number < 0:
            return FILLINGS
        twice = 0 < number <= VARIED and values not in self.beyond
        return (FILLINGS[0], FILLINGS[1 + number % (len(FILLINGS) - 1)]) if twice else FILLINGS[:1]


def _growth(contract: ContractInNumbers, usual: Mapping[str, int], values: Mapping[str, int]) -> float:
    """About how many times the steps of the usual launch another one takes: as its blocks are more, or where they have
    more than twice the elements, as these are."""
    (elements, blocks), (more, others) = extent(contract, usual), extent(contract, values)
    return max(others / blocks, more / (2 * max(1, elements)))


def planned(contract: ContractInNumbers, known: Constants, options: Options) -> PlannedLaunches:
    """What the options ask for.

    :raises UsageError: of the only launch to look at not every size is given.
    """
    if options.values is not None:
        try:
            extent(contract, options.values)
        except KeyError as missing:
            raise UsageError(f"give every size a value, or none: '{missing.args[0]}' has none") from None
        return PlannedLaunches((options.values,))
    chosen = chosen_launches(contract, known, np.random.default_rng(options.seed), options.spread)
    every = [*chosen.launches[:1], *sorted(chosen.launches[1:], key=lambda values: cost(contract, values))]
    left_out = [*chosen.not_tried, *map(sizes_text, every[options.launches :])]
    return PlannedLaunches(every[: options.launches], chosen.beyond, chosen.scalars, left_out)


def sizes_text(values: Mapping[str, int]) -> str:
    """The sizes of one launch."""
    return ", ".join(f"{name} = {value}" for name, value in values.items()) or "the only launch"
