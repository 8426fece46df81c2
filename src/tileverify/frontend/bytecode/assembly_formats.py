"""How each op reads in Tile IR assembly: one format string for each, as NVIDIA's ``tileirdisasm`` prints it.

Fields are the declared operands, flags and attributes, ``type_x`` for the type of operand x, ``types`` for the result
types; a field of something absent is empty.  A few fields of the printer's own stand for combinations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_SAME: Final = "{lhs}, {rhs} : {types}"
_ROUNDED: Final = "{lhs}, {rhs} {rnd}{ftz} : {types}"
_WRAPPING: Final = "{lhs}, {rhs}{ovf} : {types}"
_SIGNED: Final = "{lhs}, {rhs} {sgn} : {types}"
_UNARY: Final = "{s} : {types}"
_CONVERT: Final = "{s} : {type_s} -> {types}"
_VIEW: Final = "{s} : {types}"
_ACCESS: Final = "{view}[{index}]{spaced_token}{hints}{inbounds}"
FORMATS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ["absf", "ceil", "cos", "cosh", "floor", "log", "log2", "negf", "sin", "sinh", "tan", "absi"], _UNARY
    ),
    **dict.fromkeys(("exp", "tanh", "sqrt"), "{s} {rnd}{ftz} : {types}"),
    **dict.fromkeys(("exp2", "rsqrt"), "{s}{ftz} : {types}"),
    **dict.fromkeys(("addf", "divf", "mulf", "subf"), _ROUNDED),
    **dict.fromkeys(("maxf", "minf"), "{lhs}, {rhs}{ftz}{nan} : {types}"),
    **dict.fromkeys(["fpowf", "remf", "atan2", "andi", "ori", "xori", "mulhii"], _SAME),
    "fpowi": "{lhs}, {rhs} : {type_lhs}, {type_rhs}",
    "fma": "{lhs}, {rhs}, {acc} {rnd}{ftz} : {types}",
    "cmpf": "{pred} {fcmp} {lhs}, {rhs} : {type_lhs} -> {types}",
    "cmpi": "{pred} {lhs}, {rhs}, {sgn} : {type_lhs} -> {types}",
    "negi": "{s}{ovf} : {types}",
    **dict.fromkeys(("addi", "muli", "shli", "subi"), _WRAPPING),
    **dict.fromkeys(("maxi", "mini", "remi", "shri"), _SIGNED),
    "divi": "{lhs}, {rhs} {sgn}{spaced_rnd} : {types}",
    **dict.fromkeys(
        ["bitcast", "int_to_ptr", "ptr_to_int", "ptr_to_ptr", "broadcast", "reshape", "pack", "unpack"], _CONVERT
    ),
    "exti": "{s} {sgn} : {type_s} -> {types}",
    "trunci": "{s}{ovf} : {type_s} -> {types}",
    "ftof": "{s} {rnd} : {type_s} -> {types}",
    "ftoi": "{s} {sgn} {rnd}{sat} : {type_s} -> {types}",
    "itof": "{s} {sgn} {rnd} : {type_s} -> {types}",
    "constant": "{value} : {types}",
    "iota": ": {types}",
    "assume": "{pred}, {s} : {types}",
    "select": "{c}, {t}, {f} : {type_c}, {types}",
    "cat": "{lhs}, {rhs} dim = {dim} : {type_lhs}, {type_rhs} -> {types}",
    "permute": "{s} {perm} : {type_s} -> {types}",
    "extract": "{s}[{index}] : {type_s} -> {types}",
    "insert": "{s}, {dest}[{index}] : {type_s}, {type_dest}",
    "reduce": "{inputs} dim={dim} identities={ident} : {type_inputs} -> {types} ",
    "scan": "{inputs} dim={dim} reverse={reverse} identities={ident} : {type_inputs} -> {types} ",
    "mmaf": "{lhs}, {rhs}, {acc}{fast_acc} : {type_lhs}, {type_rhs}, {type_acc}",
    "mmai": "{lhs}, {rhs}, {acc} {sl} {sr} : {type_lhs}, {type_rhs}, {type_acc}",
    "mmaf_scaled": "{lhs}, {rhs}, {acc}, {ls}, {rs} : {type_lhs}, {type_rhs}, {type_acc}, {type_ls}, {type_rs}",
    "get_global": "{name} : {types}",
    "alloca": "num_elem = {num_elem}, alignment = {align}{global} : {types}",
    "offset": "{ptr}, {off} : {type_ptr}, {type_off} -> {types}",
    "make_tensor_view": "{base}, shape = [{shape}], strides = [{strides}] : {dynamic}{types}",
    **dict.fromkeys(["make_partition_view", "make_strided_view", "make_gather_scatter_view"], _VIEW),
    **dict.fromkeys(("get_index_space_shape", "get_tensor_shape"), "{src} : {type_src} -> {first_type}"),
    **dict.fromkeys(("get_num_tile_blocks", "get_tile_block_id"), ": {first_type}"),
    "load_ptr_tko": "{ord}{scope} {ptr}{mask}{pad}{token}{hints} : {type_ptr}{type_mask}{type_pad} -> {types}",
    "store_ptr_tko": "{ord}{scope} {ptr}, {val}{mask}{token}{hints} : {type_ptr}, {type_val}{type_mask} -> {types}",
    "load_view_tko": f"{{ord}}{{scope}} {_ACCESS} : {{type_view}}{{type_index}} -> {{types}}",
    "store_view_tko": f"{{ord}}{{scope}} {{tile}}, {_ACCESS} : {{type_tile}}, {{type_view}}{{type_index}} -> {{types}}",
    "atomic_cas_tko": "{ord}{scope} {ptr}, {cmp}, {val}{mask}{token} : {type_ptr}, {type_cmp}{type_mask} -> {types}",
    "atomic_rmw_tko": "{ord}{scope} {ptr}, {mode}, {arg}{mask}{token} : {type_ptr}, {type_arg}{type_mask} -> {types}",
    "atomic_red_view_tko": "{ord}{scope} {view}[{index}], {mode}, {value}{spaced_token}{inbounds} : "
    "{type_value}, {type_view}{type_index} -> {types}",
    "multimem_load_reduce_view_tko": "{ord}{scope} {view}[{index}]{spaced_token}{padded_inbounds}{red} : "
    "{type_view}{type_index}{type_token} -> {types}",
    "multimem_reduce_view_tko": "{ord}{scope} {view}, {tile}[{index}]{spaced_token}{padded_inbounds}{red} : "
    "{type_view}, {type_tile}{type_index}{type_token} -> {types}",
    "multimem_store_view_tko": "{ord}{scope} {view}, {tile}[{index}]{spaced_token}{padded_inbounds} : "
    "{type_view}, {type_tile}{type_index}{type_token} -> {types}",
    "make_token": ": {types}",
    "join_tokens": "{tokens} : {types}",
    **dict.fromkeys(("gdc_launch_dependents_tko", "gdc_wait_tko"), "{gdc_token}-> token"),
    "memory_fence_alias_tko": "{s}",
    "assert": "{c}, {msg} : {type_c}",
    "print_tko": "{str}{more_args}{token}{type_args} -> token",
    "for": "{unsignedCmp}{counter} in ({lower} to {upper}, step {step}) : {type_lower}{carried}",
    "loop": "{carried}",
    "if": "{c}{results_of_if}",
    **dict.fromkeys(("break", "continue", "return", "yield"), "{args}{type_args}"),
}
