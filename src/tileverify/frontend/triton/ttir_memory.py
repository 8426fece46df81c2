"""Accesses: loads, stores, atomics, tensor descriptors, barriers, promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ..bytecode.assembly_text import FORMATS
from ..bytecode.builder import I64
from ..bytecode.model import Bounded, TileType, Value
from .translated import Descriptor, TileBuilder, Translated, TritonPointer, element_of, shape_of, tiles
from .ttir import DescriptorType, TritonOp
from .ttir_constants import float_bits
from .ttir_order import DataFlow, ProgramOrder, TritonOrder


@dataclass(frozen=True, slots=True)
class AccessTokens:
    """The tokens of a kernel under translation; ``flow`` where data flow orders accesses."""

    tokens: ProgramOrder | TritonOrder
    flow: DataFlow | None = None


Access: TypeAlias = Callable[[TileBuilder, AccessTokens, TritonOp, Sequence[Translated]], "Translated | None"]

_SCOPES: Final[Mapping[str, str]] = {"cta": "tl_blk", "gpu": "device", "sys": "sys"}
_RELEASES: Final = frozenset({"release", "acq_rel"})


def accessed(operands: Sequence[Translated]) -> tuple[TritonPointer, list[Value]]:
    """Where an op goes, and its other operands, which are numbers: Triton IR stores no pointers."""
    place, *rest = operands
    assert isinstance(place, TritonPointer)
    return place, tiles(rest)


def load(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> Value:
    """A load; lanes that the mask leaves out hold ``other``, and anything where there is none."""
    place, rest = accessed(operands)
    mask, other = (*rest, None, None)[:2]
    return _load(b, order, op, place, mask, other, volatile=op.attributes.get("isVolatile") is True)


def _load(
    b: TileBuilder,
    order: AccessTokens,
    op: TritonOp,
    place: TritonPointer,
    mask: Value | None,
    other: Value | None,
    *,
    volatile: bool = False,
) -> Value:
    # PTX: a volatile access is a relaxed one of system scope.
    kind: dict[str, Any] = {"ord": "relaxed", "scope": "sys"} if volatile else {}
    token = order.tokens.before(place.root, writes=False)
    value, given = b.body.op("load_ptr_tko", ptr=b.address(place), mask=mask, pad=other, token=token, **kind)
    order.tokens.after(place.root, given, reads=True, writes=False)
    if order.flow is not None:
        order.flow.loaded(op, place, mask, given)
    made: Value = value
    return made


def store(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> None:
    place, (value, *rest) = accessed(operands)
    _store(b, order, op, place, value, rest[0] if rest else None)


def _store(
    b: TileBuilder, order: AccessTokens, op: TritonOp, place: TritonPointer, value: Value, mask: Value | None
) -> None:
    also = order.flow.before_store(op, place, mask) if order.flow is not None else ()
    token = order.tokens.before(place.root, writes=True, also=also)
    given = b.body.op("store_ptr_tko", ptr=b.address(place), val=value, mask=mask, token=token)
    order.tokens.after(place.root, given, reads=False, writes=True)


_MODES: Final[Mapping[str, str]] = {
    "add": "add", "fadd": "addf", "max": "max", "umax": "umax", "min": "min", "umin": "umin", "and": "and",
    "or": "or", "xor": "xor", "exch": "xchg",
}  # fmt: skip


def atomic_rmw(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> Value:
    place, (value, *rest) = accessed(operands)
    kind, semantics, scope = (word for word, _ in op.words)
    return _atomic(b, order, op, place, kind, semantics, scope, value, rest[0] if rest else None)


def _atomic(
    b: TileBuilder,
    order: AccessTokens,
    op: TritonOp,
    place: TritonPointer,
    kind: str,
    semantics: str,
    scope: str,
    value: Value,
    mask: Value | None,
) -> Value:
    name, mode = element_of(value).name, _MODES.get(kind)
    floats = ("f16", "bf16", "f32", "f64") if mode == "addf" else ("f32", "f64") if mode == "xchg" else ()
    if mode is None or name not in (*floats, *(("i32", "i64") if mode != "addf" else ())):
        raise b.cannot(op, f"Tile IR has no atomic {kind} of {name}")
    token = order.tokens.before(place.root, writes=True, everything=semantics in _RELEASES)
    old, given = b.body.op(
        "atomic_rmw_tko",
        ptr=b.address(place),
        arg=value,
        mask=mask,
        token=token,
        ord=semantics,
        scope=_SCOPES[scope],
        mode=mode,
    )
    _after_atomic(order, place, semantics, given)
    made: Value = old
    return made


def _after_atomic(order: AccessTokens, place: TritonPointer, semantics: str, token: Value) -> None:
    """What follows an acquire in the program waits for it; what follows a release need not."""
    order.tokens.after(place.root, token, reads=True, writes=True, everything=semantics == "acq_rel")
    if semantics == "acquire":
        order.tokens.barrier()


def atomic_cas(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> Value:
    place, (compared, value) = accessed(operands)
    semantics, scope = (word for word, _ in op.words)
    if element_of(value).name not in ("i32", "i64", "f32", "f64"):
        raise b.cannot(op, f"Tile IR has no compare-and-swap of {element_of(value).name}")
    token = order.tokens.before(place.root, writes=True, everything=semantics in _RELEASES)
    old, given = b.body.op(
        "atomic_cas_tko",
        ptr=b.address(place),
        cmp=compared,
        val=value,
        token=token,
        ord=semantics,
        scope=_SCOPES[scope],
    )
    _after_atomic(order, place, semantics, given)
    made: Value = old
    return made


def atomic_load(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> Value:
    place, rest = accessed(operands)
    semantics, scope = (word for word, _ in op.words)
    token = order.tokens.before(place.root, writes=False)
    value, given = b.body.op(
        "load_ptr_tko",
        ptr=b.address(place),
        mask=rest[0] if rest else None,
        token=token,
        ord=semantics,
        scope=_SCOPES[scope],
    )
    order.tokens.after(place.root, given, reads=True, writes=False)
    if semantics == "acquire":
        order.tokens.barrier()
    made: Value = value
    return made


def atomic_store(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> None:
    place, (value, *rest) = accessed(operands)
    semantics, scope = (word for word, _ in op.words)
    token = order.tokens.before(place.root, writes=True, everything=semantics in _RELEASES)
    given = b.body.op(
        "store_ptr_tko",
        ptr=b.address(place),
        val=value,
        mask=rest[0] if rest else None,
        token=token,
        ord=semantics,
        scope=_SCOPES[scope],
    )
    order.tokens.after(place.root, given, reads=False, writes=True)


def barrier(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> None:
    """``tl.debug_barrier()`` prints as ``ttg.barrier all``; one that is of shared memory alone orders no array."""
    spaces = {word for word, _ in op.words}
    if not spaces or "all" in spaces or spaces >= {"global_read", "global_write"}:
        order.tokens.barrier()


# --------------------------------------------------------------------------------------------------- descriptors
_NAN_PADDING: Final = 2


def make_descriptor(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> Descriptor:
    base, numbers = accessed(operands)
    sizes = tuple(b.widened(value) for value in numbers[: op.groups[0]])
    strides = tuple(b.widened(value) for value in numbers[op.groups[0] :])
    type = op.result_type
    assert isinstance(type, DescriptorType)
    nan = op.attributes.get("padding") == _NAN_PADDING
    return Descriptor(base, sizes, strides, type.block, nan=nan, unsigned=type.unsigned)


def _block(b: TileBuilder, view: Descriptor, indices: list[Value]) -> tuple[TritonPointer, Value]:
    """The places of a descriptor's block that begins at ``indices``, and which of them lie inside.

    The first index may be a tile: the rows of a gather.
    """
    rows = shape_of(indices[0])
    shape = (*rows, *view.block[1:]) if rows else view.block
    offset = mask = None
    for dim, (index, size, stride) in enumerate(zip(indices, view.sizes, view.strides, strict=True)):
        if shape_of(index):
            place = b.along(b.widened(index), dim, shape)
        else:
            lanes = b.along(b.widened(b.lanes(shape[dim])), dim, shape)
            place = b.body.op("addi", lhs=b.stretched(b.widened(index), shape), rhs=lanes)
        step = b.body.op("muli", lhs=place, rhs=b.stretched(stride, shape))
        offset = step if offset is None else b.body.op("addi", lhs=offset, rhs=step)
        low = b.body.op("cmpi", lhs=place, rhs=b.number(0, I64, *shape), pred="greater_than_or_equal", sgn="signed")
        high = b.body.op("cmpi", lhs=place, rhs=b.stretched(size, shape), pred="less_than", sgn="signed")
        mask = b.both(mask, b.both(low, high))
    assert offset is not None
    assert mask is not None
    wide = TritonPointer(view.base.base, view.base.pointee, shape, None, view.base.root)
    if view.base.offset is not None:
        wide = b.moved(wide, b.stretched(view.base.offset, shape))
    return b.moved(wide, offset), mask


def _indices(op: TritonOp, operands: Sequence[Translated]) -> tuple[Descriptor, list[Value], list[Value]]:
    """The descriptor, the indices in brackets, and what follows them."""
    view, *others = operands
    assert isinstance(view, Descriptor)
    rest, count = tiles(others), op.groups[0]
    return view, rest[:count], rest[count:]


def descriptor_load(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> Value:
    """Lanes outside of the array are padded."""
    view, indices, _ = _indices(op, operands)
    place, mask = _block(b, view, indices)
    element = place.pointee
    padding = float_bits(float("nan"), FORMATS[element.name]) if view.nan and element.is_float else 0
    value = _load(b, order, op, place, mask, b.number(padding, element, *place.shape))
    type = op.result_type
    assert isinstance(type, TileType)
    return b.reshaped(value, type.shape)


def descriptor_store(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> None:
    """Lanes outside of the array are not stored."""
    view, indices, (value,) = _indices(op, operands)
    place, mask = _block(b, view, indices)
    _store(b, order, op, place, b.reshaped(value, place.shape), mask)


def descriptor_reduce(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> None:
    """A relaxed atomic of each lane inside of the array."""
    view, indices, (value,) = _indices(op, operands)
    place, mask = _block(b, view, indices)
    kind = op.word(0)
    value = b.reshaped(value, place.shape)
    spelled = f"f{kind}" if kind == "add" and element_of(value).is_float else kind
    if kind in ("max", "min") and view.unsigned:
        spelled = f"u{kind}"
    _atomic(b, order, op, place, spelled, "relaxed", "gpu", value, mask)


# ------------------------------------------------------------------------------------------------------- promises
def assume(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> None:
    """``tl.assume(condition)``: a promise that the condition is 1."""
    (condition,) = tiles(operands)
    wide = b.body.op("exti", s=condition, sgn="unsigned", results=[TileType(I64, shape_of(condition))])
    b.body.op("assume", s=wide, pred=Bounded(1, 1))


def device_assert(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> None:
    (condition,) = tiles(operands)
    b.body.op("assert", c=condition, msg=op.word(0) if op.words else "device_assert")


def printed(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> None:
    """A print touches no memory of the kernel, and is left out."""


RULES: Final[Mapping[str, Access]] = {
    "tt.load": load,
    "tt.store": store,
    "tt.atomic_rmw": atomic_rmw,
    "tt.atomic_cas": atomic_cas,
    "tt.atomic_load": atomic_load,
    "tt.atomic_store": atomic_store,
    "ttg.barrier": barrier,
    "gpu.barrier": barrier,
    "tt.make_tensor_descriptor": make_descriptor,
    "tt.descriptor_load": descriptor_load,
    "tt.descriptor_gather": descriptor_load,
    "tt.descriptor_store": descriptor_store,
    "tt.descriptor_scatter": descriptor_store,
    "tt.descriptor_reduce": descriptor_reduce,
    "llvm.intr.assume": assume,
    "tt.assert": device_assert,
    "tt.print": printed,
}

__all__ = ["RULES"]
