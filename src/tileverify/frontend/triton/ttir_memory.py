"""Accesses: loads, stores, atomics, tensor descriptors, barriers, promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final, TypeAlias

from ..bytecode.assembly_text import FORMATS
from ..bytecode.builder import I1, I64, TOKEN, tile
from ..bytecode.model import TIME_IS_UP, Bounded, DivBy, ScalarType, TileType, Type, Value
from .translated import Descriptor, TileBuilder, Translated, TritonPointer, element_of, shape_of, tiles
from .ttir import DescriptorType, TritonOp
from .ttir_arithmetic import pointer_to_integer
from .ttir_constants import float_bits
from .ttir_lanes import identity
from .ttir_order import DataFlow, ProgramOrder, TritonOrder, is_scalar_store


@dataclass(frozen=True, slots=True)
class AccessTokens:
    """The tokens of a kernel under translation; ``flow`` where data flow orders accesses."""

    tokens: ProgramOrder | TritonOrder
    flow: DataFlow | None = None


@dataclass(frozen=True, slots=True)
class _Target:
    """The places of an access, and which lanes go there.

    ``key`` is the same for two accesses of the same places, lane by lane.  ``asynchronous``: the access is of a tensor
    descriptor, which copies in another proxy; no barrier of Triton orders it behind stores of its program (PTX ISA,
    "Proxies": a proxy fence would, and Triton 3.9 makes one for shared memory alone).
    """

    place: TritonPointer
    mask: Value | None
    key: tuple[object, ...]
    asynchronous: bool = False


def _plain(place: TritonPointer, mask: Value | None) -> _Target:
    return _Target(place, mask, (place, mask))


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
    return _load(b, order, op, _plain(place, mask), other, volatile=op.attributes.get("isVolatile") is True)


def _load(
    b: TileBuilder,
    order: AccessTokens,
    op: TritonOp,
    target: _Target,
    other: Value | None,
    *,
    volatile: bool = False,
) -> Value:
    # PTX: a volatile access is a relaxed one of system scope.
    kind: dict[str, Any] = {"ord": "relaxed", "scope": "sys"} if volatile else {}
    tokens: list[Value] = []

    def access(place: TritonPointer, mask: Value | None) -> Value:
        token = order.tokens.before(place.root, writes=False, asynchronous=target.asynchronous)
        value, given = b.body.op("load_ptr_tko", ptr=b.address(place), mask=mask, pad=other, token=token, **kind)
        order.tokens.after(place.root, given, reads=True, writes=False)
        tokens.append(given)
        made: Value = value
        return made

    value = _by_case(b, target, access)
    assert value is not None
    if order.flow is not None:
        order.flow.loaded(op, target.key, order.tokens.joined(tokens))
    return value


def _by_case(
    b: TileBuilder, target: _Target, access: Callable[[TritonPointer, Value | None], Value | None]
) -> Value | None:
    """``access`` of each parameter that the target may be in, at the lanes that are; what they give together."""
    made: Value | None = None
    for place, here in b.cases(target.place):
        value = access(place, b.both(target.mask, here))
        made = value if made is None or value is None else b.body.op("select", c=here, t=value, f=made)
    return made


def store(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> None:
    place, (value, *rest) = accessed(operands)
    _store(b, order, op, _plain(place, rest[0] if rest else None), value)


def _store(b: TileBuilder, order: AccessTokens, op: TritonOp, target: _Target, value: Value) -> None:
    also = order.flow.before_store(op, target.key, prod(target.place.shape)) if order.flow is not None else ()
    scalar, asynchronous = is_scalar_store(op), target.asynchronous

    def access(place: TritonPointer, mask: Value | None) -> None:
        token = order.tokens.before(place.root, writes=True, also=also, asynchronous=asynchronous, scalar=scalar)
        given = b.body.op("store_ptr_tko", ptr=b.address(place), val=value, mask=mask, token=token)
        order.tokens.after(place.root, given, reads=False, writes=True, scalar=scalar)

    _by_case(b, target, access)


_MODES: Final[Mapping[str, str]] = {
    "add": "add", "fadd": "addf", "max": "max", "umax": "umax", "min": "min", "umin": "umin", "and": "and",
    "or": "or", "xor": "xor", "exch": "xchg",
}  # fmt: skip


def atomic_rmw(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> Value:
    place, (value, *rest) = accessed(operands)
    kind, semantics, scope = (word for word, _ in op.words)
    return _atomic(b, order, op, _plain(place, rest[0] if rest else None), kind, (semantics, scope), value)


def _atomic(
    b: TileBuilder,
    order: AccessTokens,
    op: TritonOp,
    target: _Target,
    kind: str,
    words: tuple[str, str],
    value: Value,
) -> Value:
    name, mode = element_of(value).name, _MODES.get(kind)
    floats = ("f16", "bf16", "f32", "f64") if mode == "addf" else ("f32", "f64") if mode == "xchg" else ()
    if mode is None or name not in (*floats, *(("i32", "i64") if mode != "addf" else ())):
        raise b.cannot(op, f"Tile IR has no atomic {kind} of {name}")
    old: Value = _synchronised(b, order, "atomic_rmw_tko", target, words, arg=value, mode=mode)
    return old


def _synchronised(
    b: TileBuilder,
    order: AccessTokens,
    name: str,
    target: _Target,
    words: tuple[str, str],
    *,
    reads: bool = True,
    writes: bool = True,
    **parts: Any,
) -> Any:
    """The access ``name`` with Triton's ``words`` for its semantics and its scope; the value that it gives, if any.

    One that releases follows all before it.  What follows an acquire in the program waits for it; what follows a
    release need not.
    """
    semantics, scope = words

    def access(place: TritonPointer, mask: Value | None) -> Value | None:
        token = order.tokens.before(
            place.root, writes=writes, everything=semantics in _RELEASES, asynchronous=target.asynchronous
        )
        address = b.address(place)
        made = b.body.op(name, ptr=address, mask=mask, token=token, ord=semantics, scope=_SCOPES[scope], **parts)
        value: Value | None
        value, given = made if isinstance(made, tuple) else (None, made)
        order.tokens.after(place.root, given, reads=reads, writes=writes, everything=semantics == "acq_rel")
        return value

    value = _by_case(b, target, access)
    if semantics == "acquire":
        order.tokens.barrier()
    return value


def _words(op: TritonOp) -> tuple[str, str]:
    return op.word(0), op.word(1)


def atomic_cas(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> Value:
    place, (compared, value) = accessed(operands)
    old: Value = _synchronised(b, order, "atomic_cas_tko", _plain(place, None), _words(op), cmp=compared, val=value)
    return old


def atomic_load(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> Value:
    place, rest = accessed(operands)
    target = _plain(place, rest[0] if rest else None)
    value: Value = _synchronised(b, order, "load_ptr_tko", target, _words(op), writes=False)
    return value


def atomic_store(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> None:
    place, (value, *rest) = accessed(operands)
    target = _plain(place, rest[0] if rest else None)
    _synchronised(b, order, "store_ptr_tko", target, _words(op), reads=False, val=value)


def atomic_poll(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> Value:
    """Loads until each lane has held the expected value once, or until time is up; which lanes have.

    A lane that has is loaded no more.  Whether time is up, a clock says: it may be so in every round.
    """
    place, (expected, *timeout) = accessed(operands)
    semantics, scope = _words(op)
    shape, address = place.shape, b.address(place)
    before = order.tokens.before(place.root, writes=False)
    found: list[Type] = [TileType(I1, shape), TOKEN]
    with b.body.loop([*([b.number(0, I1, *shape)] if shape else []), before], results=found) as region:
        *seen, token = region.arguments
        left = b.body.op("xori", lhs=seen[0], rhs=b.number(-1, I1, *shape)) if shape else None
        pad = expected if shape else None
        value, given = b.body.op(
            "load_ptr_tko", ptr=address, mask=left, pad=pad, token=token, ord=semantics, scope=_SCOPES[scope]
        )
        equal = b.body.op("cmpi", lhs=value, rhs=expected, pred="equal", sgn="signed")
        with b.body.if_(_every(b, equal)) as branch:
            with branch.then():
                b.body.op("break", args=(equal, given))
            with branch.otherwise():
                if timeout:
                    late = b.body.op("opaque", args=timeout, callee=TIME_IS_UP, results=[tile(I1)])
                    with b.body.if_(late) as ended, ended.then():
                        b.body.op("break", args=(equal, given))
                b.body.op("yield")
        b.body.op("continue", args=(*([equal] if shape else []), given))
    seen_at_last, token = region.results
    order.tokens.after(place.root, token, reads=True, writes=False)
    if semantics == "acquire":
        order.tokens.barrier()
    made: Value = seen_at_last
    return made


def _every(b: TileBuilder, condition: Value) -> Value:
    """Whether ``condition`` holds of all lanes."""
    if not shape_of(condition):
        return condition
    flat = b.reshaped(condition, (prod(shape_of(condition)),))
    with b.body.reduce([flat], 0, [identity("ones", I1)]) as region:
        lhs, rhs = region.arguments
        b.body.op("yield", args=(b.body.op("andi", lhs=lhs, rhs=rhs),))
    (made,) = region.results
    return made


def barrier(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> None:
    """``tl.debug_barrier()`` prints as ``ttg.barrier all``; one that is of shared memory alone orders no array."""
    spaces = {word for word, _ in op.words}
    if not spaces or "all" in spaces or spaces >= {"global_read", "global_write"}:
        order.tokens.barrier()


# --------------------------------------------------------------------------------------------------- descriptors
_NAN_PADDING: Final = 2
_DESCRIBED_ALIGNMENT: Final = 16
"""Bytes: of a descriptor's base, and of its strides but the last."""


def make_descriptor(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> Descriptor:
    base, numbers = accessed(operands)
    sizes = tuple(b.widened(value) for value in numbers[: op.groups[0]])
    strides = tuple(b.widened(value) for value in numbers[op.groups[0] :])
    type = op.result_type
    assert isinstance(type, DescriptorType)
    nan = op.attributes.get("padding") == _NAN_PADDING
    return described(b, base, sizes, strides, type, nan=nan)


def described(
    b: TileBuilder,
    base: TritonPointer,
    sizes: Sequence[Value],
    strides: Sequence[Value],
    type: DescriptorType,
    *,
    nan: bool,
) -> Descriptor:
    """The descriptor of these i64 sizes and strides, with what Triton's documentation demands of one as promises.

    The base is aligned to 16 bytes, and so is each row: all strides but the last are multiples of 16 bytes.  The last
    one is 1, and no size is negative.
    """
    step = _DESCRIBED_ALIGNMENT * 8 // type.element.bits
    b.body.op("assume", s=pointer_to_integer(b, base), pred=DivBy(_DESCRIBED_ALIGNMENT))
    sizes = [b.body.op("assume", s=size, pred=Bounded(0, None)) for size in sizes]
    *outer, last = strides
    outer = [b.body.op("assume", s=stride, pred=DivBy(step)) if step > 1 else stride for stride in outer]
    b.body.op("assume", s=last, pred=Bounded(1, 1))
    return Descriptor(base, tuple(sizes), (*outer, b.number(1, I64)), type.block, nan, type.unsigned)


def _block(b: TileBuilder, view: Descriptor, indices: list[Value]) -> _Target:
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
    key = (view.base, view.sizes, view.strides, view.block, *indices)
    return _Target(b.moved(wide, offset), mask, key, asynchronous=True)


def _indices(op: TritonOp, operands: Sequence[Translated]) -> tuple[Descriptor, list[Value], list[Value]]:
    """The descriptor, the indices in brackets, and what follows them."""
    view, *others = operands
    assert isinstance(view, Descriptor)
    rest, count = tiles(others), op.groups[0]
    return view, rest[:count], rest[count:]


def _padding(b: TileBuilder, nan: bool | Value, element: ScalarType, shape: tuple[int, ...]) -> Value:
    """What lanes outside of the array hold: zero, or NaN."""
    zero = b.number(0, element, *shape)
    if nan is False or not element.is_float:
        return zero
    number = b.number(float_bits(float("nan"), FORMATS[element.name]), element, *shape)
    if nan is True:
        return number
    made: Value = b.body.op("select", c=b.stretched(nan, shape), t=number, f=zero)
    return made


def descriptor_load(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> Value:
    """Lanes outside of the array are padded."""
    view, indices, _ = _indices(op, operands)
    target = _block(b, view, indices)
    value = _load(b, order, op, target, _padding(b, view.nan, target.place.pointee, target.place.shape))
    type = op.result_type
    assert isinstance(type, TileType)
    return b.reshaped(value, type.shape)


def descriptor_store(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> None:
    """Lanes outside of the array are not stored."""
    view, indices, (value,) = _indices(op, operands)
    target = _block(b, view, indices)
    _store(b, order, op, target, b.reshaped(value, target.place.shape))


def descriptor_reduce(b: TileBuilder, order: AccessTokens, op: TritonOp, operands: Sequence[Translated]) -> None:
    """A relaxed atomic of each lane inside of the array."""
    view, indices, (value,) = _indices(op, operands)
    target = _block(b, view, indices)
    kind = op.word(0)
    value = b.reshaped(value, target.place.shape)
    spelled = f"f{kind}" if kind == "add" and element_of(value).is_float else kind
    if kind in ("max", "min") and view.unsigned:
        spelled = f"u{kind}"
    _atomic(b, order, op, target, spelled, ("relaxed", "gpu"), value)


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


LOADS: Final = frozenset({"tt.load", "tt.descriptor_load", "tt.descriptor_gather"})
"""What `DataFlow` notes as a load."""

RULES: Final[Mapping[str, Access]] = {
    "tt.load": load,
    "tt.store": store,
    "tt.atomic_rmw": atomic_rmw,
    "tt.atomic_cas": atomic_cas,
    "tt.atomic_load": atomic_load,
    "tt.atomic_store": atomic_store,
    "tt.atomic_poll": atomic_poll,
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

__all__ = ["LOADS", "RULES"]
