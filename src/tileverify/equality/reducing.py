"""Reductions, scans, sorting and contractions of arrays of numbers, as NumPy's functions of these names do them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from . import exact, formulas
from .exact import NUMBER
from .field import Array
from .undecided import NearTie, Undecided

Axis = int | tuple[int, ...] | None


def axes_of(axis: Axis, ndim: int) -> tuple[int, ...]:
    """The axes, none of them negative."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted(int(each) % max(ndim, 1) for each in given))


def along(x: Array, axis: Axis, keepdims: bool, one: Callable[[Array, int], Array]) -> Array:
    """``one`` (array, axis) -> array without that axis, applied to each of ``axis`` from the last on."""
    places = axes_of(axis, x.ndim)
    result = x
    for place in reversed(places):
        result = one(result, place)
    if keepdims:
        result = result.reshape(tuple(1 if place in places else size for place, size in enumerate(x.shape)))
    return result


def total(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return along(x, axis, keepdims, exact.total)


def folded(combine: Callable[[Array, Array], Array], neutral: Array | None) -> Callable[[Array, int], Array]:
    """Half of the elements with the other half, until one is left."""

    def one(x: Array, axis: int) -> Array:
        lanes = np.moveaxis(x, axis, 0)
        if not len(lanes):
            if neutral is None:
                raise Undecided("an extreme of no elements")
            return np.broadcast_to(neutral, lanes.shape[1:])
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = np.concatenate([combine(lanes[:half], lanes[half : 2 * half]), lanes[2 * half :]])
        return np.asarray(lanes[0], NUMBER)

    return one


def extreme(wanted: int, nan_wins: bool = True) -> Callable[[Array, int], Array]:
    """The largest (``wanted`` 1) or smallest (-1) number along an axis.

    :raises NearTie: another number is as good as equal to it in float64.
    """
    pick = formulas.maximum if wanted > 0 else formulas.minimum
    one_by_one = folded(lambda x, y: pick(x, y, nan_wins), None)

    def one(x: Array, axis: int) -> Array:
        s = exact.certain(x) * wanted
        if not s.shape[axis] or np.isnan(s).any():
            return one_by_one(x, axis)
        found = np.take_along_axis(x, np.argmax(s, axis=axis, keepdims=True), axis)
        top = found["s"] * wanted
        with np.errstate(all="ignore"):
            close = top - s <= exact.CLOSE * np.maximum(np.abs(top), np.abs(s)) + exact.CLOSEST
        close &= np.isfinite(s) & np.isfinite(top)
        if np.count_nonzero(close) > found.size and (close & ~exact.same(x, found)).any():
            raise NearTie("two different numbers are compared that are as good as equal in float64")
        return np.asarray(np.squeeze(found, axis), NUMBER)

    return one


def largest(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return along(x, axis, keepdims, extreme(1))


def smallest(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return along(x, axis, keepdims, extreme(-1))


def largest_number(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """NaN only where all are."""
    return along(x, axis, keepdims, extreme(1, False))


def smallest_number(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return along(x, axis, keepdims, extreme(-1, False))


def product(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return along(x, axis, keepdims, folded(exact.multiply, formulas.ONE))


def mean(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    count = prod(x.shape[place] for place in axes_of(axis, x.ndim))
    return exact.divide(total(x, axis, keepdims), formulas.integers(count))


def variance(x: Array, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Array:
    count = max(prod(x.shape[place] for place in axes_of(axis, x.ndim)) - ddof, 0)
    apart = exact.subtract(x, mean(x, axis, True))
    return exact.divide(total(exact.multiply(apart, apart), axis, keepdims), formulas.integers(count))


def accumulated(x: Array, axis: int | None, combine: Callable[[Array, Array], Array]) -> Array:
    lanes = np.moveaxis(x.reshape(-1) if axis is None else x, axis or 0, 0)
    steps = [lanes[0]] if len(lanes) else []
    for lane in lanes[1:]:
        steps.append(combine(steps[-1], lane))
    return np.moveaxis(np.stack(steps), 0, axis or 0) if steps else x


def running_total(x: Array, axis: int | None = None) -> Array:
    return exact.running(x.reshape(-1), 0) if axis is None else exact.running(x, axis % x.ndim)


# ------------------------------------------------------------------------------------------------ sorting
def ranked(x: Array, axis: int = -1) -> Array:
    """What sorts ``x`` upwards, the first of equal numbers first."""
    shadow = np.array(np.moveaxis(exact.certain(x), axis, -1))
    order = np.argsort(shadow, axis=-1, kind="stable")
    moved = np.moveaxis(x, axis, -1)
    ordered = np.take_along_axis(moved, order, -1)
    s = ordered["s"]
    close = np.abs(s[..., 1:] - s[..., :-1]) <= exact.CLOSE * np.abs(s[..., 1:]) + exact.CLOSEST
    equal = exact.same(ordered[..., 1:], ordered[..., :-1])
    if (close & ~equal & np.isfinite(s[..., 1:])).any():
        raise NearTie("numbers are sorted that are as good as equal in float64")
    if (equal & (s[..., 1:] != s[..., :-1])).any():
        for place in range(1, s.shape[-1]):
            s[..., place] = np.where(equal[..., place - 1], s[..., place - 1], s[..., place])
        np.put_along_axis(shadow, order, s, -1)
        order = np.argsort(shadow, axis=-1, kind="stable")
    return np.moveaxis(order, -1, axis)


def place_of(x: Array, axis: int | None, keepdims: bool, extreme: Callable[..., Array]) -> Array:
    """The first place of the largest or smallest number, or of NaN."""
    lanes = x.reshape(-1) if axis is None else x
    place = 0 if axis is None else axis
    found = extreme(lanes, place, True)
    found = np.argmax(exact.same(lanes, found) | (np.isnan(lanes["s"]) & np.isnan(found["s"])), axis=place)
    if keepdims:
        found = np.expand_dims(found, place) if axis is not None else found.reshape((1,) * x.ndim)
    return np.asarray(found)


# ------------------------------------------------------------------------------------------- contractions
def matmul(x: Array, y: Array) -> Array:
    """As NumPy's: vectors get an axis, which the result lacks."""
    left = x[None] if x.ndim == 1 else x
    right = y[:, None] if y.ndim == 1 else y
    result = exact.matmul(left, right)
    if y.ndim == 1:
        result = result[..., 0]
    return result[..., 0, :] if x.ndim == 1 and y.ndim > 1 else result[..., 0] if x.ndim == 1 else result


def einsum(text: str, operands: Sequence[Array]) -> Array:
    """The sum of products that ``text`` says, two operands at a time."""
    inputs, arrow, output = text.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if "." in text:
        raise Undecided("einsum with an ellipsis")
    if not arrow:
        output = "".join(sorted(letter for letter in set(inputs) - {","} if inputs.count(letter) == 1))
    left, names = _once(operands[0], terms[0])
    for number in range(1, len(operands)):
        right, others = _once(operands[number], terms[number])
        needed = set(output).union(*terms[number + 1 :])
        left, names = _contracted(left, names, right, others, needed)
    rest = tuple(place for place, letter in enumerate(names) if letter not in output)
    left = total(left, rest) if rest else left
    names = "".join(letter for letter in names if letter in output)
    return left.transpose([names.index(letter) for letter in output])


def _once(x: Array, names: str) -> tuple[Array, str]:
    """Repeated letters are diagonals."""
    for letter in set(names):
        while names.count(letter) > 1:
            first, second = [place for place, each in enumerate(names) if each == letter][:2]
            x = np.diagonal(x, axis1=first, axis2=second)
            names = "".join(each for place, each in enumerate(names) if place not in (first, second)) + letter
    return x, names


def _contracted(x: Array, a: str, y: Array, b: str, needed: set[str]) -> tuple[Array, str]:
    batch = [letter for letter in a if letter in b and letter in needed]
    summed = [letter for letter in a if letter in b and letter not in needed]
    rows = [letter for letter in a if letter not in b]
    columns = [letter for letter in b if letter not in a]
    sizes = dict(zip(a + b, x.shape + y.shape, strict=True))

    def grouped(array: Array, names: str, *groups: list[str]) -> Array:
        moved = array.transpose([names.index(letter) for group in groups for letter in group])
        return moved.reshape([prod(sizes[letter] for letter in group) for group in groups])

    found = exact.matmul(grouped(x, a, batch, rows, summed), grouped(y, b, batch, summed, columns))
    names = [*batch, *rows, *columns]
    return found.reshape([sizes[letter] for letter in names]), "".join(names)
