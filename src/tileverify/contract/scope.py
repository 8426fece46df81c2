"""The names of one launch: what an expression of a spec may speak of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ..system.errors import SpecError
from .descriptions import suggestion
from .divisibility import ADDRESS, alignments
from .element_types import ELEMENT_TYPES
from .expression_parser import parse_size
from .expressions import GRID_NAMES, flags, free_names, is_condition, substitute
from .launch import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    Expression,
    ListArgument,
    Name,
    Number,
    ScalarArgument,
    TupleArgument,
)
from .list_terms import list_spoken_of, member_of_list


@dataclass(slots=True)
class LaunchNames:
    """The names of one launch: sizes and integer scalars, bools, arrays, and constants of both by value.

    A bool is an integer, too: 0 or 1.
    """

    integers: set[str] = field(default_factory=set)
    bools: set[str] = field(default_factory=set)
    arrays: dict[str, ArrayArgument] = field(default_factory=dict)
    lists: dict[str, ListArgument] = field(default_factory=dict)
    constants: dict[str, Expression] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)

    def declare(self, arguments: Iterable[Argument]) -> None:
        """Take in the names that the arguments bring: their own, and those of sizes and strides."""
        for argument in flatten(arguments):
            match argument:
                case ArrayArgument(name=name):
                    self.arrays[name] = argument
                case ScalarArgument(name=name, dtype=dtype) if ELEMENT_TYPES[dtype].kind in "iu":
                    self.integers.add(name)
                case ScalarArgument(name=name, dtype="bool"):
                    self.integers.add(name)
                    self.bools.add(name)
                case ScalarArgument(name=name, dtype=dtype):
                    self.others[name] = f"a scalar of type {dtype}"
                case ConstantArgument(name=name, value=value):
                    numbers = dict(_integer_constants(name, value))
                    self.constants.update((path, Number(int(number))) for path, number in numbers.items())
                    self.bools.update(path for path, number in numbers.items() if isinstance(number, bool))
                    self.others.setdefault(name, "a constant that is no integer")
                case ListArgument(name=name):
                    self.lists[name] = argument
                    self.others[name] = "a list"
                case TupleArgument(name=name):
                    self.others[name] = "a tuple"
        taken = {*self.arrays, *self.others}
        for argument in flatten(arguments):
            for size in _sizes(argument):
                plain = (name for name in free_names(size) if "." not in name and "[" not in name)
                self.integers.update(name for name in plain if name not in taken)

    def taken(self) -> frozenset[str]:
        """All of them, also those that are no integers."""
        return frozenset({*self.integers, *self.arrays, *self.lists, *self.constants, *self.others})

    def resolved(self, argument: Argument) -> Argument:
        """The argument with integer constants put in for their names."""
        match argument:
            case ArrayArgument(shape=shape, strides=strides):
                return replace(
                    argument,
                    shape=tuple(substitute(size, self.constants) for size in shape),
                    strides=None if strides is None else tuple(substitute(each, self.constants) for each in strides),
                )
            case ScalarArgument(value=value) if value is not None:
                return replace(argument, value=substitute(value, self.constants))
            case TupleArgument(items=items):
                return replace(argument, items=tuple(self.resolved(item) for item in items))
            case ListArgument(length=length):
                return replace(argument, length=substitute(length, self.constants))
        return argument

    def check(self, expression: Expression, *, grid: bool = True) -> None:
        """Refuse names that mean no integer of this launch, and conditions that are none."""
        if is_condition(expression):
            self._check_flags(expression)
        for name in sorted(free_names(expression)):
            if name in self.integers or name in self.constants:
                continue
            if name in GRID_NAMES:
                if not grid:
                    raise SpecError(f"'{name}' cannot describe the grid itself")
                continue
            self._check_member(name)

    def check_condition(self, expression: Expression) -> None:
        """The same, for what must be true or false; it may say of arrays that they are aligned."""
        aligned = alignments([expression], {*self.arrays, *self.lists})
        known: dict[str, Expression] = {f"{name}{ADDRESS}": Number(0) for name in aligned}
        for name in free_names(expression) - known.keys():
            listed, word = member_of_list(name, self.lists)
            if listed:
                self._check_dimension(name, word, len(self.lists[listed].element.shape))
                known[name] = Number(0)
        list_spoken_of(expression, self.lists)
        self.check(substitute(expression, known))
        self._check_flags(expression)

    def _check_flags(self, condition: Expression) -> None:
        for name in flags(condition):
            if name in self.integers | self.constants.keys() and name not in self.bools:
                raise SpecError(f"'{name}' is a number; a fact is a condition such as '{name} >= 1'")

    def _check_member(self, name: str) -> None:
        array, dot, member = name.rpartition(".")
        what, _, index = member.partition("[")
        if dot and what in ("shape", "strides") and index:
            if array in self.lists:
                raise SpecError(f"'{name}': each array of '{array}' has its own, of which 'requires' alone can speak")
            if array not in self.arrays:
                known = suggestion(array, self.arrays)
                raise SpecError(f"'{name}': '{array}' is not an array argument of this launch{known}")
            self._check_dimension(name, member, len(self.arrays[array].shape))
            return
        if dot and member == "address" and array in self.arrays:
            raise SpecError(f"'{name}': addresses have a place in 'requires' alone, as in '{name} % 16 == 0'")
        if name in self.arrays:
            raise SpecError(f"'{name}' is an array, not an integer; write {name}.shape[0] for its size")
        if name in self.others:
            raise SpecError(f"'{name}' is {self.others[name]}, not an integer")
        raise SpecError(f"unknown name '{name}'{suggestion(name, [*self.integers, *self.constants])}")

    def _check_dimension(self, name: str, member: str, rank: int) -> None:
        if int(member.partition("[")[2].rstrip("]")) >= rank:
            raise SpecError(f"'{name}': '{name.rpartition('.')[0]}' has rank {rank}")

    def array(self, name: str) -> ArrayArgument:
        if name in self.arrays:
            return self.arrays[name]
        raise SpecError(f"'{name}' is not an array argument of this launch{suggestion(name, self.arrays)}")


def read_names(value: object, taken: Iterable[str]) -> tuple[str, ...]:
    """The words of ``names``, as written; ``taken``: names that the launch has without them.

    Raises `SpecError` for what is no list of names, and for a name that is taken or no name in expressions.
    """
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise SpecError('must be a list of names, as in names = ["G"]')
    known = set(taken)
    for name in value:
        if not _is_plain_name(name):
            raise SpecError(f"'{name}' is no name that expressions can use")
        if name in known:
            raise SpecError(f"'{name}' stands in the launch's arguments, or twice; names are for 'grid' and 'requires'")
        known.add(name)
    return tuple(value)


def _is_plain_name(text: str) -> bool:
    try:
        return text.isidentifier() and parse_size(text) == Name(text)
    except SpecError:
        return False


def flatten(arguments: Iterable[Argument]) -> Iterator[Argument]:
    """Every argument and, after each tuple, its items, in ABI order."""
    for argument in arguments:
        yield argument
        if isinstance(argument, TupleArgument):
            yield from flatten(argument.items)


def _sizes(argument: Argument) -> tuple[Expression, ...]:
    if isinstance(argument, ArrayArgument):
        return (*argument.shape, *(argument.strides or ()))
    return (argument.length,) if isinstance(argument, ListArgument) else ()


def _integer_constants(name: str, value: Any) -> Iterator[tuple[str, int]]:
    if isinstance(value, int):
        yield name, value
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            yield from _integer_constants(f"{name}[{i}]", item)
