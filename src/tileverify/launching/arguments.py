"""Arguments of a call, in the words of a contract: without constants, tuples taken apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..backend.launch import ArrayValue, LaunchRefused
from ..backend.launch.arguments import Value
from ..backend.launch.views import array_value
from ..errors import UsageError
from ..frontend.sources.launch import Argument, ConstantArgument, TupleArgument


def values_by_contract(arguments: Sequence[Argument], given: Sequence[Any], kernel: str) -> list[Value]:
    """What a guard of the contract with these ``arguments`` is told; raises `LaunchRefused` for other constants."""
    if len(arguments) != len(given):
        raise UsageError(f"'{kernel}' has {len(arguments)} parameters, {len(given)} were given")
    return [value for argument, each in zip(arguments, given, strict=True) for value in _values(argument, each, kernel)]


def _values(argument: Argument, given: Any, kernel: str) -> Iterator[Value]:
    if isinstance(argument, ConstantArgument):
        if given != argument.value:
            raise LaunchRefused(
                f"{kernel} was not launched: it was compiled for {argument.name} = {argument.value!r}, not {given!r}"
                " (TV502)"
            )
    elif isinstance(argument, TupleArgument):
        fields = argument.fields
        items = [getattr(given, field, None) for field in fields] if fields else list(given)
        if len(items) != len(argument.items):
            raise LaunchRefused(f"{kernel} was not launched: `{argument.name}` has {len(items)} items (TV502)")
        for inner, item in zip(argument.items, items, strict=True):
            yield from _values(inner, item, kernel)
    elif isinstance(given, bool | int | float):
        yield given
    else:
        value = array_value(given)
        if value is None:
            raise UsageError(f"`{argument.name}` of '{kernel}' is a {type(given).__name__}, no array and no number")
        yield value


def device_arrays(values: Iterable[Value]) -> list[ArrayValue]:
    """The arrays that have an element."""
    return [value for value in values if isinstance(value, ArrayValue) and 0 not in value.shape]
