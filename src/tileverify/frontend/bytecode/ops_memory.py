"""Declarations: pointers, views, memory accesses, atomics, tokens and what the host sees."""

from __future__ import annotations

from .declaration import COUNT, declare

ORDERED = "ord:memory_ordering scope:memory_scope"
ACCESS = "ord:memory_ordering scope?:memory_scope hints?:hints"

ADDRESS_OPS = (
    declare(44, "get_global", "", "name:global", typing="get_global"),
    declare(113, "alloca", "", "num_elem:varint align:varint", flags="global", since=3, typing="alloca"),
    declare(81, "offset", "ptr off", typing="offset"),
    declare(67, "make_tensor_view", "base [shape] [strides]", results=COUNT, typing="make_tensor_view"),
    declare(66, "make_partition_view", "s", typing="make_partition_view"),
    declare(115, "make_gather_scatter_view", "s", since=3, typing="make_gather_scatter_view"),
    declare(116, "make_strided_view", "s", since=3, typing="make_strided_view"),
    declare(45, "get_index_space_shape", "src", results=COUNT, typing="get_index_space_shape"),
    declare(47, "get_tensor_shape", "src", results=COUNT, typing="get_tensor_shape"),
    declare(46, "get_num_tile_blocks", results=3, typing="grid_triple"),
    declare(48, "get_tile_block_id", results=3, typing="grid_triple"),
)

ACCESS_OPS = (
    declare(
        61, "load_ptr_tko", "ptr mask? pad? token?", ACCESS,
        flags="scope hints mask pad token", results=2, effect="read", typing="load_pointer",
    ),
    declare(
        101, "store_ptr_tko", "ptr val mask? token?", ACCESS,
        flags="scope hints mask token", effect="write", typing="store_pointer",
    ),
    declare(
        62, "load_view_tko", "view [index] token?", ACCESS + " inbounds:bools>=4",
        flags="scope hints token", results=COUNT, effect="read", typing="load_view",
    ),
    declare(
        102, "store_view_tko", "tile view [index] token?", ACCESS + " inbounds:bools>=4",
        flags="scope hints token", results=COUNT, effect="write", typing="store_view",
    ),
    declare(
        7, "atomic_cas_tko", "ptr cmp val mask? token?", ORDERED,
        flags="mask token", results=2, effect="read_write", typing="atomic_cas",
    ),
    declare(
        8, "atomic_rmw_tko", "ptr arg mask? token?", ORDERED + " mode:atomic_mode",
        flags="mask token", results=2, effect="read_write", typing="atomic_rmw",
    ),
    declare(
        117, "atomic_red_view_tko", "view [index] value token?", ORDERED + " mode:atomic_mode inbounds:bools>=5",
        flags="token", results=COUNT, since=3, effect="read_write", typing="atomic_red_view",
    ),
    declare(
        123, "multimem_load_reduce_view_tko", "view [index] token?",
        "ord:memory_ordering scope?:memory_scope red:multimem_reduction inbounds:bools",
        flags="scope token", results=COUNT, since=5, effect="read", typing="multimem_load_reduce",
    ),
    declare(
        124, "multimem_reduce_view_tko", "view tile [index] token?",
        ORDERED + " red:multimem_reduction inbounds:bools",
        flags="token", results=COUNT, since=5, effect="read_write", typing="multimem_store",
    ),
    declare(
        125, "multimem_store_view_tko", "view tile [index] token?",
        "ord:memory_ordering scope?:memory_scope inbounds:bools",
        flags="scope token", results=COUNT, since=5, effect="write", typing="multimem_store",
    ),
)  # fmt: skip

TOKEN_OPS = (
    declare(68, "make_token", "", effect="order", typing="make_token"),
    declare(60, "join_tokens", "{tokens*}", results=COUNT, effect="order", typing="join_tokens"),
    declare(119, "gdc_launch_dependents_tko", "{token?}", since=4, effect="order", typing="token_to_token"),
    declare(120, "gdc_wait_tko", "{token?}", since=4, effect="order", typing="token_to_token"),
    declare(122, "memory_fence_alias_tko", "s", since=4, effect="order", typing="token_to_token"),
)

HOST_OPS = (
    declare(5, "assert", "c", "msg:string", results=0, effect="host", typing="assert"),
    declare(
        85, "print_tko", "[args] token?", "str:string", flags="token>=2", results=COUNT, effect="host", typing="print"
    ),
)
