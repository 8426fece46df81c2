"""The vocabulary of the typing rules, and those of element-wise arithmetic, conversions, control flow and memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NoReturn

from .enums import MemoryOrdering, MemoryScope
from .model import (
    GatherScatterViewType,
    Op,
    PartitionViewType,
    PointerType,
    ScalarType,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
    Type,
    Value,
    ViewType,
)


class IllFormed(Exception):
    """An op whose operands, results or attributes do not fit together."""


def fail(reason: str) -> NoReturn:
    raise IllFormed(reason)


def types_of(values: Iterable[Value]) -> tuple[Type, ...]:
    return tuple([value.type for value in values])


# ------------------------------------------------------------------------------------ small vocabulary
def tile(value: Value, what: str) -> TileType:
    type = value.type
    if not isinstance(type, TileType):
        fail(f"{what} is not a tile")
    return type


def integer_tile(value: Value, what: str) -> TileType:
    type = value.type
    if not (isinstance(type, TileType) and isinstance(type.element, ScalarType) and type.element.name[0] == "i"):
        fail(f"{what} is not an integer tile")
    return type


def float_tile(value: Value, what: str) -> TileType:
    type = value.type
    if not (isinstance(type, TileType) and isinstance(type.element, ScalarType) and type.element.name[0] != "i"):
        fail(f"{what} is not a float tile")
    return type


def pointer_tile(value: Value, what: str) -> tuple[TileType, PointerType]:
    type = tile(value, what)
    if not isinstance(type.element, PointerType):
        fail(f"{what} is not a tile of pointers")
    return type, type.element


def scalar_of(type: TileType, what: str) -> ScalarType:
    if not isinstance(type.element, ScalarType):
        fail(f"{what} holds pointers")
    return type.element


def mask_for(value: Value, shape: tuple[int, ...], what: str) -> None:
    type = integer_tile(value, what)
    if scalar_of(type, what).bits != 1 or type.shape != shape:
        fail(f"{what} is not an i1 tile of shape {shape}")


def scalar_integer(value: Value, what: str) -> ScalarType:
    type = integer_tile(value, what)
    if type.shape:
        fail(f"{what} is not a scalar")
    return scalar_of(type, what)


def token(value: Value, what: str) -> None:
    if not isinstance(value.type, TokenType):
        fail(f"{what} is not a token")


def one_result(op: Op) -> Value:
    if len(op.results) != 1:
        fail(f"{len(op.results)} results, one expected")
    return op.results[0]


Rule = Callable[[Op], None]
RULES: Final[dict[str, Rule]] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a typing rule under the names that declarations use."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return register


# ----------------------------------------------------------------------------------------------------- rules arithmetic
# Typing rules: element-wise arithmetic, comparisons and conversions.


def _all_alike(op: Op) -> None:
    type = op.results[0].type
    for name, operand in op.operands.items():
        assert isinstance(operand, Value)
        if operand.type is not type and operand.type != type:
            fail(f"operand {name} and the result differ in type")


@rule("same_float")
def same_float(op: Op) -> None:
    float_tile(op.results[0], "the result")
    _all_alike(op)


@rule("same_float_approximate")
def same_float_approximate(op: Op) -> None:
    same_float(op)
    if op.attributes["rnd"] not in ("approx", "full"):
        fail(f"rounding {op.attributes['rnd']} does not exist here")


@rule("same_integer")
def same_integer(op: Op) -> None:
    integer_tile(op.results[0], "the result")
    _all_alike(op)


@rule("integer_division")
def integer_division(op: Op) -> None:
    same_integer(op)
    rounding = op.attributes["rnd"]
    if rounding not in ("zero", "negative_inf", "positive_inf"):
        fail(f"rounding {rounding} does not exist for integers")


@rule("float_to_integer_power")
def float_to_integer_power(op: Op) -> None:
    base = float_tile(op.value("lhs"), "the base")
    if op.result.type != base or integer_tile(op.value("rhs"), "the exponent").shape != base.shape:
        fail("base, exponent and result differ in shape or type")


@rule("compare_float")
def compare_float(op: Op) -> None:
    _compare(op, float_tile(op.value("lhs"), "lhs"))


@rule("compare_integer")
def compare_integer(op: Op) -> None:
    _compare(op, integer_tile(op.value("lhs"), "lhs"))


def _compare(op: Op, type: TileType) -> None:
    if op.value("rhs").type != type:
        fail("lhs and rhs differ in type")
    _result(op, type.shape, lambda element: element.bits == 1, "an i1 tile")


def _result(op: Op, shape: tuple[int, ...], fits: Callable[[ScalarType], bool], wanted: str) -> None:
    made = tile(op.result, "the result")
    if made.shape != shape or not isinstance(made.element, ScalarType) or not fits(made.element):
        fail(f"the result is not {wanted} of the operand's shape")


@rule("bitcast")
def bitcast(op: Op) -> None:
    source = tile(op.value("s"), "the operand")
    bits = scalar_of(source, "the operand").bits
    _result(op, source.shape, lambda element: element.bits == bits, f"a tile of {bits}-bit elements")


@rule("widen_integer")
def widen_integer(op: Op) -> None:
    source = integer_tile(op.value("s"), "the operand")
    bits = scalar_of(source, "the operand").bits
    _result(op, source.shape, lambda e: e.is_integer and e.bits > bits, "a wider integer tile")


@rule("narrow_integer")
def narrow_integer(op: Op) -> None:
    source = integer_tile(op.value("s"), "the operand")
    bits = scalar_of(source, "the operand").bits
    _result(op, source.shape, lambda e: e.is_integer and e.bits < bits, "a narrower integer tile")


@rule("float_to_float")
def float_to_float(op: Op) -> None:
    source = float_tile(op.value("s"), "the operand")
    _result(op, source.shape, lambda e: e.is_float, "a float tile")


@rule("float_to_integer")
def float_to_integer(op: Op) -> None:
    source = float_tile(op.value("s"), "the operand")
    _result(op, source.shape, lambda e: e.is_integer, "an integer tile")


@rule("integer_to_float")
def integer_to_float(op: Op) -> None:
    source = integer_tile(op.value("s"), "the operand")
    _result(op, source.shape, lambda e: e.is_float, "a float tile")


@rule("integer_to_pointer")
def integer_to_pointer(op: Op) -> None:
    source = integer_tile(op.value("s"), "the operand")
    made, _ = pointer_tile(op.result, "the result")
    if made.shape != source.shape or scalar_of(source, "the operand").bits != 64:
        fail("the operand is not an i64 tile of the result's shape")


@rule("pointer_to_integer")
def pointer_to_integer(op: Op) -> None:
    source, _ = pointer_tile(op.value("s"), "the operand")
    _result(op, source.shape, lambda e: e.is_integer and e.bits == 64, "an i64 tile")


@rule("pointer_to_pointer")
def pointer_to_pointer(op: Op) -> None:
    source, _ = pointer_tile(op.value("s"), "the operand")
    made, _ = pointer_tile(op.result, "the result")
    if made.shape != source.shape:
        fail("operand and result differ in shape")


# -------------------------------------------------------------------------------------------------------- rules control
# Typing rules: structured control flow.  What terminators hand on is checked by `typing_rules`.


@rule("for")
def for_loop(op: Op) -> None:
    counter = op.value("lower").type
    scalar_integer(op.value("lower"), "the lower bound")
    if op.value("upper").type != counter or op.value("step").type != counter:
        fail("the bounds and the step differ in type")
    carried = types_of(op.group("inits"))
    _handed_on((*carried, *types_of(op.results)))
    if types_of(op.results) != carried:
        fail("results and carried values differ in type")
    _body(op, (counter, *carried))
    if op.regions[0].blocks[0].terminator.name != "continue":
        fail("the body does not end in continue")


@rule("loop")
def endless_loop(op: Op) -> None:
    _handed_on((*types_of(op.group("inits")), *types_of(op.results)))
    _body(op, types_of(op.group("inits")))
    if op.regions[0].blocks[0].terminator.name not in ("continue", "break", "return"):
        fail("the body does not end in continue, break or return")


def _handed_on(types: tuple[Type, ...]) -> None:
    """Views are known where they are used: no loop carries one, and no branch chooses one."""
    if not all(isinstance(type, TileType | TokenType) for type in types):
        fail("only tiles and tokens are handed on")


def _body(op: Op, wanted: tuple[Type, ...]) -> None:
    if not op.regions[0].blocks:
        fail("the body is empty")
    if types_of(op.regions[0].blocks[0].arguments) != wanted:
        fail("the arguments of the body do not fit the loop")


@rule("if")
def branch(op: Op) -> None:
    mask_for(op.value("c"), (), "the condition")
    _handed_on(types_of(op.results))
    then, otherwise = op.regions
    if not then.blocks:
        fail("the first region is empty")
    if not otherwise.blocks and op.results:
        fail("it has results, but no else region")
    for region in op.regions:
        if region.blocks and region.blocks[0].arguments:
            fail("its blocks take no arguments")


@rule("terminator")
def terminator(op: Op) -> None:
    if op.results:
        fail("it has results")


# --------------------------------------------------------------------------------------------------------- rules memory
# Typing rules: addresses, views, accesses, atomics, tokens and host-visible ops.


LOAD_ORDERINGS = (MemoryOrdering.WEAK, MemoryOrdering.RELAXED, MemoryOrdering.ACQUIRE)
STORE_ORDERINGS = (MemoryOrdering.WEAK, MemoryOrdering.RELAXED, MemoryOrdering.RELEASE)
ATOMIC_ORDERINGS = (
    MemoryOrdering.RELAXED,
    MemoryOrdering.ACQUIRE,
    MemoryOrdering.RELEASE,
    MemoryOrdering.ACQ_REL,
)
VIEW_OF: Final[dict[str, type[ViewType]]] = {
    "make_partition_view": PartitionViewType,
    "make_strided_view": StridedViewType,
    "make_gather_scatter_view": GatherScatterViewType,
}


# --------------------------------------------------------------------------------------------- addresses
@rule("get_global")
def get_global(op: Op) -> None:
    made, _ = pointer_tile(op.result, "the result")
    if made.shape:
        fail("the result is not one pointer")


@rule("alloca")
def alloca(op: Op) -> None:
    get_global(op)
    alignment = op.attributes["align"]
    if alignment == 0 or alignment & (alignment - 1):
        fail(f"alignment {alignment} is not a power of two")


@rule("offset")
def offset(op: Op) -> None:
    pointers, _ = pointer_tile(op.value("ptr"), "ptr")
    if integer_tile(op.value("off"), "off").shape != pointers.shape or op.result.type != pointers:
        fail("pointers, offsets and result differ in shape or type")


@rule("make_tensor_view")
def make_tensor_view(op: Op) -> None:
    made = one_result(op).type
    base, pointer = pointer_tile(op.value("base"), "base")
    if not isinstance(made, TensorViewType) or base.shape or pointer.pointee != made.element:
        fail("a tensor view of the pointee's type over one base pointer is expected")
    for name, extents in (("shape", made.shape), ("strides", made.strides)):
        given = op.group(name)
        if len(given) != extents.count(None):
            fail(f"{len(given)} values for {extents.count(None)} dynamic {name}")
        for value in given:
            scalar_integer(value, f"a value of {name}")


@rule("make_partition_view", "make_strided_view", "make_gather_scatter_view")
def make_view(op: Op) -> None:
    made = view_of(op.result)
    if not isinstance(made, VIEW_OF[op.name]) or op.value("s").type != made.tensor:
        fail("the result is not such a view of the operand")


def view_of(value: Value) -> ViewType:
    if not isinstance(value.type, PartitionViewType | StridedViewType | GatherScatterViewType):
        fail("a partition, strided or gather_scatter view is expected")
    return value.type


@rule("get_index_space_shape")
def get_index_space_shape(op: Op) -> None:
    _extents(op, len(view_of(op.value("src")).tile))


@rule("get_tensor_shape")
def get_tensor_shape(op: Op) -> None:
    source = op.value("src").type
    if not isinstance(source, TensorViewType):
        fail("the operand is not a tensor view")
    _extents(op, len(source.shape))


def _extents(op: Op, rank: int) -> None:
    if len(op.results) != rank:
        fail(f"{len(op.results)} results for {rank} dimensions")
    for result in op.results:
        scalar_integer(result, "a result")


@rule("grid_triple")
def grid_triple(op: Op) -> None:
    for result in op.results:
        if scalar_integer(result, "a result").bits != 32:
            fail("a result is not i32")


# ---------------------------------------------------------------------------------------------- accesses
def _ordering(op: Op, allowed: tuple[MemoryOrdering, ...]) -> None:
    ordering, scope = op.attributes["ord"], op.attributes["scope"]
    if ordering not in allowed:
        fail(f"ordering {ordering} is not allowed here")
    if (ordering == MemoryOrdering.WEAK) != (scope is None):
        fail("a weak access has no scope, every other one needs one")


def _last_token(op: Op, results: int) -> None:
    if len(op.results) != results:
        fail(f"{len(op.results)} results, {results} expected")
    token(op.results[-1], "the last result")
    waits = op.operands["token"]
    if isinstance(waits, Value):
        token(waits, "the token operand")


def _lanes(op: Op, ordering: tuple[MemoryOrdering, ...], results: int) -> tuple[tuple[int, ...], ScalarType]:
    """Shape and element type of a pointer access, whose mask fits it."""
    _ordering(op, ordering)
    _last_token(op, results)
    pointers, pointer = pointer_tile(op.value("ptr"), "ptr")
    mask = op.operands["mask"]
    if isinstance(mask, Value):
        mask_for(mask, pointers.shape, "the mask")
    return pointers.shape, pointer.pointee


@rule("load_pointer")
def load_pointer(op: Op) -> None:
    shape, element = _lanes(op, LOAD_ORDERINGS, 2)
    pad = op.optional("pad")
    if op.results[0].type != TileType(element, shape) or (pad is not None and pad.type != op.results[0].type):
        fail("loaded tile, padding and pointers do not fit together")


@rule("store_pointer")
def store_pointer(op: Op) -> None:
    shape, element = _lanes(op, STORE_ORDERINGS, 1)
    if op.value("val").type != TileType(element, shape):
        fail("stored tile and pointers do not fit together")


_SWAPPED: Final = ("i32", "i64", "f32", "f64")
_SWAPPED_IN_TRITON: Final = ("i16", "f16", "bf16")


def beyond_tile_ir(op: Op) -> str | None:
    """What ``op`` is that Triton IR has and Tile IR lacks, so that no assembler takes it; ``None`` for all others."""
    if op.name == "opaque":
        return f"'{' '.join(op.attributes['callee'].split())}'"
    if op.name == "atomic_cas_tko":
        element = pointer_tile(op.value("ptr"), "ptr")[1].pointee
        return f"a compare-and-swap of {element.name}" if element.name in _SWAPPED_IN_TRITON else None
    return None


@rule("atomic_cas")
def atomic_cas(op: Op) -> None:
    shape, element = _lanes(op, ATOMIC_ORDERINGS, 2)
    wanted = TileType(element, shape)
    if any(value.type != wanted for value in (op.value("cmp"), op.value("val"), op.results[0])):
        fail("compared, stored and old value do not fit the pointers")
    if element.name not in (*_SWAPPED, *_SWAPPED_IN_TRITON):
        fail(f"there is no compare-and-swap of {element.name}")


@rule("atomic_rmw")
def atomic_rmw(op: Op) -> None:
    shape, element = _lanes(op, ATOMIC_ORDERINGS, 2)
    wanted = TileType(element, shape)
    if op.value("arg").type != wanted or op.results[0].type != wanted:
        fail("argument and old value do not fit the pointers")
    _atomic_mode(op.attributes["mode"], element)


def _atomic_mode(mode: str, element: ScalarType) -> None:
    if mode == "addf":
        fits = element.name in ("f16", "bf16", "f32", "f64")
    elif mode == "xchg":
        fits = element.name in ("i32", "i64", "f32", "f64")
    else:
        fits = element.name in ("i32", "i64")
    if not fits:
        fail(f"there is no atomic {mode} of {element.name}")


def _view_access(op: Op, results: int) -> TileType:
    """The tile type that a view access moves; checks indices, in-bounds promises and token."""
    _last_token(op, results)
    view = view_of(op.value("view"))
    indices = op.group("index")
    if len(indices) != len(view.tile):
        fail(f"{len(indices)} indices for a view of {len(view.tile)} dimensions")
    sparse = view.sparse_dim if isinstance(view, GatherScatterViewType) else None
    widths = set()
    for axis, index in enumerate(indices):
        type = integer_tile(index, "an index")
        widths.add(scalar_of(type, "an index").bits)
        if type.shape != ((view.tile[axis],) if axis == sparse else ()):
            fail(f"index {axis} has the wrong shape")
    if len(widths) > 1 and sparse is None:
        fail("the indices differ in type")
    if len(op.attributes["inbounds"]) not in (0, len(indices)):
        fail("inbounds has not one entry for each index")
    return TileType(view.tensor.element, view.tile)


@rule("load_view")
def load_view(op: Op) -> None:
    _ordering(op, LOAD_ORDERINGS)
    if _view_access(op, 2) != op.results[0].type:
        fail("loaded tile and view do not fit together")


@rule("store_view")
def store_view(op: Op) -> None:
    _ordering(op, STORE_ORDERINGS)
    if _view_access(op, 1) != op.value("tile").type:
        fail("stored tile and view do not fit together")


@rule("atomic_red_view")
def atomic_red_view(op: Op) -> None:
    _ordering(op, (MemoryOrdering.RELAXED,))
    if op.attributes["scope"] == MemoryScope.SYSTEM:
        fail("its scope is tl_blk or device")
    if isinstance(op.value("view").type, GatherScatterViewType):
        fail("there is no reduction into a gather_scatter view")
    moved = _view_access(op, 1)
    if moved != op.value("value").type:
        fail("value and view do not fit together")
    if op.attributes["mode"] == "xchg":
        fail("a reduction cannot exchange")
    _atomic_mode(op.attributes["mode"], scalar_of(moved, "the view"))


def _multicast(op: Op) -> None:
    view = op.value("view").type
    if not isinstance(view, PartitionViewType) or view.tensor.attribute != "multicast":
        fail("a partition view of multicast memory is expected")


@rule("multimem_load_reduce")
def multimem_load_reduce(op: Op) -> None:
    _multicast(op)
    _ordering(op, LOAD_ORDERINGS)
    if _view_access(op, 2) != op.results[0].type:
        fail("loaded tile and view do not fit together")


@rule("multimem_store")
def multimem_store(op: Op) -> None:
    _multicast(op)
    _ordering(op, (MemoryOrdering.WEAK, *ATOMIC_ORDERINGS))
    if _view_access(op, 1) != op.value("tile").type:
        fail("stored tile and view do not fit together")


# ------------------------------------------------------------------------------------- tokens and the host
@rule("make_token")
def make_token(op: Op) -> None:
    token(op.result, "the result")


@rule("join_tokens")
def join_tokens(op: Op) -> None:
    token(one_result(op), "the result")
    if not op.group("tokens"):
        fail("there is nothing to join")
    for value in op.group("tokens"):
        token(value, "an operand")


@rule("token_to_token")
def token_to_token(op: Op) -> None:
    token(op.result, "the result")
    for operand in op.operands.values():
        if isinstance(operand, Value):
            token(operand, "the operand")


@rule("assert")
def assertion(op: Op) -> None:
    condition = tile(op.value("c"), "the condition")
    mask_for(op.value("c"), condition.shape, "the condition")


@rule("print")
def print_tiles(op: Op) -> None:
    if len(op.results) > 1 or any(not isinstance(result.type, TokenType) for result in op.results):
        fail("the only result is a token")
    for value in op.group("args"):
        tile(value, "an argument")
    waits = op.optional("token")
    if waits is not None:
        token(waits, "the token operand")
