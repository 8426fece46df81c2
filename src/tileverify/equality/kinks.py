"""How each op of Tile IR takes part in what a kernel decides, said once for all of them.

A function that is not smooth asks something of its operands, as a comparison does: where an absolute value turns, a
power of a large negative number is 0, or a root has a negative operand.  `branches` has to see it, or the answer to say
that what stands behind it has no law.  A test holds this table against the list of all ops.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class Nature(Enum):
    SMOOTH = "one formula wherever it is defined, which the residues follow"
    MOVING = "moves lanes, reads or writes memory, or goes where a value says that another op decided"
    ASKING = "asks something of its operands, and is noted with the way that it took"
    STEPPED = "follows the shadow, and what it decides has no probability"
    INTEGER = "integers and bits, which are computed as the machine does; those of arrays have no probability"
    REFUSED = "has no rule for numbers, and ends in 'not decided'"


def _all(nature: Nature, names: str) -> dict[str, Nature]:
    return dict.fromkeys(names.split(), nature)


NATURES: Final[dict[str, Nature]] = {
    **_all(Nature.SMOOTH, "addf subf mulf divf fma negf sin cos tan sinh cosh tanh mmaf mmaf_scaled"),
    **_all(Nature.SMOOTH, "ftof itof fpowi constant"),
    **_all(Nature.ASKING, "cmpf cmpi maxf minf maxi mini andi ori"),
    **_all(Nature.ASKING, "absf absi exp exp2 sqrt rsqrt log log2 fpowf reduce"),
    **_all(Nature.STEPPED, "floor ceil remf ftoi"),
    **_all(Nature.INTEGER, "addi subi muli mulhii divi remi negi shli shri xori exti trunci mmai iota"),
    **_all(Nature.REFUSED, "atan2 pack unpack bitcast atomic_cas_tko"),
    **_all(Nature.REFUSED, "multimem_load_reduce_view_tko multimem_reduce_view_tko multimem_store_view_tko"),
    **_all(Nature.REFUSED, "get_global preview$call"),
    **_all(Nature.MOVING, "select broadcast cat permute reshape extract insert scan assume offset alloca"),
    **_all(Nature.MOVING, "int_to_ptr ptr_to_int ptr_to_ptr make_tensor_view make_partition_view"),
    **_all(Nature.MOVING, "make_gather_scatter_view make_strided_view get_index_space_shape get_tensor_shape"),
    **_all(Nature.MOVING, "get_num_tile_blocks get_tile_block_id load_ptr_tko store_ptr_tko load_view_tko"),
    **_all(Nature.MOVING, "store_view_tko atomic_rmw_tko atomic_red_view_tko make_token join_tokens assert print_tko"),
    **_all(Nature.MOVING, "gdc_launch_dependents_tko gdc_wait_tko memory_fence_alias_tko"),
    **_all(Nature.MOVING, "for loop if break continue return yield"),
}
