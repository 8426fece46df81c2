"""Control flow: `scf` loops and branches, early returns (`cf`), calls.

A value that a region hands on is a tile; of a pointer it is the offset, where the base is one parameter throughout,
with the parameter's number where it is one of several, else the tile of pointers itself.  Of a tensor descriptor these
are several: its base, sizes, strides, and whether it pads with NaN.  Tokens of the arrays that the region touches
follow the values.

Functions are acyclic graphs of blocks.  A conditional jump becomes an ``if`` whose branches run up to the block where
both meet again, or to a ``return``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..bytecode.builder import I1, I32, I64, TOKEN, pointer, tile
from ..bytecode.model import PointerType, ScalarType, TileType, Type, Value
from .translated import Descriptor, Translated, TritonPointer, roots_of
from .ttir import DescriptorType, Successor, TritonBlock, TritonFunction, TritonOp, TritonType
from .ttir_effects import Roots, handed_on
from .ttir_memory import LOADS
from .ttir_order import ANY, Effects, Flow, lanes_of

if TYPE_CHECKING:
    from .translate import Translator

_TOO_LARGE: Final = 20_000
"""Ops of a function after blocks that two branches share were written twice."""


# ------------------------------------------------------------------------------------- values across a border
def _handed_types(types: Sequence[TritonType], roots: Sequence[Roots]) -> list[Type]:
    """Of the tiles that values of these types are handed on as."""
    return [each for type, own in zip(types, roots, strict=True) for each in _handed_type(type, own)]


def _handed_type(type: TritonType, roots: Roots) -> list[Type]:
    if isinstance(type, DescriptorType):
        numbers = [tile(I64) for _ in range(2 * len(type.block))]
        return [*_handed_type(TileType(PointerType(type.element), ()), roots), *numbers, tile(I1)]
    if isinstance(type.element, PointerType):
        if not roots:
            return [TileType(pointer(type.element.pointee), type.shape)]
        return [tile(I64, *type.shape), *([tile(I32, *type.shape)] if len(roots) > 1 else [])]
    return [type]


def _hand(t: Translator, op: TritonOp, values: Iterable[Translated], roots: Sequence[Roots]) -> list[Value]:
    """The tiles that hand ``values`` on."""
    return [each for value, own in zip(values, roots, strict=True) for each in _tiles_of(t, op, value, own)]


def _tiles_of(t: Translator, op: TritonOp, value: Translated, roots: Roots) -> list[Value]:
    if isinstance(value, Descriptor):
        nan = t.b.number(int(value.nan), I1) if isinstance(value.nan, bool) else value.nan
        return [*_tiles_of(t, op, value.base, roots), *value.sizes, *value.strides, nan]
    if not isinstance(value, TritonPointer):
        return [value]
    if not roots:
        return [t.b.address(value)]
    which = t.b.numbered(value, _among(t, roots, value.pointee))
    if which is None:
        raise t.b.cannot(op, "a pointer whose elements change their size cannot be handed on here")
    return [t.b.offset(value), *([t.b.stretched(which, value.shape)] if len(roots) > 1 else [])]


def _among(t: Translator, roots: Roots, pointee: ScalarType) -> tuple[TritonPointer, ...]:
    return tuple(TritonPointer(t.parameters[root], pointee, (), None, root) for root in roots)


def _take(
    t: Translator, types: Sequence[TritonType], roots: Sequence[Roots], given: Iterator[Value]
) -> list[Translated]:
    """The values that `_hand` handed on; ``given`` is left behind them."""
    return [_value_of(t, type, own, given) for type, own in zip(types, roots, strict=True)]


def _value_of(t: Translator, type: TritonType, roots: Roots, given: Iterator[Value]) -> Translated:
    if isinstance(type, DescriptorType):
        base = _value_of(t, TileType(PointerType(type.element), ()), roots, given)
        assert isinstance(base, TritonPointer)
        sizes, strides = (tuple(next(given) for _ in type.block) for _ in range(2))
        return Descriptor(base, sizes, strides, type.block, next(given), type.unsigned)
    if not isinstance(type.element, PointerType):
        return next(given)
    pointee, first = type.element.pointee, next(given)
    if not roots:
        return TritonPointer(first, pointee, type.shape)
    among = _among(t, roots, pointee)
    if len(roots) == 1:
        return replace(among[0], shape=type.shape, offset=first)
    return t.b.chosen(next(given), among, type.shape, first)


def _effects(t: Translator, op: TritonOp) -> Effects:
    return t.effects.effects[op]


def _roots(t: Translator, op: TritonOp, types: Sequence[TritonType]) -> tuple[Roots, ...]:
    known = t.effects.roots[op]
    return tuple(known[n] if n < len(known) else () for n in range(len(types)))


# --------------------------------------------------------------------------------------------- scf
def for_(t: Translator, op: TritonOp) -> None:
    lower, upper, step, *inits = (t.value(name) for name in op.operands)
    block = op.regions[0].block
    types, names = block.types[1:], block.arguments
    roots, effects = _roots(t, op, types), _effects(t, op)
    first = _hand(t, op, inits, roots)
    tokens, kept = t.order.tokens.carried(effects), t.order.tokens.copy()
    unsigned = any(word == "unsigned" for word, _ in op.words)
    needs = _LoopNeeds(t, op, effects)
    told = needs.handed_on(op.operands[3:])
    loop = t.b.body.for_(lower, upper, step, [*first, *tokens, *told], unsigned=unsigned)
    with t.order.tokens.rounds(op), loop as region, t.scope():
        carried = iter(region.arguments)
        t.define(names[0], next(carried))
        for name, value in zip(names[1:], _take(t, types, roots, carried), strict=True):
            t.define(name, value)
        t.order.tokens.take(carried, effects)
        needs.take(names[1:], carried)
        values = _hand(t, op, t.block(block), roots)
        t.located(op)
        ordered = t.order.tokens.carried(effects)
        t.b.body.op("continue", args=(*values, *ordered, *needs.handed_on(handed_on(block))))
    t.order.tokens.restore(kept)
    needs.take(op.results, _results(t, op, types, roots, region.results, effects))


class _LoopNeeds:
    """What the values that go round a loop need: two tokens of each, as `DataFlow.summed` has them.

    They are handed on where the loop loads from an array that the kernel writes.
    """

    def __init__(self, t: Translator, op: TritonOp, effects: Effects) -> None:
        self._tokens = t.order.tokens
        self._flow = t.order.flow if effects.read & t.whole.written else None
        self._size = max(map(lanes_of, _all_loads(op)), default=0)
        self._carries = [isinstance(type, TileType) and not isinstance(type.element, PointerType)
                         for type in op.regions[0].block.types[1:]]  # fmt: skip

    def _values(self, names: Sequence[str]) -> list[str]:
        return [name for name, carries in zip(names, self._carries, strict=False) if carries]

    def handed_on(self, names: Sequence[str]) -> list[Value]:
        """The tokens that go with the values of these names."""
        if self._flow is None:
            return []
        summed = [tokens for name in self._values(names) for tokens in self._flow.summed(name, self._size)]
        return [self._tokens.joined(tokens or (self._tokens.start,)) for tokens in summed]

    def take(self, names: Sequence[str], given: Iterator[Value]) -> None:
        """The values have these names now, and their tokens are ``given``."""
        if self._flow is not None:
            for name in self._values(names):
                self._flow.taken(name, next(given), next(given), self._size)


def _results(
    t: Translator,
    op: TritonOp,
    types: Sequence[TritonType],
    roots: Sequence[Roots],
    results: Sequence[Value],
    effects: Effects,
) -> Iterator[Value]:
    """Define the results of ``op``; what is left of ``results`` behind them and the tokens of arrays."""
    given = iter(results)
    for name, value in zip(op.results, _take(t, types, roots, given), strict=True):
        t.define(name, value)
    t.order.tokens.take(given, effects)
    return given


def while_(t: Translator, op: TritonOp) -> None:
    """The first region decides; its values are those of the loop, or go into the second."""
    before, after = (region.block for region in op.regions)
    effects = _effects(t, op)
    results = _roots(t, op, op.result_types)
    inits = [t.value(name) for name in op.operands]
    roots = t.effects.carried[op]
    first = _hand(t, op, inits, roots)
    tokens, kept = t.order.tokens.carried(effects), t.order.tokens.copy()
    wanted = _handed_types(op.result_types, results)
    loop = t.b.body.loop([*first, *tokens], results=[*wanted, *(TOKEN for _ in tokens)])
    with t.order.tokens.rounds(op), loop as region, t.scope():
        carried = iter(region.arguments)
        for name, value in zip(before.arguments, _take(t, before.types, roots, carried), strict=True):
            t.define(name, value)
        t.order.tokens.take(carried, effects)
        condition, *handed = t.block(before)
        t.located(op)
        with t.b.body.if_(condition) as branch:
            with branch.then():
                t.b.body.op("yield")
            with branch.otherwise():
                left = _hand(t, op, handed, results)
                t.b.body.op("break", args=(*left, *t.order.tokens.carried(effects)))
        for name, value in zip(after.arguments, handed, strict=True):
            t.define(name, value)
            if t.order.flow is not None:
                t.order.flow.forget(name)  # the first region may have used the name for another value
        again = t.block(after)
        t.located(op)
        values = _hand(t, op, again, roots)
        t.b.body.op("continue", args=(*values, *t.order.tokens.carried(effects)))
    t.order.tokens.restore(kept)
    _results(t, op, op.result_types, results, region.results, effects)


def if_(t: Translator, op: TritonOp) -> None:
    (condition,) = (t.value(name) for name in op.operands)
    effects = _effects(t, op)
    roots = _roots(t, op, op.result_types)
    wanted = _handed_types(op.result_types, roots)
    tokens = t.order.tokens.carried(effects)
    kept = t.order.tokens.copy()
    loads = _BranchLoads(t, op)
    with t.b.body.if_(condition, [*wanted, *(TOKEN for _ in tokens), *(TOKEN for _ in range(loads.count))]) as branch:
        for number, open_region in enumerate((branch.then, branch.otherwise)):
            t.order.tokens.restore(kept)
            if number >= len(op.regions) and not tokens:
                continue  # an absent branch that hands nothing on
            with open_region(), t.scope():
                handed = t.block(op.regions[number].block) if number < len(op.regions) else []
                t.located(op)
                ordered = t.order.tokens.carried(effects)
                t.b.body.op("yield", args=(*_hand(t, op, handed, roots), *ordered, *loads.handed_on(number)))
    t.order.tokens.restore(kept)
    loads.behind(_results(t, op, op.result_types, roots, branch.results, effects))


def _all_loads(op: TritonOp) -> Iterator[TritonOp]:
    for region in op.regions:
        for block in region.blocks:
            for each in block.ops:
                if each.name in LOADS:
                    yield each
                yield from _all_loads(each)


class _BranchLoads:
    """The tokens of loads in both regions of a branch, which its results may need: each is handed on by itself."""

    def __init__(self, t: Translator, op: TritonOp) -> None:
        self._op = op
        self._flow = t.order.flow if op.results else None
        self._start = t.order.tokens.start
        self._flows: list[list[Flow]] = []
        self._inside: list[tuple[Value, ...]] = []
        self._counts = [_loads_in(region.block) if self._flow is not None else 0 for region in op.regions]
        self.count = sum(self._counts)

    def handed_on(self, number: int) -> list[Value]:
        """What the region with this number yields, at its end."""
        if self._flow is None:
            return []
        self._flows.append([self._flow.of(name) for name in handed_on(self._op.regions[number].block)])
        self._inside.append(self._flow.made())
        return [
            value
            for other, count in enumerate(self._counts)
            for value in (self._inside[number] if other == number else (self._start,) * count)
        ]

    def behind(self, results: Iterable[Value]) -> None:
        """Note what the results of the branch need; ``results``: what the regions handed on."""
        if self._flow is not None:
            inside = (token for tokens in self._inside for token in tokens)
            self._flow.branched(self._op.results, self._flows, dict(zip(inside, results, strict=True)))


def _loads_in(block: TritonBlock) -> int:
    """The loads whose tokens `DataFlow` knows at the end of ``block``: those in loops end with their region."""
    inner = sum(
        _loads_in(region.block) for op in block.ops if op.name == "scf.if" and op.results for region in op.regions
    )
    return inner + sum(op.name in LOADS for op in block.ops)


# ------------------------------------------------------------------------------------------------ functions
def call(t: Translator, op: TritonOp) -> None:
    """A call is the body of its function."""
    name = str(op.attributes.get("callee"))
    callee = t.module.functions.get(name)
    if callee is None:
        raise t.b.cannot(op, f"function '{name}' is not in the module")
    if len(t.calls) > 50 or name in t.calls:
        raise t.b.cannot(op, f"function '{name}' calls itself")
    arguments = [t.value(operand) for operand in op.operands]
    bases = [each.base if isinstance(each, Descriptor) else each for each in arguments]
    roots = [roots_of(each) if isinstance(each, TritonPointer) else () for each in bases]
    t.effects.function(callee, roots)
    t.calls.append(name)
    names = [f"%{parameter.name}" for parameter in callee.parameters]
    flow = t.order.flow
    with t.scope(), flow.called(dict(zip(names, op.operands, strict=True))) if flow is not None else nullcontext():
        for parameter, value in zip(names, arguments, strict=True):
            t.define(parameter, value)
        returned = function_body(t, callee, op)
    t.calls.pop()
    for result, value in zip(op.results, returned, strict=True):
        t.define(result, value)


def function_body(t: Translator, function: TritonFunction, caller: TritonOp | None = None) -> list[Translated]:
    """Translate the blocks of ``function``; the values that it returns."""
    graph = _Graph(t, function, caller)
    return graph.from_block(function.body.blocks[0], None)


class _Graph:
    """The blocks of one function; a called one ends in its only ``tt.return``, the kernel wherever it returns."""

    def __init__(self, t: Translator, function: TritonFunction, caller: TritonOp | None) -> None:
        self._t = t
        self._caller = caller
        blocks = function.forwards() if caller is None else _one_return(function)
        self._blocks = {block.label: block for block in blocks}
        self._reach: dict[str, frozenset[str]] = {}
        self._written = 0
        for block in reversed(blocks):
            reached: set[str] = {block.label}
            for successor in block.ops[-1].successors:
                if successor.block not in self._reach:
                    raise t.b.cannot(block.ops[-1], "a loop of jumps has no translation")
                reached |= self._reach[successor.block]
            self._reach[block.label] = frozenset(reached)
        self._order = list(self._blocks)

    def from_block(self, block: TritonBlock, stop: str | None) -> list[Translated]:
        """Translate from ``block`` up to the jump to ``stop``, or to a return; what is handed to it."""
        t = self._t
        while True:
            self._written += len(block.ops)
            if self._written > _TOO_LARGE:
                raise t.b.cannot(block.ops[-1], "the branches of this function do not meet again")
            handed = t.block(block)
            last = block.ops[-1]
            if last.name == "tt.return":
                if self._caller is None:
                    t.located(last)
                    t.b.body.op("return")
                return handed
            if last.name == "cf.br":
                (successor,) = last.successors
                values = [t.value(name) for name in successor.arguments]
            elif last.name == "cf.cond_br":
                merge = self._merge(last)
                values = self._branch(last, merge)
                if merge is None:
                    return values
                successor = replace(last.successors[0], block=merge)
            else:
                raise t.b.cannot(last, f"{last.name} has no translation")
            if successor.block == stop:
                return values
            block = self._blocks[successor.block]
            for name, value in zip(block.arguments, values, strict=True):
                t.define(name, value)

    def _merge(self, op: TritonOp) -> str | None:
        """The first block that both branches reach and that no way to a third block passes by."""
        first, second = (self._reach[successor.block] for successor in op.successors)
        for label in self._order:
            if label in first & second and all(self._always(successor.block, label) for successor in op.successors):
                return label
        return None

    def _always(self, start: str, label: str) -> bool:
        """Whether every way from ``start`` leads through ``label``, or ends in a return before."""
        if start == label:
            return True
        block = self._blocks[start]
        last = block.ops[-1]
        if last.name == "tt.return":
            return self._caller is None
        return all(self._always(successor.block, label) for successor in last.successors)

    def _branch(self, op: TritonOp, merge: str | None) -> list[Translated]:
        """Both branches as an ``if``; what they hand to ``merge``, or return where they never meet."""
        t = self._t
        condition = t.value(op.operands[0])
        assert isinstance(condition, Value)
        if merge is None and self._caller is not None:
            raise t.b.cannot(op, "a function that returns in both branches has no translation")
        types = self._blocks[merge].types if merge is not None else ()
        roots = () if merge is None else t.effects.arguments.get(self._blocks[merge], ((),) * len(types))
        everything = self._everything()
        kept = t.order.tokens.copy()
        tokens = t.order.tokens.carried(everything) if merge is not None else ()
        wanted = _handed_types(types, roots)
        with t.b.body.if_(condition, [*wanted, *(TOKEN for _ in tokens)]) as branch:
            for successor, open_region in zip(op.successors, (branch.then, branch.otherwise), strict=True):
                t.order.tokens.restore(kept)
                with open_region(), t.scope():
                    self._way(op, successor.block, [t.value(name) for name in successor.arguments], merge, roots)
        t.order.tokens.restore(kept)
        if merge is None:
            t.located(op)
            t.b.body.op("return")  # not reached: both branches return
            return []
        given = iter(branch.results)
        merged = _take(t, types, roots, given)
        t.order.tokens.take(given, everything)
        return merged

    def _everything(self) -> Effects:
        """What the branches of jumps may do."""
        return Effects(frozenset({ANY}), frozenset({ANY}), scalars=self._t.whole.scalars)

    def _way(
        self, op: TritonOp, start: str, values: list[Translated], merge: str | None, roots: Sequence[Roots]
    ) -> None:
        """One branch, up to its yield or return."""
        t = self._t
        if start != merge:
            block = self._blocks[start]
            for name, value in zip(block.arguments, values, strict=True):
                t.define(name, value)
            values = self.from_block(block, merge)
            if t.b.ended:
                return
        t.located(op)
        handed = _hand(t, op, values, roots)
        t.b.body.op("yield", args=(*handed, *t.order.tokens.carried(self._everything())))


def _one_return(function: TritonFunction) -> tuple[TritonBlock, ...]:
    """The blocks of a called function, of which one returns."""
    blocks = function.forwards()
    returning = [block for block in blocks if block.ops[-1].name == "tt.return"]
    if len(returning) == 1:
        return blocks
    last = returning[0].ops[-1]
    names = tuple(f"%returned{position}" for position in range(len(last.operands)))
    made: list[TritonBlock] = []
    for block in blocks:
        end = block.ops[-1]
        if end.name == "tt.return":
            jump = replace(end, name="cf.br", operands=(), successors=(Successor("^return", end.operands),))
            block = replace(block, ops=(*block.ops[:-1], jump))
        made.append(block)
    return (*made, TritonBlock("^return", names, function.result_types, (replace(last, operands=names),)))


__all__ = ["call", "for_", "function_body", "if_", "while_"]
