"""The names of one launch, of which its expressions may speak, and by what numbers they can be divided."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import gcd, lcm
from typing import Any, Final

from ..system.errors import SpecError
from .arguments import suggestion
from .element_types import ELEMENT_TYPES
from .expression_parser import parse_size
from .expressions import GRID_NAMES, flags, free_names, is_condition, substitute
from .launch import (
    Apply,
    Argument,
    ArrayArgument,
    ConstantArgument,
    DataFact,
    Expression,
    ListArgument,
    Name,
    Number,
    ScalarArgument,
    TupleArgument,
    expressions_of,
)
from .list_terms import list_in_fact, list_spoken_of, member_of_list


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
        names = free_names(expression) - known.keys()
        known |= self._of_lists(name for name in names if not name.endswith(_INDEX))
        list_spoken_of(expression, self.lists)
        self.check(substitute(expression, known))
        self._check_flags(expression)

    def check_fact(self, fact: DataFact) -> None:
        """The same, for the numbers of a data fact: but for the values that it excuses, they may be those of every
        array of one list."""
        list_in_fact(fact, self.lists)
        for excused in fact.unless:
            if self._of_lists(free_names(excused)):
                raise SpecError("'unless' excuses values, and each array of a list has numbers of its own")
            self.check(excused)
        for expression in expressions_of(replace(fact, unless=())):
            self.check(substitute(expression, self._of_lists(free_names(expression))))

    def _of_lists(self, names: Iterable[str]) -> dict[str, Expression]:
        """A number for each of the ``names`` for numbers, sizes and strides of the arrays in a list."""
        known: dict[str, Expression] = {}
        for name in names:
            listed, word = member_of_list(name, self.lists)
            if listed and word != "address":
                if word != "index":
                    self._check_dimension(name, word, len(self.lists[listed].element.shape))
                known[name] = Number(0)
        return known

    def _check_flags(self, condition: Expression) -> None:
        for name in flags(condition):
            if name in self.integers | self.constants.keys() and name not in self.bools:
                raise SpecError(f"'{name}' is a number; a fact is a condition such as '{name} >= 1'")

    def _check_member(self, name: str) -> None:
        array, dot, member = name.rpartition(".")
        what, _, index = member.partition("[")
        if dot and what in ("shape", "strides") and index:
            if array in self.lists:
                raise SpecError(f"'{name}': each array of '{array}' has its own; only 'requires' and 'data' name it")
            if array.rpartition("[")[0] in self.lists:
                listed = array.rpartition("[")[0]
                raise SpecError(f"'{name}': '{listed}' is a list; '{listed}.{member}' is said of each of its arrays")
            if array not in self.arrays:
                known = suggestion(array, self.arrays)
                raise SpecError(f"'{name}': '{array}' is not an array argument of this launch{known}")
            self._check_dimension(name, member, len(self.arrays[array].shape))
            return
        if dot and member == "address" and array in self.arrays.keys() | self.lists.keys():
            raise SpecError(f"'{name}': addresses have a place in 'requires' alone, as in '{name} % 16 == 0'")
        if dot and member == "index" and array in self.lists:
            raise SpecError(f"'{name}': the number of an array has a place in 'data' alone")
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


# --------------------------------------------------------------------------------------------------------- divisibility
# What a launch spec implies about divisibility, by sound and incomplete rules.
#
# ``requires = ["K % 64 == 0"]`` says that 64 divides ``K``; then 64 divides ``K * N`` and 128 divides ``2 * K``.
# Whatever the compiler is told as a divisibility fact comes from here, so the proof can show it again.


_INDEX: Final = ".index"
"""``xs.index`` is the number of an array in the list ``xs``."""

ADDRESS: Final = ".address"
"""``x.address`` is that of the first element of ``x``."""

LARGEST_ALIGNMENT: Final = 4096
"""In bytes: what the interpreter's arrays have, so that every launch that it replays keeps such facts."""


def alignments(facts: Iterable[Expression], arrays: Container[str]) -> dict[str, int]:
    """Those of ``arrays`` that facts say are aligned, and to how many bytes: ``x.address % 16 == 0``.

    Raises :class:`SpecError` for anything else that is said of an address, which no launch is chosen by.
    """
    found: dict[str, int] = {}
    for fact in _conjuncts(facts):
        spoken = sorted(
            name for name in free_names(fact) if name.endswith(ADDRESS) and name.removesuffix(ADDRESS) in arrays
        )
        if not spoken:
            continue
        match fact:
            case Apply("==", (Apply("%", (Name(name), Number(bytes_))), Number(0))) if _is_alignment(bytes_):
                array = name.removesuffix(ADDRESS)
                found[array] = max(bytes_, found.get(array, 1))
            case _:
                raise SpecError(
                    f"of an address only its alignment can be said, as in '{spoken[0]} % 16 == 0': "
                    f"a power of two up to {LARGEST_ALIGNMENT}"
                )
    return found


def _is_alignment(number: int) -> bool:
    return 1 <= number <= LARGEST_ALIGNMENT and number & (number - 1) == 0


def known_divisors(requires: Iterable[Expression]) -> dict[str, int]:
    """For each name the least common multiple of what the facts say divides it (0: the name is 0)."""
    divisors: dict[str, int] = {}
    for fact in _conjuncts(requires):
        implied = _name_and_divisor(fact)
        if implied is not None:
            name, divisor = implied
            divisors[name] = lcm(divisors.get(name, 1), divisor)
    return divisors


def _name_and_divisor(fact: Apply) -> tuple[str, int] | None:
    match fact:
        case Apply("==", (Apply("%", (Name(name), Number(modulus))), Number(0))) if modulus:
            return name, abs(modulus)
        case Apply("==", (Number(0), Apply("%", (Name(name), Number(modulus))))) if modulus:
            return name, abs(modulus)
        case Apply("==", (Name(name), Number(value))) | Apply("==", (Number(value), Name(name))):
            return name, abs(value)
    return None


def _conjuncts(facts: Iterable[Expression]) -> Iterable[Apply]:
    for fact in facts:
        if isinstance(fact, Apply) and fact.op == "and":
            yield from _conjuncts(fact.args)
        elif isinstance(fact, Apply):
            yield fact


def divisor_of(expression: Expression, divisors: Mapping[str, int]) -> int:
    """An integer that divides every value of the expression (0: the value is always 0; 1: nothing is known)."""
    match expression:
        case Number(value):
            return abs(value)
        case Name(name):
            return divisors.get(name, 1)
        case Apply("neg", (argument,)):
            return divisor_of(argument, divisors)
        case Apply("*", (left, right)):
            return divisor_of(left, divisors) * divisor_of(right, divisors)
        case Apply("+" | "-" | "min" | "max" | "%", args):
            # a % b is a - q * b, so a common divisor of a and b divides it too.
            return gcd(*(divisor_of(argument, divisors) for argument in args))
        case Apply("//" | "cdiv", (left, Number(by))) if by > 0 and divisor_of(left, divisors) % by == 0:
            return divisor_of(left, divisors) // by
        case Apply("**", (base, Number(exponent))) if exponent >= 1:
            return divisor_of(base, divisors)
    return 1
