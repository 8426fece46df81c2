"""Translate a kernel of Triton IR into Tile IR.

Nearly every op has one counterpart.  A program of the grid is a tile block, a tensor a tile, a scalar a tile without
dimensions.  What Triton leaves to its compiler is written down: accesses get the tokens that order them as the program
does (`ProgramOrder`).  The module's only entry has the kernel's parameters in their order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from ...contract.element_types import INDEX_MAX
from ...system.errors import EncodeError, SourceError
from ..bytecode.builder import I32, I64, ModuleBuilder, pointer, tile
from ..bytecode.model import Bounded, Module, PointerType, TileType, Value
from . import ttir_arithmetic, ttir_lanes, ttir_memory, ttir_scaled, ttir_shapes
from .translated import TileBuilder, Translated, TritonPointer, Untranslated, tile_of
from .ttir import (
    DescriptorType,
    TritonBlock,
    TritonFunction,
    TritonModule,
    TritonOp,
    TritonParameter,
    TritonType,
)
from .ttir_arithmetic import Rule
from .ttir_control import call, for_, function_body, if_, while_
from .ttir_effects import EffectsOf, handed_on
from .ttir_lanes import mapped, reduce, scan
from .ttir_memory import AccessTokens, described
from .ttir_order import DataFlow, Effects, ProgramOrder, TritonOrder
from .ttir_pipelines import SPLITS_WARPS, ops_within
from .ttir_places import ValueNumbers
from .ttir_promises import promised

VERSION: Final = (13, 4)
PRODUCER: Final = "triton"

PURE: Final[Mapping[str, Rule]] = {
    **ttir_arithmetic.RULES,
    **ttir_shapes.RULES,
    **ttir_lanes.RULES,
    **ttir_scaled.RULES,
}
CONTROL: Final = {"scf.for": for_, "scf.while": while_, "scf.if": if_, "tt.call": call}
COMBINING: Final = {"tt.reduce": reduce, "tt.scan": scan, "tt.map_elementwise": mapped}
MOST_THREADS: Final = 1024 * 16
"""Of a program: a cluster of 16 thread blocks of 1024 threads (CUDA C++ Programming Guide, "Compute Capabilities")."""
_ENDS: Final = (".yield", ".return", ".condition")


Ordered: TypeAlias = Literal["program", "triton", "most"]
"""`ProgramOrder`, `TritonOrder`, or the latter with every order that data flow may add."""


@dataclass(frozen=True, slots=True)
class SharedArrays:
    """Groups of positions of parameters: those that may share memory, and those that are one array."""

    sharing: tuple[frozenset[int], ...] = ()
    same: tuple[frozenset[int], ...] = ()


@dataclass(frozen=True, slots=True)
class PassedDescriptor:
    """What Triton IR leaves open of a descriptor that the host passes: the width of its sizes and strides among the
    entry's parameters, and whether its loads pad with NaN."""

    index_bits: int = 32
    nan: bool = False


def translate(
    module: TritonModule,
    kernel: str | None = None,
    *,
    file: str = "",
    order: Ordered = "program",
    shared: SharedArrays = SharedArrays(),
    descriptors: Sequence[PassedDescriptor] = (),
    equal: Mapping[int, int] = MappingProxyType({}),
    threads: int = MOST_THREADS,
) -> Module:
    """The Tile IR module of ``kernel``, the only one of ``module`` if it has no name; ``file`` is named in errors.

    Accesses of arrays that may share memory are ordered as those of one array.  ``descriptors``: those among the
    parameters, in their order.  Each becomes a pointer, sizes and strides.  ``equal``: scalars that equal an earlier
    one in every launch, by their positions.  ``threads``: of a program, at most.  Raises :class:`Untranslated` at an op
    that has no translation.
    """
    kernels = {function.name: function for function in module.kernels}
    if kernel is None and len(kernels) != 1:
        raise SourceError(f"the module holds {len(kernels)} kernels; name one", file)
    function = kernels.get(kernel) if kernel is not None else next(iter(kernels.values()))
    if function is None:
        raise SourceError(f"the module holds no kernel '{kernel}', but {', '.join(kernels)}", file)
    builder = ModuleBuilder(VERSION, producer=PRODUCER)
    parameters = list(_parameters(function, descriptors, file))
    with builder.entry(
        function.name, [each for p in parameters for each in p.types], location=function.location
    ) as body:
        Translator(module, TileBuilder(body, file), function, parameters, order, shared, equal, threads).kernel()
    return builder.build()


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A parameter of the kernel.  One that is a descriptor (``passed``) has the ``numbers`` of its sizes and strides
    behind it in Triton IR, too."""

    name: str
    type: TritonType
    passed: PassedDescriptor | None = None
    numbers: tuple[TritonParameter, ...] = ()

    @property
    def types(self) -> list[TileType]:
        """Of the entry's parameters that it becomes."""
        if isinstance(self.type, DescriptorType):
            wide = self.passed is not None and self.passed.index_bits > I32.bits
            return [tile(pointer(self.type.element)), *(tile(I64 if wide else I32) for _ in self.numbers)]
        element = self.type.element
        return [tile(pointer(element.pointee)) if isinstance(element, PointerType) else self.type]


def _parameters(function: TritonFunction, descriptors: Sequence[PassedDescriptor], file: str) -> Iterator[_Parameter]:
    told, rest = iter(descriptors), iter(function.parameters)
    for parameter in rest:
        if not isinstance(parameter.type, DescriptorType):
            yield _Parameter(parameter.name, parameter.type)
            continue
        rank = len(parameter.type.block)
        numbers = tuple(islice(rest, 2 * rank))
        if [number.type for number in numbers] != [tile(I32)] * rank + [tile(I64)] * rank:
            message = f"the sizes and strides of the tensor descriptor '{parameter.name}' do not follow it"
            raise Untranslated(message, function.location, file)
        yield _Parameter(parameter.name, parameter.type, next(told, PassedDescriptor()), numbers)


def _roots(parameters: Sequence[Value], same: Collection[frozenset[int]]) -> list[int | None]:
    """For each parameter that is a pointer the first one that is the same array, seen as the same elements."""
    found: list[int | None] = []
    for position, value in enumerate(parameters):
        alike = next((group for group in same if position in group), frozenset({position}))
        is_pointer = isinstance(value.type, TileType) and isinstance(value.type.element, PointerType)
        found.append(min(each for each in alike if parameters[each].type == value.type) if is_pointer else None)
    return found


def _splits_warps(module: TritonModule) -> bool:
    """Whether a loop of the module asks for ``warp_specialize=True``."""

    return any(SPLITS_WARPS in op.attributes for each in module.functions.values() for op in ops_within(each.body))


class Translator:
    """One kernel under translation: the values known by their names, and the tokens of its accesses."""

    def __init__(
        self,
        module: TritonModule,
        b: TileBuilder,
        function: TritonFunction,
        parameters: Sequence[_Parameter],
        order: Ordered,
        shared: SharedArrays,
        equal: Mapping[int, int],
        threads: int,
    ) -> None:
        self.module = module
        self.b = b
        self.calls: list[str] = []
        self.effects = EffectsOf(module)
        self.whole = Effects()
        self.parameters: dict[str, Value] = {}
        self._function = function
        self._known: list[dict[str, Translated]] = [{}]
        starts = list(accumulate((len(parameter.types) for parameter in parameters), initial=0))
        given = [b.body.parameters[start:end] for start, end in pairwise(starts)]
        roots = _roots([own[0] for own in given], shared.same)
        self._root_of = {parameters[n].name: parameters[root].name for n, root in enumerate(roots) if root is not None}
        for parameter, own, root in zip(parameters, given, roots, strict=True):
            self._parameter(parameter, own, given[root][0] if root is not None else own[0])
        sharing = [frozenset(self._root_of[parameters[n].name] for n in group) for group in shared.sharing]
        if order == "program":
            self.order = AccessTokens(ProgramOrder(b.body, self.parameters, sharing))
            return
        numbers = ValueNumbers(b.body, {starts[n]: starts[first] for n, first in equal.items()})
        tokens = TritonOrder(b.body, self.parameters, sharing, most=order == "most", splits_warps=_splits_warps(module))
        self.order = AccessTokens(tokens, DataFlow(numbers, threads))

    def _parameter(self, parameter: _Parameter, values: Sequence[Value], base: Value) -> None:
        """Define what ``values`` of the entry are to the kernel; ``base``: the first pointer to the same array."""
        name, (value, *numbers) = parameter.name, values
        element = tile_of(value).element
        if not isinstance(element, PointerType):
            self.define(f"%{name}", value)
            return
        self.parameters[self._root_of[name]] = base
        place = TritonPointer(base, element.pointee, (), None, self._root_of[name])
        if parameter.passed is None:
            self.define(f"%{name}", place)
            return
        assert isinstance(parameter.type, DescriptorType)
        rank = len(parameter.type.block)
        sizes, strides = ([self.b.widened(each) for each in part] for part in (numbers[:rank], numbers[rank:]))
        if parameter.passed.index_bits > I32.bits:  # Triton's launcher passes each size in 32 bits
            sizes = [self.b.body.op("assume", s=size, pred=Bounded(None, INDEX_MAX[I32.bits])) for size in sizes]
        view = described(self.b, place, sizes, strides, parameter.type, nan=parameter.passed.nan)
        self.define(f"%{name}", view)
        for number, known in zip(parameter.numbers, (*view.sizes, *view.strides), strict=True):
            self.define(f"%{number.name}", self.b.widened(known, I32 if number.type == tile(I32) else I64))

    def kernel(self) -> None:
        found = [self._root_of.get(parameter.name) for parameter in self._function.parameters]
        roots = [() if root is None else (root,) for root in found]
        self.whole = self.effects.function(self._function, roots)[0]
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
        flow = self.order.flow
        with flow.within(block) if flow is not None else nullcontext():
            self._ops(block)
        last = block.ops[-1] if block.ops else None
        names = last.operands if last is not None and last.name == "scf.condition" else handed_on(block)
        return [self.value(name) for name in names]

    def _ops(self, block: TritonBlock) -> None:
        for op in block.ops:
            if op.name.endswith(_ENDS) or op.successors:
                continue
            self.located(op)
            try:
                self._op(op)
            except EncodeError as problem:
                raise self.b.cannot(op, f"{op.name} has no translation: {problem.message}") from problem

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


__all__ = ["PRODUCER", "PassedDescriptor", "translate"]
