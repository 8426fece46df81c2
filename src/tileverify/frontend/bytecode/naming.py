"""SSA names of Tile IR assembly: hints given by each op, made unique the way MLIR does it.

Values of a region are numbered before those of the regions inside it; a name that is taken gets a number appended,
drawn from a counter that is handed down to inner regions.
"""

from __future__ import annotations

from typing import Final

from .floattext import FORMATS, is_finite, is_nan, is_negative, magnitude
from .model import Block, Constant, Entry, Op, ScalarType, Value

_NAMED_INTEGER_LIMIT: Final = 1 << 64


class Names:
    """The names of every value of one entry; ``left`` is what stands before the equals sign of an op."""

    def __init__(self, entry: Entry) -> None:
        self._of: dict[Value, str] = {}
        self._hints: dict[Value, str] = {}
        self._left: dict[Op, str] = {}
        self._number = self._argument = self._conflict = 0
        self._used: list[set[str]] = [set()]
        self._name_arguments(entry.parameters, None)
        self._name_block(entry.body)

    def __getitem__(self, value: Value) -> str:
        return self._of[value]

    def left(self, op: Op) -> str:
        return self._left.get(op, "")

    def _name_block(self, block: Block) -> None:
        for op in block.ops:
            self._name_results(op)
        saved = self._number, self._argument, self._conflict
        for op in block.ops:
            for region in op.regions:
                for inner in region.blocks:
                    self._number, self._argument, self._conflict = saved
                    self._used.append(set())
                    self._name_arguments(inner.arguments, op)
                    self._name_block(inner)
                    self._used.pop()

    def _name_arguments(self, arguments: tuple[Value, ...], op: Op | None) -> None:
        for position, argument in enumerate(arguments):
            if op is not None and op.name == "for":
                name = "loopIdx" if position == 0 else f"iterArg{position - 1}"
            elif op is not None and op.name == "reduce":
                name = f"reduce_{('lhs', 'rhs')[position % 2]}{position // 2 if len(arguments) > 2 else ''}"
            else:
                name = f"arg{self._argument}"
                self._argument += 1
            self._of[argument] = self._unique(name)

    def _name_results(self, op: Op) -> None:
        if not op.results:
            if op.name == "print_tko":
                self._left[op] = f"%{self._next_number()}"
            return
        hints = self._hints_for(op)
        if len(hints) == len(op.results):
            for value, hint in zip(op.results, hints, strict=True):
                self._hints[value] = hint
                self._of[value] = self._unique(hint)
            self._left[op] = ", ".join(self._of[value] for value in op.results)
            return
        group = self._unique(hints[0]) if hints else f"%{self._next_number()}"
        for position, value in enumerate(op.results):
            self._of[value] = group if len(op.results) == 1 else f"{group}#{position}"
            if hints:
                self._hints[value] = hints[0]
        self._left[op] = group if len(op.results) == 1 else f"{group}:{len(op.results)}"

    def _hints_for(self, op: Op) -> tuple[str, ...]:
        if op.name == "constant":
            return (constant_name(op.attributes["value"]),)
        if op.name == "assume":
            hint = self._hints.get(op.value("s"))
            return (f"assume_{hint}" if hint else "assume",)
        return op.declaration.result_names

    def _next_number(self) -> int:
        self._number += 1
        return self._number - 1

    def _unique(self, name: str) -> str:
        candidate = name
        while any(candidate in used for used in self._used):
            candidate = f"{name}_{self._conflict}"
            self._conflict += 1
        self._used[-1].add(candidate)
        return f"%{candidate}"


def constant_name(constant: Constant) -> str:
    """``true``, ``cst_7_i32``, ``cst_NaN_f32``, or ``cst_f32`` where the value is no plain number."""
    element = constant.scalar
    if not uniform(constant):
        return f"cst_{element.name}"
    value = constant.element(0)
    if element.name == "i1":
        return "true" if value else "false"
    if element.is_integer:
        return f"cst_{value}_{element.name}"
    return f"cst_{_float_name(value, element)}{element.name}"


def _float_name(bits: int, element: ScalarType) -> str:
    format = FORMATS[element.name]
    if is_nan(bits, format):
        return "NaN_"
    if not is_finite(bits, format) or is_negative(bits, format):
        return ""
    value = magnitude(bits, format)
    return f"{value}_" if value.denominator == 1 and value < _NAMED_INTEGER_LIMIT else ""


def uniform(constant: Constant) -> bool:
    """Whether all elements are bitwise equal, however they are stored."""
    if constant.is_splat:
        return True
    first = constant.element(0)
    return all(constant.element(index) == first for index in range(1, constant.count))
