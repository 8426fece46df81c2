"""Every operation of Tile IR bytecode 13.1 to 13.5, and the one of our own (`OWN_OPS`), declared once.

Decoder, encoder, builder and printer read these declarations; what an op does is in the tables of rules of each room.
"""

from __future__ import annotations

from typing import Final

from .declaration import (
    COUNT,
    AttributeDeclaration,
    FlagDeclaration,
    OpDeclaration,
    OperandDeclaration,
    Version,
    declare,
)

__all__ = [
    "BY_NAME",
    "BY_OPCODE",
    "OPERATIONS",
    "VERSIONS",
    "AttributeDeclaration",
    "FlagDeclaration",
    "OpDeclaration",
    "OperandDeclaration",
    "Version",
    "available",
]

# ------------------------------------------------------------------------------------------------------- ops arithmetic
# Declarations: element-wise arithmetic, comparison and conversion.
#
# Opcodes and layouts: NVIDIA/cuda-tile bytecode sources (13.1 to 13.3), the encoder of the cuda-tile wheel (13.4,
# 13.5).


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


# ---------------------------------------------------------------------------------------------------------- ops control
# Declarations: structured control flow and calls.


_LEAVING: Final = "{args}{type_args}"

CONTROL_OPS = (
    declare(
        41, "for", "{lower upper step inits*}", flags="unsignedCmp>=2", results=COUNT, body="loop", typing="for",
        assembly="{unsignedCmp}{counter} in ({lower} to {upper}, step {step}) : {type_lower}{carried}",
        result_names="for",
    ),
    declare(65, "loop", "{inits*}", results=COUNT, body="loop", typing="loop", assembly="{carried}"),
    declare(50, "if", "c", results=COUNT, body="branch", typing="if", assembly="{c}{results_of_if}"),
)  # fmt: skip

TERMINATORS = (
    declare(10, "break", "{args*}", results=COUNT, terminator=True, typing="terminator", assembly=_LEAVING),
    declare(17, "continue", "{args*}", results=COUNT, terminator=True, typing="terminator", assembly=_LEAVING),
    declare(92, "return", "{args*}", results=COUNT, terminator=True, typing="terminator", assembly=_LEAVING),
    declare(109, "yield", "{args*}", results=COUNT, terminator=True, typing="terminator", assembly=_LEAVING),
)

PREVIEW_OPS = (
    declare(
        0x4002,
        "preview$call",
        "{args*}",
        "callee:string const_args:attributes arg_attrs?:attributes res_attrs?:attributes",
        flags="arg_attrs res_attrs",
        results=COUNT,
        since=5,
        effect="read_write",
        typing="foreign_call",
        assembly="{callee} const {const_args}({args}){type_args} -> {types}",
    ),
)


# ----------------------------------------------------------------------------------------------------------- ops memory
# Declarations: pointers, views, memory accesses, atomics, tokens and what the host sees.


ORDERED: Final = "ord:memory_ordering scope:memory_scope"
ACCESS: Final = "ord:memory_ordering scope?:memory_scope hints?:hints"

_SIZES: Final = "{src} : {type_src} -> {first_type}"
_TRIPLE: Final = ": {first_type}"
_IN_VIEW: Final = "{view}[{index}]{spaced_token}{hints}{inbounds}"
_MULTIMEM: Final = "[{index}]{spaced_token}{padded_inbounds}"
_TO_SEVERAL: Final = " : {type_view}, {type_tile}{type_index}{type_token} -> {types}"
_WAITING: Final = "{gdc_token}-> token"

ADDRESS_OPS = (
    declare(44, "get_global", "", "name:global", typing="get_global", assembly="{name} : {types}"),
    declare(
        113, "alloca", "", "num_elem:varint align:varint", flags="global", since=3, typing="alloca",
        assembly="num_elem = {num_elem}, alignment = {align}{global} : {types}",
    ),
    declare(81, "offset", "ptr off", typing="offset", assembly="{ptr}, {off} : {type_ptr}, {type_off} -> {types}"),
    declare(
        67, "make_tensor_view", "base [shape] [strides]", results=COUNT, typing="make_tensor_view",
        assembly="{base}, shape = [{shape}], strides = [{strides}] : {dynamic}{types}", result_names="tview",
    ),
    declare(66, "make_partition_view", "s", typing="make_partition_view", result_names="pview"),
    declare(115, "make_gather_scatter_view", "s", since=3, typing="make_gather_scatter_view", result_names="gsview"),
    declare(116, "make_strided_view", "s", since=3, typing="make_strided_view", result_names="sview"),
    declare(45, "get_index_space_shape", "src", results=COUNT, typing="get_index_space_shape", assembly=_SIZES),
    declare(47, "get_tensor_shape", "src", results=COUNT, typing="get_tensor_shape", assembly=_SIZES),
    declare(
        46, "get_num_tile_blocks", results=3, typing="grid_triple", assembly=_TRIPLE,
        result_names="gridSize_x gridSize_y gridSize_z",
    ),
    declare(
        48, "get_tile_block_id", results=3, typing="grid_triple", assembly=_TRIPLE,
        result_names="blockId_x blockId_y blockId_z",
    ),
)  # fmt: skip

ACCESS_OPS = (
    declare(
        61, "load_ptr_tko", "ptr mask? pad? token?", ACCESS,
        flags="scope hints mask pad token", results=2, effect="read", address="ptr", typing="load_pointer",
        assembly="{ord}{scope} {ptr}{mask}{pad}{token}{hints} : {type_ptr}{type_mask}{type_pad} -> {types}",
        result_names="result result_token",
    ),
    declare(
        101, "store_ptr_tko", "ptr val mask? token?", ACCESS,
        flags="scope hints mask token", effect="write", address="ptr", brought="val", typing="store_pointer",
        assembly="{ord}{scope} {ptr}, {val}{mask}{token}{hints} : {type_ptr}, {type_val}{type_mask} -> {types}",
    ),
    declare(
        62, "load_view_tko", "view [index] token?", ACCESS + " inbounds:bools>=4",
        flags="scope hints token", results=COUNT, effect="read", address="view", typing="load_view",
        assembly="{ord}{scope} " + _IN_VIEW + " : {type_view}{type_index} -> {types}",
        result_names="tile result_token",
    ),
    declare(
        102, "store_view_tko", "tile view [index] token?", ACCESS + " inbounds:bools>=4",
        flags="scope hints token", results=COUNT, effect="write", address="view", brought="tile", typing="store_view",
        assembly="{ord}{scope} {tile}, " + _IN_VIEW + " : {type_tile}, {type_view}{type_index} -> {types}",
    ),
    declare(
        7, "atomic_cas_tko", "ptr cmp val mask? token?", ORDERED,
        flags="mask token", results=2, effect="read_write", address="ptr", brought="val cmp", typing="atomic_cas",
        assembly="{ord}{scope} {ptr}, {cmp}, {val}{mask}{token} : {type_ptr}, {type_cmp}{type_mask} -> {types}",
        result_names="result result_token",
    ),
    declare(
        8, "atomic_rmw_tko", "ptr arg mask? token?", ORDERED + " mode:atomic_mode",
        flags="mask token", results=2, effect="read_write", address="ptr", brought="arg", typing="atomic_rmw",
        assembly="{ord}{scope} {ptr}, {mode}, {arg}{mask}{token} : {type_ptr}, {type_arg}{type_mask} -> {types}",
        result_names="result result_token",
    ),
    declare(
        117, "atomic_red_view_tko", "view [index] value token?", ORDERED + " mode:atomic_mode inbounds:bools>=5",
        flags="token", results=COUNT, since=3, effect="read_write", address="view", brought="value",
        typing="atomic_red_view",
        assembly="{ord}{scope} {view}[{index}], {mode}, {value}{spaced_token}{inbounds} : "
        "{type_value}, {type_view}{type_index} -> {types}",
    ),
    declare(
        123, "multimem_load_reduce_view_tko", "view [index] token?",
        "ord:memory_ordering scope?:memory_scope red:multimem_reduction inbounds:bools",
        flags="scope token", results=COUNT, since=5, effect="read", address="view", typing="multimem_load_reduce",
        assembly="{ord}{scope} {view}" + _MULTIMEM + "{red} : {type_view}{type_index}{type_token} -> {types}",
        result_names="reduced_values result_token",
    ),
    declare(
        124, "multimem_reduce_view_tko", "view tile [index] token?",
        ORDERED + " red:multimem_reduction inbounds:bools",
        flags="token", results=COUNT, since=5, effect="read_write", address="view", brought="tile",
        typing="multimem_store",
        assembly="{ord}{scope} {view}, {tile}" + _MULTIMEM + "{red}" + _TO_SEVERAL,
    ),
    declare(
        125, "multimem_store_view_tko", "view tile [index] token?",
        "ord:memory_ordering scope?:memory_scope inbounds:bools",
        flags="scope token", results=COUNT, since=5, effect="write", address="view", brought="tile",
        typing="multimem_store",
        assembly="{ord}{scope} {view}, {tile}" + _MULTIMEM + _TO_SEVERAL,
    ),
)  # fmt: skip

TOKEN_OPS = (
    declare(68, "make_token", "", effect="order", typing="make_token"),
    declare(60, "join_tokens", "{tokens*}", results=COUNT, effect="order", typing="join_tokens"),
    declare(
        119, "gdc_launch_dependents_tko", "{token?}", since=4, effect="order", typing="token_to_token",
        assembly=_WAITING,
    ),
    declare(120, "gdc_wait_tko", "{token?}", since=4, effect="order", typing="token_to_token", assembly=_WAITING),
    declare(122, "memory_fence_alias_tko", "s", since=4, effect="order", typing="token_to_token", assembly="{s}"),
)  # fmt: skip

HOST_OPS = (
    declare(
        5, "assert", "c", "msg:string", results=0, effect="host", typing="assert",
        assembly="{c}, {msg} : {type_c}",
    ),
    declare(
        85, "print_tko", "[args] token?", "str:string", flags="token>=2", results=COUNT, effect="host", typing="print",
        assembly="{str}{more_args}{token}{type_args} -> token",
    ),
)  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- ops tile
# Declarations: making, reshaping, combining and reducing tiles; matrix products.


_FACTORS: Final = "{type_lhs}, {type_rhs}, {type_acc}"

TILE_OPS = (
    declare(16, "constant", "", "value:constant", typing="constant", assembly="{value} : {types}"),
    declare(58, "iota", "", typing="iota"),
    declare(6, "assume", "s", "pred:predicate_attribute", typing="assume", assembly="{pred}, {s} : {types}"),
    declare(
        95, "select", "c t f", typing="select", algebra="choice",
        assembly="{c}, {t}, {f} : {type_c}, {types}",
    ),
    declare(11, "broadcast", "s", typing="broadcast", assembly=_CONVERTING, result_names="bcast"),
    declare(
        12, "cat", "lhs rhs", "dim:varint", typing="cat",
        assembly="{lhs}, {rhs} dim = {dim} : {type_lhs}, {type_rhs} -> {types}",
    ),
    declare(83, "permute", "s", "perm:i32s", typing="permute", assembly="{s} {perm} : {type_s} -> {types}"),
    declare(91, "reshape", "s", typing="reshape", assembly=_CONVERTING, result_names="reshape"),
    declare(
        38, "extract", "{s index*}", results=COUNT, typing="extract",
        assembly="{s}[{index}] : {type_s} -> {types}",
    ),
    declare(
        118, "insert", "{s dest index*}", results=COUNT, since=4, typing="insert",
        assembly="{s}, {dest}[{index}] : {type_s}, {type_dest}",
    ),
    declare(111, "pack", "s", since=3, typing="pack", assembly=_CONVERTING),
    declare(112, "unpack", "s", since=3, typing="unpack", assembly=_CONVERTING),
)  # fmt: skip

REDUCTIONS = (
    declare(
        88, "reduce", "{inputs*}", "dim:varint ident:attributes", results=COUNT, body="combination", typing="reduce",
        assembly="{inputs} dim={dim} identities={ident} : {type_inputs} -> {types} ", result_names="reduce",
    ),
    declare(
        94, "scan", "{inputs*}", "dim:varint reverse:u8 ident:attributes", results=COUNT, body="combination",
        typing="scan", assembly="{inputs} dim={dim} reverse={reverse} identities={ident} : {type_inputs} -> {types} ",
    ),
)  # fmt: skip

MATRIX_OPS = (
    declare(
        73, "mmaf", "lhs rhs acc", flags="fast_acc>=3", typing="mmaf",
        assembly="{lhs}, {rhs}, {acc}{fast_acc} : " + _FACTORS,
    ),
    declare(
        74, "mmai", "lhs rhs acc", "sl:signedness sr:signedness", typing="mmai",
        assembly="{lhs}, {rhs}, {acc} {sl} {sr} : " + _FACTORS,
    ),
    declare(
        114, "mmaf_scaled", "lhs rhs acc ls rs", since=3, typing="mmaf_scaled",
        assembly="{lhs}, {rhs}, {acc}, {ls}, {rs} : " + _FACTORS + ", {type_ls}, {type_rs}",
    ),
)  # fmt: skip


# -------------------------------------------------------------------------------------------------------------- own ops
# Declaration: what no version of Tile IR has.

OWN_OPS = (
    declare(
        0x7F00, "opaque", "{args*}", "callee:string", typing="opaque",
        assembly="{callee}({args}){type_args} -> {types}",
    ),
)  # fmt: skip
"""``opaque``: a pure function that Tile IR has no op for.  Its ``callee`` names it: ``__nv_erff``, ``math.log1p``, or
``asm `` and the text of inline assembly.  No other producer or reader knows this opcode, and no assembler takes it."""


# -------------------------------------------------------------------------------------------------------------- optable


VERSIONS: Final[tuple[Version, ...]] = tuple((13, minor) for minor in range(1, 6))

OPERATIONS: Final[tuple[OpDeclaration, ...]] = (
    *FLOAT_OPS,
    *INTEGER_OPS,
    *CONVERSIONS,
    *TILE_OPS,
    *REDUCTIONS,
    *MATRIX_OPS,
    *ADDRESS_OPS,
    *ACCESS_OPS,
    *TOKEN_OPS,
    *HOST_OPS,
    *CONTROL_OPS,
    *TERMINATORS,
    *PREVIEW_OPS,
    *OWN_OPS,
)

BY_OPCODE: Final[dict[int, OpDeclaration]] = {op.opcode: op for op in OPERATIONS}
BY_NAME: Final[dict[str, OpDeclaration]] = {op.name: op for op in OPERATIONS}


def available(version: Version) -> tuple[OpDeclaration, ...]:
    """The operations that a file of ``version`` may contain."""
    return tuple(op for op in OPERATIONS if op.since <= version)
