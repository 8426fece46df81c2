"""Calls into libraries of tiles, as the launch declares them: each becomes the accesses that it is said to make.

A call with ``reads = ["$0[128]"]`` and ``writes = ["out"]`` becomes, in its place and at its source position,

    load 128 elements from operand 0 on            waits for the call's token
    store any value at any element of `out`        waits for these loads
    results: any value in each execution; the call's token waits for all of it

Who executes the entry, by terms or by numbers, meets only ops of Tile IR.  Argument.  A region ``$k[n]`` is loaded or
stored whole.  For an array, one access at an index of which nothing is known but that it lies inside stands for all:
an obligation asks whether *some* index is at fault.  ``atomics`` are exchanges with any value, the most general update.
Accesses of one call wait for each other: their order among themselves is the library's business.  What is declared is
trusted, and so is that the call returns and touches nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ...contract.launch import ATOMICS, KINDS, READS, CallRegion, DeclaredCall, EntryParameter, Role
from ...system.errors import SpecError, UnsupportedOperation
from ..bytecode.builder import I1, I32, I64, TOKEN, BodyBuilder, tile
from ..bytecode.location import user_frame
from ..bytecode.model import (
    FOREIGN,
    Block,
    Entry,
    Op,
    PointerType,
    Region,
    ScalarType,
    TileType,
    TokenType,
    Type,
    Value,
)
from ..bytecode.traverse import walk

CALL: Final = "preview$call"
_FIRST_VALUE: Final = 1 << 40
"""Numbers of values and places of ops from here on are no file's."""


def with_declared_calls(entry: Entry, calls: Sequence[DeclaredCall], parameters: Sequence[EntryParameter]) -> Entry:
    """``entry`` with the declared calls replaced; a call that is not declared stays, and is unsupported (TV902).

    Raises `SpecError` for a declaration that no call of the entry has, or that does not fit it.
    """
    declared = {call.symbol: call for call in calls}
    unknown = declared.keys() - {op.attributes["callee"] for op in walk(entry.body) if op.name == CALL}
    if unknown:
        raise SpecError(f"calls: the kernel '{entry.name}' calls no '{min(unknown)}'")
    rewriter = _Rewriter(declared, _layouts(entry, parameters))
    return replace(entry, body=rewriter.block(entry.body))


@dataclass(frozen=True, slots=True)
class _Layout:
    """Of an array: its pointer, and of each dimension the size and the stride, as values or numbers."""

    pointer: Value
    dims: tuple[tuple[Value | int, Value | int], ...]


def _layouts(entry: Entry, parameters: Sequence[EntryParameter]) -> dict[str, _Layout]:
    pointers: dict[str, Value] = {}
    numbers: dict[tuple[str, Role], dict[int, Value | int]] = {}
    for value, parameter in zip(entry.parameters, parameters, strict=False):
        if parameter.role is Role.POINTER:
            pointers[parameter.argument] = value
        elif parameter.role in (Role.SHAPE, Role.STRIDE) and parameter.dim is not None:
            known = numbers.setdefault((parameter.argument, parameter.role), {})
            known[parameter.dim] = value if parameter.static is None else parameter.static
    return {
        name: _Layout(
            pointer,
            tuple((size, numbers[name, Role.STRIDE][dim]) for dim, size in sorted(numbers[name, Role.SHAPE].items())),
        )
        for name, pointer in pointers.items()
        if numbers.get((name, Role.SHAPE))
    }


class _Rewriter:
    def __init__(self, declared: Mapping[str, DeclaredCall], layouts: Mapping[str, _Layout]) -> None:
        self._declared, self._layouts = declared, layouts
        self._next = _FIRST_VALUE

    def block(self, block: Block) -> Block:
        return Block(block.arguments, tuple(new for op in block.ops for new in self._op(op)))

    def _op(self, op: Op) -> Iterator[Op]:
        if op.name == CALL and op.attributes["callee"] in self._declared:
            made = _Call(op, self._next, self._layouts).replaced(self._declared[op.attributes["callee"]])
            self._next += len(made) + sum(len(each.results) for each in made)
            yield from made
        elif op.regions:
            yield replace(op, regions=tuple(Region(tuple(map(self.block, region.blocks))) for region in op.regions))
        else:
            yield op


class _Call:
    """The ops that stand for one call."""

    def __init__(self, op: Op, first: int, layouts: Mapping[str, _Layout]) -> None:
        self.op, self.layouts, self.first = op, layouts, first
        self.symbol: str = op.attributes["callee"]
        self.body = BodyBuilder((13, 5), (), first=first)
        self.body.location = op.location

    def replaced(self, declared: DeclaredCall) -> list[Op]:
        tokens = [value for value in self.op.group("args") if isinstance(value.type, TokenType)]
        token: Value = tokens[0] if tokens else self.body.op("make_token")
        self._any(tile(I32))  # whoever runs the call has to say that it cannot
        for kind in KINDS:
            made = [self._access(kind, region, token) for region in declared.regions(kind)]
            token = self.body.op("join_tokens", tokens=(token, *made)) if made else token
        made_ops = list(self.body.ops)
        for result in self.op.results:
            made_ops.append(self._result(result, token))
        # An access is known by its place: no place of a file is so large.
        return [replace(each, offset=self.first + place) for place, each in enumerate(made_ops)]

    def _result(self, result: Value, token: Value) -> Op:
        if isinstance(result.type, TokenType):
            self.body.op("join_tokens", tokens=(token, token))
        else:
            self._any(result.type)
        return replace(self.body.ops[-1], results=(result,))

    def _access(self, kind: str, region: CallRegion, token: Value) -> Value:
        pointer, mask = self._in_array(region) if region.operand is None else self._from_operand(region)
        element, shape = self._element(pointer)
        parts: dict[str, Any] = {"ptr": pointer, "token": token, **({} if mask is None else {"mask": mask})}
        if kind == READS:
            made = self.body.op("load_ptr_tko", results=[TileType(element, shape), TOKEN], **parts)
        elif kind == ATOMICS:
            if element.name not in ("i32", "i64", "f32", "f64"):
                raise self._unsupported(f"declares atomics on {element.name}")
            made = self.body.op(
                "atomic_rmw_tko", results=[TileType(element, shape), TOKEN], ord="relaxed", scope="device",
                mode="xchg", arg=self._any(TileType(element, shape)), **parts,
            )  # fmt: skip
        else:
            made = (self.body.op("store_ptr_tko", val=self._any(TileType(element, shape)), **parts),)
        last: Value = made[-1]
        return last

    def _from_operand(self, region: CallRegion) -> tuple[Value, Value | None]:
        """The pointers to all elements of the region, and which of them count."""
        assert region.operand is not None
        operands = self.op.group("args")
        if region.operand >= len(operands):
            raise SpecError(f"calls.{self.symbol}: '{region}', but the call has {len(operands)} operands")
        pointer = operands[region.operand]
        kind = pointer.type
        if not isinstance(kind, TileType) or not isinstance(kind.element, PointerType) or kind.shape:
            raise SpecError(f"calls.{self.symbol}: '{region}', but operand {region.operand} is no pointer")
        if region.count == 1:
            return pointer, None
        b, size = self.body, 1 << (region.count - 1).bit_length()
        one = b.op("reshape", s=pointer, results=[tile(kind.element, 1)])
        lanes = b.op("iota", results=[tile(I32, size)])
        spread = b.op("broadcast", s=one, results=[tile(kind.element, size)])
        pointers: Value = b.op("offset", ptr=spread, off=lanes)
        if region.count == size:
            return pointers, None
        limit = b.constant(tile(I32, size), region.count)
        return pointers, b.op("cmpi", lhs=lanes, rhs=limit, pred="less_than", sgn="signed", results=[tile(I1, size)])

    def _in_array(self, region: CallRegion) -> tuple[Value, Value | None]:
        """A pointer to any element of the array, and that it is one."""
        layout, b = self.layouts.get(region.array), self.body
        if layout is None:
            raise self._unsupported(f"declares '{region.array}', whose sizes the kernel does not get: write $0[N]")
        inside: list[Value] = []
        place: Value | None = None
        for size, stride in layout.dims:
            index = self._any(tile(I64))
            least = b.op("cmpi", lhs=index, rhs=self._wide(0), pred="greater_than_or_equal", sgn="signed",
                         results=[tile(I1)])  # fmt: skip
            most = b.op("cmpi", lhs=index, rhs=self._wide(size), pred="less_than", sgn="signed", results=[tile(I1)])
            inside += [least, most]
            step = b.op("muli", lhs=index, rhs=self._wide(stride))
            place = step if place is None else b.op("addi", lhs=place, rhs=step)
        mask = inside[0]
        for condition in inside[1:]:
            mask = b.op("andi", lhs=mask, rhs=condition)
        assert place is not None
        return b.op("offset", ptr=layout.pointer, off=place), mask

    def _wide(self, number: Value | int) -> Value:
        if isinstance(number, int):
            return self.body.constant(tile(I64), number)
        if number.type == tile(I64):
            return number
        wide: Value = self.body.op("exti", s=number, sgn="signed", results=[tile(I64)])
        return wide

    def _any(self, kind: Type) -> Value:
        """A value of the call: of its own in each execution."""
        if not isinstance(kind, TileType) or not isinstance(kind.element, ScalarType):
            raise self._unsupported("gives a pointer or a view")
        made: Value = self.body.op("opaque", args=(), callee=f"{FOREIGN}{self.symbol}", results=[kind])
        return made

    def _element(self, pointer: Value) -> tuple[ScalarType, tuple[int, ...]]:
        assert isinstance(pointer.type, TileType)
        assert isinstance(pointer.type.element, PointerType)
        return pointer.type.element.pointee, pointer.type.shape

    def _unsupported(self, why: str) -> UnsupportedOperation:
        place = user_frame(self.op.location)
        return UnsupportedOperation(
            f"the call of '{self.symbol}' {why} (TV902)",
            file=place.file if place else None,
            line=place.line if place else None,
            column=place.offset if place else None,
            op=CALL,
        )
