"""What a submission may speak of: modules and their names, builtins, attributes.  Data for the screen.

Everything that is not listed is refused, so a new name of cuda.tile is refused until somebody has looked at it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TILE: Final = _words(
    """
    Array ArrayAnnotation ByTarget Constant ConstantAnnotation DType IndexedWithInt64 ListAnnotation MemoryOrder
    MemoryScope PaddingMode RoundingMode Scalar ScalarInt64 Slice Tile TiledView
    abs add arange argmax argmin assert_ assume_divisible_by astile astype atan2 atomic_add atomic_and atomic_cas
    atomic_max atomic_min atomic_or atomic_xchg atomic_xor bid bitcast bitwise_and bitwise_lshift bitwise_not bitwise_or
    bitwise_rshift bitwise_xor broadcast_to cat cdiv ceil cos cosh cumprod cumsum divmod ensure_constant equal exp exp2
    expand_dims extract floor floordiv full function gather greater greater_equal
    grid_dependency_control_launch_dependents grid_dependency_control_wait insert isnan kernel less less_equal load
    load_advanced_indexing log log2 matmul max maximum min minimum mma mma_scaled mod mul negative not_equal num_blocks
    num_tiles ones pack_to_bytes permute pow print printf prod reduce reshape rsqrt scan scatter sin sinh sqrt
    static_assert static_eval static_iter store store_advanced_indexing sub sum tan tanh transpose truediv
    unpack_from_bytes where zeros
    bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 bfloat16 float16 float32 float64 tfloat32 float4_e2m1fn
    float8_e4m3fn float8_e5m2 float8_e5m3fnu float8_e8m0fnu
    """
)
"""Of ``cuda.tile``; left out are launches, tuning, the compiler's own functions and pointers from outside."""

_MATH: Final = _words(
    """
    acos asin atan atan2 ceil copysign cos cosh degrees e erf exp expm1 fabs floor fmod gcd hypot inf isfinite isinf
    isnan isqrt lcm log log10 log1p log2 nan pi pow radians sin sinh sqrt tan tanh tau trunc
    """
)
"""Of ``math``; left out is what makes large integers (``factorial``, ``comb``, ``perm``, ``prod``)."""

_TYPING: Final = _words("Annotated Any Final Literal Optional Tuple TypeAlias Union")

MODULES: Final[Mapping[str, frozenset[str]]] = {
    "cuda.tile": _TILE,
    "math": _MATH,
    "dataclasses": frozenset({"dataclass", "field"}),
    "typing": _TYPING,
    "tileverify": frozenset({"launch"}),
    "__future__": frozenset({"annotations"}),
}
"""Module -> the names of it that a submission may use."""

PURE_CALLS: Final[Mapping[str, frozenset[str]]] = {
    "cuda.tile": frozenset(
        {
            "ArrayAnnotation",
            "ByTarget",
            "ConstantAnnotation",
            "IndexedWithInt64",
            "ListAnnotation",
            "ScalarInt64",
            "cdiv",
        }
    ),
    "math": _MATH,
    "dataclasses": frozenset({"field"}),
}
"""What may be called while the module is imported: it has no effect, and costs nothing."""

DECORATORS: Final = frozenset(
    {("cuda.tile", "kernel"), ("cuda.tile", "function"), ("dataclasses", "dataclass"), ("tileverify", "launch")}
)

BUILTINS: Final = _words(
    """
    abs bool divmod enumerate float int isinstance len list max min pow print range reversed round slice str sum tuple
    zip
    """
)
"""Builtins that a kernel or helper may name."""

CONSTANT_CALLS: Final = _words("abs bool float int len max min round slice tuple")
"""Builtins that may be called while the module is imported."""

INTROSPECTION: Final = _words(
    """
    ag_code ag_frame co_code co_consts cr_code cr_frame f_back f_builtins f_code f_globals f_lasti f_locals f_trace
    format format_map func_closure func_code func_globals gi_code gi_frame gi_yieldfrom im_class im_func im_self mro
    pyfunc tb_frame tb_lasti tb_next
    """
)
"""Attributes without an underscore that lead from a value to the interpreter's insides, or name others in a text."""
