"""What NumPy does to arrays of exact numbers, beside what it does to the same arrays of floats.

A rule that passes over an argument, or a method that works on what is inside of a number, makes another function of a
reference: whatever has no rule has to say so.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from tileverify.equality.exact import numbers_of
from tileverify.equality.exact_arrays import FUNCTIONS, Numbers, presented
from tileverify.equality.field import Undecided
from tileverify.equality.primitives import is_numbers, plain
from tileverify.equality.reference_runs import numpy_of_numbers

EXPRESSIONS = """
x.sum(dtype=int) | np.sum(x, dtype=np.int32) | np.sum(x, where=m) | np.sum(x, initial=5.0) | np.sum(t, axis=(0, -1))
np.sum(x, 0, None, None, True) | np.add.reduce(x, dtype=int) | np.add.reduce(x, axis=1, keepdims=True)
np.maximum.reduce(x, axis=-1, initial=0.5) | np.fmax.reduce(np.log(x)) | np.fmin.reduce(np.log(x), axis=None)
np.cumsum(x, dtype=int) | np.cumsum(x, -1) | np.cumsum(x) | np.cumprod(x, 1) | x.cumprod(0) | np.mean(x, dtype=int)
np.mean(x, where=m) | np.mean(x, (0, 1), keepdims=True) | np.var(x, 0, ddof=1) | np.std(x, -1) | x.var(axis=1, ddof=5)
np.var(x, 0, mean=np.zeros((1, 4))) | np.max(x, 0, where=m, initial=-9) | np.max(x, initial=9.0) | x.min(0)
np.argmax(np.log(x), 0) | np.argmin(np.log(x), 1) | np.argmax(x, -1, keepdims=True) | np.argsort(x, axis=None)
np.argsort(np.log(x), 1) | np.sort(x, axis=None) | np.sort(x, 0) | x.argsort(None) | np.any(x) | x.all(0)
np.clip(x, -0.5, 0.5) | np.clip(x, a_min=-0.5, a_max=None) | np.clip(x, min=-0.5, max=0.5) | x.clip(max=0)
np.round(x, 1) | x.round() | np.dot(x, y) | np.dot(t, t) | t.dot(t) | x.dot(2.0) | np.vdot(x, y) | np.inner(x, y)
np.inner(t, t) | np.inner(v, v) | np.outer(v, x) | np.tensordot(x, y, 1) | np.tensordot(x, y, (0, 1))
np.linalg.norm(x) | np.linalg.norm(x, 2) | np.linalg.norm(x, 2, axis=1) | np.linalg.norm(x, 2, axis=(0, 1))
np.linalg.norm(t) | np.linalg.norm(v, 2) | np.linalg.norm(x, "fro") | np.linalg.norm(v, 1) | np.pad(x, 1, mode="mean")
np.pad(x, 1, mode="edge") | np.pad(x, 1, mode="wrap") | np.pad(x, 1, mode="reflect", reflect_type="odd")
np.pad(x, 1, mode="maximum") | np.pad(x, 1, mode="linear_ramp") | np.pad(x, 1, mode="median") | np.tril(v)
np.pad(x, ((1, 0), (0, 2)), constant_values=7.0) | np.pad(x, 1, constant_values=((1, 2), (3, 4)))
np.full_like(x, 3.7, dtype=int) | np.full(3, fill_value=2.5)
np.full_like(x, 3.0, shape=()) | np.full_like(i, x[0, 0]) | np.zeros_like(x, int)
np.average(x, axis=0, weights=v + 5) | np.average(x, axis=0, keepdims=True) | np.average(x, axis=0, returned=True)
np.average(x, weights=y * y) | np.diff(x, prepend=0.0) | np.diff(x, append=1.0) | np.diff(x, 2, 0) | np.nonzero(x)
np.count_nonzero(x, axis=0) | np.where(x, 1, 2) | np.add(x, y, dtype=int, casting="unsafe") | np.add(x, y, where=m)
x.trace() | np.take(x, 3) | x.take([5, 2]) | x.conj() | x.real | x.imag | x.tobytes() | x.itemsize | x.strides
x.view(np.int64) | np.array(x, ndmin=3) | np.array(x, dtype=int) | np.array([[v[0], v[1]], [v[2], v[3]]])
x == y | x * 2 == x + x | x * 4 / 2 == x * 2 | x != x * 1.0 | x == 0.126 | x != 0 | np.power(x, i) | x ** -1
np.power(x, np.array([2, 3, 2, 3])) | np.power(x, np.array([2.0, -1.0, 0.0, 3.0])) | x // 0.3 | x % 0.3 | np.fmod(x, y)
np.einsum("ij,jk->ik", x, y) | np.einsum("iij->j", t) | np.einsum("ji", x) | np.einsum("i,j->", v, v)
sum(x) | max(v) | min(v) | x.ptp() | np.ptp(x) | x.astype(np.int8) | x.astype(bool)
(x * 1e300).astype(np.int32) | (1 / (x * 0)).astype(int) | x // (1 / (x * 0)) | x % (1 / (x * 0))
np.fmod(1 / (x * 0), y) | (-1 / (x * 0)) ** 1.5
"""
STATEMENTS = """
np.sum(x, axis=0, out=o[0])
x.max(0, o[0])
x.mean(0, None, o[0])
np.var(x, 0, out=o[0])
np.cumsum(x, 1, None, o)
np.cumprod(x, 1, out=o)
np.dot(x, y, o)
np.matmul(x, y, out=o)
x.clip(0, 1, o)
np.clip(x, 0, 1, out=o)
np.round(x, out=o)
np.outer(v, v, o)
np.einsum("ij,jk->ik", x, y, out=o)
np.add.reduce(x, 0, out=o[0])
np.add.reduce(x, 0, out=o[0], where=m)
np.greater(x, 0, out=o)
np.exp(x, where=m, out=o)
np.take(x, [0, 1, 2, 3], 0, out=o)
np.stack([v, v, v, v], out=o)
o = np.zeros(4, int); np.argmax(x, 0, out=o)
o = np.zeros(4, bool); np.any(x, 0, out=o)
o = np.zeros((4, 4), int); np.add(x, y, out=o, casting="unsafe")
o = x.copy(); o.sort()
o = x.copy(); o.sort(0)
o = v.copy(); o[::-1].sort()
o = x.copy(); o.put([0, 1], [5.25, 6.5])
o = x.copy(); np.put(o, [0, 1], [5.25, 6.5])
o = x.copy(); np.putmask(o, m, 2.5)
o = x.copy(); np.place(o, m, [2.5])
o = x.copy(); np.fill_diagonal(o, 2.5)
o = x.copy(); o.flat[3] = 2.5
o = x.copy(); o.flat = 2.5
o = x.copy(); o = o.flat[3]
o = x.copy(); b = np.asarray(o); b += 1
o = x.copy(); b = np.ascontiguousarray(o); b[0] = 1
o = x.copy(); b = np.ascontiguousarray(o.T); b[0] = 1
o = x.copy(); b = np.array(o); b[0] = 1
o = x.copy(); b = o[0, 0]; b += 5
o = x.copy(); b = o[0]; b *= 2
o = x.copy(); o[[0, 0]] += 1
o = x.copy(); np.add.at(o, [0, 0], 1.0)
o = x.copy(); np.maximum.at(o, [0, 0], v)
o = x.copy(); np.negative.at(o, [0, 0])
o = np.log(x); np.nan_to_num(o, copy=False)
o = x.copy(); np.copyto(o, y, where=m)
o = x.copy(); np.put_along_axis(o, i[:, :1], y[:, :1], 1)
"""
ASKED = [each.strip() for line in EXPRESSIONS.strip().splitlines() for each in line.split(" | ")]
ASKED = [f"o = {each}" for each in ASKED] + STATEMENTS.strip().splitlines()


def _names(exact: bool) -> dict[str, Any]:
    source = np.random.default_rng(0)
    shapes = {"x": (4, 4), "y": (4, 4), "v": (4,), "t": (3, 3, 3)}
    floats: dict[str, Any] = {name: source.standard_normal(shape).round(3) for name, shape in shapes.items()}
    places, mask = source.integers(0, 4, (4, 4)), floats["x"] > 0
    names = {name: presented(numbers_of(value)) if exact else value for name, value in floats.items()}
    numpy: Any = numpy_of_numbers() if exact else np
    return {**names, "i": places, "m": mask, "np": numpy, "o": numpy.zeros((4, 4))}


def _after(statement: str, exact: bool) -> Any:
    names = _names(exact)
    with np.errstate(all="ignore"):
        exec(statement, names)
    return names["o"]


def _agree(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, tuple):
        return len(found) == len(wanted) and all(map(_agree, found, wanted))
    if not is_numbers(found):
        return np.shape(found) == np.shape(wanted) and bool(np.array_equal(found, wanted))
    numbers, shadow = plain(found), plain(found)["s"]
    if np.shape(shadow) != np.shape(wanted) or not np.allclose(shadow, wanted, 1e-9, 1e-12, equal_nan=True):
        return False
    decimal = np.round(np.where(np.isfinite(shadow), shadow, 0), 9)  # what sums and products of the inputs are
    said = np.isfinite(shadow) & (np.abs(decimal - shadow) < 1e-14) & (numbers["dead"] == 0)
    meant = numbers_of(decimal)
    return bool(((numbers["r"] == meant["r"]).all(axis=-1) | ~said).all())


@pytest.mark.parametrize("statement", ASKED)
def test_numbers_do_what_floats_do_or_say_that_they_do_not(statement: str) -> None:
    try:
        wanted = _after(statement, exact=False)
    except (AttributeError, TypeError):  # what this version of NumPy has not
        wanted = None
    try:
        found = _after(statement, exact=True)
    except (Undecided, TypeError, IndexError, AttributeError):  # all of which end an attempt
        return
    assert wanted is not None
    assert _agree(found, wanted), (found, wanted)


def test_what_was_not_written_is_equal_to_nothing() -> None:
    numpy: Any = numpy_of_numbers()
    for made in (numpy.empty(3), numpy.empty_like(_names(exact=True)["v"])):
        assert np.isnan(plain(made)["s"]).all()
    assert not numpy.empty(3, int).any()


def test_most_of_these_have_an_answer() -> None:
    answered = 0
    for statement in ASKED:
        try:
            _after(statement, exact=True)
            answered += 1
        except (Undecided, TypeError, IndexError, AttributeError):
            continue
    assert answered > len(ASKED) // 2


def test_every_method_of_an_array_is_looked_at() -> None:
    """Those that NumPy's own class does are the ones that move elements, and operators, which are functions."""
    own = {name for name in dir(np.ndarray) if not name.startswith("_")} - set(vars(Numbers))
    moving = {
        "T", "base", "compress", "copy", "ctypes", "device", "diagonal", "dtype", "flags", "flatten", "itemset", "mT",
        "ndim", "newbyteorder", "ravel", "repeat", "reshape", "resize", "setflags", "shape", "size", "squeeze",
        "swapaxes", "take", "to_device", "transpose",
    }  # fmt: skip
    assert own <= moving


def test_rules_take_arguments_by_the_names_that_numpy_has() -> None:
    for function, rule in FUNCTIONS.items():
        assert callable(function)
        try:
            known = inspect.signature(function).parameters
        except ValueError:
            continue
        taken = list(inspect.signature(rule).parameters.values())[1:]
        named = [each for each in taken if each.kind is each.POSITIONAL_OR_KEYWORD and each.default is not each.empty]
        open_ended = any(each.kind is each.VAR_KEYWORD for each in known.values())
        positional = sum(each.kind is each.POSITIONAL_ONLY for each in known.values()) > 1
        assert open_ended or positional or {each.name for each in named} <= set(known), function


def test_a_ufunc_of_another_package_is_none_of_numpys_by_its_name() -> None:
    """So is a method of NumPy's own that no primitive stands for."""
    other: Any = np.frompyfunc(lambda x: 2 * x, 1, 1)
    for statement in ("o = other(x)", "o = np.arctan2(x, y)", "np.negative.at(o, [0])", "o = np.arctan2.outer(v, v)"):
        names = {**_names(exact=True), "other": other}
        with pytest.raises((Undecided, IndexError)):
            exec(statement, names)
    with pytest.raises(Undecided, match=r"^arctan2\.outer of exact numbers$"):
        np.arctan2.outer(_names(exact=True)["v"], 2.0)
