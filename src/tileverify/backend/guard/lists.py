"""Launches with lists of arrays, in words that a guard knows: as many arguments as the lists hold arrays.

A contract describes all arrays of a list at once, and its guard depends on how many there are.  So there is one
contract for every choice of lengths, in which a list ``xs`` is its length, ``xs.length``, and the arrays ``xs[0]``,
``xs[1]``, ...  Names in a list's description are fresh for each of its arrays, and what a condition says of the list's
arrays (``xs.address % 16 == 0``) is said of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ...contract.expression_parser import parse_condition
from ...contract.expressions import print_expression
from ...contract.launch import (
    Apply,
    Argument,
    ArrayArgument,
    Expression,
    LaunchSpec,
    ListArgument,
    Name,
    Number,
    SameArray,
    ScalarArgument,
    flat,
)
from ...contract.list_terms import list_spoken_of, of_arrays
from ...system.errors import UsageError

MOST_ARRAYS: Final = 128
"""In all lists of a launch: any two of them are compared."""


@dataclass(frozen=True, slots=True)
class Spelled:
    """A contract without lists, and the names that stand for each list's arrays."""

    launch: LaunchSpec
    arrays: Mapping[str, tuple[str, ...]]

    def clauses(self, texts: Sequence[str]) -> list[str]:
        """Clauses of a proof, said of each array where they are about those of a list."""
        found: list[str] = []
        for text in texts:
            clause = parse_condition(text)
            about = list_spoken_of(clause, self.arrays)
            found += [text] if about is None else map(print_expression, self._of_each(clause, about))
        return found

    def _of_each(self, clause: Expression | SameArray, about: str) -> list[Expression]:
        """A condition on the arrays of a list, which it is said to have."""
        assert not isinstance(clause, SameArray)
        some = Apply(">=", (Name(f"{about}.length"), Number(1)))
        return [some, *of_arrays(clause, about, self.arrays[about])]

    def requires(self, conditions: Iterable[Expression | SameArray]) -> Iterator[Expression | SameArray]:
        """The same of what the contract requires."""
        for each in conditions:
            about = list_spoken_of(each, self.arrays)
            yield from (each,) if about is None else self._of_each(each, about)

    def names(self, known: Sequence[str] | frozenset[str]) -> frozenset[str]:
        """The same arguments, lists by their arrays."""
        return frozenset(each for name in known for each in self.arrays.get(name, (name,)))


def lengths_of(arguments: Sequence[Argument], given: Sequence[object]) -> dict[str, int]:
    """How many arrays each list holds; raises `UsageError` for what is no list."""
    lengths = {}
    for argument, value in zip(arguments, given, strict=False):
        if isinstance(argument, ListArgument):
            if not isinstance(value, list | tuple):
                raise UsageError(f"`{argument.name}` is a {type(value).__name__}, the contract says a list of arrays")
            lengths[argument.name] = len(value)
    return lengths


def spelled_out(spec: LaunchSpec, lengths: Mapping[str, int]) -> Spelled:
    """The contract of the launches whose lists have these lengths; raises `UsageError` where it cannot be said."""
    if sum(lengths.values()) > MOST_ARRAYS:
        raise UsageError(f"'{spec.kernel}' is launched with lists of more than {MOST_ARRAYS} arrays in all")
    arrays = {name: tuple(f"{name}[{number}]" for number in range(count)) for name, count in lengths.items()}
    spelled = Spelled(spec, arrays)
    for name in (*(fact.array for fact in spec.data), *_compared(spec)):
        if name in arrays:
            raise UsageError(f"the contract of '{spec.kernel}' says of the list `{name}` what no launch can be asked")
    requires = tuple(spelled.requires(spec.requires))
    launch = replace(
        spec,
        arguments=tuple(_arguments(spec.arguments, arrays)),
        requires=requires,
        requires_text=spec.requires_text if requires == spec.requires else (),
        alias=tuple(map(spelled.names, spec.alias)),
        overlap=tuple(map(spelled.names, spec.overlap)),
    )
    return replace(spelled, launch=launch)


def _compared(spec: LaunchSpec) -> Iterator[str]:
    for each in spec.requires:
        if isinstance(each, SameArray):
            yield from (each.first, each.second)


def _arguments(arguments: Sequence[Argument], arrays: Mapping[str, tuple[str, ...]]) -> Iterator[Argument]:
    for argument in flat(arguments):
        if not isinstance(argument, ListArgument):
            yield argument
            continue
        if argument.name not in arrays:
            raise UsageError(f"a launch with the list `{argument.name}` inside a tuple cannot be guarded")
        yield ScalarArgument(f"{argument.name}.length", "i32", argument.length)
        if argument.each and len(argument.each) != len(arrays[argument.name]):
            raise UsageError(f"the contract is about {len(argument.each)} arrays in the list `{argument.name}`")
        for number, name in enumerate(arrays[argument.name]):
            yield replace(argument.each[number], name=name) if argument.each else _fresh(argument.element, name)


def _fresh(element: ArrayArgument, name: str) -> ArrayArgument:
    def renamed(expression: Expression) -> Expression:
        match expression:
            case Name(each):
                return Name(f"{each} of {name}")
            case Apply(op, args):
                return Apply(op, tuple(map(renamed, args)))
        return expression

    strides = None if element.strides is None else tuple(map(renamed, element.strides))
    return replace(element, name=name, shape=tuple(map(renamed, element.shape)), strides=strides)
