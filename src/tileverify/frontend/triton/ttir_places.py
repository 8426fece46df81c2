"""Whether two accesses have the same places: pointers and masks that are computed alike from the same values.

Triton computes the pointers of each parameter by ops of their own, also where two parameters are one array, so that
identity of values is not enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from ..bytecode.builder import BodyBuilder
from ..bytecode.model import Op, Value
from .translated import TritonPointer

_COMPUTES: Final = frozenset({
    "constant", "iota", "broadcast", "reshape", "permute", "exti", "trunci", "addi", "subi", "muli", "divi", "remi",
    "maxi", "mini", "andi", "ori", "xori", "shli", "shri", "cmpi", "select", "get_tile_block_id", "get_num_tile_blocks",
})  # fmt: skip
"""Ops whose results depend on their operands and attributes alone, in one program."""


@dataclass
class ValueNumbers:
    """Values that are computed alike have the same number; every other value has one of its own.

    ``equal``: parameters that equal an earlier one in every launch, by their positions.
    """

    body: BodyBuilder
    equal: Mapping[int, int]
    _of: dict[Value, int] = field(default_factory=dict)
    _alike: dict[object, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for position, first in self.equal.items():
            self._of[self.body.parameters[position]] = self.of(self.body.parameters[first]) or 0

    def of(self, value: Value | None) -> int | None:
        if value is None:
            return None
        waiting = [value]
        while waiting:  # no recursion: pointers of unrolled loops are long chains
            last = waiting[-1]
            left = [] if last in self._of else [each for each in self._inputs(last) if each not in self._of]
            waiting += left
            if not left:
                self._number(waiting.pop())
        return self._of[value]

    def _inputs(self, value: Value) -> Iterator[Value]:
        op = self._computed(value)
        for operand in () if op is None else op.operands.values():
            yield from operand if isinstance(operand, tuple) else () if operand is None else (operand,)

    def _computed(self, value: Value) -> Op | None:
        op = self.body.definition(value)
        return op if op is not None and op.name in _COMPUTES else None

    def _number(self, value: Value) -> None:
        op = self._computed(value)
        key: object = value
        if op is not None:
            inputs = tuple(self._of[each] for each in self._inputs(value))
            which = tuple(operand is None for operand in op.operands.values())
            attributes = tuple(sorted(op.attributes.items(), key=lambda item: item[0]))
            key = (op.name, op.results.index(value), value.type, inputs, which, attributes, op.flags)
        self._of[value] = self._alike.setdefault(key, len(self._alike))

    def place(self, place: TritonPointer) -> tuple[object, ...]:
        """What two tiles of pointers have in common each lane of which has the same place."""
        return (place.base, place.pointee, place.shape, self.of(place.offset))
