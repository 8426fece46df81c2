"""Values of a kernel that are never negative, whatever its arrays hold: squares, absolute values, sums of such.

Where a root or a logarithm is taken of one, nobody has to see what becomes of a negative number.  Sizes and scalars
count as not negative: scalars of either sign are tried one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from ..backend.interpreter.machine import uniform_ops
from ..backend.interpreter.reductions import only_op
from ..backend.interpreter.tiles import constant_tile
from ..frontend.bytecode.liveness import operands
from ..frontend.bytecode.model import Block, Entry, Op, Value
from ..frontend.bytecode.traverse import walk

_Known: TypeAlias = Callable[[Value], bool]

_ALWAYS: Final = frozenset({"absf", "exp", "exp2", "cosh", "sqrt", "rsqrt"})
_MOVING: Final = frozenset({"broadcast", "reshape", "permute", "extract", "cat", "ftof", "assume"})
"""Nothing but operands that are in the result."""
_OF_BOTH: Final = frozenset({"addf", "divf", "minf", "mulf"})
_FOLDED: Final = frozenset({"addf", "maxf", "minf", "mulf"})


@lru_cache(maxsize=64)
def never_negative(entry: Entry) -> frozenset[Value]:
    """What cannot be shown to be so is taken out until nothing changes: what loops hand on may rest on itself."""
    ops = list(walk(entry.body))
    handed = dict(_handed_on(ops))
    known = {*entry.parameters, *handed, *(result for op in ops for result in op.results)}
    uniform = uniform_ops(entry)
    left = True
    while left:
        wrong = {value for value, sources in handed.items() if value in known and not known.issuperset(sources)}
        for op in ops:
            if not op.regions or op.declaration.body == "combination":
                fine = (op in uniform and op.name == "itof") or _holds(op, known.__contains__)
                wrong |= set() if fine else known.intersection(op.results)
        known -= wrong
        left = bool(wrong)
    return frozenset(known)


def _holds(op: Op, known: _Known) -> bool:
    """Whether the results of ``op`` are not negative where the values that are ``known`` are not."""
    if op.name in _ALWAYS:
        return True
    if op.name == "constant":
        data = constant_tile(op.attributes["value"]).data
        return data.dtype.kind == "f" and bool((data >= 0).all())
    if op.name in _MOVING:
        return all(map(known, operands(op)))
    if op.name == "mulf" and op.value("lhs") is op.value("rhs"):
        return True
    if op.name in _OF_BOTH:
        return known(op.value("lhs")) and known(op.value("rhs"))
    if op.name == "maxf":
        return known(op.value("lhs")) or known(op.value("rhs"))
    if op.name == "select":
        return known(op.value("t")) and known(op.value("f"))
    if op.name == "fma":
        square = op.value("lhs") is op.value("rhs")
        return known(op.value("acc")) and (square or (known(op.value("lhs")) and known(op.value("rhs"))))
    if op.declaration.body == "combination":
        inner = only_op(op)
        return inner is not None and inner.name in _FOLDED and all(map(known, op.group("inputs")))
    return False


def _handed_on(ops: list[Op]) -> Iterator[tuple[Value, list[Value]]]:
    """What loops carry, and results of loops and branches, each with the values that it may be."""
    for op in ops:
        if op.name not in ("for", "loop", "if"):
            continue
        ends = [end for region in op.regions for block in region.blocks for end in _ends(block)]
        begin = list(op.group("inits")) if op.name != "if" else []
        handed = [list(end.group("args")) for end in ends if end.name == "continue"]
        left = [list(end.group("args")) for end in ends if end.name == ("break" if op.name == "loop" else "yield")]
        if op.name == "for":
            left = [begin, *handed]
        if op.name != "if":
            carried = op.regions[0].blocks[0].arguments[op.name == "for" :]
            yield from _columns(carried, [begin, *handed])
        yield from _columns(op.results, left)


def _columns(names: Sequence[Value], rows: Sequence[Sequence[Value]]) -> Iterator[tuple[Value, list[Value]]]:
    return ((name, [row[place] for row in rows]) for place, name in enumerate(names))


def _ends(block: Block) -> Iterator[Op]:
    """The terminators that belong to the op around ``block``: a branch passes those of a loop on."""
    yield block.terminator
    for op in block.ops:
        if op.name == "if":
            for region in op.regions:
                for inner in region.blocks:
                    yield from (end for end in _ends(inner) if end.name != "yield")
