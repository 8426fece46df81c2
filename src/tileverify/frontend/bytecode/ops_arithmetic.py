"""Declarations: element-wise arithmetic, comparison and conversion.

Opcodes and layouts: NVIDIA/cuda-tile bytecode sources (13.1 to 13.3), the encoder of the cuda-tile wheel (13.4, 13.5).
"""

from __future__ import annotations

from typing import Final

from .declaration import declare

ROUNDED: Final = "rnd:rounding=nearest_even"

_SIGNED: Final = "{lhs}, {rhs} {sgn} : {types}"
_WRAPPING: Final = "{lhs}, {rhs}{ovf} : {types}"
_INEXACT: Final = "{lhs}, {rhs} {rnd}{ftz} : {types}"
_EXTREME: Final = "{lhs}, {rhs}{ftz}{nan} : {types}"
_APPROXIMATE: Final = "{s} {rnd} : {types}"
_FLUSHING: Final = "{s}{ftz} : {types}"
_CONVERTING: Final = "{s} : {type_s} -> {types}"

FLOAT_OPS = (
    declare(0, "absf", "s", typing="same_float", algebra="magnitude"),
    declare(13, "ceil", "s", typing="same_float"),
    declare(18, "cos", "s", typing="same_float"),
    declare(19, "cosh", "s", typing="same_float"),
    declare(23, "exp", "s", "rnd:rounding>=3=full", typing="same_float_approximate", assembly=_APPROXIMATE),
    declare(24, "exp2", "s", flags="ftz", typing="same_float", assembly=_FLUSHING),
    declare(39, "floor", "s", typing="same_float"),
    declare(63, "log", "s", typing="same_float"),
    declare(64, "log2", "s", typing="same_float"),
    declare(79, "negf", "s", typing="same_float", algebra="negation"),
    declare(93, "rsqrt", "s", flags="ftz", typing="same_float", assembly=_FLUSHING),
    declare(98, "sin", "s", typing="same_float"),
    declare(99, "sinh", "s", typing="same_float"),
    declare(100, "sqrt", "s", ROUNDED, flags="ftz", typing="same_float", assembly="{s} {rnd}{ftz} : {types}"),
    declare(105, "tan", "s", typing="same_float"),
    declare(106, "tanh", "s", "rnd:rounding>=2=full", typing="same_float_approximate", assembly=_APPROXIMATE),
    declare(2, "addf", "lhs rhs", ROUNDED, flags="ftz", typing="same_float", assembly=_INEXACT, algebra="sum"),
    declare(20, "divf", "lhs rhs", ROUNDED, flags="ftz", typing="same_float", assembly=_INEXACT, algebra="quotient"),
    declare(69, "maxf", "lhs rhs", flags="nan ftz", typing="same_float", assembly=_EXTREME, algebra="maximum"),
    declare(71, "minf", "lhs rhs", flags="nan ftz", typing="same_float", assembly=_EXTREME, algebra="minimum"),
    declare(76, "mulf", "lhs rhs", ROUNDED, flags="ftz", typing="same_float", assembly=_INEXACT, algebra="product"),
    declare(84, "fpowf", "lhs rhs", typing="same_float"),
    declare(89, "remf", "lhs rhs", typing="same_float", algebra="remainder"),
    declare(103, "subf", "lhs rhs", ROUNDED, flags="ftz", typing="same_float", assembly=_INEXACT, algebra="difference"),
    declare(110, "atan2", "lhs rhs", since=2, typing="same_float"),
    declare(
        121, "fpowi", "lhs rhs", since=4, typing="float_to_integer_power",
        assembly="{lhs}, {rhs} : {type_lhs}, {type_rhs}",
    ),
    declare(
        40, "fma", "lhs rhs acc", ROUNDED, flags="ftz", typing="same_float", algebra="fused",
        assembly="{lhs}, {rhs}, {acc} {rnd}{ftz} : {types}",
    ),
    declare(
        14, "cmpf", "lhs rhs", "pred:predicate fcmp:float_ordering", typing="compare_float", algebra="comparison",
        assembly="{pred} {fcmp} {lhs}, {rhs} : {type_lhs} -> {types}",
    ),
)  # fmt: skip

INTEGER_OPS = (
    declare(1, "absi", "s", typing="same_integer", algebra="magnitude"),
    declare(
        80, "negi", "s", "ovf:overflow>=2=none", typing="same_integer", algebra="negation",
        assembly="{s}{ovf} : {types}",
    ),
    declare(3, "addi", "lhs rhs", "ovf:overflow", typing="same_integer", assembly=_WRAPPING, algebra="sum"),
    declare(4, "andi", "lhs rhs", typing="same_integer", algebra="and"),
    declare(
        21, "divi", "lhs rhs", "sgn:signedness rnd:rounding=zero", typing="integer_division", algebra="quotient",
        partial="rhs", assembly="{lhs}, {rhs} {sgn}{spaced_rnd} : {types}",
    ),
    declare(70, "maxi", "lhs rhs", "sgn:signedness", typing="same_integer", assembly=_SIGNED, algebra="maximum"),
    declare(72, "mini", "lhs rhs", "sgn:signedness", typing="same_integer", assembly=_SIGNED, algebra="minimum"),
    declare(77, "mulhii", "lhs rhs", typing="same_integer"),
    declare(78, "muli", "lhs rhs", "ovf:overflow", typing="same_integer", assembly=_WRAPPING, algebra="product"),
    declare(82, "ori", "lhs rhs", typing="same_integer", algebra="or"),
    declare(
        90, "remi", "lhs rhs", "sgn:signedness", typing="same_integer", assembly=_SIGNED, algebra="remainder",
        partial="rhs",
    ),
    declare(
        96, "shli", "lhs rhs", "ovf:overflow", typing="same_integer", assembly=_WRAPPING, algebra="shift",
        partial="rhs",
    ),
    declare(
        97, "shri", "lhs rhs", "sgn:signedness", typing="same_integer", assembly=_SIGNED, algebra="shift",
        partial="rhs",
    ),
    declare(104, "subi", "lhs rhs", "ovf:overflow", typing="same_integer", assembly=_WRAPPING, algebra="difference"),
    declare(108, "xori", "lhs rhs", typing="same_integer", algebra="xor"),
    declare(
        15, "cmpi", "lhs rhs", "pred:predicate sgn:signedness", typing="compare_integer", algebra="comparison",
        assembly="{pred} {lhs}, {rhs}, {sgn} : {type_lhs} -> {types}",
    ),
)  # fmt: skip

CONVERSIONS = (
    declare(9, "bitcast", "s", typing="bitcast", assembly=_CONVERTING),
    declare(37, "exti", "s", "sgn:signedness", typing="widen_integer", assembly="{s} {sgn} : {type_s} -> {types}"),
    declare(42, "ftof", "s", ROUNDED, typing="float_to_float", assembly="{s} {rnd} : {type_s} -> {types}"),
    declare(
        43, "ftoi", "s", "sgn:signedness rnd:rounding=nearest_int_to_zero", flags="sat>=4", typing="float_to_integer",
        assembly="{s} {sgn} {rnd}{sat} : {type_s} -> {types}",
    ),
    declare(51, "int_to_ptr", "s", typing="integer_to_pointer", assembly=_CONVERTING),
    declare(
        59, "itof", "s", f"sgn:signedness {ROUNDED}", typing="integer_to_float",
        assembly="{s} {sgn} {rnd} : {type_s} -> {types}",
    ),
    declare(86, "ptr_to_int", "s", typing="pointer_to_integer", assembly=_CONVERTING),
    declare(87, "ptr_to_ptr", "s", typing="pointer_to_pointer", assembly=_CONVERTING),
    declare(107, "trunci", "s", "ovf:overflow", typing="narrow_integer", assembly="{s}{ovf} : {type_s} -> {types}"),
)  # fmt: skip
