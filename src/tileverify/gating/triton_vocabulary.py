"""What a Triton submission may speak of: modules and their names, attributes of values, arguments of decorators.

As in `screen_vocabulary`, everything that is not listed is refused.  Triton's frontend runs a kernel's names and
attributes as Python does: ``getattr`` on its own objects, calls of what comes of it.  So attributes of values are
listed, too: ``k.fn.__globals__`` and ``k.get_capture_scope()`` lead out of a kernel, ``x.handle`` into the compiler.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

_LANGUAGE: Final = """
    PropagateNan TRITON_MAX_TENSOR_NUMEL load_tensor_descriptor store_tensor_descriptor make_tensor_descriptor
    tensor_descriptor abs add arange argmax argmin associative_scan assume atomic_add atomic_and atomic_cas
    atomic_load atomic_max atomic_min atomic_or atomic_poll atomic_store atomic_xchg atomic_xor bfloat16
    broadcast broadcast_to cat cast cdiv ceil clamp condition const constexpr cos cumprod cumsum debug_barrier
    device_assert device_print div_rn dot dot_scaled dtype erf exp exp2 expand_dims fdiv flip float16 float32
    float64 float8e4b15 float8e4nv float8e4b8 float8e5 float8e5b16 floor fma full gather histogram
    inline_asm_elementwise int1 int16 int32 int64 int8 interleave join load log log2 make_block_ptr
    map_elementwise max max_constancy max_contiguous maximum min minimum mul multiple_of num_programs
    pair_uniform_to_normal permute philox pointer_type program_id rand rand4x randint randint4x randn randn4x
    range ravel reduce reduce_or reshape rsqrt sigmoid sin softmax sort split sqrt sqrt_rn squeeze static_assert
    static_print static_range store sub sum swizzle2d tensor to_tensor topk trans uint16 uint32 uint64 uint8
    uint_to_uniform_float umulhi unsqueeze view void where xor_sum zeros zeros_like
"""
"""Of ``triton.language``; left out are its modules (``core``, ``semantic``), and what makes types of text."""

_MATH: Final = "abs ceil cos div_rn erf exp exp2 fdiv floor fma log log2 rsqrt sin sqrt sqrt_rn umulhi"

_LIBDEVICE: Final = """
    abs acos acosh add_rd add_rn add_ru add_rz asin asinh atan atan2 atanh brev byte_perm cbrt ceil clz copysign
    cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 div_rd div_rn div_ru div_rz double2float_rd double2float_rn
    double2float_ru double2float_rz double2hiint double2int_rd double2int_rn double2int_ru double2int_rz
    double2ll_rd double2ll_rn double2ll_ru double2ll_rz double2loint double2uint_rd double2uint_rn
    double2uint_ru double2uint_rz double2ull_rd double2ull_rn double2ull_ru double2ull_rz double_as_longlong erf
    erfc erfcinv erfcx erfinv exp exp10 exp2 expm1 fast_cosf fast_dividef fast_exp10f fast_expf fast_log10f
    fast_log2f fast_logf fast_powf fast_sinf fast_tanf fdim ffs finitef float2int_rd float2int_rn
    float2int_ru float2int_rz float2ll_rd float2ll_rn float2ll_ru float2ll_rz float2uint_rd float2uint_rn
    float2uint_ru float2uint_rz float2ull_rd float2ull_rn float2ull_ru float2ull_rz float_as_int float_as_uint
    floor fma fma_rd fma_rn fma_ru fma_rz fmod hadd hiloint2double hypot ilogb int2double_rn int2float_rd
    int2float_rn int2float_ru int2float_rz int_as_float isfinited isinf isnan j0 j1 jn ldexp lgamma ll2double_rd
    ll2double_rn ll2double_ru ll2double_rz ll2float_rd ll2float_rn ll2float_ru ll2float_rz llrint llround log
    log10 log1p log2 logb longlong_as_double mul24 mul_rd mul_rn mul_ru mul_rz mulhi nearbyint nextafter norm3d
    norm4d normcdf normcdfinv popc pow rcbrt rcp64h rcp_rd rcp_rn rcp_ru rcp_rz remainder rhadd rhypot rint
    rnorm3d rnorm4d round rsqrt rsqrt_rn sad saturatef scalbn signbit sin sinh sinpi sqrt sqrt_rd sqrt_rn
    sqrt_ru sqrt_rz sub_rd sub_rn sub_ru sub_rz tan tanh tgamma trunc uint2double_rn uint2float_rd uint2float_rn
    uint2float_ru uint2float_rz uint_as_float ull2double_rd ull2double_rn ull2double_ru ull2double_rz
    ull2float_rd ull2float_rn ull2float_ru ull2float_rz y0 y1 yn
"""
"""Of libdevice, whose functions are known by name; left out are those of a library that a path names."""

TRITON_MODULES: Final[Mapping[str, frozenset[str]]] = {
    "triton": frozenset({"jit", "autotune", "Config", "cdiv", "next_power_of_2"}),
    "triton.language": frozenset(_LANGUAGE.split()),
    "triton.language.math": frozenset(_MATH.split()),
    "triton.language.extra": frozenset(),
    "triton.language.extra.libdevice": frozenset(_LIBDEVICE.split()),
    "triton.language.extra.cuda": frozenset(),
    "triton.language.extra.cuda.libdevice": frozenset(_LIBDEVICE.split()),
}
"""Module -> the names of it that a submission may use; the empty ones lead to others."""

TRITON_PURE_CALLS: Final[Mapping[str, frozenset[str]]] = {
    "triton": frozenset({"Config", "cdiv", "next_power_of_2"}),
    "triton.language": frozenset({"constexpr"}),
}
"""What may be called while the module is imported."""

JIT: Final = ("triton", "jit")
AUTOTUNE: Final = ("triton", "autotune")
CONFIG: Final = ("triton", "Config")
_ASSEMBLY: Final = ("triton.language", "inline_asm_elementwise")

_ATTRIBUTES: Final = """
    ALL NONE T abs argmax argmin associative_scan atomic_add atomic_and atomic_cas atomic_load atomic_max
    atomic_min atomic_or atomic_poll atomic_store atomic_xchg atomic_xor block_shape block_type broadcast_to
    cast cdiv ceil cos cumprod cumsum dtype element_ty erf exp exp2 expand_dims flip floor gather histogram
    is_block is_bool is_floating is_fp16 is_bf16 is_fp32 is_fp64 is_fp8 is_int is_int_signed is_int_unsigned
    is_ptr itemsize load log log2 logical_and logical_or max min numel permute primitive_bitwidth ravel reduce
    reduce_or reshape rsqrt scalar scatter shape sigmoid sin softmax sort split sqrt sqrt_rn store sum to trans
    type value view xor_sum item
"""
TRITON_ATTRIBUTES: Final = frozenset(_ATTRIBUTES.split())
"""Of values in a Triton kernel: tensors, descriptors, data types, constants."""

_ARGUMENTS: Final[Mapping[tuple[str, str], tuple[int, frozenset[str]]]] = {
    JIT: (0, frozenset({"do_not_specialize", "do_not_specialize_on_alignment", "noinline", "debug"})),
    AUTOTUNE: (2, frozenset({"configs", "key", "reset_to_zero", "restore_value", "warmup", "rep", "use_cuda_graph"})),
    CONFIG: (4, frozenset({"kwargs", "num_warps", "num_stages", "num_ctas", "maxnreg"})),
}
"""How many arguments may stand by place, and which may be named; others are callbacks, or name files."""


def argument_problems(qualified: tuple[str, str] | None, call: ast.Call) -> Iterator[tuple[ast.AST, str]]:
    """What is wrong with the arguments of a decorator of Triton's, or of ``triton.Config``; with sentences."""
    if qualified is None or qualified not in _ARGUMENTS:
        return
    name = f"{qualified[0]}.{qualified[1]}"
    by_place, known = _ARGUMENTS[qualified]
    for extra in call.args[by_place:]:
        yield extra, f"{name} takes {by_place or 'no'} arguments by place here; name the others"
    for keyword in call.keywords:
        if keyword.arg not in known:
            what = "a table of arguments" if keyword.arg is None else f"'{keyword.arg[:60]}'"
            yield keyword.value, f"{name} may not be given {what}: it may be given {', '.join(sorted(known))}"


def names_alone(call: ast.Call) -> Iterator[ast.Constant]:
    """Strings in the arguments of a decorator that are no names on a line of their own.

    Triton looks for the first line of the decorated text that begins with ``def``, and compiles from there: a string
    of several lines could hold a kernel that nobody has screened.
    """
    for inner in ast.walk(call):
        if not isinstance(inner, ast.Constant) or not isinstance(inner.value, str):
            continue
        if not inner.value.isidentifier() or inner.lineno != inner.end_lineno:
            yield inner


def is_impure_assembly(qualified: tuple[str, str] | None, call: ast.Call) -> bool:
    """Whether ``call`` is one of inline assembly that does not promise to be pure, in so many words."""
    if qualified != _ASSEMBLY:
        return False
    by_name = [keyword.value for keyword in call.keywords if keyword.arg == "is_pure"]
    said = by_name or call.args[4:5]
    return not (len(said) == 1 and isinstance(said[0], ast.Constant) and said[0].value is True)


WHY_NOT: Final[Mapping[tuple[str, str], str]] = {
    ("triton", "heuristics"): "functions that choose constants at each launch are not judged: take a tl.constexpr "
    "parameter",
    ("triton", "constexpr_function"): "it runs Python while the kernel is compiled: compute with tl.constexpr values",
}
"""What to do instead, for names of Triton that kernels have."""
