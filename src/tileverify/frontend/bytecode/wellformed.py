"""The vocabulary of the typing rules, and the registry that `rules` fills."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NoReturn

from .model import Op, PointerType, ScalarType, TileType, TokenType, Type, Value


class IllFormed(Exception):
    """An op whose operands, results or attributes do not fit together."""


def fail(reason: str) -> NoReturn:
    raise IllFormed(reason)


def types_of(values: Iterable[Value]) -> tuple[Type, ...]:
    return tuple([value.type for value in values])


# ------------------------------------------------------------------------------------ small vocabulary
def tile(value: Value, what: str) -> TileType:
    type = value.type
    if not isinstance(type, TileType):
        fail(f"{what} is not a tile")
    return type


def integer_tile(value: Value, what: str) -> TileType:
    type = value.type
    if not (isinstance(type, TileType) and isinstance(type.element, ScalarType) and type.element.name[0] == "i"):
        fail(f"{what} is not an integer tile")
    return type


def float_tile(value: Value, what: str) -> TileType:
    type = value.type
    if not (isinstance(type, TileType) and isinstance(type.element, ScalarType) and type.element.name[0] != "i"):
        fail(f"{what} is not a float tile")
    return type


def pointer_tile(value: Value, what: str) -> tuple[TileType, PointerType]:
    type = tile(value, what)
    if not isinstance(type.element, PointerType):
        fail(f"{what} is not a tile of pointers")
    return type, type.element


def scalar_of(type: TileType, what: str) -> ScalarType:
    if not isinstance(type.element, ScalarType):
        fail(f"{what} holds pointers")
    return type.element


def mask_for(value: Value, shape: tuple[int, ...], what: str) -> None:
    type = integer_tile(value, what)
    if scalar_of(type, what).bits != 1 or type.shape != shape:
        fail(f"{what} is not an i1 tile of shape {shape}")


def scalar_integer(value: Value, what: str) -> ScalarType:
    type = integer_tile(value, what)
    if type.shape:
        fail(f"{what} is not a scalar")
    return scalar_of(type, what)


def token(value: Value, what: str) -> None:
    if not isinstance(value.type, TokenType):
        fail(f"{what} is not a token")


def one_result(op: Op) -> Value:
    if len(op.results) != 1:
        fail(f"{len(op.results)} results, one expected")
    return op.results[0]


Rule = Callable[[Op], None]
RULES: Final[dict[str, Rule]] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a typing rule under the names that declarations use."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return register
