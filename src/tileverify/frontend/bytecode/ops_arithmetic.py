"""Declarations: element-wise arithmetic, comparison and conversion.

Opcodes and layouts: NVIDIA/cuda-tile bytecode sources (13.1 to 13.3), the encoder of the cuda-tile wheel (13.4, 13.5).
"""

from __future__ import annotations

from .declaration import declare

ROUNDED = "rnd:rounding"

FLOAT_OPS = (
    declare(0, "absf", "s", typing="same_float"),
    declare(13, "ceil", "s", typing="same_float"),
    declare(18, "cos", "s", typing="same_float"),
    declare(19, "cosh", "s", typing="same_float"),
    declare(23, "exp", "s", "rnd:rounding>=3=full", typing="same_float_approximate"),
    declare(24, "exp2", "s", flags="ftz", typing="same_float"),
    declare(39, "floor", "s", typing="same_float"),
    declare(63, "log", "s", typing="same_float"),
    declare(64, "log2", "s", typing="same_float"),
    declare(79, "negf", "s", typing="same_float"),
    declare(93, "rsqrt", "s", flags="ftz", typing="same_float"),
    declare(98, "sin", "s", typing="same_float"),
    declare(99, "sinh", "s", typing="same_float"),
    declare(100, "sqrt", "s", ROUNDED, flags="ftz", typing="same_float"),
    declare(105, "tan", "s", typing="same_float"),
    declare(106, "tanh", "s", "rnd:rounding>=2=full", typing="same_float_approximate"),
    declare(2, "addf", "lhs rhs", ROUNDED, flags="ftz", typing="same_float"),
    declare(20, "divf", "lhs rhs", ROUNDED, flags="ftz", typing="same_float"),
    declare(69, "maxf", "lhs rhs", flags="nan ftz", typing="same_float"),
    declare(71, "minf", "lhs rhs", flags="nan ftz", typing="same_float"),
    declare(76, "mulf", "lhs rhs", ROUNDED, flags="ftz", typing="same_float"),
    declare(84, "fpowf", "lhs rhs", typing="same_float"),
    declare(89, "remf", "lhs rhs", typing="same_float"),
    declare(103, "subf", "lhs rhs", ROUNDED, flags="ftz", typing="same_float"),
    declare(110, "atan2", "lhs rhs", since=2, typing="same_float"),
    declare(121, "fpowi", "lhs rhs", since=4, typing="float_to_integer_power"),
    declare(40, "fma", "lhs rhs acc", ROUNDED, flags="ftz", typing="same_float"),
    declare(14, "cmpf", "lhs rhs", "pred:predicate fcmp:float_ordering", typing="compare_float"),
)

INTEGER_OPS = (
    declare(1, "absi", "s", typing="same_integer"),
    declare(80, "negi", "s", "ovf:overflow>=2=none", typing="same_integer"),
    declare(3, "addi", "lhs rhs", "ovf:overflow", typing="same_integer"),
    declare(4, "andi", "lhs rhs", typing="same_integer"),
    declare(21, "divi", "lhs rhs", "sgn:signedness rnd:rounding", typing="integer_division"),
    declare(70, "maxi", "lhs rhs", "sgn:signedness", typing="same_integer"),
    declare(72, "mini", "lhs rhs", "sgn:signedness", typing="same_integer"),
    declare(77, "mulhii", "lhs rhs", typing="same_integer"),
    declare(78, "muli", "lhs rhs", "ovf:overflow", typing="same_integer"),
    declare(82, "ori", "lhs rhs", typing="same_integer"),
    declare(90, "remi", "lhs rhs", "sgn:signedness", typing="same_integer"),
    declare(96, "shli", "lhs rhs", "ovf:overflow", typing="same_integer"),
    declare(97, "shri", "lhs rhs", "sgn:signedness", typing="same_integer"),
    declare(104, "subi", "lhs rhs", "ovf:overflow", typing="same_integer"),
    declare(108, "xori", "lhs rhs", typing="same_integer"),
    declare(15, "cmpi", "lhs rhs", "pred:predicate sgn:signedness", typing="compare_integer"),
)

CONVERSIONS = (
    declare(9, "bitcast", "s", typing="bitcast"),
    declare(37, "exti", "s", "sgn:signedness", typing="widen_integer"),
    declare(42, "ftof", "s", ROUNDED, typing="float_to_float"),
    declare(43, "ftoi", "s", "sgn:signedness rnd:rounding", flags="sat>=4", typing="float_to_integer"),
    declare(51, "int_to_ptr", "s", typing="integer_to_pointer"),
    declare(59, "itof", "s", "sgn:signedness rnd:rounding", typing="integer_to_float"),
    declare(86, "ptr_to_int", "s", typing="pointer_to_integer"),
    declare(87, "ptr_to_ptr", "s", typing="pointer_to_pointer"),
    declare(107, "trunci", "s", "ovf:overflow", typing="narrow_integer"),
)
