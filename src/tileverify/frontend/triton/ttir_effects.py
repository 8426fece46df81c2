"""Which arrays the regions of a function read and write, before anything is translated.

A region hands on tokens of the arrays that it touches, and these must be known when it begins.  An array is a parameter
of the entry; pointers are followed through the ops that keep their base.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from .ttir import TritonBlock, TritonFunction, TritonModule, TritonOp
from .ttir_order import ANY, Effects, is_scalar_store

_KEEP_BASE: Final = frozenset({
    "tt.addptr", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans", "tt.bitcast", "tt.unsplat",
    "tt.make_tensor_descriptor", "arith.bitcast",
})  # fmt: skip
_READS: Final = frozenset({"tt.load", "tt.descriptor_load", "tt.descriptor_gather", "tt.atomic_load",
                           "tt.atomic_poll"})  # fmt: skip
_WRITES: Final = frozenset(
    {
        "tt.store",
        "tt.descriptor_store",
        "tt.descriptor_scatter",
        "tt.descriptor_reduce",
        "tt.atomic_rmw",
        "tt.atomic_cas",
        "tt.atomic_store",
    }
)
_BY_CASE: Final = frozenset({
    "tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_load", "tt.atomic_store",
})  # fmt: skip
"""Accesses that become one of each parameter that their pointer may be; any other one may be of any array then."""
_MOST_ROOTS: Final = 8
_ORDERS_ALL: Final = frozenset({"ttg.barrier", "gpu.barrier"})


Roots: TypeAlias = tuple[str, ...]
"""The parameters that a pointer may be into; none where these are not known, and of what is no pointer."""

_EVERYTHING: Final = Effects(frozenset({ANY}), frozenset({ANY}))
_ANY_SCALAR: Final = Effects(frozenset({ANY}), frozenset({ANY}), scalars=frozenset({ANY}))


def handed_on(block: TritonBlock) -> tuple[str, ...]:
    """What a block of `scf` hands on; MLIR leaves an empty ``scf.yield`` out."""
    last = block.ops[-1] if block.ops else None
    if last is None or not last.name.endswith((".yield", ".return", ".condition")):
        return ()
    return last.operands[1:] if last.name == "scf.condition" else last.operands


class EffectsOf:
    """Of each op with regions, and of each call, its effects; of each value that a region hands on, its `Roots`.

    ``roots[op]`` has them for each result, ``carried[op]`` for each value that goes round a loop, ``arguments[block]``
    for each argument of a block of a function.
    """

    def __init__(self, module: TritonModule) -> None:
        self._module = module
        self._calls: list[str] = []
        self.effects: dict[TritonOp, Effects] = {}
        self.roots: dict[TritonOp, tuple[Roots, ...]] = {}
        self.carried: dict[TritonOp, tuple[Roots, ...]] = {}
        self.arguments: dict[TritonBlock, tuple[Roots, ...]] = {}

    def function(self, function: TritonFunction, arguments: Sequence[Roots]) -> tuple[Effects, tuple[Roots, ...]]:
        """The effects of a call whose pointers have these roots, and the roots of its results."""
        roots = dict(zip((f"%{parameter.name}" for parameter in function.parameters), arguments, strict=True))
        effects, returned = Effects(), None
        known = dict(roots)
        for block in function.forwards():
            self.arguments[block] = tuple(known.get(name, ()) for name in block.arguments)
            effects |= self._block(block, known)
            last = block.ops[-1]
            if last.name == "tt.return":
                returned = _merged(returned, tuple(known.get(name, ()) for name in last.operands))
            for successor in last.successors:
                target = next(each for each in function.body.blocks if each.label == successor.block)
                for name, value in zip(target.arguments, successor.arguments, strict=True):
                    roots_here = known.get(value, ())
                    known[name] = _either(known.get(name, roots_here), roots_here)
        return effects, returned or ()

    def _block(self, block: TritonBlock, known: dict[str, Roots]) -> Effects:
        effects = Effects()
        for op in block.ops:
            effects |= self._op(op, known)
        return effects

    def _op(self, op: TritonOp, known: dict[str, Roots]) -> Effects:
        if op.name in _KEEP_BASE:
            known[op.results[0]] = known.get(op.operands[0], ())
        elif op.name == "arith.select":
            first, second = (known.get(name, ()) for name in op.operands[1:])
            known[op.results[0]] = _either(first, second)
        elif op.name == "tt.call":
            callee = self._module.functions.get(str(op.attributes.get("callee")))
            if callee is None or callee.name in self._calls:
                return _EVERYTHING
            self._calls.append(callee.name)
            effects, roots = self.function(callee, [known.get(name, ()) for name in op.operands])
            self._calls.pop()
            self.effects[op] = effects
            known.update(zip(op.results, roots, strict=False))
            return effects
        elif op.regions:
            return self._regions(op, known)
        return _access(op, known)

    def _regions(self, op: TritonOp, known: dict[str, Roots]) -> Effects:
        """Loops hand their values from round to round: a root holds if each round keeps it."""
        first = {"scf.for": 3, "scf.while": 0}.get(op.name, len(op.operands))
        carried = [known.get(name, ()) for name in op.operands[first:]]
        while True:
            effects = Effects()
            handed: list[tuple[Roots, ...]] = []
            before = carried
            for number, region in enumerate(op.regions):
                inner = dict(known)
                for block in region.blocks:
                    names = block.arguments[1:] if op.name == "scf.for" else block.arguments
                    given = carried if number == 0 else list(handed[0])
                    inner.update(zip(names, given, strict=False))
                    effects |= self._block(block, inner)
                    handed.append(tuple(inner.get(name, ()) for name in handed_on(block)))
            if op.name in ("scf.for", "scf.while"):
                carried = [_either(old, new) for old, new in zip(carried, handed[-1], strict=False)]
                if carried != before:
                    continue
            break
        results = handed[0] if op.name == "scf.while" else carried if op.name == "scf.for" else _merged(*handed[:2])
        self.effects[op] = effects
        self.roots[op], self.carried[op] = tuple(results), tuple(carried)
        known.update(zip(op.results, results, strict=False))
        return effects


def _merged(first: tuple[Roots, ...] | None, second: tuple[Roots, ...] | None = None) -> tuple[Roots, ...]:
    if first is None or second is None:
        return (second if first is None else first) or ()
    return tuple(_either(one, other) for one, other in zip(first, second, strict=False))


def _either(first: Roots, second: Roots) -> Roots:
    """Of a value that is one of two."""
    both = tuple(dict.fromkeys((*first, *second)))
    return both if first and second and len(both) <= _MOST_ROOTS else ()


def _access(op: TritonOp, known: Mapping[str, Roots]) -> Effects:
    if op.name in _ORDERS_ALL:
        return _EVERYTHING
    if op.name not in _READS | _WRITES:
        return Effects()
    roots = known.get(op.operands[0], ())
    semantics = {word for word, _ in op.words}
    scalar = is_scalar_store(op)
    if not roots or (len(roots) > 1 and op.name not in _BY_CASE) or semantics & {"acquire", "release", "acq_rel"}:
        return _ANY_SCALAR if scalar else _EVERYTHING
    place = frozenset(roots)
    nothing: frozenset[str] = frozenset()
    return Effects(
        place,
        place if op.name in _WRITES else nothing,
        place if op.name in _READS else nothing,
        place if scalar else nothing,
    )
