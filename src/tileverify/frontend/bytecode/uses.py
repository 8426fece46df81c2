"""Where the values of an entry end up: in memory, in a condition, in a bound of a loop, or in an address; and what they
are made of: the launch, or what arrays and float scalars hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import Flag, auto
from functools import lru_cache
from typing import Final, TypeVar

from .model import Block, Entry, Op, ScalarType, TileType, Value


class ValueUse(Flag):
    """``VALUE``: what a store or an atomic brings to memory; ``BRANCH``: what an ``if`` asks for; ``BOUND``: how often
    a loop runs; ``ADDRESS``: which elements are touched."""

    VALUE = auto()
    BRANCH = auto()
    BOUND = auto()
    ADDRESS = auto()


class ValueOrigin(Flag):
    """``LAUNCH``: sizes, strides, integer scalars and block ids; ``CONTENTS``: what a load gives, and float scalars."""

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


def _arguments(op: Op) -> list[Value]:
    """What the bodies of a reduction take."""
    return [argument for region in op.regions for body in region.blocks for argument in body.arguments]


def _leaves_loop(op: Op, around: tuple[Op, ...]) -> bool:
    """Whether an ``if`` does nothing but end its loop."""
    ends = [region.blocks[0].ops for region in op.regions if region.blocks]
    return any(each.name == "loop" for each in around) and any(
        [inner.name for inner in ops] == ["break"] for ops in ends
    )
