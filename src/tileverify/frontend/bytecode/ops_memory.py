"""Declarations: pointers, views, memory accesses, atomics, tokens and what the host sees."""

from __future__ import annotations

from typing import Final

from .declaration import COUNT, declare

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
