"""Structured control flow: which terminator may end which block, and what values it must hand on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .declaration import OpDeclaration
from .model import Op, Operand, TileType, Type, Value
from .wellformed import IllFormed, fail, types_of


@dataclass(frozen=True, slots=True)
class RegionScope:
    """A region-carrying op around a block: ``results`` are its own, ``carried`` what its next round takes."""

    name: str
    results: tuple[Type, ...]
    carried: tuple[Type, ...]


def enclose(declaration: OpDeclaration, operands: Mapping[str, Operand], results: tuple[Type, ...]) -> RegionScope:
    """The scope that an op opens for its regions."""
    if declaration.body == "loop":
        inits = operands["inits"]
        assert isinstance(inits, tuple)
        return RegionScope(declaration.name, results, types_of(inits))
    if declaration.body == "combination":
        inputs = operands["inputs"]
        assert isinstance(inputs, tuple)
        return RegionScope(declaration.name, tuple(_scalar_of(value) for value in inputs), ())
    return RegionScope(declaration.name, results, ())


def _scalar_of(value: Value) -> Type:
    if not isinstance(value.type, TileType):
        fail("the inputs must be tiles")
    return TileType(value.type.element)


def check_terminator(op: Op, scopes: Sequence[RegionScope]) -> None:
    """Raise `IllFormed` unless ``op`` may end a block inside ``scopes`` (outermost first)."""
    handed = types_of(op.group("args"))
    if op.results:
        raise IllFormed("it has results")
    if op.name == "return":
        if any(scope.name not in ("if", "loop") for scope in scopes):
            fail(f"it stands inside {scopes[-1].name}")
        _expect(handed, (), "the entry returns")
        return
    target = _target(op.name, scopes)
    if op.name == "continue":
        _expect(handed, target.carried, f"the next round of {target.name} takes")
    else:
        _expect(handed, target.results, f"{target.name} gives")


def _target(name: str, scopes: Sequence[RegionScope]) -> RegionScope:
    """The op that a break, continue or yield belongs to."""
    if not scopes:
        fail("it stands outside any region")
    if name == "yield":
        if scopes[-1].name in ("for", "loop"):
            fail(f"it stands directly inside {scopes[-1].name}")
        return scopes[-1]
    for scope in reversed(scopes):
        if scope.name == "loop" or (scope.name == "for" and name == "continue"):
            return scope
        if scope.name != "if":
            break
    fail("no loop around it can take it")


def _expect(handed: tuple[Type, ...], wanted: tuple[Type, ...], reason: str) -> None:
    if handed != wanted:
        fail(f"it hands on {len(handed)} values, but {reason} {len(wanted)}, or their types differ")
