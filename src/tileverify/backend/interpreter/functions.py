"""Functions that Tile IR has no op for: those of CUDA's libdevice and of MLIR's `math` whose values are known here.

Rounding to integers, signs, classes of floats and counts of bits are exact.  All else is computed in f64 and marked
approximate.  A function that the table lacks stops the run, as inline assembly does: no witness rests on made-up
values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from ...frontend.bytecode.model import FOREIGN, TIME_IS_UP, Op, ScalarType
from .rounding import round_to
from .tiles import scalar_type, tile_type
from .values import APPROXIMATE, INTERLEAVED, UNSPECIFIED, Array, NotModelled, Tile, as_signed, joint_taint, with_taint

if TYPE_CHECKING:
    from .machine import BlockInterpreter, Rule

Kind: TypeAlias = Literal["float", "i32", "i64"]

_LIBDEVICE: Final = "__nv_"
_MATH: Final = "math."


@dataclass(frozen=True, slots=True)
class ComputableFunction:
    """``compute`` takes floats as f64 and integers as carriers.  All floats of one call have one type."""

    compute: Callable[..., Array]
    takes: tuple[Kind, ...] = ("float",)
    gives: Kind = "float"
    exact: bool = False

    def fits(self, operands: Sequence[ScalarType], result: ScalarType) -> bool:
        kinds, wanted = (*operands, result), (*self.takes, self.gives)
        floats = {kind for kind, want in zip(kinds, wanted, strict=False) if want == "float"}
        return len(kinds) == len(wanted) and len(floats) <= 1 and all(map(_is_kind, kinds, wanted))


def _is_kind(type: ScalarType, kind: Kind) -> bool:
    return type.is_float if kind == "float" else type.name == kind


def _each(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A function of one Python float, lane by lane."""
    return lambda a: np.asarray(np.frompyfunc(function, 1, 1)(a), np.float64)


def _half_away(a: Array) -> Array:
    """To the nearest integer, halves away from zero."""
    whole = np.trunc(a)
    return np.asarray(np.where(np.abs(a - whole) >= 0.5, whole + np.copysign(1.0, a), whole))


def _bits(a: Array) -> Array:
    """The bits of each lane, from the least, along a last dimension."""
    width = 8 * a.dtype.itemsize
    return np.asarray(a[..., None] >> np.arange(width).astype(a.dtype) & a.dtype.type(1)).astype(np.bool_)


def _ones(a: Array) -> Array:
    return np.asarray(_bits(a).sum(-1))


def _leading_zeros(a: Array) -> Array:
    bits = _bits(a)[..., ::-1]
    return np.asarray(np.where(bits.any(-1), bits.argmax(-1), bits.shape[-1]))


def _first_one(a: Array) -> Array:
    """The place of the least bit that is set, from 1; 0 without any."""
    bits = _bits(a)
    return np.asarray(np.where(bits.any(-1), bits.argmax(-1) + 1, 0))


def _exact(
    compute: Callable[..., Array], takes: tuple[Kind, ...] = ("float",), gives: Kind = "float"
) -> ComputableFunction:
    return ComputableFunction(compute, takes, gives, exact=True)


FUNCTIONS: Final[Mapping[str, ComputableFunction]] = {
    "erf": ComputableFunction(_each(math.erf)),
    "erfc": ComputableFunction(_each(math.erfc)),
    "log1p": ComputableFunction(np.log1p),
    "expm1": ComputableFunction(np.expm1),
    "asin": ComputableFunction(np.arcsin),
    "acos": ComputableFunction(np.arccos),
    "atan": ComputableFunction(np.arctan),
    "asinh": ComputableFunction(np.arcsinh),
    "acosh": ComputableFunction(np.arccosh),
    "atanh": ComputableFunction(np.arctanh),
    "cbrt": ComputableFunction(np.cbrt),
    "exp10": ComputableFunction(lambda a: np.asarray(np.power(10.0, a))),
    "log10": ComputableFunction(np.log10),
    "hypot": ComputableFunction(np.hypot, ("float", "float")),
    "powi": ComputableFunction(
        lambda a, n: np.asarray(np.power(a, as_signed(n, 32).astype(np.float64))), ("float", "i32")
    ),
    "ldexp": ComputableFunction(lambda a, n: np.asarray(np.ldexp(a, as_signed(n, 32))), ("float", "i32")),
    "copysign": _exact(np.copysign, ("float", "float")),
    "trunc": _exact(np.trunc),
    "round": _exact(_half_away),
    "rint": _exact(np.rint),
    "nearbyint": _exact(np.rint),
    "llrint": _exact(np.rint, gives="i64"),
    "llround": _exact(_half_away, gives="i64"),
    **dict.fromkeys(("isnan", "isnand"), _exact(np.isnan, gives="i32")),
    **dict.fromkeys(("isinf", "isinfd"), _exact(np.isinf, gives="i32")),
    **dict.fromkeys(("finite", "isfinited"), _exact(np.isfinite, gives="i32")),
    "popc": _exact(_ones, ("i32",), "i32"),
    "popcll": _exact(_ones, ("i64",), "i32"),
    "clz": _exact(_leading_zeros, ("i32",), "i32"),
    "clzll": _exact(_leading_zeros, ("i64",), "i32"),
    "ffs": _exact(_first_one, ("i32",), "i32"),
    "ffsll": _exact(_first_one, ("i64",), "i32"),
}
"""By the name behind ``__nv_``, without the ``f`` that stands for f32."""
_OF_MATH: Final = frozenset({"erf", "erfc", "log1p", "expm1", "trunc", "round", "copysign"})
"""Those that `math` has under the same name."""


def function_called(callee: str) -> ComputableFunction | None:
    """The function of that name: ``__nv_erff``, ``__nv_erf`` and ``math.erf`` are one."""
    if callee.startswith(_LIBDEVICE):
        name = callee.removeprefix(_LIBDEVICE)
        return FUNCTIONS.get(name) or FUNCTIONS.get(name.removesuffix("f"))
    name = callee.removeprefix(_MATH)
    return FUNCTIONS[name] if callee.startswith(_MATH) and name in _OF_MATH else None


def _call(run: BlockInterpreter, op: Op) -> Tile:
    callee: str = op.attributes["callee"]
    if callee == TIME_IS_UP:  # never here: a poll that is late might as well have begun later
        return Tile(np.zeros((), np.bool_), np.full((), INTERLEAVED, np.uint8))
    function = function_called(callee)
    kinds = [scalar_type(value) for value in op.group("args")]
    if function is None or not function.fits(kinds, scalar_type(op.result)):
        if callee.startswith(FOREIGN):
            name = callee.removeprefix(FOREIGN)
            raise NotModelled(f"the call of '{name}', code of a library of which only the accesses are declared,")
        raise NotModelled(f"the value of '{' '.join(callee.split())}'")
    given = run.tiles(op, "args")
    data = (
        each.data.astype(np.float64) if kind.is_float else each.data for each, kind in zip(given, kinds, strict=True)
    )
    found = _stored(np.asarray(function.compute(*data)), scalar_type(op.result), joint_taint(*given))
    found = found if function.exact else found.tainted(APPROXIMATE)
    # In the body of a reduction, values of no dimension have the lanes that are combined.
    shape = np.broadcast_shapes(found.data.shape, tile_type(op.result).shape)
    return Tile(np.broadcast_to(found.data, shape), found.taint)


def _stored(number: Array, element: ScalarType, taint: Array | None) -> Tile:
    """``number`` as ``element``; a float beyond an i64 is anything."""
    if element.is_float:
        return Tile(np.asarray(round_to(number, element)), taint)
    if number.dtype.kind != "f":
        return Tile(number.astype(np.uint32), taint)
    outside = ~(np.abs(number) < 2.0**63)
    words = np.where(outside, 0.0, number).astype(np.int64).view(np.uint64)
    return Tile(words, with_taint(taint, np.asarray(outside), UNSPECIFIED))


RULES: Final[dict[str, Rule]] = {"opaque": _call}
