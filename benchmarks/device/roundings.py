"""Kernels of float ops in every rounding mode that `tileiras` accepts, with and without flushing, and of conversions.

The same kind of kernels as in `ops`: whatever they store must be bit-equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from tests.corpus.problems import Problem

from tileverify.frontend.bytecode.builder import BF16, F16, F32, F64, I8, scalar, tile
from tileverify.frontend.bytecode.model import ScalarType

from .ops import (
    FLOATS,
    INTEGERS,
    LANES,
    SIGNS,
    Build,
    Family,
    binary,
    bits_of,
    float_inputs,
    integer_inputs,
    problem_of,
    unary,
)

DIRECTED: Final = ("zero", "negative_inf", "positive_inf")
TF32, E4M3, E5M2 = (scalar(name) for name in ("tf32", "f8E4M3FN", "f8E5M2"))
NARROWING: Final = {F64: ((F32, DIRECTED), (F16, ("zero",)), (BF16, ("zero",)), (TF32, ("nearest_even", "zero"))),
                    F32: ((F16, ("zero",)), (BF16, ("zero",)), (TF32, ("zero", "nearest_away"))),
                    F16: ((BF16, ("zero",)), (TF32, ("nearest_away",))),
                    BF16: ((F16, ("zero",)), (TF32, ("zero",)))}  # fmt: skip
"""Conversions and their modes besides nearest even, which `ops` has."""


def rounding_problems() -> Iterator[tuple[str, Problem]]:
    """A name and a problem for each family."""
    families = [
        *(family(element) for element in FLOATS for family in (_modes, _conversions)),
        _flushed(),
        *(_from_integers(element) for element in INTEGERS),
        *(_every_code(element) for element in (E4M3, E5M2)),
    ]
    for each in families:
        yield f"ops/{each.name}", problem_of(each)


def _operations(**attributes: Any) -> dict[str, Build]:
    made = {name: binary(name, **attributes) for name in ("addf", "subf", "mulf", "divf")}
    made["sqrt"] = unary("sqrt", **attributes)
    made["fma"] = lambda f, v: f.op("fma", lhs=v[0], rhs=v[1], acc=v[2], **attributes)
    return made


def _modes(element: ScalarType) -> Family:
    made = Family(f"modes-{element.name}", float_inputs(element, 21, 3))
    for mode in DIRECTED:
        made.outputs |= {f"{name} {mode}": bits_of(build) for name, build in _operations(rnd=mode).items()}
    made.outputs["remf"] = bits_of(binary("remf"))
    if element is F64:
        made.outputs["fma"] = bits_of(_operations()["fma"])
    return made


def _flushed() -> Family:
    """Subnormal operands, and results just above and below the smallest normal number."""
    source = np.random.default_rng(22)
    (_, a), (_, b), (_, c) = float_inputs(F32, 22, 3)
    half = LANES // 2
    small = (source.normal(size=(half, 2)) * 2.0 ** source.integers(-70, -56, (half, 2))).astype(np.float32)
    a[:half], b[:half], c[:half] = small[:, 0], small[:, 1], 0
    a[half : half + 64] = np.float32(2**-126) * (1 - np.arange(64, dtype=np.float32) * np.float32(2**-23))
    b[half : half + 64], c[half : half + 64] = np.float32(1) - np.float32(2**-24), 0
    made = Family("flushed-f32", [(F32, a), (F32, b), (F32, c)])
    for mode in ("nearest_even", *DIRECTED):
        flushing = _operations(rnd=mode, flags=["ftz"])
        made.outputs |= {f"{name} {mode} ftz": bits_of(build) for name, build in flushing.items()}
    for name in ("maxf", "minf"):
        made.outputs[f"{name} ftz"] = bits_of(binary(name, flags=["ftz"]))
        made.outputs[f"{name} nan ftz"] = bits_of(binary(name, flags=["ftz", "nan"]))
    return made


def _conversions(element: ScalarType) -> Family:
    made = Family(f"modes-of-conversions-{element.name}", float_inputs(element, 23, 2)[:1])
    for other, modes in NARROWING[element]:
        for mode in modes:
            made.outputs[f"ftof {other.name} {mode}"] = _wide_bits(
                other, unary("ftof", rnd=mode, results=[tile(other, LANES)])
            )
    return made


def _from_integers(element: ScalarType) -> Family:
    made = Family(f"floats-of-{element.name}", [(element, integer_inputs(element, 24)[0])])
    for sign in SIGNS:
        for other in (F16, BF16, TF32):
            build = unary("itof", sgn=sign, results=[tile(other, LANES)])
            made.outputs[f"itof {sign} {other.name}"] = _wide_bits(other, build)
    return made


def _every_code(element: ScalarType) -> Family:
    """All codes of an 8-bit format (each four times) as wider floats."""
    codes = np.tile(np.arange(256, dtype=np.uint8).view(np.int8), LANES // 256)
    made = Family(f"codes-{element.name}", [(I8, codes)])
    for other in FLOATS:

        def build(f, v, other=other):  # type: ignore[no-untyped-def]
            small = f.op("bitcast", s=v[0], results=[tile(element, LANES)])
            return f.op("ftof", s=small, results=[tile(other, LANES)])

        made.outputs[f"ftof {other.name}"] = bits_of(build)
    return made


def _wide_bits(element: ScalarType, build: Build) -> Build:
    """The bits of a result; of tf32, which memory holds as f32, those of the f32."""
    if element is not TF32:
        return bits_of(build)
    return bits_of(lambda f, v: f.op("ftof", s=build(f, v), results=[tile(F32, LANES)]))
