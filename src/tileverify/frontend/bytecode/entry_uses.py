"""Where the values of an entry end up: in memory, a condition, a loop's bound or an address.

A value *steers* if it reaches an address, an index, a mask, a branch, a loop bound, an atomic, an assumption or the
host, or an op that is not defined for all numbers.  What is merely stored does not, unless the entry stores it to an
array that it loads a steering value from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from enum import Flag, auto
from functools import lru_cache
from typing import Final, TypeVar

from .model import Block, Entry, Op, PointerType, ScalarType, TileType, TokenType, Value
from .traverse import operands, walk

_INDEXED: Final = frozenset({"extract", "insert"})


@lru_cache(maxsize=64)
def beside_addresses(entry: Entry) -> frozenset[Op]:
    """Ops without an effect whose results steer nothing: without them all accesses of a block are the same.

    Among them are whole loops; ops inside of these are not listed.  A loop that might not end is none of them.
    """
    steering = _Steering(entry)
    return frozenset(_beside(entry.body, steering.values(), steering.partial))


@lru_cache(maxsize=64)
def footprints_alone(entry: Entry) -> frozenset[Op]:
    """Loads whose results steer nothing, and stores of what no other load and no atomic reads.

    Which bytes they touch matters, what they move does not, if parameters that differ are memory that differs.
    """
    steering = _Steering(entry)
    found = steering.values()
    loads = {op for op in steering.ops if op.declaration.loads and not found.intersection(_numbers(op))}
    reading = (op for op in steering.ops if op.declaration.effect in ("read", "read_write") and op not in loads)
    read = [steering.arrays(op) for op in reading]
    stores = (op for op in steering.ops if op.declaration.stores)
    return frozenset(loads).union(
        op for op in stores if not any(_may_meet(steering.arrays(op), arrays) for arrays in read)
    )


@lru_cache(maxsize=64)
def parameters_written(entry: Entry) -> frozenset[Value] | None:
    """The parameters whose memory the entry may write; ``None``: it may be any memory."""
    steering = _Steering(entry)
    found = [steering.arrays(op) for op in steering.ops if op.declaration.effect in ("write", "read_write")]
    known = [arrays for arrays in found if arrays is not None]
    return frozenset().union(*known) if len(known) == len(found) else None


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
        written = self.arrays(store)
        loads = (op for op in self.ops if op.declaration.effect == "read" and self.found.intersection(_numbers(op)))
        return any(_may_meet(written, self.arrays(load)) for load in loads)

    def arrays(self, access: Op) -> frozenset[Value] | None:
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


# ----------------------------------------------------------------------------------------------------------------- uses
# Where the values of an entry end up: in memory, in a condition, in a bound of a loop, or in an address; and what they
# are made of: the launch, or what arrays and float scalars hold.


class ValueUse(Flag):
    """``VALUE``: what a store or an atomic brings to memory; ``BRANCH``: what an ``if`` asks for; ``BOUND``: how often
    a loop runs; ``ADDRESS``: which elements are touched."""

    VALUE = auto()
    BRANCH = auto()
    BOUND = auto()
    ADDRESS = auto()


class ValueOrigin(Flag):
    """``LAUNCH``: sizes, strides, integer scalars and block ids; ``CONTENTS``: what a load or inline assembly gives,
    and float scalars."""

    LAUNCH = auto()
    CONTENTS = auto()


F = TypeVar("F", ValueUse, ValueOrigin)
NOWHERE: Final = ValueUse(0)
CONSTANT: Final = ValueOrigin(0)


@lru_cache(maxsize=64)
def uses_of(entry: Entry) -> Mapping[Value, ValueUse]:
    """What every value of the entry is used for in the end, by whatever is computed of it."""
    return _Flow(entry).uses()


@lru_cache(maxsize=64)
def origins_of(entry: Entry) -> Mapping[Value, ValueOrigin]:
    """What every value of the entry is made of; those of constants alone are left out."""
    return _Flow(entry).origins()


class _Flow:
    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.sources: defaultdict[Value, list[Value]] = defaultdict(list)
        """Of a value, those that it is made of."""
        self.seeds: defaultdict[Value, ValueUse] = defaultdict(lambda: NOWHERE)
        self.given: dict[Value, ValueOrigin] = {}
        for parameter in entry.parameters:
            element = parameter.type.element if isinstance(parameter.type, TileType) else None
            if isinstance(element, ScalarType):
                self.given[parameter] = ValueOrigin.CONTENTS if element.is_float else ValueOrigin.LAUNCH
        self.block(entry.body, ())

    def block(self, block: Block, around: tuple[Op, ...]) -> None:
        for op in block.ops:
            self.op(op, around)
            for region in op.regions:
                for body in region.blocks:
                    self.block(body, (*around, op))

    def op(self, op: Op, around: tuple[Op, ...]) -> None:
        match op.name:
            case "if":
                self.seeds[op.value("c")] |= ValueUse.BOUND if _leaves_loop(op, around) else ValueUse.BRANCH
                for result in op.results:
                    self.sources[result].append(op.value("c"))
            case "get_tile_block_id" | "get_num_tile_blocks":
                self.given |= dict.fromkeys(op.results, ValueOrigin.LAUNCH)
            case "for":
                for bound in ("lower", "upper", "step"):
                    self.seeds[op.value(bound)] |= ValueUse.BOUND
                counter, *carried = op.regions[0].blocks[0].arguments
                self.sources[counter] += [op.value("lower"), op.value("step"), op.value("upper")]
                self.pairs(op.group("inits"), carried, op.results)
            case "loop":
                self.pairs(op.group("inits"), op.regions[0].blocks[0].arguments)
            case "continue":
                loop = next(each for each in reversed(around) if each.declaration.body == "loop")
                carried = [*loop.regions[0].blocks[0].arguments][loop.name == "for" :]
                self.pairs(op.group("args"), carried, *([loop.results] if loop.name == "for" else []))
            case "break":
                loop = next(each for each in reversed(around) if each.name == "loop")
                self.pairs(op.group("args"), loop.results)
            case "yield":
                self.pairs(op.group("args"), around[-1].results)
            case _ if op.declaration.touches_memory:
                self.access(op)
            case _:
                self.given |= dict.fromkeys(_of_machine(op), ValueOrigin.CONTENTS)
                operands = _operands(op)
                for made in (*op.results, *_arguments(op)):
                    self.sources[made] += operands

    def access(self, op: Op) -> None:
        self.given |= dict.fromkeys(op.results, ValueOrigin.CONTENTS)
        brought = {op.value(name) for name in op.declaration.brought}
        pad = op.optional("pad") if "pad" in op.operands else None
        for value in _operands(op):
            if value in brought:
                self.seeds[value] |= ValueUse.VALUE
            elif value is pad:
                self.sources[op.results[0]].append(value)
            else:
                self.seeds[value] |= ValueUse.ADDRESS

    def pairs(self, given: Iterable[Value], *taken: Iterable[Value]) -> None:
        given = tuple(given)
        for values in taken:
            for source, made in zip(given, values, strict=False):
                self.sources[made].append(source)

    def uses(self) -> Mapping[Value, ValueUse]:
        return _spread(dict(self.seeds), self.sources, NOWHERE)

    def origins(self) -> Mapping[Value, ValueOrigin]:
        made: defaultdict[Value, list[Value]] = defaultdict(list)
        for value, sources in self.sources.items():
            for source in sources:
                made[source].append(value)
        return _spread(dict(self.given), made, CONSTANT)


def _spread(found: dict[Value, F], along: Mapping[Value, list[Value]], nothing: F) -> dict[Value, F]:
    """``found`` with what goes along from value to value."""
    left = list(found)
    while left:
        value = left.pop()
        for other in along.get(value, ()):
            before = found.get(other, nothing)
            if (more := before | found[value]) != before:
                found[other] = more
                left.append(other)
    return found


def _operands(op: Op) -> list[Value]:
    groups = (operand if isinstance(operand, tuple) else (operand,) for operand in op.operands.values())
    return [each for group in groups for each in group if each is not None]


def _of_machine(op: Op) -> tuple[Value, ...]:
    """Results that are no function of the operands, but may be whatever the machine shows."""
    return () if op.is_function else op.results


def _arguments(op: Op) -> list[Value]:
    """What the bodies of a reduction take."""
    return [argument for region in op.regions for body in region.blocks for argument in body.arguments]


def _leaves_loop(op: Op, around: tuple[Op, ...]) -> bool:
    """Whether an ``if`` does nothing but end its loop."""
    ends = [region.blocks[0].ops for region in op.regions if region.blocks]
    return any(each.name == "loop" for each in around) and any(
        [inner.name for inner in ops] == ["break"] for ops in ends
    )
