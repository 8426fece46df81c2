"""What a kernel computed beside what its reference says, element by element.  Runs with the reference, not in the gate.

The reference is asked in float64 for the exact result e, in the type of the arrays for w, again in both with every
float input moved by one rounding for e1, e2, e3 and w1, w2, w3, and with every operation moved by one
(`noisy_reference`) for n1, n2, n3.  An element may differ from e by

    room = F * (u * |e| + d) + 4 * max_k (|ek - wk|, |e - nk|) + smallest  with  d = max_k |ek - e|

where u is the rounding of the element's type.  So it is as wide as the element itself is uncertain, however large its
neighbours are.  An element that its inputs' roundings move by more than its own may have been lucky three times: for it
d is at least a tenth of the array's median.  What is farther off, but by less than a few roundings of 1, may be what a
formula loses beside 1 (`exp(x) - 1`): it is told, and right only where the kernel is proved to be its reference over
the real numbers (`ROUNDING`).

An infinity or NaN is right where the reference has one, in float64 or in the types of the arrays, is too large for the
element's type, or, of extreme contents, as good as lost in its own type.  Beside that, bits are compared:

* what the reference changes by more than one and a half roundings must be written;
* of an array that must change somewhere, something must change;
* an array that the reference leaves alone must keep all its bits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np

from ...backend.numbers.array_files import Array, numbers
from ..gated import MASKED, ROUNDING, Reason
from .job_messages import Tried, TriedArray
from .trial_contents import EXTREME, LARGE, SPECIAL, TOLD

Reference: TypeAlias = Callable[..., object]
Call: TypeAlias = Callable[[Reference, Mapping[str, Array], Tried], tuple[Mapping[str, Array], frozenset[str]]]
"""Gives every array after the launch, by name, and which were left alone.  Raises `NotComparable`."""


@dataclass(frozen=True, slots=True)
class _Format:
    """``unit``: of a rounding, relative; ``factor``: roundings that a kernel may be off; ``least``: smallest normal or,
    of short formats, smallest number; ``most``: largest number; ``last``: smallest subnormal."""

    unit: float
    factor: float
    least: float
    most: float
    last: float


_FORMATS: Final = {
    "f64": _Format(2.0**-53, 64, 2.0**-1022, 1.7976931348623157e308, 2.0**-1074),
    "f32": _Format(2.0**-24, 64, 2.0**-126, 3.4028234e38, 2.0**-149),
    "tf32": _Format(2.0**-11, 16, 2.0**-126, 3.4e38, 2.0**-136),
    "f16": _Format(2.0**-11, 16, 2.0**-24, 65504.0, 2.0**-24),
    "bf16": _Format(2.0**-8, 8, 2.0**-126, 3.38e38, 2.0**-133),
    "f8e4m3": _Format(2.0**-4, 4, 2.0**-9, 448.0, 2.0**-9),
    "f8e5m2": _Format(2.0**-3, 3, 2.0**-16, 57344.0, 2.0**-16),
}
_MOVED: Final = 3
_SHORTEST_UNIT: Final = 2.0**-11
_BESIDE_ONE: Final = 16
_LEAST_LOST: Final = 1 / 8
"""Roundings of 1 that are lost beside it, at some contents at least, and at most."""
_LUCKY: Final = 8
"""Roundings by which those of the inputs move what is as certain as they are."""
_SHAKY: Final = 1 / 8
_FEW: Final = 8
"""Elements that must change before it counts that none did."""


_SEVERE: Final = frozenset({"wrong-result", "not-written", "written-elsewhere"})


class NotComparable(Exception):
    """The reference failed, or returned what cannot be compared; the text says how."""


@dataclass(frozen=True, slots=True)
class _Expected:
    """Of one array.  ``moved``: results for inputs that are off by a rounding, in float64 and in the type of the
    arrays; ``noisy``: where each operation is; ``untouched``: the reference neither changed nor returned it;
    ``cast``: it cast NaN or what is too large to integers, of which nobody knows what comes."""

    exact: Array
    working: Array
    moved: tuple[tuple[Array, Array], ...]
    noisy: tuple[Array, ...]
    untouched: bool
    cast: bool


def disagreements(tried: Sequence[Tried], reference: Reference, call: Call) -> Iterator[Reason]:
    """How the kernel and its reference differ, at most one reason of a kind; raises what ``call`` does."""
    if tried[0].lists:
        yield Reason("not-compared", f"lists of arrays are not compared with a reference ({', '.join(tried[0].lists)})")
    told: set[str] = set()
    wrong: list[Reason] = []
    working, compared, beside_one = [], [], []
    for each in tried:
        try:
            expected = _expected(each, reference, call, closely=False)
            reasons = [*_differences(each, expected)]
            if reasons:  # so it is worth asking how uncertain the elements are
                expected = _expected(each, reference, call, closely=True)
                reasons = [*_differences(each, expected)]
        except NotComparable:
            if each.filling not in EXTREME:
                raise
            continue  # what the caller would never pass: the same sizes with other contents are compared
        wrong += _told_besides(each, expected, reasons)
        if each.filling in TOLD:
            continue
        compared.append(each)
        working.append({name: array.working for name, array in expected.items()})
        for reason in (_beside_masks(each, reason) for reason in reasons):
            if reason.id == ROUNDING:
                beside_one.append(_most_lost(each, expected) >= _LEAST_LOST)
            if reason.id not in told:
                told.add(reason.id)
                wrong.append(reason)
    if not any(beside_one):  # it is no number near 1 that hides those digits
        lost = [Reason("wrong-result", each.message) for each in wrong if each.id == ROUNDING and not told & _SEVERE]
        wrong = [*(each for each in wrong if each.id != ROUNDING), *lost]
    if wrong and _is_constant(compared, working):
        yield Reason("constant-output", "what it writes does not depend on its inputs, what it should write does")
    yield from wrong


def _beside_masks(tried: Tried, reason: Reason) -> Reason:
    if tried.filling in LARGE and reason.id == "wrong-result" and tried.beyond_masks:
        return Reason(MASKED, f"contents beside which its mask is not large: {reason.message}")
    return reason


def _told_besides(tried: Tried, expected: Mapping[str, _Expected], reasons: Sequence[Reason]) -> Iterator[Reason]:
    """What speaks against no kernel: what is wrong near the largest numbers, and the first number that a kernel has
    where its reference has none, as a maximum with 0 does."""
    if tried.filling in TOLD:
        yield from (Reason(MASKED, f"numbers near the largest: {each.message}") for each in reasons[:1])
    for name, argument in tried.arguments.items() if tried.filling == SPECIAL else ():
        if argument.dtype in _FORMATS and not expected[name].untouched:
            after = numbers(argument.after, argument.dtype)
            lost = np.isnan(expected[name].exact) & ~np.isnan(after.astype(np.float64))
            if lost.any():
                where = tuple(int(place) for place in np.argwhere(lost)[0])
                place = f"{name}[{', '.join(map(str, where))}]"
                yield Reason(MASKED, f"NaN: {place} is {after[where]}, where the reference has none ({tried.where})")
                return


def _expected(tried: Tried, reference: Reference, call: Call, *, closely: bool) -> dict[str, _Expected]:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = _asked(tried, reference, call, _MOVED if closely else 0)
    cast = any("invalid value encountered in cast" in str(each.message) for each in warned)
    return {name: replace(array, cast=cast) for name, array in found.items()}


def _asked(tried: Tried, reference: Reference, call: Call, times: int) -> dict[str, _Expected]:
    """``times``: how often it is asked with what is moved; each time leaves more room."""
    given = {name: numbers(each.before, each.dtype) for name, each in tried.arguments.items()}
    working, untouched = call(reference, given, tried)
    try:
        exact, _ = call(reference, _widened(given), tried)
        widened = _widened
    except NotComparable:  # it takes arrays of their own types alone
        exact, widened = working, _as_they_are
    source = np.random.default_rng(0)
    moved = []
    for _ in range(times):
        shifted = {name: _shifted(array, tried.arguments[name].dtype, source) for name, array in given.items()}
        try:
            moved.append((call(reference, widened(shifted), tried)[0], call(reference, shifted, tried)[0]))
        except NotComparable:  # odd, but no reason to be less strict
            break
    noise: list[Mapping[str, Array]] = []
    for number in range(times):
        try:
            noise.append(call(reference, noisy(given, number), tried)[0])
        except NotComparable:  # it takes plain arrays alone
            break
    return {
        name: _Expected(
            exact[name],
            working[name],
            tuple((one[name], other[name]) for one, other in moved),
            tuple(np.asarray(each[name]) for each in noise),
            name in untouched,
            cast=False,
        )
        for name in given
    }


def _as_they_are(arrays: Mapping[str, Array]) -> dict[str, Array]:
    return dict(arrays)


def _widened(arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name: array.astype(np.float64) if array.dtype.kind == "f" else array for name, array in arrays.items()}


def _shifted(array: Array, dtype: str, source: np.random.Generator) -> Array:
    """Floats that are off by one rounding of their type, up or down."""
    if array.dtype.kind != "f" or dtype not in _FORMATS:
        return array.copy()
    unit = max(min(_FORMATS[dtype].unit, 2.0**-8), float(np.finfo(array.dtype).eps))
    with np.errstate(all="ignore"):
        return np.asarray(array * (1 + unit * source.choice([-1.0, 1.0], array.shape)), array.dtype)


# ---------------------------------------------------------------------------------------------- one launch
def _differences(tried: Tried, expected: Mapping[str, _Expected]) -> Iterator[Reason]:
    with np.errstate(all="ignore"):
        for name, argument in tried.arguments.items():
            if argument.before.size:
                yield from _of_array(name, argument, expected[name], tried)


def _of_array(name: str, argument: TriedArray, expected: _Expected, tried: Tried) -> Iterator[Reason]:
    before, after = numbers(argument.before, argument.dtype), numbers(argument.after, argument.dtype)
    same = _bits(argument.before) == _bits(argument.after)

    def at(mask: Array) -> tuple[tuple[int, ...], str]:
        where = tuple(int(each) for each in np.argwhere(mask)[0])
        return where, f"{name}[{', '.join(map(str, where))}]"

    if expected.untouched:
        if not same.all():
            yield Reason("written-elsewhere", f"{at(~same)[1]} is written, but should stay as it is ({tried.where})")
        return
    near, loose = _close(after, expected, argument.dtype, tried)
    wrong = ~loose
    must = _must_change(before, expected, argument.dtype)
    skipped = must & ~argument.written
    if skipped.any():
        count = int(skipped.sum())
        yield Reason("not-written", f"{at(skipped)[1]} is not written, one of {count} such elements ({tried.where})")
    elif wrong.any():
        where, place = at(wrong)
        if not must[where] and argument.written[where] and _equal(before, expected.exact)[where]:
            yield Reason("written-elsewhere", f"{place} is written, but should stay as it is ({tried.where})")
        else:
            values = f"{after[where]} instead of {expected.exact[where]}"
            yield Reason("wrong-result", f"{place} is {values}, with {int(wrong.sum())} wrong elements ({tried.where})")
    elif int(must.sum()) >= _FEW and same[must].all():
        count = int(must.sum())
        yield Reason("not-written", f"{at(must)[1]} is left as it was, as are all {count} that change ({tried.where})")
    elif not near.all():
        where, place = at(~near)
        yield Reason(ROUNDING, f"{place} is {after[where]} instead of {expected.exact[where]} ({tried.where})")


def _most_lost(tried: Tried, expected: Mapping[str, _Expected]) -> float:
    """In roundings of 1, of all elements that are off by so many."""
    most = 0.0
    for name, argument in tried.arguments.items():
        if argument.dtype not in _FORMATS or expected[name].untouched:
            continue
        after = numbers(argument.after, argument.dtype)
        with np.errstate(all="ignore"):
            near, loose = _close(after, expected[name], argument.dtype, tried)
            off = np.abs(after.astype(np.float64) - expected[name].exact)[loose & ~near]
        most = max(most, float(off.max(initial=0.0)) / _FORMATS[argument.dtype].unit)
    return most


def _bits(array: Array) -> Array:
    plain = np.ascontiguousarray(array)
    return plain.view(f"u{plain.dtype.itemsize}").reshape(array.shape)


def _equal(values: Array, others: Array) -> Array:
    return np.asarray((values == others) | ((values != values) & (others != others)))


def _must_change(before: Array, expected: _Expected, dtype: str) -> Array:
    """Where the reference changes an element by more than a rounding may hide, whatever the inputs' own roundings."""
    if dtype not in _FORMATS:
        return np.asarray((before != expected.exact) & (before != expected.working))
    unit, least = _FORMATS[dtype].unit, _FORMATS[dtype].least
    old, new = before.astype(np.float64), expected.exact.astype(np.float64)
    room = 3 * unit * np.maximum(np.abs(old), np.abs(new)) + 2 * least
    rounded = before != expected.working  # in the type of the array, it changes too
    return np.asarray(np.isfinite(new) & np.isfinite(old) & (np.abs(new - old) > room) & rounded)


def _close(values: Array, expected: _Expected, dtype: str, tried: Tried) -> tuple[Array, Array]:
    """Where ``values`` are what is expected, as far as that can be said, and where they are but for roundings of 1."""
    exact, working, filling = expected.exact, expected.working, tried.filling
    if dtype not in _FORMATS:
        # What a comparison or a cast makes of NaN or overflow differs.
        if expected.cast or filling in (SPECIAL, "huge", "brim", "faint", *TOLD):
            return np.ones(values.shape, np.bool_), np.ones(values.shape, np.bool_)
        if filling in ("whole", "ends") and values.dtype.kind in "iu" and exact.dtype.kind in "iu":
            exact, working = exact.astype(values.dtype), working.astype(values.dtype)  # a sum in wider integers
        alike = _equal(values, exact) | _equal(values, working)
        for moved, _ in expected.moved:
            # An input's rounding decides it: nobody can say which is right.
            alike |= ~_equal(moved, exact)
        return np.asarray(alike), np.asarray(alike)
    known = _FORMATS[dtype]
    wide, wanted = values.astype(np.float64), exact.astype(np.float64)
    shifts = [np.abs(moved.astype(np.float64) - wanted) for moved, _ in expected.moved]
    # What one run in the type of the arrays is off by is luck where values cancel.
    pairs = ((working, wanted), *((rounded, moved) for moved, rounded in expected.moved))
    noise = [each.astype(np.float64) for each in expected.noisy]
    own = np.maximum.reduce(
        [*(_apart(one.astype(np.float64), other.astype(np.float64)) for one, other in pairs)]
        + [_apart(each, wanted) for each in noise]
    )
    off = np.maximum.reduce(shifts) if shifts else np.zeros(wanted.shape)
    finite = off[np.isfinite(off)]
    typical = float(np.median(finite)) / 10 if finite.size else 0.0
    lucky = np.where(off <= _LUCKY * known.unit * np.abs(wanted), 0.0, typical)
    doubt = np.maximum(np.where(np.isfinite(off), off, 0.0), lucky)
    smallest = 2 * (known.least if tried.flushes else known.last)
    room = known.factor * (known.unit * np.abs(wanted) + doubt) + 4 * own + smallest
    fits = np.abs(wanted) <= 0.99 * known.most
    apart = np.abs(wide - wanted)
    beyond = ~fits & ~(np.abs(wide) < 0.5 * known.most)  # rounded to infinity, or to the largest number
    # Where the reference has no number, or may have none for want of a rounding, nothing can be said.
    known_there = np.logical_and.reduce([np.isfinite(each) for each in (working, off, *noise)])
    unknown = np.isnan(wanted) | (fits & ~known_there)
    if filling in EXTREME:
        unknown |= ~fits | (~np.isfinite(wide) & (own > _SHAKY * np.abs(wanted)))
    other = beyond | unknown
    lost = _BESIDE_ONE * min(known.unit, _SHORTEST_UNIT)
    near, loose = (other | (fits & (apart <= most)) for most in (room, room + lost))
    return np.asarray(near), np.asarray(loose)


def _apart(one: Array, other: Array) -> Array:
    """How far, 0 where that is no number."""
    off = np.abs(one - other)
    return np.asarray(np.where(np.isfinite(off), off, 0.0))


def _is_constant(tried: Sequence[Tried], expected: Sequence[Mapping[str, Array]]) -> bool:
    """Whether launches of one size wrote the same values everywhere, where the reference has different ones."""
    first, *others = range(len(tried))
    same = [number for number in others if tried[number].values == tried[first].values]
    outputs = [name for name, argument in tried[first].arguments.items() if argument.written.any()]

    def written(number: int, name: str) -> Array:
        argument = tried[number].arguments[name]
        return np.asarray(argument.after[argument.written])

    pairs = [(number, name) for number in same for name in outputs]
    constant = all(written(first, name).tobytes() == written(number, name).tobytes() for number, name in pairs)
    return constant and any(
        expected[first][name].tobytes() != expected[number][name].tobytes() for number, name in pairs
    )


# ------------------------------------------------------------------------------------------------------ noisy reference
# A reference whose every operation is off by a rounding, up or down at random: how uncertain its elements are.
#
# What is so moved is what a kernel's own roundings may move (Monte Carlo arithmetic: Parker, "Monte Carlo arithmetic").
# So an element's uncertainty is that of the numbers which enter it, however large its neighbours are, and whatever
# types a reference computes in: ``np.sqrt(2 / np.pi) * x`` is float64 for NumPy.


_EXACT: Final = frozenset({
    "absolute", "ceil", "conjugate", "copysign", "fabs", "floor", "fmax", "fmin", "fmod", "maximum", "minimum",
    "negative", "positive", "remainder", "rint", "sign", "trunc",
})  # fmt: skip
_CONTRACTING: Final = frozenset({"dot", "einsum", "inner", "outer", "tensordot", "vdot"})
_MIXING: Final = ("numpy.fft", "numpy.linalg")
"""Whose functions lose of each element what the largest one has roundings of."""
_ADDING: Final = frozenset({"reduce", "accumulate", "reduceat"})


@dataclass(frozen=True, slots=True)
class Noise:
    """``widest``: float64 where arrays hold it, else float32: what is wider came of a Python or NumPy scalar."""

    source: np.random.Generator
    widest: np.dtype[np.float32] | np.dtype[np.float64]

    def on(self, values: Array) -> Array:
        """``values``, each off by about one rounding; integers and 0 are computed without."""
        if values.dtype.kind != "f":
            return values
        kind = min(values.dtype, self.widest, key=lambda each: each.itemsize)
        limits = np.finfo(kind)
        factor = self.source.choice([-0.5, 0.5], values.shape) * self.source.uniform(1, 3, values.shape)
        with np.errstate(all="ignore"):
            moved = np.asarray(values.astype(np.float64) * (1 + factor * float(limits.eps) / 2), values.dtype)
            least = values.dtype.type(limits.smallest_subnormal) * np.sign(factor).astype(values.dtype)
            moved = np.where(np.abs(values) < limits.smallest_normal, values + least, moved)
            moved = np.where(np.abs(moved) > limits.max, np.copysign(np.inf, moved), moved)
            whole = (values == np.rint(values)) & (np.abs(values) <= 1 / limits.eps)
        return np.asarray(np.where(whole, values, moved), values.dtype)

    def across(self, values: Array) -> Array:
        """``values``, real or complex, each off by about one rounding of the largest."""
        if values.dtype.kind not in "fc" or not values.size:
            return values
        with np.errstate(all="ignore"):
            largest = float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))
            step = largest * float(np.finfo(self.widest).eps)
            return np.asarray(values + self.source.uniform(-step, step, values.shape), values.dtype)


class NoisyArray(np.ndarray[tuple[int, ...], np.dtype[np.generic]]):
    """An array of which everything that is computed is noisy, too."""

    noise: Noise | None = None

    def __array_finalize__(self, of: object) -> None:
        self.noise = getattr(of, "noise", None)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, out: tuple[Array, ...] | None = None, **options: object
    ) -> object:
        noise = next(each.noise for each in (*inputs, *(out or ())) if isinstance(each, NoisyArray))
        assert noise is not None
        adding = method in _ADDING or ufunc is np.matmul
        given = [_plain(each) for each in inputs]
        if adding and ufunc.__name__ not in _EXACT:
            given = [noise.on(each) if isinstance(each, np.ndarray) else each for each in given]
        options = {name: _plain(each) for name, each in options.items()}
        targets = () if out is None else tuple(np.asarray(_plain(each)) for each in out)
        if out is not None:
            options["out"] = targets
        found = getattr(ufunc, method)(*given, **options)
        if out is not None:
            if ufunc.__name__ not in _EXACT:
                for each in targets:
                    each[...] = noise.on(each)
            return out[0] if len(out) == 1 else out
        if ufunc.__name__ in _EXACT:
            return _wrapped(found, noise, exact=True)
        return _wrapped(found, noise)

    def __array_function__(
        self,
        function: Callable[..., object],
        types: Iterable[type],
        args: Iterable[object],
        kwargs: Mapping[str, object],
    ) -> object:
        found = super().__array_function__(function, types, args, kwargs)
        if self.noise is not None and function.__module__.startswith(_MIXING) and isinstance(found, np.ndarray):
            return _wrapped(self.noise.across(np.asarray(_plain(found))), self.noise, exact=True)
        noisy = self.noise is not None and function.__name__ in _CONTRACTING
        return _wrapped(found, self.noise) if noisy and self.noise is not None else found

    def dot(self, other: Array, out: None = None) -> object:  # type: ignore[override]
        return np.dot(self, other, out)


def noisy(arrays: dict[str, Array], seed: int) -> dict[str, Array]:
    wide = any(array.dtype == np.float64 for array in arrays.values())
    noise = Noise(np.random.default_rng(seed), np.dtype(np.float64) if wide else np.dtype(np.float32))
    return {name: _noisy(array, noise) for name, array in arrays.items()}


def _plain(value: object) -> object:
    return value.view(np.ndarray) if isinstance(value, NoisyArray) else value


def _wrapped(found: object, noise: Noise, *, exact: bool = False) -> object:
    if isinstance(found, tuple):
        return tuple(_wrapped(each, noise, exact=exact) for each in found)
    if not isinstance(found, np.ndarray | np.generic):
        return found
    array = np.asarray(_plain(found))
    return _noisy(array if exact else noise.on(array), noise)


def _noisy(array: Array, noise: Noise) -> NoisyArray:
    result = array.view(NoisyArray)
    result.noise = noise
    return result
