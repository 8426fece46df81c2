"""Operations on each element: flag-gems writes their kernels as they are called, one for each rank."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from benchmarks.real.calls import Call, case, integers, normal

from . import LAYOUTS, SHAPES, calls, inputs

UNARY = """abs abs_ absolute acos angle arcsinh arcsinh_ arctanh_ asinh_ atan atan_ alias_copy ceil ceil_ celu celu_
    conj_physical cos cos_ cosh cosh_ digamma_ elu elu_ erf erf_ exp exp2 exp2_ exp_ expm1 expm1_ floor_ gelu gelu_
    hardsigmoid hardswish_ i0 i0_ isfinite isinf isnan isneginf lift_fresh_copy log log10 log10_ log1p_ log_sigmoid
    logical_not logit logit_ nan_to_num neg neg_ ones_like rand_like randn_like reciprocal reciprocal_ relu relu6 relu_
    resolve_conj resolve_neg round round_ rsqrt rsqrt_ selu selu_ sgn_ sigmoid sigmoid_ signbit silu silu_ sin sin_
    sinh_ softplus softshrink special_i0e special_i1 sqrt sqrt_ square square_ t_copy tan tan_ tanh tanh_ to_copy
    zero_ zeros_like geglu reglu swiglu bernoulli_ exponential_ normal_ uniform_ contiguous"""
EXPERIMENTAL = """abs abs_ absolute_ arccosh arctanh atanh_ celu celu_ cos_ cosh_ deg2rad deg2rad_ elu erf_ erfinv
    erfinv_ exp2 exp2_ exp_ fix fix_ frac gelu_ glu hardshrink hardsigmoid_ hardswish hardtanh hardtanh_ leaky_relu
    leaky_relu_ lift log10_ log2_ log_ neg_ negative negative_ rad2deg_ reciprocal reciprocal_ relu relu_ rsqrt_ sgn
    sigmoid sigmoid_ sign silu silu_ sin_ sinc sinc_ softplus trunc zeros_like"""
BINARY = """add add_ atan2 copysign div_mode div_mode_ eq equal floor_divide floor_divide_ fmin ge greater gt hypot
    isclose le logaddexp logical_and logical_or logical_xor lt maximum minimum mul mul_ ne polar pow_tensor_tensor
    pow_tensor_tensor_ remainder remainder_ sub sub_ true_divide true_divide_ sigmoid_backward silu_backward
    tanh_backward gelu_backward gelu_and_mul silu_and_mul mse_loss soft_margin_loss copy copy_ clamp_tensor
    experimental.heaviside experimental.heaviside_ experimental.huber_loss experimental.hypot_ experimental.logaddexp2
    experimental.maximum experimental.mse_loss experimental.multiply experimental.smooth_l1_loss
    experimental.special_xlog1py experimental.xlogy experimental.xlogy_ experimental.copy_"""
WITH_NUMBER = """eq_scalar ge_scalar greater_scalar gt_scalar le_scalar lt_scalar ne_scalar pow_tensor_scalar
    pow_tensor_scalar_ fill_scalar fill_scalar_ full_like clamp_min clamp_min_ clamp clamp_ clip clip_"""
INTEGERS = """bitwise_and_tensor bitwise_and_tensor_ bitwise_or_tensor bitwise_or_tensor_ bitwise_left_shift
    bitwise_right_shift add sub mul floor_divide remainder eq maximum logical_and experimental.logical_xor_"""


@case
def unary() -> Iterator[Call]:
    for (x,) in inputs(1):
        yield from calls(UNARY, x)
        yield from calls(" ".join(f"experimental.{name}" for name in EXPERIMENTAL.split()), x)


@case
def binary() -> Iterator[Call]:
    for x, y in inputs(2):
        yield from calls(BINARY, x, y)
        yield from calls(WITH_NUMBER, x, 0.5)
        yield from calls("pow_scalar", 0.5, x)
        yield from calls("threshold experimental.threshold experimental.threshold_", x, 0.1, 0.5)
        yield from calls("threshold_backward", x, y, 0.1)
        yield from calls("elu_backward", x, 1.0, 1.0, 1.0, False, y)
        yield from calls("gelu gelu_", x, approximate="tanh")
        yield from calls("gelu_backward gelu_and_mul", x, y, approximate="tanh")
        yield from calls("rrelu_with_noise_backward", x, y, y, 0.1, 0.3, True)


@case
def ternary() -> Iterator[Call]:
    for x, y, z in inputs(3):
        yield from calls("addcdiv addcmul experimental.addcdiv experimental.addcmul_ lerp_tensor lerp_tensor_", x, y, z)
        yield from calls("lerp_scalar lerp_scalar_", x, y, 0.3)
        yield from calls("where_self", x > 0, y, z)
        yield from calls("where_scalar_other", x > 0, y, 2.0)
        yield from calls("where_scalar_self", x > 0, 2.0, y)
        yield from calls("margin_ranking_loss", x, y, z)
        yield from calls("masked_fill masked_fill_", x, y > 0, 0.5)


@case
def broadcast() -> Iterator[Call]:
    for names in ("add sub mul true_divide maximum gt", "pow_tensor_tensor where_self"):
        for left, right in (((37, 1), (1, 129)), ((5, 1, 7), (3, 7)), ((2, 3, 4, 5, 6), (6,))):
            x, y = normal(*left, dtype=torch.float32), normal(*right, dtype=torch.float32)
            yield from calls(names.replace("where_self", ""), x, y)
            if "where_self" in names:
                yield from calls("where_self", x > 0, x, y)


@case
def integer() -> Iterator[Call]:
    for shape in SHAPES:
        for layout in LAYOUTS:
            for dtype in (torch.int32, torch.int64):
                x, y = (layout(integers(1, 20, *shape, dtype=dtype)) for _ in range(2))
                yield from calls(INTEGERS, x, y)
                yield from calls("bitwise_not bitwise_not_ abs neg", x)
                yield from calls("bitwise_and_scalar bitwise_and_scalar_ bitwise_or_scalar bitwise_or_scalar_", x, 5)


@case
def creation() -> Iterator[Call]:
    for size in ((1,), (1025,), (37, 129)):
        yield from calls("zeros ones rand randn", size, device="cuda")
        yield from calls("full", size, 0.5, device="cuda")
        yield from calls("new_full", normal(3), size, 0.5)
    for count in (1, 100, 1025):
        yield from calls("arange randperm eye experimental.eye", count, device="cuda")
        yield from calls("arange_start", 3, 3 + 2 * count, 2, device="cuda")
        yield from calls("eye_m", count, count + 3, device="cuda")
        yield from calls("linspace logspace", 0.0, 1.0, count, device="cuda")


@case
def dropout() -> Iterator[Call]:
    for (x,) in inputs(1):
        yield from calls("dropout", x, 0.3, True)
        yield from calls("dropout_backward", x, x > 0, 1.4)
