"""What holds of a whole entry before it is executed: the numbers of its ops, the memory it writes, the axes it reads.

The contents of an array that no block writes are the same in every block; this pass decides which arrays those are.
It runs before the symbolic execution and over-approximates it: `Written.check` holds the executor to that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..bytecode.model import (
    Block,
    Entry,
    GatherScatterViewType,
    Op,
    PartitionViewType,
    PointerType,
    ScalarType,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
    Value,
)
from ..bytecode.traverse import walk
from .summary import Access, Origin, OriginKind

ANYTHING: Final = "?"
"""The name of memory of unknown origin."""


@dataclass(frozen=True, slots=True)
class Written:
    """Keys (see `origin_key`) of memory that some block may write; with ``ANYTHING`` in it, all memory."""

    keys: frozenset[str]
    groups: tuple[frozenset[str], ...] = ()
    """Arguments that may overlap: a write to one is a write to all."""

    def may_write(self, origin: Origin) -> bool:
        """Whether the contents behind ``origin`` may change during the launch."""
        if ANYTHING in self.keys or origin.kind is OriginKind.UNKNOWN:
            return True
        if origin.kind is OriginKind.LIST:  # the launcher's own, whatever the arrays in it overlap
            return origin_key(origin) in self.keys
        names = {origin_key(origin)}
        names |= {f"p:{name}" for group in self.groups if origin.name in group for name in group}
        names |= {f"e:{name}" for group in self.groups if origin.name in group for name in group}
        return bool(names & self.keys)

    def check(self, origin: Origin, access: Access) -> None:
        """The executor may not find a write that this pass did not foresee."""
        if access is not Access.READ and not self.may_write(origin):
            raise RuntimeError(f"unforeseen write to {origin.kind.value} {origin.name}")


def origin_key(origin: Origin) -> str:
    """The name of an origin in a `Written`."""
    match origin.kind:
        case OriginKind.PARAMETER:
            return f"p:{origin.name}"
        case OriginKind.LIST:
            return f"l:{origin.name}"
        case OriginKind.LIST_ELEMENT:
            return f"e:{origin.name}"
        case OriginKind.GLOBAL:
            return f"g:{origin.name}"
        case OriginKind.LOCAL | OriginKind.SHARED_LOCAL:
            return f"a:{origin.name}"
        case OriginKind.UNKNOWN:
            return ANYTHING


def find_written(
    entry: Entry,
    origins: Iterable[tuple[Value, Origin]],
    groups: Sequence[frozenset[str]],
    numbering: Numbering,
) -> Written:
    """The memory that ``entry`` may write; ``origins`` are the origins of its pointer parameters."""
    sources: dict[Value, set[str]] = {value: {origin_key(origin)} for value, origin in origins}
    flows = list(_flows(entry))
    ops = list(walk(entry.body))
    for op in ops:
        if op.name == "alloca":
            sources[op.result] = {f"a:{numbering.local_name(op)}"}
        elif op.name == "get_global":
            sources[op.result] = {f"g:{op.attributes['name']}"}
    _spread(flows, sources)
    # An address that came from nowhere known may be any.
    for op in ops:
        if op.name == "int_to_ptr" and not sources.get(op.value("s")):
            sources[op.result] = {ANYTHING}
    _spread(flows, sources)
    keys: set[str] = set()
    for op in ops:
        if op.declaration.address and op.declaration.effect != "read":
            keys |= sources.get(op.value(op.declaration.address), set()) or {ANYTHING}
    return Written(frozenset(keys), tuple(groups))


def _spread(flows: Sequence[tuple[Value, Value, str]], sources: dict[Value, set[str]]) -> None:
    """Follow ``flows`` until nothing changes."""
    changed = True
    while changed:
        changed = False
        for target, origin, step in flows:
            arriving = sources.get(origin, set())
            if step == "load":
                # An address that was read from memory: an element of that list, or anything.
                arriving = {f"e:{key[2:]}" if key.startswith("l:") else ANYTHING for key in arriving}
            known = sources.setdefault(target, set())
            if not arriving <= known:
                known |= arriving
                changed = True


def _flows(entry: Entry) -> Iterable[tuple[Value, Value, str]]:
    """(target, source, step): ``target`` may be an address derived from ``source``."""
    for op in walk(entry.body):
        if op.name in ("load_ptr_tko", "load_view_tko"):
            yield op.results[0], op.value("ptr" if op.name == "load_ptr_tko" else "view"), "load"
        elif op.results and not op.regions and (kind := _address_kind(op.results[0])):
            wanted = ("integer",) if op.name == "int_to_ptr" else ("pointer",) if kind == "pointer" else _ADDRESS_KINDS
            for operand in op.operands.values():
                for value in operand if isinstance(operand, tuple) else (operand,):
                    if value is not None and _address_kind(value) in wanted:
                        yield op.results[0], value, "same"
        yield from region_flows(op)


_ADDRESS_KINDS: Final = ("pointer", "integer")


def _address_kind(value: Value) -> str:
    """``pointer`` for pointers and views, ``integer`` for the 64-bit integers an address may be kept in, else empty."""
    match value.type:
        case TileType(PointerType()) | TensorViewType() | PartitionViewType() | StridedViewType():
            return "pointer"
        case GatherScatterViewType():
            return "pointer"
        case TileType(ScalarType(name="i64")):
            return "integer"
        case _:
            return ""


def region_flows(op: Op) -> Iterable[tuple[Value, Value, str]]:
    """Values that enter and leave the regions of ``op``."""
    if op.declaration.body not in ("loop", "branch"):
        return
    inits = () if op.name == "if" else op.group("inits")
    for region in op.regions:
        for block in region.blocks:
            carried = block.arguments[len(block.arguments) - len(inits) :]
            yield from ((argument, init, "same") for argument, init in zip(carried, inits, strict=True))
            for leaving in _leaving(op, block.ops):
                values = leaving.group("args")
                if leaving.name == "continue":
                    yield from ((argument, value, "same") for argument, value in zip(carried, values, strict=True))
                if leaving.name != "continue" or op.name == "for":
                    yield from ((result, value, "same") for result, value in zip(op.results, values, strict=True))
    if op.name == "for":
        yield from ((result, init, "same") for result, init in zip(op.results, inits, strict=True))


def _leaving(op: Op, ops: Sequence[Op]) -> Iterable[Op]:
    """The terminators that leave a region of ``op``: its own yields, or continues and breaks, also inside ``if``s."""
    for inner in ops:
        if inner.name == ("yield" if op.name == "if" else "continue") or (op.name == "loop" and inner.name == "break"):
            yield inner
        elif inner.name == "if" and op.name != "if":
            for region in inner.regions:
                for block in region.blocks:
                    yield from _leaving(op, block.ops)


# ------------------------------------------------------------------------------------------------------------ numbering
# Fixed numbers for the ops, accesses and loops of an entry, so that every run uses the same names.


@dataclass(slots=True)
class Numbering:
    """``ordinal``: position in program order; ``site``: number of an access; ``loop``: number of a loop;
    ``within``: the accesses inside a loop, nested loops included; ``living``: by the name of the memory that an
    ``alloca`` makes, the accesses in the block of ops at whose end that memory ends."""

    ordinal: dict[Op, int] = field(default_factory=dict)
    site: dict[Op, int] = field(default_factory=dict)
    loop: dict[Op, int] = field(default_factory=dict)
    within: dict[Op, frozenset[int]] = field(default_factory=dict)
    living: dict[str, frozenset[int]] = field(default_factory=dict)

    def local_name(self, op: Op) -> str:
        """The name of the memory that an ``alloca`` makes."""
        return f"local#{self.ordinal[op]}"


def number(entry: Entry) -> Numbering:
    """Number everything in ``entry``."""
    numbering = Numbering()
    _visit(entry.body, numbering)
    return numbering


def _visit(block: Block, numbering: Numbering) -> set[int]:
    """The accesses in ``block``, once everything in it is numbered."""
    found: set[int] = set()
    for op in block.ops:
        numbering.ordinal[op] = len(numbering.ordinal)
        if op.declaration.address:
            numbering.site[op] = len(numbering.site)
            found.add(numbering.site[op])
        if op.declaration.body == "loop":
            numbering.loop[op] = len(numbering.loop)
        inner = {site for region in op.regions for body in region.blocks for site in _visit(body, numbering)}
        if op in numbering.loop:
            numbering.within[op] = frozenset(inner)
        found |= inner
    made = [op for op in block.ops if op.name == "alloca"]
    numbering.living.update((numbering.local_name(op), frozenset(found)) for op in made)
    return found


# -------------------------------------------------------------------------------------------------------- block numbers
# Which axes of the grid a kernel reads: whose block number decides what a block does.
#
#     read(a)  iff  the number of the block along a flows into an operand of an access (an address, an index, a mask, a
#                   stored value, floats too), a branch, the bounds of a loop, or an assertion
#
# Blocks that differ along other axes alone do the same thing, all of it.  How many blocks there are (`num_tile_blocks`)
# is the same in each of them and does not count, nor does a number that is only printed (tokens carry no number).  The
# pass follows values, not what they are worth, and so finds an axis read rather too often: a multiplication by zero
# does not hide it.


_DECIDES: Final = {"if": ("c",), "for": ("lower", "upper", "step"), "assert": ("c",)}
"""Ops without an effect on memory that act on what they are told, and the operands that tell them."""


def read_axes(entry: Entry) -> frozenset[int]:
    """The axes (0, 1, 2 for x, y, z) whose block number ``entry`` reads."""
    ops = list(walk(entry.body))
    axes: dict[Value, int] = {}  # a bit for each axis
    for op in ops:
        if op.name == "get_tile_block_id":
            axes |= {result: 1 << axis for axis, result in enumerate(op.results)}
    flows = [flow for op in ops for flow in _value_flows(op)] if axes else []
    changed = bool(axes)
    while changed:
        changed = False
        for targets, sources in flows:
            arriving = 0
            for source in sources:
                arriving |= axes.get(source, 0)
            for target in targets if arriving else ():
                known = axes.get(target, 0)
                if arriving & ~known and not isinstance(target.type, TokenType):
                    axes[target] = known | arriving
                    changed = True
    read = 0
    for op in ops:
        for value in _decisive(op):
            read |= axes.get(value, 0)
    return frozenset(axis for axis in range(3) if read >> axis & 1)


def _decisive(op: Op) -> Iterable[Value]:
    """The operands of ``op`` that decide what happens."""
    if op.name in _DECIDES:
        return [op.value(name) for name in _DECIDES[op.name]]
    return _operands(op) if op.declaration.touches_memory else ()


def _operands(op: Op) -> list[Value]:
    found: list[Value] = []
    for operand in op.operands.values():
        if isinstance(operand, tuple):
            found += operand
        elif operand is not None:
            found.append(operand)
    return found


def _value_flows(op: Op) -> Iterator[tuple[Sequence[Value], Sequence[Value]]]:
    """(targets, sources): what is in a source may decide what is in each of the targets."""
    if op.declaration.body in ("loop", "branch"):
        yield from (((target,), (source,)) for target, source, _ in region_flows(op))
        if op.name == "for":
            bounds = [op.value(name) for name in _DECIDES["for"]]
            yield from (((region.blocks[0].arguments[0],), bounds) for region in op.regions)
        return
    if not op.regions:
        yield op.results, _operands(op)
        return
    inner = [block for region in op.regions for block in region.blocks]
    inside = [argument for block in inner for argument in block.arguments]
    combined = [value for block in inner for last in block.ops[-1:] for value in _operands(last)]
    yield (*op.results, *inside), (*_operands(op), *combined)
