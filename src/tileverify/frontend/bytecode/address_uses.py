"""Which values of an entry decide where its accesses go, and which it only computes with.

A value *steers* if it reaches an address, an index, a mask, a branch, a loop bound, an atomic, an assumption or the
host, or an op that is not defined for all numbers.  What is merely stored does not, unless the entry stores it to an
array that it loads a steering value from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from .liveness import operands
from .model import Block, Entry, Op, PointerType, TileType, TokenType, Value
from .traverse import walk

_INDEXED: Final = frozenset({"extract", "insert"})


@lru_cache(maxsize=64)
def beside_addresses(entry: Entry) -> frozenset[Op]:
    """Ops without an effect whose results steer nothing: without them all accesses of a block are the same.

    Among them are whole loops; ops inside of these are not listed.  A loop that might not end is none of them.
    """
    steering = _Steering(entry)
    return frozenset(_beside(entry.body, steering.values(), steering.partial))


def _beside(block: Block, steering: set[Value], partial: frozenset[Op]) -> Iterator[Op]:
    for op in block.ops:
        if _computes(op, partial) and not steering.intersection(op.results):
            yield op
            continue
        for region in op.regions:
            for body in region.blocks:
                yield from _beside(body, steering, partial)


def _computes(op: Op, partial: frozenset[Op]) -> bool:
    """Whether the op does nothing but give tiles of numbers; ``partial``: not all ops are defined for all numbers."""
    inner = [each for region in op.regions for body in region.blocks for each in walk(body)]
    leaves = any(each.name in ("return", "loop", "assert") for each in inner) or (
        op.name == "if" and any(each.name in ("break", "continue") for each in inner)
    )
    pure = all(
        each.declaration.effect == "none" and each.name != "assume" and each not in partial for each in (op, *inner)
    )
    numbers = all(isinstance(r.type, TileType) and not isinstance(r.type.element, PointerType) for r in op.results)
    return pure and not leaves and numbers and bool(op.results) and op.name not in ("loop", "assume")


class _Steering:
    def __init__(self, entry: Entry) -> None:
        self.ops = list(walk(entry.body))
        self.parameters = frozenset(entry.parameters)
        self.maker = {result: op for op in self.ops for result in op.results}
        self.partial = frozenset(filter(self._may_be_undefined, self.ops))
        self.alike: defaultdict[Value, set[Value]] = defaultdict(set)
        self._carry(entry.body, None, None)
        self.found: set[Value] = set()

    def values(self) -> set[Value]:
        for op in self.ops:
            if op.declaration.body == "combination" or op.declaration.terminator:
                continue
            if op.regions:
                self._mark(*(value for name in ("c", "lower", "upper", "step") if (value := _one(op, name))))
            elif op.declaration.effect != "none" or op.name == "assume" or op in self.partial:
                self._mark(*(value for value in operands(op) if value is not self._stored(op)))
        while marked := [value for op in self.ops if (value := self._stored(op)) and self._is_loaded(op)]:
            before = len(self.found)
            self._mark(*marked)
            if len(self.found) == before:
                break
        return self.found

    def _may_be_undefined(self, op: Op) -> bool:
        """Whether there are numbers for which the op has undefined behaviour."""
        if op.attributes.get("ovf", "none") != "none" or op.name in _INDEXED:
            return True
        by = op.declaration.partial
        return by is not None and not self._is_constant(op.value(by))

    def _is_constant(self, value: Value) -> bool:
        op = self.maker.get(value)
        if op is not None and op.name in ("broadcast", "reshape"):
            return all(map(self._is_constant, operands(op)))
        return op is not None and op.name == "constant"

    def _stored(self, op: Op) -> Value | None:
        return op.value(*op.declaration.brought) if op.declaration.stores else None

    def _mark(self, *values: Value) -> None:
        """Add values, with all that they are made of."""
        waiting = list(values)
        while waiting:
            value = waiting.pop()
            if value in self.found:
                continue
            self.found.add(value)
            waiting += self.alike[value]
            op = self.maker.get(value)
            if op is None or op.declaration.body in ("loop", "branch"):
                continue
            if op.declaration.effect == "none":
                waiting += operands(op)
            waiting += (each for inner in _inside(op) for each in (*inner.results, *operands(inner)))

    # ------------------------------------------------------------------------------------- through memory
    def _is_loaded(self, store: Op) -> bool:
        """Whether a value that steers may be loaded from an array that ``store`` writes."""
        written = self._arrays(store)
        loads = (op for op in self.ops if op.declaration.effect == "read" and self.found.intersection(_numbers(op)))
        return any(_may_meet(written, self._arrays(load)) for load in loads)

    def _arrays(self, access: Op) -> frozenset[Value] | None:
        """The parameters that the pointers of an access come from; ``None``: it may be any memory."""
        seen: set[Value] = set()
        arrays: set[Value] = set()
        waiting = [value for value in operands(access) if _leads_to_memory(value)]
        while waiting:
            value = waiting.pop()
            if value in seen:
                continue
            seen.add(value)
            waiting += self.alike[value]
            op = self.maker.get(value)
            if value in self.parameters:
                arrays.add(value)
            elif op is not None and not op.regions:
                behind = [each for each in operands(op) if _leads_to_memory(each)]
                if not behind or op.declaration.effect != "none":
                    return None  # a pointer that was a number, that was loaded, or to memory of the block's own
                waiting += behind
        return frozenset(arrays)

    # -------------------------------------------------------------------------------------- through loops
    def _carry(self, block: Block, loop: Op | None, chosen: Op | None) -> None:
        """Note which values a loop or a branch hands on: ``loop`` and ``chosen`` are those around the block."""
        for op in block.ops:
            if op.declaration.body == "loop":
                (body,) = (body for region in op.regions for body in region.blocks)
                arguments = body.arguments[1:] if op.name == "for" else body.arguments
                self._join(arguments, op.group("inits"))
                if op.name == "for":
                    self._join(arguments, op.results)
                self._carry(body, op, None)
            elif op.name == "if":
                for region in op.regions:
                    for body in region.blocks:
                        self._carry(body, loop, op)
            elif op.name == "continue" and loop is not None:
                (body,) = (body for region in loop.regions for body in region.blocks)
                self._join(body.arguments[1:] if loop.name == "for" else body.arguments, op.group("args"))
            elif op.name == "break" and loop is not None:
                self._join(loop.results, op.group("args"))
            elif op.name == "yield" and chosen is not None:
                self._join(chosen.results, op.group("args"))

    def _join(self, some: tuple[Value, ...], others: tuple[Value, ...]) -> None:
        for one, other in zip(some, others, strict=True):
            self.alike[one].add(other)
            self.alike[other].add(one)


def _one(op: Op, name: str) -> Value | None:
    return op.value(name) if name in op.operands else None


def _inside(op: Op) -> Iterator[Op]:
    for region in op.regions:
        for body in region.blocks:
            yield from walk(body)


def _numbers(op: Op) -> Iterator[Value]:
    return (result for result in op.results if isinstance(result.type, TileType))


def _leads_to_memory(value: Value) -> bool:
    """Whether it is a pointer or a view."""
    if isinstance(value.type, TileType):
        return isinstance(value.type.element, PointerType)
    return not isinstance(value.type, TokenType)


def _may_meet(some: frozenset[Value] | None, others: frozenset[Value] | None) -> bool:
    return some is None or others is None or not some.isdisjoint(others)
