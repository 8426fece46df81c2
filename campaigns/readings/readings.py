"""One contract as the guard, `run` and the packer read it; `plain` is Python's reading, `proofs` the prover's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from tileverify.backend.gpu.loaded import descriptors, packed
from tileverify.backend.guard import LaunchRefused, compile_guard
from tileverify.backend.guard.arguments import ArrayValue, Value, spelled_out
from tileverify.backend.guard.guard import Guard
from tileverify.backend.numbers.choose import ContractInNumbers as Conditions
from tileverify.contract.as_terms import build_contract
from tileverify.contract.element_types import ELEMENT_TYPES
from tileverify.contract.launch import (
    ArrayArgument,
    DataFact,
    EntryParameter,
    LaunchSpec,
    ListArgument,
    Role,
    ScalarArgument,
)
from tileverify.contract.list_terms import of_array
from tileverify.frontend.sources.abi import entry_parameters
from tileverify.launching.proofs import broken_fact

from .launches import Given, order
from .plain import members
from .solving import NoLaunch, numbers, solved


@dataclass
class Read:
    """A contract, ready to be asked about launches; ``written``: the arrays that the kernel writes."""

    spec: LaunchSpec
    written: frozenset[str]

    @cached_property
    def contract(self) -> Any:
        return build_contract(self.spec)

    @cached_property
    def conditions(self) -> Conditions:
        return Conditions(self.spec)

    def __post_init__(self) -> None:
        self._guards: dict[tuple[tuple[str, int], ...], Guard] = {}

    # -------------------------------------------------------------------------------------------- guard
    def guard(self, given: Given) -> tuple[Guard, list[Value]]:
        """The guard of launches with these lists, and what it is told; raises `UsageError` if there is none."""
        lengths: dict[str, int] = {}
        values: list[Value] = []
        for argument, value in zip(order(self.spec), given.values, strict=True):
            if isinstance(value, tuple) and not isinstance(value, ArrayValue):
                lengths[argument.name] = len(value)
                values += [len(value), *value]
            else:
                values.append(value)
        key = tuple(lengths.items())
        if key not in self._guards:
            spelled = spelled_out(self.spec, lengths)
            self._guards[key] = compile_guard(spelled.launch, (), spelled.names(self.written))
        return self._guards[key], values

    def admitted(self, given: Given) -> bool:
        """What the launcher says."""
        guard, values = self.guard(given)
        try:
            guard.check(values, given.grid)
        except LaunchRefused:
            return False
        contents = _Contents(self.spec, given)
        facts = [fact for fact in guard.data if contents.holds(fact)]
        return broken_fact(facts, guard.named(values, given.grid), contents) is None  # type: ignore[arg-type]

    def described(self, given: Given) -> Given:
        """The launch as the guard has it passed."""
        guard, values = self.guard(given)
        passed, result = iter(guard.passed(values)), []
        for value in given.values:
            listed = isinstance(value, tuple) and not isinstance(value, ArrayValue)
            one = next(passed)
            result.append(tuple(next(passed) for _ in value) if listed else one)  # type: ignore[union-attr]
        return replace(given, values=tuple(result))  # type: ignore[arg-type]


class _Contents(Mapping[str, Any]):
    """Arrays of integers as the launcher reads them."""

    def __init__(self, spec: LaunchSpec, given: Given) -> None:
        self._arrays = {}
        for argument, value in zip(order(spec), given.values, strict=True):
            if argument.name in given.contents and isinstance(value, ArrayValue):
                kind = np.dtype(argument.dtype.replace("i", "int").replace("u", "uint").replace("uintint", "uint"))  # type: ignore[union-attr]
                self._arrays[argument.name] = np.array(given.contents[argument.name], kind).reshape(value.shape)

    def holds(self, fact: DataFact) -> bool:
        return all(name in self._arrays for name in fact.arrays)

    def seen_to_keep(self, *_: object) -> bool:
        return False

    def __getitem__(self, name: str) -> Any:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


def conditions_hold(read: Read, given: Given) -> bool:
    """What `run` says of the numbers of a launch."""
    try:
        names = solved(read.spec, numbers(read.spec, given))
    except NoLaunch:
        return False
    if any(condition.broken_by(names) for condition in read.conditions.conditions):
        return False
    lists = {a.name: v for a, v in zip(order(read.spec), given.values, strict=True) if isinstance(a, ListArgument)}
    return not any(
        read.conditions.condition(of_array(said, name, "one")).broken_by({**names, **members("one", array)})
        for name, conditions in read.conditions.of_arrays.items()
        for said in conditions
        for array in cast("tuple[ArrayValue, ...]", lists[name])
    )


def packed_wrongly(read: Read, given: Given) -> str | None:
    """A parameter that comes out of the packer as another number than went in."""
    parameters = entry_parameters(read.spec)
    types = [_type(read.spec, parameter) for parameter in parameters]
    values = {a.name: v for a, v in zip(order(read.spec), given.values, strict=True) if not isinstance(a, ListArgument)}
    listed = [(a.name, v) for a, v in zip(order(read.spec), given.values, strict=True) if isinstance(a, ListArgument)]
    lists = {name: (4096, len(arrays)) for name, arrays in listed}  # type: ignore[arg-type]
    try:
        packing = packed(parameters, types, values, lists)  # type: ignore[arg-type]
        for _, arrays in listed:
            descriptors(arrays)  # type: ignore[arg-type]
    except LaunchRefused as refused:
        return refused.message
    memory = packing._alive[0].raw
    for place, (parameter, type_) in enumerate(zip(parameters, types, strict=True)):
        if type_.startswith("i"):
            signed = int.from_bytes(memory[8 * place :][: max(1, int(type_[1:]) // 8)], "little", signed=True)
            expected = _expected(read.spec, parameter, values, lists)
            width = max(8, int(type_[1:]))
            if (signed - expected) % (1 << width) or (parameter.role is not Role.SCALAR and signed != expected):
                return f"{parameter} is {signed} instead of {expected}"
    return None


def _type(spec: LaunchSpec, parameter: EntryParameter) -> str:
    argument = next(a for a in order(spec) if a.name == parameter.argument)
    match parameter.role, argument:
        case ((Role.POINTER | Role.LIST_POINTER), _):
            return "ptr<i8>"
        case Role.LIST_LENGTH, _:
            return "i32"
        case _, ArrayArgument(index_bits=bits):
            return f"i{bits}"
        case _, ScalarArgument(dtype=dtype):
            return "i1" if dtype == "bool" else next(iter(ELEMENT_TYPES[dtype].tile_ir))
    raise AssertionError(parameter)


def _expected(spec: LaunchSpec, parameter: EntryParameter, values: Mapping[str, Any], lists: Mapping[str, Any]) -> int:
    if parameter.role is Role.LIST_LENGTH:
        return int(lists[parameter.argument][1])
    value = values[parameter.argument]
    if parameter.role is Role.SCALAR:
        return int(value)
    assert parameter.dim is not None
    if parameter.role is Role.PARTITION:
        argument = next(each for each in order(spec) if each.name == parameter.argument)
        assert isinstance(argument, ArrayArgument)
        assert argument.partition is not None
        return int((*argument.partition, *value.strides)[parameter.dim])
    return int((value.shape if parameter.role is Role.SHAPE else value.strides)[parameter.dim])
