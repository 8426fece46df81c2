"""Translate a kernel of Triton IR into Tile IR.

Nearly every op has one counterpart.  A program of the grid is a tile block, a tensor a tile, a scalar a tile without
dimensions.  What Triton leaves to its compiler is written down: accesses get the tokens that order them as the program
does (`ProgramOrder`).  The module's only entry has the kernel's parameters in their order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from ...system.errors import EncodeError, SourceError
from ..bytecode.builder import ModuleBuilder, pointer, tile
from ..bytecode.model import Module, PointerType, TileType, Value
from . import ttir_arithmetic, ttir_lanes, ttir_memory, ttir_shapes
from .translated import TileBuilder, Translated, TritonPointer, Untranslated
from .ttir import DescriptorType, TritonBlock, TritonFunction, TritonModule, TritonOp
from .ttir_arithmetic import Rule
from .ttir_control import call, for_, function_body, if_, while_
from .ttir_effects import EffectsOf, handed_on
from .ttir_lanes import mapped, reduce, scan
from .ttir_memory import AccessTokens
from .ttir_order import DataFlow, ProgramOrder, TritonOrder
from .ttir_places import ValueNumbers
from .ttir_promises import promised

VERSION: Final = (13, 4)
PRODUCER: Final = "triton"

PURE: Final[Mapping[str, Rule]] = {**ttir_arithmetic.RULES, **ttir_shapes.RULES, **ttir_lanes.RULES}
CONTROL: Final = {"scf.for": for_, "scf.while": while_, "scf.if": if_, "tt.call": call}
COMBINING: Final = {"tt.reduce": reduce, "tt.scan": scan, "tt.map_elementwise": mapped}
_ENDS: Final = (".yield", ".return", ".condition")


Ordered: TypeAlias = Literal["program", "triton", "most"]
"""`ProgramOrder`, `TritonOrder`, or the latter with every order that data flow may add."""


def translate(
    module: TritonModule,
    kernel: str | None = None,
    *,
    file: str = "",
    order: Ordered = "program",
    same: Collection[frozenset[int]] = (),
    equal: Mapping[int, int] = MappingProxyType({}),
) -> Module:
    """The Tile IR module of ``kernel``, the only one of ``module`` if it has no name; ``file`` is named in errors.

    ``same``: groups of parameters that are one array in every launch, by their positions; ``equal``:
    scalars that equal an earlier one in every launch.  Raises :class:`Untranslated` at an op that has no translation.
    """
    kernels = {function.name: function for function in module.kernels}
    if kernel is None and len(kernels) != 1:
        raise SourceError(f"the module holds {len(kernels)} kernels; name one", file)
    function = kernels.get(kernel) if kernel is not None else next(iter(kernels.values()))
    if function is None:
        raise SourceError(f"the module holds no kernel '{kernel}', but {', '.join(kernels)}", file)
    builder = ModuleBuilder(VERSION, producer=PRODUCER)
    types = [_parameter_type(function, parameter.type, file) for parameter in function.parameters]
    with builder.entry(function.name, types, location=function.location) as body:
        Translator(module, TileBuilder(body, file), function, order, same, equal).kernel()
    return builder.build()


def _parameter_type(function: TritonFunction, type: object, file: str) -> TileType:
    if isinstance(type, DescriptorType):
        raise Untranslated("a tensor descriptor as a parameter has no translation", function.location, file)
    assert isinstance(type, TileType)
    if isinstance(type.element, PointerType):
        return tile(pointer(type.element.pointee))
    return type


def _roots(parameters: Sequence[Value], same: Collection[frozenset[int]]) -> list[int | None]:
    """For each parameter that is a pointer the first one that is the same array, seen as the same elements."""
    found: list[int | None] = []
    for position, value in enumerate(parameters):
        alike = next((group for group in same if position in group), frozenset({position}))
        is_pointer = isinstance(value.type, TileType) and isinstance(value.type.element, PointerType)
        found.append(min(each for each in alike if parameters[each].type == value.type) if is_pointer else None)
    return found


class Translator:
    """One kernel under translation: the values known by their names, and the tokens of its accesses."""

    def __init__(
        self,
        module: TritonModule,
        b: TileBuilder,
        function: TritonFunction,
        order: Ordered,
        same: Collection[frozenset[int]],
        equal: Mapping[int, int],
    ) -> None:
        self.module = module
        self.b = b
        self.calls: list[str] = []
        self.effects = EffectsOf(module)
        self.parameters: dict[str, Value] = {}
        self._function = function
        self._known: list[dict[str, Translated]] = [{}]
        self._roots = _roots(b.body.parameters, same)
        for parameter, value, root in zip(function.parameters, b.body.parameters, self._roots, strict=True):
            element = value.type.element if isinstance(value.type, TileType) else None
            if isinstance(element, PointerType) and root is not None:
                name, base = function.parameters[root].name, b.body.parameters[root]
                self.parameters[name] = base
                self.define(f"%{parameter.name}", TritonPointer(base, element.pointee, (), None, name))
            else:
                self.define(f"%{parameter.name}", value)
        if order == "program":
            self.order = AccessTokens(ProgramOrder(b.body, self.parameters))
        else:
            flow = DataFlow(ValueNumbers(b.body, equal))
            self.order = AccessTokens(TritonOrder(b.body, self.parameters, most=order == "most"), flow)

    def kernel(self) -> None:
        names = [parameter.name for parameter in self._function.parameters]
        self.effects.function(self._function, [None if root is None else names[root] for root in self._roots])
        function_body(self, self._function)

    # --------------------------------------------------------------------------------------------- names
    def value(self, name: str) -> Any:
        for scope in reversed(self._known):
            if name in scope:
                return scope[name]
        raise SourceError(f"Triton IR uses {name} before it is defined", self.b.file)

    def define(self, name: str, value: Translated) -> None:
        self._known[-1][name] = value

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Names of a region, which end with it."""
        flow = self.order.flow
        self._known.append({})
        if flow is not None:
            flow.enter()
        yield
        self._known.pop()
        if flow is not None:
            flow.leave()

    def located(self, op: TritonOp) -> None:
        self.b.body.location = op.location

    # ----------------------------------------------------------------------------------------------- ops
    def block(self, block: TritonBlock) -> list[Any]:
        """Translate the ops of a block; the values that its last op hands on, a loop's condition first."""
        for op in block.ops:
            if op.name.endswith(_ENDS) or op.successors:
                continue
            self.located(op)
            try:
                self._op(op)
            except EncodeError as problem:
                raise self.b.cannot(op, f"{op.name} has no translation: {problem.message}") from problem
        last = block.ops[-1] if block.ops else None
        names = last.operands if last is not None and last.name == "scf.condition" else handed_on(block)
        return [self.value(name) for name in names]

    def _op(self, op: TritonOp) -> None:
        if op.name in CONTROL:
            CONTROL[op.name](self, op)
            return
        operands = [self.value(name) for name in op.operands]
        results = [promised(self.b, op, value) for value in self._results(op, operands)]
        for name, value in zip(op.results, results, strict=True):
            self.define(name, value)
        if self.order.flow is not None and op.name not in ttir_memory.RULES:
            self.order.flow.computed(op, operands, results)

    def _results(self, op: TritonOp, operands: list[Any]) -> Sequence[Translated]:
        if op.name in PURE:
            return (PURE[op.name](self.b, op, operands),)
        if op.name in ttir_memory.RULES:
            made = ttir_memory.RULES[op.name](self.b, self.order, op, operands)
            return () if made is None else (made,)
        if op.name in COMBINING:
            return COMBINING[op.name](self.b, op, operands, lambda values: self._combined(op, values))
        if op.name == "tt.addptr":
            place, by = operands
            return (self.b.moved(place, by),)
        if op.name == "tt.split":
            return ttir_shapes.split(self.b, op, operands)
        raise self.b.cannot(op, f"{op.name} has no translation")

    def _combined(self, op: TritonOp, values: Sequence[Value]) -> list[Value]:
        """What the region of a reduction makes of ``values``, those so far before those to take in."""
        block = op.regions[0].block
        with self.scope():
            for name, value in zip(block.arguments, values, strict=True):
                self.define(name, value)
            return self.block(block)


__all__ = ["PRODUCER", "translate"]
